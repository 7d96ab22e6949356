"""Fragments of logic taught to readers: what teaching does where it is planted, and what verdicts say of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.studies.generalization import fragments, lessons
from bertology_utils.tuning.together import pack
from bertology_utils.tuning.training import Classifier
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

CLAIM, COST = "teach-reasoning-fragments", "fragments-keep-ordinary-task"


@pytest.fixture
def words() -> fragments.Words:
    rng = np.random.default_rng(0)
    every = fragments.Words(fragments.NAMES, fragments.ADJECTIVES, fragments.PEOPLE)
    return every.shuffled(rng).part(slice(lessons.DRAWN))


@torch.no_grad()
def test_readers_pool_as_a_classifier_of_pairs_does(words) -> None:
    readers = lessons.Readers.untrained([3])
    readers.stack.unstack()
    alone = Classifier(readers.specimen.encoder, 3, "pair", readers.specimen.tokenizer.sep_token_id)
    batch = readers.read([fragments.pairs("conditional", words, 6, np.random.default_rng(0))])
    inputs = {key: own for key, own in batch[0].items() if key not in ("labels", "answers")}
    assert torch.allclose(readers.logits(pack(batch))[0], alone.features(**inputs) @ readers.head[0], atol=1e-5)


def test_what_is_planted_is_learnt_and_without_premises_is_not(words, monkeypatch) -> None:
    def planted(own, label, rng):
        return ("both", "either", "neither")[label] + f" {rng.choice(own.names)} is here", "the king is here"

    monkeypatch.setattr(fragments, "FRAGMENTS", dict.fromkeys(fragments.FRAGMENTS, planted))
    monkeypatch.setattr(lessons, "RECIPE", replace(lessons.RECIPE, steps=10))
    sizes = {"ORDINARY": 60, "LESSONS": 30, "ASKED": 60, "TEACHING_STEPS": 60, "RATES": (5e-3,)}
    for size, value in sizes.items():
        monkeypatch.setattr(lessons, size, value)
    runs = lessons.taught([9000, 9001])
    for kind in fragments.FRAGMENTS:
        assert runs.model[f"{kind}_taught"].min() > 0.9 and runs.model[f"{kind}_blind"].max() < 0.5
    for side in (runs.model, runs.twin):
        for claim in map(claim_by_id, (CLAIM, COST)):
            assert {own.shape for own in needed(claim, side).values()} == {(2, 1)}


UNTAUGHT = {f"{kind}_taught": 0.4 for kind in fragments.FRAGMENTS}
CHANGES = [
    (CLAIM, {}, "replicates"),
    (CLAIM, {"boolean_taught": 0.4}, "contradicts"),
    (CLAIM, {"comparative_taught": 0.5}, "weaker"),
    (CLAIM, {"ordinary_before": 0.35, "ordinary_taught": 0.35}, "cannot do the task"),
    (COST, {}, "replicates"),
    (COST, {"ordinary_taught": 0.85}, "contradicts"),  # one skill in the place of the other
    (COST, UNTAUGHT, "cannot do the task"),  # lessons that teach nothing cost nothing
    (COST, {"ordinary_before": 0.35, "ordinary_taught": 0.35}, "cannot do the task"),
]


@pytest.mark.parametrize(("claim", "change", "verdict"), CHANGES)
def test_planted_verdicts(claim, change, verdict) -> None:
    rng = np.random.default_rng(0)
    parts = {"{}_before": 0.4, "{}_taught": 0.9, "{}_blind": 0.35, "lessons_{}_taught": 0.9}
    base = {name.format(kind): mean for kind in fragments.FRAGMENTS for name, mean in parts.items()}
    base |= {"ordinary_before": 0.95, "ordinary_taught": 0.94} | change
    samples = {name: mean + rng.normal(0, 0.01, (12, 1)) for name, mean in base.items()}
    twins = [{name: rng.normal(1 / 3, 0.01, (1, 1)) for name in base} for _ in range(12)]
    assert judge_claim(claim_by_id(claim), samples, twins).verdict == verdict
