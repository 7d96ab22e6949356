"""Intervals cover what they should, and are told as readers read them."""

import numpy as np
import pytest
from scipy import stats

from bertology_utils.samples import census
from bertology_utils.statistics import mean_interval, short, short_ends, stratified_mean


@pytest.mark.parametrize("shape", [(60,), (5,), (3, 1), (4, 30)])
def test_intervals_miss_the_truth_in_one_case_of_twenty(shape):
    rng = np.random.default_rng(0)
    found = [mean_interval(rng.normal(1, 2, shape)) for _ in range(800)]
    missed = np.mean([not m.low <= 1.0 <= m.high for m in found])
    assert 0.005 < missed < 0.08


def test_seeds_that_differ_widen_the_interval_as_student_says():
    rng = np.random.default_rng(0)
    found = [mean_interval(rng.normal(1, 2, (3, 1)) + rng.normal(0, 0.1, (3, 50))) for _ in range(800)]
    assert 0.93 < np.mean([m.low <= 1.0 <= m.high for m in found]) < 0.98


def test_intervals_that_hold_together_are_bonferronis():
    seeds = np.random.default_rng(0).normal(1, 2, (6, 1))
    reach = stats.t.ppf(1 - 0.05 / 2 / 7, 5) * seeds.std(ddof=1) / 6**0.5
    m = mean_interval(seeds, comparisons=7)
    assert (m.low, m.high) == pytest.approx((seeds.mean() - reach, seeds.mean() + reach))


def test_wilson_for_zeros_and_ones():
    m = mean_interval(np.ones(20))
    assert m.value == 1 and m.high == 1
    assert m.low == pytest.approx(0.8389, abs=1e-3)


def test_seeds_and_items_are_counted():
    m = mean_interval(np.random.default_rng(0).random((3, 50)), unit=" %")
    assert (m.seeds, m.n, m.unit) == (3, 50, " %")


def test_a_census_has_an_interval_without_width():
    m = mean_interval(census([1.0, 2.0, 6.0]))
    assert (m.low, m.value, m.high) == (3.0, 3.0, 3.0)


def test_strata_count_alike():
    m = stratified_mean([np.ones(10), np.zeros(40)])
    assert m.value == 0.5 and m.n == 50 and m.low == m.high == 0.5


def test_values_are_told_in_three_digits():
    assert short(0.12345) == "0.123" and short(12345.6) == "12,346" and short(1e-12, "+") == "+0"


def test_both_ends_of_an_interval_are_rounded_alike():
    assert short_ends(-0.222, 1.47e-5, "+") == ("-0.222", "+0.000")
    assert short_ends(0.0052, 3.21) == ("0.01", "3.21")
    assert short_ends(-12.34, 2000) == ("-12.3", "2,000")
