"""The probing experiments of the chapter on syntax: labels of words, hierarchy against order, one question three ways.

Orchestration only: probes come from `probes` and `controls`, sentences from `material`, `ambiguous` and `pair_sets`.
Layers are chosen on development items, and scored on others; trained probes come with a seed axis.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import compress

import numpy as np
import torch

from bertology_utils import figures
from bertology_utils.absent import unless_absent
from bertology_utils.activations import sentence_vectors, token_table_vectors, word_vectors
from bertology_utils.data.ambiguous_order import TASKS, pointed_sentences
from bertology_utils.data.material import EMBEDDED, Treebank, same_words
from bertology_utils.data.pair_sets import agreement_pairs
from bertology_utils.figures import Figure
from bertology_utils.instruments import cloze
from bertology_utils.instruments.attention import attention_maps, word_level_map
from bertology_utils.instruments.attention_trees import LayerScores
from bertology_utils.instruments.controls import ControlTask, majority_baseline, word_baseline
from bertology_utils.instruments.probes import (
    encode_labels,
    predecessor_windows,
    stack_words,
    train_probe,
    train_selector,
)
from bertology_utils.language.grammar import Grammar
from bertology_utils.language.grammar_trees import Phrase, Sentence
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.language.perturbations import shuffle_words
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import by_unit
from bertology_utils.studies.syntax.agreement import unit_of

ANCESTORS = ("parent", "grandparent", "great_grandparent")
LABELS = ("upos", "chunks", "deprels", *ANCESTORS)
TASKS_OF_WORDS = {"pos": "upos", "chunk": "chunks", "deprel": "deprels"}


def word_labels(sentences: Sequence[Sentence], task: str) -> list[str]:
    """One label for each word of all sentences; `task` is one of `LABELS`."""
    if task in ANCESTORS:
        level = ANCESTORS.index(task)
        return [above[level] for sentence in sentences for above in sentence.ancestors]
    return [label for sentence in sentences for label in getattr(sentence, task)]


def label_sweep(
    specimen: Specimen, bank: Treebank, tasks: Sequence[str] = LABELS, every: int = 1, **settings
) -> dict[str, LayerScores]:
    """Linear probes for each task on every layer (or every second ...), trained and tested on different words.

    Follows liu2019linguistic; a treebank of real sentences says which words each side may use. Settings as in
    `probes.train_probe`. With `every` > 1 the rows of the scores are the
    layers 0, every, 2 * every, ...
    """
    train, development, test = (
        stack_words(word_vectors(specimen, [s.words for s in getattr(bank, part)]))[::every, bank.scored(part)]
        for part in ("train", "development", "test")
    )
    scores = {}
    for task in tasks:
        learnt, *others = (scored_labels(bank, part, task) for part in ("train", "development", "test"))
        labels, unseen, names = encode_labels(learnt, others[0] + others[1])
        probe = train_probe(train, labels, classes=len(names), **settings)
        cut = development.shape[1]
        aside = probe.correct(development, unseen[:cut]).mean((1, 2))
        guesses = probe.predict(test)  # (layers, seeds, items)
        read = np.array(names)[guesses[aside.argmax()]]
        scores[task] = LayerScores(aside, (guesses == unseen[cut:]).astype(float), read)
    return scores


def scored_labels(bank: Treebank, part: str, task: str) -> list[str]:
    """The labels of the words of a part that count there; see `Treebank.scored`."""
    return list(compress(word_labels(getattr(bank, part), task), bank.scored(part)))


def word_samples(scores: Mapping[str, LayerScores], bank: Treebank) -> dict[str, np.ndarray]:
    """Of `label_sweep`: `pos`, `chunk`, `deprel` at their best layers, and `pos_layer_0` ..., over word types."""
    types = scored_labels(bank, "test", "words")
    found = {task: (scores[key].best_test, scores[key].test[0]) for task, key in TASKS_OF_WORDS.items()}
    named = {task: best for task, (best, _) in found.items()} | {f"{t}_layer_0": low for t, (_, low) in found.items()}
    return {name: by_unit(values, types) for name, values in named.items()}


def word_lines(scores: Mapping[str, LayerScores]) -> dict[str, np.ndarray]:
    """Of `label_sweep`: the mean accuracy of `pos`, `chunk` and `deprel` at each layer that was read, (layers,)."""
    return {task: scores[key].test.mean((1, 2)) for task, key in TASKS_OF_WORDS.items()}


def ancestor_samples(scores: Mapping[str, LayerScores], bank: Treebank) -> dict[str, np.ndarray]:
    """Of `label_sweep`: each of `ANCESTORS` at its best layer, `(seeds, items)`, and its `ancestor_baselines`.

    Keys `parent`, `parent_by_tag` ..., and `parent_gain`, a number: the share of the way that the probe goes from the
    guess by the tag that was read to perfection.
    """
    found: dict[str, np.ndarray] = {}
    for level in ANCESTORS:
        guesses = ancestor_baselines(bank, level, scores["upos"].read)
        right, by_tag = scores[level].best_test, guesses["by_tag"].mean()
        found |= {level: right, f"{level}_gain": (right.mean() - by_tag) / (1 - by_tag)}
        found |= {f"{level}_{name}": guess for name, guess in guesses.items()}
    return found


@unless_absent
def ancestor_bars(samples: Runs, caption: str) -> Figure:
    """The probe of each level of `ancestor_samples`, in model and twin, beside three guesses."""
    guesses = {"by_tag": "from the tag read", "by_gold_tag": "from the gold tag", "majority": "majority"}
    groups = {
        level.replace("_", "-"): {"model": samples.model[level], "twin": samples.twin[level]}
        | {text: samples.model[f"{level}_{name}"] for name, text in guesses.items()}
        for level in ANCESTORS
    }
    controls = ["twin", *guesses.values()]
    return figures.bars(groups, controls=controls, ylabel="accuracy on unseen words", caption=caption)


def ancestor_baselines(bank: Treebank, level: str, tags_read: np.ndarray) -> dict[str, np.ndarray]:
    """Guessing the most frequent ancestor label, 0/1 `(test items,)`: `majority` of all, `by_gold_tag` for each tag.

    `by_tag (seeds, items)` goes by the tags that a probe read from the same vectors (`tags_read`, alike): on words that
    it never met, a probe of ancestors has no gold tag either. `gold` guesses from the gold tag, function and lower
    ancestors of a word: what can be known of the label.
    """
    below = ["upos", "deprels", *ANCESTORS[: ANCESTORS.index(level)]]
    (labels, tags, features), (answers, asked_tags, asked) = (
        (
            scored_labels(bank, part, level),
            scored_labels(bank, part, "upos"),
            list(zip(*(scored_labels(bank, part, name) for name in below), strict=True)),
        )
        for part in ("train", "test")
    )
    return {
        "majority": majority_baseline(labels, answers),
        "by_tag": np.stack([word_baseline(tags, labels, read.tolist(), answers) for read in tags_read]),
        "by_gold_tag": word_baseline(tags, labels, asked_tags, answers),
        "gold": word_baseline(features, labels, asked, answers),
    }


def control_sweep(
    specimen: Specimen,
    sentences: int,
    seed: int = 0,
    layers: Sequence[int] | None = None,
    source: str = EMBEDDED,
    draws: int = 3,
    **settings,
) -> dict[str, np.ndarray]:
    """Part of speech and its control task on *seen* words: `task` and `control`, `(layers, draws, items)`.

    Each draw has control labels and a probe of its own; `words (items,)` are the word types. A control label belongs to
    a word type, so a probe can learn it only for words that it met in training; training and test sentences therefore
    share their words here, and test words that training lacks are left out.
    """
    train, test = same_words(sentences, sentences // 2, seed, source)
    layers = list(range(specimen.layers + 1)) if layers is None else list(layers)
    first, second = (stack_words(word_vectors(specimen, [s.words for s in part]))[layers] for part in (train, test))
    words, unseen = [w for s in train for w in s.words], [w for s in test for w in s.words]
    known = np.isin(unseen, words)
    tags = word_labels(train, "upos"), word_labels(test, "upos")
    found = {"task": [], "control": []}
    for draw in range(seed, seed + draws):
        control = ControlTask.of(tags[0], draw)
        for name, pair in {"task": tags, "control": (control.labels(words), control.labels(unseen))}.items():
            labels, answers, names = encode_labels(*pair)
            probe = train_probe(first, labels, classes=len(names), seeds=1, seed=draw, **settings)
            found[name].append(probe.correct(second[:, known], answers[known])[:, 0])
    return {name: np.stack(scores, axis=1) for name, scores in found.items()} | {"words": np.array(unseen)[known]}


def hierarchy_sweep(
    specimen: Specimen,
    train: int,
    test: int,
    drawn: int = 0,
    every: int = 1,
    source: str = EMBEDDED,
    **settings,
) -> LayerScores:
    """Learn the main auxiliary (and the subject noun) from ambiguous sentences, test where the linear rule fails.

    After lin2019open; the test sentences of both tasks follow each other. `drawn` is the seed of the sentences, `every`
    as in `label_sweep`, settings as in `train_selector`.
    """
    return _pointing(
        lambda words: [v[::every] for v in word_vectors(specimen, words)], train, test, drawn, source, settings
    )


def window_rule(
    specimen: Specimen, train: int, test: int, drawn: int = 0, source: str = EMBEDDED, longest: int = 4, **settings
) -> np.ndarray:
    """The rival of `hierarchy_sweep` that knows no sentence: a probe of each word and the words just before it.

    It reads the token table's vectors of the word and of one to `longest` predecessors; the length of the window is
    chosen on development sentences. 0/1 `(seeds, items)`.
    """

    def windows(words: Sequence[Sequence[str]]) -> list[torch.Tensor]:
        tables = token_table_vectors(specimen, words)
        return [predecessor_windows(torch.from_numpy(table[0]), longest) for table in tables]

    return _pointing(windows, train, test, drawn, source, settings).best_test


def _pointing(
    read: Callable[[list], list[torch.Tensor]], train: int, test: int, drawn: int, source: str, settings: dict
) -> LayerScores:
    """Probes that point at the target of each of the `TASKS`; `read` gives `(layers, words, width)` a sentence."""
    aside, scores = [], []
    for task in TASKS:
        ambiguous = pointed_sentences(train, False, drawn, "train", task, source)
        unseen = pointed_sentences(2 * test, True, drawn, "test", task, source)
        vectors = read([s.words for s in ambiguous + unseen])
        cut = len(ambiguous)
        probe = train_selector(vectors[:cut], [s.target for s in ambiguous], **settings)
        found = probe.correct(vectors[cut:], [s.target for s in unseen])
        aside.append(found[:, :, :test].mean((1, 2)))
        scores.append(found[:, :, test:])
    return LayerScores(np.mean(aside, axis=0), np.concatenate(scores, axis=-1))


# A lexical and a syntactic question about the same sentences --------------------------------------------------------


def two_questions(n: int, seed: int = 0, split: str = "train") -> tuple[list[tuple[str, ...]], dict[str, np.ndarray]]:
    """Sentences like "the old dog saw the cats ." and two labels: `lexical` (animals or people), `syntactic`.

    Subject and object differ in number; the syntactic label is whether the subject is the plural one. The same bag of
    words occurs with either syntactic label, so only order can tell; verbs are in the past and show no number.
    """
    grammar, sentences = Grammar(split, seed), []
    labels = {"lexical": np.arange(n) % 2, "syntactic": np.arange(n) // 2 % 2}
    for animal, plural in zip(labels["lexical"], labels["syntactic"], strict=True):
        kinds = ("animal",) if animal else ("male", "female", "neutral")
        numbers = ("plural", "singular") if plural else ("singular", "plural")
        subject, target = (
            grammar.common_noun(grammar.kind(kinds), None, deprel, number, 0.3, "the")
            for deprel, number in zip(("nsubj", "obj"), numbers, strict=True)
        )
        verbs = [
            verb
            for verb in grammar.lexicon.verbs["experiencer"]
            if {"animal", "neutral"} <= set(verb.subjects + verb.objects)
        ]
        group = grammar.conjugate(grammar.pick(verbs), subject, "past")
        clause = Phrase("S", [subject, Phrase("VP", [*group, target], 0)], 1, "root")
        sentences.append(grammar.finish(clause).words)
    return sentences, labels


def order_dependence(specimen: Specimen, train: int, test: int, drawn: int = 0, **settings) -> dict[str, np.ndarray]:
    """Accuracy of a linear classifier on sentence vectors, trained and tested on intact or shuffled words.

    Keys `question_trained_tested`, e.g. `syntactic_intact_shuffled`; values 0/1 `(seeds, items)` at the layer that is
    best on development sentences in the condition of training. `drawn` is the seed of the sentences, settings as in
    `train_probe`.
    """
    generator = np.random.default_rng(drawn)
    vectors, labels = {}, {}
    for part, count, split in (("train", train, "train"), ("development", test, "test"), ("test", test, "test")):
        words, labels[part] = two_questions(count, drawn + (part == "test"), split)
        shuffled = [shuffle_words(s, len(s) - 1, generator).words for s in words]
        vectors[part] = {"intact": sentence_vectors(specimen, words), "shuffled": sentence_vectors(specimen, shuffled)}
    found = {}
    for question in ("lexical", "syntactic"):
        for trained in ("intact", "shuffled"):
            probe = train_probe(vectors["train"][trained], labels["train"][question], **settings)
            aside = probe.correct(vectors["development"][trained], labels["development"][question])
            layer = int(aside.mean((1, 2)).argmax())
            for tested in ("intact", "shuffled"):
                right = probe.correct(vectors["test"][tested], labels["test"][question])
                found[f"{question}_{trained}_{tested}"] = right[layer]
    return found


# One question, three tools --------------------------------------------------------------------------------------------


def three_tools(eager: Specimen, train: int, test: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, np.ndarray]:
    """The number of a subject behind an attractor, by cloze, by attention and by probe: samples over verbs.

    `cloze`, `attention` and `position` are `(verbs,)`, `probe` is `(seeds, verbs)`. The cloze compares two verb forms;
    attention asks whether the best head (chosen on the first half) looks from the masked verb rather at the subject
    than at the attractor, and `position` what the best rule of place would answer: the attractor stands behind the
    subject in one half of the sentences, and before it in the other. The probe reads the number off the vector of the
    mask. Needs eager attention and a masked-LM head.
    `source` as in `pair_sets.agreement_pairs`, one that says where the subject is.
    """
    pairs = distracted_pairs(2 * test, seed, "test", source)
    scores = cloze.focus_preference(eager, pairs)
    usable = scores.covered.nonzero()[0]
    pairs = [pairs[i] for i in usable]
    cloze.require_known(eager, pairs[1:], "two pairs of verbs")
    half = len(pairs) // 2
    verbs = [unit_of(pair) for pair in pairs[half:]]
    looks = subject_attention(eager, pairs)  # (layers, heads, pairs)
    means = looks[..., :half].mean(-1)
    layer, head = np.unravel_index(means.argmax(), means.shape)
    learnt = distracted_pairs(2 * train // 3, seed, "train", source)
    learnt += agreement_pairs(train // 3, agreeing=1, seed=seed, source=source)
    rules = position_rules(pairs)
    found = {
        "cloze": cloze.preferred(scores)[half:].astype(float),
        "attention": looks[layer, head, half:].astype(float),
        "position": rules[rules[:, :half].mean(1).argmax(), half:],
        "probe": _number_probe(eager, learnt, pairs[:half], pairs[half:], seed),
    }
    return {name: by_unit(values, verbs) for name, values in found.items()}


def distracted_pairs(n: int, seed: int, split: str, source: str = EMBEDDED) -> list[MinimalPair]:
    """Agreement pairs with one attractor, in turn behind the subject and before it."""
    drawn = {"attractors": 1, "seed": seed, "split": split, "source": source}
    behind, before = (agreement_pairs(n // 2, structure=structure, **drawn) for structure in ("mixed", "fronted"))
    return [pair for two in zip(behind, before, strict=False) for pair in two]


def attractor_place(pair: MinimalPair) -> int:
    """Index of the attractor: the end of a fronted phrase (or the subject of a sentence's first clause), or the noun
    before the verb, or before that of an object relative clause."""
    if pair.condition["structure"] == "fronted":
        return pair.good.index(",") - 1 if "," in pair.good else 1
    return pair.focus - (2 if pair.condition["structure"] == "object_relative" else 1)


def position_rules(pairs: Sequence[MinimalPair], furthest: int = 12) -> np.ndarray:
    """What heads that know places alone would answer, `(rules, pairs)`: 1 subject, 0 attractor, a half where they tie.

    A rule prefers the noun that stands nearer to one place: the k-th of the sentence, or the k-th before the verb.
    """
    nouns = np.array([(int(pair.condition["subject"]), attractor_place(pair)) for pair in pairs])  # (pairs, 2)
    before = np.array([pair.focus for pair in pairs])[:, None] - nouns
    aims = np.arange(furthest)[:, None, None]
    off = np.abs(np.concatenate([nouns - aims, before - aims]))  # (rules, pairs, 2)
    return (np.sign(off[..., 1] - off[..., 0]) + 1) / 2


def subject_attention(eager: Specimen, pairs: Sequence[MinimalPair]) -> np.ndarray:
    """Whether each head looks from the masked verb more at the subject than at the attractor: `(layers, heads, n)`."""
    masked = [_masked(eager, pair) for pair in pairs]
    found = np.zeros((eager.layers, eager.heads, len(pairs)), bool)
    for index, encoding, maps in attention_maps(eager, masked):
        row = word_level_map(maps, encoding)[:, :, pairs[index].focus]
        subject = int(pairs[index].condition["subject"])
        found[..., index] = (row[..., subject] > row[..., attractor_place(pairs[index])]).numpy()
    return found


def _number_probe(specimen: Specimen, train, development, test, seed: int) -> np.ndarray:
    parts = [_mask_vectors(specimen, pairs) for pairs in (train, development, test)]
    labels = [
        np.array([pair.condition["number"] == "plural" for pair in pairs]).astype(int)
        for pairs in (train, development, test)
    ]
    probe = train_probe(parts[0], labels[0], seed=seed)
    layer = int(probe.correct(parts[1], labels[1]).mean((1, 2)).argmax())
    return probe.correct(parts[2], labels[2])[layer]


def _mask_vectors(specimen: Specimen, pairs: Sequence[MinimalPair]) -> torch.Tensor:
    vectors = word_vectors(specimen, [_masked(specimen, pair) for pair in pairs])
    return stack_words(vectors, [(i, pair.focus) for i, pair in enumerate(pairs)])


def _masked(specimen: Specimen, pair: MinimalPair) -> list[Hashable]:
    words = cloze.mask_word(pair.good, pair.focus)
    return [specimen.tokenizer.mask_token if word == cloze.MASK else word for word in words]
