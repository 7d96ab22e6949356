"""Tasks about documents beside masked words, which automatic labels teach: of tokens and of segments (sun2019ernie).

A task asks for a class at a piece of an input: at a word, or at [CLS]. All arms of all seeds are trained as one stack;
those of a seed start from the same weights. Depends on `tales`, `purposes` (pairs), `knowledge` (training) and probes.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from bertology_utils.instruments.probes import probe_correctness
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.pretraining.objectives import PAIR_TASKS, draw_relation
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.training.knowledge import fresh, train
from bertology_utils.studies.training.purposes import related
from bertology_utils.studies.training.tales import Tale, Words, World, world
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.hidden_words import losses
from bertology_utils.tuning.mlm_training import mask_batch, special_ids
from bertology_utils.tuning.together import Stack, pack
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

RECIPE = BilingualRecipe(layers=2, width=48, heads=2, inner=96, learning_rate=3e-3)
STEPS = {"tokens": 600, "segments": 800}  # as many as minutes allow
BATCH, READ, PROBED, ASKED = 32, 1500, 1000, 400  # inputs of a step, that are read, that a probe learns from, asked
OPENINGS = ("so", "then", "now")
UNTAUGHT = 2  # nouns of each theme of which no task is asked
SEGMENT_TASKS = {"distance": "sentence-distance", "order": "sentence-order"}


class Input(NamedTuple):
    """Words, and by task the pieces that are asked, [CLS] being 0, with their classes."""

    words: Words
    classes: Mapping[str, Mapping[int, int]] = {}


Text = Sequence[Input]
Item = tuple[Words, int, int]  # an input, one of its pieces, the class there
Parts = tuple[Sequence[Item], Sequence[Item]]  # what a probe learns from, and what it is asked


class Lesson(NamedTuple):
    """Of a seed: what each arm reads, its words, and by task what is asked in the end."""

    arms: Mapping[str, Text]
    words: Sequence[str]
    asked: Mapping[str, Parts]
    cloze: Sequence[tuple[Words, int]]  # inputs and the word of each that is hidden


def untold(text: Text) -> list[Input]:
    return [Input(one.words) for one in text]


def items(text: Text, task: str) -> list[Item]:
    """All that a task asks."""
    return [(one.words, *item) for one in text for item in one.classes.get(task, {}).items()]


def shuffled(text: Text, rng: np.random.Generator) -> list[Input]:
    """The classes of each task dealt out anew among all pieces at which it is asked."""
    tasks = sorted({task for one in text for task in one.classes})
    dealt = {task: iter(rng.permutation([item[-1] for item in items(text, task)]).tolist()) for task in tasks}
    return [Input(words, {task: {p: next(dealt[task]) for p in own} for task, own in of.items()}) for words, of in text]


# ---------------------------------------------------------------- training and probing


def measured(lessons: Sequence[Lesson], tasks: Mapping[str, int], seeds: Sequence[int], steps: int) -> Runs:
    """Trains all arms on masked words and the tasks (with their numbers of classes), then asks them.

    Accuracies by task and arm, and loss_ of the words of `cloze` in nats; `untrained` is that of untrained models.
    """
    arms, pairs = list(lessons[0].arms), list(zip(lessons, seeds, strict=True))
    *models, blank = [[tiny_specimen(own.words, RECIPE, seed) for own, seed in pairs] for _ in (*arms, "untrained")]
    teach(models, lessons, tasks, seeds, steps)
    found: dict[str, list] = {task: [] for task in (*tasks, "loss")}
    for (lesson, seed), *own in zip(pairs, *models, blank, strict=True):
        for task, parts in lesson.asked.items():
            found[task].append(read_off(own, parts, seed))
        words, places = zip(*lesson.cloze, strict=True)
        found["loss"].append([losses(model, words, np.array(places)[:, None]).mean() for model in own])
    table = {(task, arm): np.array(rows)[:, [i, -1]] for task, rows in found.items() for i, arm in enumerate(arms)}
    untrained = {"untrained": per_seed(table["loss", arms[0]][:, 1], ASKED)}
    sides = ({f"{task}_{arm}": per_seed(two[:, i], ASKED) for (task, arm), two in table.items()} for i in (0, 1))
    return Runs(*(side | untrained for side in sides), networks=len(seeds))


def teach(
    models: Sequence[Sequence[Specimen]],
    lessons: Sequence[Lesson],
    tasks: Mapping[str, int],
    seeds: Sequence[int],
    steps: int,
) -> None:
    """Trains in place the models of each arm, one a seed."""
    stack = Stack([one.model for of_arm in models for one in of_arm])
    heads = [fresh(seeds, len(models), RECIPE.width, count) for count in tasks.values()]
    feeds = [_feed(*one, tasks) for one in zip(models[0], lessons, seeds, strict=True)]

    def all_losses() -> Tensor:
        of_seeds = list(map(next, feeds))
        batches, classes = zip(*(own[arm] for arm in range(len(models)) for own in of_seeds), strict=True)
        batch = pack(batches)
        hidden = stack.hidden(batch)
        asked = zip(heads, zip(*classes, strict=True), strict=True)
        return stack.masked_losses(hidden, batch) + sum(task_losses(hidden @ head, own) for head, own in asked)

    train(stack, all_losses, steps, RECIPE.learning_rate, heads)
    stack.unstack()


def task_losses(scores: Tensor, classes: Sequence[Tensor]) -> Tensor:
    """Mean loss of each model over what it is asked, 0 for nothing: (models,) from (models, pieces, classes)."""
    gold = pad_sequence(list(classes), True, IGNORED)
    each = functional.cross_entropy(scores.transpose(1, 2), gold, ignore_index=IGNORED, reduction="none")
    return each.sum(1) / (gold != IGNORED).sum(1).clamp_min(1)


def _feed(specimen: Specimen, lesson: Lesson, seed: int, tasks: Sequence[str]) -> Iterator[list[tuple]]:
    """For ever: of each arm a masked batch, of the same rows, and the classes of its pieces, (tasks, pieces)."""
    rng, generator, special = np.random.default_rng(seed), torch.Generator().manual_seed(seed), special_ids(specimen)
    text = [one for arm in lesson.arms.values() for one in arm]
    padded = model_inputs(specimen, encode_words(specimen, [one.words for one in text]))
    classes = torch.full((len(tasks), *padded["input_ids"].shape), IGNORED)
    for row, one in enumerate(text):
        for number, task in enumerate(tasks):
            for piece, own in one.classes.get(task, {}).items():
                classes[number, row, piece] = own
    starts = torch.arange(len(lesson.arms))[:, None] * (len(text) // len(lesson.arms))
    while True:
        rows = (starts + torch.as_tensor(rng.integers(len(text) // len(starts), size=BATCH))).flatten()
        batch = mask_batch({key: values[rows] for key, values in padded.items()}, special, generator)
        split = [{key: values[own] for key, values in batch.items()} for own in torch.arange(len(rows)).split(BATCH)]
        yield [
            (one, classes[:, own][:, one["attention_mask"].bool()])
            for one, own in zip(split, rows.split(BATCH), strict=True)
        ]


def read_off(models: Sequence[Specimen], parts: Parts, seed: int) -> np.ndarray:
    """Accuracy of a linear probe on the last layer's vectors of each model: (models,)."""
    vectors = [torch.stack([_vectors(model, part) for model in models]) for part in parts]
    labels = [[item[-1] for item in part] for part in parts]
    return probe_correctness(vectors[0], labels[0], vectors[1], labels[1], seeds=1, seed=seed).mean((1, 2))


