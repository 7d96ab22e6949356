"""Words and pieces: encoding, batching, pooling. Depends on torch alone; a specimen lends its tokenizer.

Sentences are sequences of words. A word may fall into several pieces; `word_ids` says which word each piece belongs to
(None for special pieces), so nothing here slices off first and last positions.
"""

import operator
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
import torch

from bertology_utils.anatomy import segment_types
from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.models import Specimen

Words = Sequence[str]
BUDGET = 1024  # pieces of a batch that is only read: its activations stay in the processor's cache


@dataclass(frozen=True)
class Encoding:
    """One tokenized input. Words of the second segment continue the count of the first."""

    input_ids: list[int]
    word_ids: list[int | None]
    segment_ids: list[int]

    def __len__(self) -> int:
        return len(self.input_ids)


def encode_words(
    specimen: "Specimen", sentences: Sequence[Words], pairs: Sequence[Words] | None = None
) -> list[Encoding]:
    """Tokenizes sentences given as words, keeping track of which piece belongs to which word.

    Args:
        pairs: second segments, one for each sentence.

    Raises BertologyError: an input longer than the model takes, an empty sentence, one text in place of words, or
    another number of second segments.
    """
    require_words(sentences)
    if pairs is not None:
        require_words(pairs)
        if len(pairs) != len(sentences):
            raise BertologyError(f"There are {len(sentences)} sentences and {len(pairs)} second segments.")
    encoded = _tokenized(specimen, sentences, pairs)
    encodings = [_encoding(specimen, encoded, i, len(s)) for i, s in enumerate(sentences)]
    for i, encoding in enumerate(encodings):
        first, second = list(sentences[i]), list(pairs[i]) if pairs is not None else []
        if len(set(encoding.word_ids) - {None}) < len(first) + len(second):
            # Words of invisible characters only leave no piece; they count as unknown ones, so that no word is lost.
            lost = set(range(len(first) + len(second))) - set(encoding.word_ids)
            if specimen.tokenizer.unk_token is None:
                raise NotAskable(f"{specimen.name} has no piece for the word {(first + second)[min(lost)]!r}.")
            words = [specimen.tokenizer.unk_token if w in lost else word for w, word in enumerate(first + second)]
            again = _tokenized(specimen, [words[: len(first)]], [words[len(first) :]] if second else None)
            encodings[i] = _encoding(specimen, again, 0, len(first))
    return encodings


def of_segments(encodings: Sequence[Encoding], kinds: np.ndarray) -> list[Encoding]:
    """The inputs, all pieces of each being of the kind of segment that `kinds` (inputs,) says."""
    pairs = zip(encodings, kinds.tolist(), strict=True)
    return [replace(encoding, segment_ids=[kind] * len(encoding)) for encoding, kind in pairs]


def require_words(sentences: Sequence[Words]) -> None:
    """Raises `BertologyError` where a text stands in the place of words, which Python would read letter by letter, or
    what has no order or can be read only once, such as a generator."""
    if isinstance(sentences, Iterator | Set):
        raise BertologyError(f"Sentences are given as a list, not as a {type(sentences).__name__}.")
    for text in [sentences] if isinstance(sentences, str) else sentences:
        if isinstance(text, str | Iterator | Set) or not all(isinstance(word, str) for word in text):
            raise BertologyError(f"A sentence is given as a list of its words, not as {text!r:.60}.")


def require_place(sentence: Words, place: int) -> None:
    """Raises `BertologyError` where a sentence has no word at a place; Python would count backwards from the end."""
    try:
        inside = 0 <= operator.index(place) < len(sentence)
    except TypeError:
        raise BertologyError(f"The place of a word is a whole number, not {place!r:.60}.") from None
    if not inside:
        raise BertologyError(f"There is no word {place} in a sentence of {len(sentence)} words, counted from 0.")


def _tokenized(specimen: "Specimen", sentences: Sequence[Words], pairs: Sequence[Words] | None):
    return specimen.tokenizer(
        [list(s) for s in sentences],
        [list(s) for s in pairs] if pairs is not None else None,
        is_split_into_words=True,
        return_token_type_ids=True,
        verbose=False,
    )


