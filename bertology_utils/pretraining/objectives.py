"""The pre-training objectives of section 6.1 as small pure functions: what is hidden, what is asked. Needs numpy only.

Every function that chooses positions returns a boolean array over the pieces or words of one input, so that the choices
can be exchanged; functions that make examples return plain tuples. Nothing here knows a model.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

import numpy as np

from bertology_utils.errors import BertologyError

MASK_SHARE = 0.15
SPAN_P, LONGEST_SPAN = 0.2, 10  # SpanBERT: lengths follow a geometric distribution, cut at ten words
LONGEST_NGRAM = 3  # ALBERT: a length n is drawn with a probability in proportion to 1 / n
Words = Sequence[str]
Document = Sequence[Words]


def _budget(n: int, share: float) -> int:
    """How many of `n` positions are predicted: at least one, as in devlin2019bert."""
    return max(1, round(share * n))


def token_mask(n: int, rng: np.random.Generator, share: float = MASK_SHARE) -> np.ndarray:
    """Single positions chosen evenly: booleans (n,); devlin2019bert."""
    chosen = np.zeros(n, dtype=bool)
    chosen[rng.permutation(n)[: _budget(n, share)]] = True
    return chosen


def group_mask(groups: Sequence[int | None], rng: np.random.Generator, share: float = MASK_SHARE) -> np.ndarray:
    """Whole groups of neighbouring positions: booleans (positions,).

    `groups` numbers the group of each position; None is never masked. A group that would exceed the budget is passed
    over, as in the whole-word masking of devlin2019bert; the first group is always taken.
    """
    numbers = np.array([-1 if group is None else group for group in groups])
    found, sizes = np.unique(numbers[numbers >= 0], return_counts=True)
    size_of = dict(zip(found.tolist(), sizes.tolist(), strict=True))
    budget, used, taken = _budget(int(sizes.sum()), share), 0, []
    for group in rng.permutation(found).tolist():
        if not taken or used + size_of[group] <= budget:
            taken.append(group)
            used += size_of[group]
        if used >= budget:
            break
    return np.isin(numbers, taken)


def phrase_mask(chunks: Sequence[str], rng: np.random.Generator, share: float = MASK_SHARE) -> np.ndarray:
    """Whole phrases or names, from BIO tags: booleans (words,); phrase and entity masks, zhang2019ernie."""
    groups, current = [], -1
    for tag in chunks:
        current += not tag.startswith("I")
        groups.append(current)
    return group_mask(groups, rng, share)


def span_mask(n: int, rng: np.random.Generator, share: float = MASK_SHARE) -> np.ndarray:
    """Spans of geometric length until the budget is reached: booleans (n,) over words; joshi2020spanbert.

    Lengths above ten are drawn again, which gives the mean of 3.8 words of the study.
    """
    lengths = np.arange(1, LONGEST_SPAN + 1)
    return _runs_mask(n, rng, share, SPAN_P * (1 - SPAN_P) ** (lengths - 1))


def ngram_mask(n: int, rng: np.random.Generator, share: float = MASK_SHARE) -> np.ndarray:
    """Runs of one to three words, the shorter the more often: booleans (n,) over words; lan2019albert."""
    return _runs_mask(n, rng, share, 1 / np.arange(1, LONGEST_NGRAM + 1))


def _runs_mask(n: int, rng: np.random.Generator, share: float, odds: np.ndarray) -> np.ndarray:
    """Runs that neither overlap nor touch, so that each keeps the length drawn for it; `odds` are those of 1, 2, ...

    A run beyond the budget ends the draw; it is taken with the odds that give the share on average, and cut to the
    budget where it would be the only one and is not.
    """
    left, runs, ended = _budget(n, share), [], False
    while left > 0 and not ended:
        length = min(int(rng.choice(len(odds), p=odds / odds.sum())) + 1, n)
        ended = length > left
        if not ended or rng.random() * length < left:
            runs.append(length)
        left -= length
    runs = runs or [left + length]
    slots = np.sort(rng.choice(max(n - sum(runs) + 1, len(runs)), len(runs), replace=False))
    chosen = np.zeros(n, dtype=bool)
    for slot, before, length in zip(slots.tolist(), np.cumsum([0, *runs]).tolist(), runs, strict=False):
        chosen[slot + before : slot + before + length] = True
    return chosen


def frequency_mask(counts: Sequence[float], rng: np.random.Generator, share: float = MASK_SHARE) -> np.ndarray:
    """Rare words more often: positions drawn in proportion to count ** -0.5; lample2019crosslingual.

    `counts` holds the corpus frequency of the word at each position; booleans (words,).
    """
    weights = np.asarray(counts, dtype=float) ** -0.5
    chosen = np.zeros(len(weights), dtype=bool)
    chosen[rng.choice(len(weights), _budget(len(weights), share), replace=False, p=weights / weights.sum())] = True
    return chosen


def span_boundaries(chosen: Sequence[bool]) -> list[tuple[int, int, int]]:
    """(left neighbour, right neighbour, place in the span) of every masked position: what SpanBERT's second loss reads.

    A span at the edge of the sentence has neighbour -1 or n, where the special pieces stand.
    """
    boundaries, position = [], 0
    for masked, run in groupby(chosen):
        length = len(list(run))
        if masked:
            boundaries += [(position - 1, position + length, place) for place in range(length)]
        position += length
    return boundaries


def corrupt(
    ids: Sequence[int],
    chosen: Sequence[bool],
    mask_id: int,
    vocabulary: Sequence[int],
    rng: np.random.Generator,
    shares: tuple[float, float] = (0.8, 0.1),
    groups: Sequence[int] | None = None,
) -> np.ndarray:
    """The ids with chosen positions hidden: 80 % the mask, 10 % any of `vocabulary`, the rest kept; devlin2019bert.

    Another `mask_id` gives the [UNK] variant of clinchant2019use; `groups` (pieces,) numbers spans whose pieces share
    one fate, as in joshi2020spanbert.
    """
    ids, chosen = np.array(ids), np.asarray(chosen)
    fate = rng.random(len(ids))
    fate = fate if groups is None else fate[np.asarray(groups)]
    ids[chosen & (fate < shares[0])] = mask_id
    replaced = chosen & (fate >= shares[0]) & (fate < sum(shares))
    ids[replaced] = rng.choice(np.asarray(vocabulary), int(replaced.sum()))
    return ids


def shuffle_ngram(words: Words, rng: np.random.Generator, n: int = 3) -> tuple[list[str], int]:
    """One n-gram put into another order, to be restored (wang2019structbert): the words and where it starts."""
    if len(words) < n:
        raise BertologyError(f"A sentence of {len(words)} words has no {n}-gram to shuffle.")
    start = int(rng.integers(0, len(words) - n + 1))
    gram = list(words[start : start + n])
    orders = [order for order in (rng.permutation(n) for _ in range(20)) if [gram[i] for i in order] != gram]
    shuffled = [gram[i] for i in orders[0]] if orders else gram
    return [*words[:start], *shuffled, *words[start + n :]], start


def permutation_attention(order: Sequence[int]) -> np.ndarray:
    """Who may see whom when words are predicted in `order`: booleans (n, n), row i sees column j; yang2019xlnet.

    Position i sees the positions that come before it in the order, wherever they stand in the sentence.
    """
    rank = np.argsort(order)
    return rank[:, None] > rank[None, :]


# ---------------------------------------------------------------- pairs of sentences

# What the second segment is to the first, and in this order the classes to tell apart.
PAIR_TASKS = {
    "next-sentence": ("next", "random"),  # devlin2019bert
    "sentence-order": ("next", "previous"),  # lan2019albert
    "next-previous": ("random", "next", "previous"),  # wang2019structbert
    "sentence-distance": ("next", "distant", "random"),  # sun2019ernie; distant: elsewhere in the same document
}


def draw_relation(task: str, rng: np.random.Generator) -> str:
    """The relation of a pair to be made for `task`: each of its classes equally often."""
    relations = PAIR_TASKS[task]
    return relations[int(rng.integers(len(relations)))]


def _neighbours(documents: Iterable[Document]) -> list[tuple[int, Words, Words]]:
    return [(d, first, second) for d, sentences in enumerate(documents) for first, second in pairwise(sentences)]


def next_sentence_pairs(
    documents: Sequence[Document], rng: np.random.Generator, true_share: float = 0.5
) -> list[tuple[Words, Words, int]]:
    """(first, second, label): the true next sentence (1), or one from another document (0); devlin2019bert."""
    if len(documents) < 2:
        raise BertologyError("Random next sentences need at least two documents.")
    pairs = []
    for document, first, second in _neighbours(documents):
        label = int(rng.random() < true_share)
        if not label:
            other = documents[(document + int(rng.integers(1, len(documents)))) % len(documents)]
            second = other[int(rng.integers(len(other)))]
        pairs.append((first, second, label))
    return pairs


def sentence_order_pairs(documents: Sequence[Document], rng: np.random.Generator) -> list[tuple[Words, Words, int]]:
    """(first, second, label): neighbours in their order (1) or swapped (0), half of each; lan2019albert."""
    pairs = []
    for _, first, second in _neighbours(documents):
        label = int(rng.random() < 0.5)
        pairs.append((first, second, 1) if label else (second, first, 0))
    return pairs
