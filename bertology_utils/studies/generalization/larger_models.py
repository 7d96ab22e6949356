"""The study `sizes`: does a larger model take the planted shortcut less? Each rung of the ladder learns biased pairs.

Depends on `planted` (the pairs), `readers` (how they are learnt) and `families` (the rungs). A seed draws lessons, test
pairs, head, order and the untrained network anew; a line is one rung of one seed, trained or not
(bhargava2021generalization).
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Self

import numpy as np

from bertology_utils.by_seed import keep_rows, orphaned, read_study, run_seeds
from bertology_utils.errors import unknown
from bertology_utils.families import parameters, rungs
from bertology_utils.figures import Figure, curve
from bertology_utils.files import read_rows
from bertology_utils.models import load, twin
from bertology_utils.project import find_root
from bertology_utils.provenance import hardware
from bertology_utils.samples import per_seed
from bertology_utils.studies.generalization import readers
from bertology_utils.studies.generalization.planted import pair_sets

PATH = Path("results") / "larger_models.csv"
FIRST_SEED = 5000
PRETRAINED, UNTRAINED = "pre-trained", "untrained"
ASKED = ("in_domain", "challenge")


@dataclass(frozen=True)
class Plan:
    """Lessons to learn from, test pairs of each sort, passes over the lessons."""

    lessons: int = 1000
    test: int = 320
    epochs: int = 3


@dataclass(frozen=True)
class Unit:
    """Accuracies of one rung after the lessons of one seed; `rung` is its name, `identity` that of its weights."""

    rung: str
    identity: str
    start: str
    seed: int
    in_domain: float
    challenge: float
    items: int
    seconds: float
    hardware: str
    date: str


def known_row(name: str) -> str:
    """The name itself. Raises BertologyError for what is no rung of the ladder."""
    if name not in rungs():
        raise unknown("rung of the ladder", name, rungs())
    return name


# ---------------------------------------------------------------- the file


def units(rung: str, seed: int, plan: Plan) -> Iterator[Unit]:
    """The lines of a rung and seed: of its weights, and of an untrained network of its size."""
    specimen, sets = load(rung), pair_sets(plan.lessons, plan.test, FIRST_SEED + seed)
    for start, own in {PRETRAINED: specimen, UNTRAINED: twin(specimen, FIRST_SEED + seed)}.items():
        began = time.process_time()
        found = readers.tune(own, sets, [FIRST_SEED + seed], plan.epochs)
        scores = [round(float(found[name].mean()), 4) for name in ASKED]
        seconds, date = round(time.process_time() - began, 1), datetime.now(UTC).date().isoformat()
        yield Unit(rung, specimen.identity, start, seed, *scores, plan.test, seconds, hardware(), date)


def missing(path: Path, rows: Sequence[str], seeds: Sequence[int], model: str) -> list[tuple[str, int]]:
    """(rung, seed) without lines of a rung with these weights; `model` is not asked, the rungs are the models."""
    identities = {rung: load(rung).identity for rung in rows}
    done = {(unit.rung, unit.identity, unit.seed) for unit in read_rows(path, Unit)}
    return [(rung, seed) for seed in seeds for rung in rows if (rung, identities[rung], seed) not in done]


keep = partial(keep_rows, kind=Unit, key=attrgetter("rung", "start", "seed"))


def _of_seed(path: Path, plan: Plan, seed: int, rows: Sequence[str]) -> None:
    for rung in rows:
        if orphaned():
            return
        found = list(units(rung, seed, plan))
        keep(path, found)
        told = (f"{unit.start} {unit.in_domain:.3f}, {unit.challenge:.3f} on the challenge" for unit in found)
        print(f"{rung}, seed {seed}: {'; '.join(told)}", flush=True)


def study(path: Path, todo: Sequence[tuple[str, int]], model: str, plan: Plan, jobs: int = 2) -> None:
    """Measures what is to do, `jobs` seeds at a time, and keeps every unit in the file as soon as it is there."""
    run_seeds(partial(_of_seed, path, plan), todo, jobs)


# ---------------------------------------------------------------- what the chapter reads


@dataclass(frozen=True)
class BySize:
    """Lines of the file, of the seeds that all rungs have; `sizes`: {rung: parameters}, the smallest first."""

    lines: Sequence[Unit]
    sizes: Mapping[str, int]

    @classmethod
    def read(cls) -> Self:
        """Raises BertologyError where the file is missing."""
        lines = read_study(find_root() / PATH, Unit, "sizes")
        return cls(lines, {rung: parameters(rung) for rung in rungs()})

    def scores(self, rung: str, start: str, asked: str) -> np.ndarray:
        """One value a seed, over `items` pairs."""
        own = {unit.seed: unit for unit in self.lines if (unit.rung, unit.start) == (rung, start)}
        everywhere = set.intersection(*({unit.seed for unit in self.lines if unit.rung == one} for one in self.sizes))
        return per_seed([getattr(own[seed], asked) for seed in sorted(everywhere)], self.lines[0].items)

    def samples(self, start: str = PRETRAINED) -> dict[str, np.ndarray]:
        """smallest, largest: the challenge by the ends of the ladder; smallest_learnt, largest_learnt: biased pairs."""
        ends = {"smallest": next(iter(self.sizes)), "largest": list(self.sizes)[-1]}
        challenge = {name: self.scores(rung, start, "challenge") for name, rung in ends.items()}
        return challenge | {f"{name}_learnt": self.scores(rung, start, "in_domain") for name, rung in ends.items()}

    def figure(self, caption: str) -> Figure:
        """Accuracy by size, on pairs like the lessons and on the challenge; untrained networks as controls."""
        names = {"in_domain": "biased pairs", "challenge": "challenge"}
        series = {
            f"{said}{suffix}": np.stack([self.scores(rung, start, asked)[:, 0] for rung in self.sizes])
            for start, suffix in ((PRETRAINED, ""), (UNTRAINED, ", untrained"))
            for asked, said in names.items()
        }
        millions = np.array(list(self.sizes.values())) / 1e6
        controls = [name for name in series if name.endswith("untrained")]
        look = {"xlabel": "million parameters", "ylabel": "accuracy", "logx": True, "baselines": {"chance": 0.5}}
        return curve(millions, series, controls=controls, caption=caption, **look)
