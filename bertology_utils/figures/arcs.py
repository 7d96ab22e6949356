"""Dependency trees as arcs over a sentence. Depends on style and html; `figures` re-exports `arc_tree`."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Arc

from bertology_utils.errors import BertologyError
from bertology_utils.figures.html import INK, Figure
from bertology_utils.figures.style import PALETTE, new_axes


def arc_tree(words: Sequence[str], heads: Sequence[int], *, caption: str = "") -> Figure:
    """Dependency arcs from each word to its head; heads: 0-based, -1 for the root, which is printed bold.

    Raises BertologyError where the lengths differ.
    """
    if len(words) != len(heads):
        raise BertologyError("arc_tree needs one head for each word.")
    drawing, axes = new_axes("", "", size=(min(9.0, 1 + 0.75 * len(words)), 2.2), grid=False)
    places = _word_places(words)
    arcs = [(index, head) for index, head in enumerate(heads) if head >= 0]
    for place, word, head in zip(places, words, heads, strict=True):
        weight = "bold" if head < 0 else "normal"
        axes.text(place, 0, word, ha="center", va="center", fontsize=10, color=INK, fontweight=weight)
    for index, head in arcs:
        _draw_arc(axes, places[index], places[head])
    span = max((abs(places[i] - places[h]) for i, h in arcs), default=1.0)
    axes.set(xlim=(places[0] - 0.8, places[-1] + 0.8), ylim=(-0.35, 0.31 * span + 0.8))
    axes.axis("off")
    named = [words[head] if head >= 0 else "(root)" for head in heads]
    root = next((word for word, head in zip(words, heads, strict=True) if head < 0), "none")
    below = ", ".join(f"“{word}”" for word, head in zip(words, named, strict=True) if head == root) or "nothing"
    alt = f"Dependency tree of “{' '.join(words)}”; the root is “{root}”, and from it hang {below}."
    if arcs:
        index, head = max(arcs, key=lambda arc: abs(arc[0] - arc[1]))
        alt += f" The longest of {len(arcs)} arcs leads from “{words[head]}” to “{words[index]}”."
    return Figure(drawing, alt, pd.DataFrame({"word": list(words), "head": named}), caption)


def _word_places(words: Sequence[str]) -> np.ndarray:
    """Centres of words set one after the other, in units of about seven letters."""
    widths = np.array([max(len(word), 3) + 2 for word in words]) / 7
    return np.cumsum(widths) - widths / 2


def _draw_arc(axes: Axes, dependent: float, head: float) -> None:
    middle, width = (dependent + head) / 2, abs(dependent - head)
    size = {"width": width, "height": width * 0.62 + 0.3, "theta1": 0, "theta2": 180}
    axes.add_patch(Arc((middle, 0.28), **size, color=PALETTE[0], linewidth=1.6))
    axes.plot(dependent, 0.28, marker="v", color=PALETTE[0], markersize=4.5)
