"""How a reader gets from a question to its answer, layer by layer: the facts that it needs, then the answer.

As in vanaken2019how, in tiny networks. A story tells where people are and what they have; "where Mary?" needs one fact,
"where ball?" two, of which the second shares no word with the question. Readers learn to point at the answer alone.
Depends on `tuning.together` (all seeds as one network) and `instruments.probes`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from sklearn.metrics import silhouette_score
from torch import Tensor
from torch.nn.functional import cross_entropy

from bertology_utils.instruments.probes import fit_ridge
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.tuning.descent import WEIGHT_DECAY, descend
from bertology_utils.tuning.together import Packed, Stack, clip_each, pack
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

RECIPE = BilingualRecipe(layers=4, width=48, heads=1, inner=96, steps=480, learning_rate=1.5e-3)
TAUGHT, ASKED = 250, 250  # stories of each seed on which probes learn, and which they are asked
KNOWN, PEOPLE = 3, 2  # names, places and things that there are; of which a story tells
FACT, BEFORE = 3, 2  # words of a fact, and of the question before the story
WORDS = ("where", "who", "in", "has", *(f"{kind}-{n}" for kind in ("name", "place", "thing") for n in range(KNOWN)))
CURVES = ("first", "second", "answer")
FIRST_WORD = 5  # what stands before the words in a vocabulary
WHO, WHERE, WHERE_THING = 0, 1, 2  # kinds of question
BATCHES = {0.0: (24, 24, 0), 0.5: (8, 8, 32)}  # of each kind, from which part of training on
SENTENCE = 0.7  # how much of the other words of its fact stands in a word's first vector
LARGER, HELD_BACK = 7.0, 0.5  # first weights beside the usual ones; those of them that write, and of positions
STEADY = 1e-5  # what keeps Adam from following noise
LEAST = 0.2  # gain of a curve that has a place at all


@dataclass(frozen=True)
class Stories:
    """Words (stories, `BEFORE` + facts), and where the facts of each person's place and thing begin, (stories,
    `PEOPLE`). It is the first person that the question asks for."""

    words: np.ndarray
    places: np.ndarray
    things: np.ndarray
    answers: np.ndarray

    @classmethod
    def drawn(cls, kind: int, count: int, rng: np.random.Generator) -> "Stories":
        """So many with questions of one kind."""

        def some(many: int) -> np.ndarray:
            return rng.permuted(np.tile(np.arange(many), (count, 1)), axis=1)

        name, place, thing = (4 + KNOWN * n + some(KNOWN)[:, :PEOPLE] for n in range(3))
        told = [np.stack([name, np.full_like(name, verb), last], -1) for verb, last in ((2, place), (3, thing))]
        order = some(2 * PEOPLE)  # where each fact stands
        story = np.concatenate(told, 1)[np.arange(count)[:, None], order.argsort(1)].reshape(count, 2 * PEOPLE * FACT)
        asked = np.stack([np.full(count, kind == WHO), (name if kind == WHERE else thing)[:, 0]], 1)
        places, things = np.split(BEFORE + FACT * order, 2, axis=1)
        answers = things[:, 0] if kind == WHO else places[:, 0] + FACT - 1
        return cls(np.concatenate([asked, story], 1), places, things, answers)

    def guess(self) -> float:
        """Share of answers by the best rule of where a place is told: first, last, near the thing, or far from it."""
        near = abs(self.places - self.things[:, :1])
        shares = [(np.sign(of[:, 1] - of[:, 0]).mean() + 1) / 2 for of in (self.places, near)]
        return max(max(share, 1 - share) for share in shares)


def batch_of(*stories: Stories) -> dict[str, Tensor]:
    """For `pack`; the label of the first word is where the answer stands."""
    ids = torch.tensor(np.concatenate([own.words for own in stories])) + FIRST_WORD
    labels = torch.full_like(ids, IGNORED)
    labels[:, 0] = torch.tensor(np.concatenate([own.answers for own in stories]))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": 0 * ids, "labels": labels}


class Readers(Stack):
    """Readers of all seeds, each with a direction along which answers stand out, `head` (models, width, 1).

    What takes larger networks long is given to them: a word's first vector holds its fact, and words look at like words
    from the start, as queries are keys.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__([tiny_specimen(WORDS, RECIPE, seed).model for seed in seeds])
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.mul_(LARGER if weight.dim() == 3 else 1)
                weight.mul_(HELD_BACK if "output.dense" in name or "position" in name else 1)
                if ".query." in name:
                    weight.copy_(LARGER * self.weights[name.replace("query", "key")])
        self.rngs = [np.random.default_rng(seed) for seed in seeds]
        self.head = torch.full((len(seeds), RECIPE.width, 1), 0.01, requires_grad=True)

    def embedded(self, batch: Packed) -> Tensor:
        """What the first block reads: (models, pieces, width)."""
        words = self._embedded(batch.ids, "word").unflatten(1, (batch.labels.shape[1], -1))
        facts = words[:, :, BEFORE:].unflatten(2, (-1, FACT))
        told = facts + SENTENCE * (facts.sum(3, keepdim=True) - facts)
        x = torch.cat([words[:, :, :BEFORE], told.flatten(2, 3)], 2).flatten(1, 2)
        return self._norm(x + self._embedded(batch.positions, "position"), "bert.embeddings.LayerNorm")

    def scores(self, hidden: Tensor, batch: Packed) -> Tensor:
        """How much each word is taken for the answer: (models, stories, words of one)."""
        return (hidden @ self.head).view(*batch.labels.shape, -1)

    def train(self) -> None:
        """Teaches to point at answers: of one fact at first, then of two as well."""
        done = 0

        def losses() -> Tensor:
            nonlocal done
            counts = BATCHES[max(start for start in BATCHES if start * RECIPE.steps <= done)]
            done += 1
            batch = pack([batch_of(*(Stories.drawn(*own, rng) for own in enumerate(counts))) for rng in self.rngs])
            scores = self.scores(self.hidden(batch), batch)
            return cross_entropy(scores.transpose(1, 2), batch.labels, reduction="none").mean(1)

        groups = [
            {"params": list(self.weights.values()), "lr": RECIPE.learning_rate},
            {"params": [self.head], "lr": 10 * RECIPE.learning_rate},
        ]
        descend(
            groups, losses, RECIPE.steps, clip_each, partial(torch.optim.AdamW, weight_decay=WEIGHT_DECAY, eps=STEADY)
        )

    @torch.no_grad()
    def read(self, stories: Sequence[Stories]) -> tuple[np.ndarray, np.ndarray]:
        """Is the answer pointed at, (models, stories), and vectors (models, layers + 1, stories, words, width)."""
        batch = pack([batch_of(own) for own in stories])
        layers = [self.embedded(batch)]
        for number in range(RECIPE.layers):
            layers.append(self.block(layers[-1], number, batch))
        right = self.scores(layers[-1], batch).argmax(-1) == batch.labels
        return right.numpy(), torch.stack(layers, 1).unflatten(2, (len(stories[0].words), -1)).numpy()


