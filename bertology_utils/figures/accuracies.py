"""The picture of `bertology score`: paradigms by models, beside the untrained twin and the best rule without grammar.

Depends on style.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from bertology_utils.figures.style import CONTROL, MARKERS, PALETTE


def accuracies(rows: Sequence[Mapping[str, Any]]) -> Drawing:
    """One line a paradigm, one mark a model with its 95 % interval, from the rows of `grammaticality.records`.

    Hollow marks are the first model's untrained twin, bars what the best rule without grammar reaches; paradigms stand
    in the order of that model's accuracy, their average on top.
    """
    models = list(dict.fromkeys(row["model"] for row in rows))
    first = [row for row in rows if row["model"] == models[0]]
    ordered = [first[0], *sorted(first[1:], key=lambda row: -row["accuracy"])]
    places = {row["paradigm"]: -place for place, row in enumerate(ordered)}
    drawing = Drawing(figsize=(9, 1.6 + 0.28 * len(ordered)), layout="constrained")
    axes = drawing.subplots()
    axes.axvline(50, color=CONTROL, linewidth=0.8)
    lines = list(places.values())
    axes.plot(
        [row["twin"] for row in ordered], lines, "o", markerfacecolor="none", color=CONTROL, label="untrained twin"
    )
    axes.plot([row["best_rule"] for row in ordered], lines, "|", color=CONTROL, markersize=11, label="best rule")
    for number, model in enumerate(models):
        _draw(axes, [row for row in rows if row["model"] == model], places, number, len(models))
    axes.set_yticks(lines, [row["paradigm"].replace("_", " ") for row in ordered], parse_math=False)
    axes.set_xlim(0, 100)
    axes.set_xlabel("judged rightly, per cent")
    legend = drawing.legend(loc="outside lower center", ncols=4, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return drawing


def _draw(axes, rows: Sequence[Mapping[str, Any]], places: Mapping[str, int], number: int, models: int) -> None:
    """The marks of one model, a little below those of the one before."""
    rows = [row for row in rows if row["paradigm"] in places]
    shift = 0.5 * (number / max(models - 1, 1) - 0.5) if models > 1 else 0.0
    heights = np.array([places[row["paradigm"]] - shift for row in rows])
    values = np.array([row["accuracy"] for row in rows])
    ends = np.array([(row["accuracy_low"], row["accuracy_high"]) for row in rows]).T
    again, place = divmod(number, len(PALETTE))
    colour, marker = PALETTE[place], MARKERS[(place + again) % len(MARKERS)]
    axes.hlines(heights, *ends, color=colour, linewidth=1.5)
    axes.plot(values, heights, marker, color=colour, markersize=5, label=rows[0]["model"])
