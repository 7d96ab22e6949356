"""What is said to tune better than plain tuning, on few examples and on more: the rows `tricks`, `topic on ...`,
`stages` and `many starts` of the study.

Depends on `training`, `smoothing` and `all_layers` for the ways to tune, and on `classification_tasks`. Every way gets
the same examples and test, and all but a head on frozen vectors the same steps; those that see an input twice or more
in a step take as much longer.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
from torch import Tensor

from bertology_utils.models import Specimen
from bertology_utils.studies.finetuning.conditions import ADAPTER_RATE, TASKS, adapter_size
from bertology_utils.tuning.all_layers import Hire, Sesame
from bertology_utils.tuning.classification_tasks import examples
from bertology_utils.tuning.descent import uncorrected_adamw
from bertology_utils.tuning.smoothing import Smart, freelb
from bertology_utils.tuning.training import (
    Classifier,
    Examples,
    FineTuned,
    classification_loss,
    finetune,
    predict,
    task_score,
)

PLAIN, MIXOUT, FREELB, SMART, HIRE, SESAME = "plain", "mixout", "FreeLB", "SMART", "HIRE", "SesameBERT"
TRICKS = (PLAIN, "frozen", "lower half frozen", "adapters", "top drawn anew", MIXOUT, FREELB, SMART, HIRE, SESAME)
ASKED = (*TASKS, "paraphrase")
SEEN = 240  # examples that a run sees at least: few ones more often
SIZED, SIZES = "topic", (12, 60, 240)  # of 40, most ways already learn voice and tense
UNCORRECTED, AVERAGED, AVERAGE_OF = "no bias correction", "three runs averaged", 3
BY_SIZE = (PLAIN, "frozen", "adapters", "top drawn anew", MIXOUT, FREELB, SMART, UNCORRECTED, AVERAGED)
MIXED = 0.7  # share of weights that mixout puts back
MISSPELT, LEARNT = "misspelt", "training"  # what else a run is asked
STAGES = {  # target: the first stages that it is tried after, each with many examples
    "paraphrase": ("entailment", "topic"),  # phang2019sentence: a related task, and one that is not
    "agreeing number": ("number",),  # garg2020tanda: the same question of other sentences
}
FIRST_STAGE, SECOND_STAGE = 640, 12  # examples
STARTS, FEW, SEEN_EARLY = 8, 12, 72  # runs begun (dodge2020finetuning), their examples; seen before the first look
EARLY, CHOICE, ASKED_LAST = "early", "development", "test"  # the scores of a start
Scores = Iterator[tuple[str, float]]  # what was asked, and its score


def options(trick: str, specimen: Specimen) -> dict[str, Any]:
    """What `training.finetune` needs to be told for a way to tune."""
    return {
        PLAIN: {},
        "frozen": {"freeze": "encoder"},
        "lower half frozen": {"freeze": f"bottom-{specimen.layers // 2}"},
        "adapters": {"adapters": adapter_size(specimen), "learning_rate": ADAPTER_RATE},
        "top drawn anew": {"reinit_top": max(1, specimen.layers // 4)},
        MIXOUT: {"mixout": MIXED},
        FREELB: {"objective": freelb},
        SMART: {"objective": Smart},
        HIRE: {"kind": Hire},
        SESAME: {"kind": Sesame},
        UNCORRECTED: {"optimiser": uncorrected_adamw},
    }[trick]


def tricks(specimen: Specimen, seed: int, size: int, test: int) -> Scores:
    """Every way on every task with `size` examples of the seed's own: `task way`, and of it `misspelt`, `training`."""
    for task in ASKED:
        train, asked = examples(task, size, seed), examples(task, test, seed, "test")
        wrong = misspelt(asked, seed)
        for trick in TRICKS:
            run = _tuned(specimen, train, asked, seed, **options(trick, specimen))
            yield f"{task} {trick}", task_score(run.probabilities, asked)
            yield f"{task} {trick} {MISSPELT}", _score(run.classifier, specimen, wrong)
            yield f"{task} {trick} {LEARNT}", _score(run.classifier, specimen, train)


