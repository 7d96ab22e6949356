"""Models that read from left to right: what comes later is not seen, and the next word is learnt."""

from dataclasses import replace

import torch

from bertology_utils.text import encode_words
from bertology_utils.tuning.left_to_right import LeftToRight, train, with_next
from bertology_utils.tuning.tiny_pretraining import TINY
from bertology_utils.tuning.together import pack
from bertology_utils.tuning.two_languages import tiny_specimen

RECIPE = replace(TINY, width=16, inner=16, steps=60, budget=64, learning_rate=1e-2)
TEXT = [("a", "b", "c"), ("b", "c", "a", "b"), ("c", "a", "b", "c")]


def models(count: int = 2):
    return [tiny_specimen("abcd", RECIPE, seed) for seed in range(count)]


def batch_of(specimen, sentences):
    return with_next(specimen, encode_words(specimen, sentences))


def test_the_label_of_each_piece_is_the_next_one() -> None:
    own = models(1)[0]
    batch = batch_of(own, TEXT[:2])
    ids, labels = batch["input_ids"], batch["labels"]
    assert labels[0].tolist() == [*ids[0, 1:5].tolist(), -100, -100] and labels[1, -1] == -100
    assert torch.equal(labels[1, :-1], ids[1, 1:])


def test_a_later_word_changes_nothing_before_it() -> None:
    fresh = models()
    stack = LeftToRight([one.model for one in fresh])
    told = [stack.hidden(pack([batch_of(one, [words]) for one in fresh])) for words in (TEXT[1], ("b", "c", "a", "d"))]
    assert torch.allclose(told[0][:, :4], told[1][:, :4]) and not torch.allclose(told[0][:, 4], told[1][:, 4])


def test_maps_are_of_earlier_pieces_and_reading_them_changes_nothing() -> None:
    fresh = models()
    stack, batch = LeftToRight([one.model for one in fresh]), pack([batch_of(one, TEXT) for one in fresh])
    losses, maps = stack.read(batch)
    assert maps.shape == (2, 2, 3, 6, 6) and torch.equal(maps, maps.tril())
    assert torch.allclose(maps.sum(-1), torch.ones(2, 2, 3, 6))
    assert torch.allclose(losses, stack.masked_losses(stack.hidden(batch), batch))


def test_the_next_word_is_learnt() -> None:
    fresh = models()
    before = LeftToRight([one.model for one in fresh]).read(pack([batch_of(one, TEXT) for one in fresh]))[0]
    after = train(fresh, [TEXT] * 2, RECIPE, [0, 1]).read(pack([batch_of(one, TEXT) for one in fresh]))[0]
    assert (after < 0.6 * before).all()
