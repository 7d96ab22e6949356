"""The verdict logic: planted effects get the verdict that they deserve, and every word means one thing."""

from dataclasses import replace

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.samples import by_unit, census, per_seed
from bertology_utils.verdicts.judging import without_say
from bertology_utils.verdicts.predictions import (
    CONTRADICTS,
    REPLICATES,
    UNABLE,
    UNDERPOWERED,
    WEAKER,
    ClauseResult,
    Judgement,
    absence_factor,
    as_published,
    deciding,
    judge,
    outcome,
    overall,
    parse,
)


def scores(mean: float, n: int = 400, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(n) < mean).astype(float)


def items(right: int, of: int = 400) -> np.ndarray:
    """That many correct answers first, then the wrong ones."""
    return (np.arange(of) < right).astype(float)


def word(text: str, samples: dict, given: str | None = None) -> str:
    return judge(parse(text), parse(given) if given else None, samples).verdict


@pytest.mark.parametrize(
    ("low", "high", "smallest", "expected"),
    [
        (0.11, 0.30, 0.1, REPLICATES),
        (0.01, 0.09, 0.1, WEAKER),
        (-0.05, 0.09, 0.1, CONTRADICTS),
        (-0.3, -0.1, 0.1, CONTRADICTS),
        (0.05, 0.15, 0.1, UNDERPOWERED),
        (-0.1, 0.2, 0.1, UNDERPOWERED),
        (0.01, 0.02, 0.0, REPLICATES),
        (-0.02, -0.01, 0.0, CONTRADICTS),
        (-0.01, 0.01, 0.0, UNDERPOWERED),
        (0.0, 0.0, 0.0, UNDERPOWERED),
        (0.1, 0.1, 0.1, UNDERPOWERED),
    ],
)
def test_each_word_is_a_place_of_the_interval(low, high, smallest, expected):
    assert outcome(low, high, smallest) == expected


@pytest.mark.parametrize(
    ("model", "baseline", "expected"),
    [(360, 200, REPLICATES), (280, 200, UNDERPOWERED), (220, 200, CONTRADICTS), (200, 360, CONTRADICTS)],
)
def test_planted_effects(model, baseline, expected):
    mixed = np.random.default_rng(0).permutation(400)
    assert word("m > b by 0.2", {"m": items(model), "b": items(baseline)[mixed]}) == expected


def test_an_effect_that_is_there_but_small_is_weaker():
    assert word("m > b by 0.3", {"m": scores(0.65, 3000), "b": scores(0.5, 3000, 1)}) == WEAKER


def test_a_planted_null_does_not_replicate():
    samples = [{"a": scores(0.6, 150, 2 * s), "b": scores(0.6, 150, 2 * s + 1)} for s in range(400)]
    found = [word("a > b", own) for own in samples]
    # A 95 % interval lies wholly on either side of zero in 2.5 % of null experiments: 4 standard errors more are 5.6 %
    assert found.count(REPLICATES) <= 22 and found.count(CONTRADICTS) <= 22
    assert found.count(REPLICATES) + found.count(CONTRADICTS) >= 4


@pytest.mark.parametrize("n", [3, 8, 30])
def test_too_few_items_decide_nothing_and_say_how_many_would(n):
    clause = parse("a > 0.5").judge({"a": items(round(0.6 * n), n)})[0]
    assert clause.verdict == UNDERPOWERED and "units in place of" in clause.needs


def test_what_would_settle_it_does():
    clause = parse("a > 0.5").judge({"a": items(33, 60)})[0]
    wanted = int(clause.needs.split()[1].replace(",", ""))
    assert word("a > 0.5", {"a": items(round(33 / 60 * wanted * 1.05), round(wanted * 1.05))}) == REPLICATES
    assert word("a > 0.5", {"a": items(round(33 / 60 * wanted * 0.8), round(wanted * 0.8))}) == UNDERPOWERED


