"""Is the stack a pipeline (tenney2019bert)? Probes that mix layers 0 to l, and where along l their scores rise.

Depends on `scores`, `tasks` and `layer_curves`. Five tasks stand for the study's eight, under short names of their own.
`mixes` are cumulative scores and mixing shares by task, as `scores.mix_scores` gives them.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import comb

import numpy as np

from bertology_utils.instruments.layer_curves import (
    expected_layer_samples,
    layers_to_share,
    loss_samples,
    set_right_samples,
    side_means,
)
from bertology_utils.instruments.probes import centre_of_gravity
from bertology_utils.models import load
from bertology_utils.runs import Runs
from bertology_utils.samples import by_unit, per_seed
from bertology_utils.studies.layers.scores import LayerFeatures, mix_scores
from bertology_utils.studies.layers.tasks import Task, over_words, tasks_together
from bertology_utils.verdicts.published import published

Mixes = Mapping[str, tuple[np.ndarray, np.ndarray]]

FIVE = {"pos": "pos", "dependency": "dep", "entity": "ner", "role": "role", "coreference": "coref"}
PUBLISHED = {"pos": "POS", "dep": "Deps", "ner": "NER", "role": "SRL", "coref": "Coref"}
SIDES = {"syntactic": ("pos", "dep"), "semantic": ("ner", "role", "coref")}
LATE = ("role", "coref")  # the tasks whose items hang on distant words
LOSERS = 5  # of eight tasks, in which the study saw some layer lower the score
A_GAIN = 0.02  # of a task that has a place in a stack
LEAST_GAIN = 0.01  # by which a moment is divided at least


def five_tasks(word_tasks: Mapping[str, Task]) -> dict[str, Task]:
    """The tasks of the pipeline, in its order, by their short names."""
    return {short: word_tasks[name] for name, short in FIVE.items()}


def cumulative(features: LayerFeatures, five: Mapping[str, Task], **fit) -> Mixes:
    """For each task scores of mixes of layers 0 to l, (layers + 1, seeds, items), and the shares of the full mix."""
    return {name: mix_scores(features, task, **fit) for name, task in five.items()}


def curves(mixes: Mixes) -> dict[str, np.ndarray]:
    """Cumulative scores by task, (layers + 1, items), and `mean`, that of the five, (layers + 1,)."""
    found = {name: scores.mean(1) for name, (scores, _) in mixes.items()}
    return found | {"mean": np.mean([scores.mean((1, 2)) for scores, _ in mixes.values()], axis=0)}


def moments(mixes: Mixes, five: Mapping[str, Task]) -> dict[str, np.ndarray]:
    """`<task>_moment` and `<task>_gain` (seeds, word forms), whose ratio is the expected layer, and `layers`."""
    samples: dict[str, np.ndarray] = {"layers": np.array(len(mixes["pos"][0]) - 1)}
    for name, task in five.items():
        samples |= over_words(expected_layer_samples(mixes[name][0], name), task.test)
    return samples


def expected_layers(mixes: Runs, moments: Runs) -> list[dict[str, object]]:
    """The table of the study: each task's gain, expected layer and centre of gravity, beside BERT-base and the twin."""
    ours, blank = ({name: float(np.mean(v)) for name, v in side.items()} for side in (moments.model, moments.twin))
    return [
        {
            "task": name,
            "gain over layer 0": round(ours[f"{name}_gain"], 3),
            "expected layer": round(ours[f"{name}_moment"] / max(ours[f"{name}_gain"], LEAST_GAIN), 2),
            "centre of gravity": round(centre_of_gravity(mixes.model[name][1]).mean(), 2),
            "twin's gain": round(blank[f"{name}_gain"], 3),
            "published expected layer, base": published("tenney2019bert", f"{item} expected layer base"),
        }
        for name, item in PUBLISHED.items()
    ]


def set_right(mixes: Mixes, five: Mapping[str, Task]) -> dict[str, np.ndarray]:
    """Roles and pronouns that the upper half of the stack sets right, and by chance: `layer_curves.set_right_samples`.

    Over sentences, which items share.
    """
    homes = [str((name, sentence)) for name in LATE for sentence in five[name].test.groups]
    samples = set_right_samples(np.concatenate([mixes[name][0] for name in LATE], axis=-1))
    return {name: by_unit(values, homes) for name, values in samples.items()}


