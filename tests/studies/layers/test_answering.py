"""The phases of answering are found where they were planted, and stories hold what their questions need."""

from dataclasses import replace

import numpy as np
import pytest
from ledger_toys import planted_verdict

from bertology_utils.studies.layers import answering as study
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed

CLAIM = claim_by_id("qa-layerwise-behaviour")


def drawn(kind: int, count: int = 400) -> study.Stories:
    return study.Stories.drawn(kind, count, np.random.default_rng(3))


def test_a_question_of_two_facts_shares_no_word_with_the_second() -> None:
    own = drawn(study.WHERE_THING)
    rows = np.arange(len(own.words))
    words = np.array(study.WORDS)[own.words]
    assert (words[rows, own.things[:, 0] + 2] == words[:, 1]).all()
    assert (words[rows, own.things[:, 0]] == words[rows, own.places[:, 0]]).all()
    for story, place, answer in zip(words, own.places[:, 0], own.answers, strict=True):
        assert not set(story[:2]) & set(story[place : place + 3]) and story[answer].startswith("place")
    assert own.guess() < 0.6


def test_an_answer_of_one_fact_stands_in_the_fact_that_is_named() -> None:
    where, who = drawn(study.WHERE), drawn(study.WHO)
    rows = np.arange(400)
    assert (where.words[rows, where.places[:, 0]] == where.words[:, 1]).all()
    assert (who.words[rows, who.things[:, 0] + 2] == who.words[:, 1]).all()
    assert (who.answers == who.things[:, 0]).all() and (who.words[:, 0] != where.words[:, 0]).all()


def test_a_reader_finds_what_is_planted_in_a_layer_and_nothing_else() -> None:
    vectors = np.random.default_rng(0).normal(size=(3, 500, 2, 8)).astype(np.float32)
    vectors[2, :, 0, 5] += 6
    found = study.chosen(vectors)
    assert found[2] > 0.95 and found[:2] == pytest.approx(0.5, abs=0.12)


def test_a_curve_has_its_place_where_it_rises_and_the_last_where_it_does_not() -> None:
    assert study.place_of(np.array([0.5, 0.5, 1, 1, 1])) == 2
    assert study.place_of(np.array([0.5, 0.5, 1, 0.5, 0.5])) == 2
    assert study.place_of(np.array([0.5, 0.5, 0.5, 0.5, 1])) == study.place_of(np.full(5, 0.5)) == 4


def test_every_name_of_the_claim_is_a_sample_of_a_value_a_seed(monkeypatch) -> None:
    monkeypatch.setattr(study, "RECIPE", replace(study.RECIPE, steps=4))
    monkeypatch.setattr(study, "TAUGHT", 60)
    monkeypatch.setattr(study, "ASKED", 60)
    found = study.phases([3, 4])
    assert set(found.model) == set(found.twin)
    assert {values.shape for values in (*found.model.values(), *found.twin.values())} == {(2, 1)}
    assert needed(CLAIM, found.model) and found.twin["answer_0"].max() < 0.75


PLANTED = {"first_layer": 2, "second_layer": 3, "answer_layer": 4, "apart_last": 0.5, "apart_middle": 0, "right": 1}
UNTRAINED = dict.fromkeys(PLANTED, 0.0) | {"guess": 0.5}
CHANGES = {
    "replicates": {},
    "contradicts": {"answer_layer": 2.5},
    "weaker": {"second_layer": 3.7},
    "cannot do the task": {"right": 0.6},
}


@pytest.mark.parametrize(("verdict", "change"), CHANGES.items())
def test_planted_verdicts(verdict, change) -> None:
    planted = {**PLANTED, "guess": 0.5, **change}
    assert planted_verdict(CLAIM.id, planted, UNTRAINED, noise=0.05) == verdict
