"""The objectives: what each hides in an input, which head it needs, and its loss. Depends on `objectives` and torch.

An objective knows three things: `mark` hides pieces of one input or notes what is asked there, `collate` adds what its
loss reads to the batch, `loss` scores it. The engine sums the losses with their weights. Places and labels are settled
in `collate`, before the batch reaches a GPU, which then never waits for the processor.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig

from bertology_utils.pretraining import objectives

from .config import Masking
from .corpus import BEGINS_PHRASE, IN_CAPITALS
from .examples import IGNORED, Row, SpecialIds, pad
from .passes import Batch, Pass

MOST_PLACES = 20  # places in a span that span-boundary prediction tells apart, in pieces
UNSEEN = torch.finfo(torch.bfloat16).min  # added to the score of what attention must not see
SHUFFLED_SHARE = 0.05  # of the pieces, in trigrams (wang2019structbert)
PREDICTED_PART = 6  # one in six pieces is predicted in a permutation (yang2019xlnet)


class Vocabulary(NamedTuple):
    """What objectives know of the pieces: special ids, which continue a word `(pieces,)`, and how often each occurs."""

    special: SpecialIds
    continues: np.ndarray
    counts: np.ndarray | None = None

    @property
    def plain(self) -> np.ndarray:
        """The ids that may stand in for a piece: all but the special ones."""
        special = self.special
        return np.setdiff1d(
            np.arange(special.vocabulary_size), [special.pad, special.unk, special.cls, special.sep, special.mask]
        )


class Objective:
    """One loss.

    asks: the names of its places and labels in the batch, where it notes what it asks of single pieces.
    """

    asks: tuple[str, str] | None = None

    def __init__(self, name: str):
        self.name = name

    def head(self, config: PreTrainedConfig) -> nn.Module | None:
        """What it needs beside the body and its prediction head."""
        return None

    def mark(self, row: Row, rng: np.random.Generator) -> None:
        """Hides pieces of a row, or notes what is asked."""

    def collate(self, rows: Sequence[Row], width: int) -> Batch:
        """What `loss` reads, for rows padded to `width` pieces."""
        return dict(zip(self.asks, asked_pieces(rows, self.name, width), strict=True)) if self.asks else {}

    def loss(self, seen: Pass) -> Tensor:
        """Mean loss in nats over what was asked, ()."""
        raise NotImplementedError


def cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """Mean over the rows; 0 for the mean over nothing, which is no number and would spoil all weights."""
    return nn.functional.cross_entropy(scores.float(), labels) if len(labels) else scores.float().sum()


def asked_pieces(rows: Sequence[Row], name: str, width: int) -> tuple[Tensor, Tensor]:
    """Places in the flattened batch, and ids, of all that `name` asks: two tensors `(asked,)`."""
    asked = pad([row.noted[name] for row in rows], IGNORED)
    asked = nn.functional.pad(asked, (0, width - asked.shape[1]), value=IGNORED).flatten()
    places = (asked != IGNORED).nonzero().flatten()
    return places, asked[places]


class MaskedTokens(Objective):
    """Masked language modelling; `masking` says what is hidden and how."""

    asks = "masked", "labels"

    def __init__(self, name: str, masking: Masking, vocabulary: Vocabulary):
        super().__init__(name)
        self.masking, self.vocabulary, self.plain = masking, vocabulary, vocabulary.plain
        special = vocabulary.special
        self.symbol = special.mask if masking.symbol == "[MASK]" else special.unk

    def mark(self, row: Row, rng: np.random.Generator) -> None:
        chosen = self.choose(row, rng)
        shares = self.masking.hidden, self.masking.replaced
        spans = np.cumsum(np.diff(chosen, prepend=False) & chosen) if self.masking.unit == "span" else None
        row.noted[self.name] = np.where(chosen, row.ids, IGNORED)
        row.ids = objectives.corrupt(row.ids, chosen, self.symbol, self.plain, rng, shares, spans)

    def choose(self, row: Row, rng: np.random.Generator) -> np.ndarray:
        """The pieces to be predicted: booleans `(pieces,)`, never a special one."""
        unit, share, places = self.masking.unit, self.masking.share, np.flatnonzero(~row.is_special)
        ids = row.ids[places]
        if self.masking.subsample:
            found = objectives.frequency_mask(self.vocabulary.counts[ids], rng, share)
        elif unit == "piece":
            found = objectives.token_mask(len(ids), rng, share)
        else:
            begins = row.flags[places] & BEGINS_PHRASE > 0 if unit == "phrase" else ~self.vocabulary.continues[ids]
            begins[0] = True
            units = np.cumsum(begins) - 1
            if unit in ("word", "phrase"):
                found = objectives.group_mask(units, rng, share)
            else:
                choose = objectives.span_mask if unit == "span" else objectives.ngram_mask
                found = choose(int(units[-1]) + 1, rng, share)[units]
        chosen = np.zeros(len(row), dtype=bool)
        chosen[places] = found
        return chosen

    def loss(self, seen: Pass) -> Tensor:
        return cross_entropy(seen.scores, seen.batch["labels"])


class ZLoss(Objective):
    """The squared logarithm of the softmax's denominator, which keeps scores from drifting (Chowdhery et al., 2022)."""

    def loss(self, seen: Pass) -> Tensor:
        return seen.scores.float().logsumexp(-1).square().mean() if len(seen.scores) else seen.scores.sum()


