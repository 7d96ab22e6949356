"""The comparison of pre-training objectives: what each variant gains over the base.

Reads the table that `pretraining.compare` writes, or rows that were trained in a chapter, and draws them in the order
in which section 6 of rogers2020primer sorts the proposals. Depends on `figures.dots`, `absent` and `statistics`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertology_utils.absent import Absent, unless_absent
from bertology_utils.errors import BertologyError
from bertology_utils.figures.dots import Dots, dots
from bertology_utils.figures.html import Figure
from bertology_utils.files import read_csv
from bertology_utils.pretraining.compare import RESULTS
from bertology_utils.project import find_root
from bertology_utils.statistics import beside_control

BASE = "nano"
LOSS, GRAMMAR = "held_out_loss", "zorro"
MEASURES = {LOSS: ("held-out loss", "nats"), GRAMMAR: ("Zorro", "percentage points")}
AXES = {
    "How to mask": ("static-masks", "unknown-symbol"),
    "What to mask": ("whole-words", "phrases", "ngrams", "spans"),
    "Where to mask": ("streams",),
    "Instead of masks": ("permutation", "replaced-tokens", "ngram-order"),
    "Alternatives to NSP": ("next-sentence", "sentence-order", "next-previous", "continual"),
    "Architecture": ("deeper", "wider", "one-head", "sixteen-heads", "shared-layers", "cls-normalisation"),
    "Batch": ("large-batch",),
}
OTHER = "Other"
Row = Mapping[str, object]


@dataclass(frozen=True)
class Difference:
    """A variant minus the mean of the base on one measure.

    values: (seeds,); low, high: the simultaneous 95 % interval of their mean; spread: the range of the base over its
    seeds.
    """

    config: str
    values: np.ndarray
    low: float
    high: float
    spread: float

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def exceeds(self) -> bool:
        """The interval leaves out zero."""
        return self.low > 0 or self.high < 0


def recorded() -> list[dict[str, str]] | Absent:
    """The table in the project's results; absent where none is recorded."""
    return read_csv(find_root(Path(__file__).parent) / RESULTS) or Absent("no comparison of objectives is recorded")


def measures(rows: Iterable[Row]) -> list[str]:
    """The columns that the base fills with a score: the held-out loss and Zorro, where it was scored."""
    own = [row for row in rows if row["config"] == BASE]
    return [name for name in MEASURES if own and all(_score(row, name) is not None for row in own)]


def _score(row: Row, measure: str) -> float | None:
    """What a row says, shares in per cent; nothing where the model could not be asked.

    A discriminator of replaced tokens fills no blanks: the loss in its row is that of its small generator.
    """
    if measure == LOSS and "replaced-tokens" in str(row.get("objectives", "")):
        return None
    said = str(row.get(measure) or "")
    return float(said) * (100 if measure == GRAMMAR else 1) if said else None


def differences(rows: Iterable[Row], measure: str = LOSS, base: str = BASE) -> dict[str, Difference]:
    """Every other configuration against the base, by Dunnett's test (1955), so that a single seed has an interval too.

    Raises BertologyError where the table has no two seeds of the base, or mixes
    budgets.
    """
    rows = list(rows)
    if len({str(row["budget"]) for row in rows}) > 1:
        raise BertologyError("The table mixes budgets: a comparison needs one.")
    scores: dict[str, list[float]] = {}
    for row in rows:
        if (score := _score(row, measure)) is not None:
            scores.setdefault(str(row["config"]), []).append(score)
    own = np.array(scores.pop(base, []))
    if len(own) < 2:
        raise BertologyError(f"The comparison needs two seeds of its base '{base}', the table has {len(own)}.")
    low, high = beside_control(tuple(own), *map(tuple, scores.values()))
    spread = float(np.ptp(own))
    return {
        name: Difference(name, np.array(values) - own.mean(), *bounds, spread)
        for (name, values), *bounds in zip(scores.items(), low, high, strict=True)
    }


