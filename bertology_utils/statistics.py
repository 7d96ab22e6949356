"""Measurements with intervals. Depends on `samples` and `estimation`.

A bare float is never a result here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

from bertology_utils.estimation import ALPHA, Linear, estimate
from bertology_utils.samples import as_samples, is_binary

LEVEL = 0.95
ROUNDING = 1e-8  # a value below it is zero but for the arithmetic


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


def mean_interval(samples: np.ndarray, unit: str = "", comparisons: int = 1) -> Measurement:
    """Mean of a sample, `(items,)` or `(seeds, items)`, with its interval.

    comparisons: of how many intervals, which then hold together at 95 % (Bonferroni), this is one.
    """
    array = as_samples({"x": samples})["x"]
    seeds, n = (len(array) if array.ndim == 2 else 1), (array.shape[-1] if array.ndim else 1)
    found, alpha = estimate(Linear(float(array.mean()), {"x": 1.0}), {"x": array}), ALPHA / comparisons
    return Measurement(found.value, found.low(alpha), found.high(alpha), n, seeds, unit)


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


@cache
def beside_control(control: tuple[float, ...], *samples: tuple[float, ...]) -> tuple[list[float], list[float]]:
    """The bounds of every sample's mean minus the control's: many treatments beside one control (Dunnett 1955).

    Few seeds say little about their own spread, so the spread is pooled over all samples, and the intervals hold
    together: one of them misses in 5 % of such tables, however many there are. A sample of one has a wider interval.
    Raises ValueError where nothing was measured twice.
    """
    if not samples:
        return [], []
    interval = stats.dunnett(*samples, control=control, rng=0).confidence_interval(LEVEL)
    return interval.low.tolist(), interval.high.tolist()
