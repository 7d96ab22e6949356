"""How the vectors of a word spread over its contexts, and what one static vector can keep of them.

Depends on `geometry` for the mathematics and on `controls` for removed directions. Groups hold one array a word,
(layers, occurrences, width).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from scipy.stats import rankdata

from bertology_utils.activations import token_table_vectors
from bertology_utils.instruments.controls import matched_projection, remove_directions
from bertology_utils.instruments.geometry import maximum_explainable_variance, occurrences, remove_top_components, unit
from bertology_utils.models import Specimen

Words = Sequence[Sequence[str]]


def within_word_variance(groups: Sequence[np.ndarray]) -> np.ndarray:
    """Mean squared distance of a word's occurrences to their mean, over their mean squared length: (layers, words).

    `groups` holds one array (layers, occurrences, width) a word. 0: one vector for all contexts; 1: nothing shared.
    """

    def share(group: np.ndarray) -> np.ndarray:
        group = np.asarray(group, dtype=np.float64)
        spread = ((group - group.mean(1, keepdims=True)) ** 2).sum(-1).mean(-1)
        return spread / (group**2).sum(-1).mean(-1)

    return np.stack([share(group) for group in groups], axis=1)


def variance_shares(
    specimen: Specimen, sentences: Words, groups: Mapping[str, np.ndarray], minimum: int = 5
) -> dict[str, np.ndarray]:
    """How much of words' vectors varies with their context, of a specimen's `groups` and of its token table.

    `by_layer` (layers + 1, words), `middle_layer` (words,), `token_table` (): the most that any word's row varies.
    """
    table = occurrences(sentences, token_table_vectors(specimen, sentences), minimum=minimum)
    layers = within_word_variance(list(groups.values()))
    static = within_word_variance(list(table.values())).max()
    return {"by_layer": layers, "middle_layer": layers[len(layers) // 2], "token_table": static}


def word_anisotropy(groups: Sequence[np.ndarray]) -> np.ndarray:
    """Mean cosine of each word's occurrences to those of all other words, (layers, words); exact, nothing is sampled.

    The anisotropy of ethayarajh2019how kept apart by word, so that words are the sampling units.
    """
    sums = np.stack([unit(np.asarray(group, dtype=np.float64)).sum(-2) for group in groups], axis=1)
    counts = np.array([group.shape[-2] for group in groups])
    others = sums.sum(1, keepdims=True) - sums
    return (sums * others).sum(-1) / (counts * (counts.sum() - counts))


def centred(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Groups (layers, occurrences, width) without the mean vector of their layer over all occurrences."""
    mean = np.concatenate(list(groups), axis=1).mean(1, keepdims=True)
    return [group - mean for group in groups]


def layer_trend(values: np.ndarray) -> np.ndarray:
    """Spearman's correlation of a word's values with the layer, (layers, words) -> (words,); constant values give 0."""
    ranks = rankdata(values, axis=0)
    ranks = ranks - ranks.mean(0)
    layers = np.arange(len(values)) - (len(values) - 1) / 2
    scale = np.sqrt((ranks**2).sum(0) * (layers**2).sum())
    return layers @ ranks / np.where(scale == 0, 1, scale)


def static_share(
    groups: Sequence[np.ndarray], centred: bool = False, seed: int = 0, baseline: int = 1000
) -> np.ndarray:
    """Maximum explainable variance of each word less that of random occurrences, (layers+1, words).

    Groups are (layers+1, occurrences, width). The baseline takes at most `baseline` occurrences of all words, as
    ethayarajh2019how does; `centred` subtracts the mean from words and baseline alike.
    """
    pool = np.concatenate(groups, axis=1)
    chosen = np.random.default_rng(seed).permutation(pool.shape[1])[:baseline]
    words = np.stack([maximum_explainable_variance(group, centred) for group in groups], axis=1)
    return words - maximum_explainable_variance(pool[:, chosen], centred)[:, None]


def first_component(group: np.ndarray) -> np.ndarray:
    """One static vector for a word's occurrences, (layers, occurrences, width) -> (layers, width).

    Their first principal direction without centring, as ethayarajh2019how distils it, turned to the side of their mean.
    """
    group = np.asarray(group, dtype=np.float64)
    direction = np.linalg.svd(group, full_matrices=False)[2][:, 0]
    return direction * np.where((direction * group.mean(1)).sum(-1, keepdims=True) < 0, -1, 1)


def without_matched_directions(vectors: np.ndarray, components: int, seed: int = 0) -> np.ndarray:
    """The control of `remove_top_components`, (items, width): the mean and as many other directions are removed.

    No directions hold as much of the variance as the top ones; these are random ones of those that hold most of what
    the top ones leave (`controls.matched_projection`).
    """
    centred = torch.as_tensor(remove_top_components(vectors, 0))
    top = torch.linalg.svd(centred, full_matrices=False)[2][:components]
    return matched_projection(centred, remove_directions(top.T), seed)(centred).numpy()