def by_size(specimen: Specimen, seed: int, size: int, test: int) -> Scores:
    """`BY_SIZE` with `size` examples, which larger sizes have too, and as many steps at each size: `way`.

    Averaged are the probabilities of runs that differ in start and order. What `tricks` has is not measured again.
    """
    train, asked = examples(SIZED, size, seed), examples(SIZED, test, seed, "test")
    runs = [_tuned(specimen, train, asked, seed + 1000 * place, least=1).probabilities for place in range(AVERAGE_OF)]
    yield PLAIN, task_score(runs[0], asked)
    yield AVERAGED, task_score(np.mean(runs, 0), asked)
    for way in BY_SIZE[1:-1] if size > SIZES[0] else (UNCORRECTED,):
        run = _tuned(specimen, train, asked, seed, least=1, **options(way, specimen))
        yield way, task_score(run.probabilities, asked)


def stages(specimen: Specimen, seed: int, test: int) -> Scores:
    """Each target of `STAGES` at once, and after a first stage: `target`, `target after first`, and the `first`."""
    for target, firsts in STAGES.items():
        train, asked = examples(target, SECOND_STAGE, seed), examples(target, test, seed, "test")
        yield target, task_score(_tuned(specimen, train, asked, seed).probabilities, asked)
        for first in firsts:
            learnt = _tuned(specimen, examples(first, FIRST_STAGE, seed), examples(first, test, seed, "test"), seed)
            yield first, learnt.accuracy
            second = _tuned(learnt.specimen, train, asked, seed)
            yield f"{target} after {first}", task_score(second.probabilities, asked)


def many_starts(specimen: Specimen, task: str, seed: int, test: int) -> dict[str, list[float]]:
    """Accuracies of `STARTS` runs that differ in start and order: {EARLY, CHOICE, ASKED_LAST: one a run}.

    EARLY is of `test` development sentences after `SEEN_EARLY` examples, CHOICE of them at the end, ASKED_LAST of as
    many others.
    """
    train, new = examples(task, FEW, seed), examples(task, 2 * test, seed, "test")
    development, asked = (Examples(new.sentences[own], new.labels[own]) for own in (slice(test), slice(test, None)))
    found: dict[str, list[float]] = {EARLY: [], CHOICE: [], ASKED_LAST: []}
    for start in range(STARTS * seed, STARTS * (seed + 1)):
        look = partial(_looking, lambda run: found[EARLY].append(_score(run, specimen, development)))
        run = _tuned(specimen, train, asked, start, objective=look)
        found[CHOICE].append(_score(run.classifier, specimen, development))
        found[ASKED_LAST].append(run.accuracy)
    return found


def _looking(look: Callable[[Classifier], None], classifier: Classifier) -> Callable[[Mapping[str, Tensor]], Tensor]:
    """The objective of plain tuning, which has a look at the classifier after `SEEN_EARLY` examples."""
    seen = 0

    def losses(batch: Mapping[str, Tensor]) -> Tensor:
        nonlocal seen
        if seen == SEEN_EARLY:
            look(classifier)
            classifier.train()
        seen += len(batch["labels"])
        return classification_loss(classifier, batch)

    return losses


def misspelt(given: Examples, seed: int) -> Examples:
    """The same examples with two neighbouring inner letters of one word exchanged, in each where a word allows it."""
    random = Random(seed)
    return replace(given, sentences=[_misspelt(list(words), random) for words in given.sentences])


def _misspelt(words: list[str], random: Random) -> list[str]:
    places = [(i, j) for i, word in enumerate(words) for j in range(1, len(word) - 2) if word[j] != word[j + 1]]
    if places:
        word, letter = random.choice(places)
        old = words[word]
        words[word] = old[:letter] + old[letter + 1] + old[letter] + old[letter + 2 :]
    return words


def _score(classifier: Classifier, specimen: Specimen, asked: Examples) -> float:
    return task_score(predict(classifier, specimen, asked), asked)


def _tuned(specimen: Specimen, train: Examples, test: Examples, seed: int, least: int = 3, **how: Any) -> FineTuned:
    """A run of as many passes as see `SEEN` examples, and of no fewer than `least`."""
    epochs = max(least, SEEN // len(train))
    pool = "pair" if train.pairs else "mean"
    return finetune(specimen, train, test, seed, epochs=epochs, budget=128, pool=pool, **how)