@pytest.mark.parametrize(("right", "n", "bar", "least"), [(20, 20, 0.9, 33), (60, 60, 0.95, 70), (240, 300, 0.75, 301)])
def test_a_perfect_score_needs_more_too_and_more_is_always_more(right, n, bar, least):
    clause = parse(f"a > {bar}").judge({"a": items(right, n)})[0]
    assert clause.verdict == REPLICATES or int(clause.needs.split()[1].replace(",", "")) >= least


def test_seeds_are_asked_for_where_they_differ():
    values = np.array([[0.2], [0.9], [0.45]]) + np.random.default_rng(0).normal(0, 0.02, (3, 200))
    assert "seeds in place of 3" in parse("a > 0.3").judge({"a": values})[0].needs


def test_a_decided_clause_needs_nothing():
    assert parse("a > 0.5").judge({"a": items(390)})[0].needs == ""


def test_every_clause_must_hold_and_one_that_is_refuted_refutes():
    samples = {"a": scores(0.7), "b": scores(0.3, seed=1), "c": scores(0.9, seed=2), "d": scores(0.69, seed=3)}
    assert word("a > b by 0.1", samples) == REPLICATES
    assert word("a > b by 0.1 and a > c", samples) == CONTRADICTS
    assert word("a > b by 0.1 and a > d", samples) == UNDERPOWERED
    assert word("a > c and a > d", samples) == CONTRADICTS
    assert word("c > b by 0.1 and a > b by 0.5", samples) == WEAKER


def clause(text="a > b", effect=0.1, low=0.05, high=0.15, said=REPLICATES, smallest=0.0, error=0.02):
    return ClauseResult(text, effect, 0.0, effect, low, high, smallest, said, error=error)


def test_the_clause_that_stands_for_the_claim_has_its_verdict_and_stands_lowest_in_its_own_units():
    undecided = clause("a > b", -0.1, -0.9, 0.7, UNDERPOWERED, error=0.4)
    refuted = clause("c > d", -0.2, -0.3, -0.1, CONTRADICTS, error=0.05)
    holds, barely = clause("e > f", 0.8, 0.7, 0.9, error=0.05), clause("g > h", 40, 1, 79, error=19.9)
    assert Judgement((undecided, refuted, holds)).deciding == 1
    assert Judgement((holds, undecided)).deciding == 1 and Judgement().deciding is None
    assert deciding((holds, barely)) == 1 and overall((holds, barely)) == REPLICATES


def test_a_weaker_clause_is_the_last_word_unless_an_open_one_may_still_be_refuted():
    weaker = clause("a > b by 0.4", smallest=0.4, said=WEAKER)
    there = clause("c > d by 0.1", 0.12, 0.05, 0.19, UNDERPOWERED, smallest=0.1)
    unclear = clause("e > f by 0.1", 0.05, -0.05, 0.15, UNDERPOWERED, smallest=0.1)
    at_ceiling = replace(there, capped=True)
    assert overall((weaker, there)) == WEAKER and overall((weaker, there, clause())) == WEAKER
    assert overall((weaker, unclear)) == overall((weaker, at_ceiling)) == overall((there, clause())) == UNDERPOWERED
    assert deciding((there, weaker)) == 1


def test_a_smallest_effect_counts_in_how_a_clause_stands():
    near, far = clause("a > b by 0.09", smallest=0.09), clause("c > d", effect=0.06, error=0.02)
    assert near.standing < far.standing and deciding((far, near)) == 1
    assert replace(far, error=0.0).standing == np.inf


@pytest.mark.parametrize("text", ["a > b by 0.05", "c < d by 0.05"])
def test_a_smallest_effect_beyond_a_perfect_score_refutes_nothing(text):
    level = {"a": items(396), "b": items(394), "c": items(4), "d": items(6)}
    found = judge(parse(text), None, level)
    assert found.clauses[0].high < 0.05 and found.clauses[0].capped
    assert found.verdict == UNDERPOWERED and found.reason.startswith(f"even a perfect score would not pass {text}")


