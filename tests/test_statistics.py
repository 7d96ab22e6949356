"""Intervals cover what they should."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from bertology_utils.statistics import as_samples, bootstrap, by_unit, mean_interval, permutation_test, short_ends


def test_mean_interval_covers_the_truth():
    rng = np.random.default_rng(0)
    covered = [m.low <= 1.0 <= m.high for m in (mean_interval(rng.normal(1, 2, 60), seed=s) for s in range(60))]
    assert np.mean(covered) > 0.85


def test_wilson_for_zeros_and_ones():
    m = mean_interval(np.ones(20))
    assert m.value == 1 and m.high == 1
    assert m.low == pytest.approx(0.8389, abs=1e-3)


def test_seeds_and_items_are_counted():
    m = mean_interval(np.random.default_rng(0).random((3, 50)), unit=" %")
    assert (m.seeds, m.n, m.unit) == (3, 50, " %")


def test_permutation_test_separates_effect_from_null():
    rng = np.random.default_rng(0)
    a = rng.normal(size=80)
    assert permutation_test(a + 0.5, a + rng.normal(0, 0.1, 80)) < 0.01
    assert permutation_test(a, a[::-1]) > 0.05


@pytest.mark.parametrize("bad", [np.zeros((2, 2, 2)), [], [np.nan, 1.0]])
def test_samples_without_meaning_are_refused(bad):
    with pytest.raises(ValueError):
        as_samples({"x": bad})


def test_the_spread_of_three_seeds_is_not_understated():
    from bertology_utils.statistics import bootstrap

    seeds = np.array([[0.0], [1.0], [2.0]]) + np.zeros((3, 50))
    draws = bootstrap(lambda m: np.array([m["x"]]), {"x": seeds}, seed=0)[:, 0]
    assert draws.mean() == pytest.approx(1, abs=0.05)
    student = stats.t.ppf(0.975, 2) / stats.norm.ppf(0.975)
    assert draws.std() == pytest.approx(student * np.std([0, 1, 2], ddof=1) / np.sqrt(3), rel=0.05)
    alone = bootstrap(lambda m: np.array([m["x"]]), {"x": seeds[2:]}, resamples=50, seed=0)
    assert (alone == 2).all()


def test_resampled_means_are_the_plain_definition():
    from bertology_utils.statistics import resample_weights

    values = np.random.default_rng(1).normal(5, 2, 40)
    weights = resample_weights(40, 300, np.random.default_rng(0))
    assert np.allclose(weights.sum(1), 1)
    drawn = np.random.default_rng(0).integers(40, size=(300, 40))
    student = stats.t.ppf(0.975, 39) / stats.norm.ppf(0.975)
    fast = bootstrap(lambda m: np.array([m["x"]]), {"x": values}, resamples=300, seed=0)[:, 0]
    plain = values.mean() + (values[drawn].mean(1) - values.mean()) * np.sqrt(40 / 39) * student
    assert np.allclose(fast, plain, atol=1e-5)


def test_pairs_of_few_things_are_as_uncertain_as_their_things():
    generator = np.random.default_rng(0)
    pairs = list(combinations(range(16), 2))
    means, spreads = [], []
    for _ in range(200):
        skill = generator.normal(size=16)
        outcomes = [skill[a] + skill[b] for a, b in pairs]
        values = by_unit(outcomes, [(str(a), str(b)) for a, b in pairs])
        assert len(values) == 16 and values.mean() == pytest.approx(np.mean(outcomes))
        means.append(values.mean())
        spreads.append(values.std(ddof=1) / 4)
    assert np.mean(spreads) == pytest.approx(np.std(means), rel=0.15)


def test_unequal_units_keep_the_mean_of_the_items():
    assert by_unit([1, 0, 0], [("a",), ("a",), ("b",)]).mean() == pytest.approx(1 / 3)


@pytest.mark.parametrize("shape", [(3, 1), (5,)])
def test_intervals_over_few_seeds_or_items_miss_the_truth_in_one_case_of_twenty(shape):
    generator = np.random.default_rng(0)
    intervals = [mean_interval(generator.normal(size=shape) + np.zeros(shape), seed=k) for k in range(300)]
    assert np.mean([not (m.low <= 0 <= m.high) for m in intervals]) < 0.1


def test_both_ends_of_an_interval_are_rounded_alike():
    assert short_ends(-0.222, 1.47e-5, "+") == ("-0.222", "+0.000")
    assert short_ends(0.0052, 3.21) == ("0.01", "3.21")
    assert short_ends(-12.34, 2000) == ("-12.3", "2,000")


@pytest.mark.parametrize("n", [20, 100])
def test_samples_that_agree_on_every_item_leave_room_for_doubt(n):
    right = np.arange(n) % 2.0
    draws = bootstrap(lambda means: np.array([means["a"] - means["b"]]), {"a": right, "b": right.copy()})
    assert np.isclose(draws.std(), 1 / (n + 2), rtol=0.1)  # Agresti and Min 2005
    assert np.mean(np.abs(draws) < 1e-12) < 0.5
    again = bootstrap(lambda means: np.array([means["a"] - means["b"]]), {"b": right, "a": right})
    assert np.array_equal(draws, again)


def test_an_error_more_never_makes_the_evidence_stronger():
    pairs = [(str(a), str(b)) for a in range(16) for b in range(a)]

    def low(errors):
        right = np.ones(len(pairs))
        right[:errors] = 0
        draws = bootstrap(lambda m: np.array([m["right"] - 0.75]), {"right": by_unit(right, pairs)})
        return np.quantile(draws, 0.025)

    assert low(0) >= low(1) >= low(2) > 0
