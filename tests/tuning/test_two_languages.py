"""Multilingual: the twin language, planted offsets, and a bilingual model small enough to train here."""

import pytest
import torch

from bertology_utils.activations import sentence_vectors
from bertology_utils.errors import BertologyError
from bertology_utils.language.twins import SHIFT, shift_word
from bertology_utils.tuning import two_languages as multi

SUBJECTS = [[article, noun] for article in ("the", "a") for noun in ("dog", "cat", "owl")]
SENTENCES = [[*subject, verb] for subject in SUBJECTS for verb in ("sleeps", "runs", "sings", "waits")]


def test_twin_language_shares_what_was_asked():
    types = {word for sentence in SENTENCES for word in sentence}
    for overlap in (0.0, 0.5, 1.0):
        twin = multi.twin_language(SENTENCES, overlap)
        translated = {word for sentence in SENTENCES for word in twin.translate(sentence)}
        assert len(types & translated) == round(overlap * len(types)) and len(translated) == len(types)
    inverted = multi.TwinLanguage(inverted=True)
    assert inverted.translate(["a", "dog"]) == (shift_word("dog"), shift_word("a"))
    assert shift_word(shift_word("dog"), -SHIFT) == "dog"


def test_overlap_is_a_share_of_the_union():
    assert multi.vocabulary_overlap({"a", "b"}, {"b", "c"}) == pytest.approx(1 / 3)
    with pytest.raises(BertologyError):
        multi.vocabulary_overlap([], [])


def planted(n=60, width=6, offset=6.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    meaning = torch.randn(2, n, width, generator=generator)
    direction = torch.randn(2, 1, width, generator=generator) * offset
    noise = 0.02 * torch.randn(2, n, width, generator=generator)
    return meaning, meaning + direction + noise


def test_retrieval_is_the_naive_loop():
    source, target = torch.randn(3, 20, 8), torch.randn(3, 20, 8)
    for layer in range(3):
        for i in range(20):
            cosines = torch.nn.functional.cosine_similarity(source[layer, i : i + 1], target[layer])
            assert multi.nearest(source, target)[layer, i] == cosines.argmax()


def test_offset_and_centring_find_planted_translations():
    source, target = planted()
    fit, test = range(30), range(30, 60)
    shifted = multi.translate_by_offset(source, target, fit, test).mean()
    assert shifted > 0.95 > multi.sentence_retrieval(source, target).mean() + 0.3
    assert multi.random_offset(source, target, fit, test).mean() < shifted - 0.3
    assert multi.centred_retrieval(source, target).mean() > 0.95
    with pytest.raises(BertologyError):
        multi.translate_by_offset(source, target, [1], [1])


def test_language_probe_sees_the_offset_and_not_more():
    source, target = planted()
    languages = [0] * 60 + [1] * 60
    assert multi.language_probe(torch.cat([source[0], target[0]]), languages).mean() > 0.95
    blind = torch.cat([multi.centred(source[0]), multi.centred(target[0])])
    assert multi.language_probe(blind, languages).mean() < 0.75


def test_mutual_nearest_and_f1():
    source = torch.eye(4)
    target = torch.eye(4)[[2, 0, 1, 3]]
    pairs = multi.mutual_nearest(source, target)
    assert multi.alignment_f1(pairs, [(0, 1), (1, 2), (2, 0), (3, 3)]) == 1
    assert multi.alignment_f1([(0, 0)], [(0, 1)]) == 0


def test_words_of_a_tiny_model_have_their_twins_among_its_pieces():
    twin = multi.twin_language(SENTENCES)
    second = [twin.translate(sentence) for sentence in SENTENCES]
    recipe = multi.BilingualRecipe(layers=2, width=32, inner=64)
    model = multi.tiny_specimen(sorted({w for s in [*SENTENCES, *second] for w in s}), recipe)
    assert sentence_vectors(model, SENTENCES).shape == (3, len(SENTENCES), 32)
    right = multi.word_translation(model, twin, ["dog", "cat", "owl"])
    assert right.shape == (3,) and right.dtype == bool