@pytest.mark.parametrize("text", ["a > b by 0.05", "c < d by 0.05"])
def test_what_is_below_is_refuted_at_the_ceiling_too(text):
    below = {"a": items(340), "b": items(394), "c": items(60), "d": items(6)}
    found = judge(parse(text), None, below)
    assert found.verdict == CONTRADICTS and not found.clauses[0].capped and not found.reason


def test_a_cosine_is_no_score_that_could_be_perfect():
    rng = np.random.default_rng(0)
    alike = {"same": 0.97 + 0.01 * rng.random(200), "other": 0.96 + 0.01 * rng.random(200)}
    assert word("same > other by 0.05", alike) == WEAKER


def test_only_shares_have_a_ceiling_and_a_refuted_clause_needs_none():
    wide = {"a": items(396) * 3, "b": items(394) * 3}
    assert word("a > b by 0.5", wide) == CONTRADICTS
    mixed = {"a": items(396), "b": items(394), "c": items(100), "d": items(200)}
    assert word("a > b by 0.05 and c > d", mixed) == CONTRADICTS
    assert word("c > d by 0.05", mixed) == CONTRADICTS  # a perfect score would pass


def test_two_perfect_scores_are_no_lead():
    assert word("a > b by 0.1", {"a": np.ones(50), "b": np.ones(50)}) == UNDERPOWERED


class TestGates:
    """A positive control stops a verdict, and says which way."""

    def test_a_failed_one_says_that_the_model_cannot(self):
        found = judge(parse("a > 0.1"), parse("b > 0.6"), {"a": scores(0.5), "b": scores(0.2)})
        assert found.verdict == UNABLE and "fails: b > 0.6" in found.reason and found.p == 1
        assert found.conditions[0].text == "b > 0.6" and "interval" in found.reason and len(found.clauses) == 1

    def test_an_ability_must_be_there_and_look_as_large_as_it_must_be(self):
        samples = {"a": scores(0.5), "b": items(72, 100)}
        assert word("a > 0.1", samples, "b > 0.5 by 0.2") == REPLICATES  # the interval need not lie beyond .7
        assert word("a > 0.1", samples, "b > 0.5 by 0.4") == UNABLE
        open_ones = {"a": scores(0.5), "b": items(6, 8)}  # may be a guess
        assert word("a > 0.1", open_ones, "b > 0.5 by 0.2") == UNDERPOWERED
        assert judge(parse("a > 0.1"), parse("b > 0.5 by 0.2"), open_ones).reason.startswith("whether the model can")

    def test_of_several_all_must_hold(self):
        samples = {"a": scores(0.5), "b": scores(0.9), "c": items(9)}
        assert "c > 0.6" in judge(parse("a > 0.1"), parse("b > 0.6 and c > 0.6"), samples).reason

    def test_a_weaker_one_fails_too(self):
        samples = {"a": scores(0.5), "b": scores(0.7, 3000), "c": scores(0.6, 3000, 1)}
        assert word("a > 0.1", samples, "b > c by 0.3") == UNABLE

    def test_one_that_holds_changes_nothing(self):
        assert word("a > 0.1", {"a": scores(0.5), "b": scores(0.9)}, "b > 0.6") == REPLICATES

    def test_a_control_has_a_say_unless_the_claim_is_of_a_failure(self):
        stopped = judge(parse("a > 0.1"), parse("b > 0.6"), {"a": scores(0.5), "b": scores(0.2)})
        assert without_say(stopped, failure=False).verdict == REPLICATES
        assert without_say(stopped, failure=True).verdict == UNABLE

    @pytest.mark.parametrize("n", [6, 8, 10, 20, 64, 400])
    def test_one_of_three_quarters_is_passed_by_a_perfect_score(self, n):
        found = word("a > 0.1", {"a": items(n, n), "planted": np.ones(n)}, "planted > 0.5")
        assert found == REPLICATES
        assert n < 16 or word("a > 0.1", {"a": items(n, n), "planted": np.ones(n)}, "planted > 0.75") == REPLICATES


