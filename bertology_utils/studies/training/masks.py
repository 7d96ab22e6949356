"""Masks on one sentence, as tables: what each of them hides, and what SpanBERT's second objective reads.

Depends on `pretraining.objectives` and `figures`.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bertology_utils.figures import Figure, table
from bertology_utils.language.grammar import Sentence
from bertology_utils.pretraining import objectives


def counts(words: Sequence[str], language: Sequence[Sentence]) -> list[int]:
    """In how many sentences of a language each word occurs: (words,)."""
    return [sum(word in sentence.words for sentence in language) for word in words]


def shown(words: Sequence[str], masks: Mapping[str, np.ndarray], caption: str = "") -> Figure:
    """A row a mask, booleans (words,), with what it hides as an empty box."""
    rows = [{"mask": name} | dict(_cells(words, mask)) for name, mask in masks.items()]
    return table(rows, caption=caption)


def _cells(words: Sequence[str], mask: np.ndarray) -> list[tuple[str, str]]:
    return [(f"{i + 1}", "▢" if hidden else word) for i, (word, hidden) in enumerate(zip(words, mask, strict=True))]


def shown_boundaries(words: Sequence[str], mask: np.ndarray) -> Figure:
    """What the prediction of each masked word may read: the words beside its span, its place (joshi2020spanbert)."""
    padded = ["[CLS]", *words, "[SEP]"]
    hidden = [word for word, masked in zip(words, mask, strict=True) if masked]
    rows = zip(hidden, objectives.span_boundaries(mask), strict=True)
    return table(
        [
            {"predict": word, "left": padded[left + 1], "right": padded[right + 1], "place": place + 1}
            for word, (left, right, place) in rows
        ]
    )
