"""The study `subnetworks`: `lottery` on every task with every seed, kept in one file that a run continues.

Depends on `lottery` and `readers`. A line is one sub-network of one tuned run, or one reader beside it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path

import numpy as np

from bertology_utils.by_seed import keep_rows, orphaned, run_seeds
from bertology_utils.files import read_rows
from bertology_utils.models import Specimen, load
from bertology_utils.provenance import hardware
from bertology_utils.studies.overparametrization import readers
from bertology_utils.studies.overparametrization.lottery import FIRST_SEED, Parts, Plan, drawn, run

PATH = Path("results") / "subnetworks.csv"
FULL = "full"
OF_RUN = ("model", "task", "seed")
NOTHING = {"importance": "", "heads": "", "feed_forward": "", "weights": "", "seconds": 0.0}


@dataclass(frozen=True)
class Unit:
    """One network of one run.

    pruned, retrained: the task's score without further tuning, and after one from the beginning; of the whole model
    both are its own. importance: of each head by layer, in the whole model. heads, feed_forward: which of them the good
    network of whole parts has (1) or not (0); of the whole model, which s-pruning leaves when it stops. weights: the
    share of each matrix in the good network of single weights. seconds: of the run, beside the whole model.
    """

    model: str
    task: str
    seed: int
    network: str
    pruned: float
    retrained: float
    importance: str
    heads: str
    feed_forward: str
    weights: str
    seconds: float
    hardware: str
    date: str


def units(specimen: Specimen, task: str, seed: int, plan: Plan) -> list[Unit]:
    """The lines of one run, the whole model first."""
    started = time.process_time()
    found = run(specimen, task, FIRST_SEED + seed, plan)
    seconds = round(time.process_time() - started, 1)
    kept = {
        FULL: {"importance": _text(found.importance.flatten()), "seconds": seconds} | _bits(found.stopped),
        "s_good": _bits(found.good),
        "m_good": {"weights": _text(found.weights)},
    }
    scores = {FULL: (found.full, found.full)}
    scores |= {name: (found.pruned[name], found.retrained[name]) for name in found.pruned}
    return [_unit(specimen, task, seed, name, *own, **kept.get(name, {})) for name, own in scores.items()]


def reader_units(specimen: Specimen, task: str, seed: int, plan: Plan) -> list[Unit]:
    """The lines of what the networks are held against, on the same examples: nothing of them is pruned."""
    train, _, test = drawn(task, FIRST_SEED + seed, plan)
    scores = readers.scores(specimen, train, test, seed)
    return [_unit(specimen, task, seed, name, score, score) for name, score in scores.items()]


def _unit(
    specimen: Specimen, task: str, seed: int, network: str, pruned: float, retrained: float, **kept: str | float
) -> Unit:
    about = {"hardware": hardware(), "date": datetime.now(UTC).date().isoformat()}
    scores = (round(pruned, 4), round(retrained, 4))
    return Unit(specimen.identity, task, seed, network, *scores, **NOTHING | kept | about)


def _bits(parts: Parts) -> dict[str, str]:
    return {name: "".join(str(int(kept)) for kept in own.flatten()) for name, own in parts.items()}


def _text(values: Sequence[float]) -> str:
    return " ".join(f"{float(value):.4f}" for value in values)


def numbers(text: str) -> np.ndarray:
    """What a line's importance or weights hold."""
    return np.array(text.split(), dtype=float)


MEASURES = {FULL: units, "majority": reader_units}  # by a line that each writes

# ---------------------------------------------------------------- the file


def missing(path: Path, tasks: Sequence[str], seeds: Sequence[int], model: str) -> list[tuple[str, int]]:
    """(task, seed) without all lines of a model with these weights in the file; seeds in the outer order."""
    specimen = load(model)
    return [(task, seed) for seed in seeds for task in tasks if _lacking(path, specimen, task, seed)]


def _lacking(path: Path, specimen: Specimen, task: str, seed: int) -> list[Callable[..., list[Unit]]]:
    """What there still is to measure of one run: sub-networks, readers, or both."""
    run_of = (specimen.identity, task, seed)
    there = {unit.network for unit in read_rows(path, Unit) if (unit.model, unit.task, unit.seed) == run_of}
    return [measure for network, measure in MEASURES.items() if network not in there]


keep = partial(keep_rows, kind=Unit, key=attrgetter(*OF_RUN, "network"), order=attrgetter(*OF_RUN))


def _of_seed(path: Path, model: str, plan: Plan, seed: int, tasks: Sequence[str]) -> None:
    specimen = load(model)
    for task in tasks:
        if orphaned():
            return
        for measure in _lacking(path, specimen, task, seed) or MEASURES.values():
            found = measure(specimen, task, seed, plan)
            keep(path, found)
            scores = ", ".join(f"{unit.network} {unit.retrained:.3f}" for unit in found)
            print(f"{task}, seed {seed}: {scores}", flush=True)


def study(path: Path, todo: Sequence[tuple[str, int]], model: str, plan: Plan, jobs: int = 2) -> None:
    """Measures what is to do, `jobs` seeds at a time, and keeps every run in the file as soon as it is there."""
    run_seeds(partial(_of_seed, path, model, plan), todo, jobs)
