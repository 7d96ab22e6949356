"""The tasks that every method of Table 1 is asked: a pair of sentences, one sentence, and its single words.

Depends on `classification_tasks` and `grammar`; knows no model. Training and test examples share no content word, so a
small model that remembers words alone stays at chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bertology_utils.data.material import OPEN_CLASS
from bertology_utils.errors import unknown
from bertology_utils.language.grammar import generate
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.text import Words
from bertology_utils.tuning.classification_tasks import TASKS, task

TAGGING = "tagging"
TAGS = ("NOUN", "VERB", "ADJ", "ADV", "PROPN")


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


PROBLEMS = ("entailment", "tense", TAGGING)


def problem(name: str, train: int, test: int, seed: int = 0) -> Problem:
    """So many examples of each split, the same for the same arguments.

    `name` is "tagging", the part of speech of each content word, or a task of `classification_tasks`.
    Raises BertologyError for an unknown task.
    """
    parts = [questions(name, n, seed, split) for n, split in ((train, "train"), (test, "test"))]
    return Problem(name, *parts, classes=len(TAGS) if name == TAGGING else 2)


def questions(name: str, n: int, seed: int = 0, split: str = "train") -> Questions:
    """`n` examples of one split of a task, such as more of its training sentences with another seed."""
    if name == TAGGING:
        return _tagged(n, seed, split)
    if name not in TASKS:
        raise unknown("task", name, [TAGGING, *TASKS])
    drawn = task(name, n, seed, split)
    return Questions(drawn.sentences, drawn.labels, drawn.pairs)


def _tagged(n: int, seed: int, split: str) -> Questions:
    sentences = generate(n, seed, split)
    labels = [
        [TAGS.index(tag) if tag in TAGS and tag in OPEN_CLASS else IGNORED for tag in sentence.upos]
        for sentence in sentences
    ]
    return Questions([sentence.words for sentence in sentences], labels)
