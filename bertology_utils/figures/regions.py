"""Two predicted regions and what a run measured, on one horizontal axis: a lane each, told by its label.

Depends on style and html. Regions differ in hatching and in the line at their borders, so that colour is
not needed to tell them apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from textwrap import fill
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bertology_utils.figures.html import INK, Figure
from bertology_utils.figures.style import CONTROL, PALETTE, clip_hatching, new_axes
from bertology_utils.statistics import Measurement

TWIN = "untrained twin"
_LOOKS = ((PALETTE[1], "////", "--"), (PALETTE[2], "..", ":"))  # colour, hatching, border of the two regions
_FAR = 1.0  # a twin farther off than this many axis lengths becomes an arrow at the edge


class Band(NamedTuple):
    """A region from low to high (either may be infinite), and the words of its lane."""

    label: str
    text: str
    low: float
    high: float


class Lane(NamedTuple):
    """One line of the figure: its label, what is drawn there (band, model, twin, points, published), its values."""

    label: str
    kind: str
    values: Sequence[float]  # low, value, high of a measurement; low, high of a band; any number of points


def regions(
    bands: tuple[Band, Band],
    measured: Mapping[str, Measurement],
    twin: Mapping[str, Measurement],
    *,
    points: Mapping[str, Sequence[float]] | None = None,
    published: Mapping[str, float] | None = None,
    scale: str = "",
    caption: str = "",
) -> Figure:
    """Both regions with the run's values between them, each with its 95 % interval.

    measured: a value a row; twin: the same rows of the untrained twin; points: single layers, heads or tasks, drawn
    faintly; published: values of the studies, on the same scale.
    """
    lanes = [*_lanes(bands, measured, twin, points or {}, published or {})]
    drawing, axes = new_axes(fill(scale, 60), "", size=(7.2, 1.0 + 0.44 * len(lanes)))
    low, high = _limits(lanes)
    axes.set_xlim(low, high)
    for band, look in zip(bands, _LOOKS, strict=True):
        _tint(axes, band, look)
    for place, lane in enumerate(lanes):
        _draw(axes, place, lane, (low, high), _LOOKS[place > 0])
    axes.set_yticks(range(len(lanes)), [lane.label for lane in lanes])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    return Figure(drawing, _alt(scale, bands, measured, twin, published or {}), _frame(lanes), caption)


def _lanes(bands, measured, twin, points, published) -> Iterator[Lane]:
    first, second = (Lane(f"{b.label}\npredicts {b.text.replace('-', '−')}", "band", (b.low, b.high)) for b in bands)
    yield first
    for row, m in measured.items():
        yield Lane(f"this run:\n{row}" if len(measured) > 1 else "this run", "model", (m.low, m.value, m.high))
        yield Lane(TWIN, "twin", (twin[row].low, twin[row].value, twin[row].high))
    yield from (Lane(label, "points", np.ravel(values)) for label, values in points.items())
    yield from (Lane(f"published:\n{label}", "published", (value,)) for label, value in published.items())
    yield second


def _limits(lanes: Sequence[Lane]) -> tuple[float, float]:
    """From the lowest to the highest number drawn, with room for open regions; a twin far off does not count."""
    near = [v for lane in lanes if lane.kind != "twin" for v in lane.values if isfinite(v)]
    low, high = min(near), max(near)
    reach = _FAR * (high - low)
    twins = [v for lane in lanes if lane.kind == "twin" for v in lane.values if low - reach <= v <= high + reach]
    low, high = min([low, *twins]), max([high, *twins])
    room = 0.15 * (high - low or 1.0)
    return low - room, high + room


def _tint(axes: Axes, band: Band, look: tuple[str, str, str]) -> None:
    left, right = axes.get_xlim()
    colour, _, border = look
    axes.axvspan(max(band.low, left), min(band.high, right), color=colour, alpha=0.12, linewidth=0)
    for bound in filter(isfinite, (band.low, band.high)):
        axes.axvline(bound, color=colour, linestyle=border, linewidth=1.2)


def _draw(axes: Axes, place: int, lane: Lane, limits: tuple[float, float], look: tuple[str, str, str]) -> None:
    match lane.kind:
        case "band":
            low, high = max(lane.values[0], limits[0]), min(lane.values[1], limits[1])
            colour, hatch, _ = look
            look = {"facecolor": "none", "edgecolor": colour, "hatch": hatch}
            clip_hatching(axes.barh(place, high - low, left=low, height=0.5, **look))
        case "model":
            _interval(axes, place, lane.values, {"color": PALETTE[0], "markersize": 9, "linewidth": 2.6})
        case "twin":
            _twin(axes, place, lane.values, limits)
        case "points":
            axes.plot(lane.values, np.full(len(lane.values), place), "o", color=INK, alpha=0.3, markersize=5)
        case "published":
            axes.plot(lane.values, [place], "D", markerfacecolor="none", markeredgecolor=INK, markersize=7)
            _number(axes, place, lane.values[0])


def _interval(axes: Axes, place: int, values: Sequence[float], style: dict) -> None:
    low, value, high = values
    axes.plot([low, high], [place, place], color=style["color"], linewidth=style["linewidth"])
    axes.plot(value, place, "o", color=style["color"], markersize=style["markersize"],
              markerfacecolor=style.get("fill", style["color"]), zorder=4)  # fmt: skip
    _number(axes, place, value)


def _twin(axes: Axes, place: int, values: Sequence[float], limits: tuple[float, float]) -> None:
    if limits[0] <= values[1] <= limits[1]:
        _interval(axes, place, values, {"color": CONTROL, "markersize": 8, "linewidth": 1.8, "fill": "none"})
        return
    right = bool(values[1] > limits[1])
    axes.plot(limits[right], place, ">" if right else "<", color=CONTROL, markersize=8, clip_on=False)
    _number(axes, place, values[1], limits[right], "right" if right else "left")


def _number(axes: Axes, place: int, value: float, at: float | None = None, side: str = "center") -> None:
    axes.annotate(f"{value:.2f}", (value if at is None else at, place), xytext=(0, 6), textcoords="offset points",
                  ha=side, fontsize=8, color=INK)  # fmt: skip


def _alt(scale, bands, measured, twin, published) -> str:
    said = [f"{band.label} predicts {band.text}." for band in bands]
    for whose, rows in (("This run", measured), ("Untrained twin", twin)):
        told = ((row, f"{m.value:.2f} ({m.low:.2f} to {m.high:.2f})", _where(m, bands)) for row, m in rows.items())
        said += [f"{whose}, {row}: {numbers} {where}." for row, numbers, where in told]
    said += [f"Published, {label}: {value:.2f}." for label, value in published.items()]
    return f"Two predicted regions and measured values on one axis: {scale}. " + " ".join(said)


def _where(measured: Measurement, bands: tuple[Band, Band]) -> str:
    """In which region a value lies, or in both, and whether its interval lies there too."""
    around = [band for band in bands if band.low <= measured.value <= band.high]
    if not around:
        return "lies in neither region"
    whole = all(band.low <= measured.low and measured.high <= band.high for band in around)
    place = "both regions" if len(around) > 1 else f"“{around[0].label}”"
    return f"lies in {place} with {'its whole interval' if whole else 'part of its interval'}"


def _frame(lanes: Sequence[Lane]) -> pd.DataFrame:
    rows = []
    for lane in lanes:
        values = list(lane.values)
        middle = values[1] if lane.kind in ("model", "twin") else values[0] if lane.kind == "published" else None
        spread = {} if lane.kind == "published" else {"low": float(min(values)), "high": float(max(values))}
        rows.append({"lane": lane.label.replace("\n", " "), "value": middle} | spread)
    return pd.DataFrame(rows)
