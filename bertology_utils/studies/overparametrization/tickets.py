"""Good, random and bad sub-networks, pruned and tuned again: the experiment of prasanna2020bert.

Depends on `subnetworks` (masks), `training` and `runs`. Names are those of SUBNETWORKS: s_ keeps heads, m_ weights.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bertology_utils.absent import Absent, absent_in
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.studies.overparametrization import subnetworks as nets
from bertology_utils.studies.overparametrization.subnetworks import SUBNETWORKS
from bertology_utils.tuning.comparisons import Plan
from bertology_utils.tuning.training import FineTuned, finetune
from bertology_utils.verdicts.published import published

Scores = dict[str, np.ndarray]
RANDOM_INIT = "s_random"  # the sub-network of untrained models that those of the model are held against


def six_subnetworks(
    specimen: Specimen, series: Sequence[FineTuned], scores: np.ndarray, plan: Plan, task: str = "number"
) -> dict[str, Scores]:
    """The six sub-networks of each tuned run: as they are (`pruned`) and tuned again from the specimen (`retrained`).

    scores: the heads' importance (runs, layers, heads). Both hold correctness (runs, items) by sub-network; the same
    sentences as the whole model are read, with one seed a run. What is only drawn or only a twin's has one run.
    """
    train, test = plan.examples(task)
    masks = [nets.subnetworks(run, own, seed=i) for i, (run, own) in enumerate(zip(series, scores, strict=False))]
    runs = {name: len(masks) if name == RANDOM_INIT or not specimen.is_random else 1 for name in SUBNETWORKS}

    def again(seed: int, name: str) -> np.ndarray:
        options = {"epochs": plan.epochs, "budget": 128, "masks": masks[seed][name]}
        return finetune(specimen, train, test, seed, **options).correct

    return {
        "pruned": {name: nets.score_pruned(series[0], test, masks[0][name])[None] for name in SUBNETWORKS},
        "retrained": {name: np.stack([again(seed, name) for seed in range(runs[name])]) for name in SUBNETWORKS},
    }


def tickets(retrained: Runs | Absent, full: Runs) -> Runs | Absent:
    """The retrained sub-networks beside the whole model (`full`) and random halves of untrained ones (`random_init`).

    For the model these keep heads, and for the twin, which is untrained itself, weights.
    """
    if absent := absent_in(retrained):
        return absent
    model, twin = retrained.model, retrained.twin
    whole = {side: runs[: len(own["s_good"])] for side, runs, own in
             (("model", full.model, model), ("twin", full.twin, twin))}  # fmt: skip
    return Runs(
        model | {"full": whole["model"], "random_init": twin[RANDOM_INIT]},
        twin | {"full": whole["twin"], "random_init": twin["m_random"]},
    )


def by_subnetwork(found: Mapping[str, Scores]) -> dict[str, Scores]:
    """`six_subnetworks` as groups of bars: "s-good" -> pruned and retrained."""
    return {label(name): {how: scores[name] for how, scores in found.items()} for name in SUBNETWORKS}


def published_tickets() -> dict[str, float]:
    """Means over GLUE after retraining."""
    return {label(name): published("prasanna2020bert", f"{label(name)} retrained") for name in SUBNETWORKS}


def label(name: str) -> str:
    return name.replace("_", "-")
