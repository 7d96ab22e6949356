"""How surely a function of the means of samples is known: variance components of the design that was run. Depends on
`samples`, numpy and scipy.

Seeds and units are crossed: each seed is judged on the same units. The variance of a mean is then the sum of a part of
the seeds, one of the units and one of both together, estimated by the method of moments from mean squares; the degrees
of freedom are Satterthwaite's (1946) with a floor. Rights and wrongs get a few tosses of a coin more, after Agresti and
Caffo (2000): neither a perfect score on few items nor two samples that agree on each come with an interval of width
zero. A single proportion has the interval of Wilson (1927), united with that of Jeffreys where that is wider.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import stats

from bertology_utils.samples import Samples, is_binary, item_count

ALPHA = 0.025  # of each side of a 95 % interval
LIKENESS = 0.2  # correlation within a unit, or of seeds on one item, that rights and wrongs are taken to have at least
TOSSES_ALONE, TOSSES_PAIRED = 3, 1
PRIOR_SHARE = 0.3  # share of the variance that two seeds are taken to add when degrees of freedom are counted


@dataclass(frozen=True)
class Linear:
    """A value, and its slope in the mean of each sample: what a formula is near the measured means."""

    value: float
    slopes: Mapping[str, float] = field(default_factory=dict)

    def scaled(self, factor: float) -> "Linear":
        return Linear(self.value * factor, {name: slope * factor for name, slope in self.slopes.items()})

    def plus(self, other: "Linear", factor: float = 1.0) -> "Linear":
        """The sum with `factor` times the other."""
        slopes = dict(self.slopes)
        for name, slope in other.slopes.items():
            slopes[name] = slopes.get(name, 0.0) + factor * slope
        return Linear(self.value + factor * other.value, slopes)

    def __mul__(self, other: "Linear") -> "Linear":
        crossed = self.scaled(other.value).plus(other.scaled(self.value))
        return Linear(self.value * other.value, crossed.slopes)

    def __truediv__(self, other: "Linear") -> "Linear":
        ratio = self.value / other.value
        return Linear(ratio, self.scaled(1 / other.value).plus(other.scaled(ratio / other.value), -1).slopes)


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and degrees of freedom.

    Attributes:
        centre: the middle of the interval; the value but for the tosses.
        seed_part, unit_part, rest: the parts of the squared error that fall with more seeds, more units, and either.
    """

    value: float
    centre: float
    error: float
    df: float = np.inf
    seed_part: float = 0.0
    unit_part: float = 0.0
    rest: float = 0.0

    def low(self, alpha: float = ALPHA) -> float:
        """The lower end that the truth lies below with probability alpha."""
        return min(self.value, self.centre - self._reach(alpha))

    def high(self, alpha: float = ALPHA) -> float:
        return max(self.value, self.centre + self._reach(alpha))

    def p_above(self, bar: float) -> float:
        """One-sided p of the hypothesis that the truth is at most `bar`."""
        if self.error == 0:
            return float(self.value <= bar)
        return float(stats.t.sf((self.centre - bar) / self.error, self.df))

    def _reach(self, alpha: float) -> float:
        return float(stats.t.isf(alpha, self.df)) * self.error if self.error else 0.0


@dataclass(frozen=True)
class Proportion(Estimate):
    """A linear function of one proportion: `offset + slope * successes / n`."""

    successes: int = 0
    n: int = 1
    slope: float = 1.0

    def low(self, alpha: float = ALPHA) -> float:
        return min(self._ends(alpha))

    def high(self, alpha: float = ALPHA) -> float:
        return max(self._ends(alpha))

    def p_above(self, bar: float) -> float:
        """By the interval: the least alpha whose lower end lies above the bar."""
        share = self.successes / self.n + (bar - self.value) / self.slope
        if not 0 <= share <= 1:
            return float(self.value <= bar)
        z = (self.successes / self.n - share) / np.sqrt(max(share * (1 - share), 1e-12) / self.n)
        return float(stats.norm.sf(z * np.sign(self.slope)))

    def _ends(self, alpha: float) -> tuple[float, float]:
        share = self.successes / self.n
        return tuple(
            self.value + self.slope * (end - share) for end in proportion_interval(self.successes, self.n, alpha)
        )


