"""Dependency trees as arrays: distances, depths, spanning trees, attachment scores, baselines. Needs numpy and scipy.

A tree is a sequence of heads: ``heads[i]`` is the 0-based index of the head of word ``i``, and -1 marks the root.
Nothing here knows a model: predicted distances and attention maps come in as plain arrays. A ``keep`` mask names the
words that are scored (punctuation is left out of attachment scores by the usage of hewitt2019structural).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import rankdata

from bertology_utils.errors import BertologyError

Heads = Sequence[int]


def ancestors(heads: Heads) -> np.ndarray:
    """Which words lie on the path to the root: boolean ``(words, ancestors)``, every word being its own ancestor.

    Raises BertologyError if the heads are no tree (no root, several roots, a cycle, an index out of range).
    """
    parents = np.asarray(heads, dtype=int)
    count = len(parents)
    roots = np.flatnonzero(parents == -1)
    if len(roots) != 1:
        raise BertologyError(f"A tree needs exactly one root (head -1); these heads have {len(roots)}.")
    if parents.min() < -1 or parents.max() >= count:
        raise BertologyError(f"A head lies outside the sentence of {count} words.")
    reach = np.eye(count, dtype=bool)
    reach[np.arange(count), np.where(parents < 0, np.arange(count), parents)] = True
    for _ in range(max(count - 1, 1).bit_length()):  # each squaring doubles the length of the paths seen
        reach = (reach.astype(np.float32) @ reach) > 0
    if not reach[:, roots[0]].all():
        raise BertologyError("The heads contain a cycle: some words never reach the root.")
    return reach


def tree_depths(heads: Heads) -> np.ndarray:
    """Number of edges between each word and the root: integers ``(words,)``."""
    return ancestors(heads).sum(1) - 1


def tree_distances(heads: Heads) -> np.ndarray:
    """Number of edges on the path between each two words: integers ``(words, words)``.

    The lowest common ancestor needs no walk: two words share as many ancestors as its depth plus one.
    """
    reach = ancestors(heads).astype(int)
    depths = reach.sum(1) - 1
    return depths[:, None] + depths[None, :] - 2 * (reach @ reach.T - 1)


def tree_edges(heads: Heads, keep: Sequence[bool] | None = None) -> set[tuple[int, int]]:
    """Undirected edges ``(lower, higher)`` of a tree; with ``keep``, those between two kept words."""
    kept = _kept(keep, len(heads))
    return {
        (min(word, head), max(word, head)) for word, head in enumerate(heads) if head >= 0 and kept[word] and kept[head]
    }


def minimum_spanning_parents(distances: np.ndarray) -> np.ndarray:
    """Minimum spanning trees of many complete graphs at once, by Prim's algorithm from word 0.

    ``distances`` is symmetric, ``(..., words, words)``; the leading axes may be layers, heads, seeds. Returns parents
    ``(..., words)`` with -1 at word 0. Unlike scipy's sparse routine, a distance of 0 is an edge, and all leading axes
    share one loop over words.
    """
    distances = np.asarray(distances, dtype=float)
    words = distances.shape[-1]
    flat = distances.reshape(-1, words, words)
    rows = np.arange(len(flat))
    parents = np.full((len(flat), words), -1)
    nearest = flat[:, 0].copy()  # distance of each word to the tree so far
    through = np.zeros((len(flat), words), dtype=int)  # the word of the tree which is that near
    nearest[:, 0] = np.inf
    inside = np.zeros((len(flat), words), dtype=bool)
    inside[:, 0] = True
    for _ in range(words - 1):
        new = nearest.argmin(1)
        parents[rows, new] = through[rows, new]
        inside[rows, new] = True
        nearer = flat[rows, new] < nearest
        through = np.where(nearer, new[:, None], through)
        nearest = np.where(inside, np.inf, np.minimum(nearest, flat[rows, new]))
    return parents.reshape(distances.shape[:-1])


def uuas(distances: np.ndarray, heads: Heads, keep: Sequence[bool] | None = None) -> np.ndarray:
    """Undirected unlabelled attachment score of one sentence, hewitt2019structural: shape ``(...)``, NaN without edges.

    ``distances`` is ``(..., words, words)``. The spanning tree covers the kept words; the score is the share of gold
    edges between kept words that it has. Where a kept word hangs under one that is left out the gold edge is not
    counted (the study spans the gold distances instead, which differs only in that case).
    """
    hits, total = attachment_hits(distances, heads, keep)
    return hits / total if total else np.full(hits.shape, np.nan)


def attachment_hits(distances: np.ndarray, heads: Heads, keep: Sequence[bool] | None = None) -> tuple[np.ndarray, int]:
    """Gold edges found in the minimum spanning tree, shape ``(...)``, and their number: what micro averages need.

    Raises BertologyError for distances of another sentence's size, and for such that are no numbers: a spanning tree
    of those would be the gold one by accident.
    """
    _require_distances(distances, len(heads))
    chosen = np.flatnonzero(_kept(keep, len(heads)))
    gold = _adjacency(heads)[np.ix_(chosen, chosen)]
    total = int(gold.sum()) // 2
    distances = np.asarray(distances)[..., chosen[:, None], chosen]
    if total == 0:
        return np.zeros(distances.shape[:-2], dtype=int), 0
    parents = minimum_spanning_parents(distances)
    return gold[np.arange(1, len(chosen)), parents[..., 1:]].sum(-1), total


def undirected_score(predicted: Heads, heads: Heads, keep: Sequence[bool] | None = None) -> float:
    """Share of gold edges that a predicted tree has, direction ignored; NaN for a sentence without edges."""
    gold = tree_edges(heads, keep)
    return len(gold & tree_edges(predicted)) / len(gold) if gold else float("nan")


def linear_chain_distances(words: int) -> np.ndarray:
    """Distance ``|i - j|``: the linear baseline of hewitt2019structural, ``(words, words)``.

    Scored by ``uuas`` with ``keep`` it links each kept word to the next kept one.
    """
    places = np.arange(words)
    return np.abs(places[:, None] - places[None, :])


def maximum_arborescence(scores: np.ndarray, root: int) -> list[int]:
    """Heads of the best directed tree with a given root (Chu-Liu and Edmonds), as used by htut2019attention.

    ``scores[dependent, head]`` is the worth of an arc, so an attention map fits as it is if a dependent attends to
    its head, and transposed if a head attends to its dependents. Raises BertologyError if the map is not square.
    """
    scores = np.array(scores, dtype=float)
    words = len(scores)
    if scores.shape != (words, words) or not 0 <= root < words:
        raise BertologyError(f"Arc scores need a square map and a root inside it, not {scores.shape} and {root}.")
    np.fill_diagonal(scores, -np.inf)
    scores[root] = -np.inf
    heads = _arborescence(scores, root)
    return [-1 if word == root else int(head) for word, head in enumerate(heads)]


def row_spearman(predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Spearman correlation along the last axis, broadcast over the leading ones: ``(..., n)`` to ``(...)``.

    A constant row has no order; it counts 0, as a prediction which says nothing.
    """
    return row_pearson(*(rankdata(values, axis=-1) for values in (predicted, gold)))


