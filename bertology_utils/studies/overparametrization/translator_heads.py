"""An experiment on translators: does a translation get better where one head is switched off?

Depends on `tuning.translating` (translators and their language) and `blocks` (where heads are).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from bertology_utils.instruments.blocks import attention_projections
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.tuning.translating import Pair, Translator, drawn, share_right, translators

PAIRED, CHOOSING, ASKED, STEPS = 200, 300, 300, 500  # pairs read, to choose a head on, to score; steps
Head = tuple[int, int]
"""Which attention (encoder's by block, decoder's own, decoder's on the source), and which of its heads."""


def heads_off(seeds: Sequence[int]) -> Runs:
    """Translators with few pairs, whole and without the head whose removal helps most on other sentences.

    full, without_head, without_any: share of the pieces right of held-out translations; with the whole model, without
    the chosen head, and without one head, the mean over all. wrong: where another sentence is read. helping: share of
    the heads whose removal helps on the sentences that score (michel2019sixteen).
    """
    _, pairs, starts = zip(*(drawn(PAIRED + CHOOSING + ASKED, seed) for seed in seeds), strict=True)
    trained = translators(starts, [own[:PAIRED] for own in pairs], STEPS, seeds)
    blank = [Translator(*of) for of in zip(starts, seeds, strict=True)]
    sides = []
    for made in (trained, blank):
        found = [measured(model, own[PAIRED:]) for model, own in zip(made, pairs, strict=True)]
        sides.append({name: per_seed([own[name] for own in found], ASKED) for name in found[0]})
    return Runs(*sides, networks=len(seeds))


def measured(model: Translator, held_out: Sequence[Pair]) -> dict[str, float]:
    """The samples of one translator; the head is chosen on the first pairs and scored on the others."""
    choosing, asked = held_out[:CHOOSING], held_out[CHOOSING:]
    chosen = max(heads_of(model), key=without(model, choosing))
    scores = {head: without(model, asked)(head) for head in heads_of(model)}
    full = share_right(model, asked)
    return {
        "full": full,
        "without_head": scores[chosen],
        "without_any": float(np.mean(list(scores.values()))),
        "wrong": share_right(model, asked, shift=1),
        "helping": float(np.mean([score > full for score in scores.values()])),
    }


def heads_of(model: Translator) -> list[Head]:
    """Every head of encoder and decoder."""
    places = range(len(attention_projections(model, "output")))
    return [(place, head) for place in places for head in range(model.encoder.config.num_attention_heads)]


def without(model: Translator, pairs: Sequence[Pair]) -> Callable[[Head], float]:
    """`share_right` on these pairs with a head switched off."""

    def score(head: Head) -> float:
        with switched_off(model, head):
            return share_right(model, pairs)

    return score


@contextmanager
def switched_off(model: Translator, head: Head) -> Iterator[None]:
    """Zero in place of what one head says, before its attention's output projection."""
    place, own = head

    def silence(_: nn.Module, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        by_head = given[0].unflatten(-1, (model.encoder.config.num_attention_heads, -1)).clone()
        by_head[..., own, :] = 0
        return (by_head.flatten(-2),)

    hook = attention_projections(model, "output")[place].register_forward_pre_hook(silence)
    try:
        yield
    finally:
        hook.remove()


EXPERIMENTS = {"translator-without-a-head": heads_off}
