"""The study `finetuning`: every condition on every task, and starts crossed with orders, seed after seed in one file.

Depends on `comparisons` and `classification_tasks`. A seed draws everything anew: training and test sentences, the
order of the data, the head, and the weights of the random starts, so that seeds differ by all that another study of
the same kind would differ by. A run continues the file; a line is one condition of one seed.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path

import numpy as np

from bertology_utils.by_seed import keep_rows, orphaned, run_seeds
from bertology_utils.errors import unknown
from bertology_utils.files import read_rows
from bertology_utils.language.grammar import generate
from bertology_utils.models import Specimen, load, twin
from bertology_utils.provenance import hardware
from bertology_utils.studies.finetuning.conditions import ADAPTER_RATE, TASKS, adapter_size
from bertology_utils.studies.finetuning.inside import adapter_sizes, layers_read
from bertology_utils.studies.finetuning.real_tasks import REAL, glue_score, majority, real_examples
from bertology_utils.studies.finetuning.tricks import FEW, LEARNT, SIZED, SIZES, by_size, many_starts, stages, tricks
from bertology_utils.tuning import comparisons
from bertology_utils.tuning.changes import representation_change
from bertology_utils.tuning.classification_tasks import GRADED, examples
from bertology_utils.tuning.shortcuts import bag_of_words, bag_predictions
from bertology_utils.tuning.training import Examples, finetune, task_score

PATH = Path("results") / "finetuning.csv"
FIRST_SEED = 3000  # of the recorded runs: the first ones served to choose the sizes
PRETRAINED = "pre-trained"
RANDOM = ("random 1", "random 2", "random 3")  # starts
FROZEN = {"frozen": "mean", "cls": "cls", "untrained": "untrained"}  # condition -> of `frozen_predictions`
ARMS = ("tuned", *FROZEN)
BAG, MAJORITY = "bag of words", "majority"
LUCK = "starts and orders"  # voice on few sentences
GRID, CHANCE = "grid", "chance"
BESIDE = ("paraphrase", GRADED)  # a task of pairs and one of grades, which no claim asks for
ADAPTERS = "adapters"  # one frozen body that serves several tasks; an arm is a task and a way to tune
SERVED = (*TASKS, BESIDE[0])
WAYS = ("adapter", "full")
MOVED = "moved layers"  # voice, and how far each layer's sentence vectors went
TRICKED = f"tricks on {FEW}"  # ways to tune
BY_SIZE = {f"{SIZED} on {size}": size for size in SIZES}  # and what more examples make of them
STAGED = "stages"  # tuned on another task before
SIZED_ADAPTERS, LAYERS_READ = "adapter sizes", "layers read"  # tense on few sentences, seen inside
STARTED = "many starts"  # runs on few sentences, scored early and at the end
ROWS = (*TASKS, LUCK, *BESIDE, ADAPTERS, MOVED, TRICKED, *BY_SIZE, STAGED, STARTED, SIZED_ADAPTERS, LAYERS_READ)
NAMED = (*ROWS, *REAL)  # real sets are measured where they are asked for by name: not everybody has them
TOLD = 16  # scores of a row that are printed
FEW_ASKED = (LUCK, MOVED, TRICKED, *BY_SIZE, STAGED, STARTED, SIZED_ADAPTERS, LAYERS_READ)  # `Plan.asked` of them


@dataclass(frozen=True)
class Plan:
    """Examples of a task to train and to score, passes over them, and random heads on frozen vectors.

    few: sentences to train where starts and orders are crossed, `crossed` of each. asked: to score in `FEW_ASKED`.
    passes: of adapters and of the tuned copies that they are set against. controls: the first seeds, in which rows of
    one start have a random one too. real: examples to train on a real set.
    """

    train: int = 160
    test: int = 320
    epochs: int = 3
    heads: int = 20
    few: int = 40
    asked: int = 192
    crossed: int = 4
    passes: int = 6
    controls: int = 5
    real: int = 256


@dataclass(frozen=True)
class Unit:
    """One condition of one seed.

    start: what the encoder began with; empty where there is none. score: of `items` test items, as benchmarks score
    them. values: of untrained heads the score of each; of a grid its accuracies, start after start; of chance the
    `comparisons.chance_spreads`, in their order; of many starts one score a start; of moved layers 1 - cosine of
    sentence vectors before and after, from the embeddings on; of layers read likewise what the score is a mean of; of
    adapters the share of trained weights, of removed ones the scores without 0, 1, ... blocks' adapters. Raises
    ValueError where these are no numbers.
    """

    model: str
    task: str
    seed: int
    start: str
    arm: str
    score: float
    items: int
    values: str
    seconds: float
    hardware: str
    date: str

    def __post_init__(self) -> None:
        count = len(self.numbers)
        if self.arm == GRID and (count == 0 or round(count**0.5) ** 2 != count):
            raise ValueError(f"a grid of as many starts as orders has no {count} values")

    @property
    def numbers(self) -> np.ndarray:
        """What `values` holds."""
        return np.array(self.values.split(), dtype=float)


def known_row(name: str) -> str:
    """The name itself. Raises BertologyError for a row that the study has not."""
    if name not in NAMED:
        raise unknown("row of the study", name, NAMED)
    return name


# ---------------------------------------------------------------- what a seed measures


def drawn(name: str, seed: int, plan: Plan) -> tuple[Examples, Examples]:
    """Training and test examples of a seed's own; of the grammar's tasks, with different content words."""
    if name in REAL:
        return real_examples(name, plan.real, plan.test, FIRST_SEED + seed)
    few = {LUCK: TASKS[0], SIZED_ADAPTERS: TASKS[2], LAYERS_READ: TASKS[2]}
    if name in few:
        name, plan = few[name], replace(plan, train=plan.few, test=plan.asked)
    if name == MOVED:
        name, plan = TASKS[0], replace(plan, test=plan.asked)
    return examples(name, plan.train, FIRST_SEED + seed), examples(name, plan.test, FIRST_SEED + seed, "test")


def starts(specimen: Specimen, name: str, seed: int) -> dict[str, Specimen]:
    """The specimen, and untrained networks of its size with weights of the seed's own: one where no claim asks."""
    first, wanted = FIRST_SEED + len(RANDOM) * seed, RANDOM if name in TASKS else RANDOM[:1]
    return {PRETRAINED: specimen} | {start: twin(specimen, first + place) for place, start in enumerate(wanted)}


