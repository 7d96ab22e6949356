"""The ledger: every claim of the survey, and what the runs say of it. Depends on `claims` and `judging`.

Records are what chapters write; the ledger joins them and the claims into the list that `ledger.json` and `ledger.csv`
hold.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scipy import stats

from bertology_utils.errors import BertologyError
from bertology_utils.files import write_csv, write_json
from bertology_utils.verdicts.claims import Claim, load_claims, published_text
from bertology_utils.verdicts.judging import judged_again

ROW_FIELDS = ("id", "section", "notebook", "kind", "statement", "studies", "published", "contested_with")
RESULT_FIELDS = (
    "model", "model_sha256", "profile", "data", "measured", "control", "difference", "ci_low", "ci_high", "smallest",
    "p", "q", "needs", "lead", "n", "units", "seeds", "verdict", "reason", "anchor", "commit", "date",
)  # fmt: skip


def reread(claim: Claim, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """A recorded result, judged again by today's prediction and estimator; with no prediction if it cannot be."""
    if claim.prediction is None:
        return result
    return judged_again(claim, result) or {**result, "prediction": None}


def collect_records(paths: Iterable[Path], recorded: Iterable[Path] = ()) -> list[dict[str, Any]]:
    """Joins all claims with the results in the given record files: the content of `ledger.json`.

    Args:
        paths: records of runs on this machine.
        recorded: records kept in the repository. A result of them counts while the claim covers it, and gives way to a
            result of this machine on the same model and profile.

    Raises BertologyError: a file is no record of a run.
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


def drop_uncovered(recorded: Iterable[Path]) -> int:
    """Takes results that no claim covers any more out of kept records, and records without any; how many those were."""
    claims = {claim.id: claim for claim in load_claims()}
    dropped = 0
    for path in recorded:
        covered = [identity in claims and claims[identity].covers(row) for identity, row in _result_rows(path, claims)]
        record = json.loads(path.read_text(encoding="utf-8"))
        left = [result for result, counts in zip(record["results"], covered, strict=True) if counts]
        dropped += len(covered) - len(left)
        if not left:
            path.unlink()
        elif len(left) < len(covered):
            write_json(path, record | {"results": left})
    return dropped


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
        read = [reread(claims[r["id"]], r) if r["id"] in claims else r for r in record["results"]]
        return [(result["id"], _result_row(result, result.get("run", run))) for result in read]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, zlib.error):
        raise BertologyError(f"{path} is no record of a run. Restore it, or delete it and run its chapter.") from None


def _result_row(result: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    row = {field: result.get(field) for field in RESULT_FIELDS}
    row["commit"], row["date"] = run.get("commit"), run.get("when")
    details = {name: result.get(name) for name in ("prediction", "model_verdict", "control_verdict")}
    details["intervals_only"] = bool(result.get("clauses")) and not result.get("samples")
    lists = ("clauses", "control_clauses", "conditions", "twins_in_place")
    return row | details | {name: result.get(name, []) for name in lists}


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
