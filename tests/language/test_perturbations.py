"""Each perturbation changes what it says and nothing else."""

from itertools import pairwise

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.language import perturbations as p
from bertology_utils.language.grammar import generate

WORDS = ["the", "old", "dog", "saw", "a", "cat", "in", "the", "garden", "."]


def test_shuffling_keeps_the_words_the_place_and_the_final_mark():
    rng = np.random.default_rng(0)
    for size in (1, 2, 3):
        found = p.shuffle_words(WORDS, 5, rng, size)
        assert sorted(found.words) == sorted(WORDS) and found.words != tuple(WORDS)
        assert found.words[found.place] == "cat" and found.words[-1] == "."


def test_larger_blocks_keep_more_neighbours():
    rng, words = np.random.default_rng(1), [str(i) for i in range(24)]
    together = {
        size: np.mean([_neighbours(p.shuffle_words(words, 23, rng, size).words) for _ in range(40)]) for size in (1, 3)
    }
    assert together[3] > together[1] + 0.4


def _neighbours(words):
    return np.mean([int(b) - int(a) == 1 for a, b in pairwise(words)])


def test_truncation_counts_words_before_the_place():
    assert p.truncate(WORDS, 5, 2) == p.Perturbed(("saw", "a", "cat", "in", "the", "garden", "."), 2)
    assert p.truncate(WORDS, 5, 99) == p.Perturbed(tuple(WORDS), 5)


def test_random_context_spares_the_place_and_the_mark():
    found = p.random_context(WORDS, 5, ["x"], np.random.default_rng(0))
    assert found.words == ("x",) * 5 + ("cat",) + ("x",) * 3 + (".",)


def test_dropping_moves_the_place():
    assert p.drop_words(WORDS, 5, (0, 1, 6, 7, 8)) == p.Perturbed(("dog", "saw", "a", "cat", "."), 3)
    with pytest.raises(BertologyError):
        p.drop_words(WORDS, 5, (4, 5))


def test_spans_are_whole_subtrees_under_the_root():
    found = 0
    for sentence in generate(200, seed=3):
        for span in p.dependent_spans(sentence, p.ARGUMENTS + p.ADJUNCTS):
            inside = set(span)
            tops = [i for i in span if sentence.heads[i] not in inside]
            assert len(tops) == 1 and sentence.heads[tops[0]] == sentence.heads.index(-1)
        matched = p.matched_spans(sentence)
        if matched:
            found += 1
            argument, adjunct = matched
            assert abs(len(argument) - len(adjunct)) <= 1 and not set(argument) & set(adjunct)
    assert found > 10
