"""Closed forms against brute force, planted components and planted translations."""

from itertools import combinations

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.instruments import geometry

RNG = np.random.default_rng(0)


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_self_similarity_equals_brute_force():
    vectors = RNG.normal(size=(3, 7, 5)) + 1
    expected = [np.mean([cosine(a, b) for a, b in combinations(layer, 2)]) for layer in vectors]
    np.testing.assert_allclose(geometry.self_similarity(vectors), expected)
    assert np.isnan(geometry.self_similarity(vectors[:, :1])).all()


def test_kernel_alignment_equals_its_definition_and_sees_no_turn():
    one, other = RNG.normal(size=(2, 30, 5)) + 1, RNG.normal(size=(2, 30, 4))
    centring = np.eye(30) - 1 / 30

    def shared(a, b):  # the criterion of Hilbert and Schmidt, of linear kernels
        return np.trace(centring @ a @ a.T @ centring @ b @ b.T)

    expected = [shared(a, b) / np.sqrt(shared(a, a) * shared(b, b)) for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose(geometry.linear_cka(one, other), expected)
    turn = np.linalg.qr(RNG.normal(size=(5, 5)))[0]
    np.testing.assert_allclose(geometry.linear_cka(one, 3 * one @ turn + 2), 1)
    many = RNG.normal(size=(2000, 5))
    assert geometry.linear_cka(many, RNG.permutation(many)) < 0.02
    assert 0.2 < geometry.linear_cka(many, many + RNG.normal(size=many.shape)) < 0.8


def test_random_pairs_are_of_different_words():
    groups = [RNG.normal(size=(2, n, 4)) for n in (2, 3, 4)]
    expected = [
        np.mean([cosine(x, y) for a, b in combinations(groups, 2) for x in a[layer] for y in b[layer]])
        for layer in range(2)
    ]
    np.testing.assert_allclose(geometry.random_pair_similarity(groups), expected)
    with pytest.raises(BertologyError):
        geometry.random_pair_similarity(groups[:1])


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("shape", [(2, 6, 9), (2, 9, 6)])
def test_explainable_variance_by_gram_equals_svd(centred, shape):
    vectors = RNG.normal(size=shape) + 0.5
    used = vectors - vectors.mean(1, keepdims=True) if centred else vectors
    values = np.linalg.svd(used, compute_uv=False) ** 2
    expected = values[:, 0] / values.sum(1)
    np.testing.assert_allclose(geometry.maximum_explainable_variance(vectors, centred), expected)


def test_intra_sentence_similarity_equals_loop():
    words = RNG.normal(size=(5, 4))
    expected = np.mean([cosine(word, words.mean(0)) for word in words])
    assert geometry.intra_sentence_similarity(words) == pytest.approx(expected)


def test_contextuality_separates_static_from_contextual():
    sentences = [["a", "b", "c"]] * 6
    static = {word: RNG.normal(size=8) for word in "abc"}
    vectors = [
        np.stack([np.stack([static[w] for w in s]), RNG.normal(size=(3, 8))]) for s in sentences
    ]  # layer 0 static, layer 1 noise
    measured = geometry.contextuality(sentences, vectors)
    assert measured.words == ["a", "b", "c"]
    np.testing.assert_allclose(measured.self_similarity[0], 1)
    assert (np.abs(measured.self_similarity[1]) < 0.5).all() and measured.intra_sentence.shape == (2, 6)
    np.testing.assert_allclose(measured.adjusted[0], 1 - measured.anisotropy[0])


def test_removed_components_are_gone():
    vectors = RNG.normal(size=(40, 6)) + np.outer(RNG.normal(size=40), [10, 0, 0, 0, 0, 0]) + 3
    left = geometry.remove_top_components(vectors, 1)
    assert np.linalg.matrix_rank(left) == 5 and np.allclose(left.mean(0), 0)
    assert np.abs(left[:, 0]).max() < np.abs(vectors[:, 0]).max() / 5


def test_one_dimension_can_carry_the_similarity():
    vectors = RNG.normal(size=(50, 20))
    vectors[:, 4] += 30
    shares = geometry.similarity_shares(vectors)
    assert shares.sum() == pytest.approx(1) and shares.argmax() == 4 and shares[4] > 0.9
    assert abs(geometry.self_similarity(geometry.drop_dimensions(vectors, [4]))) < 0.1


def test_retrieval_ignores_length_and_finds_the_translation():
    source = RNG.normal(size=(12, 6))
    target = source * RNG.uniform(0.1, 10, size=(12, 1)) + RNG.normal(scale=1e-3, size=(12, 6))
    assert (geometry.nearest(source, target)[:, 0] == np.arange(12)).all()
    assert geometry.nearest(source, target[::-1])[0, 0] == 11


def test_last_layers_are_concatenated():
    vectors = np.arange(6 * 2 * 3).reshape(6, 2, 3)
    joined = geometry.concatenate_layers(vectors)
    assert joined.shape == (2, 12) and (joined[0, :3] == vectors[2, 0]).all()
