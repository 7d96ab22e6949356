"""The file of the study `finetuning`: its runs as samples for verdicts, in sentences and as figures.

Depends on `study_file` for the lines and on `comparisons` for spreads. A claim reads the runs that began with its
specimen's own weights. For an untrained twin stand the random starts, whose weights each seed drew anew: one of them in
the place of the specimen, the others as random starts beside it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import Self

import numpy as np
import pandas as pd

from bertology_utils.by_seed import read_study
from bertology_utils.errors import NotAskable
from bertology_utils.instruments.layer_curves import band_of
from bertology_utils.models import Specimen
from bertology_utils.project import RANDOM_PREFIX, find_root
from bertology_utils.samples import UnitSamples, per_seed
from bertology_utils.studies.finetuning.conditions import TASKS, added
from bertology_utils.studies.finetuning.luck import TITLES
from bertology_utils.studies.finetuning.study_file import (
    ADAPTERS,
    ARMS,
    BAG,
    BESIDE,
    CHANCE,
    GRID,
    LUCK,
    MOVED,
    PATH,
    PRETRAINED,
    RANDOM,
    SERVED,
    WAYS,
    Unit,
)
from bertology_utils.tuning import comparisons

LEAST = 3  # seeds that an interval needs
SHOWN = {
    "pre-trained, tuned": (PRETRAINED, "tuned"),
    "random, tuned": (RANDOM[0], "tuned"),
    "pre-trained, frozen": (PRETRAINED, "frozen"),
    "frozen, untrained head": (PRETRAINED, "untrained"),
    "random, frozen": (RANDOM[0], "frozen"),
    "bag of words": ("", BAG),
}
Samples = dict[str, np.ndarray]


@dataclass(frozen=True)
class Recorded:
    """Lines of the file; `named` is the model whose runs figures and sentences are about."""

    units: Sequence[Unit]
    named: str

    @classmethod
    def read(cls, specimen: Specimen) -> Self:
        """The project's file, about a specimen, or where it has no tasks of that about the file's own first model.

        An untrained specimen is any model of its architecture, without the weights. Raises BertologyError where the
        file is missing.
        """
        units = read_study(find_root() / PATH, Unit, "finetuning")
        known = list(dict.fromkeys(unit.model for unit in units if unit.task in TASKS))
        same = [model for model in known if model == specimen.identity or _is_untrained(specimen, model)]
        return cls(units, (same or known)[0])

    @cached_property
    def frame(self) -> pd.DataFrame:
        return pd.DataFrame([vars(unit) for unit in self.units])

    @property
    def who(self) -> str:
        """Whose runs are shown: a name, and how many seeds the tasks of the claims have, and those beside them."""
        seeds = self._common(self.named, product(TASKS, [PRETRAINED], ARMS))
        beside = min(len(self._scores(self.named, name, PRETRAINED, "tuned")) for name in BESIDE)
        return f"{self.named.rpartition(' ')[0]}, {len(seeds)} seeds, of tasks of pairs {beside}"

    # ------------------------------------------------------------ samples

    def conditions(self, specimen: Specimen) -> Samples:
        """The samples of the claims, one value a seed: of each condition over all tasks, and as `task_condition`.

        tuned, frozen, cls and untrained began with the specimen's weights; random is the mean of random starts, tuned;
        distance: how far untrained classifiers lie from chance. Differences by task: `task_gain` of tuned runs over
        random ones; `task_over_untrained` and `task_over_frozen` of random ones over frozen vectors. Raises NotAskable
        where fewer than three seeds began with these weights.
        """
        model, start = self._place(specimen)
        others = [(own, "tuned") for own in RANDOM if own != start]
        arms = [*((start, arm) for arm in ARMS), *others]
        seeds = self._common(model, [(task, *arm) for task in TASKS for arm in arms])
        by_task = {name: self._of_task(model, name, start, others, seeds) for name in TASKS}
        samples = {f"{name}_{sample}": values for name, own in by_task.items() for sample, values in own.items()}
        mean = {sample: np.mean([own[sample] for own in by_task.values()], 0) for sample in by_task[TASKS[0]]}
        items = sum(self._items(model, name) for name in TASKS)
        return samples | {sample: per_seed(values.ravel(), items) for sample, values in mean.items()}

    def _of_task(
        self, model: str, task: str, start: str, others: Sequence[tuple[str, str]], seeds: Sequence[int]
    ) -> dict[str, UnitSamples]:
        score = {arm: self._column(model, task, start, arm, seeds) for arm in ARMS}
        score["random"] = np.mean([self._column(model, task, *other, seeds) for other in others], 0)
        heads = np.stack([unit.numbers for unit in self._lines(model, task, start, "untrained", seeds)])
        score["distance"] = np.abs(heads - 0.5).mean(1)
        score["gain"] = score["tuned"] - score["random"]
        score["over_untrained"] = score["random"] - score["untrained"]
        score["over_frozen"] = score["random"] - score["frozen"]
        return {name: per_seed(values, self._items(model, task)) for name, values in score.items()}

    def luck(self, specimen: Specimen, repeated: bool = False) -> Samples:
        """`comparisons.spread_samples` of grids that began with the specimen's weights, one value a grid.

        repeated: as if each grid were one run many times, the control. Raises NotAskable as `conditions`.
        """
        grids, chance = self._grids(specimen.identity)
        if repeated:
            grids = [np.full_like(grid, grid[0, 0]) for grid in grids]
            chance = [dict.fromkeys(own, 0.0) for own in chance]
        return comparisons.spread_samples([comparisons.spreads(grid) for grid in grids], chance)

    def served(self, specimen: Specimen) -> Samples:
        """Several tasks by adapters in one frozen body against as many tuned copies, one value a seed.

        adapter, full: means over the tasks, and as `task_full`; stored: `conditions.added` of the specimen. An
        untrained one is the first random start. Raises NotAskable as `conditions`.
        """
        model, start = self._place_of_two(specimen)
        arms = [f"{task} {way}" for task in SERVED for way in WAYS]
        seeds = self._common(model, product([ADAPTERS], [start], arms))
        items = self._items(model, ADAPTERS)
        score = {arm: self._column(model, ADAPTERS, start, arm, seeds) for arm in arms}
        mean = {way: np.mean([score[f"{task} {way}"] for task in SERVED], 0) for way in WAYS}
        samples = {way: per_seed(values, items * len(SERVED)) for way, values in mean.items()}
        samples |= {f"{task}_full": per_seed(score[f"{task} full"], items) for task in SERVED}
        return samples | {"stored": np.array(added(specimen, SERVED)["stored"])}

    def approximated(self, specimen: Specimen) -> Samples:
        """Adapters against full tuning and against a classifier on frozen vectors, as adapter, full and frozen.

        Means over the three tasks of which each seed has all of these on the same sentences; share: the weights that
        adapters train, `conditions.added`. An untrained specimen and NotAskable as in `served` (houlsby2019parameter).
        """
        model, start = self._place_of_two(specimen)
        places = {way: [(ADAPTERS, start, f"{task} {way}") for task in TASKS] for way in WAYS}
        places["frozen"] = [(task, start, "frozen") for task in TASKS]
        seeds, items = self._common(model, chain(*places.values())), self._items(model, ADAPTERS) * len(TASKS)
        means = {name: np.mean([self._column(model, *p, seeds) for p in own], 0) for name, own in places.items()}
        share = np.array(added(specimen, TASKS)["share"])
        return {name: per_seed(values, items) for name, values in means.items()} | {"share": share}

    def thirds(self, specimen: Specimen) -> Samples:
        """How far tuning on voice moves sentence vectors, 1 - cosine, by thirds of the depth; one value a seed.

        bottom, middle, top: means over layers; tuned: the accuracy reached. An untrained specimen and NotAskable as in
        `served` (singh2019bert).
        """
        model, start = self._place_of_two(specimen)
        lines = self._lines(model, MOVED, start, MOVED, self._common(model, [(MOVED, start, MOVED)]))
        layers = np.stack([unit.numbers for unit in lines])  # (seeds, layers + 1)
        bands = zip(("bottom", "middle", "top"), band_of(layers.shape[1] - 1).values(), strict=True)
        moved = {name: per_seed(layers[:, band].mean(1)) for name, band in bands}
        return moved | {"tuned": per_seed([unit.score for unit in lines], lines[0].items)}

    # ------------------------------------------------------------ what a page shows

    def by_task(self) -> dict[str, dict[str, np.ndarray]]:
        """{task: {condition in words: scores, one a seed}}; of a task's graded pairs there is no bag of words."""
        found = {}
        for name in (*TASKS, *BESIDE):
            there = {words: self._scores(self.named, name, *place) for words, place in SHOWN.items()}
            found[name] = {words: per_seed(scores) for words, scores in there.items() if len(scores) >= LEAST}
        return {name: own for name, own in found.items() if own}

    def spreads(self) -> dict[str, dict[str, np.ndarray]]:
        """{what is drawn anew: deviations in points, one a grid, found and by chance}."""
        grids, chance = self._grids(self.named)
        both = {"found": [comparisons.spreads(grid) for grid in grids], "by chance": chance}
        return {
            TITLES[name]: {kind: per_seed([one[name] for one in own]) for kind, own in both.items()}
            for name in comparisons.DRAWN
        }

    def components(self) -> dict[str, float]:
        """Where the variance of runs comes from: shares of `start`, `order`, and `both` with the test items.

        sentences: the deviation of a grid's mean over training and test sentences, in points; grids, runs: counts.
        """
        grids, _ = self._grids(self.named)
        found = [comparisons.spreads(grid) for grid in grids]
        run, start, order = (np.mean([own[name] ** 2 for own in found]) for name in ("run", "start", "order"))
        shares = {"start": run - order, "order": run - start, "both": start + order - run}
        sentences = 100 * float(np.std([grid.mean() for grid in grids], ddof=1))
        counts = {"grids": len(grids), "runs": sum(grid.size for grid in grids)}
        return {name: float(part / run) for name, part in shares.items()} | {"sentences": sentences} | counts

    # ------------------------------------------------------------ the lines

    def _place(self, specimen: Specimen) -> tuple[str, str]:
        """The model and the start whose lines are a specimen's."""
        if not specimen.is_random:
            return specimen.identity, PRETRAINED
        if not _is_untrained(specimen, self.named):
            raise NotAskable(f"No random starts are recorded for {specimen.name}; the command study adds them.")
        return self.named, RANDOM[specimen.seed % len(RANDOM)]

    def _scores(self, model: str, task: str, start: str, arm: str) -> pd.Series:
        """A condition's scores by seed."""
        lines = self.frame[(self.frame["model"] == model) & (self.frame["task"] == task)]
        return lines[(lines["start"] == start) & (lines["arm"] == arm)].set_index("seed")["score"].sort_index()

    def _column(self, model: str, task: str, start: str, arm: str, seeds: Sequence[int]) -> np.ndarray:
        return self._scores(model, task, start, arm).loc[list(seeds)].to_numpy()

    def _lines(self, model: str, task: str, start: str, arm: str, seeds: Sequence[int]) -> list[Unit]:
        wanted = (model, task, start, arm)
        of_seed = {unit.seed: unit for unit in self.units if (unit.model, unit.task, unit.start, unit.arm) == wanted}
        return [of_seed[seed] for seed in seeds]

    def _place_of_two(self, specimen: Specimen) -> tuple[str, str]:
        """As `_place`, where only the first random start was tuned."""
        model, start = self._place(specimen)
        return model, start if start == PRETRAINED else RANDOM[0]

    def _items(self, model: str, task: str) -> int:
        """How many test items a seed has."""
        return next(unit.items for unit in self.units if (unit.model, unit.task) == (model, task))

    def _common(self, model: str, places: Iterable[tuple[str, str, str]]) -> list[int]:
        """The seeds that have a line of each task, start and arm."""
        seeds = sorted(set.intersection(*(set(self._scores(model, *place).index) for place in places)))
        if len(seeds) < LEAST:
            raise NotAskable(
                f"{len(seeds)} of {LEAST} seeds are recorded for {model.rpartition(' ')[0] or model}; "
                "the command study adds them."
            )
        return seeds

    def _grids(self, model: str) -> tuple[list[np.ndarray], list[Mapping[str, float]]]:
        """Accuracies (starts, orders), and the spreads that test items cause, of every seed."""
        seeds = self._common(model, product([LUCK], [PRETRAINED], (GRID, CHANCE)))
        grids, chance = (self._lines(model, LUCK, PRETRAINED, arm, seeds) for arm in (GRID, CHANCE))
        squares = [unit.numbers.reshape(int(len(unit.numbers) ** 0.5), -1) for unit in grids]
        return squares, [dict(zip(comparisons.DRAWN, unit.numbers, strict=True)) for unit in chance]


def _is_untrained(specimen: Specimen, model: str) -> bool:
    """Whether a specimen has the architecture of a recorded model, and random weights."""
    return specimen.is_random and specimen.name.removeprefix(RANDOM_PREFIX) == model.rpartition(" ")[0]