def proportion_interval(successes: int, n: int, alpha: float = ALPHA) -> tuple[float, float]:
    """Wilson's interval of a proportion united with Jeffreys's, at most alpha outside of each end.

    Near 1 Wilson's excludes too many true values above it, and Jeffreys's too many below; each mends the other.
    """
    wilson = stats.binomtest(successes, n).proportion_ci(1 - 2 * alpha, method="wilson")
    jeffreys = stats.beta.ppf([alpha, 1 - alpha], successes + 0.5, n - successes + 0.5)
    low = 0.0 if successes == 0 else min(wilson.low, jeffreys[0])
    high = 1.0 if successes == n else max(wilson.high, jeffreys[1])
    return float(low), float(high)


def estimate(target: Linear, samples: Samples) -> Estimate:
    """The estimate of a linear function of the means of samples, from the variance components of their design."""
    used = {name: samples[name] for name, slope in target.slopes.items() if slope and samples[name].ndim}
    if not used:
        return Estimate(target.value, target.value, 0.0)
    if len(used) == 1:
        ((name, array),) = used.items()
        if type(array) is np.ndarray and array.ndim == 1 and is_binary(array):
            return _proportion(target, name, array)
    moments = _Moments(used, target.slopes)
    tossed = _Tosses(used, target.slopes)
    keep = tossed.kept
    variance = keep**2 * moments.variance + tossed.variance
    return Estimate(
        target.value, target.value + tossed.shift, float(np.sqrt(variance)), moments.df,
        moments.seed_part, moments.unit_part, max(variance - moments.seed_part - moments.unit_part, 0.0),
    )  # fmt: skip


def _proportion(target: Linear, name: str, array: np.ndarray) -> Proportion:
    n, slope = len(array), target.slopes[name]
    share = array.mean()
    error = abs(slope) * float(np.sqrt((share * (1 - share) + 1 / n) / n))
    return Proportion(
        target.value, target.value, error, unit_part=error**2, successes=round(array.sum()), n=n, slope=slope
    )


class _Moments:
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
        """Satterthwaite's degrees of freedom. Few seeds that look alike by chance would get too many: their share of
        the variance counts as a little more than what was seen."""
        variance = self.variance
        if variance == 0:
            return np.inf
        seeds, units, both = self.parts
        spread = sum(v**2 / df for part in (units, both) for v, df in part)
        spread += sum((v + PRIOR_SHARE / df**2 * variance) ** 2 / df for v, df in seeds)
        least = min((df for part in (seeds, units) for _, df in part), default=np.inf)
        return max(variance**2 / spread, least) if spread else np.inf


def _residual(values: np.ndarray) -> tuple[float, int]:
    df = (values.shape[0] - 1) * (values.shape[1] - 1)
    return float(np.square(values).sum()) / df / values.size, df


def _summed(arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Arrays of one shape are of the same seeds or units: their influences add up."""
    found: dict[tuple[int, ...], np.ndarray] = {}
    for array in arrays:
        found[array.shape] = found[array.shape] + array if array.shape in found else array
    return list(found.values())


class _Tosses:
    """A few coin tosses added to samples of rights and wrongs, as many as stand for the design's effective size."""

    def __init__(self, samples: Samples, slopes: Mapping[str, float]):
        binary = {name: array for name, array in samples.items() if is_binary(array)}
        self.tosses = (TOSSES_ALONE if len(samples) == 1 else TOSSES_PAIRED) if binary else 0
        sizes = [_effective(array) for array in binary.values()]
        self.n = min(sizes, default=1.0)
        self.pull = sum(slopes[name] * (0.5 - array.mean()) for name, array in binary.items())
        self.coin = sum(slopes[name] ** 2 / 4 for name in binary)

    @property
    def kept(self) -> float:
        """Weight of what was measured."""
        return self.n / (self.n + self.tosses)

    @property
    def shift(self) -> float:
        """How far the tosses draw the centre towards one half."""
        return float(self.pull * (1 - self.kept))

    @property
    def variance(self) -> float:
        about = (self.pull * self.kept) ** 2 + self.coin
        return float(self.tosses * about / (self.n + self.tosses) ** 2)


def _effective(array: np.ndarray) -> float:
    """Independent values that a sample is worth if its repeated measures of one unit are as alike as `LIKENESS`."""
    values = item_count(array) * (len(array) if array.ndim == 2 else 1)
    repeated = values / array.shape[-1]
    return values / (1 + (repeated - 1) * LIKENESS)
