"""Surfaces over a plane, as contours in one scale of colours. Depends on style and html; `figures` re-exports it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn

from bertology_utils.absent import unless_absent
from bertology_utils.figures.html import INK, Figure
from bertology_utils.figures.style import HALO, HOLLOW, NARROW, OPEN_MARKERS, dress, legend_below, new_axes

LEVELS = 10  # of colour, each as many times the one below


@unless_absent
def surfaces(
    panels: Mapping[str, np.ndarray],
    x: Sequence[float],
    y: Sequence[float],
    *,
    marks: Mapping[str, tuple[float, float]],
    rims: Mapping[str, float],
    label: str,
    xlabel: str,
    ylabel: str,
    caption: str = "",
) -> Figure:
    """Positive values (y, x) of several planes, one above the other, as wide as a phone; colours are logarithmic.

    marks: points that all planes have; rims: name of a panel -> the level at which a line is drawn, if it is reached.
    The alternative text tells the share of each plane below its rim.
    """
    drawing, first = new_axes("", "", size=(NARROW, 2.9 * len(panels) + 0.9))
    first.remove()
    ends = min(map(np.min, panels.values())), max(map(np.max, panels.values()))
    levels = np.geomspace(max(ends[0], ends[1] / 1e3), ends[1], LEVELS + 1)
    colours = seaborn.color_palette("mako", LEVELS + 1)
    rows, told = [], []
    for axes, (name, values) in zip(drawing.subplots(len(panels), squeeze=False)[:, 0], panels.items(), strict=True):
        dress(axes, xlabel if len(rows) == len(x) * len(y) * (len(panels) - 1) else "", ylabel, grid=False)
        axes.set_title(name, color=INK, fontsize=10)
        filled = axes.contourf(x, y, values, levels, colors=colours, extend="min")
        if values.min() < rims[name] < values.max():
            axes.contour(x, y, values, [rims[name]], colors=INK, linewidths=1.4).set(path_effects=HALO)
        for marker, (mark, place) in zip(OPEN_MARKERS, marks.items(), strict=False):
            axes.plot(*place, label=mark, **HOLLOW | {"marker": marker})
        rows += [(name, a, b, values[j, i]) for j, b in enumerate(y) for i, a in enumerate(x)]
        told.append(f"{name}: {np.mean(values < rims[name]):.0%} of the plane lies below {rims[name]:.2g}.")
    bar = drawing.colorbar(filled, ax=drawing.axes, location="bottom", aspect=30, pad=0.02, format="%.2g")
    bar.set_label(label, color=INK)
    bar.ax.tick_params(colors=INK, labelsize=8)
    legend_below(drawing.axes[0])
    places = ", ".join(f"{mark} at ({a:g}, {b:g})" for mark, (a, b) in marks.items())
    alt = f"{len(panels)} contour maps of {label} over {xlabel} and {ylabel}, {places}. " + " ".join(told)
    return Figure(drawing, alt, pd.DataFrame(rows, columns=["panel", xlabel, ylabel, label]), caption)
