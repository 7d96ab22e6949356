"""Three tasks from one start, pre-trained or random: tuned, frozen with a trained classifier, and with untrained ones.

The comparison of kovaleva2019revealing. Depends on `comparisons` for each condition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.tuning import comparisons
from bertology_utils.tuning.comparisons import Plan
from bertology_utils.tuning.shortcuts import bag_of_words
from bertology_utils.tuning.training import FineTuned

TASKS = ("voice", "topic", "tense")


@dataclass(frozen=True)
class Conditions:
    """What the tasks give from one start.

    Attributes:
        runs: {task: tuned models, one a seed}.
        frozen: {task: scores of `comparisons.frozen_conditions`}.
    """

    runs: Mapping[str, Sequence[FineTuned]]
    frozen: Mapping[str, Mapping[str, np.ndarray]]

    @classmethod
    def tuned_and_frozen(cls, specimen: Specimen, plan: Plan) -> Self:
        """Each task once with all weights trained, a run a seed, and once with a classifier on frozen vectors."""
        frozen = {name: comparisons.frozen_conditions(specimen, *plan.examples(name)) for name in TASKS}
        return cls(comparisons.tune(specimen, TASKS, plan), frozen)

    @property
    def tuned(self) -> dict[str, np.ndarray]:
        """{task: booleans (seeds, items)}."""
        return {name: comparisons.correct(runs) for name, runs in self.runs.items()}

    def first(self, count: int) -> Self:
        """The first `count` runs of each task."""
        return replace(self, runs={name: series[:count] for name, series in self.runs.items()})


def by_task(measured: Runs, plan: Plan) -> dict[str, dict[str, np.ndarray]]:
    """{task: {condition in words: scores}} of a pre-trained start and a random one, beside a bag of words."""
    model, twin = measured.model, measured.twin
    return {
        name: {
            "pre-trained, tuned": model.tuned[name],
            "random, tuned": twin.tuned[name],
            "pre-trained, frozen": model.frozen[name]["mean"],
            "frozen, untrained head": model.frozen[name]["untrained"],
            "random, frozen": twin.frozen[name]["mean"],
            "bag of words": bag_of_words(*plan.examples(name)),
        }
        for name in TASKS
    }


def adapted(specimen: Specimen, conditions: Conditions, plan: Plan, size: int) -> dict[str, np.ndarray | float]:
    """Adapters on the first task against full tuning, (seeds, items), and the `share` of weights that they train.

    houlsby2019parameter; `size` is the width of a bottleneck. Seeds of the plan that the conditions lack are fully
    tuned here.
    """
    task = TASKS[0]
    runs = comparisons.tune(specimen, [task], plan, adapters=size, learning_rate=2e-3)[task]
    full, further = conditions.tuned[task], plan.seeds[len(conditions.runs[task]) :]
    if further:
        more = comparisons.tune(specimen, [task], replace(plan, seeds=further))[task]
        full = np.concatenate([full, comparisons.correct(more)])
    return {"adapter": comparisons.correct(runs), "full": full, "share": runs[0].trained_share}
