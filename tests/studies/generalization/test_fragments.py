"""Fragments of logic: labels that are true in every world, hypotheses that betray nothing, and what teaching does."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from bertology_utils.studies.generalization import fragments
from bertology_utils.tuning.together import pack
from bertology_utils.tuning.training import Classifier
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

CLAIM = "teach-reasoning-fragments"


@pytest.fixture
def words() -> fragments.Words:
    rng = np.random.default_rng(0)
    every = fragments.Words(fragments.NAMES, fragments.ADJECTIVES, fragments.PEOPLE)
    return every.shuffled(rng).part(slice(fragments.DRAWN))


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


@torch.no_grad()
def test_readers_pool_as_a_classifier_of_pairs_does(words) -> None:
    readers = fragments.Readers.untrained([3])
    readers.stack.unstack()
    alone = Classifier(readers.specimen.encoder, 3, "pair", readers.specimen.tokenizer.sep_token_id)
    batch = readers.read([fragments.pairs("conditional", words, 6, np.random.default_rng(0))])
    inputs = {key: own for key, own in batch[0].items() if key not in ("labels", "answers")}
    assert torch.allclose(readers.logits(pack(batch))[0], alone.features(**inputs) @ readers.head[0], atol=1e-5)


def test_what_is_planted_is_learnt_and_without_premises_is_not(words, monkeypatch) -> None:
    def planted(own, label, rng):
        return ("both", "either", "neither")[label] + f" {rng.choice(own.names)} is here", "the king is here"

    monkeypatch.setattr(fragments, "FRAGMENTS", dict.fromkeys(fragments.FRAGMENTS, planted))
    monkeypatch.setattr(fragments, "RECIPE", replace(fragments.RECIPE, steps=10))
    sizes = {"ORDINARY": 60, "LESSONS": 30, "ASKED": 60, "TEACHING_STEPS": 60, "RATES": (5e-3,)}
    for size, value in sizes.items():
        monkeypatch.setattr(fragments, size, value)
    runs = fragments.taught([9000, 9001])
    for kind in fragments.FRAGMENTS:
        assert runs.model[f"{kind}_taught"].min() > 0.9 and runs.model[f"{kind}_blind"].max() < 0.5
    for side in (runs.model, runs.twin):
        assert {own.shape for own in needed(claim_by_id(CLAIM), side).values()} == {(2, 1)}


CHANGES = {
    "replicates": [{}],
    "contradicts": [{"boolean_taught": 0.4}],
    "weaker": [{"comparative_taught": 0.5}],
    "cannot do the task": [{"ordinary_before": 0.35, "ordinary_taught": 0.35}],
}


@pytest.mark.parametrize(("verdict", "change"), [(name, own) for name, each in CHANGES.items() for own in each])
def test_planted_verdicts(verdict, change) -> None:
    rng = np.random.default_rng(0)
    parts = {"{}_before": 0.4, "{}_taught": 0.9, "{}_blind": 0.35, "lessons_{}_taught": 0.9}
    base = {name.format(kind): mean for kind in fragments.FRAGMENTS for name, mean in parts.items()}
    base |= {"ordinary_before": 0.95, "ordinary_taught": 0.94} | change
    samples = {name: mean + rng.normal(0, 0.01, (12, 1)) for name, mean in base.items()}
    twins = [{name: rng.normal(1 / 3, 0.01, (1, 1)) for name in base} for _ in range(12)]
    assert judge_claim(claim_by_id(CLAIM), samples, twins).verdict == verdict
