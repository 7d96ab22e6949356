"""Probes of spans (tenney2019what): their input, the layer one half chooses for the other, properties by base rate.

Depends on `probes` by what goes in and comes out only; items come from `semantic_tasks`.
"""

from collections.abc import Sequence

import numpy as np
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.language.semantic_tasks import PROPERTIES
from bertology_utils.samples import by_unit


def pair_features(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Vectors of two spans side by side, (layers, items, 2 * width): the input of an edge probe (tenney2019what)."""
    return torch.cat([first, second], dim=-1)


def chosen_layer(scores: np.ndarray, units: Sequence[str]) -> tuple[list[int], np.ndarray]:
    """The best layers on either half of the units, and samples of the other half there: (2,) and (seeds, units).

    From (layers, seeds, items), the items in the order of `units`. Every second unit belongs to a half, in order of
    appearance; items of one unit, such as a sentence or a verb, are right or wrong together (`samples.by_unit`).
    """
    order = {name: place for place, name in enumerate(dict.fromkeys(units))}
    if len(order) < 2:
        raise BertologyError("One half chooses, the other is reported: that takes items of at least two units.")
    odd = np.array([order[name] % 2 == 1 for name in units])
    layers = [int(scores[:, :, half].mean((1, 2)).argmax()) for half in (odd, ~odd)]
    return layers, by_unit(np.where(odd, scores[layers[1]], scores[layers[0]]), units)


def sentence_units(items: Sequence) -> list[str]:
    """The sentence of each item (with `words`), as its unit."""
    return [" ".join(item.words) for item in items]


def plant(
    features: torch.Tensor, labels: Sequence[int], layer: int, strength: float = 8.0, seed: int = 0
) -> torch.Tensor:
    """Features (layers, items, width) with a random direction for each label added at one layer: the probe's own test.

    `strength` is the added length in deviations of that layer.
    """
    labels = torch.as_tensor(np.asarray(labels))
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(int(labels.max()) + 1, features.shape[-1], generator=generator)
    directions = directions / directions.norm(dim=1, keepdim=True) * strength * features[layer].std()
    planted = features.clone()
    planted[layer] += directions[labels]
    return planted


def read_properties(logits: torch.Tensor, classes: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Properties read by a probe of their combinations, each by itself: 0/1 (..., items, properties).

    `logits` (..., items, classes), `classes` 0/1 (classes, properties). A property is read where the probability of its
    combinations exceeds its share in training, `usual` (properties,): a rare one would else never be read.
    """
    probability = logits.softmax(-1).numpy() @ np.asarray(classes, dtype=np.float32)
    return (probability > usual).astype(int)


def balanced_property_scores(
    predicted: np.ndarray, gold: np.ndarray, names: Sequence[str] = PROPERTIES
) -> dict[str, np.ndarray]:
    """For each property, scores (..., items) whose mean is its balanced accuracy.

    `predicted` (..., items, properties) and `gold` (items, properties) are 0/1. An item counts by the inverse frequency
    of its value, so that always saying "no" earns 0.5; a property that never varies is left out.
    """
    gold, predicted = np.asarray(gold), np.asarray(predicted)
    found = {}
    for place, (name, values) in enumerate(zip(names, gold.T, strict=True)):
        if 0 < values.mean() < 1:
            share = np.where(values == 1, values.mean(), 1 - values.mean())
            found[name] = (predicted[..., place] == values) / (2 * share)
    if not found:
        raise BertologyError("No property varies between the items.")
    return found


def verb_majorities(verbs: Sequence[str], gold: np.ndarray, asked: Sequence[str]) -> np.ndarray:
    """The usual properties of each asked verb's arguments, 0/1 (asked, properties); overall usual for a new verb."""
    gold = np.asarray(gold, dtype=float)
    table = {verb: gold[[v == verb for v in verbs]].mean(0) for verb in set(verbs)}
    return np.array([table.get(verb, gold.mean(0)) > 0.5 for verb in asked]).astype(int)
