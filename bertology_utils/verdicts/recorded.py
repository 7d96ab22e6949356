"""Recorded runs: records of other specimens and of the `full` profile, kept under `results/runs/`.

A record is what a chapter measured with its provenance (model, checksum, data, seed, commit, versions, date). It lies
in the repository, so that the pages show it beside the live run of whoever builds the book. Claims that were run alone
take their old results' places in it, each with its own commit and date. Depends on `project`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_json, write_json
from bertology_utils.project import Job, model_slug

FOLDER = Path("results") / "runs"
DIGITS = 6
JUDGED_AGAIN = ("samples", "control_samples")


def recorded_path(job: Job) -> Path:
    """`results/runs/<profile>/<model>/<chapter>.json`."""
    return job.root / FOLDER / job.profile / model_slug(job.model) / f"{job.chapter}.json"


def recorded_paths(root: Path) -> list[Path]:
    """The records in the repository, sorted."""
    return sorted((root / FOLDER).glob("*/*/*.json"))


def require_keepable(jobs: Iterable[Job]) -> None:
    """Raises `BertologyError` for a smoke run, whose numbers mean nothing, and for another seed than 0."""
    for job in jobs:
        if job.profile == "smoke":
            raise BertologyError("A smoke run is a test of the code; its numbers are not recorded.")
        if job.seed:
            raise BertologyError("Records are runs with seed 0; `bertology rerun` keeps the verdicts of other seeds.")


def keep(jobs: Iterable[Job]) -> list[Path]:
    """Copies the jobs' records into the repository; returns the files written.

    Raises BertologyError: a job that is not to be recorded, or that left no record.
    """
    jobs = list(jobs)
    require_keepable(jobs)
    written = []
    for job in jobs:
        path = recorded_path(job)
        record = result_of(job)
        if job.claims:
            record = _joined(_recorded_chapter(path, job), record)
        run = {key: value for key, value in record["run"].items() if key != "freshness"}
        kept = {key: value for key, value in record.items() if key != "seconds"}  # they differ from run to run
        write_json(path, _rounded(kept | {"run": run}))
        written.append(path)
    return written


def result_of(job: Job) -> dict[str, Any]:
    """What the job's last run left; of single claims, their results alone.

    Raises BertologyError: it left nothing, or nothing about one of its claims.
    """
    record = read_json(job.record)
    if not isinstance(record, dict):
        raise BertologyError(f"{job.label} has no record to keep: run it first.")
    if not job.claims:
        return record
    found = {result["id"]: result for result in record["results"]}
    for claim in job.claims:
        if claim not in found:
            raise BertologyError(f"The chapter '{job.chapter}' says nothing of the claim '{claim}' on {job.model}.")
    return record | {"results": [found[claim] for claim in job.claims]}


def _recorded_chapter(path: Path, job: Job) -> dict[str, Any]:
    kept = read_json(path)
    if not isinstance(kept, dict):
        raise BertologyError(f"There is no record of {job.chapter} on {job.model} to put claims into: record it whole.")
    return kept


def _joined(kept: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """A chapter's record with the claims of another run in it, each with that run's origin."""
    origin = {"run": {key: record["run"][key] for key in ("commit", "when")}}
    new = {result["id"]: result | origin for result in record["results"]}
    results = [new.pop(result["id"], result) for result in kept["results"]] + list(new.values())
    named = {name for result in results for name in result["data"].split(" + ")}
    sets = kept["data_sets"] | record["data_sets"]
    own = {"data_sets": {name: sets[name] for name in sorted(named & set(sets))}}
    own["axes"] = {**kept.get("axes", {}), **record.get("axes", {})}
    return {**kept, "results": results, **own}


def _rounded(value: Any) -> Any:
    """The same with floats to six significant digits: records are read by people, and compared in git. Samples, which
    are judged again, stay as they are."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: inner if key in JUDGED_AGAIN else _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value
