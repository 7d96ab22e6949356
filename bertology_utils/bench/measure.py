"""Times the ways of doing one piece of work, in turns, and compares them. Depends on provenance (for what is recorded).

Machines are never quiet: the ways take turns round by round, a way's time is its median, and the range of the ratio
over rounds is told beside it.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import torch

from bertology_utils.files import read_entries, updating, write_json

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
Way = Callable[[], tuple[float, Any]]
"""Does the work once; returns what it cost and what came out."""

SIZES = ("smoke", "full")


@dataclass(frozen=True)
class Case:
    """The ways of doing one piece of work.

    Attributes:
        plain: the peers' ways.
        ours: the way that is judged.
        rival: the plain way that ours is held against; None for the fastest of them.
        difference: how far ours is from a plain way, from what both returned; the largest counts. None where nothing
            can differ.
        tolerance: the largest difference that counts as equal.
        parts: further ways, timed to show what a part contributes, never judged.
        limit: the ratio to the rival that the arithmetic allows any way with the same results, where it was counted.
    """

    plain: Mapping[str, Way]
    ours: Mapping[str, Way]
    difference: Callable[[Any, Any], float] | None = None
    tolerance: float = 0.0
    rival: str | None = None
    parts: Mapping[str, Way] = field(default_factory=dict)
    limit: float | None = None

    @property
    def ways(self) -> dict[str, Way]:
        return {**self.plain, **self.parts, **self.ours}


@dataclass(frozen=True)
class Benchmark:
    """What is compared. `prepare(folder, **size)` makes the case; `bar` is the ratio to reach, None for a mere fact.

    A way's cost is counted in `quantity` a `unit`: seconds, or MiB of memory at the peak. `items` says how many of
    what a unit holds, where throughput is told.
    """

    name: str
    what: str
    unit: str
    prepare: Callable[..., Case]
    smoke: Mapping[str, Any]
    full: Mapping[str, Any]
    bar: float | None = None
    rounds: int = 3
    quantity: str = "seconds"
    items: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Speed:
    """Median cost of one way, and how often it goes into that of the rival, with the rounds' range."""

    way: str
    cost: float
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Outcome:
    """One benchmark's result; `equal` is None where there is nothing to compare."""

    name: str
    what: str
    unit: str
    quantity: str
    size: str
    speeds: list[Speed]
    judged: str
    bar: float | None
    difference: float | None
    tolerance: float
    equal: bool | None
    items: Mapping[str, int]
    limit: float | None = None

    @property
    def ratio(self) -> float:
        return next(speed.ratio for speed in self.speeds if speed.way == self.judged)

    @property
    def verdict(self) -> str:
        """`reached`, `missed` or `differs`; without a bar only `differs` or nothing."""
        if self.equal is False:
            return "differs"
        if self.bar is None:
            return ""
        return "reached" if self.ratio >= self.bar else "missed"


def apart(module: str, *arguments: object, **variables: str) -> str:
    """What a module of this folder prints last, run in a process of its own on as many threads as this one."""
    command = [sys.executable, "-m", f"{__package__}.{module}", *map(str, arguments)]
    shared = {"PYTHONPATH": str(PACKAGE_ROOT), "OMP_NUM_THREADS": str(torch.get_num_threads())}
    done = subprocess.run(command, check=True, env=os.environ | shared | variables, capture_output=True, text=True)
    return done.stdout.strip().rpartition("\n")[2]


def timed(work: Callable[[], Any]) -> Way:
    """The way that counts all the time of `work`."""

    def way() -> tuple[float, Any]:
        started = time.perf_counter()
        value = work()
        return time.perf_counter() - started, value

    return way


def measure(benchmark: Benchmark, size: str = "full") -> Outcome:
    """Runs all ways of a benchmark in turns; at smoke size one round."""
    with tempfile.TemporaryDirectory() as folder:
        case = benchmark.prepare(Path(folder), **getattr(benchmark, size))
        costs: dict[str, list[float]] = {name: [] for name in case.ways}
        values: dict[str, Any] = {}
        for _ in range(1 if size == "smoke" else benchmark.rounds):
            for name, way in case.ways.items():
                cost, values[name] = way()
                costs[name].append(cost)
    judged = next(iter(case.ours))
    difference, tolerance = None, float(case.tolerance)  # plain numbers, which json can write
    if case.difference is not None:
        difference = float(max(case.difference(values[name], values[judged]) for name in case.plain))
    return Outcome(
        benchmark.name,
        benchmark.what,
        benchmark.unit,
        benchmark.quantity,
        size,
        speeds(costs, [case.rival] if case.rival else list(case.plain)),
        judged,
        benchmark.bar,
        difference,
        tolerance,
        None if difference is None else difference <= tolerance,
        benchmark.items if size == "full" else {},
        case.limit,
    )


def speeds(costs: Mapping[str, list[float]], rivals: list[str]) -> list[Speed]:
    """Each way's median cost and its ratio to the cheapest rival, from the costs of every round."""
    best = min(rivals, key=lambda name: median(costs[name]))
    found = []
    for name, own_costs in costs.items():
        rounds = [reference / own for reference, own in zip(costs[best], own_costs, strict=True)]
        found.append(Speed(name, median(own_costs), median(costs[best]) / median(own_costs), min(rounds), max(rounds)))
    return found


def write(path: Path, outcomes: Iterable[Outcome], origin: Mapping[str, str]) -> None:
    """Writes outcomes with their origin into a json list, in place of earlier ones of the same benchmarks."""
    new = [{**asdict(found), "ratio": found.ratio, "verdict": found.verdict, **origin} for found in outcomes]
    replaced = {entry["name"] for entry in new}
    with updating(path):
        kept = [entry for entry in read_entries(path, "name") if entry["name"] not in replaced]
        write_json(path, kept + new)
