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
    sentences as the whole model are read, with one seed a run. What is only drawn, `pruned`, has one run, and none of a
    twin; what is only a twin's has one.
    """
    train, test = plan.examples(task)
    first, *others = zip(series, scores, strict=False)
    masks = [nets.subnetworks(*first)]
    further = [RANDOM_INIT] if specimen.is_random else SUBNETWORKS
    masks += [nets.subnetworks(*own, seed=i, names=further) for i, own in enumerate(others, 1)]

    def again(name: str) -> np.ndarray:
        options = {"epochs": plan.epochs, "budget": 128}
        own = enumerate(sets[name] for sets in masks if name in sets)
        return np.stack([finetune(specimen, train, test, seed, masks=kept, **options).correct for seed, kept in own])

    drawn = () if specimen.is_random else SUBNETWORKS
    return {
        "pruned": {name: nets.score_pruned(series[0], test, masks[0][name])[None] for name in drawn},
        "retrained": {name: again(name) for name in SUBNETWORKS},
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
    """`six_subnetworks` as groups of bars: "s-good" -> pruned, as far as there, and retrained."""
    return {label(name): {how: scores[name] for how, scores in found.items() if name in scores} for name in SUBNETWORKS}


def published_tickets() -> dict[str, float]:
    """Means over GLUE after retraining."""
    return {label(name): published("prasanna2020bert", f"{label(name)} retrained") for name in SUBNETWORKS}


def label(name: str) -> str:
    return name.replace("_", "-")
