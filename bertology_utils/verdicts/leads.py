"""By how much a model leads its untrained twins on what a claim says. Depends on `predictions` and `formulas`.

*Specific to training* is this tested difference: a clause's effect in the model less that in the twins, which is as
uncertain as where one more untrained network would lie.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from bertology_utils.estimation import ALPHA, estimate
from bertology_utils.samples import Samples, as_samples, like
from bertology_utils.verdicts.formulas import Bounds, Clause, NoRatio, difference, names_of, renamed
from bertology_utils.verdicts.predictions import ROUNDING, Prediction, means_of


@dataclass(frozen=True)
class Contrast:
    """The claim's effect in the model less that in its untrained twins, on one clause.

    `low` is the lower end that holds for all clauses at once: the model leads if it lies above zero.
    """

    text: str
    value: float
    low: float
    high: float
    twins: int

    @property
    def shown(self) -> bool:
        """Whether the lead is tested and above zero: an exact lead over one network tells nothing of others."""
        return self.low > ROUNDING and (self.twins > 1 or self.high > self.low)

    @property
    def sureness(self) -> float:
        """How surely it lies above zero, to be compared; an exact one at most or least surely."""
        width = self.high - self.low
        return self.low / width if width > 0 else np.inf if self.low > ROUNDING else -np.inf


def contrast(
    prediction: Prediction,
    ability: Prediction | None,
    samples: Mapping[str, object],
    twins: Sequence[Mapping[str, object]],
) -> Contrast | None:
    """By how much the model leads its twins: on the clause of the prediction where it leads least surely, since each
    that names a smallest effect must be more than architecture; None where a ratio is missing.

    Of a claim of failure a clause of its positive control, `ability`, will do instead: what training taught is then
    that the model can do at all what an untrained network cannot. Further twins tell how much untrained networks
    differ, and the model must lead by more than one of them leads the others.
    """
    own = [clause for clause in prediction.clauses if clause.smallest] or list(prediction.clauses)
    instead = list(ability.clauses) if ability else []
    names = sorted(names_of([*own, *instead]))
    sides = (
        as_samples({name: samples[name] for name in names}),
        {name: _of_one(array) for name, array in stacked([{n: twin[n] for n in names} for twin in twins]).items()},
    )
    alpha = ALPHA / (1 + len(instead))
    leads = [_lead(clause, *sides, len(twins), alpha) for clause in own]
    found = [] if None in leads else [min(leads, key=attrgetter("sureness"))]
    found += [lead for clause in instead if (lead := _lead(clause, *sides, len(twins), alpha))]
    return max(found, key=attrgetter("sureness"), default=None)


def _lead(clause: Clause, model: Samples, twins: Samples, count: int, alpha: float) -> Contrast | None:
    """The model's lead on one clause; None where a ratio is not defined."""
    joint = {f"model.{name}": array for name, array in model.items()}
    joint |= {f"twin.{name}": array for name, array in twins.items()}
    try:
        effects = [clause.effect(means_of(arrays)) for arrays in (model, twins)]
    except NoRatio:
        return None
    piece = difference(renamed(effects[0], "model."), renamed(effects[1], "twin."))
    bounds = Bounds(piece, lambda linear: estimate(linear, joint))
    return Contrast(clause.text, piece.value, bounds.low(alpha), bounds.high(alpha), count)


def _of_one(twins: np.ndarray) -> np.ndarray:
    """Twins spread so that their mean is as uncertain as where one more of them would lie: `(twins, units)` alike."""
    if twins.ndim != 2 or len(twins) < 2:
        return twins
    off = twins.mean(1, keepdims=True) - twins.mean()
    seeds = float(np.square(off).sum()) / (len(twins) - 1)
    rest = twins - twins.mean(0) - off
    both = float(np.square(rest).sum()) / (len(twins) - 1) / max(twins.shape[1] - 1, 1) / twins.shape[1]
    share = max(0.0, 1 - both / seeds) if seeds else 0.0
    return like(twins, np.asarray(twins) + off * (np.sqrt(1 + len(twins) * share) - 1))


def stacked(twins: Sequence[Mapping[str, object]]) -> dict[str, np.ndarray]:
    """The samples of several twins as one, each a seed of its own; of one twin, its samples as they are.

    Where twins were asked different units, as where each chose its own, a twin counts by its mean.
    """
    arrays = [as_samples(twin) for twin in twins]
    if len(arrays) == 1:
        return arrays[0]
    return {name: _stack([twin[name] for twin in arrays]) for name in arrays[0]}


def _stack(samples: Sequence[np.ndarray]) -> np.ndarray:
    """One sample of several twins: (twins, units), a number where all have the same exact one."""
    rows = [sample.mean(0) if sample.ndim == 2 else np.atleast_1d(sample) for sample in samples]
    if samples[0].ndim == 0 and len({float(row[0]) for row in rows}) == 1:
        return samples[0]
    if len({row.shape for row in rows}) > 1:
        rows = [np.atleast_1d(row.mean()) for row in rows]
    return np.stack(rows)
