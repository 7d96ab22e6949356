"""Measurements with intervals. Depends on numpy and scipy.

Items (sentences, pairs, words) are the sampling units. What was trained comes as `(seeds, items)`, and both are
resampled. A bare float is never a result here.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

RESAMPLES = 2000
LEVEL = 0.95
POWER = 0.8
ROUNDING = 1e-8  # a value below it is zero but for the arithmetic
Samples = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Measurement:
    """A value with its 95 % interval, the number of items and seeds behind it, and its unit."""

    value: float
    low: float
    high: float
    n: int
    seeds: int = 1
    unit: str = ""

    def __str__(self) -> str:
        return f"{short(self.value)}{self.unit} [{', '.join(short_ends(self.low, self.high))}]"

    def in_per_cent(self, name: str) -> dict[str, float]:
        """A share as three columns of a table: `name`, `name_low` and `name_high`."""
        columns = {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}
        return {column: round(100 * value, 2) for column, value in columns.items()}


def short(value: float, sign: str = "") -> str:
    """A value for readers: three significant digits, whole from a thousand to ten million, rounding errors as 0."""
    value = 0.0 if abs(value) < ROUNDING else value
    return format(value, f"{sign},.0f" if 1000 <= abs(value) < 1e7 else f"{sign}.3g")


def short_ends(low: float, high: float, sign: str = "") -> tuple[str, str]:
    """Both ends of an interval to the same decimal, the one that leaves the larger end three significant digits."""
    largest = max(abs(low), abs(high))
    if not 0.001 <= largest < 1000:
        return short(low, sign), short(high, sign)
    places = 2 - math.floor(math.log10(largest))
    return format(low, f"{sign}.{places}f"), format(high, f"{sign}.{places}f")


def as_samples(samples: Mapping[str, object]) -> dict[str, np.ndarray]:
    """Named samples as float arrays: 0-d exact, 1-d over items, 2-d `(seeds, items)`."""
    arrays = {name: np.asanyarray(values, dtype=float) for name, values in samples.items()}
    for name, array in arrays.items():
        if array.ndim > 2 or array.size == 0:
            raise ValueError(f"sample '{name}' must be a number, (items,) or (seeds, items), not {array.shape}")
        if np.isnan(array).any():
            raise ValueError(f"sample '{name}' holds values that are not a number")
    return arrays


def is_binary(array: np.ndarray) -> bool:
    return array.ndim > 0 and bool(np.isin(array, (0.0, 1.0)).all())


def bootstrap(
    statistic: Callable[[dict[str, float]], np.ndarray],
    samples: Samples,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> np.ndarray:
    """Bootstrap distribution of a vector-valued statistic of the means of named samples.

    Samples with the same number of items are paired: they share resampled items; the same holds for seeds; few
    of either are `widened`. A sample of zeros and ones gets two more items in each resample, successes or failures
    by the toss of a coin: neither a perfect score on few items nor two samples that agree on each of them come with
    an interval of width zero. It is then that of Agresti and Min (2005), 1 / (items + 2) the error of a difference.
    Items are those that units were made of by `by_unit`: a perfect score must not count for less than an error in it.

    Returns:
        `(resamples, values)`.
    """
    rng = np.random.default_rng(seed)
    arrays = as_samples(samples)
    axes = {n for array in arrays.values() for n in array.shape[-1:]}
    runs = {len(array) for array in arrays.values() if array.ndim == 2}
    item_weights = {n: widened(resample_weights(n, resamples, rng)) for n in sorted(axes)}
    seed_weights = {n: widened(resample_weights(n, resamples, rng)) for n in sorted(runs)}
    means = {}
    for name, array in sorted(arrays.items()):  # in one order, so that the tosses do not depend on the caller's
        drawn = _resampled_means(array, resamples, item_weights, seed_weights)
        means[name] = _with_two_tosses(drawn, array, rng) if is_binary(array) else drawn
    rows = (dict(zip(means, row, strict=True)) for row in zip(*means.values(), strict=True))
    return np.array([statistic(row) for row in rows], dtype=float)


def resample_weights(n: int, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often each of `n` units is drawn in each resample, divided by n: `(resamples, n)`, rows sum to 1."""
    drawn = rng.integers(n, size=(resamples, n)) + n * np.arange(resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=n * resamples).reshape(resamples, n).astype(np.float32) / n


def widened(weights: np.ndarray) -> np.ndarray:
    """Weights `(resamples, n)` spread around 1 / n, so that intervals over few units are as wide as Student's.

    Resampling n units understates the variance of their mean by (n - 1) / n, and percentiles take this spread for the
    true one: nothing for many items, a factor of 2.7 for three seeds or tasks.
    """
    n = weights.shape[1]
    if n == 1:
        return weights
    reach = (1 + LEVEL) / 2
    student = stats.t.ppf(reach, n - 1) / stats.norm.ppf(reach)
    return 1 / n + (weights - 1 / n) * np.sqrt(n / (n - 1)) * student


