"""Rows that take parts away while the network is tuned: blocks that are replaced or dropped, words that are eliminated.

Depends on `lesson` and on where encoders keep their blocks. What is taken away is gone: the network runs faster.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from bertology_utils.compression.methods.lesson import (
    Batch,
    Lesson,
    Method,
    Small,
    dense,
    hard_loss,
)
from bertology_utils.compression.methods.problems import LONG
from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.instruments.blocks import attention_projections, encoder_layers

FIRST = 0.5  # with what probability a successor stands in at first; at the end always (xu2020bert: 0.3 to 0.5)
DROPPED = 0.2  # how often a layer is left out (fan2019reducing)
TUNINGS = 2  # with layers dropped, as many as other rows have: on `voice` 0.91 after one, 0.99 after two


def put_blocks(encoder: nn.Module, blocks: Sequence[nn.Module]) -> None:
    """These stand in the encoder in the place of its own blocks."""
    place = encoder_layers(encoder)
    del place[:]
    place.extend(blocks)
    encoder.config.num_hidden_layers = len(blocks)
    if hasattr(encoder.config, "num_hidden_groups"):  # ALBERT's: one for each layer, see `models.load`
        encoder.config.num_hidden_groups = len(blocks)


def _probability(p: float) -> float:
    if not 0 <= p <= 1:
        raise BertologyError(f"A probability lies between 0 and 1, got {p}.")
    return p


# ---------------------------------------------------------------- blocks that are replaced


class Replaceable(nn.Module):
    """Some blocks and one that is to replace them: each training pass takes the one or the others, by a draw.

    `probability` is that of the successor; `draws` are what training took, each with the probability of its time. The
    predecessors do not learn, and only the successor runs in evaluation mode.
    """

    def __init__(self, predecessors: Sequence[nn.Module], successor: nn.Module, probability: float = FIRST) -> None:
        super().__init__()
        self.predecessors = nn.ModuleList(predecessors).requires_grad_(False)
        self.successor = successor.requires_grad_(True)
        self.probability = _probability(probability)
        self.draws: list[tuple[float, bool]] = []

    def forward(self, hidden: Tensor, *rest, **settings) -> Tensor:
        """(batch, pieces, width) -> the same; one draw for the whole batch."""
        replaced = not self.training or float(torch.rand(())) < self.probability
        if self.training:
            self.draws.append((self.probability, replaced))
        for block in [self.successor] if replaced else self.predecessors:
            hidden = block(hidden, *rest, **settings)
        return hidden


def replaceable(encoder: nn.Module) -> list[Replaceable]:
    """Makes of each pair of an encoder's blocks one that can be replaced; an odd last block is a pair by itself.

    Successors start as the first half of the blocks, as in the study.
    """
    blocks = list(encoder_layers(encoder))
    pairs = [blocks[first : first + 2] for first in range(0, len(blocks), 2)]
    made = [Replaceable(pair, copy.deepcopy(blocks[place])) for place, pair in enumerate(pairs)]
    put_blocks(encoder, made)
    return made


def alike(network: nn.Module, teacher: nn.Module) -> int:
    """How many blocks of a network hold the very queries of one of the teacher's."""
    own, others = (attention_projections(model, "query") for model in (network, teacher))
    return sum(any(torch.equal(a.weight, b.weight) for b in others) for a in own)


def _theseus(lesson: Lesson) -> Small:
    """Pairs of the tuned teacher's blocks, ever more often replaced by one block each, which is then tuned alone.

    xu2020bert: embeddings, predecessors and head are frozen until all are replaced. Deviation: p rises over the whole
    first tuning, which is as long as the teacher's, and embeddings and head learn in the second.
    """
    network = lesson.copy_of_teacher().requires_grad_(False)
    modules = replaceable(network.encoder)

    def schedule(done: float) -> None:
        for module in modules:
            module.probability = FIRST + (1 - FIRST) * done

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        found = hard_loss(model, batch)  # where no successor was drawn, nothing learns
        return found if found.requires_grad else found + 0 * next(modules[0].successor.parameters()).sum()

    lesson.train(network, loss, each=schedule)
    put_blocks(network.encoder, [module.successor for module in modules])
    lesson.train(network.requires_grad_(True))
    stated, replaced = torch.tensor([draw for module in modules for draw in module.draws]).double().mean(0).tolist()
    return dense(network, predecessors=alike(network, lesson.teacher), replaced=replaced, stated=stated)