def chosen(vectors: np.ndarray) -> np.ndarray:
    """How often a linear reader picks the first of the candidates of a story, (layers, stories, candidates, width):
    (layers,), on the stories after the first `TAUGHT`."""
    taught, asked = (torch.tensor(vectors[:, part]) for part in (slice(TAUGHT), slice(TAUGHT, None)))
    first = torch.zeros(taught.shape[1:3])
    first[:, 0] = 1
    scores = fit_ridge(taught.flatten(1, 2), first.flatten()).predict(asked.flatten(1, 2))
    return (scores.view(asked.shape[:3]).argmax(-1) == 0).double().mean(1).numpy()


def place_of(curve: np.ndarray) -> float:
    """The layer where a curve (layers,) rises: the expected layer of its running best; the last where nothing does."""
    gained = np.maximum.accumulate(curve) - curve[0]
    return float((1 - gained[:-1] / max(gained[-1], LEAST)).sum())


def _curves(vectors: np.ndarray, stories: Stories) -> dict[str, np.ndarray]:
    """Readability (layers,) of the person's thing (`first`) and place (`second`), by the words before the last of these
    facts, and of the `answer`; how far answers are `apart` from other places."""
    rows = np.arange(len(stories.words))[:, None]
    first, second = ((vectors[:, rows, of] + vectors[:, rows, of + 1]) / 2 for of in (stories.things, stories.places))
    answer = vectors[:, rows, stories.places + FACT - 1]
    asked = answer[:, TAUGHT:].reshape(len(answer), -1, answer.shape[-1])
    labels = np.arange(asked.shape[1]) % PEOPLE == 0
    found = {"first": chosen(first), "second": chosen(second), "answer": chosen(answer)}
    return found | {"apart": np.array([silhouette_score(own, labels) for own in asked])}


def _measured(readers: Readers, one: Sequence[Stories], two: Sequence[Stories]) -> dict[str, np.ndarray]:
    def seen(stories: Sequence[Stories]) -> list[tuple[float, dict[str, np.ndarray]]]:
        return [(own.mean(), _curves(*rest)) for own, *rest in zip(*readers.read(stories), stories, strict=True)]

    found = []
    for (right_one, alone), (right, curves), own in zip(seen(one), seen(two), two, strict=True):
        values = {"right": right, "right_one": right_one, "guess": own.guess()}
        values |= {f"{name}_layer": place_of(curves[name]) for name in CURVES}
        values |= {"fact_layer_one": place_of(alone["second"]), "answer_layer_one": place_of(alone["answer"])}
        values |= {f"{name}_{n}": value for name in CURVES for n, value in enumerate(curves[name])}
        found.append(values | {"apart_middle": curves["apart"][RECIPE.layers // 2], "apart_last": curves["apart"][-1]})
    return {name: per_seed([own[name] for own in found], ASKED) for name in found[0]}


def phases(seeds: Sequence[int]) -> Runs:
    """At which layer the facts that a question of two needs become readable, and at which the answer.

    first_layer, second_layer, answer_layer: expected layers of the curves first_0 ... answer_4, which tell how often a
    linear reader of a layer picks the right one of two; fact_layer_one, answer_layer_one: of questions of one fact.
    apart_middle, apart_last: silhouettes of answers among places; right, right_one: answers pointed at; guess: by rule.
    """
    readers = Readers(seeds)
    one, two = ([Stories.drawn(kind, TAUGHT + ASKED, rng) for rng in readers.rngs] for kind in (WHERE, WHERE_THING))
    untrained = _measured(readers, one, two)
    readers.train()
    return Runs(_measured(readers, one, two), untrained, networks=len(seeds))


def curves_of(side: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The recorded curves, (layers + 1, seeds) each."""
    layers = range(RECIPE.layers + 1)
    return {name: np.stack([side[f"{name}_{n}"][:, 0] for n in layers]) for name in CURVES}


EXPERIMENTS = {"phases-of-answering": phases}
