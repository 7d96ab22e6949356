"""Tasks on real text for the methods of Table 1: sentiment of a sentence, inference of a pair, spans of names.

Depends on `material` for the data sets and on `problems` for what a task is; nothing of it is embedded.
"""

from collections.abc import Sequence

from bertology_utils.compression.methods.problems import Problem, Questions
from bertology_utils.data.material import draw, fits, rows
from bertology_utils.data.readers import split_words
from bertology_utils.data.rows import Labelled, Tagged
from bertology_utils.errors import unknown
from bertology_utils.pretraining.examples import IGNORED

CLASSES = {"sst2": ("0", "1"), "mnli": ("contradiction", "entailment", "neutral")}
SPANS = "uner_ewt"
SPAN_TAGS = ("O", "B-LOC", "I-LOC", "B-ORG", "I-ORG", "B-PER", "I-PER")
REAL = (*CLASSES, SPANS)
TESTED = {SPANS: "test"}  # where the test set's labels are public; else the validation set


def real_problem(name: str, train: int, test: int, seed: int = 0) -> Problem:
    """At most so many examples of each split of a data set, drawn by the seed; the splits share no sentence.

    `name` is "sst2", "mnli" or "uner_ewt": the IOB2 tag of each word of a name and of its neighbours, where it begins
    and ends. Raises BertologyError for another name, or where the data set is not at hand.
    """
    if name not in REAL:
        raise unknown("real task", name, REAL)
    splits = (("train", train), (TESTED.get(name, "validation"), test))
    questions = _spans if name == SPANS else _labelled
    parts = [questions(name, n, seed, split) for split, n in splits]
    return Problem(name, *parts, classes=len(SPAN_TAGS if name == SPANS else CLASSES[name]))


def _labelled(name: str, n: int, seed: int, split: str) -> Questions:
    found: Sequence[Labelled] = draw([row for row in rows(name, split) if _readable(row)], n, seed)
    labels = [CLASSES[name].index(row.label) for row in found]
    pairs = [split_words(row.text_b) for row in found] if found and found[0].text_b else None
    return Questions([split_words(row.text) for row in found], labels, pairs)


def _readable(row: Labelled) -> bool:
    return all(fits(split_words(text)) for text in (row.text, row.text_b) if text)


def _spans(name: str, n: int, seed: int, split: str) -> Questions:
    named = [row for row in rows(name, split) if fits(row.words) and set(row.tags) & set(SPAN_TAGS[1:])]
    found: Sequence[Tagged] = draw(named, n, seed)
    return Questions([row.words for row in found], [asked_tags(row.tags) for row in found])


def asked_tags(tags: Sequence[str]) -> list[int]:
    """The tag of each word of a name and of the words before and after it; elsewhere `IGNORED`: most words are none."""
    inside = [tag in SPAN_TAGS[1:] for tag in tags]
    near = [any(inside[max(0, place - 1) : place + 2]) for place in range(len(tags))]
    return [SPAN_TAGS.index(tag) if own and tag in SPAN_TAGS else IGNORED for tag, own in zip(tags, near, strict=True)]
