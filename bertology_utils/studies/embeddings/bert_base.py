"""BERT-base, cased, layer by layer, in the stored results of ethayarajh2019how. Depends on `published`."""

import numpy as np

from bertology_utils.verdicts.published import published

LAYERS = 13  # with the embeddings


def same_word() -> np.ndarray:
    """Mean cosine of two occurrences of a word, uncorrected: (13,)."""
    return _by_layer("self-similarity raw")


def different_words() -> np.ndarray:
    """Mean cosine of two words, the anisotropy: (13,)."""
    return _by_layer("random cosine")


def within_sentence() -> np.ndarray:
    """Mean cosine of a sentence's words to their mean, uncorrected: (13,)."""
    return _by_layer("intra-sentence sim")


def adjusted() -> np.ndarray:
    """Self-similarity above anisotropy: (13,)."""
    return same_word() - different_words()


def share_left() -> float:
    """Self-similarity above anisotropy at the last layer, as a share of the embeddings'."""
    values = adjusted()
    return float(values[-1] / values[0])


def _by_layer(item: str) -> np.ndarray:
    names = [f"{item} layer {layer} bert-base-cased" for layer in range(LAYERS)]
    return np.array([published("ethayarajh2019how", name) for name in names])
