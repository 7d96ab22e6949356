"""Explorers: the attention maps of one sentence, head by head, and what its words are at every layer.

Depends on html and style, numpy, pandas and matplotlib (one bitmap); `figures` re-exports both. Knows no
model. Each explorer is one HTML fragment with its data, style and script (`explorers.css`, `explorers.js`) inside: it
needs no network, no library and no ids, so that several share a page and every run writes the same text. Without the
script a reader sees the small multiples, or the table.
"""

import base64
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.colors import to_rgb
from matplotlib.image import imsave

from bertology_utils.absent import unless_absent
from bertology_utils.errors import BertologyError
from bertology_utils.figures.html import Figure, TableView
from bertology_utils.figures.style import PALETTE, is_control
from bertology_utils.templates import render


@dataclass(frozen=True)
class Explorer(Figure):
    """A figure that answers to mouse, touch and keyboard.

    kind: which part of the script runs it; grids and marks: what is seen without the script; data: what the script
    reads; opened: whether the table stands open where no script folds it.
    """

    kind: str = ""
    grids: Sequence[Mapping[str, object]] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, object] = field(default_factory=dict)
    opened: bool = False

    def _repr_html_(self) -> str:
        folder = files(__package__)
        style, script = (Markup(folder.joinpath(f"explorers.{part}").read_text("utf-8")) for part in ("css", "js"))
        return render("explorer.html", figure=self, data=TableView.of(self.table), style=style, script=script)


Ranked = list[list[list[tuple]]]
"""[layer][word][rank] -> (what, how much), best first; layer 0 is the embeddings."""


@dataclass(frozen=True)
class LayerView:
    """One sentence in one model, (layers + 1, words) throughout.

    guesses: (piece, probability) of the masked word, None without a masked-word head; neighbours: (index into
    `contexts`, cosine); contexts: (words before, word, words after) of every word of the other sentences. Cosines:
    below: to the same word one layer below, NaN at layer 0; same: mean with the same form in other sentences, NaN
    where there is none; other: mean with other forms, the anisotropy that both stand on (ethayarajh2019how).
    """

    words: list[str]
    contexts: list[tuple[str, str, str]]
    guesses: Ranked | None
    neighbours: Ranked
    below: np.ndarray
    same: np.ndarray
    other: np.ndarray


def quantised(maps: np.ndarray) -> np.ndarray:
    """Shares 0..1 as bytes of the same shape; the error is at most half of 1/255."""
    return np.round(255 * np.clip(np.asarray(maps, dtype=float), 0, 1)).astype(np.uint8)


@unless_absent
def attention_explorer(
    units: Sequence[str],
    views: Mapping[str, np.ndarray],
    *,
    marks: Mapping[str, str] | None = None,
    caption: str = "",
) -> Explorer:
    """All heads of a sentence as a grid of small maps; the one chosen by mouse or keyboard as lines between words.

    units: words and special pieces; views: names to maps (layers, heads, units, units) from source row to target
    column, rows with a sum of at most one; marks: head names as printed ("2-5") to what is said of them, framed in
    every view but a control's. Raises BertologyError where shapes differ or a mark names no head.
    """
    marks, views = dict(marks or {}), {name: np.asarray(maps) for name, maps in views.items()}
    layers, heads = _checked_grid(units, views)
    names = [f"{layer + 1}-{head + 1}" for layer in range(layers) for head in range(heads)]
    unknown = [name for name in marks if name not in names]
    if unknown:
        raise BertologyError(f"attention_explorer: no head {', '.join(unknown)} in {layers} layers by {heads} heads.")
    told = "; ".join(f"{name}: {text}" for name, text in marks.items()) or "none"
    alt = (
        f"Attention maps of {layers} layers by {heads} heads for the sentence “{' '.join(units)}”: each a square, from "
        f"the attending word (row) to the attended (column). Framed heads: {told}. {_told_aims(units, views)}"
    )
    data = {
        "units": list(units),
        "layers": layers,
        "heads": heads,
        "marks": marks,
        "unmarked": [is_control(name) for name in views],
        "start": names.index(next(iter(marks), names[0])),
        "views": {name: base64.b64encode(quantised(maps).tobytes()).decode() for name, maps in views.items()},
    }
    grids = [_grid(name, maps, units, {} if is_control(name) else marks) for name, maps in views.items()]
    table = _head_table(units, next(iter(views.values())), names, marks)
    return Explorer(None, alt, table, caption, kind="attention", grids=grids, marks=marks, data=data)


@unless_absent
def layer_explorer(views: Mapping[str, LayerView], *, start: int = 0, caption: str = "") -> Explorer:
    """What each word of a sentence is at each layer: guesses of the masked word, nearest words, cosines.

    views: a `LayerView` for each model, all of the same words and contexts; start: index of the word shown first.
    Raises BertologyError where the views differ in words or contexts.
    """
    view = next(iter(views.values()))
    if any(other.words != view.words or other.contexts != view.contexts for other in views.values()):
        raise BertologyError("layer_explorer needs views of the same words and contexts.")
    table = _layer_table(view)
    shown = "the head's first guess for each masked word" if view.guesses else "the nearest word in other sentences"
    top = len(view.neighbours) - 1
    alt = f"For the sentence “{' '.join(view.words)}” and layers 0 to {top}: {shown}.{_told_guesses(views)}"
    near = sorted({i for each in views.values() for layer in each.neighbours for word in layer for i, _ in word})
    data = {
        "words": list(view.words),
        "layers": len(view.neighbours),
        "contexts": [view.contexts[i] for i in near],
        "start": start,
        "views": {name: _layer_data(each, {old: new for new, old in enumerate(near)}) for name, each in views.items()},
    }
    return Explorer(None, alt, table, caption, kind="layers", data=data, opened=True)


