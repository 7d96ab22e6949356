"""The recorded rows `tricks on ...`, `topic on ...`, `stages` and `many starts`: ways to tune against plain tuning.

Depends on `recorded` for the lines and on `tricks` for what they are of. A sample has one value a seed, of a way the
mean over its four tasks; an untrained specimen is the first random start.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from bertology_utils.models import Specimen
from bertology_utils.samples import per_seed
from bertology_utils.statistics import Measurement, mean_interval
from bertology_utils.studies.finetuning.conditions import TASKS
from bertology_utils.studies.finetuning.recorded import Recorded, Samples
from bertology_utils.studies.finetuning.study_file import BY_SIZE, PRETRAINED, STAGED, STARTED, TRICKED
from bertology_utils.studies.finetuning.tricks import (
    ASKED,
    ASKED_LAST,
    CHOICE,
    EARLY,
    FREELB,
    HIRE,
    LEARNT,
    MISSPELT,
    MIXOUT,
    PLAIN,
    SESAME,
    SIZED,
    SMART,
    STAGES,
    TRICKS,
)
from bertology_utils.studies.finetuning.tricks import BY_SIZE as SHOWN
from bertology_utils.tuning.comparisons import stopped_early

NAMED = {PLAIN: "plain", MIXOUT: "mixout", FREELB: "freelb", SMART: "smart", HIRE: "hire", SESAME: "sesame"}
KEPT, WHOLE = 2, 4  # of eight runs: those that go on after 0.3 of their steps, and whole ones of the same price


class Tricks(Recorded):
    """What the file says of ways to tune."""

    def ways(self, specimen: Specimen) -> Samples:
        """Of each way that a claim names, on twelve examples: its score as `mixout`, on misspelt sentences as
        `mixout_misspelt`, what misspelling costs as `mixout_lost`, and by how much training sentences score better as
        `mixout_gap`. Raises NotAskable as `conditions`.
        """
        place, found = self._place_of_two(specimen), {}
        for way, name in NAMED.items():
            clean, wrong, learnt = (self._over_tasks(place, TRICKED, way, more) for more in ("", MISSPELT, LEARNT))
            own = {"": clean, "_misspelt": wrong, "_lost": clean - wrong, "_gap": learnt - clean}
            found |= {name + ending: values for ending, values in own.items()}
        return found

    def stages(self, specimen: Specimen) -> Samples:
        """One stage and two. STILTs: direct, after_related, after_unrelated, related_learnt (phang2019sentence); TANDA:
        one_stage, two_stages, general_learnt (garg2020tanda). Raises NotAskable as `conditions`.
        """
        (target, (related, unrelated)), (other, (general,)) = STAGES.items()
        arms = {
            "direct": target,
            "after_related": f"{target} after {related}",
            "after_unrelated": f"{target} after {unrelated}",
            "related_learnt": related,
            "one_stage": other,
            "two_stages": f"{other} after {general}",
            "general_learnt": general,
        }
        place = self._place_of_two(specimen)
        return {name: self._of_seeds(place, STAGED, [arm]) for name, arm in arms.items()}

    def starts(self, specimen: Specimen, blind: bool = False) -> Samples:
        """`comparisons.stopped_early` of eight runs, two of which go on: stopped, whole, best, means over the tasks.

        blind: the two that go on are any, the control. Raises NotAskable as `conditions`.
        """
        model = specimen.identity
        arms = [f"{task} {arm}" for task in TASKS for arm in (EARLY, CHOICE, ASKED_LAST)]
        seeds = self._common(model, product([STARTED], [PRETRAINED], arms))
        lines = [self._lines(model, STARTED, PRETRAINED, arm, seeds) for arm in arms]
        scores = np.array([[line.numbers for line in own] for own in lines])  # (tasks x 3, seeds, runs)
        by_task = scores.reshape(len(TASKS), 3, *scores.shape[1:])
        found = [[stopped_early(*own, KEPT, WHOLE) for own in task.swapaxes(0, 1)] for task in by_task]
        mean = {name: np.mean([[own[name] for own in task] for task in found], 0) for name in found[0][0]}
        stopped = mean.pop("blind") if blind else mean["stopped"]
        items = self._items(model, STARTED) * len(TASKS)
        mean = {"stopped": stopped, "whole": mean["whole"], "best": mean["best"]}
        return {name: per_seed(values, items) for name, values in mean.items()}

    # ------------------------------------------------------------ what a page shows

    def worth(self) -> dict[str, np.ndarray]:
        """{way and how often the time of plain tuning it takes: points over plain on twelve examples, one a seed}.

        The best way stands first. Raises NotAskable as `conditions`.
        """
        gains = {way: self._gain(TRICKED, way) for way in TRICKS[1:]}
        order = sorted(gains, key=lambda way: -gains[way].mean())
        return {f"{way} ({self._time(way):.1f} ×)": gains[way] for way in order}

    def by_size(self) -> dict[str, list[Measurement] | list[float]]:
        """{way: mean score on topic at each number of examples}; of plain tuning with its interval."""
        found = {way: [mean_interval(self._on_topic(row, way)) for row in BY_SIZE] for way in SHOWN}
        return {way: own if way == PLAIN else [score.value for score in own] for way, own in found.items()}

    def told_by_size(self) -> dict[str, str]:
        """Seeds at each size, and, as `most_better`, ways whose gain over plain tuning, in points, is clear of zero."""
        found = {"seeds": ", ".join(str(len(self._on_topic(row, PLAIN))) for row in BY_SIZE)}
        for name, row in {"fewest": min(BY_SIZE, key=BY_SIZE.get), "most": max(BY_SIZE, key=BY_SIZE.get)}.items():
            plain = self._on_topic(row, PLAIN)
            gains = {way: mean_interval(100 * (self._on_topic(row, way) - plain)) for way in SHOWN[1:]}
            for word, clear in (("better", lambda own: own.low > 0), ("worse", lambda own: own.high < 0)):
                chosen = sorted((way for way in gains if clear(gains[way])), key=lambda way: -gains[way].value)
                found[f"{name}_{word}"] = ", ".join(f"{way} {gains[way]}" for way in chosen) or "none"
        return found

    def _on_topic(self, row: str, way: str) -> np.ndarray:
        """A way's scores on topic, (seeds, 1); on the fewest examples the other study of ways has some of them."""
        there = len(self._scores(self.named, row, PRETRAINED, way))
        place = (row, PRETRAINED, way) if there else (TRICKED, PRETRAINED, f"{SIZED} {way}")
        seeds = self._common(self.named, [(row, PRETRAINED, PLAIN), place])
        return per_seed(self._column(self.named, *place, seeds), self._items(self.named, row))

    def _gain(self, row: str, way: str) -> np.ndarray:
        place = self.named, PRETRAINED
        return 100 * (self._over_tasks(place, row, way) - self._over_tasks(place, row, PLAIN))

    def _time(self, way: str) -> float:
        """Seconds to tune and to answer, over those of plain tuning."""
        lines = self.frame[(self.frame["model"] == self.named) & (self.frame["task"] == TRICKED)]
        taken = [lines[lines["arm"].isin([f"{task} {own}" for task in ASKED])]["seconds"].sum() for own in (way, PLAIN)]
        return float(taken[0] / taken[1])

    # ------------------------------------------------------------ the lines

    def _over_tasks(self, place: tuple[str, str], row: str, way: str, more: str = "") -> np.ndarray:
        return self._of_seeds(place, row, [f"{task} {way} {more}".strip() for task in ASKED])

    def _of_seeds(self, place: tuple[str, str], row: str, arms: Sequence[str]) -> np.ndarray:
        """The mean of some arms of a model and start, one value a seed."""
        model, start = place
        seeds = self._common(model, product([row], [start], arms))
        scores = np.mean([self._column(model, row, start, arm, seeds) for arm in arms], 0)
        return per_seed(scores, self._items(model, row) * len(arms))
