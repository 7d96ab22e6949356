"""How the vectors of a word spread over its contexts, and what one static vector can keep of them.

Depends on `geometry` for the mathematics and on `controls` for removed directions. Groups hold one array a word,
(layers, occurrences, width).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from bertology_utils.activations import token_table_vectors
from bertology_utils.instruments.controls import matched_projection, remove_directions
from bertology_utils.instruments.geometry import (
    Contextuality,
    maximum_explainable_variance,
    occurrences,
    remove_top_components,
    unit,
)
from bertology_utils.instruments.trees import row_spearman
from bertology_utils.language.lexicon import FUNCTION_WORDS
from bertology_utils.models import Specimen

MINIMUM = 5  # occurrences of a word
BASELINE = 1000
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


def variance_shares(specimen: Specimen, sentences: Words, groups: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """How much of words' vectors varies with their context, of a specimen's `groups` and of its token table.

    `by_layer` (layers + 1, words), `middle_layer` (words,), `token_table` (): the most that any word's row varies.
    """
    table = occurrences(sentences, token_table_vectors(specimen, sentences), minimum=MINIMUM)
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
    return row_spearman(np.asarray(values).T, np.arange(len(values)))


def fall(values: np.ndarray) -> dict[str, np.ndarray]:
    """How values of words (layers + 1, words) go down: each word's `layer_trend`, and the `bottom` and `top` layer."""
    return {"by_layer": values, "layer_trend": layer_trend(values), "bottom": values[0], "top": values[-1]}


def raw_likeness(context: Contextuality) -> dict[str, np.ndarray]:
    """Self-similarity without correction: by layer for `content_words` and `function_words`, and of all at two layers.

    `first_layer` is the first block's, `late_layer` that of the last but one; (words,) each.
    """
    raw = context.self_similarity
    function = np.array([word.lower() in FUNCTION_WORDS for word in context.words])
    return {
        "content_words": raw[:, ~function],
        "function_words": raw[:, function],
        "first_layer": raw[1],
        "late_layer": raw[-2],
    }


def gaps(context: Contextuality) -> dict[str, np.ndarray]:
    """What two occurrences of a word have in common beyond two words: at both ends, and where it is least.

    The layer with the smallest gap is found on one half of the words and measured on the other. `same_word`
    (layers + 1, words) and `different_words` (layers + 1,) are the two cosines, `share_left` (layers + 1,) the mean gap
    as a share of the embeddings'.
    """
    gap = context.adjusted
    smallest = gap[:, ::2].mean(1).argmin()
    return {
        "same_word": context.self_similarity,
        "different_words": context.anisotropy,
        "smallest_gap": gap[smallest, 1::2],
        "first_gap": gap[0],
        "last_gap": gap[-1],
        "share_left": gap.mean(1) / gap[0].mean(),
    }


def cone(groups: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The mean cosine of a word to all other words, as it is and once a layer's mean vector is taken off.

    `by_layer` and `mean_removed` (layers + 1, words); the others are single layers of these, (words,).
    """
    plain, moved = word_anisotropy(list(groups.values())), word_anisotropy(centred(list(groups.values())))
    return {
        "by_layer": plain,
        "mean_removed": moved,
        "first_layer": plain[1],
        "last_layer": plain[-1],
        "last_layer_mean_removed": moved[-1],
    }


def pair_estimates(groups: Sequence[np.ndarray], pairs: int = 1000, samples: int = 10, seed: int = 0) -> np.ndarray:
    """The mean cosine of different words from random pairs of occurrences, as ethayarajh2019how draws it: (samples,).

    `groups` holds one array of unit vectors (occurrences, width) a word; pairs of one word are left out.
    """
    pool, owner = np.concatenate(groups), np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(samples):
        first, second = rng.integers(len(pool), size=(2, pairs))
        other = owner[first] != owner[second]
        found.append((pool[first[other]] * pool[second[other]]).sum(-1).mean())
    return np.array(found)


def static_shares(groups: Mapping[str, np.ndarray], seed: int = 0) -> dict[str, np.ndarray | float]:
    """`static_share` by both readings of the study, `as_defined` and `centred`, each (layers + 1, words).

    `lowest` is the least mean of a layer, as defined. Of the middle layer: `one_direction` is the share of a word's
    squared length that its first direction holds, `beyond` what is above random occurrences', which have `random`;
    `rest` is what no static vector can hold.
    """
    found = list(groups.values())
    defined = static_share(found, False, seed)
    middle = len(defined) // 2
    whole = float(np.mean([maximum_explainable_variance(group[middle]) for group in found]))
    beyond = float(defined[middle].mean())
    return {
        "as_defined": defined,
        "centred": static_share(found, True, seed),
        "lowest": float(defined.mean(1).min()),
        "one_direction": whole,
        "rest": 1 - whole,
        "random": whole - beyond,
        "beyond": beyond,
    }


def static_share(groups: Sequence[np.ndarray], centred: bool = False, seed: int = 0) -> np.ndarray:
    """Maximum explainable variance of each word less that of random occurrences, (layers+1, words).

    Groups are (layers+1, occurrences, width). The baseline takes at most `BASELINE` occurrences of all words, as
    ethayarajh2019how does; `centred` subtracts the mean from words and baseline alike.
    """
    pool = np.concatenate(groups, axis=1)
    chosen = np.random.default_rng(seed).permutation(pool.shape[1])[:BASELINE]
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
