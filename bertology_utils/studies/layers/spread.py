"""Where a probe that may read all layers puts its weight, measured again and again on other sentences (tenney2019bert).

Depends on `probes`, `pipeline` and `tasks`. The mixing weights of one training are one draw: they depend on the
sentences that the probe saw and on where it started. Each part of the sentences trains a probe of its own, from a start
of its own, so that an interval over parts covers both. The tasks are those of the study; they are not drawn, and no
interval is over them. A weak prior for even shares, which the study does not have, keeps the length of training out of
the result: without it a mix gathers in one layer, sooner or later by how fast its task is learnt.
"""

from collections.abc import Mapping

import numpy as np
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.layer_curves import mix_entropy, side_means, upper_share
from bertology_utils.instruments.probes import encode_labels, train_scalar_mix
from bertology_utils.samples import per_seed
from bertology_utils.studies.layers.pipeline import SIDES
from bertology_utils.studies.layers.scores import TRAINING, LayerFeatures
from bertology_utils.studies.layers.tasks import Task

PARTS = 10
EVENNESS = 0.01


def mixing_shares(
    features: LayerFeatures, task: Task, parts: int = PARTS, seed: int = 0, steps: int = TRAINING["steps"]
) -> np.ndarray:
    """Shares of the layers in a probe's mixture, of probes trained on disjoint sentences: (parts, layers + 1).

    Nothing is scored, so the sentences of the task's training and test part serve alike.
    """
    both = (task.train, task.test)
    labels, _, names = encode_labels([label for part in both for label in part.labels], [])
    if len(names) < 2:
        raise BertologyError(f"The task '{task.name}' has a single label.")
    first = len(task.train.sentences)  # the test's sentences are numbered on
    groups = task.train.groups + [first + place for place in task.test.groups]
    vectors = torch.cat([features.of(part) for part in both], dim=1)
    settings = TRAINING | {"classes": len(names), "seeds": parts, "seed": seed, "steps": steps, "groups": groups}
    return train_scalar_mix(vectors, labels, evenness=EVENNESS, **settings).shares[0].numpy()


def shares_of(features: LayerFeatures, tasks: Mapping[str, Task], **options) -> dict[str, np.ndarray]:
    """`mixing_shares` of each task: (parts, layers + 1)."""
    return {name: mixing_shares(features, task, **options) for name, task in tasks.items()}


def entropies(shares: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Entropy of the shares over the largest possible, by side of the pipeline's tasks: (parts, 1)."""
    found = side_means({name: mix_entropy(values) for name, values in shares.items()}, SIDES)
    return {side: per_seed(values) for side, values in found.items()}


def upper_parts(words: Mapping[str, np.ndarray], sentences: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The part of the shares on the upper third of the layers, (parts,): of the pipeline's semantic word tasks
    `upper_words`, of semantic sentence tasks `upper_sentences`."""
    values = {name: upper_share(found) for name, found in {**words, **sentences}.items()}
    return side_means(values, {"upper_words": SIDES["semantic"], "upper_sentences": list(sentences)})


def even_part(layers: int) -> float:
    """What the upper third would get if all layers 0 to `layers` had the same share."""
    return float(upper_share(np.full(layers + 1, 1 / (layers + 1))))
