"""Heat maps: matrices in general, and layers by heads.

Depends on style and html; `figures` re-exports `heat` and `head_map`.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from bertology_utils.absent import unless_absent
from bertology_utils.errors import BertologyError
from bertology_utils.figures.html import INK, Figure
from bertology_utils.figures.style import NARROW, PALETTE, new_axes, text_colour

Values = Sequence | np.ndarray
MOST_NUMBERS = 120  # cells whose numbers can be read


@unless_absent
def heat(
    matrix: Values,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    label: str = "value",
    xlabel: str = "",
    ylabel: str = "",
    caption: str = "",
    diverging: bool = False,
    marks: Sequence[tuple[int, int]] = (),
    limits: tuple[float, float] | None = None,
    narrow: bool = False,
) -> Figure:
    """A heat map of a matrix (rows, columns), with numbers in its cells where there are not many; marks are (row,
    column) indices to be framed; narrow: as wide as a phone, with the colours' bar below."""
    matrix = np.asarray(matrix, dtype=float)
    if matrix.shape != (len(rows), len(columns)):
        raise BertologyError(f"heat: matrix {matrix.shape} with {len(rows)} row and {len(columns)} column labels.")
    width, height = min(7.5, 1.8 + 0.42 * len(columns)), min(8.0, (1.6 if narrow else 1.1) + 0.34 * len(rows))
    size = (NARROW, height) if narrow else (max(width, 3.6), max(height, 2.0))
    drawing, axes = new_axes(xlabel, ylabel, size=size, grid=False)
    _draw_cells(axes, matrix, label, diverging, limits, narrow)
    for row, column in marks:
        axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=PALETTE[1], linewidth=2.4))
    short = max(map(len, map(str, columns))) <= 4
    turned = {"rotation": 0 if short else 55, "ha": "center" if short else "right", "rotation_mode": "anchor"}
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, **turned)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
    frame = pd.DataFrame(matrix, columns=[str(name) for name in columns])
    frame.insert(0, ylabel or "row", list(rows))
    return Figure(drawing, _heat_alt(matrix, rows, columns, label, xlabel, ylabel, marks), frame, caption)


@unless_absent
def head_map(
    matrix: Values,
    *,
    marks: Sequence[tuple[int, int]] = (),
    label: str = "score",
    caption: str = "",
    diverging: bool = False,
    control: Values | None = None,
) -> Figure:
    """A heat map of (layers, heads); marks are heads (layer, head), 1-based as printed; control: the twin's matrix
    for the text."""
    matrix = np.asarray(matrix, dtype=float)
    layers, heads = [[str(i + 1) for i in range(size)] for size in matrix.shape]
    framed = [(layer - 1, head - 1) for layer, head in marks]
    names = {"label": label, "xlabel": "head", "ylabel": "layer", "caption": caption}
    result = heat(matrix, layers, heads, **names, diverging=diverging, marks=framed)
    best = np.unravel_index(np.nanargmax(matrix), matrix.shape)
    alt = (
        f"Heat map of {label} for {matrix.shape[0]} layers by {matrix.shape[1]} heads. The best head is "
        f"{best[0] + 1}-{best[1] + 1} ({matrix[best]:.3g}); range {np.nanmin(matrix):.3g} to {np.nanmax(matrix):.3g}."
    )
    alt += _told_means(matrix, layers, "layer")
    if marks:
        alt += f" Framed heads: {', '.join(f'{layer}-{head}' for layer, head in marks)}."
    if control is not None:
        alt += f" The control's best head reaches {np.nanmax(control):.3g}."
    return Figure(result.figure, alt, result.table, caption)


def _draw_cells(axes: Axes, matrix, label, diverging, limits, narrow) -> None:
    if not limits and diverging:
        limits = (-np.nanmax(np.abs(matrix)), np.nanmax(np.abs(matrix)))
    low, high = limits or (np.nanmin(matrix), np.nanmax(matrix))
    palette = seaborn.color_palette("vlag" if diverging else "mako", as_cmap=True)
    rasterized = matrix.size > 2500  # thousands of vector cells would make the page heavy
    mesh = axes.pcolormesh(matrix, cmap=palette, vmin=low, vmax=high, rasterized=rasterized)
    axes.invert_yaxis()
    place = {"location": "bottom", "aspect": 30} if narrow else {"shrink": 0.9}
    bar = axes.figure.colorbar(mesh, ax=axes, pad=0.02, **place)
    bar.set_label(label, color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=8)
    seaborn.despine(ax=axes, left=True, bottom=True)
    for (row, column), value in np.ndenumerate(matrix) if matrix.size <= MOST_NUMBERS else ():
        if not np.isnan(value):
            colour = text_colour(mesh.cmap(mesh.norm(value)))
            place = (column + 0.5, row + 0.5)
            axes.text(*place, _short(value, high), ha="center", va="center", fontsize=7.5, color=colour)


def _short(value: float, highest: float) -> str:
    """Few digits for a cell: two decimals for scores, whole numbers for counts."""
    return f"{value:.2f}" if abs(highest) < 10 else f"{value:z.0f}"


def _told_means(matrix: np.ndarray, rows: Sequence[str], ylabel: str) -> str:
    """Which rows have the highest and the lowest mean of their cells, where there are several."""
    if len(rows) < 2:
        return ""
    means = np.ma.masked_invalid(matrix).mean(axis=1)
    best, least = means.argmax(), means.argmin()
    return f" Means by {ylabel}: highest {rows[best]} ({means[best]:.3g}), lowest {rows[least]} ({means[least]:.3g})."


def _heat_alt(matrix, rows, columns, label, xlabel, ylabel, marks) -> str:
    where = np.unravel_index(np.nanargmax(matrix), matrix.shape)
    least = np.unravel_index(np.nanargmin(matrix), matrix.shape)
    shape = f"{len(rows)} {ylabel or 'rows'} by {len(columns)} {xlabel or 'columns'}"
    cells = [f"{rows[r]}, {columns[c]}" for r, c in marks]
    diagonal = len(cells) == len(rows) and all(row == column for row, column in marks)
    framed = f" Framed: {'the diagonal' if diagonal else ', '.join(cells)}." if marks else ""
    means = f"mean {np.nanmean(matrix):.3g}.{_told_means(matrix, rows, ylabel or 'row')}"
    return (
        f"Heat map of {label}, {shape}. Highest {matrix[where]:.3g} at {rows[where[0]]}, {columns[where[1]]}; "
        f"lowest {matrix[least]:.3g} at {rows[least[0]]}, {columns[least[1]]}; {means}{framed}"
    )
