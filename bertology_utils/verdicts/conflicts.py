"""Claims that pull against each other, and the axis on which one run can tell them apart. Depends on `predictions`.

Conflicts are data (`claims/conflicts.yaml`). Where a conflict has an axis, each side names the region that its study
predicts; the regions stand in the file before any run. The run's interval against the regions gives the outcome.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from bertology_utils.errors import BertologyError, unknown
from bertology_utils.files import read_yaml
from bertology_utils.statistics import Measurement
from bertology_utils.verdicts.predictions import REPLICATES, parse

CONFLICTS = Path(__file__).parents[1] / "claims" / "conflicts.yaml"
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
        for formula in (*(f"{row} > 0" for row in self.rows.values()), *filter(None, [self.given])):
            _parsed(formula)
        return self

    def evidence(self, samples: Mapping[str, object]) -> Evidence:
        """The value of each row with its interval, and whether the positive control holds.

        Raises:
            BertologyError: a sample that a formula names is missing.
        """
        rows = {}
        for label, formula in self.rows.items():
            (clause,) = parse(f"{formula} > 0").judge(samples)
            low, high = (min(max(bound, self.ends[0]), self.ends[1]) for bound in (clause.low, clause.high))
            rows[label] = Measurement(clause.effect, low, high, n=0)
        able = not self.given or all(c.verdict == REPLICATES for c in parse(self.given).judge(samples))
        return Evidence(rows, able)

    def outcome(self, measured: Mapping[str, Measurement]) -> str:
        """Which side a measurement favours: `first`, `second`, `both`, `neither` or `undecided`."""
        return favoured(*(side.fit(measured) for side in self.sides))


def _parsed(formula: str) -> None:
    try:
        parse(formula)
    except BertologyError as error:
        raise ValueError(str(error)) from None


def favoured(first: str, second: str) -> str:
    """What the fits of both sides amount to; an interval across a border leaves the conflict undecided."""
    outcomes = {(INSIDE, OUTSIDE): "first", (OUTSIDE, INSIDE): "second", (INSIDE, INSIDE): "both"}
    return outcomes.get((first, second), "neither" if first == second == OUTSIDE else "undecided")


def sentence(axis: Axis, model: Evidence, twin: Evidence) -> str:
    """Which side the run favours, from its intervals against both regions, and whether the untrained twin does too."""
    first, second = (f"“{side.label}”" for side in axis.sides)
    outcome = axis.outcome(model.rows)
    told = {
        "first": f"favours {first} over {second}",
        "second": f"favours {second} over {first}",
        "both": f"bears out both {first} and {second}",
        "neither": f"favours neither {first} nor {second}",
        "undecided": f"leaves it undecided between {first} and {second}",
    }[outcome]
    values = "; ".join(f"{row} {m.value:.2f} [{m.low:.2f}, {m.high:.2f}]" for row, m in model.rows.items())
    if not model.able:
        return f"This run cannot tell, because its positive control does not hold ({axis.given}): {values}."
    alike = twin.able and outcome != "undecided" and axis.outcome(twin.rows) == outcome
    return f"This run {told}: {values}.{' So does its untrained twin.' if alike else ''}"


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

    Raises:
        BertologyError: the conflict and the field that are wrong.
    """
    found = []
    for row in read_yaml(path):
        try:
            found.append(Conflict(**row))
        except ValidationError as error:
            first = error.errors()[0]
            where, said = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
            raise BertologyError(f"{path.name}: {row.get('pair')}, {where}: {said}") from None
    return found


@cache
def axes() -> dict[str, Axis]:
    """The axes by name."""
    return {conflict.axis.name: conflict.axis for conflict in load_conflicts() if conflict.axis}


def axis_by_name(name: str) -> Axis:
    if name not in axes():
        raise unknown("conflict with an axis", name, list(axes()))
    return axes()[name]
