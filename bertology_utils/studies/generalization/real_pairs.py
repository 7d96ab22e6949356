"""MNLI's pairs in two classes and those of HANS by heuristic, in the form of the planted ones: the profile `full`.

Depends on `material` (the sets) and `readers`. Every set has as many pairs that follow as that do not, by turns, so
that the same answer to all is right on one half.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from bertology_utils.data.material import EMBEDDED, draw, fits, rows
from bertology_utils.data.readers import split_words
from bertology_utils.data.rows import Labelled
from bertology_utils.errors import NotAskable
from bertology_utils.models import Specimen
from bertology_utils.studies.generalization import readers
from bertology_utils.studies.generalization.planted import PairSets
from bertology_utils.studies.generalization.readers import Scores
from bertology_utils.tuning.shortcuts import ENTAILED, NOT_ENTAILED, joined, split_by_label
from bertology_utils.tuning.training import Examples

HEURISTICS = ("lexical_overlap", "subsequence", "constituent")
LESSONS, TEST = 6000, 1200  # pairs at most


def two_classes(found: Sequence[Labelled], n: int, seed: int) -> Examples:
    """At most `n` pairs that every model can read: by turns one that follows and one that does not."""
    pairs = [(split_words(row.text), split_words(row.text_b), row.label == "entailment") for row in found]
    readable = [pair for pair in pairs if fits(pair[0]) and fits(pair[1])]
    sides = [[pair for pair in readable if pair[2] == follows] for follows in (True, False)]
    count = min(n // 2, *map(len, sides))
    turns = [pair for couple in zip(*(draw(side, count, seed) for side in sides), strict=True) for pair in couple]
    return Examples([own[0] for own in turns], [ENTAILED, NOT_ENTAILED] * count, [own[1] for own in turns])


def pair_sets(train: int = LESSONS, test: int = TEST, seed: int = 0) -> PairSets:
    """At most `train` pairs of MNLI to learn from, `test` of its validation set, and of HANS, a third a heuristic.

    Raises BertologyError where a set is not at hand.
    """
    known = [two_classes(rows("mnli", part), n, seed) for part, n in (("train", train), ("validation", test))]
    asked = [two_classes(rows(f"hans:{name}"), test // len(HEURISTICS), seed) for name in HEURISTICS]
    return PairSets(*known, reduce(joined, asked))


def by_heuristic(scores: Mapping[str, Any]) -> Scores:
    """`readers.couples`, and of each heuristic the pairs that follow (`subsequence_follows`) and those that do not."""
    found, step = readers.couples(scores), scores["challenge"].shape[-1] // len(HEURISTICS)
    for place, name in enumerate(HEURISTICS):
        own = scores["challenge"][..., place * step : (place + 1) * step]
        found |= dict(zip((f"{name}_follows", f"{name}_does_not"), split_by_label(own), strict=True))
    return found


def tuned(
    specimen: Specimen, source: str, seeds: Sequence[int], epochs: int, train: int = LESSONS, test: int = TEST
) -> Scores:
    """`by_heuristic` of readers tuned on MNLI. Raises NotAskable where `source` is the book's own."""
    if source == EMBEDDED:
        raise NotAskable("MNLI and HANS are read under the profile full")
    return by_heuristic(readers.tune(specimen, pair_sets(train, test), seeds, epochs))