def gradualness(mixes: Mixes, five: Mapping[str, Task], folds: int = 13) -> dict[str, np.ndarray]:
    """The part of the stack that brings 80 % of the gain, by side of the five tasks (folds,), and the least `gain`
    among them (seeds, word forms)."""
    needed = {name: layers_to_share(scores, folds=folds) / (len(scores) - 1) for name, (scores, _) in mixes.items()}
    gained = moments(mixes, five)
    weakest = min((gained[f"{name}_gain"] for name in mixes), key=np.mean)
    return side_means(needed, SIDES) | {"gain": weakest}


def losses(five: Mixes, others: Mixes) -> dict[str, np.ndarray]:
    """`layer_curves.loss_samples` of eight tasks together: what one layer more costs those that lose most."""
    return loss_samples([scores for scores, _ in (*five.values(), *others.values())], LOSERS)


def of_depths(names: Mapping[int, str], five: Mapping[str, Task], **fit) -> dict[int, Mixes]:
    """`cumulative` for models of several depths, loaded one after another: number of layers -> mixes."""
    return {depth: cumulative(LayerFeatures(load(name)), five, **fit) for depth, name in names.items()}


def gained(stacks: Iterable[Mixes], five: Mapping[str, Task]) -> dict[str, Task]:
    """Those of the tasks that gain two points in each of the stacks; all of them where fewer than two do."""
    ends = [{name: scores.mean((1, 2))[[0, -1]] for name, (scores, _) in mixes.items()} for mixes in stacks]
    found = {name: task for name, task in five.items() if all(np.diff(of[name])[0] > A_GAIN for of in ends)}
    return found if len(found) > 1 else dict(five)


def places(stacks: Mapping[int, Mixes], kept: Mapping[str, Task]) -> list[dict[str, object]]:
    """A table of the expected layers of some tasks in stacks of several depths, BERT-base's and BERT-large's below."""
    rows = [
        {"layers": str(depth)} | dict(zip(kept, _places(mixes[task][0] for task in kept).mean(1).round(2), strict=True))
        for depth, mixes in stacks.items()
    ]
    for size, depth in (("base", 12), ("large", 24)):
        told = {task: published("tenney2019bert", f"{PUBLISHED[task]} expected layer {size}") for task in kept}
        rows.append({"layers": f"{depth}, BERT-{size}", **told})
    return rows


def stretched(shallow: Mixes, deep: Mixes, kept: Mapping[str, Task]) -> dict[str, np.ndarray]:
    """Where the gains of some tasks together lie in two stacks: `<stack>_moment` and `<stack>_gain` (seeds, forms).

    same_order: (seeds, 1), the share of the pairs of tasks that follow one another alike in both.
    """
    found, places = {}, []
    for name, mixes in (("shallow", shallow), ("deep", deep)):
        scores = {task: mixes[task][0] for task in kept}
        found |= expected_layer_samples(tasks_together(scores, kept), name)
        places.append(_places(scores.values()))
    return found | {"same_order": per_seed(_same_order(*places), items=comb(len(kept), 2))}


def _places(scores: Iterable[np.ndarray]) -> np.ndarray:
    """The expected layer of each task, (tasks, seeds)."""
    both = [expected_layer_samples(own.mean(-1), "own") for own in scores]
    return np.array([own["own_moment"] / np.maximum(own["own_gain"], LEAST_GAIN) for own in both])


def _same_order(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The share of the pairs of rows that lie in one order in both, by column."""
    pairs = list(combinations(range(len(first)), 2))
    return np.mean([(first[i] < first[k]) == (second[i] < second[k]) for i, k in pairs], axis=0)


def costliest_steps(mixes: Mixes) -> list[dict[str, object]]:
    """Each task's step to one layer more that gains least, and what it gains: the lines of a table."""
    steps = {name: np.diff(scores.mean((1, 2))) for name, (scores, _) in mixes.items()}
    return [
        {"task": name, "to layer": int(own.argmin()) + 1, "gain": round(float(own.min()), 4)}
        for name, own in steps.items()
    ]