def _resampled_means(
    array: np.ndarray, resamples: int, items: dict[int, np.ndarray], seeds: dict[int, np.ndarray]
) -> np.ndarray:
    if array.ndim == 0:
        return np.full(resamples, float(array))
    n = array.shape[-1]
    # Centred, so that single precision costs no digits.
    centre = array.mean()
    means = items[n] @ np.asarray(array - centre, np.float32).T
    if array.ndim == 2:
        means = (means * seeds[len(array)]).sum(1)
    return means.astype(float) + centre


def _with_two_tosses(means: np.ndarray, array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    items = getattr(array, "items", array.shape[-1])
    return (means * items + rng.binomial(2, 0.5, len(means))) / (items + 2)


class UnitSamples(np.ndarray):
    """Values of units that know of how many `items` they were made."""

    items: int

    def __array_finalize__(self, source: np.ndarray | None) -> None:
        if source is not None and hasattr(source, "items"):
            self.items = source.items


def by_unit(values: Sequence[float] | np.ndarray, units: Sequence[str] | Sequence[Sequence[str]]) -> UnitSamples:
    """One value for each unit that items are made of, in sorted order: (..., items) to (..., units), for `bootstrap`.

    Items that share their things are not independent: 120 pairs of 16 things know of 16 things. `units` names the one
    of each item, or k of them, alike for all. A unit's value is the mean plus k times how far its own items lie off it
    (Hajek's projection): the mean stays that of the items, and the spread is what other things would have given.
    """
    values, parts = np.asarray(values, dtype=float), np.array(units)
    parts = parts.reshape(len(parts), -1)
    names, places = np.unique(parts, return_inverse=True)

    def of_row(row: np.ndarray) -> np.ndarray:
        off = np.repeat(row - row.mean(), parts.shape[1])
        return row.mean() + np.bincount(places.ravel(), off, len(names)) * len(names) / len(row)

    samples = np.apply_along_axis(of_row, -1, values).view(UnitSamples)
    samples.items = values.shape[-1]
    return samples


def percentile_interval(draws: np.ndarray, value: float) -> tuple[float, float]:
    """The 95 % percentile interval of bootstrap draws, widened where needed so that it holds the value itself."""
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(min(low, value)), float(max(high, value))


def detectable(low: float, high: float) -> float:
    """The smallest true value that samples of this size show to be above zero in four of five studies.

    That is `(z_.975 + z_.8)` standard errors, the standard error being the one that the width of the
    95 % interval from `low` to `high` implies.
    """
    reach = stats.norm.ppf((1 + LEVEL) / 2)
    return float((reach + stats.norm.ppf(POWER)) * (high - low) / (2 * reach))


def mean_interval(samples: np.ndarray, unit: str = "", seed: int = 0) -> Measurement:
    """Mean of one sample with its interval: Wilson for zeros and ones over items, bootstrap otherwise."""
    array = as_samples({"x": samples})["x"]
    seeds, n = (len(array) if array.ndim == 2 else 1), (array.shape[-1] if array.ndim else 1)
    value = float(array.mean())
    if array.ndim == 1 and is_binary(array):
        interval = stats.binomtest(int(array.sum()), n).proportion_ci(LEVEL, method="wilson")
        return Measurement(value, float(interval.low), float(interval.high), n, seeds, unit)
    draws = bootstrap(lambda means: np.array([means["x"]]), {"x": array}, seed=seed)[:, 0]
    return Measurement(value, *percentile_interval(draws, value), n, seeds, unit)


def stratified_mean(groups: Sequence[np.ndarray]) -> Measurement:
    """Unweighted mean of the means of groups of two items or more, with the interval of independent items.

    Normal approximation; where all items are right or wrong, the interval stays between 0 and 1.
    """
    value = float(np.mean([values.mean() for values in groups]))
    error = np.sqrt(sum(values.var(ddof=1) / len(values) for values in groups)) / len(groups)
    reach = stats.norm.ppf((1 + LEVEL) / 2) * error
    bounds = (0.0, 1.0) if all(map(is_binary, groups)) else (-np.inf, np.inf)
    low, high = np.clip((value - reach, value + reach), *bounds)
    return Measurement(value, float(low), float(high), sum(map(len, groups)))


def permutation_test(a: np.ndarray, b: np.ndarray, resamples: int = 5000, seed: int = 0) -> float:
    """Two-sided p of a paired permutation test (random sign flips of the item differences)."""
    differences = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(resamples, len(differences)))
    extreme = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12
    return float((1 + extreme.sum()) / (1 + resamples))
