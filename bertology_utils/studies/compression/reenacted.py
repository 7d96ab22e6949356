"""Table 1 re-enacted: every row on every task with every seed, measured alike, kept in one file that a run continues.

Depends on `compression.methods` (the rows) and on `knowledge` and `speed`. A unit is one row with one seed, on all of
its tasks: the teachers of a seed are tuned once, the body that reads text is made once for all tasks, and one that
reads long once for all seeds.
"""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path

from torch import nn

from bertology_utils.by_seed import keep_rows, orphaned, run_groups, run_seeds
from bertology_utils.compression.methods.lesson import (
    Budget,
    Course,
    Encoded,
    Method,
    Network,
    Small,
    course,
    enact,
    lesson,
    read_body,
    right_answers,
)
from bertology_utils.compression.methods.problems import (
    LONG,
    PROBLEMS,
    TEN_LANGUAGES,
    Problem,
    problem,
    text_of_ten_languages,
)
from bertology_utils.compression.methods.registry import METHODS, method
from bertology_utils.files import read_rows
from bertology_utils.language.grammar import generate
from bertology_utils.models import Specimen, load
from bertology_utils.provenance import hardware
from bertology_utils.studies.compression.knowledge import KNOWLEDGE, Probed, knowledge
from bertology_utils.studies.compression.speed import times_faster

PATH = Path("results") / "reenacted.csv"
SEEDS = 5
UNKNOWN = -1.0  # in the file: not measured
FEWER = {"tense": 480, "tagging": 240} | dict(zip(LONG, (80, 80, 120), strict=True))  # examples of easier tasks
TEXT_SEED = 10_000  # of unlabelled sentences: far from those of examples
BODY_SEED = 0  # of bodies that are made once


@dataclass(frozen=True)
class Sizes:
    """How much every row is given: examples of each task, sentences of text for each split of words, and the budget."""

    budget: Budget = field(default_factory=Budget)
    text: int = 2000
    problems: Sequence[str] = PROBLEMS
    probed: Probed | None = field(default_factory=Probed)
    fewer: Mapping[str, int] = field(default_factory=lambda: dict(FEWER))


@dataclass(frozen=True)
class Unit:
    """One row on one task with one seed.

    score, teacher: shares of right answers of the small network and of the teacher with the same seed; parameters,
    bytes, memory as `lesson.Small`, encoder without embeddings; faster_1, faster_32: how many times faster than the
    teacher with 1 and 32 inputs at once; seconds the method took; `fact` what defines it, as measured; number, meaning,
    trees: what the network tuned on the first task knows, of others -1; model and hardware by what they are.
    """

    row: str
    problem: str
    seed: int
    score: float
    teacher: float
    answers: int
    parameters: int
    encoder: int
    bytes: int
    memory: int
    faster_1: float
    faster_32: float
    seconds: float
    fact: float
    number: float
    meaning: float
    trees: float
    model: str
    hardware: str
    date: str


def text(sentences: int, seed: int) -> list[tuple[str, ...]]:
    """So many unlabelled sentences of each split's words: a model that starts from nothing must meet all of them."""
    return [s.words for split in ("train", "test") for s in generate(sentences, seed, split)]


class Classroom:
    """The course and the teachers of one seed, tuned where a row first needs them, once for all rows."""

    def __init__(self, model: str, seed: int, sizes: Sizes):
        self.model, self.seed, self.sizes = model, seed, sizes
        self._taught: dict[tuple, Taught] = {}

    def taught(self, method: Method) -> "Taught":
        """What the row is given: its own model and tasks where it has such."""
        key = method.model or self.model, tuple(method.problems or self.sizes.problems)
        if key not in self._taught:
            self._taught[key] = self._teach(*key)
        return self._taught[key]

    def _teach(self, model: str, names: Sequence[str]) -> "Taught":
        made = _course(model, names, self.sizes.text, self.sizes.budget, self.seed)
        problems = [self._problem(name) for name in names]
        teachers = [lesson(made, own).teacher for own in problems]
        scores = [_right(teacher, made.origin, own) for teacher, own in zip(teachers, problems, strict=True)]
        return Taught(made, problems, teachers, scores)

    def _problem(self, name: str) -> Problem:
        sizes = self.sizes
        return problem(name, sizes.fewer.get(name, sizes.budget.examples), sizes.budget.test, self.seed)

    def units(self, method: Method) -> list[Unit]:
        """The row on all of its tasks: one unit a task, in their order."""
        taught = self.taught(method)
        body, reading = self._long_read(method) if method.reads > 1 else (None, 0.0)
        started = time.process_time()
        made = enact(method, taught.course, taught.problems, taught.teachers, body)
        seconds = (time.process_time() - started + reading) / len(made)
        known = self._known(made[0], taught.course.origin)
        found = []
        for place, small in enumerate(made):
            about = {name: known[name] if not place and known else UNKNOWN for name in KNOWLEDGE}
            found.append(_unit(method, taught, place, small, seconds, about))
        return found

    def _long_read(self, method: Method) -> tuple[Specimen | None, float]:
        """The row's body that has read for long, the same for every seed, and the seconds that it took."""
        names = tuple(method.problems or self.sizes.problems)
        return _read_once(method, method.model or self.model, names, self.sizes.text, self.sizes.budget)

    def _known(self, small: Small, origin: Specimen) -> dict[str, float]:
        if self.sizes.probed is None:
            return {}
        return knowledge(small.network.encoder, small.body or origin, self.sizes.probed, self.seed)


