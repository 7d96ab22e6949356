"""Which heads and weights a fine-tuned classifier needs: pruning orders, ablations, sub-networks and their agreement.

Depends on `training` (classifiers and scores), `heads` and `compression.prune`; knows no claim. A `keep` is a boolean
(layers, heads); heads are ranked by michel2019sixteen's importance, measured on training examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.compression.prune import (
    Masks,
    bad_heads,
    bad_masks,
    head_masks,
    magnitude_masks,
    pruned,
    random_heads,
    random_masks,
)
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.heads import (
    PruningStep,
    ablate_each,
    cumulative_importance,
    drop_lowest,
    gate_gradients,
    gated,
    head_grid,
    head_importance,
    head_means,
    normalise_by_layer,
    prune_iteratively,
)
from bertology_utils.tuning.training import Examples, FineTuned, batches, classification_loss, correctness, predict

ORDERS = ("importance", "random", "inverse")
SUBNETWORKS = ("s_good", "s_random", "s_bad", "m_good", "m_random", "m_bad")


# ---------------------------------------------------------------- importance


def importance(run: FineTuned, examples: Examples, keep: Tensor | None = None) -> Tensor:
    """Mean |dL/dgate| over the examples, normalised within each layer: (layers, heads)."""
    feed = (batch for _, batch in batches(run.specimen, examples))
    return normalise_by_layer(head_importance(run.classifier, feed, classification_loss, keep).mean(0))


def two_scores(run: FineTuned, examples: Examples, batch_size: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Importance from each example's gradient, and the sum that arises where gradients are never zeroed.

    Both (layers, heads), of one backward pass; see `heads.cumulative_importance`.
    """
    feed = (batch for _, batch in batches(run.specimen, examples))
    gradients = torch.cat([gate_gradients(run.classifier, batch, classification_loss) for batch in feed])
    return gradients.abs().mean(0).numpy(), cumulative_importance(gradients, batch_size).numpy()


def survivors(scores: Tensor | np.ndarray, share: float = 0.5) -> np.ndarray:
    """The `share` of all heads with the highest scores: booleans (layers, heads)."""
    scores = torch.as_tensor(scores)
    count = scores.numel() - round(share * scores.numel())
    return drop_lowest(scores, torch.ones_like(scores, dtype=torch.bool), count).numpy()


# ---------------------------------------------------------------- pruning and ablation


def pruning_curve(
    run: FineTuned, train: Examples, test: Examples, order: str = "importance", step: float = 0.25, seed: int = 0
) -> list[PruningStep]:
    """Remove heads in an order, without retraining; `scores` are booleans over the test examples.

    order: "importance" drops the least important first (asked anew at each step, on `train`), "inverse" the most
    important, "random" any.
    """
    if order not in ORDERS:
        raise BertologyError(f"Unknown pruning order {order!r}: choose one of {', '.join(ORDERS)}.")
    generator = torch.Generator().manual_seed(seed)

    def rank(keep: Tensor) -> Tensor:
        if order == "random":
            return torch.rand(keep.shape, generator=generator)
        scores = importance(run, train, keep)
        return -scores if order == "inverse" else scores

    return prune_iteratively(rank, lambda keep: with_heads(run, test, keep), head_grid(run.classifier), step)


def with_heads(run: FineTuned, examples: Examples, keep: Tensor | np.ndarray) -> np.ndarray:
    """Correctness (items,) with the other heads closed."""
    with gated(run.classifier, torch.as_tensor(keep).float()):
        return correctness(run.classifier, run.specimen, examples)