def row_pearson(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pearson correlation along the last axis, as `row_spearman`."""
    first, second = (values - values.mean(-1, keepdims=True) for values in (first, second))
    scale = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))
    return np.divide((first * second).sum(-1), scale, out=np.zeros_like(scale), where=scale > 0)


def sentence_distance_spearman(predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Mean over words of the Spearman of predicted and gold distance rows: ``(..., words, words)`` to ``(...)``.

    Rows include the word itself (distance 0), as in hewitt2019structural.
    """
    return row_spearman(predicted, np.broadcast_to(gold, np.shape(predicted))).mean(-1)


def mean_over_lengths(
    scores: Iterable[np.ndarray], lengths: Sequence[int], shortest: int = 5, longest: int = 50
) -> np.ndarray:
    """Mean over sentence lengths of the mean within each length. Raises BertologyError if no length is in range."""
    by_length: dict[int, list[np.ndarray]] = defaultdict(list)
    for score, length in zip(scores, lengths, strict=True):
        if shortest <= length <= longest:
            by_length[length].append(score)
    if not by_length:
        raise BertologyError(f"No sentence has between {shortest} and {longest} words.")
    return np.mean([np.mean(group, axis=0) for group in by_length.values()], axis=0)


def _require_distances(distances: np.ndarray, words: int) -> None:
    shape = np.shape(distances)
    if shape[-2:] != (words, words):
        raise BertologyError(f"Distances of {words} words need the shape (..., {words}, {words}), not {shape}.")
    if not np.isfinite(distances).all():
        raise BertologyError("Some distances between words are not finite numbers; did the probe diverge?")


def _kept(keep: Sequence[bool] | None, words: int) -> np.ndarray:
    if keep is None:
        return np.ones(words, dtype=bool)
    if len(keep) != words:
        raise BertologyError(f"Which of {words} words to keep is said for {len(keep)} of them.")
    return np.asarray(keep, dtype=bool)


def _adjacency(heads: Heads) -> np.ndarray:
    matrix = np.zeros((len(heads), len(heads)), dtype=bool)
    for low, high in tree_edges(heads):
        matrix[low, high] = matrix[high, low] = True
    return matrix


def _arborescence(scores: np.ndarray, root: int) -> np.ndarray:
    """Greedy heads; if they close a cycle, shrink it to one node, solve the smaller graph, and open it again."""
    heads = scores.argmax(1)
    heads[root] = root
    cycle = _find_cycle(heads, root)
    if cycle is None:
        return heads
    outside = np.setdiff1d(np.arange(len(scores)), cycle)
    smaller, entering, leaving = _contract(scores, heads, cycle, outside)
    solved = _arborescence(smaller, int(np.flatnonzero(outside == root)[0]))
    node = len(outside)  # the shrunken cycle is the last node of the smaller graph
    for place, word in enumerate(outside):
        if word != root:
            heads[word] = leaving[place] if solved[place] == node else outside[solved[place]]
    enter = solved[node]
    heads[entering[enter]] = outside[enter]
    return heads


def _contract(
    scores: np.ndarray, heads: np.ndarray, cycle: np.ndarray, outside: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The graph with the cycle as its last node; for each outer head the word it enters at; for each outer word its
    best head in the cycle."""
    size = len(outside) + 1
    smaller = np.full((size, size), -np.inf)
    smaller[:-1, :-1] = scores[np.ix_(outside, outside)]
    gain = scores[np.ix_(cycle, outside)] - scores[cycle, heads[cycle]][:, None]  # what entering there costs
    smaller[-1, :-1] = gain.max(0)
    out = scores[np.ix_(outside, cycle)]
    smaller[:-1, -1] = out.max(1)
    return smaller, cycle[gain.argmax(0)], cycle[out.argmax(1)]


def _find_cycle(heads: np.ndarray, root: int) -> np.ndarray | None:
    state = np.zeros(len(heads), dtype=int)  # 0 unseen, otherwise the walk that saw the word first
    state[root] = -1
    for start in range(len(heads)):
        word, walk = start, start + 1
        while state[word] == 0:
            state[word] = walk
            word = heads[word]
        if state[word] == walk:  # the walk came back to itself
            cycle = [word]
            while heads[cycle[-1]] != word:
                cycle.append(heads[cycle[-1]])
            return np.array(sorted(cycle))
    return None