class SpanBoundary(Objective):
    """Every masked piece from the two pieces around its span and its place in it; joshi2020spanbert."""

    def head(self, config: PreTrainedConfig) -> nn.Module:
        return _SpanHead(config)

    def collate(self, rows: Sequence[Row], width: int) -> Batch:
        found = []
        for number, row in enumerate(rows):
            chosen = row.noted["masked-tokens"] != IGNORED
            found += [(number * width + a, number * width + b, c) for a, b, c in objectives.span_boundaries(chosen)]
        left, right, place = torch.tensor(found, dtype=torch.long).reshape(-1, 3).unbind(1)
        return {"span_left": left, "span_right": right, "span_place": place.clamp(max=MOST_PLACES - 1)}

    def loss(self, seen: Pass) -> Tensor:
        left, right = seen.at("span_left"), seen.at("span_right")
        predicted = seen.network.heads[self.name](left, right, seen.batch["span_place"])
        return cross_entropy(seen.network.prediction_head.decoder(predicted), seen.batch["labels"])


class _SpanHead(nn.Module):
    """Two layers on both boundaries and an embedding of the place, up to the width of the word embeddings."""

    def __init__(self, config: PreTrainedConfig):
        super().__init__()
        width, out = config.hidden_size, getattr(config, "embedding_size", config.hidden_size)
        self.places = nn.Embedding(MOST_PLACES, width)
        first, second = nn.Linear(3 * width, width), nn.Linear(width, out)
        self.layers = nn.Sequential(first, nn.GELU(), nn.LayerNorm(width), second, nn.GELU(), nn.LayerNorm(out))
        for module in (self.places, first, second):
            nn.init.normal_(module.weight, std=config.initializer_range)

    def forward(self, left: Tensor, right: Tensor, place: Tensor) -> Tensor:
        return self.layers(torch.cat([left, right, self.places(place)], dim=-1))


class Pairs(Objective):
    """What the second segment is to the first, from the [CLS] vector; the classes are those of `PAIR_TASKS`."""

    def head(self, config: PreTrainedConfig) -> nn.Module:
        return _linear(config, len(objectives.PAIR_TASKS[self.name]))

    def collate(self, rows: Sequence[Row], width: int) -> Batch:
        of_task = [(i, row.relation[1]) for i, row in enumerate(rows) if row.relation and row.relation[0] == self.name]
        places, labels = torch.tensor(of_task, dtype=torch.long).reshape(-1, 2).unbind(1)
        return {f"{self.name}-rows": places, f"{self.name}-labels": labels}

    def loss(self, seen: Pass) -> Tensor:
        pooled = seen.pooled[seen.batch[f"{self.name}-rows"]]
        return cross_entropy(seen.network.pair_head(self.name)(pooled), seen.batch[f"{self.name}-labels"])


