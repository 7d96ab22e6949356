"""Bars with intervals. Depends on style, html and telling; `figures` re-exports `bars`."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bertology_utils.absent import unless_absent
from bertology_utils.figures.html import INK, Figure
from bertology_utils.figures.style import (
    CONTROL,
    HALO,
    HOLLOW,
    PALETTE,
    as_point,
    clip_hatching,
    legend_below,
    new_axes,
    ranks,
)
from bertology_utils.figures.telling import told_bars

HATCHES = ("////", "..", "\\\\\\\\", "xxxx")
PITCH, TALLEST = 0.3, 5.5  # inches from bar to bar, and of all bars together: many bars are thin ones


@unless_absent
def bars(
    values: Mapping[str, object],
    *,
    controls: Sequence[str] = (),
    published: Mapping[str, float] | None = None,
    baselines: Mapping[str, float] | None = None,
    ylabel: str = "score",
    caption: str = "",
) -> Figure:
    """Horizontal bars with intervals; controls hatched grey, published numbers open diamonds.

    In groups each control has a hatching of its own.

    values: name -> number, samples (items,) or measurement; or group -> {name -> the same} for grouped bars.
    """
    grouped = all(isinstance(value, Mapping) for value in values.values())
    flat = (
        [(group, name, as_point(value)) for group, inner in values.items() for name, value in inner.items()]
        if grouped
        else [("", name, as_point(value)) for name, value in values.items()]
    )
    names = list(dict.fromkeys(name for _, name, _ in flat))
    looks = dict(zip(names, (_look(*rank, grouped) for rank in ranks(names, controls)), strict=True))
    positions = _bar_positions([group for group, _, _ in flat])
    drawing, axes = new_axes(ylabel, "", size=(6.6, 0.9 + min(PITCH * (positions[-1] + 1), TALLEST)))
    for place, (_, name, (value, low, high)) in zip(positions, flat, strict=True):
        clip_hatching(axes.barh(place, value, height=0.8, label=name, **looks[name]))
        if high > low:
            axes.plot([low, high], [place, place], color=INK, linewidth=1.4, zorder=4, path_effects=HALO)
    for level_name, level in (baselines or {}).items():
        axes.axvline(level, color=INK, linewidth=1, linestyle=":", label=f"{level_name} ({level:.3g})")
    _published_bars(axes, positions, flat, published or {}, grouped)
    _bar_labels(axes, positions, flat, grouped)
    frame = pd.DataFrame(
        [
            {**({"group": group} if grouped else {}), "name": name, ylabel: value, "low": low, "high": high}
            for group, name, (value, low, high) in flat
        ]
    )
    if published:
        frame["published"] = [published.get(group if grouped else name, np.nan) for group, name, _ in flat]
    return Figure(drawing, _bars_alt(flat, ylabel, baselines, published), frame, caption)


def _look(rank: int, control: bool, grouped: bool) -> dict[str, object]:
    """Fill, edge and hatching of the bars of one name: in groups each has its own, otherwise they differ by kind."""
    rank = rank if grouped else 0
    if control:
        return {"color": "none", "edgecolor": CONTROL, "hatch": HATCHES[rank % len(HATCHES)]}
    return dict.fromkeys(("color", "edgecolor"), PALETTE[rank % len(PALETTE)])


def _bar_positions(groups: Sequence[str]) -> list[float]:
    gaps = [0.0] + [0.6 if after != before else 0.0 for before, after in pairwise(groups)]
    return list(np.arange(len(groups)) + np.cumsum(gaps))


def _published_bars(axes: Axes, positions, flat, published, grouped: bool) -> None:
    label = "published"
    for key, number in published.items():
        places = [
            place
            for place, (group, name, _) in zip(positions, flat, strict=True)
            if key == (group if grouped else name)
        ]
        if places:
            axes.plot(number, np.mean(places), marker="D", label=label, **HOLLOW)


def _bar_labels(axes: Axes, positions, flat, grouped: bool) -> None:
    if grouped:
        groups = list(dict.fromkeys(group for group, _, _ in flat))
        middles = [
            np.mean([p for p, (group, _, _) in zip(positions, flat, strict=True) if group == wanted])
            for wanted in groups
        ]
        axes.set_yticks(middles, groups)
        legend_below(axes)
    else:
        axes.set_yticks(positions, [name for _, name, _ in flat])
        legend_below(axes, keep=lambda label: label == "published" or "(" in label)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


def _bars_alt(flat, ylabel, baselines, published) -> str:
    extra = "".join(f" {name}: {level:.3g}." for name, level in (baselines or {}).items())
    extra += "".join(f" Published for {name}: {number:.3g}." for name, number in (published or {}).items())
    return f"Bar chart of {ylabel}, {len(flat)} bars: {told_bars(flat)}.{extra}"