class TestDesigns:
    """The same numbers say more or less by what was drawn."""

    def test_a_census_decides_what_a_sample_leaves_open(self):
        rows = items(13, 17)
        assert word("rows > 0.7", {"rows": rows}) == UNDERPOWERED
        assert word("rows > 0.7", {"rows": census(rows)}) == REPLICATES
        assert word("rows > 0.8", {"rows": census(rows)}) == CONTRADICTS

    def test_items_that_share_their_units_say_less(self):
        right, units = items(72, 120), np.arange(120) // 12
        assert word("a > 0.5", {"a": right}) == REPLICATES
        assert word("a > 0.5", {"a": by_unit(right, units)}) == UNDERPOWERED

    def test_seeds_that_disagree_leave_a_claim_open(self):
        losses = np.array([1.0, 0.4, 0.8])
        assert word("a > 0.5", {"a": per_seed(losses)}) == UNDERPOWERED
        assert word("a > 0.5", {"a": per_seed(losses * 0.01 + 0.9)}) == REPLICATES

    def test_what_varies_alike_cancels(self):
        a = np.random.default_rng(0).normal(size=200)
        clause = parse("a > b").judge({"a": a + 0.01, "b": a})[0]
        assert clause.low == pytest.approx(0.01) and clause.verdict == REPLICATES

    def test_exact_values_are_judged_exactly(self):
        assert word("a > b by 0.1", {"a": 0.61, "b": 0.5}) == REPLICATES
        assert word("a > b by 0.1", {"a": 0.59, "b": 0.5}) == WEAKER
        assert word("a > b by 0.1", {"a": 0.49, "b": 0.5}) == CONTRADICTS


def test_as_large_as_published_is_told_where_the_interval_can_tell():
    found = clause(effect=0.2, low=0.15, high=0.25)
    said = [as_published(found, value) for value in (None, 0.2, 0.3, 0.1)]
    assert said == ["", "as large", "smaller", "larger"]
    assert as_published(clause(effect=0.2, low=-0.1, high=0.5), 0.2) == "open"


def test_a_bayes_factor_speaks_for_an_absence_only():
    absent, there, open_ = (
        parse("abs(a - b) < 0.1").judge({"a": scores(mean, n), "b": scores(0.5, n, 1)})[0]
        for mean, n in ((0.5, 4000), (0.7, 4000), (0.5, 40))
    )
    assert absence_factor(absent) > 3 and absence_factor(there) < 0.01 and 0.5 < absence_factor(open_) < 3
    assert absence_factor(parse("a > 0.5").judge({"a": scores(0.5)})[0]) is None


def test_p_is_that_of_the_weakest_clause():
    found = judge(parse("a > 0.5 and b > 0.5"), None, {"a": scores(0.9), "b": scores(0.6)})
    assert found.p == found.clauses[1].p > found.clauses[0].p and Judgement().p == 1


def test_p_agrees_with_the_verdict():
    for mean in (0.5, 0.53, 0.55, 0.57, 0.6):
        clause = parse("a > b by 0.02").judge({"a": scores(mean, 900), "b": scores(0.5, 900, 1)})[0]
        assert (clause.p < 0.025) == (clause.verdict == REPLICATES)


def test_a_missing_sample_is_named():
    with pytest.raises(BertologyError, match="'b'"):
        parse("a > b").judge({"a": [1.0, 0.0]})


def test_a_ratio_that_is_not_defined_decides_nothing():
    found = judge(parse("a / b > 0.5"), None, {"a": np.ones(40), "b": np.zeros(40)})
    assert found.verdict == UNDERPOWERED and "b is zero" in found.reason and not found.clauses


def test_exact_effects_are_decided_at_their_borders():
    assert word("a > b", {"a": 0.5, "b": 0.5}) == CONTRADICTS
    assert word("a > b by 0.1", {"a": 0.8, "b": 0.7}) == REPLICATES
    assert word("a > b by 0.1", {"a": 0.75, "b": 0.7}) == WEAKER


@pytest.mark.parametrize("bad", ["a > b by nan", "a > b by inf", "1 > 0", "True > a"])
def test_predictions_without_meaning_are_refused(bad):
    with pytest.raises(BertologyError):
        parse(bad)
