"""Facts that no text told, given to tiny models as vectors while they learn: at names, or by attention among namesakes.

Depends on `knowledge_base` (facts, sentences, vectors) and `tuning.together`. Each experiment asks for facts of people
of whom the base alone knows. Arms start alike, read the same statements in the same order and differ in the vectors:
the people's own, those of other people, or none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.training import knowledge_base as kb
from bertology_utils.studies.training.knowledge_base import Base, Statement, Words
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.regimens import INIT_DEVIATION
from bertology_utils.tuning.together import Packed, Stack, clip_each, pack
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

RECIPE = BilingualRecipe(layers=2, width=48, heads=2, inner=96, learning_rate=4e-3)
BATCH = 24  # statements
ASKED_AGAIN = 120  # statements of each text
PIECES, MENTIONS = (f"bert.embeddings.{kind}_embeddings.weight" for kind in ("word", "token_type"))
Forward = Callable[[Packed], Tensor]  # last hidden states (models, pieces, width)
Losses = Callable[[Packed], Tensor]  # (models,)
Told = Sequence[Sequence[Statement]]  # of each model


# ---------------------------------------------------------------- stacks


def stacked(seeds: Sequence[int], people: int, arms: int = 1, more: Words = ()) -> tuple[Specimen, Stack]:
    """Untrained models, all seeds of one arm after those of another; the first lends its tokenizer.

    Segments say which of so many people is meant; of themselves they are no input.
    """
    made = [tiny_specimen((*kb.WORDS, *more), RECIPE, seed) for _ in range(arms) for seed in seeds]
    stack = Stack([own.model for own in made])
    stack.weights[MENTIONS] = torch.zeros(len(made), 1 + people, RECIPE.width)
    return made[0], stack


def train(
    stack: Stack,
    losses: Callable[[], Tensor],
    steps: int,
    rate: float = RECIPE.learning_rate,
    more: Sequence[Tensor] = (),
) -> None:
    """Trains all models at once, and `more` weights than theirs; segments stay what they are."""
    weights = [*(weight for name, weight in stack.weights.items() if name != MENTIONS), *more]
    descend([{"params": weights, "lr": rate}], losses, steps, clip_each)


def fresh(seeds: Sequence[int], arms: int, *shape: int, deviation: float = INIT_DEVIATION) -> Tensor:
    """Random weights (models, *shape) to be learnt, alike for all arms of a seed."""
    drawn = [deviation * torch.randn(shape, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
    return torch.stack(drawn * arms).requires_grad_(True)


def by_arm(names: Sequence[str], values: np.ndarray, items: int, prefix: str = "") -> dict[str, np.ndarray]:
    """A value a model, (models,), as a sample an arm, (seeds, 1)."""
    parts = zip(names, np.split(values, len(names)), strict=True)
    return {prefix + name: per_seed(own, items) for name, own in parts}


@torch.no_grad()
def known(specimen: Specimen, stack: Stack, forward: Forward, told: Told) -> np.ndarray:
    """P@1 of each model's facts: (models,)."""
    batch = pack([kb.ask(specimen, own) for own in told])
    return kb.known(specimen, stack.masked_logits(forward(batch), batch), told)


@dataclass(frozen=True)
class Arms:
    """Models of several arms, a seed's base, what text tells of it and what is asked: all seeds of an arm in a row."""

    names: Sequence[str]
    seeds: Sequence[int]
    bases: Sequence[Base]
    told: Told
    asked: Told
    specimen: Specimen
    stack: Stack

    @classmethod
    def drawn(cls, names: Sequence[str], seeds: Sequence[int], met: int, unmet: int, of_a_name: int = 1) -> "Arms":
        """Arms that read of `met` names and are asked for `unmet` ones; namesakes are told of in context."""
        bases, told, asked = [], [], []
        for rng in map(np.random.default_rng, seeds):
            bases.append(kb.draw((met + unmet) * of_a_name, rng, of_a_name))
            every = dict(enumerate(name for name in kb.full_names(met + unmet, rng) for _ in range(of_a_name)))
            made = kb.statements(bases[-1], every, of_a_name, context=of_a_name > 1)
            told.append([one for one in made if one.mention < met])
            asked.append([one for one in made if one.mention >= met])
        return cls(names, seeds, bases, told, asked, *stacked(seeds, (met + unmet) * of_a_name, len(names)))

    def vectors(self, kinds: Sequence[str]) -> Tensor:
        """What stands at each mention, nothing at the first: (models, 1 + names, people of a name, `SIZE`).

        kinds: whose vectors each arm has: "own", those of "other" people, or "none".
        """
        make = {
            "own": lambda base, seed: base.vectors,
            "other": lambda base, seed: kb.dealt(base.vectors, np.random.default_rng([seed, 1])),
            "none": lambda base, seed: np.zeros_like(base.vectors),
        }
        drawn = [make[kind](*own) for kind in kinds for own in zip(self.bases, self.seeds, strict=True)]
        of_a_name = len(self.bases[0].vectors) // (1 + self.asked[0][-1].mention)
        of_names = torch.tensor(np.stack(drawn), dtype=torch.float32).unflatten(1, (-1, of_a_name))
        return torch.nn.functional.pad(of_names, (0, 0, 0, 0, 1, 0))

    def fresh(self, *shape: int) -> Tensor:
        """`fresh` weights for all arms."""
        return fresh(self.seeds, len(self.names), *shape)

    def train(self, losses: Losses, more: Sequence[Tensor], steps: int) -> None:
        """Trains all arms, and `more` weights, on what text tells."""
        pairs = list(zip(self.told, self.seeds, strict=True)) * len(self.names)
        feeds = [kb.feed(self.specimen, own, seed, BATCH) for own, seed in pairs]
        train(self.stack, lambda: losses(pack([next(own) for own in feeds])), steps, more=more)

    def known(self, forward: Forward) -> dict[str, np.ndarray]:
        """P@1 of each arm on what only the base knows, and as `told_...` on what text told: (seeds, 1)."""
        found = {}
        for prefix, part in {"": self.asked, "told_": [own[:ASKED_AGAIN] for own in self.told]}.items():
            values = known(self.specimen, self.stack, forward, list(part) * len(self.names))
            found |= by_arm(self.names, values, len(part[0]), prefix)
        return found


