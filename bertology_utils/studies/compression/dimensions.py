"""Dimensions of the layer norms without which a model breaks, beside as many others (kovaleva2021bertbusters).

Depends on `outliers` for finding them and switching them off, and on `mlm_training` for the losses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertology_utils.compression.outliers import disabled, outlier_dimensions, random_dimensions
from bertology_utils.figures import Figure, bars
from bertology_utils.models import Specimen
from bertology_utils.tuning.mlm_training import mlm_losses

MOST, DRAWS = 3, 3
OUTLIERS, NOTHING = "outliers", "nothing"


@dataclass(frozen=True)
class SwitchedOff:
    """The dimensions that stand out, and masked-word losses (sentences,) by what is off: those, others, nothing."""

    dimensions: Sequence[int]
    losses: Mapping[str, np.ndarray]

    @property
    def _others(self) -> list[str]:
        return [name for name in self.losses if name not in (OUTLIERS, NOTHING)]

    def figure(self) -> Figure | None:
        """Loss by what is switched off; none where no dimension stands out."""
        if not self.dimensions:
            return None
        caption = f"Loss with {len(self.dimensions)} dimensions switched off in all layers."
        return bars(self.losses, ylabel="masked-word loss", controls=self._others, caption=caption)

    @property
    def sentence(self) -> str:
        if not self.dimensions:
            return "No dimension stands out in this specimen: nothing to switch off."
        others = np.mean([self.losses[name].mean() for name in self._others])
        loss, whole = self.losses[OUTLIERS].mean(), self.losses[NOTHING].mean()
        return (
            f"Dimensions {self.dimensions} off: loss {loss:.2f}; random ones off: {others:.2f}; none off: {whole:.2f}."
        )


def switched_off(specimen: Specimen, sentences: Sequence[Sequence[str]], whole: np.ndarray, seed: int) -> SwitchedOff:
    """Switches off up to three dimensions that stand out, and three draws of as many others.

    `whole` are the losses of the whole model on the same sentences.
    """
    found = [outlier.dimension for outlier in outlier_dimensions(specimen.model)][:MOST]
    if not found:
        return SwitchedOff(found, {NOTHING: whole})
    others = random_dimensions(specimen.model, len(found), sets=DRAWS, seed=seed, avoid=found)
    off, losses = {OUTLIERS: found} | {f"random {i + 1}": drawn for i, drawn in enumerate(others)}, {}
    for name, chosen in off.items():
        with disabled(specimen.model, chosen):
            losses[name] = mlm_losses(specimen, sentences)
    return SwitchedOff(found, losses | {NOTHING: whole})
