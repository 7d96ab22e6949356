"""The ledger: every claim of the survey, its prediction, and what the runs say of it. Depends on `predictions`.

Claims are data: one YAML file in the room of each chapter, `studies/<chapter>/claims.yaml`, validated when read.
Records are what chapters write; the ledger joins both into the list that `ledger.json` and `ledger.csv` hold.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError, field_validator, model_validator
from scipy import stats

from bertology_utils.errors import BertologyError, unknown
from bertology_utils.files import read_yaml, write_csv, write_json
from bertology_utils.project import CHAPTERS
from bertology_utils.verdicts.judging import judged_again
from bertology_utils.verdicts.predictions import Prediction, parse

PACKAGE = Path(__file__).parents[1]
STUDIES = PACKAGE / "studies"
REFERENCES = PACKAGE / "references.yaml"
TESTED_KINDS = ("empirical", "contested")
ROW_FIELDS = ("id", "section", "notebook", "kind", "statement", "studies", "published", "contested_with")
RESULT_FIELDS = (
    "model", "model_sha256", "profile", "data", "measured", "control", "difference", "ci_low", "ci_high", "smallest",
    "p", "q", "needs", "lead", "n", "units", "seeds", "verdict", "reason", "anchor", "commit", "date",
)  # fmt: skip


Part = Literal[
    "masked-LM head", "attention maps", "block with weights of its own", "second head in a layer", "training"
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


def digest(content: Any) -> str:
    """The sha256 of what JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


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
        amended: when the measure behind an unchanged prediction last changed; recorded results of before do not count.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    section: str
    notebook: Literal[CHAPTERS]
    statement: str
    studies: tuple[str, ...]
    published: str | dict[str, Any] | None
    kind: Literal["empirical", "contested", "method", "system", "definition", "open_question"]
    contested_with: tuple[str, ...]
    experiment: str
    pattern: str
    needs: tuple[str, ...]
    feasible_small: Literal["yes", "partly", "no"]
    feasible_reason: str
    needs_data: dict[str, str]
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
        if text is not None:
            try:
                parse(text)
            except BertologyError as error:
                raise ValueError(str(error)) from None
        return text

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

    def reread(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """A recorded result, judged again by today's prediction and estimator; with no prediction if it cannot be."""
        if self.prediction is None:
            return result
        return judged_again(self, result) or {**result, "prediction": None}

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

    Raises:
        BertologyError: the claim and the field that are wrong.
    """
    claims = []
    for row in read_yaml(path) or []:
        try:
            claims.append(Claim(**row))
        except (ValidationError, TypeError) as error:
            raise BertologyError(
                f"{path.parent.name}/{path.name}, claim '{_identity(row)}': {_first_message(error)}"
            ) from None
    return claims


def _identity(row: Any) -> str:
    return row.get("id", "without id") if isinstance(row, dict) else str(row)[:40]


def _first_message(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"


@cache
def load_claims() -> tuple[Claim, ...]:
    """All claims in the chapters' order, validated against each other and the bibliography."""
    claims = tuple(claim for chapter in CHAPTERS for claim in read_claims(claims_file(chapter)))
    validate(claims, citation_keys())
    return claims


@cache
def citation_keys() -> frozenset[str]:
    return frozenset(row["key"] for row in read_yaml(REFERENCES))


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


def collect_records(paths: Iterable[Path], recorded: Iterable[Path] = ()) -> list[dict[str, Any]]:
    """Joins all claims with the results in the given record files: the content of `ledger.json`.

    Args:
        paths: records of runs on this machine.
        recorded: records kept in the repository. A result of them counts while the claim covers it, and gives way to a
            result of this machine on the same model and profile.

    Raises:
        BertologyError: a file is no record of a run.
    """
    claims = {claim.id: claim for claim in load_claims()}
    found: dict[str, list[dict[str, Any]]] = {}
    for path, kept in [*((path, False) for path in paths), *((path, True) for path in recorded)]:
        for identity, row in _result_rows(path, claims if kept else {}):
            # A chapter may judge a second model beside its own, the same one in every run.
            known = {(r["model"], r["profile"]) for r in found.get(identity, [])}
            valid = not kept or (identity in claims and claims[identity].covers(row))
            if valid and (row["model"], row["profile"]) not in known:
                found.setdefault(identity, []).append(row | {"recorded": kept})
    _add_false_discovery_rates([row for rows in found.values() for row in rows])
    return [_row(claim, found.get(claim.id, [])) for claim in load_claims()]


def _add_false_discovery_rates(results: Iterable[dict[str, Any]]) -> None:
    """Benjamini and Hochberg's q beside each p, over the claims that one model was asked under one profile."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in results:
        if result["p"] is not None:
            groups.setdefault((result["model"], result["profile"]), []).append(result)
    for group in groups.values():
        rates = stats.false_discovery_control([result["p"] for result in group])
        for result, rate in zip(group, rates, strict=True):
            result["q"] = float(rate)


def _result_rows(path: Path, claims: Mapping[str, Claim]) -> list[tuple[str, dict[str, Any]]]:
    """A record's results with their claims' ids; margins that one of `claims` has changed since are the new ones."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        run = record.get("run", {})
        read = [claims[r["id"]].reread(r) if r["id"] in claims else r for r in record["results"]]
        return [(result["id"], _result_row(result, result.get("run", run))) for result in read]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, zlib.error):
        raise BertologyError(f"{path} is no record of a run. Restore it, or delete it and run its chapter.") from None


def _result_row(result: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    row = {field: result.get(field) for field in RESULT_FIELDS}
    row["commit"], row["date"] = run.get("commit"), run.get("when")
    details = {name: result.get(name) for name in ("prediction", "model_verdict", "control_verdict")}
    details["intervals_only"] = bool(result.get("clauses")) and not result.get("samples")
    return row | details | {name: result.get(name, []) for name in ("clauses", "control_clauses", "conditions")}


def _row(claim: Claim, results: list[dict[str, Any]]) -> dict[str, Any]:
    data = claim.model_dump(mode="json")
    row = {field: data[field] for field in ROW_FIELDS}
    kept = {"prediction": claim.full_prediction, "specific": claim.specific, "checks": claim.checks}
    return row | kept | {"results": results}


def write_ledger(rows: list[dict[str, Any]], folder: Path) -> None:
    """Writes `ledger.json` and `ledger.csv` (one line a claim and model) into `folder`."""
    write_json(folder / "ledger.json", rows)
    write_csv(folder / "ledger.csv", _lines(rows), [*ROW_FIELDS, "prediction", *RESULT_FIELDS])


def _lines(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        flat = row | {"studies": " ".join(row["studies"]), "contested_with": " ".join(row["contested_with"])}
        flat["published"] = published_text(row["published"])
        for result in row["results"] or [{}]:
            yield flat | result
