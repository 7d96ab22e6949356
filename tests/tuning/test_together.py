"""Training together: what each model becomes is what it would have become alone, whatever the others are fed."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from bertology_utils.errors import BertologyError
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.text import encode_words
from bertology_utils.tuning import tiny_pretraining as tp
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.mlm_training import endless_batches, masked_loss, train_mlm
from bertology_utils.tuning.together import Stack, clip_each, pack
from bertology_utils.tuning.two_languages import tiny_specimen

CORPUS = [sentence.words for sentence in tp.small_language(120)]
WORDS = sorted({word for words in CORPUS for word in words} | {"an"})
RECIPE = replace(tp.TINY, width=16, inner=32, heads=2, steps=12, budget=200)


def weights(specimen) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in specimen.model.parameters()])


@pytest.fixture(scope="module")
def three():
    return tp.over_seeds(lambda seed: tiny_specimen(WORDS, RECIPE, seed), 3)


@pytest.fixture(scope="module")
def batches(three):
    encodings = encode_words(three[0], CORPUS)
    return [next(endless_batches(specimen, encodings, seed, 200)) for seed, specimen in enumerate(three)]


def test_the_losses_are_those_of_each_model(three, batches):
    assert len({batch["labels"].shape for batch in batches}) > 1  # padded differently
    stack, packed = Stack([s.model for s in three]), pack(batches)
    losses = stack.masked_losses(stack.hidden(packed), packed)
    alone = [masked_loss(s.model, batch).mean() for s, batch in zip(three, batches, strict=True)]
    assert torch.allclose(losses, torch.stack(alone), atol=1e-5)


def test_positions_that_a_batch_brings_are_read(three, batches):
    moved = [b | {"position_ids": torch.arange(b["labels"].shape[1]).expand_as(b["labels"]) + 30} for b in batches]
    stack, packed = Stack([s.model for s in three]), pack(moved)
    losses = stack.masked_losses(stack.hidden(packed), packed)
    alone = [masked_loss(s.model, batch).mean() for s, batch in zip(three, moved, strict=True)]
    assert torch.allclose(losses, torch.stack(alone), atol=1e-5)
    assert not torch.allclose(losses, stack.masked_losses(stack.hidden(pack(batches)), pack(batches)), atol=1e-5)


def test_the_first_pieces_are_the_classifying_ones(three, batches):
    packed = pack(batches)
    for ids, firsts, batch in zip(packed.ids, packed.firsts, batches, strict=True):
        assert (ids[firsts[: len(batch["labels"])]] == three[0].tokenizer.cls_token_id).all()


def test_training_together_equals_training_one_by_one():
    together = tp.pretrain_all(WORDS, CORPUS, RECIPE, 3)
    for seed, specimen in enumerate(together):
        assert not specimen.model.training
        options = {"learning_rate": RECIPE.learning_rate, "budget": RECIPE.budget}
        alone, _ = train_mlm(tiny_specimen(WORDS, RECIPE, seed), CORPUS, RECIPE.steps, seed, **options)
        assert torch.allclose(weights(specimen), weights(alone), atol=1e-4)


def test_embeddings_alone_are_trained_in_copies(three):
    before = [weights(specimen) for specimen in three]
    for old, learnt in zip(three, tp.train_embeddings(three, CORPUS, RECIPE), strict=True):
        same = dict(old.model.named_parameters())
        moved = [name for name, new in learnt.model.named_parameters() if not torch.equal(new, same[name])]
        assert moved == ["bert.embeddings.word_embeddings.weight"]
    assert all(torch.equal(weights(specimen), w) for specimen, w in zip(three, before, strict=True))


def test_each_gradient_is_clipped_by_its_own_norm():
    large, small = (torch.ones(2, 3, requires_grad=True) for _ in "ab")
    scale = torch.tensor([[1000.0], [0.01]])
    descend([{"params": [large], "lr": 0.1}], lambda: (large * scale).sum(1), 3, clip_each)
    alone = small[1:].detach().clone().requires_grad_(True)
    descend([{"params": [alone], "lr": 0.1}], lambda: (alone * 0.01).sum(1), 3, clip_each)
    assert torch.allclose(large[1], alone[0])


@pytest.mark.parametrize("train", ["pretrain_static", "pretrain_pairs"])
def test_the_number_of_seeds_changes_no_seed(train):
    texts = tp.stories(tp.small_language(120), 40) if train == "pretrain_pairs" else CORPUS
    recipe = replace(RECIPE, layers=2, steps=4)
    one, two = (getattr(tp, train)(WORDS, texts, recipe, seeds)[0] for seeds in (1, 2))
    assert torch.allclose(weights(one), weights(two), atol=1e-5)


def test_next_sentence_losses_are_the_plain_mean(three, batches):
    stack, packed = Stack([s.model for s in three]), pack(batches)
    hidden = stack.hidden(packed)
    heads = tp.next_heads(RECIPE.width, range(3))
    labels = [torch.arange(len(batch["labels"])) % 2 for batch in batches]
    losses = tp.next_losses(heads, hidden, packed, labels)
    for i, (specimen, batch) in enumerate(zip(three, batches, strict=True)):
        inputs = {key: value for key, value in batch.items() if key != "labels"}
        first = specimen.model.base_model(**inputs).last_hidden_state[:, 0]
        logits = first @ heads[0][i].T + heads[1][i]
        assert torch.allclose(losses[i], nn.functional.cross_entropy(logits, labels[i]), atol=1e-5)


def test_models_of_two_sizes_or_with_dropout_are_refused(three):
    other = tiny_specimen(WORDS, replace(RECIPE, layers=1))
    with pytest.raises(BertologyError, match="one size"):
        Stack([three[0].model, other.model])
    other.model.config.hidden_dropout_prob = 0.1
    with pytest.raises(BertologyError, match="dropout"):
        Stack([other.model])


def test_what_is_not_masked_has_no_weight(batches):
    packed = pack(batches)
    for weights_, batch in zip(packed.weights, batches, strict=True):
        assert (weights_ > 0).sum() == (batch["labels"] != IGNORED).sum()
        assert weights_.sum() == pytest.approx(1)
