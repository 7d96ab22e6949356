"""Three tasks from one start, pre-trained or random: tuned, frozen with a trained classifier, and with untrained ones.

The comparison of kovaleva2019revealing. Depends on `comparisons` for each condition.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from torch.nn import Parameter

from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.tuning import classification_tasks, comparisons
from bertology_utils.tuning.comparisons import Plan
from bertology_utils.tuning.descent import trainable
from bertology_utils.tuning.regimens import add_adapters
from bertology_utils.tuning.shortcuts import bag_of_words
from bertology_utils.tuning.training import Classifier, FineTuned

TASKS = ("voice", "topic", "tense")
ADAPTER_RATE = 2e-3  # at which adapters learn


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


def adapter_size(specimen: Specimen) -> int:
    """The width of a bottleneck: a sixteenth of the model's."""
    return max(4, specimen.width // 16)


def added(specimen: Specimen, tasks: Sequence[str]) -> dict[str, float]:
    """What several tasks take with adapters in one frozen body, as shares of the weights of as many tuned copies.

    stored: all that must be kept; share: what is trained. houlsby2019parameter: of its own each task has a classifier,
    adapters and layer norms.
    """
    own = apart = frozen = 0
    for name in tasks:
        pool = "pair" if classification_tasks.TASKS[name].paired else "mean"
        encoder = copy.deepcopy(specimen.encoder)
        classifier = Classifier(encoder, 2, pool, specimen.tokenizer.sep_token_id)
        apart += _weights(classifier.parameters())
        add_adapters(encoder, adapter_size(specimen))
        trained = _weights(trainable(classifier))
        own += trained
        frozen = _weights(classifier.parameters()) - trained
    return {"stored": (own + frozen) / apart, "share": own / apart}


def _weights(parameters: Iterable[Parameter]) -> int:
    return sum(parameter.numel() for parameter in parameters)
