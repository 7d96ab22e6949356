"""Verdicts of chapters under two instruction sets, which stand for two kinds of processors. Depends on `project`, on
`recorded` (what a run left) and on `predictions` (the names of verdicts).

Each library chooses its kernels by the processor, and each has a variable of its own that holds it to older ones. Two
runs with the same kernels give the same bits; other kernels sum in other orders, so that values move by rounding. What
that does to verdicts is kept in `results/processors.csv`, one line a claim.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertology_utils.files import read_rows, updating, write_rows
from bertology_utils.project import Job
from bertology_utils.verdicts.predictions import NOT_TESTABLE

PATH = Path("results") / "processors.csv"
# Torch's own kernels, oneDNN's, MKL's (whose MKL_ENABLE_INSTRUCTIONS says nothing to processors of other makers) and
# those of numpy's OpenBLAS.
VARIABLES = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_CBWR", "OPENBLAS_CORETYPE")
INSTRUCTIONS = {"sse": ("default", "SSE41", "COMPATIBLE", "Prescott"), "avx2": ("avx2", "AVX2", "AVX2", "Haswell")}


@dataclass(frozen=True)
class Compared:
    """One claim under both instruction sets.

    Attributes:
        moved: the largest difference between the effects that its clauses measured, in the claim's own units.
    """

    chapter: str
    claim: str
    model: str
    profile: str
    sse: str
    avx2: str
    moved: float
    commit: str
    date: str


@contextmanager
def instructions(name: str) -> Iterator[None]:
    """Processes that start in the block use this instruction set."""
    before = {variable: os.environ.get(variable) for variable in VARIABLES}
    os.environ.update(zip(VARIABLES, INSTRUCTIONS[name], strict=True))
    try:
        yield
    finally:
        for variable, value in before.items():
            if value is None:
                del os.environ[variable]
            else:
                os.environ[variable] = value


def compared(
    jobs: Sequence[Job], sse: Iterable[Mapping[str, Any]], avx2: Iterable[Mapping[str, Any]]
) -> list[Compared]:
    """The claims in the records of the jobs' two runs, without those that cannot be tested."""
    found = []
    for job, old, new in zip(jobs, sse, avx2, strict=True):
        before = {(result["id"], result["model"]): result for result in old["results"]}
        for result in new["results"]:
            other = before[result["id"], result["model"]]
            words = other["verdict"], result["verdict"]
            if words != (NOT_TESTABLE, NOT_TESTABLE):
                origin = str(new["run"]["commit"]), str(new["run"]["when"])
                named = job.chapter, result["id"], result["model"], job.profile
                found.append(Compared(*named, *words, _moved(other, result), *origin))
    return found


def _moved(old: Mapping[str, Any], new: Mapping[str, Any]) -> float:
    pairs = zip(old.get("clauses") or (), new.get("clauses") or (), strict=True)
    return max((abs(one["effect"] - other["effect"]) for one, other in pairs), default=0.0)


def write(path: Path, rows: Sequence[Compared]) -> None:
    """Adds rows to a csv file in place of earlier ones of the same claims, models and profiles, sorted."""
    with updating(path):
        kept = {(row.profile, row.model, row.chapter, row.claim): row for row in (*read(path), *rows)}
        write_rows(path, [kept[key] for key in sorted(kept)], Compared)


def read(path: Path) -> list[Compared]:
    """The rows of a csv file, none where there is no file."""
    return read_rows(path, Compared)
