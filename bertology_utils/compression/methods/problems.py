"""The tasks that every method of Table 1 is asked: a pair of sentences, one sentence, and its single words.

Depends on `classification_tasks`, `grammar` and `ten_languages`; knows no model. Training and test examples share no
content word, so a small model that remembers words alone stays at chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from bertology_utils.data.material import OPEN_CLASS
from bertology_utils.errors import unknown
from bertology_utils.language.grammar import generate
from bertology_utils.language.lexicon import SPLITS
from bertology_utils.language.ten_languages import LANGUAGES, ParallelSentence, parallel_corpus
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.text import Words
from bertology_utils.tuning.classification_tasks import TASKS, task

TAGGING = "tagging"
TAGS = ("NOUN", "VERB", "ADJ", "ADV", "PROPN")
TEN_LANGUAGES = "tagging in ten languages"
ALL_TAGS = ("NOUN", "VERB", "ADJ", "ADV", "ADP", "AUX", "DET", "PART", "PUNCT")
SPLIT_TAGS = ALL_TAGS[:3]  # of the words that only one split has


@dataclass(frozen=True)
class Questions:
    """Sentences (or pairs) and right answers: one of each sentence, or of each word, `IGNORED` where not asked."""

    sentences: Sequence[Words]
    labels: Sequence[int | Sequence[int]]
    pairs: Sequence[Words] | None = None

    @property
    def of_words(self) -> bool:
        return not isinstance(self.labels[0], int)


@dataclass(frozen=True)
class Problem:
    """A task: its two sets of questions and how many `classes` an answer is chosen from."""

    name: str
    train: Questions
    test: Questions
    classes: int

    @property
    def paired(self) -> bool:
        return self.train.pairs is not None


PROBLEMS = ("paraphrase", "tense", TAGGING)
OF_TEXTS = " of texts"
JOINED = {"voice": 8, "tense": 8, "topic": 8}  # sentences of one text: 60 to 128 pieces
LONG = tuple(f"{name}{OF_TEXTS}" for name in JOINED)  # questions with one answer a text


def problem(name: str, train: int, test: int, seed: int = 0) -> Problem:
    """So many examples of each split, the same for the same arguments.

    `name` is "tagging", the part of speech of each content word, the same "in ten languages", a task of
    `classification_tasks`, or one of `LONG`. Raises BertologyError for an unknown task.
    """
    if name == TEN_LANGUAGES:
        return Problem(name, _in_ten_languages(train, seed), _held_out_words(test, seed), len(ALL_TAGS))
    parts = [questions(name, n, seed, split) for n, split in ((train, "train"), (test, "test"))]
    return Problem(name, *parts, classes=len(TAGS) if name == TAGGING else 2)


def questions(name: str, n: int, seed: int = 0, split: str = "train") -> Questions:
    """`n` examples of one split of a task, such as more of its training sentences with another seed."""
    if name in LONG:
        return _texts(name.removesuffix(OF_TEXTS), n, seed, split)
    if name == TAGGING:
        return _tagged(n, seed, split)
    if name not in TASKS:
        raise unknown("task", name, [TAGGING, TEN_LANGUAGES, *LONG, *TASKS])
    drawn = task(name, n, seed, split)
    return Questions(drawn.sentences, drawn.labels, drawn.pairs)


def _tagged(n: int, seed: int, split: str) -> Questions:
    sentences = generate(n, seed, split)
    labels = [
        [TAGS.index(tag) if tag in TAGS and tag in OPEN_CLASS else IGNORED for tag in sentence.upos]
        for sentence in sentences
    ]
    return Questions([sentence.words for sentence in sentences], labels)


def _texts(name: str, n: int, seed: int, split: str) -> Questions:
    """`n` texts of sentences that have one answer, the answers in turn."""
    size = JOINED[name]
    drawn = task(name, (n + n % 2) * size, seed, split)
    cut = [np.flatnonzero(np.asarray(drawn.labels) == label).reshape(-1, size) for label in (0, 1)]
    texts = [text for turn in zip(*cut, strict=True) for text in turn][:n]
    joined = [tuple(chain.from_iterable(drawn.sentences[place] for place in text)) for text in texts]
    return Questions(joined, [drawn.labels[text[0]] for text in texts])


def mixed_languages(n: int, split: str, seed: int = 0) -> list[ParallelSentence]:
    """`n` different meanings, each in one of the ten languages in turn, so that no sentence translates another."""
    corpus, codes = parallel_corpus(n, split, seed), list(LANGUAGES)
    return [corpus[codes[i % len(codes)]][i] for i in range(n)]


def text_of_ten_languages(n: int, seed: int = 0) -> list[Words]:
    """`n` unlabelled sentences with the words of each split: the text of a course in ten languages."""
    return [sentence.words for split in SPLITS for sentence in mixed_languages(n, split, seed)]


def _in_ten_languages(n: int, seed: int) -> Questions:
    sentences = mixed_languages(n, "train", seed)
    return Questions([s.words for s in sentences], [list(map(ALL_TAGS.index, s.upos)) for s in sentences])


def _held_out_words(n: int, seed: int) -> Questions:
    """Of every word the tag is taught; the words that training has not shown are asked."""
    sentences = mixed_languages(n, "test", seed)
    labels = [[ALL_TAGS.index(tag) if tag in SPLIT_TAGS else IGNORED for tag in s.upos] for s in sentences]
    return Questions([s.words for s in sentences], labels)


# ---------------------------------------------------------------- what the surface tells


def surface_rule(asked: Problem) -> float:
    """Share of the asked words whose label is told without any model, by a linear rule on what stands in the sentence:
    the two words before and behind, the last letters, and the place from either end."""
    (seen, labels), (new, answers) = (_surface(part) for part in (asked.train, asked.test))
    rule = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=200)).fit(seen, labels)
    return float(rule.score(new, answers))


def _surface(asked: Questions) -> tuple[list[dict[str, str]], list[int]]:
    found = [
        (_marks(words, place), label)
        for words, own in zip(asked.sentences, asked.labels, strict=True)
        for place, label in enumerate(own)
        if label != IGNORED
    ]
    return [marks for marks, _ in found], [label for _, label in found]


def _marks(words: Words, place: int) -> dict[str, str]:
    padded, here = ["", "", *words, "", ""], place + 2
    marks = {f"word {offset:+d}": padded[here + offset] for offset in (-2, -1, 1, 2)}
    marks |= {f"last {n}": words[place][-n:] for n in (1, 2, 3)}
    return marks | {"from the start": str(min(place, 4)), "from the end": str(min(len(words) - 1 - place, 4))}