@dataclass(frozen=True)
class Taught:
    """A course with its tasks, the teacher of each, and the teachers' shares of right answers."""

    course: Course
    problems: Sequence[Problem]
    teachers: Sequence[Network]
    scores: Sequence[float]


def _course(model: str, names: Sequence[str], sentences: int, budget: Budget, seed: int) -> Course:
    texts = text_of_ten_languages if TEN_LANGUAGES in names else text
    return course(load(model), texts(sentences, TEXT_SEED + seed), seed, budget)


@lru_cache(maxsize=1)  # rows come one after the other, each with all of its seeds
def _read_once(
    method: Method, model: str, names: Sequence[str], sentences: int, budget: Budget
) -> tuple[Specimen | None, float]:
    longer = dataclasses.replace(budget, text_steps=method.reads * budget.text_steps)
    made, started = _course(model, names, method.reads * sentences, longer, BODY_SEED), time.process_time()
    return read_body(method, made), time.process_time() - started


def _right(network: nn.Module, specimen: Specimen, asked: Problem) -> float:
    return float(right_answers(network, Encoded.of(specimen, asked.test)).mean())


def _unit(method: Method, taught: Taught, place: int, small: Small, seconds: float, known: dict[str, float]) -> Unit:
    own, origin = taught.problems[place], taught.course.origin
    body = small.body or origin
    questions = Encoded.of(body, own.test)
    right = right_answers(small.network, questions)
    sides = (taught.teachers[place], Encoded.of(origin, own.test)), (small.network, questions)
    return Unit(
        row=method.row,
        problem=own.name,
        seed=taught.course.seed,
        score=round(float(right.mean()), 4),
        teacher=round(taught.scores[place], 4),
        answers=len(right),
        parameters=small.parameters,
        encoder=small.parameters - table_size(small.network),
        bytes=small.bytes,
        memory=small.memory,
        faster_1=round(times_faster(*sides, inputs=1), 3),
        faster_32=round(times_faster(*sides, inputs=32), 3),
        seconds=round(seconds, 1),
        fact=small.facts[method.defines[0]] if method.defines else UNKNOWN,
        **{name: round(value, 4) for name, value in known.items()},
        model=origin.identity,
        hardware=hardware(),
        date=datetime.now(UTC).date().isoformat(),
    )


def table_size(network: nn.Module) -> int:
    """Parameters of the embeddings: of tables of pieces, positions and segments, and what maps them to the width."""
    return sum(p.numel() for name, p in network.named_parameters() if "embedding" in name)


# ---------------------------------------------------------------- the file


def missing(path: Path, rows: Sequence[str], seeds: Sequence[int], model: str) -> list[tuple[str, int]]:
    """(row, seed) without units in the file, of a model with these weights; seeds in the outer order."""
    known = {load(name).identity for name in {model, *(method(row).model or model for row in rows)}}
    done = {(unit.row, unit.seed) for unit in read_rows(path, Unit) if unit.model in known}
    return [(row, seed) for seed in seeds for row in rows if (row, seed) not in done]


def _in_order(unit: Unit) -> tuple[int, str, int]:
    """Where a unit stands in the file: as its method in the table, then by task and seed."""
    rows = [one.row for one in METHODS]
    return rows.index(unit.row) if unit.row in rows else len(rows), unit.problem, unit.seed


keep = partial(keep_rows, kind=Unit, key=attrgetter("row", "problem", "seed"), order=_in_order)


def _of_seed(path: Path, model: str, sizes: Sizes, seed: int, rows: Sequence[str]) -> None:
    room = Classroom(model, seed, sizes)
    for row in rows:
        _measure(path, room, row)


def _of_row(path: Path, model: str, sizes: Sizes, row: str, seeds: Sequence[int]) -> None:
    for seed in seeds:
        _measure(path, Classroom(model, seed, sizes), row)


def _measure(path: Path, room: Classroom, row: str) -> None:
    if orphaned():
        return
    units = room.units(method(row))
    keep(path, units)
    shares = ", ".join(f"{unit.problem} {unit.score:.3f}" for unit in units)
    print(f"{row}, seed {room.seed}: {shares} ({sum(unit.seconds for unit in units):.0f} s)", flush=True)


def study(path: Path, todo: Sequence[tuple[str, int]], model: str, sizes: Sizes, jobs: int = 2) -> None:
    """Measures what is to do, and keeps every unit in the file as soon as it is there.

    `jobs` seeds at a time, then as many rows whose bodies read for long.
    """
    run_seeds(partial(_of_seed, path, model, sizes), [u for u in todo if method(u[0]).reads == 1], jobs)
    run_groups(partial(_of_row, path, model, sizes), [u for u in todo if method(u[0]).reads > 1], jobs)