def by_axis(names: Iterable[str]) -> dict[str, list[str]]:
    """The configurations under the survey's headings; those that it does not know come last."""
    names = list(names)
    known = {axis: [name for name in members if name in names] for axis, members in AXES.items()}
    rest = [name for name in names if not any(name in members for members in AXES.values())]
    return {axis: members for axis, members in (known | {OTHER: rest}).items() if members}


@unless_absent
def comparison_figure(rows: Sequence[Row], base: str = BASE, caption: str = "") -> Figure:
    """Dot plot: a row a variant, a panel a measure, a dot a seed, with the mean and its interval."""
    found = {measure: differences(rows, measure, base) for measure in measures(rows)}
    if not found:
        raise BertologyError(f"The table has no column '{LOSS}'.")
    axes = by_axis(next(iter(found.values())))
    panels = {
        "{} minus that of the base ({})".format(*MEASURES[measure]): {
            name: Dots(d.values, d.mean, d.low, d.high, d.exceeds) for name, d in of_all.items()
        }
        for measure, of_all in found.items()
    }
    bands = [next(iter(of_all.values())).spread for of_all in found.values()]
    return dots(axes, panels, bands=bands, caption=caption)


def told(found: Mapping[str, Difference], measure: str = LOSS) -> str:
    """Which variants differ from the base on a measure, in words."""
    clear = sorted((d for d in found.values() if d.exceeds), key=lambda d: d.mean)
    name, judged = MEASURES[measure][0], "judged together at 95 %"
    if not clear:
        return f"None of {len(found)} variants differs from the base in {name}, {judged}."
    better = [d for d in clear if (d.mean < 0) == (measure == LOSS)]
    worse = [d for d in clear if d not in better]
    parts = [
        f"{kind}: {', '.join(f'{d.config} ({d.mean:+.3f})' for d in group) or 'none'}"
        for kind, group in (("better", better), ("worse", worse))
    ]
    said = "; ".join(parts).capitalize()
    return f"{len(clear)} of {len(found)} variants differ from the base in {name}, {judged}. {said}."


def side_by_side(live: Sequence[Row], recorded: Sequence[Row]) -> str:
    """The held-out loss of the variants that both tables have, against the base of each."""
    here, there = differences(live), differences(recorded)
    both = [f"{name} {here[name].mean:+.3f} live, {there[name].mean:+.3f} recorded" for name in here if name in there]
    return f"In both tables: {'; '.join(both) or 'nothing'}."


def report(live: Sequence[Row], table: Sequence[Row] | Absent) -> str:
    """Which recorded variants differ on each measure, what both tables have, and how far to trust the recorded one."""
    if isinstance(table, Absent):
        return "The comparison is not recorded yet: `pretraining.compare.run_comparison` writes it."
    found = [told(differences(table, measure), measure) for measure in measures(table)]
    return "\n\n".join([*found, f"{side_by_side(live, table)} {trust(table)}"])


def trust(rows: Iterable[Row]) -> str:
    """How much the table can carry, from its own numbers."""
    rows = list(rows)
    seeds = Counter(str(row["config"]) for row in rows).values()
    spans = f"{min(seeds)} to {max(seeds)}" if min(seeds) < max(seeds) else f"{max(seeds)}"
    size, pieces = (max(float(row[key]) for row in rows) / 1e6 for key in ("parameters", "tokens"))
    mute = sorted({str(row["config"]) for row in rows if all(_score(row, measure) is None for measure in MEASURES)})
    unranked = f" Not ranked: {', '.join(mute)}, which fills no blanks itself." if mute else ""
    return (
        f"How far to trust this: {len(seeds)} recipes × {spans} seeds, nets of at most {size:.1f} million "
        f"parameters, {pieces:.2g} million pieces each. One spread between seeds is assumed for all recipes. Mask "
        "share and length were chosen for the base alone, and a recipe that learns slowly is cut off early." + unranked
    )
