"""Frozen attention as a guide of a bag of words: weights are shares of words, and only good weights help."""

import numpy as np
import pytest
import torch

from bertology_utils.activations import POOLS, pooled_vectors
from bertology_utils.instruments.attention import attention_maps
from bertology_utils.studies.attention import critics, guides
from bertology_utils.text import encode_words
from bertology_utils.tuning.classification_tasks import number_examples
from bertology_utils.tuning.training import finetune_seeds

SENTENCES = [["the", "king", "slept", "."], ["the", "unbelievable", "queens", "saw", "it", "."]]


def test_weights_are_the_last_layers_from_cls_over_words(tiny_eager):
    found = guides.read_class(tiny_eager, SENTENCES).weights
    assert [len(row) for row in found] == [4, 6]
    np.testing.assert_allclose([row.sum() for row in found], 1, rtol=1e-5)
    maps = {index: m for index, _, m in attention_maps(tiny_eager, SENTENCES)}
    for row, encoding, index in zip(found, encode_words(tiny_eager, SENTENCES), (0, 1), strict=True):
        first = maps[index][-1, :, 0].mean(0).numpy()
        masses = [first[np.array([w == word for w in encoding.word_ids])].sum() for word in range(len(row))]
        np.testing.assert_allclose(row, np.array(masses) / np.sum(masses), rtol=1e-5)


def test_one_pass_gives_the_vectors_that_pooling_gives(tiny_eager):
    plain, found = pooled_vectors(tiny_eager, SENTENCES), guides.read_class(tiny_eager, SENTENCES).pooled
    for pool in POOLS:
        torch.testing.assert_close(found[pool], plain[pool][-1:])


def test_a_word_of_several_pieces_is_their_mean(tiny_eager):
    vectors, present = guides.word_embeddings(tiny_eager, SENTENCES)
    assert present.sum(1).tolist() == [4, 6] and vectors[0, 4:].abs().sum() == 0
    table = tiny_eager.model.get_input_embeddings().weight.detach()
    encoding = encode_words(tiny_eager, SENTENCES)[1]
    pieces = [piece for word, piece in zip(encoding.word_ids, encoding.input_ids, strict=True) if word == 1]
    assert len(pieces) > 1
    torch.testing.assert_close(vectors[1, 1], (table[pieces].mean(0) / table.std()))


def _planted(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Words of two kinds; the label is the kind of one of them, and only the weights say of which."""
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(2, (n, 6), generator=generator)
    place = torch.randint(6, (n, 1), generator=generator)
    words = torch.nn.functional.one_hot(kinds, 2).float() + 0.1 * torch.randn(n, 6, 2, generator=generator)
    weights = torch.zeros(n, 6).scatter_(1, place, 1.0)
    return words, torch.ones(n, 6, dtype=torch.bool), weights, kinds.gather(1, place).squeeze(1)


def test_only_weights_that_point_at_the_word_solve_the_task():
    train, test = _planted(200, 0), _planted(100, 1)
    assert guides.guided_correct(train, test, seed=0).mean() > 0.9
    for other in (torch.full((200, 6), 1 / 6), None):
        blind = [(*part[:2], other if other is None else other[: len(part[3])], part[3]) for part in (train, test)]
        assert guides.guided_correct(*blind, seed=0).mean() < 0.85


@pytest.mark.parametrize("name", guides.WEIGHTINGS)
def test_each_weighting_is_what_its_name_says(name):
    frozen = [np.array([0.7, 0.2, 0.1]), np.array([0.4, 0.6])]
    found = guides._weights(name, frozen, 4, np.random.default_rng(0))
    if name == "learned":
        assert found is None
        return
    assert found.shape == (2, 4) and found[:, 3].sum() == 0
    torch.testing.assert_close(found.sum(1), torch.ones(2))
    if name != "uniform":
        np.testing.assert_allclose(sorted(found[0].tolist()), [0, 0.1, 0.2, 0.7], rtol=1e-6)


def test_samples_have_a_seed_for_every_run(tiny_eager):
    train, test = number_examples(16), number_examples(8, split="test")
    runs, _ = finetune_seeds(tiny_eager, train, test, (0, 1), pool="cls", epochs=1)
    found = guides.guide_samples(tiny_eager, runs, guides.read_tuned(runs, train, test), train, test, (0, 1))
    assert {found[name].shape for name in (*guides.WEIGHTINGS, "tuned")} == {(2, len(test))}
    assert found["majority"].shape == (len(test),)


def test_every_kind_of_model_is_permuted_and_guides(eager):
    if eager.has_mlm_head:
        found = critics.explanation_samples(eager, SENTENCES, permutations=2)
        assert all(0 <= value <= 1 for name in ("permuted_last", "permuted_all") for value in found[name])
    weights = guides.read_class(eager, SENTENCES).weights
    np.testing.assert_allclose([row.sum() for row in weights], 1, rtol=1e-4)
    vectors, _ = guides.word_embeddings(eager, SENTENCES)
    assert vectors.shape[:2] == (2, 6) and bool(torch.isfinite(vectors).all())
