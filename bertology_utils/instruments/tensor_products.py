"""Tensor product decomposition of sentence vectors: which role scheme rebuilds them best (mccoy2019rnns).

A sentence is rebuilt as a linear map of the sum over its words of filler (a word vector) times role (one-hot). Depends
on `probes` (ridge) and on the trees of the grammar; fillers are the principal components of vectors that know no
place (rows of the token table), where the study learns them (a deviation that turns the fit into one closed form).
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from sklearn.decomposition import PCA

from bertology_utils.activations import sentence_vectors
from bertology_utils.instruments.probes import fit_ridge
from bertology_utils.language.grammar import Sentence, generate
from bertology_utils.models import Specimen

Role = object
PATH_STEPS = 2


def left_to_right(sentence: Sentence) -> list[Role]:
    return list(range(len(sentence.words)))


def right_to_left(sentence: Sentence) -> list[Role]:
    return list(range(len(sentence.words)))[::-1]


def bidirectional(sentence: Sentence) -> list[Role]:
    return list(zip(left_to_right(sentence), right_to_left(sentence), strict=True))


def bag_of_words(sentence: Sentence) -> list[Role]:
    return [0] * len(sentence.words)


def tree_position(sentence: Sentence) -> list[Role]:
    """The last steps of the path from the root: on which side of its head each word and its head hang."""
    return [_path(sentence.heads, i) for i in range(len(sentence.words))]


def _path(heads: Sequence[int], word: int) -> tuple[str, ...]:
    steps: list[str] = []
    while heads[word] >= 0 and len(steps) < PATH_STEPS:
        steps.append("left" if word < heads[word] else "right")
        word = heads[word]
    return (*steps, "root") if heads[word] < 0 else tuple(steps)


SCHEMES: dict[str, Callable[[Sentence], list[Role]]] = {
    "left_to_right": left_to_right,
    "right_to_left": right_to_left,
    "bidirectional": bidirectional,
    "bag_of_words": bag_of_words,
    "tree": tree_position,
}


def bindings(
    sentences: Sequence[Sentence], fillers: Sequence[np.ndarray], scheme: str, known: dict[Role, int] | None = None
) -> tuple[np.ndarray, dict[Role, int]]:
    """Sums of filler times role, `(sentences, roles * filler width)`, and the roles' order.

    `fillers` holds `(words, filler width)` a sentence. A role that is not in `known` binds nothing.
    """
    roles = [SCHEMES[scheme](sentence) for sentence in sentences]
    if known is None:
        known = {role: place for place, role in enumerate(sorted({r for rs in roles for r in rs}, key=str))}
    sums = np.zeros((len(sentences), len(known), fillers[0].shape[1]))
    for row, (sentence_roles, vectors) in enumerate(zip(roles, fillers, strict=True)):
        for role, vector in zip(sentence_roles, vectors, strict=True):
            if role in known:
                sums[row, known[role]] += vector
    return sums.reshape(len(sentences), -1), known


def decomposition_errors(
    specimen: Specimen,
    train: Sequence[Sentence],
    test: Sequence[Sentence],
    fillers: Sequence[np.ndarray],
    layer: int,
    width: int = 12,
) -> dict[str, np.ndarray]:
    """Held-out squared error of each scheme, `(test sentences,)`, in units of the vectors' variance in training.

    The vector is [CLS] at `layer`. `fillers` holds a vector for each word of the training and the test sentences,
    `(words, any)`, which should not depend on its place; they are reduced to `width` principal components of the
    training words, each of variance 1. `mean` is the error of the training vectors' mean, which knows nothing of the
    sentence.
    """
    fillers = _components(fillers, len(train), width)
    target = sentence_vectors(specimen, [s.words for s in (*train, *test)], "cls")[layer].double()
    mean, spread = target[: len(train)].mean(0), target[: len(train)].var(0).sum()
    errors = {"mean": ((target[len(train) :] - mean).square().sum(1) / spread).numpy()}
    for scheme in SCHEMES:
        first, known = bindings(train, fillers[: len(train)], scheme)
        second, _ = bindings(test, fillers[len(train) :], scheme, known)
        probe = fit_ridge(torch.from_numpy(first)[None], target[: len(train)] - mean, scaled=False)
        rebuilt = probe.predict(torch.from_numpy(second)[None])[0] + mean
        errors[scheme] = ((rebuilt - target[len(train) :]).square().sum(1) / spread).numpy()
    return errors


def _components(vectors: Sequence[np.ndarray], training: int, width: int) -> list[np.ndarray]:
    components = PCA(min(width, vectors[0].shape[1]), whiten=True, svd_solver="covariance_eigh")
    components.fit(np.concatenate(vectors[:training]))
    return [np.c_[components.transform(v), np.ones(len(v))] for v in vectors]


def short_sentences(n: int, seed: int = 0, split: str = "train", longest: int = 8) -> list[Sentence]:
    """`n` sentences of one clause and at most `longest` words, so that every role of every scheme is met often."""
    found: list[Sentence] = []
    while len(found) < n:
        found += [s for s in generate(3 * n, seed=seed, split=split, kind="simple") if len(s.words) <= longest]
        seed += 1000
    return found[:n]
