"""Static vectors: counts against a plain loop, and neighbours on a corpus whose structure is known."""

import numpy as np
import pytest

from bertology_utils.instruments.geometry import nearest
from bertology_utils.instruments.static_vectors import cooccurrences, glove, skip_gram


@pytest.fixture(scope="module")
def corpus():
    """Animals and drinks, nine times of ten with verbs of their own: GloVe learns from counts, not from absences."""
    rng = np.random.default_rng(0)
    kinds = {("dog", "cat", "fox"): ("runs", "barks", "sleeps"), ("tea", "milk", "juice"): ("spills", "cools", "boils")}
    nouns = list(kinds)
    sentences = []
    for _ in range(600):
        kind, other = rng.permutation(2)
        verbs = kinds[nouns[kind if rng.random() < 0.9 else other]]
        sentences.append([nouns[kind][rng.integers(3)], verbs[rng.integers(3)]])
    return sentences


def test_pairs_are_counted_in_both_directions_within_the_window():
    words, pairs = cooccurrences([["a", "b", "a", "c"]], window=1)
    assert words == ["a", "b", "c"]
    assert pairs == {(0, 1): 2, (1, 0): 2, (0, 2): 1, (2, 0): 1}


@pytest.mark.parametrize("learn", [skip_gram, glove])
def test_neighbours_are_of_the_same_kind(corpus, learn):
    words, vectors = learn(corpus, width=8, steps=150)
    assert vectors.shape == (len(words), 8)
    nouns = [words.index(word) for word in ("dog", "cat", "fox", "tea", "milk", "juice")]
    closest = nearest(vectors[nouns], vectors[nouns], 2)[:, 1]
    assert all((i < 3) == (j < 3) for i, j in enumerate(closest))


def test_glove_puts_words_near_those_that_they_meet_often(corpus):
    words, vectors = glove(corpus, width=8, ceiling=1, steps=300)
    dog, runs, boils = (vectors[words.index(word)] for word in ("dog", "runs", "boils"))
    assert dog @ runs > dog @ boils
