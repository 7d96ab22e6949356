"""Objectives about more than a word or a sentence, each asked for what it is for: streams, segments, tasks in turn.

All arms read tales whose sentences hang together in known ways. Depends on `tales`, `engine_arms` and linear probes.
Each experiment is a function of seeds, as `recorded_arms` takes it; a seed has a world of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bertology_utils.activations import sentence_vectors
from bertology_utils.instruments.probes import probe_correctness
from bertology_utils.models import Specimen
from bertology_utils.pretraining.objectives import PAIR_TASKS, draw_relation
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.studies.training.engine_arms import UNASKED, Arm, train
from bertology_utils.studies.training.tales import ACTS, VERB, Tale, Words, World, world
from bertology_utils.tuning.hidden_words import losses

PIECES = {"streams": 90_000, "segments": 90_000, "in turn": 75_000}
TOLD, ASKED = 300, 400  # tales that are read, and new ones that are asked
PROBE_PAIRS = 1000
LONGEST = 32  # pieces of an input: one tale and what divides its sentences
TALES = {
    "inner": 128, "batch": 8, "matrix_learning_rate": 0.02, "masking": {"share": 0.3}, "single_share": 0.0,
    "phases": [{"steps": 8, "length": LONGEST}],
}  # fmt: skip
"""Beside `TINY`: many small steps and many masks, with which verbs follow the tale after so few pieces."""
SEGMENT_TASKS = {"order": "sentence-order", "next": "next-sentence"}
RANDOM_HALF = {"next-sentence": UNASKED}  # pairs as for next-sentence prediction, half of them random, not asked


def _arm(documents: Sequence[Sequence[Words]], tasks: Mapping[str, float] = {}, **changes: Any) -> Arm:
    """Masked words and `tasks` with their weights; `changes` are keys of the recipe that are not as in `TALES`."""
    return Arm(documents, TALES | {"objectives": {"masked-tokens": 1.0, **tasks}} | changes)


# ---------------------------------------------------------------- text across sentences


def streams(seed: int) -> tuple[Values, Values]:
    """What a verb costs at the end of a new tale, in nats; lample2019crosslingual.

    verb_streams: to a model that read whole tales one after another, all that came before given; verb_pairs: to one
    that read pairs of segments, half of them random; verb_scrambled: to one that read streams of the same sentences in
    any order; verb_singles: to one that read them one at a time, and has the last alone. untrained: that, untrained.
    """
    rng = np.random.default_rng(seed)
    own = world(rng)
    told, new = own.tales(TOLD, rng), own.tales(ASKED, rng, new=True)
    loose = [[sentence] for tale in told for sentence in tale]
    loose = [loose[place] for place in rng.permutation(len(loose))]
    lone = {"steps": 8, "length": 8}
    arms = {
        "streams": Arm(told, _streaming()),
        "scrambled": Arm(loose, _streaming()),
        "pairs": _arm(told, RANDOM_HALF),
        "singles": _arm(loose, phases=[lone]),
    }
    ends = {name: train(arm, own.words, PIECES["streams"], seed) for name, arm in arms.items()}
    trained, blank = (
        {f"verb_{name}": _verb_loss(kept[place], new, name) for name, kept in ends.items()} for place in (-1, 0)
    )
    untrained = {"untrained": blank["verb_singles"]}
    return trained | untrained, blank | untrained


def _streaming() -> dict[str, Any]:
    recipe = {key: value for key, value in TALES.items() if key != "single_share"}
    return recipe | {"stream": True, "objectives": {"masked-tokens": 1.0}}


def _verb_loss(specimen: Specimen, tales: Sequence[Tale], form: str) -> float:
    """Mean loss of the last verb, the tale before it laid out as an arm has read text."""
    last, before = [tale[-1] for tale in tales], [tale[:-1] for tale in tales]
    if form == "singles":
        return float(losses(specimen, last, np.full((len(tales), 1), VERB)).mean())
    if form == "pairs":
        first = [tuple(word for sentence in told for word in sentence) for told in before]
        return float(losses(specimen, first, np.full((len(tales), 1), len(first[0]) + VERB), last).mean())
    whole = [tuple(word for sentence in tale for word in ("[SEP]", *sentence))[1:] for tale in tales]
    place = len(whole[0]) - len(last[0]) + VERB
    return float(losses(specimen, whole, np.full((len(tales), 1), place)).mean())


# ---------------------------------------------------------------- two segments


def segments(seed: int) -> tuple[Values, Values]:
    """What linear probes read in [CLS] of two sentences of new tales: accuracies by task and arm.

    order_, next_: the tasks of `SEGMENT_TASKS`; each of models that were pre-trained with no such task (`unasked`),
    with next_sentence (devlin2019bert) and with next_previous (wang2019structbert).
    """
    rng = np.random.default_rng(seed)
    own = world(rng)
    told = own.tales(TOLD, rng, round_about=False)
    arms = {"unasked": RANDOM_HALF, "next_sentence": {"next-sentence": 1.0}, "next_previous": {"next-previous": 1.0}}
    arms = {name: _arm(told, task, batch=12) for name, task in arms.items()}
    pairs = {name: _labelled(own, task, rng) for name, task in SEGMENT_TASKS.items()}
    ends = {name: train(arm, own.words, PIECES["segments"], seed) for name, arm in arms.items()}
    trained, blank = (
        {
            f"{task}_{name}": _probed(kept[place], *parts, seed)
            for task, parts in pairs.items()
            for name, kept in ends.items()
        }
        for place in (-1, 0)
    )
    return trained, blank


Labelled = tuple[list[Words], list[Words], np.ndarray]  # first and second sentences, and the class of each pair


def _labelled(own: World, task: str, rng: np.random.Generator) -> tuple[Labelled, Labelled]:
    """Pairs to train a probe on, and pairs of new tales."""
    parts = []
    for count, new in ((PROBE_PAIRS, False), (ASKED, True)):
        relations = [draw_relation(task, rng) for _ in range(count)]
        tales = own.tales(count + 1, rng, new, round_about=False)
        made = [related(*two, relation, rng) for *two, relation in zip(tales, tales[1:], relations, strict=False)]
        firsts, seconds = (list(side) for side in zip(*made, strict=True))
        parts.append((firsts, seconds, np.array([PAIR_TASKS[task].index(relation) for relation in relations])))
    return tuple(parts)


def related(tale: Tale, other: Tale, relation: str, rng: np.random.Generator) -> tuple[Words, Words]:
    """Two sentences in a relation of `PAIR_TASKS`: neighbours in either order, no neighbours, or of two tales."""
    place = int(rng.integers(ACTS - 1))
    if relation == "distant":
        return tale[place], tale[rng.choice([at for at in range(ACTS) if abs(at - place) > 1])]
    second = other[int(rng.integers(ACTS))] if relation == "random" else tale[place + 1]
    return (second, tale[place]) if relation == "previous" else (tale[place], second)


def _probed(specimen: Specimen, train_part: Labelled, test_part: Labelled, seed: int) -> float:
    """Accuracy of a linear probe on frozen [CLS] vectors of the last layer."""
    vectors = [
        sentence_vectors(specimen, firsts, pool="cls", pairs=seconds)[-1:]
        for firsts, seconds, _ in (train_part, test_part)
    ]
    return float(probe_correctness(vectors[0], train_part[-1], vectors[1], test_part[-1], seed=seed).mean())


# ---------------------------------------------------------------- tasks one after another


IN_TURN = ("masked-tokens", "ngram-order", "next-previous")
SCHEDULES: Mapping[str, Sequence[Sequence[str]]] = {
    "sequential": [[task] for task in IN_TURN],
    "cumulative": [IN_TURN[: place + 1] for place in range(len(IN_TURN))],
    "joint": [IN_TURN] * len(IN_TURN),
}


def in_turn(seed: int) -> tuple[Values, Values]:
    """What becomes of the first of three tasks when others follow it, in nats a hidden word of new tales; sun2019ernie.

    first: the loss when the first task has been learnt alone; end_sequential, end_cumulative, end_joint: at the end,
    where each task takes the place of the one before, where it comes to those before, and where all were learnt from
    the start; forgot_sequential, forgot_cumulative: by how much the loss has risen. untrained: an untrained one's.
    """
    rng = np.random.default_rng(seed)
    own = world(rng)
    told, new = own.tales(TOLD, rng), own.tales(ASKED, rng, new=True)
    hidden = rng.integers(ACTS * len(new[0][0]), size=(len(new), 1))
    courses = {}
    for name, tasks in SCHEDULES.items():
        kept = train(
            Arm(told, TALES | {"phases": [_phase(of_phase) for of_phase in tasks]}), own.words, PIECES["in turn"], seed
        )
        courses[name] = [_tale_loss(model, new, hidden) for model in kept]
    blank = courses["sequential"][0]
    return _course(courses, blank), _course({name: [blank] * 4 for name in SCHEDULES}, blank)


def _course(courses: Mapping[str, Sequence[float]], untrained: float) -> Values:
    ends = {f"end_{name}": course[-1] for name, course in courses.items()}
    forgot = {f"forgot_{name}": courses[name][-1] - courses[name][1] for name in ("sequential", "cumulative")}
    return ends | forgot | {"first": courses["sequential"][1], "untrained": untrained}


def _phase(tasks: Sequence[str]) -> dict[str, Any]:
    """Where pairs are not asked, inputs are pairs all the same."""
    weights = {"next-previous": UNASKED} | dict.fromkeys(tasks, 1.0)
    return {"steps": 8, "length": LONGEST, "objectives": weights}


def _tale_loss(specimen: Specimen, tales: Sequence[Tale], hidden: np.ndarray) -> float:
    """Mean loss of a word of each tale, its halves as two segments."""
    halves = [
        [tuple(word for sentence in tale[part] for word in sentence) for tale in tales]
        for part in (slice(ACTS // 2), slice(ACTS // 2, None))
    ]
    return float(losses(specimen, halves[0], hidden, halves[1]).mean())


EXPERIMENTS = {
    "text-streams": one_by_one(streams, ASKED),
    "segment-tasks": one_by_one(segments, ASKED),
    "tasks-in-turn": one_by_one(in_turn, ASKED),
}