def _checked_grid(units: Sequence[str], views: Mapping[str, np.ndarray]) -> tuple[int, int]:
    """(layers, heads) of all views; raises where a map does not fit the units or the views each other."""
    shapes = {array.shape for array in views.values()}
    shape = next(iter(shapes))
    if len(shapes) > 1 or len(shape) != 4 or shape[2:] != (len(units), len(units)):
        needed, got = f"(layers, heads, {len(units)}, {len(units)})", ", ".join(map(str, sorted(shapes)))
        raise BertologyError(f"attention_explorer needs maps {needed}, got {got}.")
    return shape[:2]


def _grid(name: str, maps: np.ndarray, units: Sequence[str], marks: Mapping[str, str]) -> dict[str, object]:
    """One model's small multiples with their axes; the frames are elements of the page, so that they print sharply."""
    layers, heads = maps.shape[:2]
    frames = [" / ".join(mark.split("-")) for mark in marks]
    sentence = " ".join(units)
    return dict(name=name, layers=layers, heads=heads, sentence=sentence, frames=frames, bitmap=_bitmap(maps))


def _bitmap(maps: np.ndarray) -> str:
    """All maps as one transparent PNG, a pixel a weight and one clear pixel around each map; base64.

    The root of the weight is the opacity of one colour: the picture reads on light and on dark paper, and the even
    share of a long sentence is still visible.
    """
    layers, heads, size, _ = maps.shape
    padded = np.pad(np.sqrt(np.clip(maps, 0, 1)), ((0, 0), (0, 0), (1, 1), (1, 1)))
    opacity = padded.transpose(0, 2, 1, 3).reshape(layers * (size + 2), heads * (size + 2))
    pixels = np.empty((*opacity.shape, 4), dtype=np.uint8)
    pixels[..., :3] = np.round(255 * np.array(to_rgb(PALETTE[0])))
    pixels[..., 3] = 17 * np.round(15 * opacity)  # sixteen shades compress well; the script has the exact weights
    buffer = io.BytesIO()
    imsave(buffer, pixels, format="png", metadata={"Software": None}, pil_kwargs={"optimize": True})
    return base64.b64encode(buffer.getvalue()).decode()


def _head_table(units: Sequence[str], maps: np.ndarray, names: Sequence[str], marks: Mapping[str, str]) -> pd.DataFrame:
    """One row a head: where its attention goes on average, and its strongest weight."""
    flat = maps.reshape(-1, *maps.shape[2:])
    received, strongest = flat.mean(1), flat.reshape(len(flat), -1).argmax(1)
    return pd.DataFrame(
        {
            "head": names,
            "looks most at": [units[i] for i in received.argmax(1)],
            "share": received.max(1),
            "strongest weight": [f"{units[i // len(units)]} → {units[i % len(units)]}" for i in strongest],
            "weight": flat.max((1, 2)),
            "relation": [marks.get(name, "") for name in names],
        }
    )


def _told_aims(units: Sequence[str], views: Mapping[str, np.ndarray]) -> str:
    """The unit that most heads of each view look most at, on average over the words of the sentence."""
    aims = {name: Counter(maps.mean(2).argmax(-1).ravel().tolist()) for name, maps in views.items()}
    best = {name: aim.most_common(1)[0] for name, aim in aims.items()}
    told = (f"{name}: {n} of {aims[name].total()} heads look most at “{units[i]}”" for name, (i, n) in best.items())
    return "; ".join(told) + "."


def _told_guesses(views: Mapping[str, LayerView]) -> str:
    """How many words each view's head guesses first at the last layer, of the views that have a head."""
    right = {
        name: sum(guesses[0][0] == word for guesses, word in zip(view.guesses[-1], view.words, strict=True))
        for name, view in views.items()
        if view.guesses
    }
    return "".join(
        f" At the last layer {name} guesses {n} of {len(views[name].words)} words." for name, n in right.items()
    )


def _layer_table(view: LayerView) -> pd.DataFrame:
    """Words by layers: the first guess with its probability, or the nearest word with its cosine."""
    cells = view.guesses or [[[(view.contexts[i][1], cosine) for i, cosine in word] for word in layer]
                             for layer in view.neighbours]  # fmt: skip
    columns = {f"layer {i}": [f"{word[0][0]} ({word[0][1]:.2f})" for word in layer] for i, layer in enumerate(cells)}
    return pd.DataFrame({"word": list(view.words)} | columns)


def _layer_data(view: LayerView, places: Mapping[int, int]) -> dict[str, object]:
    """What the script reads of a view, numbers with three digits; places: new indices of the contexts that are used."""
    neighbours = [[[(places[i], cosine) for i, cosine in word] for word in layer] for layer in view.neighbours]
    return {
        "guesses": view.guesses and _rounded(view.guesses),
        "neighbours": _rounded(neighbours),
        "below": _rounded(view.below.tolist()),
        "same": _rounded(view.same.tolist()),
        "other": _rounded(view.other.tolist()),
    }


def _rounded(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return None if value != value else round(value, 3)
    return value
