"""What the generated pages say, before it is HTML: claims with results, outcomes of conflicts, run records.

Depends on `claims`, on `families` for names of models, and on what a run and a build leave under `_executed/`:
`ledger.json` and one record a chapter. Everything here is computed from those files; no verdict and no number is
written by hand.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bertology_utils.errors import BertologyError
from bertology_utils.families import is_member
from bertology_utils.project import DEFAULT_MODEL, is_untrained
from bertology_utils.verdicts import predictions
from bertology_utils.verdicts.claims import Claim, load_claims
from bertology_utils.verdicts.predictions import (
    CONTRADICTS,
    NOT_SPECIFIC,
    NOT_TESTABLE,
    REPLICATES,
    UNABLE,
    WEAKER,
    ClauseResult,
)

SYSTEMS = Path(__file__).parents[1] / "systems.yaml"
NOT_RUN = "not run"  # no chapter tested it
VERDICTS = (*predictions.VERDICTS, NOT_RUN)
# Verdicts from good to bad, as bars and tables show them; a claim that cannot be tested is not among them.
SHARES = (REPLICATES, NOT_SPECIFIC, WEAKER, predictions.UNDERPOWERED, UNABLE, CONTRADICTS)


@dataclass(frozen=True)
class Row:
    """One claim with what the runs say of it: the objects of `ledger.json`."""

    claim: Claim
    results: tuple[dict[str, Any], ...] = ()

    @property
    def live(self) -> dict[str, Any] | None:
        """The result that the book's own pages show: the default model, profile `live`; else another trained one."""
        own = [r for r in self.results if r.get("profile") == "live" and not r.get("recorded") and is_trained(r)]
        return min(own, key=lambda result: result.get("model") != DEFAULT_MODEL, default=None)

    @property
    def recorded(self) -> tuple[dict[str, Any], ...]:
        """Results of trained specimens that the repository keeps: the `full` profile first, newest first.

        Rungs, seeds and checkpoints are told as a series, by `emergence`.
        """
        kept = [r for r in self.results if r.get("recorded") and is_trained(r) and not is_member(str(r.get("model")))]
        newest = sorted(kept, key=lambda result: str(result.get("date", "")), reverse=True)
        return tuple(sorted(newest, key=lambda result: result.get("profile") != "full"))

    @property
    def elsewhere(self) -> tuple[dict[str, Any], ...]:
        """The recorded results without those of networks that the claim trains for itself, the live ones once more."""
        return tuple(result for result in self.recorded if not measured_alike(self.live or {}, result))

    @property
    def verdict(self) -> str:
        """The live verdict, or `not run`."""
        return verdict_of(self.live)


def is_trained(result: Mapping[str, Any]) -> bool:
    """Whether a result is of a trained model."""
    return not is_untrained(str(result.get("model", "")))


def verdict_of(result: Mapping[str, Any] | None) -> str:
    """The verdict of one result, brought to the fixed vocabulary (`not testable here (reason)` loses its reason)."""
    if not result or not result.get("verdict"):
        return NOT_RUN
    verdict = str(result["verdict"])
    return NOT_TESTABLE if verdict.startswith("not testable") else verdict


def load_rows(ledger: Path, claims: Iterable[Claim] | None = None) -> list[Row]:
    """All claims in the order of the claims files, each with its results from `ledger.json` (none without that)."""
    return rows_of(read_valid_json(ledger, default=[]), claims)


def rows_of(entries: Iterable[dict[str, Any]], claims: Iterable[Claim] | None = None) -> list[Row]:
    """The same from the entries of `ledger.json`."""
    found = {entry["id"]: entry.get("results") or [] for entry in entries}
    return [Row(claim, tuple(found.get(claim.id, []))) for claim in (load_claims() if claims is None else claims)]


def read_valid_json(path: Path, default: Any) -> Any:
    """The content of a JSON file, or `default` where there is none; a broken file is the user's to hear about."""
    if not path.exists():
        return default
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BertologyError(
            f"{path.name} is not valid JSON ({error}).\nRun `bertology run` again to write it anew."
        ) from error


def outcome(*verdicts: str) -> str:
    """What a run says on two claims that pull apart: `first`, `second`, `both`, `neither` or `open`.

    A side is supported only if it replicates and training is why, and the other one is contradicted. A conflict that is
    split within a single claim has no side to support.
    """
    pairs = {
        (REPLICATES, CONTRADICTS): "first",
        (CONTRADICTS, REPLICATES): "second",
        (REPLICATES, REPLICATES): "both",
        (CONTRADICTS, CONTRADICTS): "neither",
    }
    return pairs.get(verdicts, "open")


def result_of(row: Row, model: str, profile: str, specimens: Collection[str] = ()) -> dict[str, Any] | None:
    """What a model's run says of a claim; a model that a chapter asks beside any of `specimens` counts for all."""
    mine = [r for r in row.results if (r.get("model"), r.get("profile")) == (model, profile)]
    live = row.live
    beside = live if live and specimens and profile == "live" and live["model"] not in specimens else None
    return mine[0] if mine else beside


def control_verdict(result: Mapping[str, Any]) -> str:
    """What the untrained twins make of the claim: where they meet it, it holds without training."""
    verdict = str(result["control_verdict"])
    return NOT_SPECIFIC if verdict == REPLICATES else verdict


def is_tested(result: Mapping[str, Any] | None) -> bool:
    """Whether a result says more than that the claim cannot be tested."""
    return bool(result) and verdict_of(result) not in (NOT_RUN, NOT_TESTABLE)


def measured_alike(*results: Mapping[str, Any]) -> bool:
    """Whether two results have the same effect and interval, as far as records keep them."""
    ours, theirs = ([result.get(key) for key in ("difference", "ci_low", "ci_high")] for result in results)
    return None not in (*ours, *theirs) and np.allclose(ours, theirs, rtol=1e-4, atol=0)


def deciding_clause(result: Mapping[str, Any]) -> str:
    """The text of the clause whose values stand for the claim."""
    clauses = clauses_of(result)
    return clauses[predictions.deciding(clauses)].text if clauses else ""


def clauses_of(result: Mapping[str, Any], key: str = "clauses") -> list[ClauseResult]:
    """What a result says of each clause of the prediction; under `control_clauses`, of the untrained twins."""
    return [ClauseResult(**clause) for clause in result.get(key) or ()]


def load_records(executed: Path) -> list[dict[str, Any]]:
    """The `run` entry of every chapter's record below `_executed/<profile>/<model>/`, save smoke runs, which test the
    code; sorted by profile, model and file."""
    found = []
    for path in sorted(path for path in executed.glob("*/*/*.json") if path.parts[-3] != "smoke"):
        facts = read_valid_json(path, {})
        own = {"profile": path.parts[-3], "model": path.parts[-2], "chapter": path.stem}
        found.append(own | facts.get("run", facts) | {"chapter": path.stem})
    return found
