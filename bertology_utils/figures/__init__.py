"""The house's figures: one function per kind, each returning a `Figure` with computed alternative text and the table
behind it.

Depends on style (palette, axes, intervals), html (the display object), telling (alternative text), maps, surfaces,
bars, arcs and explorers (kinds with a module of their own), matplotlib, numpy and pandas; knows no model.
The model is drawn in a strong colour, a control or twin in dashed or hatched grey, a published number as an open
marker.
A series is an array of values, a matrix whose last axis holds items or seeds (drawn as mean and 95 % bootstrap
interval), or a sequence of measurements (objects with `value`, `low`, `high`).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import spearmanr

from bertology_utils.absent import unless_absent
from bertology_utils.errors import BertologyError
from bertology_utils.figures.arcs import arc_tree as arc_tree
from bertology_utils.figures.bars import bars as bars
from bertology_utils.figures.explorers import attention_explorer as attention_explorer
from bertology_utils.figures.explorers import layer_explorer as layer_explorer
from bertology_utils.figures.html import INK, Figure
from bertology_utils.figures.maps import head_map as head_map
from bertology_utils.figures.maps import heat as heat
from bertology_utils.figures.style import (
    CONTROL,
    HOLLOW,
    NARROW,
    OPEN_MARKERS,
    Series,
    as_series,
    dress,
    legend_below,
    new_axes,
    ranks,
    style_of,
)
from bertology_utils.figures.surfaces import surfaces as surfaces
from bertology_utils.figures.telling import told_axis, told_lead, told_line

Values = Sequence | np.ndarray


@unless_absent
def layer_lines(
    series: Mapping[str, Values],
    *,
    published: Mapping[str, object] | None = None,
    baselines: Mapping[str, float] | None = None,
    controls: Sequence[str] = (),
    ylabel: str = "score",
    caption: str = "",
    first_layer: int = 0,
) -> Figure:
    """Lines over layers: each series (layers,) or (layers, items or seeds), drawn with its 95 % interval.

    published: a number (at the last layer), a pair (layer, value), or an array over the layers of the published
    model; one of another depth is drawn at relative depth and says so. baselines: horizontal lines. first_layer: 1
    where layer 0 has no value.
    Raises BertologyError where the series differ in length.
    """
    lengths = {len(values) for values in series.values()}
    if len(lengths) != 1:
        raise BertologyError(f"layer_lines needs series of one length, got {sorted(lengths)}.")
    layers = np.arange(first_layer, first_layer + lengths.pop())
    return _lines(layers, series, published, baselines, controls, "layer", ylabel, caption)


def highest(values: Values, first_layer: int = 0, x: Values | None = None, xlabel: str = "layer") -> str:
    """Where a line over layers, (layers, ...), or over `x` is highest, in the words of a caption: "layer 3 of 8"."""
    means = np.asarray(values, dtype=float).reshape(len(values), -1).mean(1)
    places = np.arange(first_layer, first_layer + len(means)) if x is None else x
    return f"{xlabel} {places[means.argmax()]} of {places[-1]}"


@unless_absent
def curve(
    x: Values,
    series: Mapping[str, Values],
    *,
    xlabel: str = "step",
    ylabel: str = "score",
    caption: str = "",
    published: Mapping[str, object] | None = None,
    baselines: Mapping[str, float] | None = None,
    bands: Mapping[str, tuple[float, float]] | None = None,
    controls: Sequence[str] = (),
    logx: bool = False,
) -> Figure:
    """Lines over any quantity: x (points,), each series (points,) or (points, items or seeds); as `layer_lines`.

    bands: horizontal stripes from a low to a high value, such as the range of one model over its seeds.
    """
    return _lines(np.asarray(x), series, published, baselines, controls, xlabel, ylabel, caption, logx, bands)


def _lines(x, series, published, baselines, controls, xlabel, ylabel, caption, logx=False, bands=None) -> Figure:
    drawing, axes = new_axes(xlabel, ylabel)
    frame = {xlabel: x}
    summaries = {name: as_series(values, len(x)) for name, values in series.items()}
    for (name, summary), look in zip(summaries.items(), ranks(list(series), controls), strict=True):
        _draw_series(axes, x, summary, style_of(*look), name)
        frame |= _columns(name, summary)
    sentences = [*told_lead(summaries, controls)]
    sentences += [told_line(name, x, summary, xlabel) for name, summary in summaries.items()]
    for name, level in (baselines or {}).items():
        axes.axhline(level, color=INK, linewidth=1, linestyle=":", label=f"{name} ({level:.3g})")
        frame[name] = np.full(len(x), float(level))
        sentences.append(f"{name}: {level:.3g}.")
    for name, (low, high) in (bands or {}).items():
        axes.axhspan(low, high, color=CONTROL, alpha=0.3, linewidth=0, label=name)
        frame |= {f"{name}, low": np.full(len(x), float(low)), f"{name}, high": np.full(len(x), float(high))}
        sentences.append(f"{name}: {low:.3g} to {high:.3g}.")
    for marker, (name, numbers) in zip(OPEN_MARKERS, (published or {}).items(), strict=False):
        sentences.append(_draw_published(axes, x, name, numbers, marker))
    if logx:
        axes.set_xscale("log")
        if len(x) <= 9:
            axes.set_xticks(x, [f"{value:.3g}" if value < 100 else f"{value:,.0f}" for value in x])
            axes.set_xticks([], minor=True)
    elif xlabel == "layer" or (len(x) <= 9 and np.issubdtype(x.dtype, np.integer)):
        axes.set_xticks(x if len(x) <= 13 else x[::2])
    legend_below(axes)
    alt = f"Line chart of {ylabel} by {xlabel}, {x[0]} to {x[-1]}. " + " ".join(sentences)
    return Figure(drawing, alt, pd.DataFrame(frame), caption)


def _draw_series(axes: Axes, x: np.ndarray, summary: Series, style: dict, name: str) -> None:
    axes.plot(x, summary.value, label=name, **style)
    if summary.has_interval:
        axes.fill_between(x, summary.low, summary.high, color=style["color"], alpha=0.22, linewidth=0)


def _draw_published(axes: Axes, x: np.ndarray, name: str, numbers: object, marker: str) -> str:
    """Open markers; returns the sentence of the alternative text."""
    numbers = np.asarray(numbers, dtype=float)
    note = ""
    if numbers.ndim == 0:
        at, values = x[-1:], numbers[None]
    elif numbers.shape == (2,) and len(x) != 2:
        at, values = numbers[:1], numbers[1:]
    else:
        at, values = np.linspace(x[0], x[-1], len(numbers)), numbers
        note = "" if len(numbers) == len(x) else ", at relative depth"
    label = f"published: {name}{note}"
    axes.plot(at, values, marker=marker, label=label, clip_on=False, **HOLLOW)
    extent = f"{values[0]:.3g}" if len(values) == 1 else f"{values.min():.3g} to {values.max():.3g}"
    return f"Published ({name}{note}): {extent}."


def _columns(name: str, summary: Series) -> dict[str, np.ndarray]:
    columns = {name: summary.value}
    if summary.has_interval:
        columns |= {f"{name}, low": summary.low, f"{name}, high": summary.high}
    return columns


@unless_absent
def scatter(
    points: Values,
    labels: Sequence[str] | None = None,
    *,
    groups: Sequence[str] | None = None,
    xlabel: str = "x",
    ylabel: str = "y",
    caption: str = "",
    identity: bool = False,
) -> Figure:
    """Points (items, 2); labels name the points (written beside up to 40 of them), groups give colour and marker.

    The alternative text tells Spearman's rank correlation over all points, and each group's centre where there are
    groups.
    """
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise BertologyError(f"scatter needs points (items, 2), got {points.shape}.")
    drawing, axes = new_axes(xlabel, ylabel, size=(5.6, 4.4))
    sentences = []
    for name, chosen in _draw_points(axes, points, groups).items():
        if name:
            sentences.append(
                f"{name}: {len(chosen)} points around ({chosen[:, 0].mean():.3g}, {chosen[:, 1].mean():.3g})."
            )
    sentences += [told_axis(*axis, labels) for axis in ((xlabel, points[:, 0]), (ylabel, points[:, 1]))]
    if identity:
        sentences.append(f"{(points[:, 1] > points[:, 0]).sum()} points lie above the diagonal.")
        axes.axline((points.mean(), points.mean()), slope=1, color=INK, linewidth=1, linestyle=":")
    if labels is not None and len(labels) <= 40:
        for (x, y), text in zip(points, labels, strict=True):
            axes.annotate(text, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=8, color=INK)
    legend_below(axes)
    correlation = f" Spearman's correlation {spearmanr(*points.T).statistic:.2f}." if len(points) > 2 else ""
    alt = f"Scatter plot of {ylabel} against {xlabel}, {len(points)} points.{correlation} " + " ".join(sentences)
    frame = pd.DataFrame(points, columns=[xlabel, ylabel])
    for heading, column in (("group", groups), ("point", labels if labels is not None else range(1, len(points) + 1))):
        if column is not None:
            frame.insert(0, heading, list(column))
    return Figure(drawing, alt.strip(), frame, caption)


def _draw_points(axes: Axes, points: np.ndarray, groups: Sequence[str] | None, **look: object) -> dict[str, np.ndarray]:
    """Each group's points in its colour and marker; the points by group."""
    names = list(dict.fromkeys(groups)) if groups is not None else [""]
    found = {name: points if groups is None else points[[group == name for group in groups]] for name in names}
    for (name, chosen), rank in zip(found.items(), ranks(names), strict=True):
        axes.plot(*chosen.T, label=name or None, alpha=0.85, **style_of(*rank) | {"linestyle": "none"} | look)
    return found


