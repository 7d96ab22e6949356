"""Variance components of samples whose seeds and units are crossed. Depends on `samples` and numpy.

The variance of a mean is the sum of a part of the seeds, one of the units and one of both together, estimated by the
method of moments from mean squares; the degrees of freedom are Satterthwaite's (1946) with a floor. Of few seeds no
single estimate is enough: `Moments.possible` weighs how much they may vary.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bertology_utils.samples import Samples

SEEDS_LIKE = 0.04  # standard deviation of seeds, in those of values within a seed, below which all sizes are as likely
SIZES = np.logspace(-3, 3.5, 80)  # of that deviation, in units of `SEEDS_LIKE`


class Moments:
    """Mean squares of the influence of each seed, each unit, and each value, as parts of the variance of the mean."""

    def __init__(self, samples: Samples, slopes: Mapping[str, float]):
        off = {name: slopes[name] * np.asarray(array - array.mean()) for name, array in samples.items()}
        self.of_seeds = _summed(a.mean(1) for a in off.values() if a.ndim == 2 and len(a) > 1)
        self.of_units = _summed(a.mean(0) if a.ndim == 2 else a for a in off.values() if a.shape[-1] > 1)
        self.of_both = _summed(
            (a - a.mean(1, keepdims=True) - a.mean(0)) for a in off.values() if a.ndim == 2 and min(a.shape) > 1
        )

    @cached_property
    def parts(self) -> tuple[list[tuple[float, int]], ...]:
        """Squared error and degrees of freedom of seeds, units and both, one for each design that occurs."""
        seeds = [(float(a.var(ddof=1)) / len(a), len(a) - 1) for a in self.of_seeds]
        units = [(float(a.var(ddof=1)) / len(a), len(a) - 1) for a in self.of_units]
        both = [_residual(a) for a in self.of_both]
        return seeds, units, both

    @cached_property
    def sums(self) -> tuple[float, float, float]:
        seeds, units, both = (sum(variance for variance, _ in part) for part in self.parts)
        return seeds, units, both

    @property
    def variance(self) -> float:
        """The sum of the three components, none of them below zero."""
        seeds, units, both = self.sums
        return max(seeds + units - both, seeds, units)

    @property
    def seed_part(self) -> float:
        return max(self.sums[0] - self.sums[2], 0.0)

    @property
    def unit_part(self) -> float:
        return max(self.sums[1] - self.sums[2], 0.0)

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom, at least the fewest that a part has."""
        parts = [part for kind in self.parts for part in kind]
        spread = sum(variance**2 / df for variance, df in parts)
        least = min((df for kind in self.parts[:2] for _, df in kind), default=np.inf)
        return max(self.variance**2 / spread, least) if spread else np.inf

    @property
    def possible(self) -> "Possible | None":
        """The variances that are possible by how much seeds may vary; None where seeds or units are no part of it."""
        seeds, units, both = self.parts
        within = sum(variance * (df / (len(self.of_seeds[0]) - 1) + 1) for variance, df in both)
        if not (seeds and units and within):
            return None
        return _possible(_pooled(seeds), _without_seeds(_pooled(units), _pooled(both)), _pooled(both)[0], within)


@dataclass(frozen=True)
class Possible:
    """Variances of a mean, how likely each is, and the degrees of freedom of what is common to them."""

    variances: np.ndarray
    weights: np.ndarray
    df: float


def _possible(seeds: tuple[float, float], rest: tuple[float, float], both: float, within: float) -> Possible:
    """Bayes's rule on a grid of how much seeds vary: that says of two or three seeds what no single estimate can.

    Before the data, deviations below `SEEDS_LIKE` are as likely as each other; above, nearly as likely by their size in
    logarithms, so that seeds which vary more are believed. After Gelman (2006), with a tail that heavy.

    Args:
        seeds, rest: mean square of seeds and variance without them, each with its degrees of freedom.
        both: what the mean square of seeds would be if they did not vary.
        within: variance of single values within a seed, over the number of seeds.
    """
    added = within * (SEEDS_LIKE * SIZES) ** 2
    square, df = seeds
    log = -df / 2 * (np.log(both + added) + square / (both + added))
    weights = SIZES / (1 + SIZES ** (1 + 0.4 / df**2)) * np.exp(log - log.max())
    return Possible(rest[0] + added, weights / weights.sum(), rest[1])


def _pooled(parts: list[tuple[float, int]]) -> tuple[float, float]:
    """The sum of independent variances with Satterthwaite's degrees of freedom."""
    total = sum(variance for variance, _ in parts)
    return total, total**2 / sum(variance**2 / df for variance, df in parts) if total else parts[0][1]


def _without_seeds(units: tuple[float, float], both: tuple[float, float]) -> tuple[float, float]:
    """The variance of a mean over units for given seeds: of the units, or of all values where units do not vary."""
    if units[0] >= both[0]:
        return units
    df = units[1] + both[1]
    return (units[0] * units[1] + both[0] * both[1]) / df, df


def _residual(values: np.ndarray) -> tuple[float, int]:
    df = (values.shape[0] - 1) * (values.shape[1] - 1)
    return float(np.square(values).sum()) / df / values.size, df


def _summed(arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Arrays of one shape are of the same seeds or units: their influences add up."""
    found: dict[tuple[int, ...], np.ndarray] = {}
    for array in arrays:
        found[array.shape] = found[array.shape] + array if array.shape in found else array
    return list(found.values())
