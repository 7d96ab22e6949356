"""Which heads and weights a fine-tuned classifier needs: pruning orders, ablations, sub-networks and their agreement.

Depends on `training` (classifiers and scores), `heads` and `compression.prune`; knows no claim. A `keep` is a boolean
(layers, heads); heads are ranked by michel2019sixteen's importance, measured on training examples.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.compression.prune import magnitude_masks
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.blocks import recorded_calls, starting_at
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
from bertology_utils.samples import UnitSamples, by_unit, per_seed
from bertology_utils.tuning.training import Examples, FineTuned, batches, classification_loss, correctness

ORDERS = ("importance", "random", "inverse")


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
    run: FineTuned,
    train: Examples,
    test: Examples,
    order: str = "importance",
    step: float = 0.25,
    seed: int = 0,
    whole: Tensor | None = None,
) -> list[PruningStep]:
    """Remove heads in an order down to one step, without retraining; `scores` are booleans over the test examples.

    test: the examples that the run was scored on. order: "importance" drops the least important first (asked anew at
    each step, on `train`), "inverse" the most important, "random" any. whole: the `importance` on `train` of the whole
    model where it is known already.
    """
    if order not in ORDERS:
        raise BertologyError(f"Unknown pruning order {order!r}: choose one of {', '.join(ORDERS)}.")
    generator = torch.Generator().manual_seed(seed)

    def rank(keep: Tensor) -> Tensor:
        if order == "random":
            return torch.rand(keep.shape, generator=generator)
        scores = whole if keep.all() and whole is not None else importance(run, train, keep)
        return -scores if order == "inverse" else scores

    def right(keep: Tensor) -> np.ndarray:
        return run.correct if keep.all() else with_heads(run, test, keep)

    return prune_iteratively(rank, right, head_grid(run.classifier), step, floor=step)


def with_heads(run: FineTuned, examples: Examples, keep: Tensor | np.ndarray) -> np.ndarray:
    """Correctness (items,) with the other heads closed."""
    with gated(run.classifier, torch.as_tensor(keep).float()):
        return correctness(run.classifier, run.specimen, examples)


def right_probability(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """Probability of the right class, (batch,)."""
    return torch.exp(-classification_loss(model, batch))


def probability_with(run: FineTuned, examples: Examples, keep: Tensor | np.ndarray) -> np.ndarray:
    """Probability of the right class (items,) with the other heads closed."""
    return right_probabilities(run, examples, [torch.as_tensor(keep)])[0]


def right_probabilities(run: FineTuned, examples: Examples, gates: Sequence[Tensor]) -> np.ndarray:
    """Probability of the right class under each table of gates: (tables, items)."""
    labels = np.asarray(examples.labels)
    return gated_probabilities(run, examples, gates)[:, np.arange(len(labels)), labels]


@torch.no_grad()
def gated_probabilities(run: FineTuned, examples: Examples, gates: Sequence[Tensor]) -> np.ndarray:
    """Class probabilities (tables, items, classes) under each table of gates.

    The blocks below the first that a table closes a head of run once for all tables.
    """
    model = run.classifier
    found = np.empty((len(gates), len(examples), model.head.out_features), dtype=np.float32)
    for rows, batch in batches(run.specimen, examples):
        del batch["labels"]
        with recorded_calls(model.encoder) as calls:
            whole = model(**batch)
        inputs = [call.hidden for call in calls]
        for table, keep in zip(found, gates, strict=True):
            closed = (keep != 1).any(1).nonzero()
            logits = whole
            if len(closed):
                with starting_at(model.encoder, int(closed[0]), [inputs]), gated(model, keep.float()):
                    logits = model(**batch)
            table[rows] = logits.softmax(-1).numpy()
    return found


def single_ablations(run: FineTuned, examples: Examples, how: str = "zero") -> np.ndarray:
    """Change of the right class's probability with each head ablated: (layers, heads, items); + is better without.

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


def layer_gates(grid: tuple[int, int], scores: np.ndarray | None = None) -> list[Tensor]:
    """Gates (layers, heads) that close all heads of one layer, a table a layer.

    With `scores` (layers, heads) the highest head of the layer stays open: one head per layer (michel2019sixteen).
    """
    tables = []
    for layer in range(grid[0]):
        keep = torch.ones(grid)
        keep[layer] = 0
        if scores is not None:
            keep[layer, int(scores[layer].argmax())] = 1
        tables.append(keep)
    return tables


def ranked_gates(run: FineTuned, examples: Examples, gates: Sequence[Tensor]) -> list[Tensor]:
    """The gates in order of the right class's mean probability with them, the most harmless first."""
    kept = right_probabilities(run, examples, gates).mean(1)
    return [gates[i] for i in np.argsort(-kept, kind="stable")]


