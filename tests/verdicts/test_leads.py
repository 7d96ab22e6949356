"""Leads over untrained twins: what training taught is found, and what it did not teach is not."""

import numpy as np
import pytest

from bertology_utils.verdicts.judging import verdict
from bertology_utils.verdicts.leads import contrast, stacked
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_SPECIFIC, REPLICATES, judge, parse


def scores(mean: float, n: int = 400, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(n) < mean).astype(float)


class TestTwins:
    """What training teaches is a tested lead over untrained twins."""

    def sides(self, model: float, twin: float, twins: int = 1, n: int = 400):
        return {"a": scores(model, n)}, [{"a": scores(twin, n, 10 + i)} for i in range(twins)]

    @pytest.mark.parametrize("twins", [1, 5])
    def test_a_planted_lead_is_found(self, twins):
        own, others = self.sides(0.9, 0.5, twins)
        lead = contrast(parse("a > 0.6"), None, own, others)
        assert lead.shown and lead.twins == twins and lead.low < lead.value < lead.high
        assert lead.value == pytest.approx(0.4, abs=0.1)

    def test_no_lead_is_found_in_a_null(self):
        found = []
        for s in range(300):
            own = {"a": scores(0.7, 100, s), "b": scores(0.4, 100, 1000 + s)}
            other = {"a": scores(0.7, 100, 2000 + s), "b": scores(0.4, 100, 3000 + s)}
            found.append(contrast(parse("a > 0.6 and b < 0.5"), None, own, [other]).shown)
        assert np.mean(found) < 0.05

    def test_what_the_gate_shows_counts_as_a_lead(self):
        own = {"error": scores(0.5), "skill": scores(0.95)}
        other = {"error": scores(0.5), "skill": scores(0.5, seed=1)}
        assert contrast(parse("error > 0.3"), parse("skill > 0.7"), own, [other]).text == "skill > 0.7"
        assert not contrast(parse("error > 0.3"), None, own, [other]).shown

    def test_a_replication_without_a_lead_is_not_specific(self):
        text = parse("a > 0.6")
        (own, far), (_, near) = self.sides(0.9, 0.5), self.sides(0.9, 0.88)
        model = judge(text, None, own)
        for others, expected in ((far, REPLICATES), (near, NOT_SPECIFIC)):
            twins = judge(text, None, stacked(others))
            assert verdict(model, twins, contrast(text, None, own, others), specific=True) == expected
            assert verdict(model, twins, None, specific=False) == REPLICATES
        assert verdict(model, judge(text, None, stacked(far)), None, specific=True) == NOT_SPECIFIC

    def test_a_lead_of_a_model_over_twins_that_pass_too_is_not_specific(self):
        own, others = self.sides(0.99, 0.75)
        text = parse("a > 0.6")
        lead = contrast(text, None, own, others)
        assert lead.shown and verdict(judge(text, None, own), judge(text, None, others[0]), lead, True) == NOT_SPECIFIC

    def test_what_does_not_replicate_keeps_its_word(self):
        own, others = self.sides(0.3, 0.9)
        text = parse("a > 0.6")
        assert verdict(judge(text, None, own), judge(text, None, others[0]), None, specific=True) == CONTRADICTS

    def test_several_twins_are_seeds(self):
        rows = stacked([{"a": scores(0.5, 30, s), "n": 3.0, "m": float(s)} for s in range(4)])
        assert rows["a"].shape == (4, 30) and rows["n"].shape == () and rows["m"].shape == (4, 1)
        seeds = stacked([{"a": np.zeros((3, 30))}, {"a": np.ones((3, 30))}])
        assert seeds["a"].mean(1).tolist() == [0, 1]


def test_twins_that_were_asked_different_units_count_by_their_means():
    joined = stacked([{"a": np.ones(4)}, {"a": np.array([0.0, 1.0])}, {"a": np.zeros(3)}])
    assert joined["a"].tolist() == [[1.0], [0.5], [0.0]]


def test_a_claim_of_several_parts_is_specific_if_each_leads():
    rng = np.random.default_rng(0)
    own = {
        "a": (rng.random(400) < 0.72) * 1.0,
        "b": (rng.random(400) < 0.5) * 1.0,
        "acc": (rng.random(400) < 0.9) * 1.0,
    }
    others = [
        {"a": (rng.random(400) < 0.72) * 1.0, "b": (rng.random(400) < 0.5) * 1.0, "acc": (rng.random(400) < 0.5) * 1.0}
        for _ in range(5)
    ]
    assert contrast(parse("acc > 0.5 by 0.1"), None, own, others).shown
    assert not contrast(parse("a > b by 0.1 and acc > 0.5 by 0.1"), None, own, others).shown


def test_the_lead_is_over_another_network_not_over_the_mean_of_some():
    rng = np.random.default_rng(1)
    shown = 0
    for _ in range(200):
        networks = [{"a": rng.normal(0.5, 0.1) + rng.normal(0, 0.05, 60)} for _ in range(6)]
        shown += contrast(parse("a > 0.5 by 0.01"), None, networks[0], networks[1:]).shown
    assert shown < 12


def test_an_exact_lead_over_one_network_is_not_shown():
    assert not contrast(parse("a > 0.5"), None, {"a": 0.9}, [{"a": 0.1}]).shown


def test_there_is_no_lead_where_a_ratio_is_not_defined():
    own, twin = {"a": np.ones(4), "b": np.zeros(4)}, {"a": np.ones(4), "b": np.ones(4)}
    assert contrast(parse("a / b > 0.5"), None, own, [twin]) is None
