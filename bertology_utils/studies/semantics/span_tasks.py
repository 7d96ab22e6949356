"""Edge probes as experiments (tenney2019what): labels of spans in frozen vectors, the probe's own test, controls.

Depends on `span_probes` for what a probe reads, on `probes` for its training and on `controls` for random labels; items
come from `semantic_sets`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch

from bertology_utils.activations import vectors_at
from bertology_utils.instruments.controls import ControlTask
from bertology_utils.instruments.probes import encode_labels, probe_correctness, train_scalar_mix
from bertology_utils.language.semantic_tasks import SpanPair, WordItem
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.studies.semantics.span_probes import chosen_layer, pair_features, plant, sentence_units

Items = Sequence[WordItem] | Sequence[SpanPair]


def vectors_of(specimen: Specimen, items: Items, *places: str) -> tuple[torch.Tensor, ...]:
    """Vectors of the words that `places` name in each item, (layers, items, width) each; a sentence is run once."""
    words = [item.words for item in items] * len(places)
    found = vectors_at(specimen, words, [getattr(item, place) for place in places for item in items])
    return found.chunk(len(places), dim=1)


@dataclass(frozen=True)
class SpanTask:
    """A label of one span, or of two: the items that a probe learns from, and those that it is asked."""

    train: Items
    test: Items

    @classmethod
    def drawn(cls, items: Callable[..., Items], size: int, seed: int, source: str) -> Self:
        """At most `size` items of either split from a source of `semantic_sets`."""
        return cls(*(items(size, split, seed, source) for split in ("train", "test")))

    @property
    def labels(self) -> tuple[list[str], list[str]]:
        """The labels of training and test; of a pair of spans its relation."""
        field = "relation" if isinstance(self.train[0], SpanPair) else "label"
        known, asked = ([getattr(item, field) for item in part] for part in (self.train, self.test))
        return known, asked

    @property
    def sentences(self) -> list[str]:
        """The sentence of each test item: its spans are right or wrong together."""
        return sentence_units(self.test)

    def features(self, specimen: Specimen) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors of training and test, (layers, items, width); of two spans side by side, (layers, items, 2 width)."""

        def read(items: Items) -> torch.Tensor:
            if isinstance(items[0], SpanPair):
                return pair_features(*vectors_of(specimen, items, "first", "second"))
            return vectors_of(specimen, items, "place")[0]

        return read(self.train), read(self.test)

    def correct(self, specimen: Specimen, **settings) -> np.ndarray:
        """Which test items a probe of each layer reads right, 0/1 (layers, seeds, items); `settings` of the probe."""
        known, asked, _ = encode_labels(*self.labels)
        train, test = self.features(specimen)
        return probe_correctness(train, known, test, asked, **settings)


def compared(tasks: Mapping[str, SpanTask], correct: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """For each task the best layer, as `chosen_layer`, and `<task>_layer_0`: (seeds, sentences) each.

    From 0/1 (layers, seeds, items). Layer 0 has words and positions, but no context.
    """
    samples = {}
    for name, task in tasks.items():
        samples[name] = chosen_layer(correct[name], task.sentences)[1]
        samples[f"{name}_layer_0"] = by_unit(correct[name][0], task.sentences)
    return samples


def planted_labels(
    specimen: Specimen, task: SpanTask, layer: int = 2, *, seed: int = 0, **settings
) -> dict[str, np.ndarray]:
    """The probe's own test: three random labels, read from vectors into which they were planted, and from those alone.

    A scalar mix (tenney2019bert) reads `planted` labels, one direction each at one `layer`, and `shuffled` ones that
    stand nowhere: 0/1 (seeds, items). `share` is the mix's weight of that layer, `majority` what guessing gives.
    """
    features = task.features(specimen)
    labels = [np.random.default_rng(seed + i).integers(3, size=part.shape[1]) for i, part in enumerate(features)]
    planted = [plant(part, own, layer) for part, own in zip(features, labels, strict=True)]
    with_plant, without = (
        train_scalar_mix(train, labels[0], seed=seed, **settings) for train in (planted[0], features[0])
    )
    return {
        "planted": with_plant.correct(planted[1], labels[1])[0],
        "shuffled": without.correct(features[1], labels[1])[0],
        "share": with_plant.shares[0].mean(0)[layer].numpy(),
        "majority": np.bincount(labels[1]).max() / len(labels[1]),
    }


def of_known_words(items: Sequence[WordItem], seed: int = 0) -> tuple[SpanTask, SpanTask]:
    """The labels of words that training has, and a control task with random labels of the same words.

    Half of the items trains; of the other half those are asked whose word the first half has. The control gives each
    word type one label (hewitt2019designing), so that only memory of the word can read it.
    """
    words = [item.words[item.place] for item in items]
    half = len(items) // 2
    drawn = ControlTask.of([item.label for item in items], seed).labels(words)
    random = [replace(item, label=label) for item, label in zip(items, drawn, strict=True)]
    known = [place for place in range(half, len(items)) if words[place] in words[:half]]
    real, control = (SpanTask(own[:half], [own[place] for place in known]) for own in (items, random))
    return real, control
