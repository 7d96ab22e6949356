"""Recorded runs: records of other specimens and of the `full` profile, kept under `results/runs/`.

A record is what a chapter measured with its provenance (model, checksum, data, seed, commit, versions, date). It lies
in the repository, so that the pages show it beside the live run of whoever builds the book. Depends on `project`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_json, write_json
from bertology_utils.project import Job, model_slug

FOLDER = Path("results") / "runs"
DIGITS = 6


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

    Raises:
        BertologyError: a job that is not to be recorded, or that left no record.
    """
    jobs = list(jobs)
    require_keepable(jobs)
    written = []
    for job in jobs:
        record = read_json(job.record)
        if not isinstance(record, dict):
            raise BertologyError(f"{job.label} has no record to keep: run it first.")
        run = {key: value for key, value in record["run"].items() if key != "freshness"}
        path = recorded_path(job)
        write_json(path, _rounded(record | {"run": run}))
        written.append(path)
    return written


def _rounded(value: Any) -> Any:
    """The same with floats to six significant digits: records are read by people, and compared in git."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value
