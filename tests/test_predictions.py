"""The verdict logic: planted effects get the verdict that they deserve."""

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.verdicts.predictions import (
    CONTRADICTS,
    INCONCLUSIVE,
    NOT_SPECIFIC,
    REPLICATES,
    ClauseResult,
    Judgement,
    judge,
    judge_both,
    overall,
    parse,
    verdict,
)


def scores(mean: float, n: int = 400, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(n) < mean).astype(float)


@pytest.mark.parametrize(
    "model, baseline, expected",
    [(0.9, 0.5, REPLICATES), (0.5, 0.9, CONTRADICTS), (0.6, 0.5, INCONCLUSIVE)],
)
def test_planted_effects(model, baseline, expected):
    clauses = parse("model > baseline + 0.05").judge(
        {"model": scores(model, 200), "baseline": scores(baseline, 200, 1)}
    )
    assert overall(clauses) == expected


def test_a_planted_null_does_not_replicate():
    verdicts = [
        overall(parse("a > b").judge({"a": scores(0.6, seed=2 * s), "b": scores(0.6, seed=2 * s + 1)}, seed=s))
        for s in range(40)
    ]
    # A 95 % interval lies wholly above zero in 2.5 % of null experiments.
    assert verdicts.count(REPLICATES) <= 4


def detected(effect: float, studies: int = 100) -> tuple[float, float]:
    """The share of simulated studies of 100 paired items that show an effect, and the median detectable effect."""
    draw = np.random.default_rng(0).normal
    clauses = [parse("a > b").judge({"a": effect + draw(size=100), "b": draw(size=100)}, s)[0] for s in range(studies)]
    return np.mean([c.verdict == REPLICATES for c in clauses]), np.median([c.detectable for c in clauses])


def test_the_detectable_effect_is_found_in_four_of_five_studies():
    closed_form = (1.960 + 0.842) * np.sqrt(2 / 100)
    share, detectable = detected(closed_form)
    assert detectable == pytest.approx(closed_form, rel=0.05)
    assert 0.7 <= share <= 0.9
    assert detected(closed_form / 2, 40)[0] < 0.5


def test_more_items_detect_less():
    few, many = (parse("a > 0.5").judge({"a": scores(0.6, n)})[0].detectable for n in (50, 800))
    assert few == pytest.approx(4 * many, rel=0.15)


def test_exact_values_have_no_power():
    clauses = parse("a > b and c > b").judge({"a": 1.0, "b": 0.5, "c": scores(0.9)})
    assert clauses[0].detectable is None and clauses[1].detectable > 0


@pytest.mark.parametrize("n", [3, 8, 30])
def test_too_few_items_for_a_claim_stay_inconclusive(n):
    clause = parse("a > 0.5").judge({"a": scores(0.6, n)})[0]
    assert clause.detectable > 0.1 and clause.verdict == INCONCLUSIVE


def test_every_clause_must_hold():
    samples = {"a": scores(0.7), "b": scores(0.3, seed=1), "c": scores(0.8, seed=2)}
    assert overall(parse("a > b + 0.1").judge(samples)) == REPLICATES
    assert overall(parse("a > b + 0.1 and a > c + 0.1").judge(samples)) == CONTRADICTS


def items(right, of=400):
    """That many correct answers first, then the wrong ones."""
    return (np.arange(of) < right).astype(float)


@pytest.mark.parametrize("text", ["a > b + 0.05", "c < d - 0.05"])
def test_a_margin_beyond_a_perfect_score_refutes_nothing(text):
    level = {"a": items(396), "b": items(394), "c": items(4), "d": items(6)}
    found = judge(parse(text), None, level)
    assert found.clauses[0].high < 0 and found.clauses[0].capped
    assert found.verdict == INCONCLUSIVE and found.reason.startswith(f"even a perfect score would not pass {text}")


@pytest.mark.parametrize(
    ("text", "margin"),
    [("a > b + 0.05", 0.05), ("a < b - 0.05", 0.05), ("a > b - 0.05", -0.05), ("a < b + 0.05", -0.05), ("a > b", 0)],
)
def test_a_margin_counts_in_the_claimed_direction(text, margin):
    assert parse(text).clauses[0].margin == margin


@pytest.mark.parametrize("text", ["a > b - 0.05", "c < d + 0.05"])
def test_an_allowance_for_ties_excuses_nothing(text):
    below = {"a": items(340), "b": items(394), "c": items(60), "d": items(6)}
    assert judge(parse(text), None, below).verdict == CONTRADICTS


@pytest.mark.parametrize("text", ["a > b + 0.05", "c < d - 0.05"])
def test_what_is_below_even_without_the_margin_is_refuted_at_the_ceiling_too(text):
    below = {"a": items(340), "b": items(394), "c": items(60), "d": items(6)}
    found = judge(parse(text), None, below)
    assert found.verdict == CONTRADICTS and not found.clauses[0].capped and not found.reason


