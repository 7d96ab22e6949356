"""Fragments of logic taught to tiny readers of inference, which have learnt an ordinary task before.

Depends on `fragments` (pairs), `tuning.together` (all readers at once) and the pooling of `tuning.training`.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import reduce

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.generalization.fragments import (
    ADJECTIVES,
    FRAGMENTS,
    FRAMES,
    NAMES,
    PEOPLE,
    Words,
    blinded,
    pairs,
)
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.regimens import INIT_DEVIATION
from bertology_utils.tuning.shortcuts import joined, part
from bertology_utils.tuning.together import Batch, Packed, Stack, clip_each, pack
from bertology_utils.tuning.training import Examples, pooled
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

RECIPE = BilingualRecipe(layers=2, width=48, heads=2, inner=96, steps=700, learning_rate=3e-3)
APART = 10  # times BERT's spread of word vectors: readers match words much sooner if these differ from the start
TEACHING_STEPS, RATES, BATCH = 250, (1e-3, 3e-4), 20  # steps, rates that are tried, pairs
ORDINARY, LESSONS, ASKED, DRAWN = 2400, 400, 200, 16  # pairs: to read, of each fragment, to ask; words of each kind


@dataclass(frozen=True)
class Readers:
    """Stacked encoders and heads (models, 4 * width, 3), and the specimen whose tokenizer they share."""

    specimen: Specimen
    stack: Stack
    head: Tensor

    @classmethod
    def untrained(cls, seeds: Sequence[int]) -> "Readers":
        """One a seed."""
        made = [tiny_specimen((*NAMES, *ADJECTIVES, *PEOPLE, *FRAMES.split()), RECIPE, seed) for seed in seeds]
        heads = [torch.randn(4 * RECIPE.width, 3, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
        stack = Stack([own.model for own in made])
        stack.weights["bert.embeddings.word_embeddings.weight"].data.mul_(APART)
        return cls(made[0], stack, (INIT_DEVIATION * torch.stack(heads)).requires_grad_(True))

    def logits(self, batch: Packed) -> Tensor:
        """(models, pairs, 3), from the means of both sentences, compared."""
        hidden = self.stack.hidden(batch).flatten(0, 1)[batch.rows]
        inputs = {"attention_mask": batch.real, "input_ids": batch.ids.flatten()[batch.rows]}
        both = pooled(hidden, inputs, "pair", self.specimen.tokenizer.sep_token_id)
        return both.view(len(self.head), -1, both.shape[-1]) @ self.head

    def read(self, examples: Iterable[Examples]) -> list[Batch]:
        """The pieces of each model's pairs, (pairs, longest), and their `answers`."""
        made = []
        for own in examples:
            batch = model_inputs(self.specimen, encode_words(self.specimen, own.sentences, own.pairs))
            batch["labels"] = torch.full_like(batch["input_ids"], IGNORED)
            made.append({**batch, "answers": torch.tensor(own.labels)})
        return made

    def learn(self, read: Sequence[Batch], steps: int, rate: float) -> None:
        """Trains all on pairs of their own."""
        generator = torch.Generator().manual_seed(0)

        def losses() -> Tensor:
            rows = torch.randint(len(read[0]["answers"]), (BATCH,), generator=generator)
            batch = [{key: values[rows] for key, values in own.items()} for own in read]
            answers = torch.stack([own["answers"] for own in batch])
            logits = self.logits(pack(batch)).transpose(1, 2)
            return nn.functional.cross_entropy(logits, answers, reduction="none").mean(1)

        descend([{"params": [*self.stack.weights.values(), self.head], "lr": rate}], losses, steps, clip_each)

    @torch.no_grad()
    def score(self, read: Sequence[Batch]) -> np.ndarray:
        """Accuracy of each on its pairs: (seeds,)."""
        right = self.logits(pack(read)).argmax(-1) == torch.stack([own["answers"] for own in read])
        return right.double().mean(1).numpy()


Sets = Mapping[str, Sequence[Batch]]  # of the ordinary task and of each fragment, one a seed


def taught(seeds: Sequence[int]) -> Runs:
    """Accuracy on four fragments of inference before and after some hundred pairs of each (richardson2019probing).

    Of boolean, comparative, quantifier and conditional, on words that no lesson had: _before, of readers of the
    ordinary task; _taught; _blind, of the same readers taught and asked without premises; lessons_boolean_taught and
    so on, on lessons themselves. ordinary_before and _taught, on new pairs of the ordinary task: (seeds, 1). As in the
    study, what is taught is the better of several trials, by the mean of both tasks on pairs that are not asked.
    """
    rngs = [np.random.default_rng(seed) for seed in seeds]
    words = [Words(NAMES, ADJECTIVES, PEOPLE).shuffled(rng).part(slice(DRAWN)) for rng in rngs]
    known, new = ([own.part(slice(place, None, 2)) for own in words] for place in (0, 1))

    def made(kind: str, count: int, of: Sequence[Words]) -> list[Examples]:
        return [pairs(kind, own, count, rng) for own, rng in zip(of, rngs, strict=True)]

    asked = [{kind: made(kind, ASKED, of) for kind in FRAGMENTS} for of in (new, known)]
    lessons = {kind: made(kind, LESSONS, known) for kind in FRAGMENTS}
    readers = Readers.untrained(seeds)
    blank = {kind: readers.read(map(blinded, own)) for kind, own in asked[0].items()}
    tests, trials = (
        {kind: readers.read(own) for kind, own in (each | {"ordinary": made("ordinary", ASKED, words)}).items()}
        for each in asked
    )
    first = slice(ASKED)
    tests |= {f"lessons_{kind}": readers.read(part(of, first) for of in own) for kind, own in lessons.items()}
    untrained = _scores(readers, [readers], readers, (tests, trials, blank))
    readers.learn(readers.read(made("ordinary", ORDINARY, words)), RECIPE.steps, RECIPE.learning_rate)
    together = [reduce(joined, own) for own in zip(*lessons.values(), strict=True)]
    full, blind, read = [deepcopy(readers) for _ in RATES], deepcopy(readers), readers.read(together)
    for own, rate in zip(full, RATES, strict=True):
        own.learn(read, TEACHING_STEPS, rate)
    blind.learn(readers.read(map(blinded, together)), TEACHING_STEPS, max(RATES))
    return Runs(_scores(readers, full, blind, (tests, trials, blank)), untrained, networks=len(seeds))


def _scores(before: Readers, full: Sequence[Readers], blind: Readers, asked: tuple[Sets, Sets, Sets]) -> dict:
    """The samples of `taught`; asked: what is told, what chooses the rate, and what has no premises."""
    tests, trials, blank = asked
    tried = {kind: np.array([own.score(read) for own in full]) for kind, read in trials.items()}  # (rates, seeds)
    best = (np.mean([tried[kind] for kind in FRAGMENTS], 0) + tried["ordinary"]).argmax(0)
    found = {f"{kind}_blind": blind.score(read) for kind, read in blank.items()}
    for kind, read in tests.items():
        after = np.choose(best, [own.score(read) for own in full])
        found |= {f"{kind}_before": before.score(read), f"{kind}_taught": after}
    return {name: per_seed(values, ASKED) for name, values in found.items()}


EXPERIMENTS = {"reasoning-fragments": taught}
