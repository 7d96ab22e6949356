"""Dot plots of differences: a row an item under its heading, a panel a measure, a small dot a seed.

Depends on style and html.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from bertology_utils.absent import unless_absent
from bertology_utils.figures.html import INK, Figure
from bertology_utils.figures.style import CONTROL, NARROW, PALETTE, dress

LETTERS, ROWS = 52, 3  # letters of a line on a phone, and rows that an item takes there
FAR = 3  # a row is cut off where its mean is this many times the next one's


class Dots(NamedTuple):
    """The dots of one row in one panel: values (seeds,), their mean with its interval, and whether it is clear."""

    values: np.ndarray
    mean: float
    low: float
    high: float
    clear: bool


@unless_absent
def dots(
    groups: Mapping[str, Sequence[str]],
    panels: Mapping[str, Mapping[str, Dots]],
    *,
    bands: Sequence[float] = (),
    caption: str = "",
    narrow: bool = False,
) -> Figure:
    """Rows under their group's heading, one panel for each measure, zero marked.

    bands: half the width of the grey band around zero, one a panel; a clear mean is filled, another one hollow. A row
    far outside the others is drawn as an arrow at the edge with its number, so that the others can be read. narrow: the
    words of a row stand above it and not beside it, so that a single panel fits a phone.
    """
    places, headings = _places(groups, ROWS if narrow else 1)
    width = NARROW if narrow else 4.4 + 2.2 * len(panels)
    size = (width, 1.1 + (0.2 if narrow else 0.24) * (max([*places.values(), *headings.values()]) + 1))
    drawing = Drawing(figsize=size, layout="constrained")
    drawing.patch.set_alpha(0)
    all_axes = drawing.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (label, rows), band in zip(all_axes, panels.items(), bands or [0.0] * len(panels), strict=True):
        dress(axes, label, "")
        lines = [(y - 0.45, y + 0.45) for y in places.values()] if narrow else [(-1, max(places.values()) + 1)]
        for low, high in lines:  # where words are none
            axes.fill_betweenx([low, high], -band, band, color=CONTROL, alpha=0.18, linewidth=0)
            axes.plot([0, 0], [low, high], color=INK, linewidth=1)
        _draw_rows(axes, rows, places)
    (_words_above if narrow else _label_rows)(all_axes[0], places, headings)
    return Figure(drawing, _alt(panels), _frame(groups, panels), caption)


def _places(groups: Mapping[str, Sequence[str]], step: int) -> tuple[dict[str, int], dict[str, int]]:
    """Row number of every item and of every heading, from the top; step: rows that an item takes."""
    places, headings, row = {}, {}, 0
    for heading, names in groups.items():
        headings[heading] = row
        places |= {name: row + step * place for place, name in enumerate(names, 1)}
        row += step * len(names) + 1
    return places, headings


def _reach(rows: Mapping[str, Dots]) -> float:
    """How far the axis goes: to the farthest dot or bound, rows far outside all others not counted."""
    ordered = sorted(rows.values(), key=lambda row: abs(row.mean))
    while len(ordered) > 2 and abs(ordered[-1].mean) > FAR * abs(ordered[-2].mean):
        ordered.pop()
    return 1.05 * max(np.abs([*row.values, row.low, row.high]).max() for row in ordered)


def _draw_rows(axes: Axes, rows: Mapping[str, Dots], places: Mapping[str, int]) -> None:
    reach = _reach(rows) or 1.0
    for name, row in rows.items():
        y = places[name]
        colour = PALETTE[0] if row.clear else CONTROL
        if abs(row.mean) > reach:
            side = np.sign(row.mean)
            axes.plot(side * reach, y, marker=">" if side > 0 else "<", color=colour, markersize=7, clip_on=False)
            inwards = {"xytext": (-8 * side, 0), "textcoords": "offset points", "ha": "right" if side > 0 else "left"}
            axes.annotate(f"{row.mean:+.2f}", (side * reach, y), **inwards, va="center", color=INK, fontsize=8)
            continue
        axes.plot([row.low, row.high], [y, y], color=colour, linewidth=1.8, zorder=2)
        axes.plot(row.values, np.full(len(row.values), y), ".", color=INK, markersize=4, alpha=0.75, zorder=4)
        fill = colour if row.clear else "none"
        axes.plot(row.mean, y, "o", color=colour, markerfacecolor=fill, markersize=8, zorder=3)
    axes.set_xlim(-reach, reach)


def _label_rows(axes: Axes, places: Mapping[str, int], headings: Mapping[str, int]) -> None:
    labels = {**{row: name for name, row in places.items()}, **{row: heading for heading, row in headings.items()}}
    axes.set_yticks(list(labels), list(labels.values()))
    for row, text in zip(labels, axes.get_yticklabels(), strict=True):
        if row in headings.values():
            text.set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(labels) + 0.7, min(labels) - 0.7)


def _words_above(axes: Axes, places: Mapping[str, int], headings: Mapping[str, int]) -> None:
    """Each row's words above its marks, from the left edge on, in two lines where they are long."""
    look = {"transform": axes.get_yaxis_transform(), "va": "bottom", "fontsize": 9, "color": INK}
    for name, row in places.items():
        axes.text(0, row - 0.5, fill(name, LETTERS), **look)
    for heading, row in headings.items():
        axes.text(0, row + 0.5, heading, weight="bold", **look)
    axes.grid(visible=False)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(max(places.values()) + 0.7, -0.7)


def _alt(panels: Mapping[str, Mapping[str, Dots]]) -> str:
    said = []
    for label, rows in panels.items():
        clear = sorted((name for name, row in rows.items() if row.clear), key=lambda name: rows[name].mean)
        shown = ", ".join(f"{name} {rows[name].mean:+.3g}" for name in clear) or "none"
        said.append(f"{label}: {len(clear)} of {len(rows)} rows are clear of zero: {shown}.")
    return f"Dot plot of {len(next(iter(panels.values())))} rows. " + " ".join(said)


def _frame(groups: Mapping[str, Sequence[str]], panels: Mapping[str, Mapping[str, Dots]]) -> pd.DataFrame:
    rows = []
    for heading, names in groups.items():
        for name in names:
            row = {"variant": name, "group": heading}
            for label, found in panels.items():
                if name in found:
                    d = found[name]
                    row |= {label: d.mean, f"{label}, low": d.low, f"{label}, high": d.high}
            rows.append(row)
    return pd.DataFrame(rows)
