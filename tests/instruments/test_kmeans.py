"""K-means from inner products finds what scikit-learn's finds, start by start, and leaves to it what it cannot do."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from bertology_utils.instruments import kmeans
from bertology_utils.instruments.clusters import nearest_centre


def _items(count: int, seed: int, spread: float = 2.0) -> np.ndarray:
    """Items around six places in 200 dimensions, float32, apart from the origin."""
    places = np.random.default_rng(9).normal(5, 1, (6, 200))
    generator = np.random.default_rng(seed)
    return (places[generator.integers(6, size=count)] + spread * generator.normal(size=(count, 200))).astype(np.float32)


@pytest.mark.parametrize("restarts", [1, 10])
@pytest.mark.parametrize("spread", [0.5, 4.0])
def test_new_items_go_where_scikit_learn_sends_them(restarts, spread):
    known, new = _items(120, 0, spread), _items(300, 1, spread)
    for seed in range(8):
        plain = KMeans(5, n_init=restarts, random_state=seed).fit(known)
        found = nearest_centre(known, new, 5, seed, restarts)
        assert len(set(zip(found, plain.predict(new), strict=True))) == len(set(found))  # up to the clusters' names
        centres = kmeans.centres(known, 5, restarts, seed)
        inertia = ((known[:, None] - centres) ** 2).sum(-1).min(1).sum()
        assert inertia == pytest.approx(plain.inertia_, rel=1e-4)


def test_a_cluster_that_runs_empty_is_left_to_scikit_learn():
    known = np.repeat([[0.0, 0.0], [1.0, 0.0]], 5, axis=0)
    assert kmeans.centres(known, 3, 2, 0) is None
