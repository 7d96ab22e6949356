"""Surface, syntax, semantics: three groups of sentence tasks over the layers (jawahar2019what).

Depends on `tasks` and `layer_curves`. `scores` are (layers + 1, seeds, items) by task throughout. Only a task that the
model reads counts: a curve of noise has a peak all the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from bertology_utils.instruments.layer_curves import (
    band_of,
    best_layer_samples,
    peak_layers,
    pooled,
    read_above,
    read_samples,
    side_means,
)
from bertology_utils.studies.layers.tasks import GROUPS, Task, majority_hits

Scores = Mapping[str, np.ndarray]

KINDS = ("surface", "syntactic", "semantic")


@dataclass(frozen=True)
class SentenceGroups:
    """The tasks of each kind that count, and what the majority label gets right of every task's items, (items,)."""

    names: Mapping[str, Sequence[str]]
    majority: Mapping[str, np.ndarray]

    @classmethod
    def read_by(cls, scores: Scores, tasks: Mapping[str, Task]) -> Self:
        """Those tasks that are read above their majority label; all of a kind where none is (`read_above`)."""
        majority = {name: majority_hits(task) for name, task in tasks.items()}
        every = {kind: [name for name, group in GROUPS.items() if group == kind] for kind in KINDS}
        return cls({kind: read_above(scores, majority, names) for kind, names in every.items()}, majority)

    def sentence(self) -> str:
        """Which tasks count and which do not."""
        left_out = [name for kind in KINDS for name in GROUPS if GROUPS[name] == kind and name not in self.names[kind]]
        counted = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in self.names.items())
        return f"Counted (all of a group if none can be read): {counted}. Left out: {', '.join(left_out) or 'none'}."

    def of(self, scores: Scores, kind: str) -> list[np.ndarray]:
        """The scores of a kind's tasks, one by one."""
        return [scores[name] for name in self.names[kind]]

    def mean(self, scores: Scores, kind: str) -> np.ndarray:
        """Their mean: (layers + 1, seeds, items)."""
        return pooled(self.of(scores, kind))

    def means(self, scores: Scores) -> dict[str, np.ndarray]:
        return {kind: self.mean(scores, kind) for kind in KINDS}

    def guesses(self) -> dict[str, float]:
        """The baselines of a figure: what the majority labels of each kind get right."""
        shares = {kind: [self.majority[name].mean() for name in names] for kind, names in self.names.items()}
        return {f"majority, {kind}": float(np.mean(of_kind)) for kind, of_kind in shares.items()}

    def semantic_tasks(self, scores: Scores) -> dict[str, object]:
        """The semantic tasks one by one, (layers + 1, items), `their_mean` of the same shape, how many are
        `best_at_top` and how many `tasks` there are."""
        each = {name: scores[name].mean(1) for name in self.names["semantic"]}
        at_top = [curve.mean(1).argmax() == len(curve) - 1 for curve in each.values()]
        mean = self.mean(scores, "semantic").mean(1)
        return each | {"their_mean": mean, "best_at_top": sum(at_top), "tasks": len(at_top)}

    def read(self, scores: Scores, *kinds: str) -> dict[str, np.ndarray]:
        """`<kind>_read` (seeds, items) and `<kind>_majority` (items,), of all kinds or of those named: is a group read
        at all?"""
        found: dict[str, np.ndarray] = {}
        for kind in kinds or KINDS:
            found |= read_samples(scores, self.majority, self.names[kind], kind)
        return found

    def peaks(self, scores: Scores, folds: int = 10) -> dict[str, np.ndarray]:
        """Where each kind is read best, in parts of the depth, in folds of the items, its tasks averaged: (folds,)."""
        places = {name: peak_layers(curve, folds=folds) / (len(curve) - 1) for name, curve in scores.items()}
        return side_means(places, self.names)

    def heights(self, scores: Scores) -> dict[str, np.ndarray]:
        """`<kind>_<band>` (seeds, items): each kind's best layer in a third of the stack, chosen on the other half of
        the items; the embeddings count as low."""
        bands = band_of(len(next(iter(scores.values()))) - 1)
        bands["low"] = np.union1d([0], bands["low"])
        means = self.means(scores).items()
        return {f"{kind}_{band}": best for kind, m in means for band, best in best_layer_samples(m, bands).items()}

    def top_leads(self, scores: Scores, places: Mapping[str, Sequence[int]]) -> list[float]:
        """By how much each semantic task's best layer in `top` leads its best one in `middle`."""
        best = [best_layer_samples(task, places) for task in self.of(scores, "semantic")]
        return [found["top"].mean() - found["middle"].mean() for found in best]
