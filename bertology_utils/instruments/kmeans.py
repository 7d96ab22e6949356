"""K-means from inner products: many restarts at once, for few items of many dimensions. Depends on numpy alone.

A centre is a mean of items, so that all distances follow from the items' inner products, which are computed once. The
algorithm, its stopping rule and its random draws are those of `sklearn.cluster.KMeans`, whose checks and copies take
four times as long as its work on a few hundred items; `test_kmeans.py` holds both equal.
"""

from __future__ import annotations

import numpy as np

STEPS, TOLERANCE = 300, 1e-4  # scikit-learn's


def centres(items: np.ndarray, clusters: int, restarts: int, seed: int) -> np.ndarray | None:
    """The centres (clusters, width) of the best of the restarts on items (n, width); None where a cluster ran empty."""
    mean = items.mean(0)
    moved = (items - mean).astype(np.float64)
    inner = moved @ moved.T
    draws = np.random.RandomState(seed)
    weights = np.eye(len(items))[[_starts(inner, clusters, draws) for _ in range(restarts)]]
    found = _descended(weights, inner, TOLERANCE * np.trace(inner) / inner.shape[0] / items.shape[1])
    if found is None:
        return None
    best = _distances(found, inner).min(1).sum(1).argmin()
    return found[best] @ moved + mean


def _starts(inner: np.ndarray, clusters: int, draws: np.random.RandomState) -> list[int]:
    """Items to start at, by k-means++: each the best of a few, drawn in proportion to their squared distance."""
    count, lengths = len(inner), np.diag(inner)
    apart = np.maximum(lengths[:, None] + lengths - 2 * inner, 0)
    chosen = [int(draws.choice(count, p=np.full(count, 1 / count)))]
    nearest = apart[chosen[0]]
    for _ in range(1, clusters):
        places = draws.uniform(size=2 + int(np.log(clusters))) * nearest.sum()
        tried = np.minimum(np.searchsorted(np.cumsum(nearest), places), count - 1)
        closer = np.minimum(nearest, apart[tried])
        best = closer.sum(1).argmin()
        nearest = closer[best]
        chosen.append(int(tried[best]))
    return chosen


def _descended(weights: np.ndarray, inner: np.ndarray, tolerance: float) -> np.ndarray | None:
    """Lloyd's steps for all restarts, each until its labels stay or its centres move less than the tolerance.

    Centres as weights of the items, (restarts, clusters, items).
    """
    found, running = weights.copy(), np.arange(len(weights))
    labels = np.full((len(weights), len(inner)), -1)
    for _ in range(STEPS):
        now = _distances(found[running], inner).argmin(1)
        members = (now[:, None] == np.arange(weights.shape[1])[:, None]).astype(float)
        sizes = members.sum(-1, keepdims=True)
        if not sizes.all():
            return None
        step = members / sizes - found[running]
        found[running] += step
        still = (now != labels[running]).any(1) & (_lengths(step, inner).sum(1) > tolerance)
        labels[running] = now
        running = running[still]
        if not len(running):
            break
    return found


def _distances(weights: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Squared distances of centres to items: (restarts, clusters, items)."""
    return np.diag(inner) + _lengths(weights, inner)[..., None] - 2 * weights @ inner


def _lengths(weights: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Squared lengths of weighted sums of items: (..., items) to (...)."""
    return np.einsum("...i,...i->...", weights @ inner, weights)
