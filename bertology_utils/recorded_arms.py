"""Recorded arms: what experiments on tiny models gave, seed by seed, kept in one table that chapters read.

An experiment is a function of seeds that gives samples of one value a seed (`samples.per_seed`): of trained models as
the model's side, of untrained ones, a network a seed, as the twin's. Depends on `by_seed`, `files` and `runs`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path

from bertology_utils.by_seed import keep_rows, read_study
from bertology_utils.errors import BertologyError
from bertology_utils.project import find_root
from bertology_utils.provenance import hardware
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed

PATH = Path("results") / "small_models.csv"
MODEL, UNTRAINED = "model", "untrained"
Experiment = Callable[[Sequence[int]], Runs]


Values = dict[str, float]


@dataclass(frozen=True)
class Line:
    """One sample of one seed, a mean over `items`; seconds are those of all seeds that ran with it."""

    experiment: str
    side: str
    sample: str
    seed: int
    value: float
    items: int
    seconds: float
    hardware: str
    date: str


def one_by_one(of_seed: Callable[[int], tuple[Values, Values]], items: int) -> Experiment:
    """An experiment of what each seed gives by itself: the values of trained models, and those of untrained ones."""

    def measure(seeds: Sequence[int]) -> Runs:
        return of_sides(*zip(*(of_seed(seed) for seed in seeds), strict=True), items)

    return measure


def of_sides(trained: Sequence[Values], untrained: Sequence[Values], items: int) -> Runs:
    """The samples of what each seed gives, means over `items`."""
    samples = (
        {name: per_seed([own[name] for own in side], items) for name in side[0]} for side in (trained, untrained)
    )
    return Runs(*samples, networks=len(trained))


def lines(experiment: str, seeds: Sequence[int], measure: Experiment) -> list[Line]:
    """What an experiment gives for some seeds, measured now.

    Raises BertologyError for a sample that has not one value a seed.
    """
    began = time.process_time()
    found = measure(seeds)
    told = (round(time.process_time() - began, 1), hardware(), datetime.now(UTC).date().isoformat())
    made = []
    for side, samples in {MODEL: found.model, UNTRAINED: found.twin}.items():
        for name, sample in samples.items():
            if sample.shape != (len(seeds), 1):
                raise BertologyError(f"'{name}' of '{experiment}' needs one value a seed, not {sample.shape}.")
            values = zip(seeds, sample[:, 0].tolist(), strict=True)
            made += [Line(experiment, side, name, s, round(v, 6), sample.items, *told) for s, v in values]
    return made


keep = partial(keep_rows, kind=Line, key=attrgetter("experiment", "side", "sample", "seed"))


def read(experiment: str) -> Runs:
    """The recorded samples of an experiment, (seeds, 1) each, of the seeds that all of them have.

    Raises BertologyError where the file is missing or has nothing of it.
    """
    own = [line for line in read_study(find_root() / PATH, Line, "small-models") if line.experiment == experiment]
    if not own:
        raise BertologyError(f"Nothing is recorded: `bertology study small-models --row {experiment}` measures it.")
    values: dict[tuple[str, str], dict[int, Line]] = {}
    for line in own:
        values.setdefault((line.side, line.sample), {})[line.seed] = line
    seeds = sorted(set.intersection(*map(set, values.values())))

    def side(name: str) -> Mapping[str, object]:
        chosen = {sample: by_seed for (of, sample), by_seed in values.items() if of == name}
        return {sample: per_seed([of[s].value for s in seeds], of[seeds[0]].items) for sample, of in chosen.items()}

    return Runs(side(MODEL), side(UNTRAINED), networks=len(seeds))
