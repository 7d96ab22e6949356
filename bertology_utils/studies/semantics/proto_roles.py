"""Proto-roles (tenney2019what): what a role is made of, read property by property from an argument and its verb.

Depends on `span_probes` for balanced scores, on `activations` and `probes`; arguments come from `semantic_sets`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from bertology_utils.activations import vectors_at
from bertology_utils.data.semantic_sets import proto_role_items
from bertology_utils.figures import Figure, table
from bertology_utils.instruments.probes import encode_labels, train_probe
from bertology_utils.language.semantic_tasks import PROPERTIES, WordItem, property_matrix
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import by_unit
from bertology_utils.studies.semantics.span_probes import (
    balanced_property_scores,
    chosen_layer,
    pair_features,
    read_properties,
    verb_majorities,
)


@dataclass(frozen=True)
class ProtoRoles:
    """Arguments of verbs with their properties, in two parts; a probe learns from either and is asked about the other.

    What is asked, item by item, is the second part and then the first.
    """

    parts: tuple[Sequence[WordItem], Sequence[WordItem]]

    @classmethod
    def drawn(cls, size: int, seed: int, source: str) -> Self:
        """At most `size` arguments of either split."""
        return cls(tuple(proto_role_items(size, split, seed, source) for split in ("train", "test")))

    @property
    def gold(self) -> list[np.ndarray]:
        """Which argument has which property: 0/1 (items, properties) of either part."""
        return [np.array(property_matrix([item.label for item in part])) for part in self.parts]

    @property
    def verbs(self) -> list[str]:
        return [item.lemma for part in self.parts[::-1] for item in part]

    @property
    def usual(self) -> dict[str, np.ndarray]:
        """Balanced scores (items,) of answering what is usual for the verb, and for a new verb what is usual at all."""
        verbs = [[item.lemma for item in part] for part in self.parts]
        return self._both_ways(lambda known, asked: verb_majorities(verbs[known], self.gold[known], verbs[asked]))

    def scores(self, specimen: Specimen, **settings) -> dict[str, np.ndarray]:
        """Balanced scores of each property that varies, (layers, seeds, items); `settings` of the probe.

        The probe has the vectors of the argument and of its verb side by side.
        """
        vectors = [_argument_and_verb(specimen, part) for part in self.parts]
        labels = [[item.label for item in part] for part in self.parts]

        def read(known: int, asked: int) -> np.ndarray:
            learnt, _, classes = encode_labels(labels[known], labels[asked])
            logits = train_probe(vectors[known], learnt, **settings).logits(vectors[asked])
            return read_properties(logits, property_matrix(classes), self.gold[known].mean(0))

        return self._both_ways(read)

    def _both_ways(self, read: Callable[[int, int], np.ndarray]) -> dict[str, np.ndarray]:
        """Balanced scores (..., items) of what `read` says, given which part is known and which is asked."""
        found = [balanced_property_scores(read(known, asked), self.gold[asked]) for known, asked in ((0, 1), (1, 0))]
        varied = [name for name in found[0] if name in found[1]]
        return {name: np.concatenate([scores[name] for scores in found], axis=-1) for name in varied}

    def samples(self, scores: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The mean of the properties, over verbs (seeds, verbs): best layer, layer 0 and what is usual for the verb.

        Also `by_layer` (layers, items) and the `layer` that one half of the verbs chose.
        """
        mean = over_properties(scores)
        layers, best = chosen_layer(mean, self.verbs)
        return {
            "best_layer": best,
            "layer_0": by_unit(mean[0], self.verbs),
            "verb_majority": by_unit(over_properties(self.usual), self.verbs),
            "by_layer": mean.mean(1),
            "layer": layers[0],
        }

    def table(self, scores: Runs, layer: int) -> Figure:
        """Each property by itself, over all verbs: the model and its twin at a layer, layer 0, what is usual."""
        has = np.concatenate(self.gold).sum(0)
        columns = {
            "model": {name: values[layer] for name, values in scores.model.items()},
            "layer 0": {name: values[0] for name, values in scores.model.items()},
            "twin": {name: values[layer] for name, values in scores.twin.items()},
            "usual": self.usual,
        }
        rows = [
            {"property": name.replace("_", " "), "arguments with it": int(has[place])}
            | {who: round(float(values[name].mean()), 2) for who, values in columns.items()}
            for place, name in enumerate(PROPERTIES)
            if name in columns["usual"]
        ]
        caption = (
            f"Balanced accuracy of each property at layer {layer}, over all verbs; 0.5 is a constant answer. "
            "Tenney et al. (2019) print one F1 for all properties together."
        )
        return table(rows, caption=caption)


def _argument_and_verb(specimen: Specimen, items: Sequence[WordItem]) -> torch.Tensor:
    """(layers, items, 2 width); every sentence is run once."""
    places = [item.place for item in items] + [item.verb for item in items]
    return pair_features(*vectors_at(specimen, [item.words for item in items] * 2, places).chunk(2, dim=1))


def over_properties(scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """The mean of the properties, item by item: of (..., items) each."""
    return np.mean(list(scores.values()), axis=0)
