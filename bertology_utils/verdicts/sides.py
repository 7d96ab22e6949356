"""What the studies of a claim in conflict showed themselves: their numbers, or their kind of evidence, and the setting.

Sides are data (`sides.yaml`); numbers stand in `published.csv` and nowhere else. Depends on `published`.
"""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from bertology_utils.errors import BertologyError, first_fault
from bertology_utils.files import read_yaml
from bertology_utils.verdicts.published import published_text

SIDES = Path(__file__).with_name("sides.yaml")
EVIDENCE = {
    "words": "told in words only",
    "figure": "shown, without values in the sources",
    "example": "one example drawn and not scored",
    "argument": "argued and not measured",
}


class Shown(BaseModel):
    """What the studies of one claim showed.

    Attributes:
        setting: model, data and measure.
        numbers: by study, a label for each item of its figures; none where the claim gives them itself.
        evidence: what there is in place of numbers.
        shows: what that evidence says.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    setting: str
    numbers: dict[str, dict[str, str]] = {}
    evidence: Literal[tuple(EVIDENCE)] | None = None
    shows: str = ""

    @model_validator(mode="after")
    def _one_of_both(self) -> "Shown":
        if bool(self.evidence) != bool(self.shows) or (self.evidence and self.numbers):
            raise ValueError("either numbers, or a kind of evidence and what it shows")
        return self

    @property
    def text(self) -> str:
        """The numbers with their labels, or the kind of evidence; empty where the claim gives its numbers itself.

        Raises BertologyError: a figure that `published.csv` does not hold.
        """
        if self.evidence:
            return f"{EVIDENCE[self.evidence]}: {self.shows}"
        figures = [(study, *figure) for study, items in self.numbers.items() for figure in items.items()]
        return "; ".join(f"{label}: {published_text(study, item)}" for study, label, item in figures)


@cache
def load_sides(path: Path = SIDES) -> dict[str, Shown]:
    """What was shown for each claim in conflict, by the claim's id.

    Raises BertologyError: the claim and the field that are wrong.
    """
    found = {}
    for claim, row in read_yaml(path).items():
        try:
            found[claim] = Shown(**row)
        except ValidationError as error:
            raise BertologyError(f"{path.name}: {claim}, {': '.join(first_fault(error))}") from None
    return found