def removals(
    run: FineTuned, examples: Examples, changes: np.ndarray, test: Examples, scores: np.ndarray
) -> dict[str, np.ndarray]:
    """Correctness (items,) on `test` without parts that were chosen on other examples.

    without_head, without_layer: the head (by `changes`, `single_ablations` of the examples), or the layer's attention,
    whose removal helps the right class most; one_head: the layer in the middle of the ranks cut to its most important
    head by `scores` (layers, heads), so that most layers do at least as well; full: the whole model.
    """
    grid = head_grid(run.classifier)
    without_head = torch.ones(grid)
    without_head.view(-1)[int(changes.mean(-1).argmax())] = 0
    one_head = ranked_gates(run, examples, layer_gates(grid, scores))
    gates = {
        "full": torch.ones(grid),
        "without_head": without_head,
        "without_layer": ranked_gates(run, examples, layer_gates(grid))[0],
        "one_head": one_head[len(one_head) // 2],
    }
    classes = gated_probabilities(run, test, list(gates.values())).argmax(-1)
    return dict(zip(gates, classes == np.asarray(test.labels), strict=True))


# ---------------------------------------------------------------- agreement


def matrix_survival(model: nn.Module, share: float = 0.5) -> np.ndarray:
    """Share of weights of each matrix that survive global magnitude pruning: (matrices,)."""
    return np.array([float(mask.float().mean()) for mask in magnitude_masks(model, 1 - share).values()])


def agreement(survival: np.ndarray) -> tuple[np.ndarray, float]:
    """Parts of Fleiss' kappa of (runs, heads): each head's share of agreeing pairs of runs, (heads,), and chance.

    kappa = (mean agreement - chance) / (1 - chance), as `heads.fleiss_kappa`.
    """
    kept = np.asarray(survival, dtype=bool)
    pairs = [kept[a] == kept[b] for a, b in combinations(range(len(kept)), 2)]
    rate = kept.mean()
    return np.mean(pairs, axis=0), float(rate**2 + (1 - rate) ** 2)


def dealt(runs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What each run keeps, dealt to random places: as many survivors, but any heads; (runs, parts) as it came."""
    return rng.permuted(runs, axis=1)


def pairs_of_runs(*groups: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray, tuple[str, str]]]:
    """Every two runs of one group, with their names: runs are what was drawn, not the heads that each of them has."""
    for group, runs in enumerate(groups):
        for a, b in combinations(range(len(runs)), 2):
            yield np.ravel(runs[a]), np.ravel(runs[b]), (f"{group}-{a}", f"{group}-{b}")


def kappa_by_run(*tasks: np.ndarray) -> UnitSamples:
    """Fleiss' kappa of (runs, heads) as one value a run, made of the kappas of each two runs of one task."""
    chance = agreement(np.concatenate(tasks))[1]
    pairs = list(pairs_of_runs(*tasks))
    return by_unit([((a == b).mean() - chance) / (1 - chance) for a, b, _ in pairs], [names for *_, names in pairs])


def task_overlap(*tasks: np.ndarray) -> dict[str, UnitSamples]:
    """Do tasks leave the same heads? Survival (runs, heads) of each; one value a run.

    between_tasks is the share of heads on which runs of two tasks agree, between_seeds the same for two runs of one.
    """
    runs = [[(f"{place}-{i}", run) for i, run in enumerate(task)] for place, task in enumerate(tasks)]
    across = (pair for first, second in combinations(runs, 2) for pair in product(first, second))
    mixed = [((a == b).mean(), (name, other)) for (name, a), (other, b) in across]
    alike = [((a == b).mean(), names) for a, b, names in pairs_of_runs(*tasks)]
    named = {"between_tasks": mixed, "between_seeds": alike}
    return {name: by_unit(*map(list, zip(*pairs, strict=True))) for name, pairs in named.items()}


def reliability(*tasks: np.ndarray) -> UnitSamples:
    """Correlation of the heads' scores (runs, ...) between every two runs of one task, as one value a run.

    The share of a score's variance that lies between heads: near 0, heads differ no more than one does by run.
    """
    pairs = list(pairs_of_runs(*tasks))
    return by_unit([np.corrcoef(a, b)[0, 1] for a, b, _ in pairs], [names for *_, names in pairs])


def spread_by_run(shares: np.ndarray) -> UnitSamples:
    """How far each run lies off the others over all matrices: (runs, matrices) to one value a run.

    Root mean squares, scaled so that they estimate the standard deviation over runs.
    """
    runs = len(shares)
    others = (shares.sum(0) - shares) / (runs - 1)
    return per_seed(np.sqrt(((shares - others) ** 2).mean(1) * (runs - 1) / runs))


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


def contrast_by_sentence(distances: Sequence[np.ndarray], layers: int) -> dict[str, np.ndarray]:
    """`layer_contrast` of each sentence's distances, averaged over all heads there are: (sentences,) each."""
    found = [layer_contrast(table, layers) for table in distances]
    return {name: np.array([part[name].mean() for part in found]) for name in found[0]}
