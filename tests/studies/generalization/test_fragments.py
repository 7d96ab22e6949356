"""Fragments of logic: labels that are true in every world, and hypotheses that betray nothing."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from bertology_utils.studies.generalization import fragments


@pytest.fixture
def words() -> fragments.Words:
    rng = np.random.default_rng(0)
    every = fragments.Words(fragments.NAMES, fragments.ADJECTIVES, fragments.PEOPLE)
    return every.shuffled(rng).part(slice(16))


def holds(text: str, world: dict[str, bool]) -> bool:
    """Whether a sentence of coordination or condition is true, where `world` says what is of whom."""
    if text.startswith("if"):
        condition, then, given = text[3:].split(" , ")
        return holds(given, world) and (holds(then, world) or not holds(condition, world))
    told = text.split()
    if told[0] in ("both", "neither", "either"):
        one, two = (world[f"{told[place]} {told[-1]}"] for place in (1, 3))
        return {"both": one and two, "neither": not one and not two, "either": one or two}[told[0]]
    return world[f"{told[0]} {told[-1]}"] == ("not" not in told)


@pytest.mark.parametrize("kind", ["boolean", "conditional"])
def test_labels_are_what_holds_in_every_world_of_the_premise(kind, words) -> None:
    made = fragments.pairs(kind, words, 90, np.random.default_rng(1))
    for premise, hypothesis, label in zip(made.sentences, made.pairs, made.labels, strict=True):
        said, asked = " ".join(premise[:-1]), " ".join(hypothesis[:-1])
        used = [word for word in (*premise, *hypothesis) if word in (*words.names, *words.adjectives)]
        facts = sorted({f"{a} {b}" for a in used for b in used if a in words.names and b in words.adjectives})
        worlds = [dict(zip(facts, values, strict=True)) for values in product((True, False), repeat=len(facts))]
        found = {holds(asked, world) for world in worlds if holds(said, world)}
        assert found == {fragments.FOLLOWS: {True}, fragments.CONTRADICTS: {False}}.get(label, {True, False})


def test_the_square_of_opposition() -> None:
    true = {"every": all, "some": any, "no": lambda own: not any(own), "not every": lambda own: not all(own)}
    worlds = list(product((True, False), repeat=3))
    for asked, by_label in fragments.SQUARE.items():
        for label, premises in enumerate(by_label):
            for said in premises:
                found = {true[asked](world) for world in worlds if true[said](world)}
                assert found == ({True}, {True, False}, {False})[label]


@pytest.mark.parametrize("kind", [*fragments.FRAGMENTS, "ordinary"])
def test_a_hypothesis_tells_nothing_of_its_label(kind, words) -> None:
    made = fragments.pairs(kind, words, 3000, np.random.default_rng(2))
    forms = [tuple(w for w in own if w in fragments.FRAMES.split()) for own in made.pairs]
    counts = Counter(zip(forms, made.labels, strict=True))
    assert all(counts[form, label] / forms.count(form) == pytest.approx(1 / 3, abs=0.06) for form, label in counts)
