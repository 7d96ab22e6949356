"""Trees: every fast routine against its plain definition."""

import itertools

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import spearmanr
from tree_toys import random_heads

from bertology_utils.errors import BertologyError
from bertology_utils.instruments import trees


def random_distances(words, generator):
    noise = np.triu(generator.random((words, words)), 1)
    return noise + noise.T


def walked_distance(heads, first, second):
    def path(word):
        steps = [word]
        while heads[steps[-1]] >= 0:
            steps.append(heads[steps[-1]])
        return steps

    up, down = path(first), path(second)
    meeting = next(word for word in up if word in down)
    return up.index(meeting) + down.index(meeting)


@pytest.mark.parametrize("words", [1, 2, 5, 17, 40])
def test_distances_and_depths_equal_path_walking(words):
    heads = random_heads(words, np.random.default_rng(words))
    expected = [[walked_distance(heads, i, j) for j in range(words)] for i in range(words)]
    assert (trees.tree_distances(heads) == expected).all()
    assert (trees.tree_depths(heads) == trees.tree_distances(heads)[heads.index(-1)]).all()


def test_chain_is_its_own_depth():
    assert (trees.tree_depths(range(-1, 32)) == np.arange(33)).all()
    assert (trees.tree_distances([*range(1, 9), -1]) == trees.linear_chain_distances(9)).all()


@pytest.mark.parametrize("heads", [[1, 0, -1], [-1, -1], [0, 1], [-1, 5], [1, 2, 0]])
def test_what_is_no_tree_is_refused(heads):
    with pytest.raises(BertologyError):
        trees.tree_distances(heads)


def test_gold_distances_give_the_whole_tree():
    generator = np.random.default_rng(0)
    for words in (2, 6, 25):
        heads = random_heads(words, generator)
        assert trees.uuas(trees.tree_distances(heads), heads) == 1
        assert trees.sentence_distance_spearman(trees.tree_distances(heads) ** 2, trees.tree_distances(heads)) == 1


def minimum_spanning_edges(distances):
    return trees.tree_edges(trees.minimum_spanning_parents(distances))


def test_batched_prim_equals_scipy_and_accepts_zero_distances():
    generator = np.random.default_rng(1)
    maps = np.stack([[random_distances(12, generator) for _ in range(4)] for _ in range(3)])
    parents = trees.minimum_spanning_parents(maps)
    for place in np.ndindex(3, 4):
        reference = zip(*minimum_spanning_tree(maps[place]).nonzero(), strict=True)
        assert trees.tree_edges(parents[place]) == {(min(i, j), max(i, j)) for i, j in reference}
        assert minimum_spanning_edges(maps[place]) == trees.tree_edges(parents[place])
    with_zero = np.array([[0, 0, 5], [0, 0, 1], [5, 1, 0.0]])
    assert minimum_spanning_edges(with_zero) == {(0, 1), (1, 2)}


def test_batched_attachment_equals_edge_sets_with_words_left_out():
    generator = np.random.default_rng(2)
    heads = random_heads(9, generator)
    keep = np.ones(9, dtype=bool)
    keep[[2, 8]] = False
    maps = np.stack([random_distances(9, generator) for _ in range(5)])
    chosen = np.flatnonzero(keep)
    gold = trees.tree_edges(heads, keep)
    for map_, score in zip(maps, trees.uuas(maps, heads, keep), strict=True):
        edges = {(chosen[i], chosen[j]) for i, j in minimum_spanning_edges(map_[np.ix_(keep, keep)])}
        assert score == pytest.approx(len(gold & edges) / len(gold))


def test_undirected_baselines():
    heads = [1, 2, -1, 2]
    assert trees.undirected_score([-1, 0, 1, 2], heads) == 1
    assert trees.uuas(trees.linear_chain_distances(4), heads) == 1
    assert np.isnan(trees.uuas(np.zeros((1, 1)), [-1]))


def best_by_enumeration(scores, root):
    words = len(scores)
    others = [word for word in range(words) if word != root]
    best = (-np.inf, None)
    for choice in itertools.product(range(words), repeat=len(others)):
        heads = [-1] * words
        for word, head in zip(others, choice, strict=True):
            heads[word] = head
        try:
            trees.ancestors(heads)
        except BertologyError:
            continue
        best = max(best, (sum(scores[word, heads[word]] for word in others), heads))
    return best


@pytest.mark.parametrize("words", [2, 3, 4, 5])
def test_chu_liu_equals_enumeration(words):
    generator = np.random.default_rng(words)
    for _ in range(12 if words < 5 else 3):
        scores, root = generator.random((words, words)), int(generator.integers(words))
        found = trees.maximum_arborescence(scores, root)
        assert found == best_by_enumeration(scores, root)[1]


def test_chu_liu_recovers_a_planted_tree_of_30_words():
    generator = np.random.default_rng(3)
    heads = random_heads(30, generator)
    scores = generator.random((30, 30))
    scores[np.arange(30), np.maximum(heads, 0)] += 1
    assert trees.maximum_arborescence(scores, heads.index(-1)) == heads


def test_lengths_are_averaged_not_sentences():
    assert trees.mean_over_lengths([np.array(1.0)] * 3 + [np.array(-1.0)], [5, 5, 5, 6]) == 0
    with pytest.raises(BertologyError):
        trees.mean_over_lengths([np.array(1.0)], [2])


def test_rank_correlation_equals_scipy_with_ties():
    generator = np.random.default_rng(4)
    first, second = generator.integers(0, 4, (2, 3, 11)), generator.integers(0, 4, 11)
    found = trees.row_spearman(first, second)
    for place in np.ndindex(2, 3):
        assert found[place] == pytest.approx(spearmanr(first[place], second).statistic)
    assert trees.row_spearman(np.zeros(5), np.arange(5)) == 0


@pytest.mark.parametrize(
    ("distances", "keep"),
    [
        (np.full((3, 3), np.nan), None),
        (np.array([[0, 1, np.inf], [1, 0, 1], [np.inf, 1, 0]]), None),
        (np.ones((4, 4)), None),
        (np.ones((3, 2)), None),
        (np.ones(3), None),
        (np.ones((3, 3)), [True, True]),
    ],
)
def test_a_score_of_distances_that_are_none_is_refused(distances, keep):
    """A spanning tree of them would be right by accident: a diverged probe scored perfectly."""
    with pytest.raises(BertologyError):
        trees.uuas(distances, [-1, 0, 1], keep)
