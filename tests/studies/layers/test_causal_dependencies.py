"""Attention along dependencies is found where it was planted, and place alone is not taken for it."""

from dataclasses import replace

import numpy as np
import pytest

from bertology_utils.studies.layers import causal_dependencies as study
from bertology_utils.tuning.tiny_pretraining import small_language
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.formulas import clauses_of, names_of

LONGEST = 24
SENTENCES = small_language(120, 3)
PAIRS = study.pairs_of(SENTENCES)


def maps_of(mark) -> np.ndarray:
    """One layer whose pieces attend to themselves, to the first piece, and by `mark` (sentence, later, earlier)."""
    maps = np.tile(np.eye(LONGEST) * 0.1, (1, len(SENTENCES), 1, 1))
    maps[..., 0] = 0.1
    for number, one in enumerate(SENTENCES):
        for later in range(1, len(one.words)):
            for earlier in range(later):
                maps[0, number, later + 1, earlier + 1] = mark(one, later, earlier)
    return maps


def joined(one, later: int, earlier: int) -> float:
    return 1e-6 + (one.heads[later] == earlier or one.heads[earlier] == later)


def test_attention_to_partners_is_found_and_that_to_neighbours_is_not() -> None:
    planted, near = (study.word_shares(maps_of(mark)) for mark in (joined, lambda one, a, b: 0.5 ** (a - b)))
    assert study.excess(planted, PAIRS)[0] == pytest.approx(study.perfect(PAIRS), abs=0.02)
    assert study.perfect(PAIRS) > 0.15 and study.excess(near, PAIRS)[0] == pytest.approx(0, abs=1e-6)
    assert study.along(near, PAIRS)[0] > 0.3


def test_attention_to_all_but_partners_is_less_than_none() -> None:
    avoiding = study.word_shares(maps_of(lambda *place: 1.1 - joined(*place)))
    assert study.excess(avoiding, PAIRS)[0] < -0.1


def test_shares_of_earlier_words_are_one() -> None:
    shares = study.word_shares(np.random.default_rng(0).random((2, 3, 7, 7)))
    assert np.allclose(shares.sum(-1)[..., 1:], 1) and not shares[..., 0, :].any()
    assert np.allclose(shares, np.tril(shares, -1))


def test_most_dependencies_have_a_counterpart_at_the_same_places() -> None:
    cells, joined = PAIRS.later * study.PLACES + PAIRS.earlier, PAIRS.joined.astype(bool)
    assert np.isin(cells[joined], cells[~joined]).mean() > 0.9
    assert max(len(one.words) for one in SENTENCES) < study.PLACES


def test_every_name_of_the_claim_is_a_sample_of_a_value_a_seed(monkeypatch) -> None:
    monkeypatch.setattr(study, "RECIPE", replace(study.RECIPE, steps=4))
    monkeypatch.setattr(study, "SENTENCES", 300)
    monkeypatch.setattr(study, "ASKED", 60)
    found, claim = study.directions([3, 4]), claim_by_id("gpt2-dependency-attention-middle")
    for formula in (claim.prediction, claim.given):
        assert names_of(clauses_of(formula)) <= set(found.model) == set(found.twin)
    assert {values.shape for values in (*found.model.values(), *found.twin.values())} == {(2, 1)}
    assert abs(found.twin["middle"]).max() < 0.01 and found.twin["surprise"].min() > found.model["frequency"].max()