def _cut_and_tuned_twice(lesson: Lesson) -> Small:
    """What `_theseus` begins with and trains for as long, without replacing: the first half of the tuned blocks."""
    network = lesson.copy_of_teacher()
    blocks = list(encoder_layers(network.encoder))
    put_blocks(network.encoder, blocks[: (len(blocks) + 1) // 2])
    for _ in range(2):
        lesson.train(network)
    return dense(network)


# ---------------------------------------------------------------- blocks that are dropped


class Skippable(nn.Module):
    """A block that a training pass leaves out with some probability; `draws` are True where it did."""

    def __init__(self, block: nn.Module, probability: float = DROPPED) -> None:
        super().__init__()
        self.block, self.probability = block, _probability(probability)
        self.draws: list[bool] = []

    def forward(self, hidden: Tensor, *rest, **settings) -> Tensor:
        """(batch, pieces, width) -> the same; one draw for the whole batch."""
        if self.training:
            self.draws.append(float(torch.rand(())) < self.probability)
            if self.draws[-1]:
                return hidden
        return self.block(hidden, *rest, **settings)


def neighbours(places: Sequence[int]) -> int:
    """How many of these ascending places follow each other directly."""
    return sum(above - below == 1 for below, above in pairwise(places))


def _layerdrop(lesson: Lesson) -> Small:
    """The tuned teacher, tuned on with layers dropped at random; then every second one is taken out for good.

    fan2019reducing, who prune without any further tuning. Deviation: it meets dropped layers in this tuning alone, and
    so begins as the teacher; the pre-trained model, which never met any, learns too little (0.51 on `voice`).
    """
    network = lesson.copy_of_teacher()
    blocks = list(encoder_layers(network.encoder))
    skippable = [Skippable(block) for block in blocks]
    put_blocks(network.encoder, skippable)
    lesson.train(network, steps=TUNINGS * lesson.steps)
    put_blocks(network.encoder, blocks[::2])
    places = [blocks.index(block) for block in encoder_layers(network.encoder)]
    skipped = sum(sum(one.draws) for one in skippable) / sum(len(one.draws) for one in skippable)
    return dense(network, neighbours=neighbours(places), skipped=skipped, stated=DROPPED, blocks=len(places))


def _every_other(lesson: Lesson) -> Small:
    """What LayerDrop prepares for, done to a teacher that never missed a layer: every second block taken out."""
    network = lesson.copy_of_teacher()
    put_blocks(network.encoder, list(encoder_layers(network.encoder))[::2])
    return dense(network)


# ---------------------------------------------------------------- words that are eliminated

RANKS = 16  # groups of ranks with one retention each
RETENTION_RATE = 0.1  # lets a retention fall from 1 to 0 within a third of the tuning
MASS = (
    0.1  # weight of what is retained against the task's loss; on `voice` 41 % is read at no loss (0.5: 34 %, .003 lost)
)

HIDDEN = -1e4  # attention to what is not to be seen, before the softmax
ASKED = ("labels", "places")  # of a batch, what is no input

Kept = Callable[[int, Tensor, Tensor], Tensor]


def significance(maps: Tensor, alive: Tensor) -> Tensor:
    """What each vector gives to all others, over all heads: the column sums of attention (goyal2020power).

    maps: (batch, heads, pieces, pieces); alive: (batch, pieces), by how much a row counts. The first piece, from which
    a BERT may answer, comes before all others and what is not alive after them: (batch, pieces).
    """
    sums = torch.einsum("bhij,bi->bj", maps, alive).masked_fill(alive <= 0, -1.0)
    return sums.index_fill(1, torch.tensor([0]), math.inf)


class Retention(nn.Module):
    """How much of the vector of each rank a block hands on: `shares` (layers, `RANKS`), learnt, between 0 and 1.

    Deviation from goyal2020power: ranks are relative, since inputs here have lengths of their own.
    """

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.shares = nn.Parameter(torch.ones(layers, RANKS))

    def of(self, layer: int, scores: Tensor, lengths: Tensor) -> Tensor:
        """Retention of each vector by the rank of its score: (batch, pieces), lengths (batch,) -> (batch, pieces)."""
        ranks = scores.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
        kept = self.shares[layer][(ranks * RANKS // lengths[:, None]).clamp_max(RANKS - 1)]
        return kept.masked_fill(ranks == 0, 1.0)

    def mass(self) -> Tensor:
        """Sum over layers of the share that is retained, higher layers counting more, as in the study: a scalar."""
        weights = torch.arange(1, len(self.shares) + 1) / len(self.shares)
        return (weights * self.shares.mean(1)).sum()

    def clip(self) -> None:
        self.shares.data.clamp_(0, 1)

    def found(self) -> list[float]:
        """The share of an input that each layer hands on, never more than the one below it."""
        return self.shares.detach().mean(1).cummin(0).values.tolist()


class Reader(nn.Module):
    """A BERT whose blocks are run in two halves, attention and the rest, with the attention maps in between."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.blocks = list(encoder_layers(body))
        parts = ("attention", "intermediate", "output")
        if not hasattr(body, "embeddings") or not all(hasattr(b, part) for b in self.blocks for part in parts):
            raise NotAskable(f"{type(body).__name__} has no blocks of attention and a part for single words after it.")
        body.set_attn_implementation("eager")  # others give no maps
        self.body, self.config = body, body.config

    def embedded(self, input_ids: Tensor, segments: dict[str, Tensor]) -> Tensor:
        """What the first block is given: (batch, pieces, width)."""
        project = getattr(self.body, "embeddings_project", nn.Identity())  # ELECTRA's, from a narrower table
        return project(self.body.embeddings(input_ids=input_ids, **segments))


class Softened(Reader):
    """All vectors go on, but damped: those that are hardly retained give and get hardly anything.

    kept(layer, scores, lengths) says how much of each vector is retained, (batch, pieces) between 0 and 1. At 0 and 1
    it is `Eliminating`. Deviation from goyal2020power, who scale the vector itself: the norm that follows would undo
    that.
    """

    def __init__(self, body: nn.Module, kept: Kept) -> None:
        super().__init__(body)
        self.kept = kept

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **segments: Tensor) -> BaseModelOutput:
        hidden, real = self.embedded(input_ids, segments), attention_mask.bool()
        alive, lengths = real.to(hidden), real.sum(1)
        for layer, block in enumerate(self.blocks):
            mask = alive.clamp_min(1e-6).log().masked_fill(~real, HIDDEN)
            attended, maps = block.attention(hidden, mask[:, None, None])
            hidden = torch.lerp(hidden, attended, alive[..., None])
            alive = alive * self.kept(layer, significance(maps, alive), lengths)
            hidden = torch.lerp(hidden, block.feed_forward_chunk(hidden), alive[..., None])
        return BaseModelOutput(last_hidden_state=hidden)


class Eliminating(Reader):
    """A BERT that hands on ever fewer vectors: behind each attention, the most significant `shares` of an input.

    What is eliminated is neither updated nor attended to again. Deviation from goyal2020power, so that single words can
    be answered and sentences pooled: the last state of an eliminated vector is the one that it had then.
    """

    def __init__(self, body: nn.Module, shares: Sequence[float]) -> None:
        super().__init__(body)
        falling = all(0 <= below <= above <= 1 for above, below in pairwise([1, *shares]))
        if len(shares) != len(self.blocks) or not falling:
            raise BertologyError(f"Shares fall from at most 1, one for each of {len(self.blocks)} layers: {shares}.")
        self.shares = tuple(shares)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **segments: Tensor) -> BaseModelOutput:
        *_, (last, _) = self.layers(input_ids, attention_mask, **segments)
        return BaseModelOutput(last_hidden_state=last)

    def layers(self, input_ids: Tensor, attention_mask: Tensor, **segments: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """After each layer the states of all, (batch, pieces, width), and which are left: (batch, pieces)."""
        hidden, real = self.embedded(input_ids, segments), attention_mask.bool()
        last, lengths = hidden, real.sum(1)
        places = torch.arange(real.shape[1]).expand(real.shape)  # in the input, of what is in `hidden`
        for share, block in zip(self.shares, self.blocks, strict=True):
            hidden, maps = block.attention(hidden, (~real).to(hidden)[:, None, None] * HIDDEN)
            last = written(last, places, hidden, real)
            chosen, real = most_significant(significance(maps, real.to(hidden)), real, (share * lengths).ceil())
            hidden, places = _rows(hidden, chosen), places.gather(1, chosen)  # shorter from here on
            hidden = block.feed_forward_chunk(hidden)
            last = written(last, places, hidden, real)
            yield last, torch.zeros_like(attention_mask, dtype=torch.bool).scatter(1, places, real)


def most_significant(scores: Tensor, real: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Of each example the `counts` (batch,) highest scores, at least one and at most all that are real.

    scores, real: (batch, pieces) -> their places (batch, most) and which of these are no padding.
    """
    counts = torch.minimum(counts.long().clamp_min(1), real.sum(1))
    most = int(counts.max())
    return scores.argsort(dim=1, descending=True, stable=True)[:, :most], torch.arange(most) < counts[:, None]


def _rows(states: Tensor, places: Tensor) -> Tensor:
    return states.gather(1, places[..., None].expand(-1, -1, states.shape[-1]))


def written(states: Tensor, places: Tensor, hidden: Tensor, real: Tensor) -> Tensor:
    """The states (batch, pieces, width) with those of `hidden` (batch, left, width) at their places, where real."""
    kept = torch.where(real[..., None], hidden, _rows(states, places))
    return states.scatter(1, places[..., None].expand_as(hidden), kept)


@torch.no_grad()
def came_back(reader: Eliminating, batch: Batch) -> int:
    """How many vectors of a batch were handed on, or changed, above a layer that had eliminated them."""
    real = batch["attention_mask"].bool()
    states, left = zip(*reader.layers(**{name: batch[name] for name in batch if name not in ASKED}), strict=True)
    handed_on = sum(int((above & ~below).sum()) for below, above in pairwise(left))
    changed = sum(
        int(((state != states[-1]).any(-1) & real & ~own).sum()) for state, own in zip(states, left, strict=True)
    )
    return handed_on + changed


@torch.no_grad()
def read_share(reader: Eliminating, batch: Batch) -> float:
    """The share of a batch's vectors that the parts behind attention read, mean over layers."""
    left = torch.stack([own for _, own in reader.layers(**{n: batch[n] for n in batch if n not in ASKED})])
    return float(left.sum() / (len(left) * batch["attention_mask"].sum()))


def _power(lesson: Lesson) -> Small:
    """What each layer needs of an input is learnt beside the tuned teacher's weights, which then learn to do with it.

    The configuration search and the re-training of goyal2020power, each as long as the teacher's tuning.
    """
    network = lesson.copy_of_teacher()
    body, retention = network.encoder, Retention(lesson.origin.layers)
    network.encoder = Softened(body, retention.of)
    loss = lambda model, batch: hard_loss(model, batch) + MASS * retention.mass()  # noqa: E731 - one line, used once
    lesson.train(network, loss, also=[retention], also_rate=RETENTION_RATE, each=lambda _: retention.clip())
    network.encoder = Eliminating(body, retention.found())
    lesson.train(network)
    batch = next(lesson.train_set.batches(lesson.budget.pieces))
    return dense(network, returned=came_back(network.encoder, batch), read=read_share(network.encoder, batch))


METHODS = (
    Method("BERT-of-Theseus", "other", _theseus, defines=("predecessors", 0.0)),
    Method("PoWER-BERT", "other", _power, defines=("returned", 0.0), problems=LONG),
    Method("every other block taken out", "baseline", _every_other),
    Method("first half of the tuned blocks, tuned twice", "baseline", _cut_and_tuned_twice),
    Method("LayerDrop", "baseline", _layerdrop, defines=("neighbours", 0.0)),
)
