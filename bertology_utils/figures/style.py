"""The house style: palette, axes, line styles, and the summary (mean, interval) that a figure draws of samples.

Depends on matplotlib, numpy and `statistics`. Every colour has a contrast of at least 3:1 on the light and on the dark
page, so that one drawing reads on both, and readers with two kinds of cones tell any two of them apart, since their
lightness differs as well; colour is never the only sign: markers and dashes differ too.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import seaborn
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from bertology_utils.figures.html import INK, PAPER
from bertology_utils.samples import is_binary
from bertology_utils.statistics import mean_interval

PALETTE = ("#1a93e6", "#dd6f12", "#b868ab", "#74966a", "#846315", "#5a66c0")  # blue first: the model
CONTROL = "#747474"
HALO = [withStroke(linewidth=3.4, foreground=PAPER)]  # around ink that lies on a colour
HOLLOW = {
    "linestyle": "none", "markerfacecolor": "none", "markeredgecolor": INK, "markersize": 6.5, "markeredgewidth": 1.3,
    "zorder": 6, "path_effects": HALO,
}  # fmt: skip
NARROW = 3.7  # inches of a phone
OPEN_MARKERS = "Dos^vP"  # of published figures, one for each source
CONTROL_WORDS = ("twin", "control", "random", "shuffl", "untrained", "permuted")

MARKERS = "os^vPX"
_DASHES = ("-", (0, (6, 1.5, 1, 1.5)), (0, (1, 1.2)))  # of the first six series, the next six, and so on
_DRAWS = 1000


class Series(NamedTuple):
    """What is drawn at each point of a line: value, low, high, each (points,)."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def has_interval(self) -> bool:
        return bool(np.any(self.high > self.low))


def as_series(values: Sequence, points: int) -> Series:
    """Summarise (points,) values, (points, samples) or `points` measurements."""
    if hasattr(values[0], "low"):
        return Series(*(np.array([getattr(m, part) for m in values], dtype=float) for part in ("value", "low", "high")))
    matrix = np.asarray(values, dtype=float)
    if matrix.shape[0] != points or matrix.ndim > 2:
        raise ValueError(
            f"a series of {points} points needs shape ({points},) or ({points}, samples), got {matrix.shape}"
        )
    if matrix.ndim == 1 or matrix.shape[1] == 1:
        flat = matrix.reshape(points)
        return Series(flat, flat, flat)
    low, high = bootstrap_interval(matrix)
    return Series(matrix.mean(axis=1), low, high)


def as_point(value: object) -> tuple[float, float, float]:
    """(value, low, high) of a number, samples (items,) or (seeds, items), or a measurement.

    Samples have the interval that verdicts give them, of seeds and units together.
    """
    if not hasattr(value, "low"):
        samples = np.asanyarray(value)
        if samples.size == 1:
            return (float(samples.mean()),) * 3
        value = mean_interval(samples)
        if is_binary(samples):  # drawn as far as a share can lie
            return float(value.value), max(0.0, float(value.low)), min(1.0, float(value.high))
    return float(value.value), float(value.low), float(value.high)


def bootstrap_interval(samples: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Percentile interval of the mean over the last axis: samples (points, n) -> low, high (points,).

    A draw is how often each sample came, so that its means are one product; draws are made one at a time, since all of
    them together are much larger than the samples.
    """
    n, rng = samples.shape[1], np.random.default_rng(0)
    draws = (np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(_DRAWS))
    means = np.stack([samples @ counts for counts in draws]) / n  # (draws, points)
    tail = (1 - level) / 2
    return tuple(np.quantile(means, [tail, 1 - tail], axis=0))


def is_control(name: str, controls: Sequence[str] = ()) -> bool:
    """Whether a series is a control: named so by the caller, or by its name."""
    return name in controls or any(word in name.lower() for word in CONTROL_WORDS)


def ranks(names: Sequence[str], controls: Sequence[str] = ()) -> list[tuple[int, bool]]:
    """(place among its kind, is it a control) of every series: a twin bears its model's marker and takes no colour."""
    kinds = [is_control(name, controls) for name in names]
    return [(kinds[:place].count(kind), kind) for place, kind in enumerate(kinds)]


def style_of(rank: int, control: bool) -> dict[str, object]:
    """Line style of the series at `rank` of its kind: dashed grey and hollow for a control, else the next colour.

    From the seventh series on colours come again, with other dashes and hollow markers.
    """
    marker = MARKERS[rank % len(MARKERS)]
    if control:
        look = {"color": CONTROL, "linestyle": "--", "linewidth": 1.6, "markerfacecolor": "none"}
        return look | {"marker": marker, "markersize": 4.5}
    again, place = divmod(rank, len(PALETTE))
    return {
        "color": PALETTE[place],
        "linestyle": _DASHES[again % len(_DASHES)],
        "markerfacecolor": "none" if again else PALETTE[place],
        "linewidth": 2.2,
        "marker": marker,
        "markersize": 5,
    }


def clip_hatching(patches: Iterable[Patch]) -> None:
    """Keeps each hatching within its patch: a browser prints it as a bitmap as large as what it is clipped to."""
    for patch in patches:
        if patch.get_hatch():
            patch.set_clip_path(patch)
            patch.set_linewidth(2)  # of which the outer half is cut off


def new_axes(
    xlabel: str, ylabel: str, *, size: tuple[float, float] = (6.4, 3.6), grid: bool = True
) -> tuple[Drawing, Axes]:
    """A transparent drawing with one pair of axes in the ink that becomes the page's text colour."""
    drawing = Drawing(figsize=size, layout="constrained")
    drawing.patch.set_alpha(0)
    axes = drawing.add_subplot()
    dress(axes, xlabel, ylabel, grid=grid)
    return drawing, axes


def dress(axes: Axes, xlabel: str, ylabel: str, *, grid: bool = True) -> None:
    """Labels, ticks, spines and grid of the house style."""
    axes.set_facecolor("none")
    axes.set_xlabel(xlabel, color=INK)
    axes.set_ylabel(ylabel, color=INK)
    axes.tick_params(which="both", colors=INK, labelsize=9)
    for spine in axes.spines.values():
        spine.set_color(INK)
        spine.set_linewidth(0.8)
    seaborn.despine(ax=axes)
    if grid:
        axes.grid(color=CONTROL, alpha=0.3, linewidth=0.6)
        axes.set_axisbelow(True)


def legend_below(axes: Axes, keep: Callable[[str], bool] = lambda label: True) -> None:
    """One legend entry per label, below the axes, where it cannot hide data; none for a single unnamed series."""
    entries = {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True) if keep(label)}
    if entries:
        letters = axes.figure.get_figwidth() * 11  # that fit in one row at this size, beside the handles
        columns = max(1, min(4, len(entries), int(letters // (max(map(len, entries)) + 7))))
        legend = axes.figure.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            fontsize=9,
            labelcolor=INK,
        )
        clip_hatching(legend.get_patches())


def luminance(colour: object) -> float:
    """Relative luminance of a colour as the accessibility guidelines define it."""
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(first: object, second: object) -> float:
    """Contrast ratio of two colours, 1 to 21."""
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def text_colour(background: object) -> str:
    """Black or white, whichever reads better on a cell of a heat map."""
    return "white" if contrast("white", background[:3]) >= contrast("black", background[:3]) else "black"