def conditions(specimen: Specimen, train: Examples, test: Examples, seed: int, plan: Plan) -> dict[str, np.ndarray]:
    """Scores of one start tuned and frozen: (1,) each, of untrained heads (heads,)."""
    pool = "pair" if train.pairs else "mean"
    tuned = finetune(specimen, train, test, seed, epochs=plan.epochs, budget=128, pool=pool)
    frozen = comparisons.frozen_predictions(specimen, train, test, plan.heads, seed)
    predicted = {"tuned": tuned.probabilities[None]} | {arm: frozen[kind] for arm, kind in FROZEN.items()}
    shaped = {arm: own.reshape(-1, *tuned.probabilities.shape) for arm, own in predicted.items()}
    return {arm: np.array([task_score(one, test) for one in own]) for arm, own in shaped.items()}


def crossed(specimen: Specimen, seed: int, plan: Plan) -> np.ndarray:
    """Starts and orders of a seed's own, each with each, on few sentences: booleans (starts, orders, items)."""
    first = FIRST_SEED + plan.crossed * seed
    seeds, how = range(first, first + plan.crossed), {"epochs": plan.epochs, "budget": 128}
    return comparisons.seed_grid(specimen, *drawn(LUCK, seed, plan), seeds, **how)


# ---------------------------------------------------------------- the file


def units(specimen: Specimen, name: str, seed: int, plan: Plan) -> list[Unit]:
    """The lines of one row and seed."""
    about = {"hardware": hardware(), "date": datetime.now(UTC).date().isoformat()}
    began, made = time.process_time(), []
    special = {LUCK: _luck, ADAPTERS: _served, MOVED: _moved, STARTED: _started}
    special |= dict.fromkeys((TRICKED, STAGED, *BY_SIZE), partial(_compared, name))
    special |= dict.fromkeys((SIZED_ADAPTERS, LAYERS_READ), partial(_inside, name))
    special |= dict.fromkeys(REAL, partial(_real, name))
    lines = special.get(name, partial(_arms, name))
    for start, arm, scores, more in lines(specimen, seed, plan):
        values = " ".join(f"{value:.4f}" for value in more)
        items = _items(name, arm, plan)
        score, seconds = round(float(np.mean(scores)), 4), round(time.process_time() - began, 1)
        made.append(Unit(specimen.identity, name, seed, start, arm, score, items, values, seconds, **about))
        began = time.process_time()
    return made


def _items(name: str, arm: str, plan: Plan) -> int:
    """How many items a line's score is of."""
    if name == TRICKED and arm.endswith(LEARNT):
        return FEW
    return plan.asked if name in FEW_ASKED else plan.test


Line = tuple[str, str, Sequence[float], Sequence[float]]  # start, arm, scores and values


def _arms(name: str, specimen: Specimen, seed: int, plan: Plan) -> Iterator[Line]:
    train, test = drawn(name, seed, plan)
    for start, own in starts(specimen, name, seed).items():
        for arm, scores in conditions(own, train, test, FIRST_SEED + seed, plan).items():
            yield start, arm, scores, scores if len(scores) > 1 else []
    if not train.graded:
        yield "", BAG, bag_of_words(train, test), []


def _real(name: str, specimen: Specimen, seed: int, plan: Plan) -> Iterator[Line]:
    """Both starts tuned, a classifier on frozen vectors, a bag of words, and the same answer always."""
    (train, test), own_seed = drawn(name, seed, plan), FIRST_SEED + seed
    pool = "pair" if train.pairs else "mean"
    for start, own in starts(specimen, name, seed).items():
        run = finetune(own, train, test, own_seed, epochs=plan.epochs, budget=128, pool=pool)
        yield start, "tuned", [glue_score(name, run.probabilities, test)], []
    found = {
        (PRETRAINED, "frozen"): comparisons.frozen_predictions(specimen, train, test, plan.heads, own_seed)["mean"],
        ("", BAG): bag_predictions(train, test),
        ("", MAJORITY): majority(train, test),
    }
    for place, predicted in found.items():
        yield *place, [glue_score(name, predicted, test)], []


