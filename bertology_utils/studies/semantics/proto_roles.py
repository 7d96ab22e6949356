"""Proto-roles (tenney2019what): what a role is made of, read property by property from an argument and its verb.

Depends on `span_probes` for balanced scores and on `probes`; arguments come from `semantic_sets`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

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
from bertology_utils.studies.semantics.span_tasks import vectors_of


@dataclass(frozen=True)
class ProtoRoles:
    """Arguments of verbs with their properties: those that a probe learns from, and those that it is asked."""

    train: Sequence[WordItem]
    test: Sequence[WordItem]

    @classmethod
    def drawn(cls, size: int, seed: int, source: str) -> ProtoRoles:
        """At most `size` arguments of either split."""
        return cls(*(proto_role_items(size, split, seed, source) for split in ("train", "test")))

    @property
    def gold(self) -> tuple[np.ndarray, np.ndarray]:
        """Which argument has which property: 0/1 (items, properties) of training and test."""
        train, test = (np.array(property_matrix([item.label for item in part])) for part in (self.train, self.test))
        return train, test

    @property
    def verbs(self) -> list[str]:
        return [item.lemma for item in self.test]

    @property
    def usual(self) -> dict[str, np.ndarray]:
        """Balanced scores (items,) of answering what is usual for the verb, and for a new verb what is usual at all."""
        train, test = self.gold
        return balanced_property_scores(verb_majorities([i.lemma for i in self.train], train, self.verbs), test)

    def scores(self, specimen: Specimen, **settings) -> dict[str, np.ndarray]:
        """Balanced scores of each property that varies, (layers, seeds, items); `settings` of the probe.

        The probe has the vectors of the argument and of its verb side by side.
        """
        train, test = (
            pair_features(vectors_of(specimen, part), vectors_of(specimen, part, "verb"))
            for part in (self.train, self.test)
        )
        known, _, classes = encode_labels([i.label for i in self.train], [i.label for i in self.test])
        logits = train_probe(train, known, **settings).logits(test)
        usual, gold = self.gold[0].mean(0), self.gold[1]
        return balanced_property_scores(read_properties(logits, property_matrix(classes), usual), gold)

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
        has = self.gold[1].sum(0)
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


def over_properties(scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """The mean of the properties, item by item: of (..., items) each."""
    return np.mean(list(scores.values()), axis=0)
