"""Clusters of vectors against labels: k-means, and mutual information as a mean over items. Needs numpy, scikit-learn
and `probes` (for who reads what).

Nothing is trained on labels here. Normalised mutual information is a property of a whole clustering; its
`information_values` share it out among the items, so that it can be resampled like any other mean.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from sklearn.cluster import KMeans

from bertology_utils.instruments.probes import items_of_seeds

RESTARTS = 10  # the best of ten starts counts: the default of the library that jawahar2019what used


def cluster(
    train: np.ndarray, test: np.ndarray, clusters: int, seeds: Sequence[int], groups: Sequence[int]
) -> np.ndarray:
    """The k-means cluster of each test item, layer by layer and seed by seed: integers (layers, seeds, items).

    `train` (layers, items, width) finds the centres, `test` (layers, items, width) goes to the nearest of them. Each
    seed starts elsewhere and reads training items of its own, dealt out by their `groups` (the sentence of each item),
    so that seeds differ as other items would.
    """
    drawn = items_of_seeds(train.shape[1], len(seeds), groups).numpy()
    found = [
        [
            KMeans(clusters, n_init=RESTARTS, random_state=seed).fit(known[rows]).predict(new)
            for seed, rows in zip(seeds, drawn, strict=True)
        ]
        for known, new in zip(train, test, strict=True)
    ]
    return np.array(found)


def information_values(clusters: Sequence[int], labels: Sequence[Hashable]) -> np.ndarray:
    """Values (items,) whose mean is the normalised mutual information of clusters and labels, 0 to 1.

    Normalised by the mean of both entropies. An item's value is the whole plus its influence on the whole (the first
    order of what leaving it out would change), so resampled means spread as the measure itself does on resampled items.
    Raises ValueError where all items have the same label and the same cluster: there is nothing to agree on.
    """
    (_, rows), (_, columns) = (np.unique(np.asarray(x), return_inverse=True) for x in (clusters, labels))
    joint = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(joint, (rows, columns), 1 / len(rows))
    of_cluster, of_label, of_both = joint.sum(1)[rows], joint.sum(0)[columns], joint[rows, columns]
    shared, surprise = np.log(of_both / (of_cluster * of_label)), -np.log(of_cluster * of_label)
    if surprise.mean() <= 0:
        raise ValueError("mutual information needs more than one label or cluster")
    whole = 2 * shared.mean() / surprise.mean()
    return whole + (2 * shared - whole * surprise) / surprise.mean()