def _luck(specimen: Specimen, seed: int, plan: Plan) -> Iterator[Line]:
    grid = crossed(specimen, seed, plan)
    yield PRETRAINED, GRID, grid.mean(-1).ravel(), grid.mean(-1).ravel()
    chance = comparisons.chance_spreads(grid)
    yield PRETRAINED, CHANCE, [chance["run"]], list(chance.values())


def _served(specimen: Specimen, seed: int, plan: Plan) -> Iterator[Line]:
    """Each task by adapters in a frozen body and by a tuned copy; from a random start too in the first seeds."""
    how = {"epochs": plan.passes, "budget": 128}
    for name in SERVED:
        train, test = drawn(name, seed, plan)
        pool = "pair" if train.pairs else "mean"
        for start, own in _with_control(specimen, name, seed, plan):
            adapters = {"adapters": adapter_size(own), "learning_rate": ADAPTER_RATE}
            for way, options in zip(WAYS, (adapters, {}), strict=True):
                run = finetune(own, train, test, FIRST_SEED + seed, pool=pool, **how, **options)
                yield start, f"{name} {way}", [task_score(run.probabilities, test)], []


def _moved(specimen: Specimen, seed: int, plan: Plan) -> Iterator[Line]:
    train, test = drawn(MOVED, seed, plan)
    for start, own in _with_control(specimen, MOVED, seed, plan):
        run = finetune(own, train, test, FIRST_SEED + seed, epochs=plan.epochs, budget=128)
        change = representation_change(own, [run.specimen], test.sentences)  # (layers + 1, 1, sentences)
        yield start, MOVED, [run.accuracy], change.mean((1, 2))


def _compared(name: str, specimen: Specimen, seed: int, plan: Plan) -> Iterator[Line]:
    measure = {TRICKED: partial(tricks, size=FEW), STAGED: stages}.get(name) or partial(by_size, size=BY_SIZE[name])
    for start, own in _with_control(specimen, name, seed, plan):
        for arm, score in measure(own, FIRST_SEED + seed, test=plan.asked):
            yield start, arm, [score], []


def _started(specimen: Specimen, seed: int, plan: Plan) -> Iterator[Line]:
    for task in TASKS:
        for arm, scores in many_starts(specimen, task, FIRST_SEED + seed, plan.asked).items():
            yield PRETRAINED, f"{task} {arm}", scores, scores


def _inside(name: str, specimen: Specimen, seed: int, plan: Plan) -> Iterator[Line]:
    train, asked = drawn(name, seed, plan)
    measure = adapter_sizes if name == SIZED_ADAPTERS else layers_read
    if name == LAYERS_READ:  # the sentences of its probes, to train and to ask
        sizes = enumerate((plan.train, plan.asked), FIRST_SEED + 2 * seed)
        asked = [generate(size, seed=own, split="test", kind="simple") for own, size in sizes]
    for found in measure(specimen, train, asked, FIRST_SEED + seed, plan.passes):
        yield PRETRAINED, *found


def _with_control(specimen: Specimen, name: str, seed: int, plan: Plan) -> Iterator[tuple[str, Specimen]]:
    """The pre-trained start, in the first seeds with a random one where a claim asks for it."""
    wanted = 2 if seed < plan.controls and name not in BY_SIZE else 1
    return islice(starts(specimen, name, seed).items(), wanted)


def missing(path: Path, rows: Sequence[str], seeds: Sequence[int], model: str) -> list[tuple[str, int]]:
    """(row, seed) without lines of a model with these weights in the file; seeds in the outer order."""
    identity = load(model).identity
    done = {(unit.task, unit.seed) for unit in read_rows(path, Unit) if unit.model == identity}
    return [(row, seed) for seed in seeds for row in rows if (row, seed) not in done]


keep = partial(keep_rows, kind=Unit, key=attrgetter("model", "task", "seed", "start", "arm"))


def _of_seed(path: Path, model: str, plan: Plan, seed: int, rows: Sequence[str]) -> None:
    specimen = load(model)
    for row in rows:
        if orphaned():
            return
        found = units(specimen, row, seed, plan)
        keep(path, found)
        print(f"{row}, seed {seed}: {_told(found)}", flush=True)


def _told(found: Sequence[Unit]) -> str:
    told = [f"{unit.start} {unit.arm} {unit.score:.3f}".strip() for unit in found[:TOLD]]
    return ", ".join(told) + (f" and {len(found) - TOLD} more" if len(found) > TOLD else "")


def study(path: Path, todo: Sequence[tuple[str, int]], model: str, plan: Plan, jobs: int = 2) -> None:
    """Measures what is to do, `jobs` seeds at a time, and keeps every unit in the file as soon as it is there."""
    run_seeds(partial(_of_seed, path, model, plan), todo, jobs)
