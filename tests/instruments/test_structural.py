"""Structural probes: the Gram trick and the padding against plain definitions, and planted trees that are found."""

import numpy as np
import pytest
import torch
from tree_toys import random_heads

from bertology_utils.errors import BertologyError
from bertology_utils.instruments import structural, trees

PATIENT = {"epochs": 60, "learning_rate": 0.03}  # a toy has few batches an epoch


@pytest.fixture(scope="module")
def planted():
    """Sentences of noise (layer 0) and of vectors that hold the path to the root (layer 1), in mixed dimensions."""
    generator = np.random.default_rng(0)
    mixing = np.linalg.qr(generator.normal(size=(32, 32)))[0]
    vectors, heads = [], []
    for _ in range(150):
        tree = random_heads(int(generator.integers(5, 10)), generator)
        steps = generator.normal(size=(len(tree), 16)) / 4  # one nearly orthogonal unit step for each edge
        path = trees.ancestors(tree) @ steps
        path -= steps[tree.index(-1)]  # the root lies at the origin
        noise = generator.normal(size=(2, len(tree), 32))
        noise[1, :, :16] = path
        vectors.append(torch.tensor(noise @ mixing, dtype=torch.float32))
        heads.append(tree)
    return vectors, heads


def test_gram_distances_equal_the_difference_tensor():
    projected = torch.randn(2, 3, 7, 5, dtype=torch.double)
    differences = projected[..., :, None, :] - projected[..., None, :, :]
    assert torch.allclose(structural.squared_distances(projected), differences.square().sum(-1))


def test_gradient_of_the_distance_loss_is_the_one_of_its_definition():
    distances = torch.from_numpy(trees.tree_distances([-1, 0, 1, 1, 0, 4, 4])).double()
    weight = torch.rand(7, 7, dtype=torch.double)
    weight = weight + weight.T  # a pair counts as its reverse does
    projected = torch.randn(2, 3, 7, 5, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda words: structural._PairMisses.apply(words, distances, weight), projected)


def test_batched_loss_equals_the_definition_sentence_by_sentence():
    generator = torch.Generator().manual_seed(0)
    vectors = [torch.randn(2, n, 6, generator=generator) for n in (3, 7, 5)]
    heads = [range(-1, n - 1) for n in (3, 7, 5)]  # each word hangs under the one before it
    transform, origin = torch.randn(2, 6, 4, 2, generator=generator), torch.zeros(2, 4, 1, 2)
    tasks = (trees.tree_distances, structural._distance_loss), (trees.tree_depths, structural._depth_loss)
    for target, loss in tasks:
        gold = [torch.from_numpy(target(tree)).float() for tree in heads]
        found = loss(transform, origin, structural._padded(vectors, gold))
        for place, (words, answer) in enumerate(zip(vectors, gold, strict=True)):
            projected = words[:, None] @ transform.transpose(1, 2)
            if answer.ndim == 2:
                guess = (projected[..., :, None, :] - projected[..., None, :, :]).square().sum(-1)
                expected = (guess - answer).abs().mean((-1, -2))
            else:
                expected = (projected.square().sum(-1) - answer).abs().mean(-1)
            assert torch.allclose(found[..., place], expected, atol=1e-4)


def test_planted_distances_are_found_in_new_sentences(planted):
    vectors, heads = planted
    probe = structural.fit_distance_probe(vectors[:110], heads[:110], rank=16, seeds=2, **PATIENT)
    scores = structural.score_distances(probe.distances(vectors[110:]), heads[110:])
    assert scores.uuas.shape == scores.spearman.shape == (2, 2, 40) and scores.dspr.shape == (2, 2)
    assert scores.uuas[1].mean() > 0.7 and scores.uuas[0].mean() < 0.45
    # rows contain the word itself, so that noise too has some correlation
    assert scores.dspr[1].min() > 0.75 and scores.dspr[0].max() < 0.55
    micro = scores.hits.sum(-1) / scores.edges.sum()
    assert np.abs(micro - scores.uuas.mean(-1)).max() < 0.1


def test_gold_distances_score_perfectly_through_the_same_function(planted):
    heads = planted[1][:10]
    gold = [trees.tree_distances(tree)[None, None] for tree in heads]
    scores = structural.score_distances(gold, heads)
    assert (scores.uuas == 1).all() and np.allclose(scores.spearman, 1) and np.allclose(scores.dspr, 1)


def test_correlations_are_averaged_by_length_and_not_by_sentence():
    chain, star = [-1, 0, 1, 2, 3], [-1, 0, 0, 0, 0, 0]
    predicted = [trees.tree_distances(chain)] * 3 + [-trees.tree_distances(star)]
    assert structural.score_distances(predicted, [chain] * 3 + [star]).dspr == pytest.approx(0)


def test_planted_depths_are_found_in_new_sentences(planted):
    vectors, heads = planted
    probe = structural.fit_depth_probe(vectors[:110], heads[:110], rank=16, seeds=2, **PATIENT)
    scores = structural.score_depths(probe.depths(vectors[110:]), heads[110:])
    assert scores.root.shape == (2, 2, 40)
    assert scores.root[1].mean() > scores.root[0].mean() + 0.25
    ranks = scores.spearman.mean(-1)
    assert ranks[1].min() > 0.6 > 0.35 > np.abs(ranks[0]).max()


def test_kept_words_alone_can_be_the_root():
    depths = [np.array([[[0.0, 1.0, 2.0]]])]
    assert structural.score_depths(depths, [[1, -1, 1]], keep=[[False, True, True]]).root.item() == 1
    assert structural.score_depths(depths, [[1, -1, 1]]).root.item() == 0


def test_all_layers_at_once_equal_one_layer_at_a_time(planted):
    vectors, heads = planted[0][:30], planted[1][:30]
    together = structural.fit_distance_probe(vectors, heads, rank=4, seeds=2, epochs=2)
    alone = structural.fit_distance_probe([v[1:] for v in vectors], heads, rank=4, seeds=2, epochs=2)
    for both, one in zip(together.distances(vectors), alone.distances([v[1:] for v in vectors]), strict=True):
        assert np.allclose(both[1], one[0], rtol=1e-2, atol=1e-2)


def test_vectors_that_do_not_fit_the_trees_are_refused():
    with pytest.raises(BertologyError):
        structural.fit_distance_probe([torch.zeros(1, 3, 4)], [[-1, 0]])
    with pytest.raises(BertologyError):
        structural.fit_distance_probe([], [])
