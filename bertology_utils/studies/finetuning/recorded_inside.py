"""The recorded rows `adapter sizes` and `layers read`, as figures show them: NotAskable of fewer than three seeds.

Depends on `recorded` for the lines and on `inside` for what they are of.
"""

import numpy as np

from bertology_utils.samples import per_seed
from bertology_utils.statistics import Measurement, mean_interval
from bertology_utils.studies.finetuning import inside
from bertology_utils.studies.finetuning.recorded import Recorded
from bertology_utils.studies.finetuning.study_file import LAYERS_READ, PRETRAINED, SIZED_ADAPTERS


class Inside(Recorded):
    """What the file says of adapters and of layers."""

    def sizes(self) -> dict[str, np.ndarray]:
        """{size of adapters, and of the weights the per cent that is trained: scores, one a seed}; last all weights."""
        shown = {}
        for arm in (*(f"size {size}" for size in inside.SIZES), inside.FULL):
            share = 100 * self._values(SIZED_ADAPTERS, arm).mean()
            shown[f"{arm} ({share:.1f} %)"] = per_seed(self._scores(self.named, SIZED_ADAPTERS, PRETRAINED, arm))
        return shown

    def removed(self) -> dict[str, np.ndarray]:
        """Scores without the adapters of 0, 1, ... blocks, from below or in any order: (layers + 1, seeds) each."""
        return {name: self._values(SIZED_ADAPTERS, name) for name in (inside.BELOW, inside.BLINDLY)}

    def told_removed(self) -> dict[str, Measurement]:
        """Points that it costs to take out the lower half, any half, and all adapters."""
        below, blindly = self.removed().values()
        half = len(below) // 2
        without = {"lower_half": below[half], "any_half": blindly[half], "all": below[-1]}
        return {name: mean_interval(per_seed(100 * (below[0] - own))) for name, own in without.items()}

    def alike(self) -> dict[str, np.ndarray]:
        """Centred kernel alignment by layer: {which two models: (layers + 1, seeds)}; see `inside.layers_read`."""
        arms = (inside.TUNED, inside.AGAIN, inside.MISLED, inside.PERMUTED)
        names = ("before and after", "two tunings", "control: labels in any order", "control: other words")
        return {name: self._values(LAYERS_READ, f"CKA {arm}") for name, arm in zip(names, arms, strict=True)}

    def read_by_layer(self, *kinds: str) -> dict[str, np.ndarray]:
        """Share of words of which a probe reads these of `inside.READ`: {what and when: (layers + 1, seeds)}."""
        words = {"before": inside.BEFORE, "after": inside.TUNED, "control": inside.MISLED}
        chosen = {f"{kind}, {when}": f"{kind} {arm}" for kind in kinds for when, arm in words.items()}
        return {name: self._values(LAYERS_READ, arm) for name, arm in chosen.items()}

    def told_read(self) -> dict[str, Measurement]:
        """Points by which tuning moves what is read in the last layer, `tag`, or wrong labels do, `tag_misled`."""
        found = {}
        for kind in inside.READ:
            before, after, misled = (100 * own[-1] for own in self.read_by_layer(kind).values())
            found |= {kind: after - before, f"{kind}_misled": misled - before}
        return {name: mean_interval(per_seed(moved)) for name, moved in found.items()}

    def _values(self, row: str, arm: str) -> np.ndarray:
        """What the lines hold: (values, seeds)."""
        seeds = self._common(self.named, [(row, PRETRAINED, arm)])
        return np.stack([unit.numbers for unit in self._lines(self.named, row, PRETRAINED, arm, seeds)], axis=1)
