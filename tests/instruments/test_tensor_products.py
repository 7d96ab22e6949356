"""Bindings are sums of outer products, and the scheme that made a vector rebuilds it best."""

import numpy as np
import pytest
import torch

from bertology_utils.instruments import tensor_products as products


@pytest.fixture(scope="module")
def sentences():
    return products.short_sentences(120), products.short_sentences(40, seed=1)


def test_bindings_are_the_sum_of_outer_products(sentences):
    train = sentences[0][:5]
    rng = np.random.default_rng(0)
    fillers = [rng.normal(size=(len(s.words), 3)) for s in train]
    sums, known = products.bindings(train, fillers, "tree")
    plain = np.zeros((len(known), 3))
    for role, filler in zip(products.tree_position(train[2]), fillers[2], strict=True):
        plain += np.outer(np.arange(len(known)) == known[role], filler)
    assert np.allclose(sums[2], plain.ravel())
    bag, _ = products.bindings(train, fillers, "bag_of_words")
    assert np.allclose(bag[2], fillers[2].sum(0))


def test_tree_positions_say_the_side_of_each_step(sentences):
    for sentence in sentences[0][:20]:
        roles = products.tree_position(sentence)
        assert roles[sentence.heads.index(-1)] == ("root",)
        for word, head in enumerate(sentence.heads):
            if head >= 0:
                assert roles[word][0] == ("left" if word < head else "right")


def test_the_planted_scheme_wins(tiny, sentences, monkeypatch):
    train, test = sentences
    rng = np.random.default_rng(1)
    table = {w: rng.normal(size=6) for s in train + test for w in s.words}
    vectors = [np.stack([table[w] for w in s.words]) for s in train + test]
    fillers = products._components(vectors, len(train), 6)
    made, _ = products.bindings(train + test, fillers, "right_to_left")
    target = torch.tensor(made @ rng.normal(size=(made.shape[1], 16)))
    monkeypatch.setattr(products, "sentence_vectors", lambda *_: target[None])
    errors = products.decomposition_errors(tiny, train, test, vectors, 0, width=6)
    means = {scheme: e.mean() for scheme, e in errors.items()}
    assert min(means, key=means.get) == "right_to_left" and means["right_to_left"] < 0.5 * means["bag_of_words"]
    assert means["mean"] == pytest.approx(1, abs=0.3)

    noise = torch.from_numpy(rng.normal(size=tuple(target.shape)))
    monkeypatch.setattr(products, "sentence_vectors", lambda *_: noise[None])
    errors = products.decomposition_errors(tiny, train, test, vectors, 0, width=6)
    assert all(errors[scheme].mean() > 0.9 * errors["mean"].mean() for scheme in products.SCHEMES)