class NgramOrder(Objective):
    """Trigrams put into another order, each place to be filled with what stood there; wang2019structbert."""

    asks = "shuffled", "shuffled_labels"

    def mark(self, row: Row, rng: np.random.Generator) -> None:
        asked = row.noted[self.name] = np.full(len(row), IGNORED)
        free = ~row.is_special
        if "masked-tokens" in row.noted:
            free &= row.noted["masked-tokens"] == IGNORED
        row.ids = row.ids.copy()
        for _ in range(max(1, round(SHUFFLED_SHARE * free.sum() / 3))):
            starts = np.flatnonzero(free[:-2] & free[1:-1] & free[2:])
            if not len(starts):
                return
            start = int(rng.choice(starts))
            gram = slice(start, start + 3)
            asked[gram] = row.ids[gram]
            row.ids[gram] = objectives.shuffle_ngram(row.ids[gram].tolist(), rng)[0]
            free[gram] = False

    def loss(self, seen: Pass) -> Tensor:
        return cross_entropy(seen.network.prediction_head(seen.at("shuffled")), seen.batch["shuffled_labels"])


class Capitals(Objective):
    """Was the word written with a capital? Asked at the first piece of every word; sun2019ernie."""

    asks = "words", "capital"

    def __init__(self, name: str, vocabulary: Vocabulary):
        super().__init__(name)
        self.continues = vocabulary.continues

    def head(self, config: PreTrainedConfig) -> nn.Module:
        return _linear(config, 2)

    def mark(self, row: Row, rng: np.random.Generator) -> None:
        begins = ~row.is_special & ~self.continues[row.original]
        row.noted[self.name] = np.where(begins, row.flags & IN_CAPITALS > 0, IGNORED)

    def loss(self, seen: Pass) -> Tensor:
        return cross_entropy(seen.network.heads[self.name](seen.at("words")), seen.batch["capital"])


