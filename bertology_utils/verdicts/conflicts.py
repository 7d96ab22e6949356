"""Claims that pull against each other, and the axis on which one run can tell them apart. Depends on `predictions`.

Conflicts are data (`conflicts.yaml`). Where a conflict has an axis, each side names the region that its study
predicts; the regions stand in the file before any run. The run's interval against the regions gives the outcome: a side
is supported if the other one is refuted and the run's value differs from that of untrained twins.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from bertology_utils.errors import BertologyError, first_fault, unknown
from bertology_utils.files import read_json, read_yaml
from bertology_utils.samples import packed, unpacked
from bertology_utils.statistics import Measurement
from bertology_utils.verdicts.leads import contrast, stacked
from bertology_utils.verdicts.predictions import ROUNDING, parse, readable

CONFLICTS = Path(__file__).with_name("conflicts.yaml")
KINDS = ("contradiction", "tension", "method", "caveat", "reading")
INSIDE, OVERLAPPING, OUTSIDE = "inside", "overlapping", "outside"
_NUMBER = r"(-?\d+(?:\.\d+)?)"


@dataclass(frozen=True)
class Region:
    """The values from `low` to `high` that a study predicts; either may be infinite."""

    text: str
    low: float
    high: float

    @classmethod
    def of(cls, text: str) -> "Region":
        """Reads `> 0.5`, `< 0.4` or `0.2 to 0.5`."""
        if found := re.fullmatch(rf"([<>]) {_NUMBER}", text):
            bound = float(found[2])
            return cls(text, bound, inf) if found[1] == ">" else cls(text, -inf, bound)
        if (found := re.fullmatch(rf"{_NUMBER} to {_NUMBER}", text)) and float(found[1]) < float(found[2]):
            return cls(text, float(found[1]), float(found[2]))
        raise ValueError(f"the region '{text}' must read '> 0.5', '< 0.4' or '0.2 to 0.5'")

    def fit(self, measured: Measurement) -> str:
        """How the 95 % interval lies to the region: `inside`, `overlapping` or `outside`."""
        if self.low <= measured.low and measured.high <= self.high:
            return INSIDE
        return OUTSIDE if measured.high < self.low or self.high < measured.low else OVERLAPPING


class Side(BaseModel):
    """What one study predicts on the axis.

    Attributes:
        label: the study and its view, in a few words.
        region: the values that it predicts, as `Region.of` reads them.
        because: why this region follows from the claim.
        row: the one row that it speaks of; every row where it is not given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    label: str
    region: Region
    because: str
    row: str | None = None

    @field_validator("region", mode="before")
    @classmethod
    def _readable(cls, text: str) -> Region:
        return Region.of(text)

    def fit(self, measured: Mapping[str, Measurement]) -> str:
        """One row outside refutes the side; it is inside with all its rows."""
        fits = {self.region.fit(m) for row, m in measured.items() if self.row in (None, row)}
        return OUTSIDE if OUTSIDE in fits else INSIDE if fits == {INSIDE} else OVERLAPPING


@dataclass(frozen=True)
class Evidence:
    """What samples give on an axis: the measurement of each row, and whether the positive control holds."""

    rows: dict[str, Measurement]
    able: bool = True


