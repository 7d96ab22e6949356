"""Dependency trees as arcs over a sentence: gold above the words, predicted below.

Depends on style and html; `figures` re-exports `arc_tree`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Arc

from bertology_utils.errors import BertologyError
from bertology_utils.figures.html import INK, Figure
from bertology_utils.figures.style import PALETTE, new_axes


def arc_tree(
    words: Sequence[str],
    heads: Sequence[int],
    predicted_heads: Sequence[int] | None = None,
    relations: Sequence[str] | None = None,
    *,
    caption: str = "",
) -> Figure:
    """Dependency arcs: gold above the words, predicted below (right ones solid, wrong ones dashed).

    heads: 0-based index of each word's head, -1 for the root. The share of right heads is printed over all words but
    the root.
    Raises BertologyError where the lengths differ.
    """
    if len(words) != len(heads) or (predicted_heads is not None and len(predicted_heads) != len(words)):
        raise BertologyError("arc_tree needs one head (and one predicted head) for each word.")
    drawing, axes = new_axes(
        "", "", size=(min(9.0, 1 + 0.75 * len(words)), 2.2 if predicted_heads is None else 3.6), grid=False
    )
    places = _word_places(words)
    span = max(abs(places[i] - places[h]) for i, h in enumerate(heads) if h >= 0) if len(words) > 1 else 1.0
    for index, word in enumerate(words):
        axes.text(
            places[index],
            0,
            word,
            ha="center",
            va="center",
            fontsize=10,
            color=INK,
            fontweight="bold" if heads[index] < 0 else "normal",
        )
    for index, head in enumerate(heads):
        _draw_arc(axes, places, index, head, 1, PALETTE[0], "-", relations[index] if relations else "")
    for index, head in enumerate(predicted_heads if predicted_heads is not None else ()):
        right = head == heads[index]
        _draw_arc(axes, places, index, head, -1, PALETTE[0] if right else PALETTE[1], "-" if right else "--", "")
    height = 0.31 * span + 0.6  # the tallest arc, plus room for its label
    axes.set(
        xlim=(places[0] - 0.8, places[-1] + 0.8),
        ylim=(-0.35, height + 0.2) if predicted_heads is None else (-height, height),
    )
    axes.axis("off")
    return Figure(
        drawing, _arc_alt(words, heads, predicted_heads), _arc_table(words, heads, predicted_heads, relations), caption
    )


def _word_places(words: Sequence[str]) -> np.ndarray:
    """Centres of words set one after the other, in units of about seven letters."""
    widths = np.array([max(len(word), 3) + 2 for word in words]) / 7
    return np.cumsum(widths) - widths / 2


def _draw_arc(axes: Axes, places, index: int, head: int, side: int, colour: str, line: str, relation: str) -> None:
    if head < 0:
        return
    middle, width = (places[index] + places[head]) / 2, abs(places[index] - places[head])
    start, end = (0, 180) if side > 0 else (180, 360)
    axes.add_patch(
        Arc(
            (middle, 0.28 * side),
            width,
            width * 0.62 + 0.3,
            theta1=start,
            theta2=end,
            color=colour,
            linestyle=line,
            linewidth=1.6,
        )
    )
    axes.plot(places[index], 0.28 * side, marker="v" if side > 0 else "^", color=colour, markersize=4.5)
    if relation:
        axes.text(middle, 0.28 + width * 0.31 + 0.17, relation, ha="center", va="bottom", fontsize=7.5, color=INK)


def _arc_alt(words, heads, predicted) -> str:
    sentence = " ".join(words)
    if predicted is None:
        root = next((words[i] for i, head in enumerate(heads) if head < 0), "none")
        return f"Dependency tree of “{sentence}”; the root is “{root}”."
    scored = [i for i, head in enumerate(heads) if head >= 0]
    right = sum(predicted[i] == heads[i] for i in scored)
    return (
        f"Gold (above) and predicted (below) dependencies of “{sentence}”; "
        f"{right} of {len(scored)} predicted heads are right."
    )


def _arc_table(words, heads, predicted, relations) -> pd.DataFrame:
    def named(head: int) -> str:
        return words[head] if head >= 0 else "(root)"

    frame = pd.DataFrame({"word": list(words), "head": [named(head) for head in heads]})
    if relations:
        frame["relation"] = list(relations)
    if predicted is not None:
        frame["predicted head"] = [named(head) for head in predicted]
        frame["right"] = ["yes" if head == gold else "no" for head, gold in zip(predicted, heads, strict=True)]
    return frame