class Permutation(Objective):
    """Pieces predicted in a random order from those before them in it; yang2019xlnet.

    Both streams of two-stream attention go through one plain BERT: behind the pieces stand as many [MASK]s as are
    predicted, with the positions of those pieces. A piece sees itself and what is before it in the order, a [MASK] what
    is before its piece; nothing sees a [MASK]. As in XLNet the last sixth of the order is predicted, and what comes
    before it, with the special pieces, sees itself whole.
    """

    def __init__(self, name: str, vocabulary: Vocabulary):
        super().__init__(name)
        self.special = vocabulary.special

    def mark(self, row: Row, rng: np.random.Generator) -> None:
        order = np.concatenate([np.flatnonzero(row.is_special), rng.permutation(np.flatnonzero(~row.is_special))])
        row.noted[self.name] = order

    def collate(self, rows: Sequence[Row], width: int) -> Batch:
        made = [self._streams(row) for row in rows]
        longest = max(len(ids) for ids, *_ in made)
        sees = torch.zeros(len(rows), 1, longest, longest, dtype=torch.bool)
        places, labels = [], []
        for number, (row, (ids, _, _, seen)) in enumerate(zip(rows, made, strict=True)):
            sees[number, 0, : len(ids), : len(ids)] = torch.from_numpy(seen)
            places.append(torch.arange(len(row), len(ids)) + number * longest)
            labels.append(torch.from_numpy(row.original[self._parts(row)[1]]))
        diagonal = torch.arange(longest)
        sees[:, 0, diagonal, diagonal] |= ~sees.any(-1)[:, 0]  # padding: a softmax over nothing is no number
        bias = torch.zeros(sees.shape).masked_fill(~sees, UNSEEN)  # every attention kernel adds it to the scores
        padded = zip(("ids", "positions", "segments"), (self.special.pad, 0, 0), strict=True)
        inputs = {f"order_{key}": pad([m[i] for m in made], value) for i, (key, value) in enumerate(padded)}
        return inputs | {"order_bias": bias, "order_places": torch.cat(places), "order_labels": torch.cat(labels)}

    def _parts(self, row: Row) -> tuple[np.ndarray, np.ndarray]:
        """The pieces that are only read, and those that are predicted, in their order."""
        order = row.noted[self.name]
        cut = len(order) - max(1, int((~row.is_special).sum()) // PREDICTED_PART)
        return order[:cut], order[cut:]

    def _streams(self, row: Row) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Ids, positions and segments of pieces and queries, `(both,)`, and who sees whom, `(both, both)`."""
        context, predicted = self._parts(row)
        before = objectives.permutation_attention(row.noted[self.name])
        sees = np.zeros((len(row) + len(predicted),) * 2, dtype=bool)
        sees[: len(row), : len(row)] = before | np.eye(len(row), dtype=bool)
        sees[np.ix_(context, context)] = True
        sees[len(row) :, : len(row)] = before[predicted]
        ids = np.concatenate([row.original, np.full(len(predicted), self.special.mask)])
        return (
            ids,
            np.concatenate([row.positions, row.positions[predicted]]),
            np.concatenate([row.segments, row.segments[predicted]]),
            sees,
        )

    def loss(self, seen: Pass) -> Tensor:
        batch, network = seen.batch, seen.network
        states = network.model.base_model(
            input_ids=batch["order_ids"],
            position_ids=batch["order_positions"],
            token_type_ids=batch["order_segments"],
            attention_mask=batch["order_bias"],
        ).last_hidden_state
        return cross_entropy(
            network.prediction_head(states.flatten(0, 1)[batch["order_places"]]), batch["order_labels"]
        )


class ReplacedTokens(Objective):
    """Which pieces did the generator put there? Asked of every piece; clark2020electra."""

    def mark(self, row: Row, rng: np.random.Generator) -> None:
        row.noted[self.name] = np.array([rng.integers(2**31)])

    def collate(self, rows: Sequence[Row], width: int) -> Batch:
        return {"noise": torch.tensor(int(sum(row.noted[self.name][0] for row in rows)))}

    def loss(self, seen: Pass) -> Tensor:
        filled, is_false = self.fill(seen)
        logits = seen.network.discriminate(filled, seen.batch)
        real = seen.batch["attention_mask"].float()
        losses = nn.functional.binary_cross_entropy_with_logits(logits.float(), is_false.float(), reduction="none")
        return (losses * real).sum() / real.sum()

    @torch.no_grad()
    def fill(self, seen: Pass) -> tuple[Tensor, Tensor]:
        """Samples the generator at the masks: ids, and whether each is false, `(batch, pieces)`.

        A proposal that happens to be right counts as original (the rule of ELECTRA).
        """
        batch, odds = seen.batch, seen.scores.detach().float().softmax(-1)
        generator = torch.Generator(device=odds.device).manual_seed(int(batch["noise"]))
        proposed = torch.multinomial(odds, 1, generator=generator).flatten() if len(odds) else batch["labels"]
        filled = batch["input_ids"].flatten().clone()
        is_false = torch.zeros_like(filled, dtype=torch.bool)
        filled[batch["masked"]] = proposed
        is_false[batch["masked"]] = proposed != batch["labels"]
        return filled.view_as(batch["input_ids"]), is_false.view_as(batch["input_ids"])


def _linear(config: PreTrainedConfig, classes: int) -> nn.Linear:
    head = nn.Linear(config.hidden_size, classes)
    nn.init.normal_(head.weight, std=config.initializer_range)
    nn.init.zeros_(head.bias)
    return head


def make_objectives(names: Sequence[str], masking: Masking, vocabulary: Vocabulary) -> dict[str, Objective]:
    """The objectives of these names, in the order in which they mark an input."""
    makers: dict[str, Any] = {
        "masked-tokens": lambda name: MaskedTokens(name, masking, vocabulary),
        "z-loss": ZLoss,
        "span-boundary": SpanBoundary,
        "replaced-tokens": ReplacedTokens,
        "permutation": lambda name: Permutation(name, vocabulary),
        "ngram-order": NgramOrder,
        "capitals": lambda name: Capitals(name, vocabulary),
        **dict.fromkeys(objectives.PAIR_TASKS, Pairs),
    }
    return {name: make(name) for name, make in makers.items() if name in names}
