"""The estimator agrees with plain references, and its intervals behave at the edges."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import optimize, stats

from bertology_utils.estimation import Linear, estimate, proportion_interval
from bertology_utils.samples import by_unit, census, per_seed
from bertology_utils.verdicts.predictions import REPLICATES, UNDERPOWERED, parse


def mean_of(array, slope: float = 1.0):
    return estimate(Linear(slope * float(array.mean()), {"x": slope}), {"x": array})


def lead(a, b):
    """The estimate of the difference of two means."""
    return estimate(Linear(float(a.mean() - b.mean()), {"a": 1.0, "b": -1.0}), {"a": a, "b": b})


def crossed(seeds: int, units: int, sd_seed: float, sd_unit: float, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed).normal
    return 3 + draw(0, sd_seed, (seeds, 1)) + draw(0, sd_unit, (1, units)) + draw(size=(seeds, units))


def plain_anova(values: np.ndarray) -> float:
    """Variance of the mean of a crossed design with one value a cell, from the mean squares as textbooks sum them."""
    seeds, units = values.shape
    grand = values.mean()
    of_seeds = sum(units * (row.mean() - grand) ** 2 for row in values) / (seeds - 1)
    of_units = sum(seeds * (column.mean() - grand) ** 2 for column in values.T) / (units - 1)
    of_both = sum(
        (values[i, j] - values[i].mean() - values[:, j].mean() + grand) ** 2 for i in range(seeds) for j in range(units)
    ) / ((seeds - 1) * (units - 1))
    return (of_seeds + of_units - of_both) / values.size


def plain_reml(values: np.ndarray) -> float:
    """The same by restricted maximum likelihood, on the full covariance matrix."""
    seeds, units = values.shape
    ones = np.ones((values.size, 1))
    alike = np.kron(np.eye(seeds), np.ones((units, units))), np.kron(np.ones((seeds, seeds)), np.eye(units))

    def covariance(logs):
        s, u, r = np.exp(logs)
        return s * alike[0] + u * alike[1] + r * np.eye(values.size)

    def loss(logs):
        inverse = np.linalg.inv(covariance(logs))
        information = (ones.T @ inverse @ ones).item()
        off = values.ravel() - (ones.T @ inverse @ values.ravel()).item() / information
        return np.linalg.slogdet(covariance(logs))[1] + np.log(information) + off @ inverse @ off

    best = optimize.minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
    inverse = np.linalg.inv(covariance(best.x))
    return 1 / (ones.T @ inverse @ ones).item()


@pytest.mark.parametrize(("seeds", "units"), [(2, 10), (4, 7), (10, 30)])
def test_the_error_is_that_of_the_analysis_of_variance(seeds, units):
    values = crossed(seeds, units, 3.0, 1.0)
    assert mean_of(values).error ** 2 == pytest.approx(plain_anova(values), rel=1e-9)


def test_the_error_is_that_of_restricted_maximum_likelihood():
    values = crossed(5, 8, 1.0, 1.0, seed=3)
    assert mean_of(values).error ** 2 == pytest.approx(plain_reml(values), rel=1e-3)


def test_a_paired_difference_is_one_sample_of_differences():
    a, b = crossed(4, 9, 1.0, 1.0), crossed(4, 9, 1.0, 1.0, seed=1)
    assert lead(a, b).error == pytest.approx(mean_of(a - b).error)
    assert lead(a, a + 0.1).error == pytest.approx(0, abs=1e-12)
    assert lead(a[0], b[0]).error == pytest.approx(stats.sem(a[0] - b[0]))


def test_samples_of_other_sizes_add_their_variances():
    a, b = crossed(1, 30, 0, 1)[0], crossed(1, 50, 0, 1, seed=1)[0]
    assert lead(a, b).error ** 2 == pytest.approx(stats.sem(a) ** 2 + stats.sem(b) ** 2)


def test_one_seed_is_no_sample_of_seeds():
    values = crossed(1, 40, 5.0, 1.0)
    assert mean_of(values).error == pytest.approx(stats.sem(values[0])) and mean_of(values).seed_part == 0


def test_seeds_alone_have_students_interval():
    values = per_seed([1.0, 2.0, 4.0, 3.5])
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values[:, 0]))
    found = mean_of(values)
    assert found.low() == pytest.approx(low) and found.high() == pytest.approx(high)


def test_what_was_measured_whole_is_exact():
    for exact in (census(np.arange(9.0)), np.asarray(4.0)):
        found = mean_of(exact)
        assert found.low() == found.high() == found.value and found.p_above(3.9) == 0 and found.p_above(4.1) == 1


def test_three_seeds_that_differ_are_three_values():
    values = crossed(3, 200, 3.0, 0.1)
    low, high = stats.t.interval(0.95, 2, values.mean(), stats.sem(values.mean(1)))
    found = mean_of(values)
    assert found.high() - found.low() == pytest.approx(high - low, rel=0.35)
    assert found.high() - found.low() > 3 * 3.92 * np.sqrt(plain_anova(values)) / 4


def test_three_seeds_that_agree_cost_little():
    values = crossed(3, 200, 0.0, 1.0)
    found = mean_of(values)
    assert found.high() - found.low() < 1.5 * 3.92 * found.error


def test_the_more_seeds_differ_the_wider_the_interval():
    base = crossed(3, 60, 0.0, 1.0)
    base -= base.mean(1, keepdims=True)
    widths = [mean_of(base + size * np.array([[-1.0], [0.0], [1.0]])).high() for size in (0, 0.05, 0.2, 1, 5)]
    assert all(wider > narrower for narrower, wider in pairwise(widths))


def test_units_of_one_seed_have_students_degrees_of_freedom():
    assert mean_of(crossed(1, 17, 0, 1)).df == pytest.approx(16)


def test_more_seeds_units_or_items_make_it_surer():
    few, seeds, units = (mean_of(crossed(*size, 1.0, 1.0)).error for size in ((3, 20), (30, 20), (3, 200)))
    assert seeds < few and units < few


def test_parts_tell_what_would_help():
    seeds, units = mean_of(crossed(5, 100, 2.0, 0.1)), mean_of(crossed(5, 100, 0.05, 3.0))
    assert seeds.seed_part > 5 * (seeds.unit_part + seeds.rest) and units.unit_part > 5 * units.seed_part
    assert seeds.seed_part + seeds.unit_part + seeds.rest == pytest.approx(seeds.error**2)


@pytest.mark.parametrize(("right", "of"), [(20, 20), (19, 20), (0, 9), (150, 300)])
def test_one_proportion_has_wilsons_interval_or_a_wider_one(right, of):
    array = (np.arange(of) < right).astype(float)
    wilson = stats.binomtest(right, of).proportion_ci(0.95, method="wilson")
    found = mean_of(array)
    assert found.low() <= wilson.low + 1e-9 and found.high() >= wilson.high - 1e-9
    assert (found.low(), found.high()) == pytest.approx(proportion_interval(right, of))
    assert found.high() - found.low() < 1.3 * (wilson.high - wilson.low)


def test_the_interval_of_a_proportion_is_mirrored_and_scaled():
    array = (np.arange(20) < 17).astype(float)
    low, high = proportion_interval(17, 20)
    turned = mean_of(array, slope=-2.0)
    assert (turned.low(), turned.high()) == pytest.approx((-2 * high, -2 * low))


def test_p_and_interval_of_a_proportion_agree_away_from_the_ends():
    found = mean_of((np.arange(100) < 60).astype(float))
    assert found.p_above(found.low()) == pytest.approx(0.025, abs=0.003)
    assert found.p_above(0.8) > 0.99 and found.p_above(0.2) < 1e-6


PAIRS = [(str(a), str(b)) for a in range(16) for b in range(a)]


def of_items(right):
    return mean_of(right)


def of_pairs(right):
    return mean_of(by_unit(right, PAIRS[: len(right)]))


def of_fours(right):
    return mean_of(by_unit(right, np.arange(len(right)) // 4))


def of_seeds(right):
    return mean_of(right.reshape(3, -1))


def beside_half(right):
    return lead(right, (np.arange(len(right)) % 2).astype(float))


def beside_none(right):
    return lead(right, np.zeros(len(right)))


@pytest.mark.parametrize("way", [of_items, of_pairs, of_fours, of_seeds, beside_half, beside_none])
@pytest.mark.parametrize("n", [12, 36, 96])
def test_an_error_more_never_makes_the_evidence_stronger(way, n):
    found = []
    for errors in range(4):
        right = np.ones(n)
        right[(np.arange(errors) * 7) % n] = 0
        found.append(way(right))
    lows = [estimated.low() for estimated in found]
    assert lows[0] >= max(lows[1:]) - 1e-9, lows
    assert lows[0] < found[0].value


@pytest.mark.parametrize("n", [20, 100])
def test_samples_that_agree_on_every_item_leave_room_for_doubt(n):
    right = np.arange(n) % 2.0
    found = lead(right, right.copy())
    assert found.value == 0 and 1 / (n + 2) < found.high() < 4 / n and found.low() == pytest.approx(-found.high())


def test_a_perfect_score_over_seeds_is_not_certain_but_nearly():
    found = mean_of(np.ones((5, 200)))
    assert 0.98 < found.low() < 1 and found.high() >= 1


def test_a_linear_function_has_the_rules_of_calculus():
    a, b = Linear(3.0, {"a": 1.0}), Linear(2.0, {"b": 1.0})
    assert (a * b).slopes == {"a": 2.0, "b": 3.0} and (a * b).value == 6
    assert (a / b).slopes == {"a": 0.5, "b": -0.75} and (a / b).value == 1.5
    assert a.plus(a, -1.0).slopes == {"a": 0.0}


def fieller(a, b, alpha=0.05):
    """The closed form for the ratio of two paired means."""
    n, (va, vb), vab = len(a), (a.var(ddof=1), b.var(ddof=1)), np.cov(a, b)[0, 1]
    t2 = stats.t.isf(alpha / 2, n - 1) ** 2 / n
    roots = np.roots([b.mean() ** 2 - t2 * vb, -2 * (a.mean() * b.mean() - t2 * vab), a.mean() ** 2 - t2 * va])
    return sorted(map(float, roots))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_ratio_has_fiellers_interval(sign):
    rng = np.random.default_rng(0)
    b = rng.normal(1.0, 0.6, 40)
    a = 1.2 * b + rng.normal(0, 0.5, 40)
    samples = {"a": a, "b": sign * b}
    ratio = Linear(float(a.mean()), {"a": 1.0}) / Linear(float(sign * b.mean()), {"b": 1.0})
    found = estimate(ratio, samples)
    assert (found.low(), found.high()) == pytest.approx(fieller(a, sign * b), rel=1e-3)
    moved = estimate(Linear(0.3).plus(ratio.scaled(2.0), -1.0), samples)
    assert (moved.low(), moved.high()) == pytest.approx((0.3 - 2 * found.high(), 0.3 - 2 * found.low()), rel=1e-3)
    assert found.p_above(found.low()) == pytest.approx(0.025, rel=0.01)


def test_a_denominator_that_may_be_nothing_leaves_a_ratio_open():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 0.2, 9), np.linspace(-1, 1.2, 9)
    found = estimate(Linear(float(a.mean()), {"a": 1.0}) / Linear(float(b.mean()), {"b": 1.0}), {"a": a, "b": b})
    assert found.low() < -100 and found.high() > 100 and np.isfinite(found.high()) and found.p_above(-100) > 0.025


def test_one_value_that_was_drawn_tells_nothing_of_others():
    lone = per_seed([0.9])
    (clause,) = parse("a > 0.1 by 0.1").judge({"a": lone})
    assert clause.verdict == UNDERPOWERED and clause.needs.startswith("at least two")
    assert parse("a > 0.1 by 0.1").judge({"a": 0.9})[0].verdict == REPLICATES


def test_equal_shares_of_several_items_are_not_exact():
    shares, losses = per_seed([0.9] * 5, items=20), per_seed([0.9] * 5)
    assert mean_of(shares).error == pytest.approx(np.sqrt((0.09 + 1 / 100) / 100)) and mean_of(losses).error == 0
    other = per_seed([0.85] * 5, items=20)
    assert lead(shares, other).low() < 0 < lead(shares, per_seed([0.4] * 5, items=20)).low()
