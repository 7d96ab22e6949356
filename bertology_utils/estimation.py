"""How surely a function of the means of samples is known: estimates and intervals for the design that was run.

Depends on `samples`, `variances`, numpy and scipy. Seeds and units are crossed: each seed is judged on the same units.
The variance of a mean is then the sum of a part of the seeds, one of the units and one of both together (`variances`).
Rights and wrongs get a few tosses of a coin more, after Agresti and Caffo (2000): neither a perfect score on few items
nor two samples that agree on each come with an interval of width zero. A single proportion has the interval of Wilson
(1927), united with that of Jeffreys where that is wider.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, logit, stdtr, stdtrit

from bertology_utils.samples import Samples, is_binary, item_count, of_single_items
from bertology_utils.variances import Moments

ALPHA = 0.025  # of each side of a 95 % interval
LIKENESS = 0.2  # correlation within a unit, or of seeds on one item, that rights and wrongs are taken to have at least
TOSSES_ALONE, TOSSES_PAIRED = 3, 1
MANY = 1e8  # degrees of freedom that are as good as all
ANYTHING = 1000.0  # errors off the value that stand for an end which is not bounded


@dataclass(frozen=True)
class Linear:
    """A value, and its slope in the mean of each sample: what a formula is near the measured means."""

    value: float
    slopes: Mapping[str, float] = field(default_factory=dict)

    def scaled(self, factor: float) -> "Linear":
        return Linear(self.value * factor, {name: slope * factor for name, slope in self.slopes.items()})

    def plus(self, other: "Linear", factor: float = 1.0) -> "Linear":
        """The sum with `factor` times the other."""
        if isinstance(other, Ratio) and not self.slopes:
            return other.scaled(factor).plus(self)
        slopes = dict(self.slopes)
        for name, slope in other.slopes.items():
            slopes[name] = slopes.get(name, 0.0) + factor * slope
        return Linear(self.value + factor * other.value, slopes)

    def __mul__(self, other: "Linear") -> "Linear":
        crossed = self.scaled(other.value).plus(other.scaled(self.value))
        return Linear(self.value * other.value, crossed.slopes)

    def __truediv__(self, other: "Linear") -> "Linear":
        ratio = self.value / other.value
        slopes = Linear.scaled(self, 1 / other.value).plus(Linear.scaled(other, ratio / other.value), -1).slopes
        simple = other.slopes and not isinstance(self, Ratio) and not isinstance(other, Ratio)
        return Ratio(ratio, slopes, self, other) if simple else Linear(ratio, slopes)


@dataclass(frozen=True)
class Ratio(Linear):
    """One linear function by another, which a number may be added to: its interval is Fieller's (1954)."""

    numerator: Linear = Linear(0.0)
    denominator: Linear = Linear(1.0)

    def scaled(self, factor: float) -> "Ratio":
        return self._with(super().scaled(factor), self.numerator.scaled(factor))

    def plus(self, other: Linear, factor: float = 1.0) -> Linear:
        total = super().plus(other, factor)
        if other.slopes:
            return total
        return self._with(total, self.numerator.plus(self.denominator.scaled(other.value * factor)))

    def excess(self, over: float) -> Linear:
        """What has the sign that the ratio has less a number."""
        return self.numerator.plus(self.denominator, -over).scaled(1 / self.denominator.value)

    def _with(self, linear: Linear, numerator: Linear) -> "Ratio":
        return Ratio(linear.value, linear.slopes, numerator, self.denominator)

    @property
    def sign(self) -> float:
        """Of the denominator."""
        return float(np.sign(self.denominator.value))


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and degrees of freedom.

    Attributes:
        centre: the middle of the interval; the value but for the tosses.
        seed_part, unit_part, rest: the parts of the squared error that fall with more seeds, more units, and either.
        errors, weights: where few seeds leave open how much they vary, the errors that are possible, and how likely.
    """

    value: float
    centre: float
    error: float
    df: float = np.inf
    seed_part: float = 0.0
    unit_part: float = 0.0
    rest: float = 0.0
    errors: np.ndarray | None = field(default=None, repr=False)
    weights: np.ndarray | None = field(default=None, repr=False)

    def low(self, alpha: float = ALPHA) -> float:
        """The lower end that the truth lies below with probability alpha."""
        return min(self.value, self.centre - self.reach(alpha))

    def high(self, alpha: float = ALPHA) -> float:
        return max(self.value, self.centre + self.reach(alpha))

    def p_above(self, bar: float) -> float:
        """One-sided p of the hypothesis that the truth is at most `bar`."""
        if self.error == 0:
            return float(self.value <= bar)
        return self._beyond(self.centre - bar)

    def _beyond(self, distance: float) -> float:
        """Probability that the centre lies off the truth by more than a distance, to one side."""
        if self.errors is None:
            return float(stdtr(min(self.df, MANY), -distance / self.error))
        return float(self.weights @ stdtr(self.df, -distance / self.errors))

    def reach(self, alpha: float = ALPHA) -> float:
        if not self.error:
            return 0.0
        reach = -float(stdtrit(min(self.df, MANY), alpha)) * self.error
        if self.errors is None:
            return reach
        most = reach * self.errors.max() / self.error
        return float(brentq(lambda distance: self._beyond(distance) - alpha, 0.0, 1.01 * most))


@dataclass(frozen=True)
class ShareEstimate(Estimate):
    """A linear function of one share over seeds or units: where the interval of the share's log odds reaches farther,
    as it does towards one half, the end is its own.

    Attributes:
        share: where the centre lies between 0 and 1; `slope`: of the value in the share.
    """

    share: float = 0.5
    slope: float = 1.0

    def _reach_to(self, side: float, alpha: float) -> float:
        """How far the end on a side (1 or -1) lies off the centre."""
        reach = self.reach(alpha)
        odds = side * reach / self.slope / (self.share * (1 - self.share))
        return max(reach, abs(self.slope * float(expit(logit(self.share) + odds) - self.share)))

    def low(self, alpha: float = ALPHA) -> float:
        return min(self.value, self.centre - self._reach_to(-1, alpha))

    def high(self, alpha: float = ALPHA) -> float:
        return max(self.value, self.centre + self._reach_to(1, alpha))

    def p_above(self, bar: float) -> float:
        share = self.share + (bar - self.centre) / self.slope
        plain = super().p_above(bar)
        if not 0 < share < 1:
            return plain
        off = (logit(self.share) - logit(share)) * self.share * (1 - self.share) * self.slope
        return max(plain, self._beyond(float(off)))


@dataclass(frozen=True)
class RatioEstimate(Estimate):
    """A ratio: it lies above a number as surely as its numerator exceeds so many denominators.

    Attributes:
        excess: the estimate of by how much it does, in denominators.
        divisor: that of the denominator's size; where it may be nothing, the ratio may be anything.
    """

    excess: Callable[[float], Estimate] | None = None
    divisor: Estimate | None = None

    def low(self, alpha: float = ALPHA) -> float:
        return self._end(lambda estimate: estimate.low(alpha), alpha, -ANYTHING)

    def high(self, alpha: float = ALPHA) -> float:
        return self._end(lambda estimate: estimate.high(alpha), alpha, ANYTHING)

    def p_above(self, bar: float) -> float:
        return max(self.excess(bar).p_above(0.0), self.divisor.p_above(0.0))

    def _end(self, step: Callable[[Estimate], float], alpha: float, anything: float) -> float:
        far = self.value + anything * self.error
        if self.divisor.low(alpha) <= 0:
            return far

        def beyond(bar: float) -> float:
            return step(self.excess(bar))

        here = beyond(self.value)
        return (
            float(brentq(beyond, self.value, far, rtol=1e-9))
            if here * beyond(far) < 0
            else self.value
            if not here
            else far
        )


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
    """The estimate of a linear function or a ratio of the means of samples, from the variance components of their
    design."""
    found = _estimate(target, samples)
    if isinstance(target, Ratio) and found.error:
        divisor = _estimate(target.denominator.scaled(target.sign), samples)
        return _made_of(
            found, RatioEstimate, excess=lambda over: _estimate(target.excess(over), samples), divisor=divisor
        )
    return found


def _of_equal_shares(samples: Samples, slopes: Mapping[str, float]) -> float:
    """Squared error of shares of several items that are the same for every seed: of the items, a toss more of them."""
    shares = [
        (slopes[name], float(array.mean()), array)
        for name, array in samples.items()
        if item_count(array) > array.shape[-1]
    ]
    counts = [(slope, share, item_count(array) * len(array)) for slope, share, array in shares if 0 <= share <= 1]
    return sum(slope**2 * (share * (1 - share) + 1 / n) / n for slope, share, n in counts)


def _made_of(found: Estimate, kind: type[Estimate], **more: object) -> Estimate:
    """An estimate as one of a special kind."""
    return kind(**{field.name: getattr(found, field.name) for field in fields(Estimate)}, **more)


def _estimate(target: Linear, samples: Samples) -> Estimate:
    used = {name: samples[name] for name, slope in target.slopes.items() if slope and samples[name].ndim}
    if not used:
        return Estimate(target.value, target.value, 0.0)
    if any(array.size == 1 for array in used.values()):
        return Estimate(target.value, target.value, ANYTHING * max(1.0, abs(target.value)), 1.0)  # of one draw
    if len(used) == 1:
        ((name, array),) = used.items()
        if of_single_items(array):
            return _proportion(target, name, array)
    moments = Moments(used, target.slopes)
    tossed = _Tosses(used, target.slopes)
    keep = tossed.kept
    variance = keep**2 * moments.variance + tossed.variance
    if not variance:
        variance = _of_equal_shares(used, target.slopes)
        return Estimate(target.value, target.value, float(np.sqrt(variance)), unit_part=variance)
    possible = moments.possible
    errors = None if possible is None else np.sqrt(keep**2 * possible.variances + tossed.variance)
    found = Estimate(
        target.value, target.value + tossed.shift, float(np.sqrt(variance)), possible.df if possible else moments.df,
        moments.seed_part, moments.unit_part, max(variance - moments.seed_part - moments.unit_part, 0.0),
        errors, possible and possible.weights,
    )  # fmt: skip
    ((name, array), *others) = used.items()
    if others or not is_binary(array):
        return found
    slope = target.slopes[name]
    return _made_of(found, ShareEstimate, share=float(array.mean()) + tossed.shift / slope, slope=slope)


def _proportion(target: Linear, name: str, array: np.ndarray) -> Proportion:
    n, slope = len(array), target.slopes[name]
    share = float(array.mean())
    error = abs(slope) * float(np.sqrt((share * (1 - share) + 1 / n) / n))
    return Proportion(
        target.value, target.value, error, unit_part=error**2, successes=round(float(array.sum())), n=n, slope=slope
    )


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
