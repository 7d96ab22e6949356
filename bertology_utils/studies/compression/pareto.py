"""What is kept against size and against speed: the rows of the recorded table, and the points that Table 1 prints.

Depends on the house style of `figures`; knows a summary (`recorded.Recorded.summary`) and no model.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from bertology_utils.absent import unless_absent
from bertology_utils.figures.html import INK, Figure
from bertology_utils.figures.style import CONTROL, HALO, HOLLOW, dress, legend_below, ranks, style_of

PANELS = {"times smaller (bytes as stored)": "bytes", "times faster (32 inputs)": "faster_32"}
PRINTED = {"bytes": "printed factor", "faster_32": "printed speed"}
TIE = 2.0
SAID = {"printed factor": "printed: times smaller", "printed speed": "printed: times faster"}


def front(gains: Sequence[float], kept: Sequence[float], tie: float = TIE) -> np.ndarray:
    """Which rows no other one beats: (rows,) booleans.

    Another row beats one if it gains more and keeps as much, or as much to `tie` per cent, which seeds do not tell
    apart.
    """
    gains, kept = np.asarray(gains), np.asarray(kept)
    beats = (gains[None] > gains[:, None]) & (kept[None] >= kept[:, None] - tie)
    return ~beats.any(1)


@unless_absent
def pareto(rows: pd.DataFrame, caption: str = "") -> Figure:
    """Two panels of what is kept, by size and by speed, the front drawn and its rows named.

    rows: `row`, `family`, `kept` in per cent, `bytes`, `faster_32`, `alike`, and `printed factor`, `printed speed`,
    `printed kept`, nan where nothing is printed. A row that is asked of another model or other tasks is not `alike`: it
    is drawn and is in no front.
    """
    drawing = Drawing(figsize=(5.6, 8.2), layout="constrained")
    drawing.patch.set_alpha(0)
    panels = drawing.subplots(2, 1)
    for axes, (label, gain) in zip(panels, PANELS.items(), strict=True):
        dress(axes, label, "kept of the full model's score, %")
        _draw(axes, rows, gain)
    legend_below(panels[0])
    return Figure(drawing, _alt(rows), _frame(rows), caption)


def _best(rows: pd.DataFrame, gain: str) -> pd.DataFrame:
    """The rows of the front, from the least gain to the greatest."""
    alike = rows[rows["alike"]]
    return alike[front(alike[gain], alike["kept"])].sort_values(gain)


def _draw(axes: Axes, rows: pd.DataFrame, gain: str) -> None:
    best = _best(rows, gain)
    axes.step(best[gain], best["kept"], where="pre", color=CONTROL, linewidth=1.2, zorder=1)
    families = list(dict.fromkeys(rows["family"]))
    for family, look in zip(families, ranks(families, ["baseline"]), strict=True):
        own = rows[rows["family"] == family]
        axes.plot(own[gain], own["kept"], label=family, **style_of(*look) | {"linestyle": "none", "markersize": 6})
    printed = rows.dropna(subset=[PRINTED[gain], "printed kept"])
    look = HOLLOW | {"marker": "D", "markersize": 5}
    axes.plot(printed[PRINTED[gain]], printed["printed kept"], label="printed in Table 1", **look)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    for _, row in best.iterrows():
        place = {"xytext": (6, 6), "textcoords": "offset points"}
        axes.annotate(row["row"], (row[gain], row["kept"]), **place, fontsize=8, color=INK, path_effects=HALO)
    axes.margins(x=0.13)


def _alt(rows: pd.DataFrame) -> str:
    said = []
    for label, gain in PANELS.items():
        best = _best(rows, gain)
        shown = [f"{row} ({x:.3g}, {y:.0f} %)" for row, x, y in zip(best["row"], best[gain], best["kept"], strict=True)]
        said.append(f"The front in {label}: {', '.join(shown)}.")
    return f"Two scatter plots of {len(rows)} rows: what is kept against size and against speed. " + " ".join(said)


def _frame(rows: pd.DataFrame) -> pd.DataFrame:
    ours = {"kept": "kept, %", **{gain: label for label, gain in PANELS.items()}}
    return rows[["row", "family", *ours, "printed kept", *SAID]].rename(columns=ours | SAID)
