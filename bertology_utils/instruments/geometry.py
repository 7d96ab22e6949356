"""The geometry of contextual vectors: contextuality, anisotropy, outlier dimensions, senses, retrieval.

Depends on arrays only (numpy, torch, scikit-learn), except `outlier_dimensions` and `without_dimensions`, which look
into a specimen's output LayerNorms. All similarities over pairs are exact closed forms; nothing is sampled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.metrics import silhouette_samples

from bertology_utils.errors import BertologyError
from bertology_utils.models import Specimen

# --- pairs of vectors in closed form --------------------------------------------------------------------------------


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., width) scaled to length one; zero vectors stay zero."""
    vectors = np.asarray(vectors)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)


def self_similarity(vectors: np.ndarray) -> np.ndarray:
    """Mean cosine over all pairs of occurrences, (..., occurrences, width) -> (...).

    ethayarajh2019how, exactly: (||sum of unit vectors||^2 - n) / (n (n - 1)). One occurrence has no pair: NaN.
    """
    count = vectors.shape[-2]
    if count < 2:
        return np.full(vectors.shape[:-2], np.nan)
    vectors = np.asarray(vectors, dtype=np.result_type(vectors, np.float32))
    lengths = np.sqrt(np.einsum("...d,...d->...", vectors, vectors))
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    total = (inverse[..., None, :] @ vectors)[..., 0, :].astype(np.float64)  # sum of unit vectors, none of them stored
    return ((total**2).sum(-1) - (lengths > 0).sum(-1)) / (count * (count - 1))


def random_pair_similarity(groups: Sequence[np.ndarray]) -> np.ndarray:
    """Mean cosine over all pairs of occurrences of *different* words: the anisotropy baseline of ethayarajh2019how.

    `groups` holds one array (..., occurrences, width) for each word; returns (...). Exact, where the study draws 1000
    pairs: the pairs within a word are subtracted from the pairs of all.
    """
    sums = [unit(np.asarray(group, dtype=np.float64)).sum(-2) for group in groups]
    counts = np.array([group.shape[-2] for group in groups])
    across = (sum(sums) ** 2).sum(-1) - sum((total**2).sum(-1) for total in sums)
    pairs = counts.sum() ** 2 - (counts**2).sum()
    if not pairs:
        raise BertologyError("The anisotropy baseline needs occurrences of at least two different words.")
    return across / pairs


def intra_sentence_similarity(vectors: np.ndarray) -> np.ndarray:
    """Mean cosine of a sentence's words to their mean vector, (..., words, width) -> (...) (ethayarajh2019how)."""
    vectors = np.asarray(vectors, dtype=np.float64)
    middle = unit(vectors.mean(-2, keepdims=True))
    return (unit(vectors) * middle).sum(-1).mean(-1)


def maximum_explainable_variance(vectors: np.ndarray, centred: bool = False) -> np.ndarray:
    """Share of the first squared singular value of the occurrence matrix, (..., occurrences, width) -> (...).

    The paper's definition (ethayarajh2019how) is uncentred, the default; its code centres the words' matrix and not
    the baseline's, so `centred` shows the other reading. Computed from the Gram matrix of the occurrences.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    if centred:
        vectors = vectors - vectors.mean(-2, keepdims=True)
    gram = vectors @ np.swapaxes(vectors, -1, -2)
    total = np.trace(gram, axis1=-2, axis2=-1)
    return np.linalg.eigvalsh(gram)[..., -1] / np.where(total == 0, np.nan, total)


# --- contextuality --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contextuality:
    """The measures of ethayarajh2019how by layer; the layer axis counts from 0, the embedding output.

    self_similarity and explainable_variance (layers+1, words), intra_sentence (layers+1, sentences), anisotropy and
    explainable_baseline (layers+1,). `adjusted` subtracts a layer's baseline.
    """

    words: list[str]
    self_similarity: np.ndarray
    explainable_variance: np.ndarray
    intra_sentence: np.ndarray
    anisotropy: np.ndarray
    explainable_baseline: np.ndarray

    @property
    def adjusted(self) -> np.ndarray:
        """Self-similarity above the anisotropy of its layer, (layers+1, words)."""
        return self.self_similarity - self.anisotropy[:, None]


def occurrences(
    sentences: Sequence[Sequence[str]], vectors: Sequence[np.ndarray], minimum: int = 5
) -> dict[str, np.ndarray]:
    """Word -> its vectors (layers+1, occurrences, width), for words seen at least `minimum` times.

    `vectors` holds one array (layers+1, words, width) for each sentence. Keys keep the case of the text.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for index, sentence in enumerate(sentences):
        for position, word in enumerate(sentence):
            places.setdefault(word, []).append((index, position))
    return {
        word: np.stack([np.asarray(vectors[i])[:, j] for i, j in found], axis=1)
        for word, found in places.items()
        if len(found) >= minimum
    }


