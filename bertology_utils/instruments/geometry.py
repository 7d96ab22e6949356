"""The geometry of contextual vectors: contextuality, anisotropy, dominant directions, nearest neighbours.

Depends on numpy only. All similarities over pairs are exact closed forms; nothing is sampled.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertology_utils.errors import BertologyError

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
    the baseline's, so `centred` shows the other reading. Computed from the smaller of the two Gram matrices, that of
    the occurrences or that of the dimensions, which have the same values above zero.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    if centred:
        vectors = vectors - vectors.mean(-2, keepdims=True)
    turned = np.swapaxes(vectors, -1, -2)
    gram = vectors @ turned if vectors.shape[-2] < vectors.shape[-1] else turned @ vectors
    total = np.trace(gram, axis1=-2, axis2=-1)
    return np.linalg.eigvalsh(gram)[..., -1] / np.where(total == 0, np.nan, total)


def linear_cka(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How alike two sets of vectors of the same items lie, (..., items, width) twice -> (...), at most 1.

    Linear centred kernel alignment: ||Y^T X||^2 / (||X^T X|| ||Y^T Y||) of centred vectors, Frobenius norms. Turning,
    shifting or scaling all vectors of a set changes nothing.
    """
    x, y = (own - own.mean(-2, keepdims=True) for own in (np.asarray(one, np.float64), np.asarray(other, np.float64)))
    pairs = (x, y), (x, x), (y, y)
    both, first, second = (np.linalg.norm(np.swapaxes(a, -1, -2) @ b, axis=(-2, -1)) for a, b in pairs)
    return both**2 / (first * second)


@dataclass(frozen=True)
class Contextuality:
    """The cosines of ethayarajh2019how by layer; the layer axis counts from 0, the embedding output.

    self_similarity (layers+1, words), intra_sentence (layers+1, sentences), anisotropy (layers+1,). `adjusted`
    subtracts a layer's anisotropy.
    """

    words: list[str]
    self_similarity: np.ndarray
    intra_sentence: np.ndarray
    anisotropy: np.ndarray

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


def contextuality(sentences: Sequence[Sequence[str]], vectors: Sequence[np.ndarray], minimum: int = 5) -> Contextuality:
    """The cosines of ethayarajh2019how for one model; `vectors` as for `occurrences`."""
    groups = occurrences(sentences, vectors, minimum)
    if len(groups) < 2:
        raise BertologyError(f"Contextuality needs at least two words seen {minimum} times; got {len(groups)}.")
    return Contextuality(
        words=list(groups),
        self_similarity=np.stack([self_similarity(group) for group in groups.values()], axis=1),
        intra_sentence=np.stack([intra_sentence_similarity(np.asarray(v)) for v in vectors], axis=1),
        anisotropy=random_pair_similarity(list(groups.values())),
    )


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
    """Vectors (..., width) with some dimensions set to zero, e.g. the dominant ones of `similarity_shares`."""
    kept = np.array(vectors, copy=True)
    kept[..., list(dimensions)] = 0
    return kept


def similarity_shares(vectors: np.ndarray) -> np.ndarray:
    """Share of the mean cosine over all pairs that each dimension carries, (items, width) -> (width,); sums to one."""
    units = unit(np.asarray(vectors, dtype=np.float64))
    per_dimension = units.sum(0) ** 2 - (units**2).sum(0)
    return per_dimension / per_dimension.sum()


def concatenate_layers(vectors: np.ndarray, last: int = 4) -> np.ndarray:
    """(layers+1, words, width) -> (words, last * width): the token vector of wiedemann2019does."""
    return np.concatenate(list(np.asarray(vectors)[-last:]), axis=-1)


def nearest(source: np.ndarray, target: np.ndarray, k: int = 1) -> np.ndarray:
    """Indices (source items, k) of the most similar target vectors by cosine, best first; one matrix product."""
    similarity = unit(source) @ unit(target).T
    return np.argsort(-similarity, axis=1, kind="stable")[:, :k]
