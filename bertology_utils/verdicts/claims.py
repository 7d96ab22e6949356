"""The claims of the survey: what each says, what decides it, and what a model must have to be asked.

Claims are data: one YAML file in the room of each chapter, `studies/<chapter>/claims.yaml`, validated when read.
Depends on `predictions`.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from bertology_utils.bibliography import load_references
from bertology_utils.errors import BertologyError, first_fault, unknown
from bertology_utils.files import digest, read_yaml
from bertology_utils.project import CHAPTERS
from bertology_utils.verdicts.predictions import Prediction, parse, readable

PACKAGE = Path(__file__).parents[1]
STUDIES = PACKAGE / "studies"
TESTED_KINDS = ("empirical", "contested")
Part = Literal[
    "masked-LM head",
    "attention maps",
    "block with weights of its own",
    "second head in a layer",
    "next-sentence head",
    "parameters named as BERT's",
    "training",
]
VERSION_FIELDS = ("prediction", "given", "failure", "specific", "amended")
VERSION_DEFAULTS = {"failure": False, "specific": True}


def version_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What decides a claim's verdict, from a row of a claims file."""
    version = {name: row.get(name, VERSION_DEFAULTS.get(name)) for name in VERSION_FIELDS}
    if amended := version["amended"]:
        when = amended if isinstance(amended, datetime) else datetime.fromisoformat(str(amended))
        version["amended"] = when.astimezone(UTC).isoformat()
    return version


class Claim(BaseModel):
    """One claim of the survey.

    Attributes:
        pattern: the expected outcome in words; every empirical or contested claim has one.
        prediction: the formula that decides the verdict, where a chapter tests the claim.
        given: the positive control, a formula that must hold before the prediction is judged: a model that cannot do
            the task at all says nothing about how it fails.
        failure: whether the claim is that a model fails, or does not mind. A network that knows nothing does so too, so
            a control that fails `given` has no say. On any other claim a control's outcome counts in any case.
        specific: whether the claim is about what training teaches, so that the model must lead its untrained twins.
        checks: what the test checks, where that is a size, a definition, the architecture or the book's own generator
            and not what the statement says of a method; such tests are counted by themselves.
        effect: why the smallest effect that would matter is that of the prediction, such as half the published one.
        study: what the study itself found, as values of the samples that the prediction names, where scales agree.
        requires: what a model must have to be asked; another is not testable here.
        figure: what the study's own figure showed, for the caption of the chapter's.
        amended: when the prediction, or the measure behind it, last changed; results of before do not count.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    section: str
    notebook: Literal[CHAPTERS]
    statement: str
    studies: tuple[str, ...]
    published: str | dict[str, Any] | None = None
    kind: Literal["empirical", "contested", "method", "system", "definition", "open_question"]
    contested_with: tuple[str, ...] = ()
    experiment: str = ""
    pattern: str
    needs: tuple[str, ...] = ()
    feasible_small: Literal["yes", "partly", "no"] = "yes"
    feasible_reason: str = ""
    needs_data: dict[str, str] = {}
    note: str | None = None
    prediction: str | None = None
    given: str | None = None
    failure: bool = False
    specific: bool = True
    checks: str | None = None
    effect: str | None = None
    study: dict[str, float] | None = None
    amended: AwareDatetime | None = None
    requires: tuple[Part, ...] = ()
    figure: str | None = None

    @field_validator("prediction", "given")
    @classmethod
    def _readable(cls, text: str | None) -> str | None:
        return text if text is None else readable(text)

    @model_validator(mode="after")
    def _passable(self) -> "Claim":
        if self.failure and not self.given:
            raise ValueError("a claim of failure needs a positive control in 'given'")
        return self

    @property
    def parsed_prediction(self) -> Prediction:
        if self.prediction is None:
            raise BertologyError(
                f"The claim '{self.id}' has no prediction: add one to studies/{self.notebook}/claims.yaml."
            )
        return parse(self.prediction)

    @property
    def version(self) -> str:
        """The hash of what decides the verdict, by which a result names what it was judged by; see `sealed`."""
        return digest(version_of(self.model_dump()))

    @property
    def about_training(self) -> bool:
        """Whether the headline counts it: not a size, a definition or the book's own generator."""
        return self.specific and not self.checks

    @property
    def full_prediction(self) -> str:
        """The prediction with its condition, as the ledger and the card print it."""
        return " : ".join(filter(None, [self.given and f"given {self.given}", self.prediction or self.pattern]))

    @property
    def study_effects(self) -> dict[str, float]:
        """The study's own effect on each clause whose samples it reports, by the clause's text."""
        known = self.study or {}
        clauses = self.parsed_prediction.clauses if self.prediction else ()
        return {clause.text: clause.effect(known).value for clause in clauses if clause.names <= set(known)}

    @property
    def amendment(self) -> str:
        """What the note says of a change that was made when results were known; empty where there was none."""
        _, word, after = (self.note or "").partition("Amended ")
        return word + after

    def covers(self, result: Mapping[str, Any]) -> bool:
        """Whether a recorded result was judged by this prediction, on samples measured as they are now."""
        current = self.amended is None or datetime.fromisoformat(result["date"]) >= self.amended
        return result["prediction"] == self.full_prediction and current

    @property
    def published_text(self) -> str:
        return published_text(self.published)


