"""How a reader gets from a question to its answer, layer by layer: facts that it needs first, then the answer.

The setting of vanaken2019how in tiny networks. A story tells where people are and what they have; "where is Mary?" needs
one fact, "where is the ball?" two, of which the second shares no word with the question. Readers learn to point at the
answer alone; which facts it rests on they are never told. Depends on `tuning.together` (all seeds as one network) and
`instruments.probes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from bertology_utils.instruments.probes import fit_ridge
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.together import Packed, Stack, clip_each, pack
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

RECIPE = BilingualRecipe(layers=4, width=64, heads=4, inner=128, steps=600, learning_rate=2e-3)
BATCH, ASKED = 16, 300  # questions of each kind a step; on which probes learn, and as many others that they are asked
KNOWN, PEOPLE = 8, 3  # names, places and things that there are; of which a story tells
FACT, BEFORE = 3, 4  # pieces of a fact; of the question and its marks
LEAST = 0.2  # gain of a curve that has a place at all
KINDS = ("people", "places", "things")
WORDS = ("where", "in", "has", *(f"{kind}-{n}" for kind in KINDS for n in range(KNOWN)))


@dataclass(frozen=True)
class Stories:
    """Questions and stories: ids (stories, pieces); where the facts of each person's place and thing begin, (stories,
    `PEOPLE`). It is the first person that a question asks for."""

    ids: np.ndarray
    places: np.ndarray
    things: np.ndarray

    @classmethod
    def drawn(cls, specimen: Specimen, count: int, facts: int, rng: np.random.Generator) -> "Stories":
        """`count` of them whose question needs one fact (it names a person) or two (it names a thing)."""
        ids = np.array(specimen.tokenizer.convert_tokens_to_ids(["[CLS]", "[SEP]", *WORDS]))
        start, end, where, *verbs = ids[:5]
        person, place, thing = (own[_some(count, KNOWN, rng)[:, :PEOPLE]] for own in ids[5:].reshape(3, KNOWN))
        told = [
            np.stack([person, np.full_like(person, verb), last], -1)
            for verb, last in zip(verbs, (place, thing), strict=True)
        ]
        order = _some(count, 2 * PEOPLE, rng)  # of each fact, where it stands
        story = np.concatenate(told, 1)[np.arange(count)[:, None], order.argsort(1)].reshape(count, -1)
        named = (person if facts == 1 else thing)[:, :1]
        marks = [np.full_like(named, mark) for mark in (start, where, end)]
        whole = np.concatenate([*marks[:2], named, marks[2], story, marks[2]], 1)
        return cls(whole, *np.split(BEFORE + FACT * order, 2, axis=1))

    @property
    def answers(self) -> np.ndarray:
        """Where the answer stands: (stories,)."""
        return self.places[:, 0] + FACT - 1

    def batch(self) -> dict[str, Tensor]:
        """For `pack`; the label of the first piece is where the answer stands."""
        ids = torch.tensor(self.ids)
        labels = torch.full_like(ids, IGNORED)
        labels[:, 0] = torch.tensor(self.answers)
        types = (torch.arange(ids.shape[1]) >= BEFORE).long().expand_as(ids)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": types, "labels": labels}


def _some(count: int, many: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permuted(np.tile(np.arange(many), (count, 1)), axis=1)


class Pointers:
    """Readers of all seeds, each with a direction (width,) along which the answer is to stand out."""

    def __init__(self, seeds: Sequence[int]) -> None:
        made = [tiny_specimen(WORDS, RECIPE, seed) for seed in seeds]
        self.specimen, self.stack = made[0], Stack([own.model for own in made])
        self.rngs = [np.random.default_rng(seed) for seed in seeds]
        self.head = torch.full((len(seeds), RECIPE.width, 1), 0.01, requires_grad=True)

    def drawn(self, count: int, facts: int) -> list[Stories]:
        """New stories for each reader."""
        return [Stories.drawn(self.specimen, count, facts, rng) for rng in self.rngs]

    def scores(self, hidden: Tensor, batch: Packed) -> Tensor:
        """How much each piece is taken for the answer: (models, stories, pieces of one)."""
        return (hidden @ self.head).view(*batch.labels.shape, -1)

    def train(self) -> np.ndarray:
        """Losses (steps, models) of pointing at the answer, on both kinds of question alike."""

        def losses() -> Tensor:
            drawn = [self.drawn(BATCH, facts) for facts in (1, 2)]
            batch = pack([joined(*own) for own in zip(*drawn, strict=True)])
            scores = self.scores(self.stack.hidden(batch), batch)
            return cross_entropy(scores.permute(0, 2, 1), batch.labels, reduction="none").mean(1)

        weights = [*self.stack.weights.values(), self.head]
        return descend([{"params": weights, "lr": RECIPE.learning_rate}], losses, RECIPE.steps, clip_each)


def joined(*stories: Stories) -> dict[str, Tensor]:
    """Stories in one batch."""
    made = [own.batch() for own in stories]
    return {key: torch.cat([own[key] for own in made]) for key in made[0]}