def contextuality(
    sentences: Sequence[Sequence[str]], vectors: Sequence[np.ndarray], minimum: int = 5, seed: int = 0
) -> Contextuality:
    """All measures of ethayarajh2019how for one model; `vectors` as for `occurrences`.

    The baseline of the explainable variance takes up to 1000 random occurrences of the kept words, as the study does.
    """
    groups = occurrences(sentences, vectors, minimum)
    if len(groups) < 2:
        raise BertologyError(f"Contextuality needs at least two words seen {minimum} times; got {len(groups)}.")
    pool = np.concatenate(list(groups.values()), axis=1)
    chosen = np.random.default_rng(seed).permutation(pool.shape[1])[:1000]
    return Contextuality(
        words=list(groups),
        self_similarity=np.stack([self_similarity(group) for group in groups.values()], axis=1),
        explainable_variance=np.stack([maximum_explainable_variance(group) for group in groups.values()], axis=1),
        intra_sentence=np.stack([intra_sentence_similarity(np.asarray(v)) for v in vectors], axis=1),
        anisotropy=random_pair_similarity(list(groups.values())),
        explainable_baseline=maximum_explainable_variance(pool[:, chosen]),
    )


# --- dominant directions and outlier dimensions ---------------------------------------------------------------------


def remove_top_components(vectors: np.ndarray, components: int) -> np.ndarray:
    """Vectors (items, width) without their mean and their first principal components ("all but the top").

    `components=0` subtracts the mean only.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    centred = vectors - vectors.mean(0)
    if not components:
        return centred
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    top = directions[:components]  # (components, width)
    return centred - centred @ top.T @ top


def drop_dimensions(vectors: np.ndarray, dimensions: Sequence[int]) -> np.ndarray:
    """Vectors (..., width) with some dimensions set to zero, e.g. the outliers found by `outlier_dimensions`."""
    kept = np.array(vectors, copy=True)
    kept[..., list(dimensions)] = 0
    return kept


def similarity_shares(vectors: np.ndarray) -> np.ndarray:
    """Share of the mean cosine over all pairs that each dimension carries, (items, width) -> (width,); sums to one."""
    units = unit(np.asarray(vectors, dtype=np.float64))
    per_dimension = units.sum(0) ** 2 - (units**2).sum(0)
    return per_dimension / per_dimension.sum()


def output_layer_norms(specimen: Specimen) -> list[torch.nn.Module]:
    """The LayerNorm after the feed-forward part of each block, in order (kovaleva2021bertbusters leaves out others)."""
    endings = (".output.LayerNorm", ".full_layer_layer_norm", ".output_layer_norm")
    norms = [
        module
        for name, module in specimen.encoder.named_modules()
        if name.endswith(endings) and ".attention." not in name
    ]
    if not norms:
        raise BertologyError(f"No LayerNorm after the feed-forward part was found in {specimen.name}.")
    return norms


def outlier_dimensions(specimen: Specimen, deviations: float = 3.0, more_than_layers: float = 0.25) -> list[int]:
    """Dimensions whose output-LayerNorm weight or bias stands out, the most frequent first.

    After kovaleva2021bertbusters: more than `deviations` standard deviations from the layer's own mean, in more than a
    quarter of the layers (their 3 of 12), counted apart for weights and for biases, then the two lists interleaved.
    """
    norms = output_layer_norms(specimen)
    rankings = []
    for parameter in ("weight", "bias"):
        counts = Counter()
        for norm in norms:
            values = getattr(norm, parameter).detach().float().cpu().numpy()
            counts.update(np.flatnonzero(np.abs(values - values.mean()) > deviations * values.std()).tolist())
        rankings.append([d for d, n in counts.most_common() if n > more_than_layers * len(norms)])
    return _interleave(*rankings)


def _interleave(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Alternate between two rankings, each item once."""
    longest = max(len(first), len(second))
    alternating = [ranking[i] for i in range(longest) for ranking in (first, second) if i < len(ranking)]
    return list(dict.fromkeys(alternating))


