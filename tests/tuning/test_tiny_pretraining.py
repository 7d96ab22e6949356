"""Tiny pre-trainings: static masks stay, stacking copies, stories share a noun, live claims spare random runs."""

from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.text import encode_words
from bertology_utils.tuning import tiny_pretraining as tp
from bertology_utils.tuning.two_languages import tiny_specimen

LANGUAGE = tp.small_language(150)
CORPUS = [s.words for s in LANGUAGE]
WORDS = sorted({w for words in CORPUS for w in words} | {"an"})
RECIPE = replace(tp.TINY, width=16, inner=32, steps=6, budget=256)


def test_small_language_is_small_and_has_no_doubles():
    assert len(set(CORPUS)) == len(CORPUS) and len(WORDS) < 260
    with pytest.raises(BertologyError):
        tp.small_language(3, words_a_group=0)


def test_stories_are_about_one_noun_in_order():
    for first, second in tp.stories(LANGUAGE, 30):
        introduced = {b for a, b in pairwise(first) if a in ("a", "an")}
        taken_up = {b for a, b in pairwise(second) if a == "the"}
        assert introduced & taken_up and first != second


def test_static_masks_stay_the_same_and_dynamic_ones_do_not():
    specimen = tiny_specimen(WORDS, RECIPE)
    feed = tp.static_batches(specimen, encode_words(specimen, CORPUS[:1]), 0, 256)
    batches = list(islice(feed, 3))
    assert all(torch.equal(batches[0]["input_ids"], other["input_ids"]) for other in batches[1:])
    two = list(islice(tp.static_batches(specimen, encode_words(specimen, CORPUS[:2]), 0, 256), 2))
    assert two[0]["labels"].shape == two[0]["input_ids"].shape and len(two[0]["labels"]) == 2


def test_stacked_model_repeats_its_layers():
    specimen = tiny_specimen(WORDS, replace(RECIPE, layers=1))
    twice = tp.stacked(specimen)
    assert twice.layers == 2 and specimen.layers == 1
    first, second = twice.model.base_model.encoder.layer
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)
    assert torch.equal(twice.model.get_input_embeddings().weight, specimen.model.get_input_embeddings().weight)


def test_joined_sentences_are_encoded_as_the_pairs_they_are():
    documents = tp.stories(LANGUAGE, 10)
    specimen = tiny_specimen(WORDS, RECIPE)
    pieces = tp.sentence_pieces(specimen, [documents])
    first, second = zip(*documents, strict=True)
    assert [tp.joined(pieces[a], pieces[b]) for a, b in documents] == encode_words(specimen, first, second)


@pytest.mark.parametrize("next_sentence", [True, False])
def test_pairs_are_trained_with_and_without_nsp(next_sentence):
    models = tp.pretrain_pairs(WORDS, tp.stories(LANGUAGE, 40), RECIPE, 2, next_sentence=next_sentence)
    assert not any(specimen.model.training for specimen in models)
    assert np.isfinite(tp.held_out_losses(models, CORPUS[:10])).all()


def test_training_lowers_the_loss_and_every_arm_runs():
    recipe = replace(RECIPE, steps=40, layers=2)
    untrained = tp.held_out_losses([tiny_specimen(WORDS, recipe)], CORPUS[:40]).mean()
    for arm in (tp.pretrain_all, tp.pretrain_static):
        assert tp.held_out_losses(arm(WORDS, CORPUS, recipe, 2), CORPUS[:40]).mean() < untrained - 0.2


def test_agreement_pairs_turn_the_number_of_the_verb():
    pairs = tp.agreement_pairs_of(LANGUAGE)
    assert pairs and all(pair.differing() == (pair.focus,) for pair in pairs)
    assert all(tp.OTHER_NUMBER[tp.OTHER_NUMBER[word]] == word for word in tp.OTHER_NUMBER)
