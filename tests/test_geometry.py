"""Closed forms against brute force, planted outliers and planted senses."""

from itertools import combinations

import numpy as np
import pytest
import torch

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
def test_explainable_variance_by_gram_equals_svd(centred):
    vectors = RNG.normal(size=(2, 6, 9)) + 0.5
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


def test_planted_outliers_are_found_disabled_and_restored(tiny):
    norms = geometry.output_layer_norms(tiny)
    assert len(norms) == tiny.layers
    saved = [(n.weight.detach().clone(), n.bias.detach().clone()) for n in norms]
    attention_norm = next(m for n, m in tiny.encoder.named_modules() if n.endswith("attention.output.LayerNorm"))
    try:
        with torch.no_grad():
            for norm in norms:
                norm.weight[3] += 9.0
                norm.bias[5] -= 9.0
            norms[0].weight[5] += 1e-6
            attention_norm.weight[7] += 9.0  # must not be looked at
        assert geometry.outlier_dimensions(tiny) == [3, 5]
        inside = [n.weight.detach().clone() for n in norms]
        with geometry.without_dimensions(tiny, [3, 5]):
            assert all(n.weight[3] == 0 and n.bias[3] == 0 and n.bias[5] == 0 and n.weight[4] != 0 for n in norms)
        assert all(torch.equal(n.weight, w) for n, w in zip(norms, inside, strict=True))
    finally:
        with torch.no_grad():
            attention_norm.weight[7] -= 9.0
            for norm, (weight, bias) in zip(norms, saved, strict=True):
                norm.weight.copy_(weight)
                norm.bias.copy_(bias)


def test_untouched_model_has_no_outliers(tiny):
    assert geometry.outlier_dimensions(tiny) == []


def test_rankings_are_interleaved_once():
    assert geometry._interleave([308, 381, 7], [381, 5]) == [308, 381, 5, 7]


def test_neighbours_know_planted_senses():
    centres = {"bank/river": [1, 0, 0], "bank/money": [0, 1, 0], "bat/animal": [0, 1, 0.1]}
    senses = [sense for sense in centres for _ in range(6)]
    vectors = np.array([centres[s] for s in senses]) + RNG.normal(scale=0.05, size=(18, 3))
    examples = geometry.SenseExamples(vectors, [s.split("/")[0] for s in senses], senses)
    for k in (1, 5):
        predicted = geometry.nearest_neighbour_senses(examples, examples, k)
        assert predicted == senses  # "bat" lies beside "bank/money", but only its own lemma's senses are candidates
    unseen = geometry.SenseExamples(vectors[:1], ["crane"], ["crane/bird"])
    assert geometry.nearest_neighbour_senses(examples, unseen) == [None]
    assert geometry.nearest_neighbour_senses(examples, unseen, fallback={"crane": "crane/bird"}) == ["crane/bird"]
    assert geometry.most_frequent_senses(examples)["bat"] == "bat/animal"


def test_clusters_are_told_from_noise():
    labels = ["x"] * 10 + ["y"] * 10
    planted = np.repeat([[1.0, 0, 0], [0, 1.0, 0]], 10, axis=0) + RNG.normal(scale=0.05, size=(20, 3))
    assert geometry.cluster_silhouettes(planted, labels).mean() > 0.8
    assert abs(geometry.cluster_silhouettes(RNG.normal(size=(20, 3)), labels).mean()) < 0.3
    assert geometry.cluster_purity(["x", "x", "y", "y"], [0, 0, 0, 1]) == pytest.approx(0.75)


def test_retrieval_ignores_length_and_finds_the_translation():
    source = RNG.normal(size=(12, 6))
    target = source * RNG.uniform(0.1, 10, size=(12, 1)) + RNG.normal(scale=1e-3, size=(12, 6))
    assert geometry.retrieval_hits(source, target).all()
    assert geometry.nearest(source, target[::-1])[0, 0] == 11


def test_last_layers_are_concatenated():
    vectors = np.arange(6 * 2 * 3).reshape(6, 2, 3)
    joined = geometry.concatenate_layers(vectors)
    assert joined.shape == (2, 12) and (joined[0, :3] == vectors[2, 0]).all()
