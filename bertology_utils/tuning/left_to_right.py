"""Tiny language models that read from left to right and predict the next word, all seeds trained at once.

They have the weights and layers of the tiny masked models, so that they differ from these in what they see and in what
they are asked alone. Depends on `together` (the stack) and `mlm_training` (the order of sentences).
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.text import Encoding, encode_words, model_inputs
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.mlm_training import shuffled_rows
from bertology_utils.tuning.together import Batch, Packed, Stack, clip_each, pack
from bertology_utils.tuning.two_languages import BilingualRecipe


class LeftToRight(Stack):
    """A stack whose pieces attend to themselves and to earlier pieces alone."""

    kept: list[Tensor] | None = None

    def mixed(self, query: Tensor, key: Tensor, value: Tensor, real: Tensor) -> Tensor:
        """As of every stack; while maps are read, the mean map of the heads is kept."""
        earlier = real & torch.ones(query.shape[2], query.shape[2], dtype=torch.bool).tril()
        if self.kept is not None:
            scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
            self.kept.append(scores.masked_fill(~earlier, -math.inf).softmax(-1).mean(1))
        return super().mixed(query, key, value, earlier)

    @torch.no_grad()
    def read(self, batch: Packed) -> tuple[Tensor, Tensor]:
        """Losses of the next words (models,), and maps (layers, models, sentences, pieces, pieces), means over heads.

        All models need as many sentences.
        """
        self.kept = []
        losses = self.masked_losses(self.hidden(batch), batch)
        maps, self.kept = torch.stack(self.kept), None
        return losses, maps.unflatten(1, (len(losses), -1))


def with_next(specimen: Specimen, encodings: Sequence[Encoding]) -> dict[str, Tensor]:
    """A batch (sentences, longest) whose label at each piece is the piece that follows."""
    batch = model_inputs(specimen, encodings)
    following, real = batch["input_ids"].roll(-1, 1), batch["attention_mask"].roll(-1, 1).bool()
    real[:, -1] = False
    return {**batch, "labels": following.where(real, IGNORED)}


def _feed(specimen: Specimen, encodings: Sequence[Encoding], seed: int, budget: int) -> Iterator[Batch]:
    rng, whole = np.random.default_rng(seed), with_next(specimen, encodings)
    lengths = np.array([len(encoding) for encoding in encodings])
    while True:
        for rows in shuffled_rows(specimen, encodings, rng, budget):
            places, longest = torch.as_tensor(rows), lengths[rows].max()
            yield {key: values[places, :longest] for key, values in whole.items()}


def train(
    fresh: Sequence[Specimen], texts: Sequence[Sequence[Sequence[str]]], recipe: BilingualRecipe, seeds: Sequence[int]
) -> LeftToRight:
    """Trains models to predict the next word, each on sentences of its own."""
    stack = LeftToRight([specimen.model for specimen in fresh])
    feeds = [
        _feed(specimen, encode_words(specimen, text), seed, recipe.budget)
        for specimen, text, seed in zip(fresh, texts, seeds, strict=True)
    ]

    def losses() -> Tensor:
        batch = pack([next(feed) for feed in feeds])
        return stack.masked_losses(stack.hidden(batch), batch)

    groups = [{"params": list(stack.weights.values()), "lr": recipe.learning_rate}]
    descend(groups, losses, recipe.steps, clip_each)
    return stack