@unless_absent
def scatters(
    panels: Mapping[str, Values], labels: Sequence[str], *, groups: Sequence[str], caption: str = ""
) -> Figure:
    """The same items in several panels, one above the other, as wide as a phone: name -> points (items, 2).

    Groups give colour and marker. Axes have no scale: what lies near what is the finding. The alternative text tells
    for each panel how often an item's nearest neighbour there bears the same label.
    """
    drawing, first = new_axes("", "", size=(NARROW, 2.6 * len(panels) + 0.2 * len(set(groups))))
    first.remove()
    own, told, frame = np.asarray(labels), [], {"label": list(labels), "group": list(groups)}
    for axes, (name, points) in zip(drawing.subplots(len(panels), squeeze=False)[:, 0], panels.items(), strict=True):
        points = np.asarray(points, dtype=float)
        dress(axes, name, "", grid=False)
        axes.set(xticks=[], yticks=[])
        _draw_points(axes, points, groups, markersize=4)
        distances = np.linalg.norm(points[:, None] - points, axis=-1) + np.diag(np.full(len(points), np.inf))
        same = (own[distances.argmin(1)] == own).mean()
        told.append(f"{name}: the nearest neighbour of {same:.0%} of the points has their label.")
        frame |= {f"{name}, {axis}": points[:, place] for place, axis in enumerate("xy")}
    legend_below(axes)
    kinds = f"with {len(set(labels))} labels in {len(set(groups))} groups"
    alt = f"{len(panels)} scatter plots of {len(own)} points {kinds}. " + " ".join(told)
    return Figure(drawing, alt, pd.DataFrame(frame), caption)


@unless_absent
def table(rows: pd.DataFrame | Sequence[Mapping[str, object]], *, caption: str = "") -> Figure:
    """Rows shown as a styled table; the first column heads the rows."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    return Figure(None, caption or f"Table of {len(frame)} rows: {', '.join(map(str, frame.columns))}.", frame, caption)