class Axis(BaseModel):
    """One scale for both sides of a conflict.

    Attributes:
        name: by which a chapter settles the conflict.
        scale: what is measured, with its unit.
        rows: a label and a formula over named samples, in the language of predictions; two where the studies measure
            different things on the same scale.
        given: what must hold before the run says anything, as in a claim.
        ends: the least and the largest value that the scale allows; no interval reaches beyond.
        differ: why the two studies could come to different ends.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    notebook: str
    scale: str
    rows: dict[str, str]
    sides: tuple[Side, Side]
    differ: str
    given: str | None = None
    ends: tuple[float, float] = (-inf, inf)

    @model_validator(mode="after")
    def _consistent(self) -> "Axis":
        for side in self.sides:
            if side.row not in (None, *self.rows):
                raise ValueError(f"the side '{side.label}' speaks of the unknown row '{side.row}'")
        for formula in self.formulas:
            readable(formula)
        return self

    @property
    def formulas(self) -> list[str]:
        """That of each row, as a comparison, and that of the positive control."""
        return [*(f"{row} > 0" for row in self.rows.values()), *filter(None, [self.given])]

    def evidence(self, samples: Mapping[str, object]) -> Evidence:
        """The value of each row with its interval, and whether the positive control holds.

        Raises BertologyError: a sample that a formula names is missing.
        """
        rows = {}
        for label, formula in self.rows.items():
            (clause,) = parse(f"{formula} > 0").judge(samples)
            low, high = (min(max(bound, self.ends[0]), self.ends[1]) for bound in (clause.low, clause.high))
            rows[label] = Measurement(clause.effect, low, high, n=0)
        able = not self.given or all(c.passed for c in parse(self.given).judge(samples))
        return Evidence(rows, able)

    @property
    def names(self) -> set[str]:
        """The samples that its formulas name."""
        return set().union(*(parse(formula).names for formula in self.formulas))

    def outcome(self, measured: Mapping[str, Measurement]) -> str:
        """Which side a measurement favours: `first`, `second`, `both`, `neither` or `undecided`."""
        return favoured(*(side.fit(measured) for side in self.sides))


def favoured(first: str, second: str) -> str:
    """What the fits of both sides amount to; an interval across a border leaves the conflict undecided."""
    outcomes = {(INSIDE, OUTSIDE): "first", (OUTSIDE, INSIDE): "second", (INSIDE, INSIDE): "both"}
    return outcomes.get((first, second), "neither" if first == second == OUTSIDE else "undecided")


@dataclass(frozen=True)
class Settled:
    """What one run says on an axis.

    Attributes:
        differs: whether the model's value on some row differs from that of its untrained twins, by a tested difference.
        published: the studies' own values on the same scale.
    """

    axis: Axis
    model: Evidence
    twins: Evidence
    differs: bool
    published: Mapping[str, float] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """`first` or `second` where one side is supported, the other refuted, and training is why; `both`, `neither`,
        `undecided`; `unspecific` where untrained twins are on that side too; `unable` without the positive control."""
        if not self.model.able:
            return "unable"
        found = self.axis.outcome(self.model.rows)
        alike = self.twins.able and self.axis.outcome(self.twins.rows) == found
        return "unspecific" if found in ("first", "second") and (alike or not self.differs) else found

    @property
    def sentence(self) -> str:
        """Which side the run supports, with its values."""
        values = "; ".join(f"{row} {m.value:.2f} [{m.low:.2f}, {m.high:.2f}]" for row, m in self.model.rows.items())
        return f"This run {self._told()}: {values}."

    def _told(self) -> str:
        first, second = (f"“{side.label}”" for side in self.axis.sides)
        winner, loser = (first, second) if self.axis.outcome(self.model.rows) == "first" else (second, first)
        return {
            "first": f"supports {first} over {second}",
            "second": f"supports {second} over {first}",
            "both": f"bears out both {first} and {second}",
            "neither": f"supports neither {first} nor {second}",
            "undecided": f"leaves it undecided between {first} and {second}",
            "unspecific": f"lies with {winner} and not with {loser}, but shows no difference to its untrained twins, "
            "so that neither is supported",
            "unable": f"cannot tell, because its positive control does not hold ({self.axis.given})",
        }[self.outcome]


def settled(
    axis: Axis,
    samples: Mapping[str, object],
    twins: Sequence[Mapping[str, object]],
    published: Mapping[str, float] | None = None,
) -> Settled:
    """What the samples of a model and of its untrained twins say on an axis.

    Raises BertologyError: a sample that a formula names is missing, or a formula divides by zero.
    """
    model = axis.evidence(samples)
    untrained = axis.evidence(stacked([{name: twin[name] for name in axis.names} for twin in twins]))
    leads = (contrast(parse(f"{formula} > 0"), None, samples, twins) for formula in axis.rows.values())
    differs = any(lead is not None and not lead.low <= ROUNDING <= lead.high for lead in leads)
    return Settled(axis, model, untrained, differs, dict(published or {}))


def samples_to_keep(
    axis: Axis, runs: Sequence[Mapping[str, object]], published: Mapping[str, float] | None
) -> dict[str, Any]:
    """What a record keeps of an axis: the samples of the model and of its twins that its formulas name."""
    model, *twins = [{name: packed(np.asanyarray(samples[name])) for name in sorted(axis.names)} for samples in runs]
    values = {label: float(value) for label, value in (published or {}).items()}
    return {"samples": model, "control_samples": twins, "published": values}


def read_settled(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """What records say on the axes, judged by today's formulas and estimator; the first record of a run counts.

    Records from before 2026-11-26 hold nothing of the kind, and axes whose formulas name other samples by now are left
    out.
    """
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for path in paths:
        record = read_json(path)
        for name, entry in (record.get("axes") or {}).items() if isinstance(record, dict) else ():
            key = (name, record["run"]["model"], record["run"]["profile"])
            if name in axes() and key not in found and (said := _from_record(axes()[name], entry)):
                found[key] = dict(zip(("axis", "model", "profile"), key, strict=True)) | said
    return list(found.values())


def _from_record(axis: Axis, entry: Mapping[str, Any]) -> dict[str, Any] | None:
    runs = [entry["samples"], *entry["control_samples"]]
    model, *twins = [{name: unpacked(sample) for name, sample in run.items()} for run in runs]
    try:
        found = settled(axis, model, twins, entry["published"])
    except (BertologyError, KeyError):
        return None
    rows, control = ({row: [m.value, m.low, m.high] for row, m in e.rows.items()} for e in (found.model, found.twins))
    said = {"rows": rows, "twins": control, "outcome": found.outcome, "sentence": found.sentence}
    return said | {"published": dict(found.published)}


class Conflict(BaseModel):
    """A pair of claims (or one claim that is split within itself), what is at issue, and where it can be measured."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    pair: tuple[str, ...]
    kind: Literal[KINDS]
    theme: str
    about: str
    axis: Axis | None = None


def load_conflicts(path: Path = CONFLICTS) -> list[Conflict]:
    """The conflict map.

    Raises BertologyError: the conflict and the field that are wrong.
    """
    found = []
    for row in read_yaml(path):
        try:
            found.append(Conflict(**row))
        except ValidationError as error:
            raise BertologyError(f"{path.name}: {row.get('pair')}, {': '.join(first_fault(error))}") from None
    return found


@cache
def axes() -> dict[str, Axis]:
    """The axes by name."""
    return {conflict.axis.name: conflict.axis for conflict in load_conflicts() if conflict.axis}


def axis_by_name(name: str) -> Axis:
    if name not in axes():
        raise unknown("conflict with an axis", name, list(axes()))
    return axes()[name]
