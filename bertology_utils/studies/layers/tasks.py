"""Labelled tasks for layer studies, from gold annotation: word tasks, coreference, and ten sentence-level tasks.

Depends on `material`, `coreference` and `ambiguous_order`. A task computes its labels without knowing any model. The
items of word tasks share no content word between training and test; generated sentences share none at all.
The sentence tasks stand in for SentEval's (jawahar2019what): surface, syntactic and semantic ones.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

import numpy as np

from bertology_utils.data.coreference_sets import coreferences
from bertology_utils.data.material import EMBEDDED, Treebank
from bertology_utils.data.material import sentences as draw_sentences
from bertology_utils.errors import unknown
from bertology_utils.instruments.probes import owners
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.samples import by_unit

Words = Sequence[Sequence[str]]
GROUPS = {
    "length": "surface", "word content": "surface",
    "tree depth": "syntactic", "top constituents": "syntactic", "bigram shift": "syntactic",
    "tense": "semantic", "subject number": "semantic", "object number": "semantic", "odd word": "semantic",
    "clause inversion": "semantic",
}  # fmt: skip
TOTAL = ("length", "word content", "tree depth", "top constituents", "bigram shift")  # defined for every sentence
FIFTHS = 5
WORD_TASKS = ("position", "pos", "chunk", "entity", "dependency", "role")


@dataclass(frozen=True)
class Part:
    """One half of a task: its sentences, the items as tuples (sentence, word, ...) and a label an item.

    An item with no word stands for its sentence, with one for that word, with two for the pair.
    """

    sentences: Words
    items: Sequence[tuple[int, ...]]
    labels: Sequence[Hashable]

    @property
    def groups(self) -> list[int]:
        """The sentence of each item."""
        return [item[0] for item in self.items]

    @property
    def forms(self) -> list[str]:
        """The word form of each item, of its last word where it has two: what items share."""
        return [self.sentences[sentence][words[-1]].lower() for sentence, *words in self.items]

    def dealt(self, hands: Sequence[int], of: int) -> "Part":
        """The items of the sentences that some of so many hands hold, when sentences are dealt out at random."""
        kept = np.flatnonzero(np.isin(owners(len(self.sentences), of), hands)).tolist()
        place = {sentence: new for new, sentence in enumerate(kept)}
        own = [(item, label) for item, label in zip(self.items, self.labels, strict=True) if item[0] in place]
        items = [(place[sentence], *words) for (sentence, *words), _ in own]
        return Part([self.sentences[sentence] for sentence in kept], items, [label for _, label in own])


@dataclass(frozen=True)
class Task:
    """A probing task with training and test part."""

    name: str
    train: Part
    test: Part

    def dealt(self, seeds: Sequence[int], of: int) -> "Task":
        """What some of so many seeds read: their sentences of the training part, and as many fifths of the test part,
        all of it for all seeds, so that five untrained networks of one seed each read no more than one of all."""
        fifths = min(of, FIFTHS)
        return Task(self.name, self.train.dealt(seeds, of), self.test.dealt([s % fifths for s in seeds], fifths))


def over_words(samples: Mapping[str, np.ndarray], part: Part) -> dict[str, np.ndarray]:
    """Samples of a part's items, (..., items), as such of the word forms that items share: a hundred times *that* is
    one word."""
    return {name: by_unit(values, part.forms) for name, values in samples.items()}


def tasks_together(scores: Mapping[str, np.ndarray], tasks: Mapping[str, Task]) -> np.ndarray:
    """The mean of several tasks as one sample of word forms, (layers + 1, seeds, forms): tasks weigh alike, however
    many items they have, and the items of a task that has few weigh the more."""
    means = {name: scores[name].mean(-1, keepdims=True) for name in tasks}
    weight = sum(scores[name].shape[-1] for name in tasks) / len(tasks)
    off = [(scores[name] - means[name]) * (weight / scores[name].shape[-1]) for name in tasks]
    forms = [form for task in tasks.values() for form in task.test.forms]
    return by_unit(sum(means.values()) / len(tasks) + np.concatenate(off, axis=-1), forms)


def _word_label(task: str, sentence: Sentence, word: int) -> Hashable | None:
    """The label of a word, or None where the task has no item."""
    if task == "position":
        return word if word < 10 else None
    if task == "pos":
        return sentence.upos[word]
    if task == "chunk":
        return sentence.chunks[word]
    if task == "entity":
        return sentence.entities[word] or "none" if sentence.upos[word] in ("PROPN", "NOUN") else None
    if task == "dependency":
        return None if sentence.deprels[word] in ("punct", "root") else sentence.deprels[word]
    return sentence.roles[word]


def word_task(name: str, bank: Treebank, items: int, seed: int = 0, tested: int | None = None) -> Task:
    """position | pos | chunk | entity | dependency | role of words; at most `items` a part, `tested` for the test."""
    if name not in WORD_TASKS:
        raise unknown("word task", name, WORD_TASKS)
    sizes = {"train": items, "test": tested or items}
    return Task(name, *(_word_part(name, bank, part, size, seed) for part, size in sizes.items()))


def _word_part(name: str, bank: Treebank, part: str, items: int, seed: int) -> Part:
    sentences: list[Sentence] = getattr(bank, part)
    places = [(i, w) for i, s in enumerate(sentences) for w in range(len(s.words))]
    labels = {(i, w): _word_label(name, sentences[i], w) for i, w in compress(places, bank.scored(part))}
    labelled = [(place, label) for place, label in labels.items() if label is not None]
    order = np.random.default_rng(seed).permutation(len(labelled))[:items]
    chosen = [labelled[i] for i in order]
    return Part([s.words for s in sentences], [place for place, _ in chosen], [label for _, label in chosen])


def coreference_task(train: int, test: int, seed: int = 0, source: str = EMBEDDED) -> Task:
    """Does the pronoun mean this noun? Two pairs a sentence, one right and one wrong."""
    parts = (_coreference_part(n, seed, split, source) for n, split in ((train, "train"), (test, "test")))
    return Task("coreference", *parts)


def _coreference_part(n: int, seed: int, split: str, source: str) -> Part:
    found = coreferences(n, seed, split, source)
    places = [(i, c.pronoun, noun) for i, c in enumerate(found) for noun in (c.antecedent, c.rival)]
    return Part([c.words for c in found], places, ["same", "other"] * len(found))


def word_tasks(
    bank: Treebank, items: tuple[int, int], pairs: tuple[int, int], seed: int = 0, pronouns: str = EMBEDDED
) -> dict[str, Task]:
    """All word tasks and `coreference`, by name; `items` and `pairs` of training and test."""
    found = {name: word_task(name, bank, items[0], seed, items[1]) for name in WORD_TASKS}
    return found | {"coreference": coreference_task(*pairs, seed, pronouns)}


def sentence_task(name: str, train: int, test: int, seed: int = 0, source: str = EMBEDDED) -> Task:
    """One of the ten tasks named in GROUPS, on `train` and `test` sentences (fewer where a label does not exist)."""
    if name not in GROUPS:
        raise unknown("sentence task", name, GROUPS)
    return Task(
        name,
        _sentence_part(name, train, seed, "train", source),
        _sentence_part(name, test, seed, "test", source),
    )


def sentence_tasks(train: int, test: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, Task]:
    """The ten tasks named in GROUPS."""
    return {name: sentence_task(name, train, test, seed, source) for name in GROUPS}


def _sentence_part(name: str, n: int, seed: int, split: str, source: str) -> Part:
    """The first `n` sentences that the task has a label for; most tasks take all, and so share their sentences."""
    sentences = _drawn(n if name in TOTAL else 5 * n, seed, split, source)
    generator = np.random.default_rng(seed)
    if name in ALTERATIONS:
        changed = ((s.words, ALTERATIONS[name](s, sentences, generator)) for s in sentences)
        possible = [pair for pair in changed if pair[1] is not None][:n]
        labels = generator.permutation(np.arange(len(possible)) % 2).tolist()
        words = [pair[label] for pair, label in zip(possible, labels, strict=True)]
    else:
        labelled = [(s.words, SENTENCE_LABELS[name](s)) for s in sentences]
        words, labels = zip(*[pair for pair in labelled if pair[1] is not None][:n], strict=True)
    return Part(words, [(i,) for i in range(len(words))], labels)


@lru_cache(maxsize=4)  # the tasks ask for the same sentences, ten times over
def _drawn(n: int, seed: int, split: str, source: str) -> tuple[Sentence, ...]:
    return tuple(draw_sentences(n, seed, split, source))


def _top_constituents(sentence: Sentence) -> str:
    """What the root governs before and after itself: the relations of its direct dependents, first two."""
    root = sentence.features["root"]
    labels = [r for r, h in zip(sentence.deprels, sentence.heads, strict=True) if h == root and r != "punct"]
    return " ".join(label.split(":")[0] for label in labels[:2])


SENTENCE_LABELS: Mapping[str, Callable[[Sentence], Hashable | None]] = {
    "length": lambda s: min((len(s.words) - 4) // 3, 4),
    # The splits share no content word, so the words to be found are function words.
    "word content": lambda s: next((w for w in ("because", "that", "two", "his", "a") if w in s.words), "none"),
    "tree depth": lambda s: min(int(s.features["depth"]), 5),
    "top constituents": _top_constituents,
    "tense": lambda s: s.features["tense"],
    "subject number": lambda s: s.features["subject_number"],
    "object number": lambda s: s.features["object_number"],
}


def _bigram_shift(sentence: Sentence, others: Sequence[Sentence], generator: np.random.Generator) -> list[str]:
    """Two neighbouring words change places (not the final mark)."""
    words = list(sentence.words)
    place = int(generator.integers(len(words) - 2))
    words[place], words[place + 1] = words[place + 1], words[place]
    return words


def _odd_word(sentence: Sentence, others: Sequence[Sentence], generator: np.random.Generator) -> list[str] | None:
    """A noun or verb is replaced by another sentence's word of the same tag and number."""
    places = [i for i, tag in enumerate(sentence.upos) if tag in ("NOUN", "VERB")]
    place = int(generator.choice(places)) if places else -1
    same = [
        w
        for other in (others[int(i)] for i in generator.integers(len(others), size=12))
        for w, tag, number in zip(other.words, other.upos, other.number, strict=True)
        if place >= 0 and (tag, number) == (sentence.upos[place], sentence.number[place]) and w != sentence.words[place]
    ]
    if not same:
        return None
    return [*sentence.words[:place], same[0], *sentence.words[place + 1 :]]


def _clause_inversion(
    sentence: Sentence, others: Sequence[Sentence], generator: np.random.Generator
) -> list[str] | None:
    """Subject noun and object noun of the main clause change places: `the cake ate the boy`."""
    subject, direct = int(sentence.features["subject"]), int(sentence.features["object"])
    if min(subject, direct) < 0 or {sentence.upos[subject], sentence.upos[direct]} != {"NOUN"}:
        return None
    words = list(sentence.words)
    words[subject], words[direct] = words[direct], words[subject]
    return words


ALTERATIONS = {"bigram shift": _bigram_shift, "odd word": _odd_word, "clause inversion": _clause_inversion}


def majority_hits(task: Task) -> np.ndarray:
    """What the most frequent training label gets right of the test items: 0/1 (items,)."""
    most = Counter(task.train.labels).most_common(1)[0][0]
    return np.array([float(label == most) for label in task.test.labels])
