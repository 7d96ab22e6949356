"""Do two occurrences of a word share a sense? Pairs from generated contexts or from WiC, and a threshold on cosines.

Depends on `semantic_sets` (generated occurrences), `material` (the rows) and `activations` (vectors).
"""

from collections.abc import Sequence
from random import Random

import numpy as np
import torch

from bertology_utils.activations import vectors_at
from bertology_utils.data.material import EMBEDDED, draw, rows
from bertology_utils.data.rows import WordInContext
from bertology_utils.data.semantic_sets import window
from bertology_utils.language.semantic_tasks import SenseItem, sense_items
from bertology_utils.models import Specimen


def sense_pairs(n: int, split: str = "train", seed: int = 0, source: str = EMBEDDED) -> list[WordInContext]:
    """At most `n` pairs of contexts of a word, about half of one sense; training and test share no pair.

    Generated ones join two contexts of `semantic_tasks.sense_items`; those of "wic" are cut to a window around the
    word.
    """
    if source != EMBEDDED:
        return [_windowed(row) for row in draw(rows(source, split), n, seed)]
    random = Random(f"pairs-{split}-{seed}")
    items = sense_items(8, split, seed=seed)
    by_word: dict[str, list[SenseItem]] = {}
    for item in items:
        by_word.setdefault(item.lemma, []).append(item)
    found = []
    for i in range(n):
        first, *others = random.sample(random.choice(list(by_word.values())), k=16)
        second = next(other for other in others if (other.sense == first.sense) == bool(i % 2))
        found.append(WordInContext(first.lemma, "NOUN", first.words, first.place, second.words, second.place,
                                   first.sense == second.sense))  # fmt: skip
    return random.sample(found, n)


def _windowed(row: WordInContext) -> WordInContext:
    first, second = window(row.words_a, row.index_a), window(row.words_b, row.index_b)
    return WordInContext(row.lemma, row.upos, *first, *second, row.same)


def same_sense(specimen: Specimen, train: Sequence[WordInContext], test: Sequence[WordInContext]) -> dict:
    """Whether "one sense where the cosine is high" is right on the test pairs: `by_layer` (layers+1, items).

    Each layer has the threshold that is best on its training pairs; `layer` is the best of these, `best_layer` (items,)
    its answers.
    """
    known, asked = (pair_cosines(specimen, pairs) for pairs in (train, test))
    labels, truths = (np.array([pair.same for pair in pairs]) for pairs in (train, test))
    thresholds, scores = zip(*(_threshold(values, labels) for values in known), strict=True)
    correct = ((asked > np.array(thresholds)[:, None]) == truths).astype(float)
    layer = int(np.argmax(scores))
    return {"by_layer": correct, "layer": layer, "best_layer": correct[layer]}


def pair_cosines(specimen: Specimen, pairs: Sequence[WordInContext]) -> np.ndarray:
    """Cosines of the two occurrences by layer, (layers+1, items)."""
    first = vectors_at(specimen, [p.words_a for p in pairs], [p.index_a for p in pairs])
    second = vectors_at(specimen, [p.words_b for p in pairs], [p.index_b for p in pairs])
    return torch.cosine_similarity(first, second, dim=-1).numpy()


def _threshold(values: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """The value above which "yes" is most often right, and how often that is."""
    shares = [((values > value) == labels).mean() for value in values]
    best = int(np.argmax(shares))
    return float(values[best]), float(shares[best])
