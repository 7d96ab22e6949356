"""Five rows of Table 1, one of each kind, within a minute or two: what `reenacted` does in hours, on one task.

Depends on `compression.methods`.
"""

import numpy as np

from bertology_utils.compression.methods.lesson import Budget, Encoded, course, enact, lesson, right_answers
from bertology_utils.compression.methods.problems import problem
from bertology_utils.compression.methods.real_problems import REAL, real_problem
from bertology_utils.compression.methods.registry import method
from bertology_utils.models import Specimen
from bertology_utils.studies.compression.reenacted import TEXT_SEED, text

ROWS = ("GOBO", "magnitude, retrained", "BERT6-PKD", "BERT-of-Theseus", "PoWER-BERT")
TASK = "tense"
CHANCE = {TASK: 0.5, "sst2": 0.5, "mnli": 1 / 3}  # of tasks whose answers are equally frequent, or nearly


def five_rows(
    specimen: Specimen, task: str, seeds: int, examples: int, test: int, seed: int = 0
) -> dict[str, np.ndarray]:
    """Right answers of the teacher and of each row's small network, (seeds, answers); every seed has its own test.

    `task` is one of `problems` or of `real_problems`. An untrained specimen, whose teacher guesses, is asked with one
    seed.
    """
    count = 1 if specimen.is_random else seeds
    runs = [_one_seed(specimen, task, seed + i, Budget(examples, test=test)) for i in range(count)]
    least = min(len(run["teacher"]) for run in runs)  # a test of spans has as many answers as its names have words
    return {name: np.stack([run[name][:least] for run in runs]) for name in runs[0]}


def _one_seed(specimen: Specimen, task: str, seed: int, budget: Budget) -> dict[str, np.ndarray]:
    drawn = real_problem if task in REAL else problem
    made, asked = course(specimen, text(1, TEXT_SEED), seed, budget), drawn(task, budget.examples, budget.test, seed)
    teacher, questions = lesson(made, asked).teacher, Encoded.of(specimen, asked.test)
    small = {row: enact(method(row), made, [asked], [teacher])[0].network for row in ROWS}
    return {name: right_answers(own, questions) for name, own in {"teacher": teacher, **small}.items()}