@contextmanager
def without_dimensions(specimen: Specimen, dimensions: Sequence[int]) -> Iterator[Specimen]:
    """Inside, weight and bias of the dimensions are zero in every output LayerNorm; afterwards they are restored.

    Two parameters for each dimension and layer: the disabling of kovaleva2021bertbusters.
    """
    parameters = [p for norm in output_layer_norms(specimen) for p in (norm.weight, norm.bias)]
    saved = [parameter.detach().clone() for parameter in parameters]
    try:
        with torch.no_grad():
            for parameter in parameters:
                parameter[list(dimensions)] = 0
        yield specimen
    finally:
        with torch.no_grad():
            for parameter, values in zip(parameters, saved, strict=True):
                parameter.copy_(values)


# --- senses, clusters, retrieval ------------------------------------------------------------------------------------


def concatenate_layers(vectors: np.ndarray, last: int = 4) -> np.ndarray:
    """(layers+1, words, width) -> (words, last * width): the token vector of wiedemann2019does."""
    return np.concatenate(list(np.asarray(vectors)[-last:]), axis=-1)


def nearest(source: np.ndarray, target: np.ndarray, k: int = 1) -> np.ndarray:
    """Indices (source items, k) of the most similar target vectors by cosine, best first; one matrix product."""
    similarity = unit(source) @ unit(target).T
    return np.argsort(-similarity, axis=1, kind="stable")[:, :k]


def retrieval_hits(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Booleans (items,): the nearest target of source i, by cosine, is target i."""
    return nearest(source, target)[:, 0] == np.arange(len(source))


@dataclass(frozen=True)
class SenseExamples:
    """Occurrences with annotation: vectors (items, width), a lemma and a sense for each item."""

    vectors: np.ndarray
    lemmas: Sequence[str]
    senses: Sequence[str]


def nearest_neighbour_senses(
    train: SenseExamples, test: SenseExamples, k: int = 1, fallback: Mapping[str, str] | None = None
) -> list[str | None]:
    """Sense of each test item by vote of its k nearest training occurrences of the same lemma (wiedemann2019does).

    Ties go to the nearest neighbour. A lemma with no training occurrence gets `fallback[lemma]` (its most frequent
    sense) or None, which then counts as wrong.
    """
    by_lemma: dict[str, list[int]] = {}
    for index, lemma in enumerate(train.lemmas):
        by_lemma.setdefault(lemma, []).append(index)
    predicted = []
    for vector, lemma in zip(test.vectors, test.lemmas, strict=True):
        known = by_lemma.get(lemma)
        if known is None:
            predicted.append((fallback or {}).get(lemma))
            continue
        order = nearest(vector[None], train.vectors[known], k)[0]
        predicted.append(Counter(train.senses[known[i]] for i in order).most_common(1)[0][0])
    return predicted


def most_frequent_senses(train: SenseExamples) -> dict[str, str]:
    """Lemma -> most frequent sense in training; the fallback and the baseline of sense disambiguation."""
    counts: dict[str, Counter] = {}
    for lemma, sense in zip(train.lemmas, train.senses, strict=True):
        counts.setdefault(lemma, Counter())[sense] += 1
    return {lemma: senses.most_common(1)[0][0] for lemma, senses in counts.items()}


def cluster_silhouettes(vectors: np.ndarray, labels: Sequence) -> np.ndarray:
    """Silhouette of each item by cosine distance, (items,), in -1..1: do the labelled groups form clusters?"""
    return silhouette_samples(np.asarray(vectors), np.asarray(labels), metric="cosine")


def cluster_purity(labels: Sequence, clusters: Sequence) -> float:
    """Share of items that carry the most frequent label of their cluster."""
    groups: dict[object, Counter] = {}
    for label, cluster in zip(labels, clusters, strict=True):
        groups.setdefault(cluster, Counter())[label] += 1
    return sum(group.most_common(1)[0][1] for group in groups.values()) / len(labels)