# ---------------------------------------------------------------- at names (ERNIE)

LEARNING_STEPS = 550


def at_names(seeds: Sequence[int]) -> Runs:
    """Vectors through a learnt projection at the pieces of names, from the first step on (zhang2019ernie).

    P@1 of facts of people whom the base alone knows, and of those told in text: with_base, shuffled_base, without_base;
    told_with_base, ...: (seeds, 1). The study's further objectives (which entity a name is) and its second stream of
    layers are left out.
    """
    arms = Arms.drawn(("with_base", "shuffled_base", "without_base"), seeds, met=40, unmet=48)
    vectors, projection = arms.vectors(("own", "other", "none"))[:, :, 0], arms.fresh(kb.SIZE, RECIPE.width)

    def forward(batch: Packed) -> Tensor:
        arms.stack.weights[MENTIONS] = vectors @ projection
        return arms.stack.hidden(batch)

    untrained = arms.known(forward)
    arms.train(lambda batch: arms.stack.masked_losses(forward(batch), batch), [projection], LEARNING_STEPS)
    return Runs(arms.known(forward), untrained, networks=len(seeds))


# ---------------------------------------------------------------- by attention among namesakes (KnowBERT)

LINKING_STEPS = 420


@dataclass(frozen=True)
class Linker:
    """Attention of a name's pieces, between two layers, to the vectors of those who bear it; added to their states.

    vectors: (models, 1 + names, 2, size); query: (models, width, size); value: (models, size, width); attends: (models,
    1, 1), 0 where all candidates count alike.
    """

    stack: Stack
    vectors: Tensor
    query: Tensor
    value: Tensor
    attends: Tensor

    def read(self, batch: Packed) -> tuple[Tensor, Tensor]:
        """Last hidden states (models, pieces, width) and the weights of candidates (models, pieces, 2)."""
        x = self.stack.block(self.stack.embedded(batch), 0, batch)
        candidates = self.vectors[torch.arange(len(x)).unsqueeze(1), (batch.types + 1) // 2]
        scores = (candidates @ (x @ self.query).unsqueeze(-1)).squeeze(-1)
        weights = (self.attends * scores).softmax(-1)
        x = x + (weights.unsqueeze(-1) * candidates).sum(2) @ self.value
        return self.stack.block(x, 1, batch), weights

    def losses(self, batch: Packed) -> Tensor:
        """Masked words, and at names who is meant: (models,)."""
        hidden, weights = self.read(batch)
        meant = weights.gather(2, ((batch.types + 1) % 2).unsqueeze(-1)).squeeze(-1)
        named = batch.types > 0
        return self.stack.masked_losses(hidden, batch) - (meant.log() * named).sum(1) / named.sum(1)

    @torch.no_grad()
    def linked(self, batch: Packed) -> np.ndarray:
        """Share of pieces of names at which who is meant has the larger weight, ties counting half: (models,)."""
        weights = self.read(batch)[1]
        sides = (weights.diff(dim=-1).squeeze(-1).sign() * (2 * ((batch.types + 1) % 2) - 1) + 1) / 2
        named = batch.types > 0
        return ((sides * named).sum(1) / named.sum(1)).double().numpy()


def by_attention(seeds: Sequence[int]) -> Runs:
    """Two people bear each name; a second fact in the sentence tells who is meant (peters2019knowledge).

    P@1 of facts of people whom the base alone knows: attended, even (both candidates count alike), shuffled_base;
    told_attended, ... of those in text; linked_attended, ...: share of asked names at which attention prefers who is
    meant; (seeds, 1). As in the study links are taught in training; pieces attend one by one, where it pools them.
    """
    arms = Arms.drawn(("attended", "even", "shuffled_base"), seeds, met=64, unmet=24, of_a_name=2)
    query, value = arms.fresh(RECIPE.width, kb.SIZE), arms.fresh(kb.SIZE, RECIPE.width)
    attends = torch.tensor([1.0, 0.0, 1.0]).repeat_interleave(len(seeds)).view(-1, 1, 1)
    linker = Linker(arms.stack, arms.vectors(("own", "own", "other")), query, value, attends)

    def found() -> dict[str, np.ndarray]:
        linked = linker.linked(pack([kb.ask(arms.specimen, own) for own in arms.asked] * len(arms.names)))
        return arms.known(lambda batch: linker.read(batch)[0]) | by_arm(
            arms.names, linked, len(arms.asked[0]), "linked_"
        )

    untrained = found()
    arms.train(linker.losses, [query, value], LINKING_STEPS)
    return Runs(found(), untrained, networks=len(seeds))


EXPERIMENTS = {"entities-at-names": at_names, "entities-by-attention": by_attention}