def published_text(published: str | Mapping[str, Any] | None) -> str:
    """The published figures as one line of text; empty where the survey gives none."""
    if published is None or isinstance(published, str):
        return published or ""
    return "; ".join(f"{_words(key)}: {_plain(value)}" for key, value in published.items() if value is not None)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(key)} {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return "–" if value is None else str(value)


def _words(key: Any) -> str:
    """A key as a reader reads it."""
    return str(key).replace("_", " ")


def claims_file(chapter: str) -> Path:
    """Where a chapter's claims stand."""
    return STUDIES / chapter / "claims.yaml"


def read_claims(path: Path) -> list[Claim]:
    """The claims of one file.

    Raises BertologyError: the claim and the field that are wrong.
    """
    claims = []
    for row in read_yaml(path) or []:
        try:
            claims.append(Claim(**row))
        except (ValidationError, TypeError) as error:
            told = ": ".join(first_fault(error)) if isinstance(error, ValidationError) else error
            raise BertologyError(f"{path.parent.name}/{path.name}, claim '{_identity(row)}': {told}") from None
    return claims


def _identity(row: Any) -> str:
    return row.get("id", "without id") if isinstance(row, dict) else str(row)[:40]


@cache
def load_claims() -> tuple[Claim, ...]:
    """All claims in the chapters' order, validated against each other and the bibliography."""
    claims = tuple(claim for chapter in CHAPTERS for claim in read_claims(claims_file(chapter)))
    validate(claims, load_references())
    return claims


def validate(claims: Iterable[Claim], keys: Iterable[str]) -> None:
    """Raises BertologyError for a doubled id, an unknown citation, an unknown opponent, or a missing prediction."""
    claims, keys = list(claims), set(keys)
    ids = [claim.id for claim in claims]
    for doubled in {i for i in ids if ids.count(i) > 1}:
        raise BertologyError(f"The claim id '{doubled}' stands twice.")
    for claim in claims:
        for key in set(claim.studies) - keys:
            raise BertologyError(f"Claim '{claim.id}': {unknown('citation key', key, keys)}")
        for other in set(claim.contested_with) - set(ids):
            raise BertologyError(f"Claim '{claim.id}' is contested with: {unknown('claim', other, ids)}")
        if claim.kind in TESTED_KINDS and not claim.pattern.strip():
            raise BertologyError(f"Claim '{claim.id}' is {claim.kind} and has no prediction.")


def claim_by_id(identity: str) -> Claim:
    for claim in load_claims():
        if claim.id == identity:
            return claim
    raise unknown("claim", identity, [claim.id for claim in load_claims()])