def right_probability(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """Probability of the right class, (batch,)."""
    return torch.exp(-classification_loss(model, batch))


def probability_with(run: FineTuned, examples: Examples, keep: Tensor | np.ndarray) -> np.ndarray:
    """Probability of the right class (items,) with the other heads closed."""
    with gated(run.classifier, torch.as_tensor(keep).float()):
        table = predict(run.classifier, run.specimen, examples)
    return table[np.arange(len(examples)), np.asarray(examples.labels)]


def single_ablations(run: FineTuned, examples: Examples, how: str = "zero") -> np.ndarray:
    """Change of the right class's probability with each head ablated: (layers, heads, items); + means better without.

    how: "zero", "mean" or "uniform", as `heads.ablated`.
    """
    feed = batches(run.specimen, examples)
    means = head_means(run.specimen.encoder, [batch for _, batch in feed]) if how == "mean" else None
    change = np.empty((*head_grid(run.classifier), len(examples)))
    for rows, batch in feed:
        with torch.no_grad():
            whole = right_probability(run.classifier, batch)
        change[..., rows] = (ablate_each(run.classifier, batch, right_probability, how, means) - whole).numpy()
    return change


def layer_ablations(run: FineTuned, examples: Examples, scores: Tensor | None = None) -> np.ndarray:
    """The right class's probability (layers, items) with all heads of a layer closed.

    With `scores` (layers, heads) the highest head of the layer stays open: one head per layer (michel2019sixteen).
    """
    layers, heads = head_grid(run.classifier)
    found = []
    for layer in range(layers):
        keep = torch.ones(layers, heads)
        keep[layer] = 0
        if scores is not None:
            keep[layer, int(scores[layer].argmax())] = 1
        found.append(probability_with(run, examples, keep))
    return np.stack(found)


def best_without(changes: np.ndarray) -> np.ndarray:
    """The change of the ablation that helps most, chosen on the even items and measured on the odd: (odd items,).

    `changes` is (..., items), one row an ablation.
    """
    rows = changes.reshape(-1, changes.shape[-1])
    return rows[rows[:, ::2].mean(1).argmax(), 1::2]


# ---------------------------------------------------------------- good, random and bad sub-networks


def subnetworks(run: FineTuned, scores: Tensor, share: float = 0.5, seed: int = 0) -> dict[str, Masks]:
    """The six mask sets of prasanna2020bert at one share of survivors: s_ keeps heads, m_ keeps single weights.

    Deviation: heads alone (no feed-forward layers), and a fixed share in place of "until 90 % of the score".
    """
    encoder = run.specimen.encoder
    keep = torch.as_tensor(survivors(scores, share))
    magnitude = magnitude_masks(encoder, 1 - share)
    return {
        "s_good": head_masks(encoder, keep),
        "s_random": head_masks(encoder, random_heads(keep, seed)),
        "s_bad": head_masks(encoder, bad_heads(keep, seed)),
        "m_good": magnitude,
        "m_random": random_masks(magnitude, seed),
        "m_bad": bad_masks(magnitude, seed),
    }


def score_pruned(run: FineTuned, examples: Examples, masks: Masks) -> np.ndarray:
    """Correctness (items,) of the tuned classifier with masks applied and no retraining."""
    with pruned(run.classifier.encoder, masks):
        return correctness(run.classifier, run.specimen, examples)


def matrix_survival(model: nn.Module, share: float = 0.5) -> np.ndarray:
    """Share of weights of each matrix that survive global magnitude pruning: (matrices,)."""
    return np.array([float(mask.float().mean()) for mask in magnitude_masks(model, 1 - share).values()])


# ---------------------------------------------------------------- agreement


def agreement(survival: np.ndarray) -> tuple[np.ndarray, float]:
    """Parts of Fleiss' kappa of (runs, heads): each head's share of agreeing pairs of runs, (heads,), and chance.

    kappa = (mean agreement - chance) / (1 - chance), as `heads.fleiss_kappa`.
    """
    kept = np.asarray(survival, dtype=bool)
    pairs = [kept[a] == kept[b] for a, b in combinations(range(len(kept)), 2)]
    rate = kept.mean()
    return np.mean(pairs, axis=0), float(rate**2 + (1 - rate) ** 2)


def agreement_between(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Share of pairs (a run of the first, a run of the second) that agree on each head: (heads,)."""
    return np.mean([a == b for a, b in product(np.asarray(first, bool), np.asarray(second, bool))], axis=0)


def task_overlap(first: np.ndarray, second: np.ndarray) -> dict[str, np.ndarray]:
    """Do two tasks leave the same heads? Survival (runs, heads) of each; samples over heads.

    between_tasks and between_seeds are shares of agreeing pairs of runs; shared_unneeded and either_unneeded say which
    heads the first runs of both, or of at least one, prune (their ratio is the Jaccard index).
    """
    gone = ~np.asarray(first[0], bool), ~np.asarray(second[0], bool)
    within = [agreement(kept)[0] for kept in (first, second) if len(kept) > 1]
    return {
        "between_tasks": agreement_between(first, second),
        "between_seeds": np.mean(within, axis=0),
        "shared_unneeded": gone[0] & gone[1],
        "either_unneeded": gone[0] | gone[1],
    }


def layer_contrast(distances: np.ndarray, layers: int) -> dict[str, np.ndarray]:
    """Mean distance of each head to the others of its layer (within) and to those of other layers (between): (heads,).

    `distances` is (layers * heads, layers * heads), as `attention.head_distances`. Raises BertologyError where a layer
    has one head only.
    """
    if len(distances) < 2 * layers:
        raise BertologyError("A head can be compared with others of its layer only if there are at least two heads.")
    owner = np.repeat(np.arange(layers), len(distances) // layers)
    same = owner[:, None] == owner[None, :]
    mates = same & ~np.eye(len(owner), dtype=bool)
    return {"within": (distances * mates).sum(1) / mates.sum(1), "between": (distances * ~same).sum(1) / (~same).sum(1)}


def threshold_gap(scores: Sequence[np.ndarray], share: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Is the cut of the first pruning round sharp? (gap (runs, 1), standard deviation over runs (heads,)).

    gap: distance between the last head that is pruned and the first that stays, at the lowest `share`; one value a
    run, so that runs count as seeds and not as items.
    """
    table = np.stack([np.asarray(s).ravel() for s in scores])  # (runs, heads)
    cut = max(1, round(share * table.shape[1]))
    ordered = np.sort(table, axis=1)
    return ordered[:, cut : cut + 1] - ordered[:, cut - 1 : cut], table.std(0)
