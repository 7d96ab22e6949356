"""What several tuned runs say together: importance, survival, pruning and removal, each over the runs of one model.

Depends on `subnetworks` (what is done to one run), `comparisons` (plans) and `attention`. A series is a list of runs.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from bertology_utils.instruments.attention import head_distances
from bertology_utils.models import Specimen
from bertology_utils.studies.overparametrization import subnetworks as nets
from bertology_utils.tuning.training import Examples, FineTuned
from bertology_utils.verdicts.published import published

Series = Sequence[FineTuned]
# of the nine tasks of prasanna2020bert; MRPC, STS-B and the tiny WNLI are left out
KAPPA_TASKS = ("CoLA", "MNLI", "QNLI", "QQP", "RTE", "SST-2")


def layer_contrasts(eager: Specimen, sentences: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    """Mean divergence of heads `within` a layer and `between` layers, in nats, (sentences,); needs eager attention."""
    return nets.contrast_by_sentence([head_distances(eager, [words]) for words in sentences], eager.layers)


def importances(series: Series, examples: Examples) -> np.ndarray:
    """`subnetworks.importance` of every run: (runs, layers, heads)."""
    return np.stack([nets.importance(run, examples).numpy() for run in series])


def shared_survivors(first: np.ndarray, second: np.ndarray) -> float:
    """Of the better half of the heads by one score, the share that another keeps too."""
    kept, others = nets.survivors(first), nets.survivors(second)
    return float((kept & others).sum() / kept.sum())


def pruning_orders(
    series: Series, scores: np.ndarray, rank_on: Examples, test: Examples, seed: int, inverse: int = 1
) -> dict[str, np.ndarray]:
    """Correctness along `subnetworks.pruning_curve` in each of its orders: (runs, steps, items).

    scores: the `importances` of the runs on `rank_on`, with which the curves begin. A random order is another one in
    each run. The inverse one, which no claim is about, is that of some runs alone.
    """
    found = {}
    for order in nets.ORDERS:
        some = zip(series[: inverse if order == "inverse" else None], torch.as_tensor(scores), strict=False)
        curves = (
            nets.pruning_curve(run, rank_on, test, order, seed=seed + i, whole=own) for i, (run, own) in enumerate(some)
        )
        found[order] = np.array([[step.scores for step in curve] for curve in curves])
    return found


def curve_samples(orders: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Of `pruning_orders`: two orders after their start, the `full` model, a `quarter` of its heads; (runs, items)."""
    whole, *_, quarter = np.moveaxis(orders["importance"], 1, 0)
    pruned = {f"{order}_order": orders[order][:, 1:].mean(1) for order in ("importance", "random")}
    return pruned | {"full": whole, "quarter": quarter}


def single_ablations(series: Series, examples: Examples) -> np.ndarray:
    """`subnetworks.single_ablations` of every run: (runs, layers, heads, items)."""
    return np.stack([nets.single_ablations(run, examples) for run in series])


def removals(
    series: Series, examples: Examples, changes: np.ndarray, test: Examples, scores: np.ndarray
) -> dict[str, np.ndarray]:
    """`subnetworks.removals` of runs, each with its `single_ablations` and its heads' scores: (runs, items)."""
    each = zip(series, changes, scores, strict=False)
    found = [nets.removals(run, examples, own, test, ranks) for run, own, ranks in each]
    return {name: np.stack([part[name] for part in found]) for name in found[0]}


def published_kappas() -> dict[str, float]:
    """Agreement of five seeds on the surviving heads, by task of prasanna2020bert."""
    return {f"published: {n}": published("prasanna2020bert", f"Fleiss kappa heads {n}") for n in KAPPA_TASKS}
