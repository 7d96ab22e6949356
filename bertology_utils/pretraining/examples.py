"""From a tokenized corpus to masked batches: the two tasks of Devlin et al. (2019). Depends on `corpus` and torch.

Sentence pairs are drawn afresh at every step and masked dynamically, so no example is seen twice in the same form.
"""

from dataclasses import dataclass

import numpy as np
import torch

from .corpus import Corpus

IGNORED = -100
SHORTEST_INPUT = 8  # pieces: three special ones and room for two segments


@dataclass(frozen=True)
class SpecialIds:
    """Ids of the special pieces, and the size of the vocabulary, that masking needs."""

    pad: int
    cls: int
    sep: int
    mask: int
    vocabulary_size: int


@dataclass(frozen=True)
class Example:
    """One packed input: `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`; `is_random` is None for a single segment."""

    a: np.ndarray
    b: np.ndarray | None
    is_random: bool | None


class PairSampler:
    """Draws sentence pairs for next sentence prediction from a mixture of corpora.

    Args:
        corpora: the corpora with their sampling weights.
        length: total length in pieces, the special ones included.
        single_share: share of inputs with one segment only. BERT has none; a small model meets single sentences
            in every later experiment, so it should have seen some.
    """

    def __init__(self, corpora: list[tuple[Corpus, float]], length: int, single_share: float, rng: np.random.Generator):
        self.corpora = [corpus for corpus, _ in corpora]
        weights = np.array([weight for _, weight in corpora], dtype=float)
        self.weights = weights / weights.sum()
        self.length, self.single_share, self.rng = length, single_share, rng

    def draw(self) -> Example:
        corpus = self.corpora[self.rng.choice(len(self.corpora), p=self.weights)]
        sentence, end = self._position(corpus)
        if self.rng.random() < self.single_share:
            return Example(self._fill(corpus, sentence, end, self.length - 2)[0], None, None)
        room = self.length - 3
        a, after = self._fill(corpus, sentence, end, int(self.rng.integers(room // 4, room // 4 * 3)))
        is_random = after >= end or self.rng.random() < 0.5
        if is_random:
            follower = after if after < end else None
            after, end = self._position(corpus)
            while after == follower:  # the draw may hit the very sentence that follows
                after, end = self._position(corpus)
        b, _ = self._fill(corpus, after, end, room - len(a))
        return Example(a, b, is_random)

    def _position(self, corpus: Corpus) -> tuple[int, int]:
        """A sentence drawn uniformly over the part's sentences, and the end of its document."""
        first, last = int(corpus.documents[0]), int(corpus.documents[-1])
        sentence = int(self.rng.integers(first, last))
        document = int(np.searchsorted(corpus.documents, sentence, side="right"))
        return sentence, int(corpus.documents[document])

    def _fill(self, corpus: Corpus, sentence: int, end: int, room: int) -> tuple[np.ndarray, int]:
        """Whole sentences from `sentence` on while there is room (the first one is cut); and the next sentence."""
        pieces = [corpus.sentence(sentence)[:room]]
        used, following = len(pieces[0]), sentence + 1
        while following < end and used + len(corpus.sentence(following)) <= room:
            pieces.append(corpus.sentence(following))
            used += len(pieces[-1])
            following += 1
        return np.concatenate(pieces), following


def mask_tokens(
    input_ids: torch.Tensor, special: SpecialIds, rng: torch.Generator, share: float = 0.15
) -> tuple[torch.Tensor, torch.Tensor]:
    """Masks 15 % of the pieces: 80 % become [MASK], 10 % a random piece, 10 % stay (Devlin et al. 2019).

    Args:
        input_ids: `(batch, pieces)`.

    Returns:
        The corrupted ids and the labels, both `(batch, pieces)`; labels are -100 where nothing is predicted.
    """
    maskable = (input_ids != special.pad) & (input_ids != special.cls) & (input_ids != special.sep)
    chosen = (torch.rand(input_ids.shape, generator=rng) < share) & maskable
    fate = torch.rand(input_ids.shape, generator=rng)
    random_ids = torch.randint(5, special.vocabulary_size, input_ids.shape, generator=rng)
    corrupted = torch.where(chosen & (fate < 0.8), special.mask, input_ids)
    corrupted = torch.where(chosen & (fate >= 0.9), random_ids, corrupted)
    return corrupted, torch.where(chosen, input_ids, IGNORED)


def collate(examples: list[Example], special: SpecialIds) -> dict[str, torch.Tensor]:
    """Pads a list of examples to tensors `(batch, pieces)`; `next_sentence_label` is 1 for a random second segment."""
    rows, segments = [], []
    for example in examples:
        first = [special.cls, *example.a.tolist(), special.sep]
        second = [] if example.b is None else [*example.b.tolist(), special.sep]
        rows.append(first + second)
        segments.append([0] * len(first) + [1] * len(second))
    width = max(map(len, rows))
    batch = {
        "input_ids": torch.tensor([row + [special.pad] * (width - len(row)) for row in rows]),
        "token_type_ids": torch.tensor([s + [0] * (width - len(s)) for s in segments]),
        "next_sentence_label": torch.tensor([IGNORED if e.is_random is None else int(e.is_random) for e in examples]),
    }
    batch["attention_mask"] = (batch["input_ids"] != special.pad).long()
    return batch
