"""Do intervals cover, and do verdicts decide? Effects of known size are planted in designs like the book's own. Depends
on `estimation` and the formulas of `predictions`.

Two arms are judged on the same items by the same seeds. Whether an item is right has a part of the seed, of its unit,
of the item and of chance; the truth is the mean over all seeds and units that could have been drawn (with one seed: of
that seed). At the bar, a decision is wrong in either direction; each side is counted by itself, 2.5 % being nominal.
Two other estimators stand beside the book's; see `yardsticks`. Of two or three seeds intervals are wider than they need
be, or too narrow where seeds differ much: no verdict of the live book rests on so few.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np
from scipy import stats

from bertology_utils.files import write_csv
from bertology_utils.samples import by_unit
from bertology_utils.verdicts import yardsticks
from bertology_utils.verdicts.predictions import parse

PATH = Path("results") / "calibration.csv"
NEW, OLD, M = "today's", "the former", "M"
COVERED = (0.93, 0.98)  # of two or three seeds more: so few cannot say whether seeds differ
WRONG = 0.03  # at most, on each side
CHANCE = 3.0  # standard errors of so many repeats that excuse a miss: one of 700 designs and sides, by chance
SLOW = 20  # repeats of today's for one of the former, which resamples

MIXES = {  # standard deviations on the probit scale: seeds, units, items (chance has 1)
    "items vary": (0.05, 0.2, 0.8),
    "all vary": (0.2, 0.4, 0.5),
    "seeds vary": (0.4, 0.2, 0.3),
}
SEEDS = (1, 2, 3, 5, 10)
ITEMS = (16, 64, 300, 2000)
UNITS = (8, 16, 40, 200)
FEW, MANY = "difference, 2 or 3 seeds", "difference"
OF_M = ("audit", FEW, MANY)  # kinds of design on which M stands beside
AUDIT = ((3, 64, 0.137), (3, 64, 0.186), (3, 300, 0.137), (2, 52, 0.186))  # seeds, items, difference: what M decides
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

    estimator: str
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


def calibrate(design: Design, estimator: str = NEW, repeats: int = 1000, seed: int = 0) -> Calibration:
    """Coverage, wrong decisions and decided share of an estimator's intervals on one design."""
    interval = ESTIMATORS[estimator]
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(repeats):
        samples, truth = design.draw(rng)
        rows.append((*interval(design.formula, samples), truth))
    low, high, truth = np.array(rows).T
    above, below = (low > truth + 1e-12).mean(), (high < truth - 1e-12).mean()
    decided = (np.sign(low) * np.sign(high) > 0).mean()
    shares = (1 - above - below, above, below, decided, np.median(high - low))
    return Calibration(estimator, design.kind, design.name, repeats, *(round(float(share), 4) for share in shares))


ESTIMATORS: dict[str, Interval] = {NEW: judged_interval, OLD: yardsticks.bootstrapped, M: yardsticks.crossed}


def calibrations(repeats: int, chosen: Iterable[Design] | None = None) -> Iterator[Calibration]:
    """All designs by today's estimator, and by the others where they are defined."""
    for design in designs() if chosen is None else chosen:
        yield calibrate(design, NEW, repeats)
        yield calibrate(design, OLD, max(repeats // SLOW, 10))
        if design.kind in OF_M:
            yield calibrate(design, M, repeats)


def misses(found: Calibration) -> list[str]:
    """What a calibration misses by more than chance, in words."""

    def error(share: float) -> float:
        return CHANCE * float(np.sqrt(share * (1 - share) / found.repeats))

    low, high = COVERED
    said = [f"covers {found.coverage:.3f}"] if found.coverage < low - error(low) else []
    said += [f"covers {found.coverage:.3f}, more than it should"] if found.coverage > high + error(high) else []
    sides = {"above": found.above, "below": found.below}
    return said + [f"lies {side} in {share:.3f}" for side, share in sides.items() if share > WRONG + error(WRONG)]


def behind(found: Iterable[Calibration]) -> list[str]:
    """The audit's designs on which today's estimator decides less than M, by more than chance."""
    decided: dict[str, dict[str, Calibration]] = {}
    for calibration in found:
        if calibration.kind == "audit":
            decided.setdefault(calibration.design, {})[calibration.estimator] = calibration
    return [
        f"{design}: decides {both[NEW].decided:.3f}, M {both[M].decided:.3f}"
        for design, both in decided.items()
        if both[NEW].decided < both[M].decided - CHANCE * float(np.sqrt(0.25 / both[M].repeats))
    ]


def by_kind(found: Iterable[Calibration]) -> list[tuple[str, ...]]:
    """One row an estimator and kind of design: how many, coverage from to, the worse wrong side, decided, misses."""
    groups: dict[tuple[str, str], list[Calibration]] = {}
    for calibration in found:
        groups.setdefault((calibration.estimator, calibration.kind), []).append(calibration)
    return [
        (
            *group,
            str(len(rows)),
            f"{min(row.coverage for row in rows):.3f} to {max(row.coverage for row in rows):.3f}",
            f"{max(max(row.above, row.below) for row in rows):.3f}",
            f"{np.mean([row.decided for row in rows]):.3f}",
            str(sum(bool(misses(row)) for row in rows)),
        )
        for group, rows in groups.items()
    ]


KIND_COLUMNS = ("estimator", "kind", "designs", "coverage", "worse side", "decided", "miss")


def write(path: Path, found: Iterable[Calibration], origin: Mapping[str, str]) -> None:
    """One row a design and estimator, with commit and date."""
    rows = [asdict(calibration) | dict(origin) for calibration in found]
    write_csv(path, rows, [*(field.name for field in fields(Calibration)), "commit", "date"])


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
                kind = FEW if seeds in (2, 3) else MANY
                yield Design(kind, f"{seeds} seeds, {items} items, {label}", "a - b", draw)
        for units in UNITS:
            for seeds in (1, 5):
                draw = partial(two_arms, seeds, 4 * units, units, mix, (0.75, 0.6))
                yield Design("units", f"{seeds} seeds, {units} units of 4, {label}", "a - b", draw)
                draw = partial(near_one, seeds, 4 * units, units, mix)
                if seeds > 1:
                    yield Design("near one", f"{seeds} seeds, {units} units of 4, {label}", "a", draw)
        for seeds, items in ((1, 64), (5, 64), (5, 300)):
            yield Design("conjunction", f"{seeds} seeds, {items} items, {label}", "min(a - b, a - c)",
                         partial(conjunction, seeds, items, mix))  # fmt: skip
        for seeds, items, effect in AUDIT:
            draw = partial(two_arms, seeds, items, 0, mix, (0.6 + effect, 0.6))
            yield Design("audit", f"{seeds} seeds, {items} items, {effect} apart, {label}", "a - b", draw)
    for n in (16, 20, 64, 300, 2000):
        for ends in ((0.02, 0.2), (0.2, 0.8), (0.8, 0.98)):
            yield Design("proportion", f"{n} items, {ends[0]} to {ends[1]}", "a", partial(one_proportion, n, ends))
    for seeds, items in ((1, 30), (3, 30), (3, 200), (8, 100)):
        yield Design("ratio", f"{seeds} seeds, {items} items", "a / b", partial(ratio_of_means, seeds, items, 0.6))
    for items in (16, 100):
        yield Design("largest", f"{items} items", "max(a, b, c) - d", partial(of_largest, items))
