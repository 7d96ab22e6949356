"""What a name alone tells of LAMA's people: the test behind LAMA-UHN (poerner2019bert).

Depends on `knowledge` (facts that were asked) and `cloze`. The study drops a fact where a part of the name, asked about
as a name, gives the answer away; here the facts are divided by that, and both parts scored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .cloze import MASK, word_log_probability
from .errors import BertologyError
from .knowledge import RelationScores, joined
from .models import Specimen

# What the objects of a relation of people are.
KINDS = {"P19": "city", "P20": "city", "P27": "country", "P103": "language", "P1412": "language"}


def names_test(specimen: Specimen, found: Sequence[RelationScores]) -> dict[str, np.ndarray]:
    """Samples over people, 0/1, named as in `knowledge.names_test`; a fact is *congruent* with a name that tells it.

    `style`: the best guess by the name is the object; `constant`: the most frequent object is; `congruent` and
    `incongruent`: the plain prompt finds the object; `misled`: it finds what the name tells instead. Guesses are among
    the relation's candidates, less each one's mean over all names, where the study takes the first three of all words.
    Raises BertologyError where no relation is about people, or all names tell alike.
    """
    asked = [scores for scores in found if scores.relation in KINDS]
    if not asked:
        raise BertologyError(f"No relation of people was asked; they are: {', '.join(KINDS)}.")
    samples = joined([_of_relation(specimen, scores) for scores in asked])
    if not len(samples["congruent"]) or not len(samples["incongruent"]):
        raise BertologyError("The names tell every fact, or none.")
    return samples


def _of_relation(specimen: Specimen, scores: RelationScores) -> dict[str, np.ndarray]:
    guesses = name_scores(specimen, scores).argmax(-1)
    told = guesses == scores.answers
    hits = scores.hits[0]
    misled = scores.log_probabilities[0].argmax(-1) == guesses
    samples = {"style": told, "constant": scores.majority, "congruent": hits[told], "incongruent": hits[~told],
               "misled": misled[~told]}  # fmt: skip
    return {name: values.astype(float) for name, values in samples.items()}


def name_scores(specimen: Specimen, scores: RelationScores) -> np.ndarray:
    """How well a name fits each candidate, (facts, candidates): log probabilities less their mean, best over parts."""
    parts = [(i, part) for i, fact in enumerate(scores.facts) for part in fact.subject.split()]
    question = f"is a common name in the following {KINDS[scores.relation]} : {MASK} .".split()
    words = [(part, *question) for _, part in parts]
    places = [1 + question.index(MASK)] * len(words)
    values = word_log_probability(specimen, words, places, [scores.candidates] * len(words)).log_probabilities
    best = np.full((len(scores.facts), len(scores.candidates)), -np.inf)
    np.maximum.at(best, [i for i, _ in parts], values - values.mean(0))
    return best
