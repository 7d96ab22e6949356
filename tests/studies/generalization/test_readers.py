"""Readers of the planted sets: samples of the right shapes, couples, kinds, and a bag of words."""

import numpy as np
import pytest

from bertology_utils.studies.generalization import planted, readers
from bertology_utils.tuning.shortcuts import overlap_heuristic


@pytest.fixture(scope="module")
def sets():
    return planted.pair_sets(train=12, test=12, seed=0)


def test_the_sets_share_premises_and_differ_in_what_does_not_follow(sets):
    assert len(sets.lessons) == len(sets.in_domain) == len(sets.challenge) == 12
    assert sets.in_domain.sentences[0] == sets.challenge.sentences[0]
    table = planted.shown(6, "Both.").table
    assert list(table["set"]) == ["biased"] * 6 + ["challenge"] * 6 and set(table["follows"]) == {"yes", "no"}


def test_one_in_twenty_mixed_lessons_breaks_the_rule():
    mixed = planted.mixed_lessons(200, 0)
    assert len(mixed) == 200 and (~overlap_heuristic(mixed)).sum() == 10 and sum(mixed.labels) == 100


def test_a_tuned_reader_is_asked_about_both_sets(tiny, sets):
    run = readers.tune(tiny, sets, seeds=[0, 1], epochs=1)
    assert run["in_domain"].shape == run["challenge"].shape == (2, 12)
    assert readers.couples(run)["challenge"].shape == (2, 6)
    found = readers.projected(run, sets, planted.mixed_lessons(12, 0))
    assert {name: own.shape for name, own in found.items()} == dict.fromkeys(readers.PROJECTED, (2, 6))
    assert readers.retuned(tiny, sets, sets.challenge, seed=0, epochs=1).shape == (1, 12)


def test_frozen_and_siamese_readers(tiny, sets):
    together = readers.frozen(tiny, sets, seeds=[0, 1, 2])
    assert together["in_domain"].shape == together["challenge"].shape == (3, 6)
    assert (readers.frozen(tiny, sets, seeds=[1])["challenge"] == together["challenge"][1]).all()
    apart = readers.siamese(tiny, sets, lessons=12, seeds=[0, 1, 2])
    assert {name: values.shape for name, values in apart.items()} == {"in_domain": (3, 12), "challenge": (3, 12)}


def test_labels_and_kinds_are_told_apart():
    right = np.tile([True, False], 6)
    scores = {"in_domain": ~right, "challenge": right}
    of = readers.by_label(scores)
    assert not of["entailed"].any() and of["unrelated"].all() and not of["not_entailed"].any()
    assert readers.by_kind(scores) == {"swap": 0.5, "subsequence": 0.5, "clause": 0.5}


def test_readers_of_one_sentence(tiny):
    scores = readers.numbers(tiny, planted.number_sets(test=12, seed=0), lessons=12, seeds=[0, 1])
    assert {name: own.shape for name, own in scores.items()} == dict.fromkeys(
        ("in_domain", "broken", "augmented"), (2, 12)
    )


def test_a_bag_sees_the_second_of_two_sentences():
    assert readers.bag("paraphrase", 20, 0).shape == (20,)
    assert readers.bag("number", 20, 0).dtype == bool