def test_two_perfect_scores_are_a_tie():
    assert judge(parse("a > b + 0.1"), None, {"a": np.ones(50), "b": np.ones(50)}).verdict == INCONCLUSIVE


def test_only_shares_have_a_ceiling_and_a_refuted_clause_needs_none():
    wide = {"a": items(396) * 3, "b": items(394) * 3}
    assert judge(parse("a > b + 0.5"), None, wide).verdict == CONTRADICTS
    mixed = {"a": items(396), "b": items(394), "c": items(100), "d": items(200)}
    assert judge(parse("a > b + 0.05 and c > d"), None, mixed).verdict == CONTRADICTS
    assert judge(parse("c > d + 0.05"), None, mixed).verdict == CONTRADICTS  # a perfect score would pass


def test_the_clause_that_refutes_stands_for_the_claim_even_where_another_reaches_lower():
    undecided = ClauseResult("a > b", 0.0, 0.1, -0.1, -0.9, 0.7, INCONCLUSIVE)
    refuted = ClauseResult("c > d", 0.0, 0.2, -0.2, -0.3, -0.1, CONTRADICTS)
    holds = ClauseResult("e > f", 1.0, 0.2, 0.8, 0.7, 0.9, REPLICATES)
    assert Judgement((undecided, refuted, holds)).deciding == 1
    assert Judgement((holds, undecided)).deciding == 1 and Judgement().deciding is None


def test_a_control_that_passes_makes_the_verdict_not_specific():
    able, unable = ({"a": scores(mean)} for mean in (0.9, 0.5))
    model, twin, weak = (judge(parse("a > 0.6"), None, side) for side in (able, able, unable))
    assert verdict(model, twin, specific=True) == NOT_SPECIFIC
    assert verdict(model, twin, specific=False) == REPLICATES
    assert verdict(model, weak, specific=True) == REPLICATES


def test_a_positive_control_that_is_not_decided_is_not_said_to_have_failed():
    for mean, outcome in ((0.62, "is not decided"), (0.2, "failed")):
        found = judge(parse("a > 0.1"), parse("b > 0.6"), {"a": scores(0.5), "b": scores(mean)})
        assert found.verdict == INCONCLUSIVE and f"the positive control {outcome}: b > 0.6" in found.reason
        assert found.conditions[0].text == "b > 0.6" and "interval" in found.reason


def test_paired_items_are_resampled_together():
    a = np.random.default_rng(0).normal(size=200)
    clause = parse("a > b").judge({"a": a + 0.01, "b": a})[0]
    assert clause.low == pytest.approx(0.01) and clause.verdict == REPLICATES


def test_perfect_scores_on_few_items_have_an_interval():
    clause = parse("a > 0.95").judge({"a": np.ones(8)})[0]
    assert clause.low < 0 < clause.high


def test_seeds_are_resampled_too():
    items = np.zeros((3, 500)) + np.array([[0.0], [1.0], [2.0]])
    clause = parse("a > 0.5").judge({"a": items + 1e-9})[0]
    assert clause.high - clause.low > 1


def test_arithmetic_and_less_than():
    samples = {"a": np.array(6.0), "b": np.array(2.0)}
    clauses = parse("abs(b - a) / b < max(a, b) - 1 and -b < a * 2").judge(samples)
    assert [c.left for c in clauses] == [2.0, -2.0]
    assert [c.right for c in clauses] == [5.0, 12.0]
    assert overall(clauses) == REPLICATES


@pytest.mark.parametrize(
    "text", ["a", "a >", "a == b", "a > b or b > a", "open('x') > 1", "a > b > c", "a.b > 1", "a > 'x'", "a ** 2 > 1"]
)
def test_malformed_predictions_are_refused(text):
    with pytest.raises(BertologyError):
        parse(text)


def test_a_missing_sample_is_named():
    with pytest.raises(BertologyError, match="'b'"):
        parse("a > b").judge({"a": [1.0, 0.0]})


def test_a_ratio_that_is_not_defined_decides_nothing():
    whole, nothing = {"a": np.ones(40), "b": np.ones(40)}, {"a": np.ones(40), "b": np.zeros(40)}
    ratio = parse("a / b > 0.5")
    assert [side.verdict for side in judge_both(ratio, None, whole, whole)] == [REPLICATES] * 2
    for samples, control in ((nothing, whole), (whole, nothing)):
        sides = judge_both(ratio, None, samples, control)
        assert [side.verdict for side in sides] == ["inconclusive"] * 2
        assert "b is zero" in sides[0].reason and not sides[0].clauses
