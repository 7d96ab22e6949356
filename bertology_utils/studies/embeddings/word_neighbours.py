"""Who stands next to a word: neighbours in two spaces, of one kind, of one sense.

Depends on `geometry` for cosines and on `activations` for the static control; scores are over items or lemmas.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.metrics import silhouette_score

from bertology_utils.activations import token_table_vectors
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.geometry import nearest, unit
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit


def neighbour_overlap(first: np.ndarray, second: np.ndarray, k: int = 10) -> np.ndarray:
    """Share of each item's k nearest other items that two spaces (items, width) have in common: (items,)."""
    if len(first) <= k + 1:
        raise BertologyError(f"{k} neighbours of an item need more than {k + 1} items; there are {len(first)}.")
    lists = [_neighbours(space, k) for space in (first, second)]
    return np.array([len(set(a) & set(b)) / k for a, b in zip(*lists, strict=True)])


def layer_overlaps(groups: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Do words have the same ten neighbours in the embeddings as at the last layer? Each (words,).

    `overlap`: the share of neighbours in common, of words as means of their occurrences, (layers + 1, occurrences,
    width) each; `of_ten`: their number; `halves`: the share between two halves of the occurrences at the last layer.
    """
    types = type_vectors(groups)
    halves = (np.stack([vectors[-1, i::2].mean(0) for vectors in groups.values()]) for i in (0, 1))
    overlap = neighbour_overlap(types[0], types[-1])
    return {"overlap": overlap, "of_ten": 10 * overlap, "halves": neighbour_overlap(*halves)}


def type_vectors(groups: Mapping[str, np.ndarray]) -> np.ndarray:
    """One vector a word, the mean of its occurrences: (layers + 1, words, width)."""
    return np.stack([vectors.mean(1) for vectors in groups.values()], axis=1)


def in_four_spaces(groups: Mapping[str, np.ndarray], asked: Sequence[str], k: int = 5) -> list[dict[str, str]]:
    """The k nearest words of a word in four spaces that are all called its embedding, as rows of a table.

    The word is the first of `asked` that has vectors, or else the first of all.
    """
    words, types = list(groups), type_vectors(groups)
    word = next((word for word in asked if word in groups), words[0])
    at = words.index(word)
    spaces = {"embeddings": types[0], "middle": types[len(types) // 2], "last": types[-1], "all layers": types.mean(0)}
    near = {name: [words[i] for i in _neighbours(space, k)[at]] for name, space in spaces.items()}
    return [{"vectors": name, f"neighbours of {word}": ", ".join(found)} for name, found in near.items()]


def neighbour_agrees(vectors: np.ndarray, labels: Sequence, lemmas: Sequence | None = None) -> np.ndarray:
    """Whether an item's nearest other item has its label: booleans (items,), from vectors (items, width).

    Items of one lemma are no neighbours of each other: that *dogs* is near *dog* says nothing about animals. Without
    `lemmas` each item is its own. Raises BertologyError where all items are of one lemma.
    """
    labels, own = np.asarray(labels), _of_one_lemma(labels, lemmas)
    if own.all(1).any():
        raise BertologyError("Neighbours need items of two lemmas or more.")
    similarity = np.where(own, -np.inf, unit(vectors) @ unit(vectors).T)
    return labels[similarity.argmax(1)] == labels


def neighbour_ranking(vectors: np.ndarray, labels: Sequence, lemmas: Sequence | None = None) -> np.ndarray:
    """How often an item with its label is nearer to an item than one with another label: (items,), 0.5 is chance.

    All pairs of such items are counted (the area under a ROC curve, by cosine), ties as one half; from vectors
    (items, width). Items of its own lemma are not compared, as in `neighbour_agrees`; an item that is then alone with
    its label is left out.
    """
    labels, similarity = np.asarray(labels), unit(vectors) @ unit(vectors).T
    alike, others = labels[:, None] == labels, ~_of_one_lemma(labels, lemmas)
    masks = zip(similarity, alike & others, ~alike & others, strict=True)
    rows = [(row[same][:, None], row[different]) for row, same, different in masks]
    return np.array([((a > b) + (a == b) / 2).mean() for a, b in rows if a.size and b.size])


def _of_one_lemma(items: Sequence, lemmas: Sequence | None) -> np.ndarray:
    """Which pairs of items share their lemma, booleans (items, items); without lemmas each item is its own."""
    _, lemma = np.unique(np.arange(len(items)) if lemmas is None else lemmas, return_inverse=True)
    return lemma[:, None] == lemma


def _neighbours(vectors: np.ndarray, k: int) -> np.ndarray:
    """The k nearest other items by cosine, (items, k)."""
    found = nearest(vectors, vectors, k + 1)
    return np.array([[j for j in row if j != i][:k] for i, row in enumerate(found)])


def nearest_senses(
    train: np.ndarray,
    train_items: Sequence,
    test: np.ndarray | None = None,
    test_items: Sequence | None = None,
) -> np.ndarray:
    """Whether the nearest training occurrence of the same lemma has the same sense: booleans (layers, items).

    Vectors are (layers, items, width), items have `lemma` and `sense`; k = 1 by cosine as in wiedemann2019does. Without
    test items each training item is judged by the other ones (leave one out), which serves to choose a layer.
    """
    alone = test is None
    test, test_items = (train, train_items) if alone else (test, test_items)
    correct = np.zeros(test.shape[:2], dtype=bool)
    for lemma in {item.lemma for item in test_items}:
        rows = [i for i, item in enumerate(test_items) if item.lemma == lemma]
        known = [i for i, item in enumerate(train_items) if item.lemma == lemma]
        similarity = unit(test[:, rows]) @ np.swapaxes(unit(train[:, known]), 1, 2)  # (layers, rows, known)
        if alone:
            similarity[:, range(len(rows)), range(len(rows))] = -np.inf
        senses = np.array([train_items[i].sense for i in known])
        correct[:, rows] = senses[similarity.argmax(-1)] == np.array([test_items[i].sense for i in rows])
    return correct


def sense_silhouettes(vectors: np.ndarray, items: Sequence) -> np.ndarray:
    """The mean silhouette of each lemma's occurrences, senses as clusters, by cosine: -1 to 1, (lemmas,).

    Vectors are (items, width), items as in `nearest_senses`; a lemma with one sense only has none. Clusters are what
    wiedemann2019does shows in drawings.
    """
    found = []
    for lemma in sorted({item.lemma for item in items}):
        rows = [i for i, item in enumerate(items) if item.lemma == lemma]
        senses = [items[i].sense for i in rows]
        if 1 < len(set(senses)) < len(rows):
            found.append(silhouette_score(vectors[rows], senses, metric="cosine"))
    return np.array(found)


def over_lemmas(values: np.ndarray, items: Sequence) -> np.ndarray:
    """Samples over the lemmas (`samples.by_unit`): (..., items) to (..., lemmas).

    The occurrences of a lemma share its senses, its cue words and its neighbours: they are right or wrong together.
    """
    return by_unit(values, [item.lemma for item in items])


def context_bag(specimen: Specimen, items: Sequence) -> np.ndarray:
    """The static control of sense tests: the mean token-table vector of the other words, (1, items, width)."""
    tables = token_table_vectors(specimen, [item.words for item in items])
    rest = [np.delete(table, item.place, axis=1).mean(1) for table, item in zip(tables, items, strict=True)]
    return np.stack(rest, axis=1)
