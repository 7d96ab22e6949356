"""Two other estimators, as yardsticks of the calibration and for nothing else. Depends on `formulas`.

`crossed` is the reference M: the method of moments on crossed seeds and units with Satterthwaite's (1946) degrees of
freedom, without any of the guards of `estimation`. `bootstrapped` is what the book used until 2026-11-26: seeds and
items resampled, widened by Student's factor, and two tosses of a coin for rights and wrongs.
"""

import numpy as np
from scipy import stats

from bertology_utils.samples import Samples, is_binary, item_count
from bertology_utils.verdicts.formulas import Clause, clauses_of

RESAMPLES = 2000


def crossed(formula: str, samples: Samples) -> tuple[float, float]:
    """M's 95 % interval of a linear formula of samples of one shape, `(seeds, units)` or `(units,)`."""
    slopes = _clause(formula).effect(_means(samples)).slopes
    values = np.atleast_2d(sum(slope * np.asarray(samples[name]) for name, slope in slopes.items()))
    parts = _mean_squares(values)
    (of_seeds, of_units, of_both) = (square for square, _ in parts)
    seeds, units = max(of_seeds - of_both, 0.0), max(of_units - of_both, 0.0)
    variance = (seeds + units + of_both) / values.size
    spread = sum((square / values.size) ** 2 / df for square, df in parts if df)
    reach = stats.t.isf(0.025, variance**2 / spread) * np.sqrt(variance) if spread else 0.0
    return float(values.mean() - reach), float(values.mean() + reach)


def _mean_squares(values: np.ndarray) -> list[tuple[float, int]]:
    """Mean squares and degrees of freedom of seeds, units and both: (seeds, units) to three pairs."""
    seeds, units = values.shape
    by_seed, by_unit, grand = values.mean(1, keepdims=True), values.mean(0), values.mean()
    squares = (
        (units * np.square(by_seed - grand).sum(), seeds - 1),
        (seeds * np.square(by_unit - grand).sum(), units - 1),
        (np.square(values - by_seed - by_unit + grand).sum(), (seeds - 1) * (units - 1)),
    )
    return [(float(square) / df if df else 0.0, df) for square, df in squares]


def bootstrapped(formula: str, samples: Samples, seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of any formula as the book computed it until 2026-11-26."""
    rng, clause = np.random.default_rng(seed), _clause(formula)
    arrays = {name: np.asanyarray(array) for name, array in sorted(samples.items())}
    units = {n: _drawn(n, rng) for n in sorted({array.shape[-1] for array in arrays.values()})}
    seeds = {n: _drawn(n, rng) for n in sorted({len(array) for array in arrays.values() if array.ndim == 2})}
    means = {name: _resampled(array, units, seeds, rng) for name, array in arrays.items()}
    rows = (dict(zip(means, map(float, row), strict=True)) for row in zip(*means.values(), strict=True))
    low, high = np.quantile([clause.sides(row)[0] for row in rows], [0.025, 0.975])
    value = clause.sides(_means(samples))[0]
    return float(min(low, value)), float(max(high, value))


def _drawn(n: int, rng: np.random.Generator) -> np.ndarray:
    """Weights of n units in each resample, spread as wide as Student's t: (resamples, n)."""
    weights = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES) / n
    if n == 1:
        return weights
    student = stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975)
    return 1 / n + (weights - 1 / n) * np.sqrt(n / (n - 1)) * student


def _resampled(array: np.ndarray, units: dict, seeds: dict, rng: np.random.Generator) -> np.ndarray:
    means = units[array.shape[-1]] @ array.T
    if array.ndim == 2:
        means = (means * seeds[len(array)]).sum(1)
    if not is_binary(array):
        return np.asarray(means)
    return np.asarray(means * item_count(array) + rng.binomial(2, 0.5, RESAMPLES)) / (item_count(array) + 2)


def _clause(formula: str) -> Clause:
    return clauses_of(f"{formula} > 0")[0]


def _means(samples: Samples) -> dict[str, float]:
    return {name: float(array.mean()) for name, array in samples.items()}