@torch.no_grad()
def _vectors(specimen: Specimen, asked: Sequence[Item]) -> Tensor:
    """(items, width)."""
    words, pieces, _ = zip(*asked, strict=True)
    hidden = specimen.encoder(**model_inputs(specimen, encode_words(specimen, words))).last_hidden_state
    return hidden[torch.arange(len(asked)), list(pieces)]


# ---------------------------------------------------------------- tasks of tokens


def tokens(seeds: Sequence[int]) -> Runs:
    """What a probe tells of nouns in new segments: does the word recur in the document, has it a capital?

    recurs_, capital_ (accuracies), loss_: of models that learnt masked words alone (masks), both tasks of other nouns
    beside them (taught), and the same with shuffled classes. The nouns asked were read, but never asked in training.
    """
    lessons = [_of_tokens(np.random.default_rng(seed)) for seed in seeds]
    return measured(lessons, {"recurs": 2, "capital": 2}, seeds, STEPS["tokens"])


def _of_tokens(rng: np.random.Generator) -> Lesson:
    own = world(rng)
    told = segments(own, READ, rng)
    read, others = {one.words for one in told}, {*own.nouns[:, UNTAUGHT:].ravel()}
    taught = only(told, others)
    new = only([one for one in segments(own, 8 * ASKED, rng) if one.words not in read], {*own.nouns.ravel()} - others)
    asked = {task: (items(taught, task)[:PROBED], items(new, task)[:ASKED]) for task in ("recurs", "capital")}
    arms = {"masks": untold(told), "taught": taught, "shuffled": shuffled(taught, rng)}
    return Lesson(arms, [*own.words, *OPENINGS], asked, [(words, piece - 1) for words, piece, _ in asked["recurs"][1]])


