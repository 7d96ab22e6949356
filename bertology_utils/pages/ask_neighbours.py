"""The words of other sentences whose vectors are nearest to those of a sentence's words, layer by layer.

`book/assets/ask/neighbours.js` computes the same in the browser. Depends on activations, language and instruments.
"""

from collections.abc import Sequence

import numpy as np

from bertology_utils.activations import word_vectors
from bertology_utils.instruments.geometry import unit
from bertology_utils.language.grammar import generate
from bertology_utils.language.semantic_tasks import sense_items
from bertology_utils.models import Specimen
from bertology_utils.text import Words

NEAREST = 3  # words shown at each layer

Neighbours = list[list[list[tuple[str, float]]]]
"""[layer][word][rank] -> (form, cosine), nearest first; layer 0 is the embeddings."""


def references() -> list[Words]:
    """The sentences that neighbours come from: of all kinds from the grammar, and ambiguous words in both senses."""
    return [s.words for s in generate(40, seed=1)] + [item.words for item in sense_items(2, words=10)]


def neighbours(specimen: Specimen, words: Words, others: Sequence[Words]) -> Neighbours:
    """The forms in other sentences that come nearest to each word, each form by its nearest occurrence.

    Vectors are compared within a layer, less the mean of the others' vectors there: what all words share (the
    anisotropy of ethayarajh2019how) makes none a neighbour.
    """
    own, *rest = (vectors.numpy() for vectors in word_vectors(specimen, [words, *others]))
    pool, forms = np.concatenate(rest, axis=1), np.array([word for other in others for word in other])
    mean = pool.mean(1, keepdims=True)
    cosines = unit(own - mean) @ unit(pool - mean).transpose(0, 2, 1)  # (layers + 1, words, pool)
    return [[_nearest(forms, row) for row in layer] for layer in cosines]


def _nearest(forms: np.ndarray, cosines: np.ndarray) -> list[tuple[str, float]]:
    order = np.argsort(-cosines, kind="stable")
    _, first = np.unique(forms[order], return_index=True)
    chosen = order[np.sort(first)[:NEAREST]]
    return list(zip(forms[chosen].tolist(), cosines[chosen].tolist(), strict=True))