def _encoding(specimen: "Specimen", encoded, index: int, first_words: int) -> Encoding:
    ids, word_ids = encoded["input_ids"][index], encoded.word_ids(index)
    if first_words == 0:
        raise BertologyError("A sentence without words cannot be encoded.")
    if len(ids) > specimen.max_pieces:
        raise NotAskable(f"An input of {len(ids)} pieces is too long: {specimen.name} takes {specimen.max_pieces}.")
    sequence_ids = encoded.sequence_ids(index)
    words = [w if w is None or s == 0 else w + first_words for w, s in zip(word_ids, sequence_ids, strict=True)]
    return Encoding(ids, words, encoded["token_type_ids"][index])


def token_budget_batches(
    lengths: Sequence[int], budget: int = BUDGET, most: int | None = None, equal: bool = False
) -> list[list[int]]:
    """Indices in batches of similar length whose padded size stays within `budget` pieces (at least one a batch).

    Args:
        most: inputs of a batch.
        equal: only inputs of one length together.
    """
    batches: list[list[int]] = []
    for index in np.argsort(lengths, kind="stable").tolist():
        count = len(batches[-1]) + 1 if batches else 0
        same = not equal or (count > 0 and lengths[batches[-1][0]] == lengths[index])
        if 0 < count <= (most or budget) and count * lengths[index] <= budget and same:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def batches(
    specimen: "Specimen", lengths: Sequence[int], budget: int = BUDGET, most: int | None = None
) -> list[list[int]]:
    """`token_budget_batches`, without padding for a model that would mix it into its results."""
    return token_budget_batches(lengths, budget, most, specimen.anatomy.mixes_padding)


def collate(encodings: Sequence[Encoding], pad_id: int) -> dict[str, torch.Tensor]:
    """Pads encodings to tensors `(batch, pieces)`: input_ids, attention_mask, token_type_ids."""
    width = max(map(len, encodings))

    def padded(rows: Iterable[Sequence[int]], fill: int = 0) -> torch.Tensor:
        return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows])

    return {
        "input_ids": padded((e.input_ids for e in encodings), pad_id),
        "attention_mask": padded([1] * len(e) for e in encodings),
        "token_type_ids": padded(e.segment_ids for e in encodings),
    }


def model_inputs(specimen: "Specimen", encodings: Sequence[Encoding]) -> dict[str, torch.Tensor]:
    """`collate`, without segment ids for architectures that take none (DistilBERT), all 0 where there is one type."""
    batch = collate(encodings, specimen.tokenizer.pad_token_id)
    types = segment_types(specimen.encoder)
    if types == 0:
        del batch["token_type_ids"]
    elif types == 1:
        batch["token_type_ids"].zero_()
    return batch


def word_matrix(encodings: Sequence[Encoding], pieces: int) -> torch.Tensor:
    """Averaging matrix `(batch, words, pieces)`: row w holds 1/k at the k pieces of word w, zero elsewhere."""
    words = max(1 + max(w for w in e.word_ids if w is not None) for e in encodings)
    matrix = torch.zeros(len(encodings), words, pieces)
    for row, encoding in enumerate(encodings):
        positions = [(w, p) for p, w in enumerate(encoding.word_ids) if w is not None]
        index = torch.tensor(positions)
        matrix[row, index[:, 0], index[:, 1]] = 1.0
    return matrix / matrix.sum(-1, keepdim=True).clamp(min=1)


def pool_pieces(hidden: torch.Tensor, word_ids: Sequence[int | None], how: str = "mean") -> torch.Tensor:
    """Word vectors `(..., words, width)` from piece vectors `(..., pieces, width)`; how: mean | first | last."""
    if how not in ("mean", "first", "last"):
        raise ValueError(f"how must be mean, first or last, not {how}")
    pieces: list[list[int]] = [[] for _ in range(1 + max(w for w in word_ids if w is not None))]
    for piece, word in enumerate(word_ids):
        if word is not None:
            pieces[word].append(piece)
    pooled = hidden[..., [p[-1 if how == "last" else 0] for p in pieces], :]
    if how == "mean":
        for word, p in enumerate(pieces):
            if len(p) > 1:
                pooled[..., word, :] = hidden[..., p, :].mean(-2)
    return pooled