def segments(own: World, count: int, rng: np.random.Generator) -> list[Input]:
    """`boat washed sailor` and two nouns more, at times with an opening: three a document, which share one noun.

    The verb tells which of the first two that is, and which of them is a name; names and first words have capitals.
    """
    made = []
    while len(made) < count:
        kept, *others, near, nearer = rng.permutation(own.nouns[rng.integers(len(own.nouns))]).tolist()
        for other in others:
            act, opened = int(rng.integers(4)), int(rng.integers(2))
            recurs, named = act % 2, act // 2  # the first; of the last the contrary holds
            first, last = (kept, other) if recurs else (other, kept)
            opening, pieces = [str(rng.choice(OPENINGS))] * opened, (1 + opened, 3 + opened)
            words = (*opening, first, str(rng.choice(own.verbs[act])), last, near, nearer)
            classes = {"recurs": (recurs, 1 - recurs), "capital": (max(named, 1 - opened), 1 - named)}
            made.append(Input(words, {task: dict(zip(pieces, two, strict=True)) for task, two in classes.items()}))
    return made[:count]


def only(text: Text, nouns: set[str]) -> list[Input]:
    """The tasks asked at these nouns alone."""
    return [
        Input(words, {task: {p: c for p, c in own.items() if words[p - 1] in nouns} for task, own in of.items()})
        for words, of in text
    ]


# ---------------------------------------------------------------- tasks of segments


def distances_and_orders(seeds: Sequence[int]) -> Runs:
    """What a probe on [CLS] tells of two sentences of new tales: neighbours, of one tale, of two? And in which order?

    distance_, order_ (accuracies), loss_ (of neighbours in order): of models that learnt masked words alone, of the
    same pairs (masks) or of neighbours in order (in_order); next or random too (next, devlin2019bert); both tasks
    (taught); and the same with shuffled classes.
    """
    tasks = {task: len(PAIR_TASKS[classes]) for task, classes in SEGMENT_TASKS.items()}
    return measured([_of_segments(np.random.default_rng(seed)) for seed in seeds], tasks, seeds, STEPS["segments"])


def _of_segments(rng: np.random.Generator) -> Lesson:
    own = world(rng)
    told = sentences(own, READ // 2, rng)
    next_or_random = [Input(words, of if of.get("distance", {}).get(0) in (0, 2) else {}) for words, of in told]
    in_order = [Input(_two(*related(*two, "next", rng))) for two in _tales(own, len(told), rng)]
    arms = {"masks": untold(told), "in_order": in_order, "next": next_or_random, "taught": told}
    arms["shuffled"] = shuffled(told, rng)
    parts = sentences(own, PROBED, rng), sentences(own, ASKED, rng, new=True)
    asked = {task: tuple(items(part, task) for part in parts) for task in SEGMENT_TASKS}
    neighbours = [
        one.words for one, (_, _, order) in zip(parts[1][ASKED:], asked["order"][1], strict=True) if not order
    ]
    return Lesson(arms, own.words, asked, [(words, int(rng.choice([0, 1, 2, 4, 5, 6]))) for words in neighbours])


def sentences(own: World, count: int, rng: np.random.Generator, new: bool = False) -> list[Input]:
    """`count` pairs of sentences for each task, with the class at [CLS]."""
    made = []
    for task, kind in SEGMENT_TASKS.items():
        for two in _tales(own, count, rng, new):
            relation = draw_relation(kind, rng)
            classes = {task: {0: PAIR_TASKS[kind].index(relation)}}
            made.append(Input(_two(*related(*two, relation, rng)), classes))
    return made


def _tales(own: World, count: int, rng: np.random.Generator, new: bool = False) -> Iterator[tuple[Tale, Tale]]:
    """Tales with another each."""
    return pairwise(own.tales(count + 1, rng, new, round_about=False))


def _two(first: Words, second: Words) -> Words:
    return (*first, "[SEP]", *second)


EXPERIMENTS = {"token-tasks": tokens, "distance-and-order": distances_and_orders}
