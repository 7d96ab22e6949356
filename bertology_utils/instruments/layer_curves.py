"""From scores per layer to samples about layers: bands, peaks, steps, expected layers. Needs numpy; knows no model.

Scores are `(layers, seeds, items)`, layer 0 the embeddings. A claim that something is best "in the middle" is tested
on the mean of a band of layers against the other bands: the place of the maximum of a flat, noisy curve falls into
the middle by itself, and would prove anything.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

LEAD = 0.05  # what a task must be read above its majority label, to have a curve worth looking at
MOST_TURNED = 2  # seeds that must agree on an item; what chance makes of larger sets would follow their number
LOWER, UPPER = 1 / 3, 2 / 3  # bands of relative depth: low above 0 and up to L/3, middle up to 2L/3, high above


def band_of(layers: int) -> dict[str, np.ndarray]:
    """Layer numbers of each band, for a model with `layers` blocks (so layers + 1 vectors).

    The embeddings belong to no band: what they lack, no layer has computed yet. Two blocks have no low one; then the
    embeddings stand for it.
    """
    depth = np.arange(layers + 1) / layers
    low = (depth > 0) & (depth <= LOWER)
    inside = {
        "low": low if low.any() else depth == 0,
        "middle": (depth > LOWER) & (depth <= UPPER),
        "high": depth > UPPER,
    }
    return {name: np.flatnonzero(chosen) for name, chosen in inside.items()}


def band_samples(scores: np.ndarray, prefix: str = "") -> dict[str, np.ndarray]:
    """Means over the bands, and `first` and `last` layer: name -> (seeds, items)."""
    found = {name: scores[chosen].mean(0) for name, chosen in band_of(len(scores) - 1).items()}
    found |= {"first": scores[0], "last": scores[-1]}
    return {prefix + name: values for name, values in found.items()}


def pooled(scores: Sequence[np.ndarray]) -> np.ndarray:
    """The mean score of several tasks, cut to the same number of items: (layers, seeds, items)."""
    items = min(score.shape[-1] for score in scores)
    return np.mean([score[..., :items] for score in scores], axis=0)


def prominence_samples(scores: np.ndarray, prefix: str = "") -> dict[str, np.ndarray]:
    """`best`: the layer that is best on the other half of the items; `mean`: all layers: (seeds, items).

    A flat curve has its best layer anywhere, and in the middle on average; only one with a peak has a place for it.
    """
    found = best_layer_samples(scores, {"best": range(len(scores))}) | {"mean": scores.mean(0)}
    return {prefix + name: values for name, values in found.items()}


def best_layer_samples(scores: np.ndarray, bands: Mapping[str, Sequence[int]]) -> dict[str, np.ndarray]:
    """For each band of layers the score of its best layer, chosen on the other half of the items: (seeds, items).

    The layer that is best on the even items is scored on the odd ones, and the other way round (cross-fitting).
    """
    found = {name: np.empty(scores.shape[1:]) for name in bands}
    for scored in (0, 1):
        curve = scores[..., 1 - scored :: 2].mean((1, 2))
        for name, layers in bands.items():
            found[name][:, scored::2] = scores[max(layers, key=lambda layer: curve[layer]), :, scored::2]
    return found


def read_above(scores: Mapping[str, np.ndarray], majority: Mapping[str, np.ndarray], tasks: Sequence[str]) -> list[str]:
    """Those tasks that are read LEAD above their majority label (items,) in their best layer, on even items.

    All of them where there is none: then a prediction's condition, measured on the odd items, has something to fail on.
    """
    lead = {name: scores[name][..., ::2].mean((1, 2)).max() - majority[name][::2].mean() for name in tasks}
    return [name for name in tasks if lead[name] > LEAD] or list(tasks)


def read_samples(
    scores: Mapping[str, np.ndarray], majority: Mapping[str, np.ndarray], tasks: Sequence[str], prefix: str
) -> dict[str, np.ndarray]:
    """`<prefix>_read` (seeds, items): each task's best layer, chosen on even items and scored on odd ones as the tasks
    are, tasks averaged; `<prefix>_majority` (items,): their majority labels on the same items."""
    best = [best_layer_samples(scores[name], {"any": range(len(scores[name]))})["any"][None, :, 1::2] for name in tasks]
    labels = [majority[name][None, None, 1::2] for name in tasks]
    return {f"{prefix}_read": pooled(best)[0], f"{prefix}_majority": pooled(labels)[0, 0]}


def window(layers: int, low: float, high: float) -> dict[str, list[int]]:
    """Layers of relative depth between `low` and `high`, those `below` and those `above`."""
    depth = np.arange(layers + 1) / layers
    chosen = {"below": depth < low, "window": (depth >= low) & (depth <= high), "above": depth > high}
    return {name: np.flatnonzero(inside).tolist() for name, inside in chosen.items()}


def drop_samples(scores: np.ndarray, low: float, high: float) -> dict[str, np.ndarray]:
    """The largest fall from one layer to the next in a window of relative depth, and outside of it: (seeds, items).

    The steps are chosen on one half of the items and measured on the other, both ways.
    """
    falls = scores[:-1] - scores[1:]  # fall number l ends in layer l + 1
    depth = np.arange(1, len(scores)) / (len(scores) - 1)
    inside = (depth >= low) & (depth <= high)
    places = {"drop_window": np.flatnonzero(inside).tolist(), "drop_elsewhere": np.flatnonzero(~inside).tolist()}
    return best_layer_samples(falls, places)


def peak_layers(scores: np.ndarray, folds: int = 6) -> np.ndarray:
    """The layer of the best score in each fold of the items, seeds pooled; tied layers are averaged: (folds,)."""
    peaks = []
    for rows in np.array_split(np.arange(scores.shape[-1]), folds):
        curve = scores[..., rows].mean((1, 2))
        peaks.append(np.flatnonzero(curve >= curve.max() - 1e-12).mean())
    return np.array(peaks)


def expected_layer_samples(cumulative: np.ndarray, name: str) -> dict[str, np.ndarray]:
    """`<name>_moment` and `<name>_gain` (seeds, items); the ratio of their means is the expected layer.

    sum_l l * (s_l - s_(l-1)) = L * s_L - sum_(l<L) s_l, so items can be resampled (tenney2019bert gives no interval).
    """
    layers = len(cumulative) - 1
    return {
        f"{name}_moment": layers * cumulative[-1] - cumulative[:-1].sum(0),
        f"{name}_gain": cumulative[-1] - cumulative[0],
    }


def layers_to_share(cumulative: np.ndarray, share: float = 0.8, folds: int = 6) -> np.ndarray:
    """How many layers it takes to reach `share` of the whole gain, in folds of the items: (folds,); 0 without gain."""
    needed = []
    for rows in np.array_split(np.arange(cumulative.shape[-1]), folds):
        curve = cumulative[..., rows].mean((1, 2))
        gain = curve.max() - curve[0]
        needed.append(float(np.argmax(curve >= curve[0] + share * gain)) if gain > 0.01 else 0.0)
    return np.array(needed)


def set_right_samples(cumulative: np.ndarray) -> dict[str, np.ndarray]:
    """Items that the upper half of the layers sets right, whichever sentences a probe was trained on: (seeds, items).

    `set_right`: two seeds miss the item at L/2, and two others find it at L; the mean over the ways to choose them.
    `same_depth`: the same between two pairs at one depth, the mean of L/2 and L; that much turns by the choice of
    training sentences alone. A seed's row is its pseudo-value (the jackknife): n times the count of all n seeds less
    n - 1 times that without it, so that an interval over seeds and items has seen how much hangs on single seeds.
    Raises ValueError for a single seed, which has no halves.
    """

    def count(seeds: Sequence[int]) -> dict[str, np.ndarray]:
        middle, last = cumulative[(len(cumulative) - 1) // 2][seeds], cumulative[-1][seeds]
        return {
            "set_right": _turned(middle, last),
            "same_depth": (_turned(middle, middle) + _turned(last, last)) / 2,
        }

    n = cumulative.shape[1]
    every = count(range(n))
    if n <= MOST_TURNED * 2:  # without one of them there are no two pairs
        return {name: values[None] for name, values in every.items()}
    without = [count([other for other in range(n) if other != seed]) for seed in range(n)]
    return {name: np.stack([n * every[name] - (n - 1) * rest[name] for rest in without]) for name in every}


def _turned(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """How often two seeds are wrong `before` and two others right `after`, both (seeds, items), over all such pairs.

    One where there are fewer than four.
    """
    size = min(MOST_TURNED, len(before) // 2)
    sets = [list(chosen) for chosen in combinations(range(len(before)), size)]
    pairs = [(a, b) for a in sets for b in sets if a and not set(a) & set(b)]
    return np.stack([(1 - before[a]).prod(0) * after[b].prod(0) for a, b in pairs]).mean(0)


def mix_entropy(shares: np.ndarray) -> np.ndarray:
    """Entropy of mixing weights over its maximum, 1 = all layers alike: (..., layers) to (...)."""
    shares = np.asarray(shares, dtype=float)
    return -(shares * np.log(np.clip(shares, 1e-12, None))).sum(-1) / np.log(shares.shape[-1])


def upper_share(shares: np.ndarray) -> np.ndarray:
    """The part of mixing weights that lies on the upper third of the layers: (..., layers) to (...)."""
    return np.asarray(shares)[..., band_of(np.shape(shares)[-1] - 1)["high"]].sum(-1)


def side_means(values: Mapping[str, np.ndarray], sides: Mapping[str, Sequence[str]]) -> dict[str, np.ndarray]:
    """The mean over the tasks of each side, unit by unit: side -> (units,) or (seeds, units).

    The tasks are those that a study names, so they are no sample of tasks: the units are what was drawn.
    """
    return {side: np.mean([values[name] for name in names], axis=0) for side, names in sides.items()}


def top_samples(tasks: Sequence[np.ndarray], folds: int = 10, planted: float = 0.1) -> dict[str, np.ndarray]:
    """`at_top`: the share of tasks whose best layer is the last one, in each fold of the items: (folds,). `peak`,
    `last`: scores of each task's best layer, chosen on the other half of the items, and of its last layer, tasks
    averaged: (seeds, items).

    `planted_top` is `at_top` where the last layer scores `planted` more than the best one: the positive control.
    """
    every = {"peak": range(len(tasks[0])), "last": [len(tasks[0]) - 1]}
    ends = [best_layer_samples(task, every) for task in tasks]
    raised = [np.concatenate([task[:-1], task[[task.mean((1, 2)).argmax()]] + planted]) for task in tasks]
    found = {"at_top": _at_top(tasks, folds), "planted_top": _at_top(raised, folds)}
    return found | {name: pooled([end[name][None] for end in ends])[0] for name in every}


def _at_top(tasks: Sequence[np.ndarray], folds: int) -> np.ndarray:
    return np.mean([peak_layers(scores, folds) == len(scores) - 1 for scores in tasks], axis=0)


def loss_samples(scores: Sequence[np.ndarray], rank: int, folds: int = 8) -> dict[str, np.ndarray]:
    """What single steps to one layer more cost the `rank` tasks that lose most by one: (seeds, folds) each.

    `least`: the loss of the last of these tasks, 0 on average where no step costs anything; `late`: that of the last of
    most of as many, by steps into the high band alone. Tasks and their steps are chosen on the other seeds and the
    other folds of the items, so that noise is not taken for a loss.
    """
    losses = -np.diff(np.stack([_by_fold(own, folds) for own in scores]), axis=1)  # (tasks, layers, seeds, folds)
    late = [layer - 1 for layer in band_of(losses.shape[1])["high"]]
    return {"least": _loss_of(losses, rank), "late": _loss_of(losses[:, late], rank // 2 + 1)}


def _loss_of(losses: np.ndarray, rank: int) -> np.ndarray:
    """What the task at this rank, the costliest first, loses by its costliest step; both are chosen on the rest:
    (tasks, steps, seeds, folds) to (seeds, folds)."""
    found = np.empty(losses.shape[2:])
    for seed, fold in np.ndindex(*found.shape):
        others = np.delete(np.delete(losses, seed, 2), fold, 3).mean((2, 3))  # (tasks, steps)
        task = np.argsort(-others.max(1))[rank - 1]
        found[seed, fold] = losses[task, others[task].argmax(), seed, fold]
    return found


def _by_fold(scores: np.ndarray, folds: int) -> np.ndarray:
    """Means over consecutive items: (layers, seeds, items) -> (layers, seeds, folds)."""
    return np.stack([part.mean(-1) for part in np.array_split(scores, folds, axis=-1)], axis=-1)
