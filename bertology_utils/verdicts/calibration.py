"""Do intervals cover, and do verdicts decide? Effects of known size are planted in designs like the book's own. Depends
on `estimation` and the formulas of `predictions`.

Two arms are judged on the same items by the same seeds. Whether an item is right has a part of the seed, of its unit,
of the item and of chance; the truth is the mean over all seeds and units that could have been drawn (with one seed: of
that seed). At the bar, a decision is wrong in either direction; each side is counted by itself, 2.5 % being nominal.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats

from bertology_utils.samples import by_unit
from bertology_utils.verdicts.predictions import parse

MIXES = {  # standard deviations on the probit scale: seeds, units, items (chance has 1)
    "items vary": (0.05, 0.2, 0.8),
    "all vary": (0.2, 0.4, 0.5),
    "seeds vary": (0.4, 0.2, 0.3),
}
SEEDS = (1, 2, 3, 5, 10)
ITEMS = (16, 64, 300, 2000)
UNITS = (8, 16, 40, 200)
Interval = Callable[[str, dict[str, np.ndarray]], tuple[float, float]]
Draw = Callable[[np.random.Generator], tuple[dict[str, np.ndarray], float]]


@dataclass(frozen=True)
class Design:
    """A formula, and what draws its samples together with its true value."""

    kind: str
    name: str
    formula: str
    draw: Draw


@dataclass(frozen=True)
class Calibration:
    """What intervals did on one design.

    Attributes:
        coverage: share of intervals that hold the truth.
        above, below: share of intervals wholly above or below the truth: wrong decisions at a bar there.
        decided: share that tells the truth from nothing.
        width: median width.
    """

    kind: str
    design: str
    repeats: int
    coverage: float
    above: float
    below: float
    decided: float
    width: float


def judged_interval(formula: str, samples: dict[str, np.ndarray]) -> tuple[float, float]:
    """The 95 % interval of a formula as verdicts use it."""
    (clause,) = parse(f"{formula} > 0").judge(samples)
    return clause.low, clause.high


def calibrate(design: Design, interval: Interval, repeats: int, seed: int = 0) -> Calibration:
    """Coverage, wrong decisions and decided share of an interval on one design."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(repeats):
        samples, truth = design.draw(rng)
        rows.append((*interval(design.formula, samples), truth))
    low, high, truth = np.array(rows).T
    above, below = (low > truth + 1e-12).mean(), (high < truth - 1e-12).mean()
    decided = (np.sign(low) * np.sign(high) > 0).mean()
    shares = (1 - above - below, above, below, decided, np.median(high - low))
    return Calibration(design.kind, design.name, repeats, *(round(float(share), 4) for share in shares))


def two_arms(
    seeds: int, items: int, units: int, mix: tuple[float, float, float], levels: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[dict[str, np.ndarray], float]:  # fmt: skip
    """Samples `a` and `b` of rights and wrongs, and the true difference of their means.

    Half of each part is common to both arms. `units` of 0 makes items their own units.
    """
    sd_seed, sd_unit, sd_item = mix
    place = np.arange(items) % units if units else np.arange(items)
    total = np.sqrt(1 + sum(sd**2 for sd in mix))

    def part(shape: tuple[int, ...], sd: float) -> np.ndarray:
        common, own = rng.normal(0, sd, (1, *shape)), rng.normal(0, sd, (2, *shape))
        return (common + own) / np.sqrt(2)

    of_seed = part((seeds, 1), sd_seed)
    of_unit = part((1, max(units, 1)), sd_unit)[..., place] if units else 0.0
    of_item = part((1, items), sd_item if units else np.hypot(sd_unit, sd_item))
    thresholds = stats.norm.ppf(levels)[:, None, None] * total
    right = (thresholds + of_seed + of_unit + of_item + rng.normal(size=(2, seeds, items)) > 0).astype(float)
    if seeds == 1:  # the truth of this very network
        rest = np.sqrt(total**2 - sd_seed**2)
        truth = stats.norm.cdf((thresholds + of_seed)[:, 0, 0] / rest)
    else:
        truth = np.asarray(levels)
    a, b = (by_unit(arm, place) if units else arm for arm in right)
    return {"a": a, "b": b}, float(truth[0] - truth[1])


def one_proportion(n: int, ends: tuple[float, float], rng: np.random.Generator) -> tuple[dict[str, np.ndarray], float]:
    """A share of right items whose true value lies anywhere between `ends`."""
    truth = rng.uniform(*ends)
    return {"a": (rng.random(n) < truth).astype(float)}, truth


def near_one(seeds: int, items: int, units: int, mix: tuple[float, float, float], rng: np.random.Generator):
    """One arm, nearly always right, judged by itself."""
    level = rng.uniform(0.9, 0.99)
    samples, _ = two_arms(seeds, items, units, mix, (level, 0.5), rng)
    return {"a": samples["a"]}, level


def ratio_of_means(seeds: int, items: int, sd: float, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], float]:
    """Two positive measures whose true means are 1.2 and 1."""
    common = rng.normal(0, sd, (1, items))
    arms = [
        m + common + rng.normal(0, sd / 3 if seeds > 1 else 0, (seeds, 1)) + rng.normal(0, sd, (seeds, items))
        for m in (1.2, 1.0)
    ]
    return dict(zip("ab", arms, strict=True)), 1.2


def conjunction(seeds: int, items: int, mix: tuple[float, float, float], rng: np.random.Generator):
    """Arm a is better than both others, than one of them by far: the least of the two differences."""
    samples, truth = two_arms(seeds, items, 0, mix, (0.8, 0.7), rng)
    far, _ = two_arms(seeds, items, 0, mix, (0.8, 0.4), rng)
    return samples | {"c": far["b"]}, truth


def of_largest(items: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], float]:
    """The largest of three equal things and a fourth."""
    return {name: rng.normal(0, 1, items) for name in "abcd"}, 0.0


def designs() -> Iterator[Design]:
    """The designs of the suite: 1 to 10 seeds, 16 to 2,000 items, 8 to 200 units, three mixes of variance."""
    for label, mix in MIXES.items():
        for seeds in SEEDS:
            for items in ITEMS:
                draw = partial(two_arms, seeds, items, 0, mix, (0.75, 0.6))
                yield Design("difference", f"{seeds} seeds, {items} items, {label}", "a - b", draw)
        for units in UNITS:
            for seeds in (1, 3):
                draw = partial(two_arms, seeds, 4 * units, units, mix, (0.75, 0.6))
                yield Design("units", f"{seeds} seeds, {units} units of 4, {label}", "a - b", draw)
                draw = partial(near_one, seeds, 4 * units, units, mix)
                if seeds > 1:
                    yield Design("near one", f"{seeds} seeds, {units} units of 4, {label}", "a", draw)
        for seeds, items in ((1, 64), (3, 64), (5, 300)):
            yield Design("conjunction", f"{seeds} seeds, {items} items, {label}", "min(a - b, a - c)",
                         partial(conjunction, seeds, items, mix))  # fmt: skip
    for n in (16, 20, 64, 300, 2000):
        for ends in ((0.02, 0.2), (0.2, 0.8), (0.8, 0.98)):
            yield Design("proportion", f"{n} items, {ends[0]} to {ends[1]}", "a", partial(one_proportion, n, ends))
    for seeds, items in ((1, 30), (3, 30), (3, 200), (8, 100)):
        yield Design("ratio", f"{seeds} seeds, {items} items", "a / b", partial(ratio_of_means, seeds, items, 0.6))
    for items in (16, 100):
        yield Design("largest", f"{items} items", "max(a, b, c) - d", partial(of_largest, items))
