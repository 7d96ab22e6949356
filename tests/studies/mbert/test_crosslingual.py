"""Cross-lingual measures: the fair choice of a layer, lexical baselines, tagging across languages, alignment."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.instruments.probes import stack_words
from bertology_utils.studies.mbert import crosslingual as cl
from bertology_utils.tuning.tiny_pretraining import small_language
from bertology_utils.tuning.two_languages import BilingualRecipe, TwinLanguage, tiny_specimen

LANGUAGE = small_language(260)
TWIN, INVERTED = TwinLanguage(), TwinLanguage(inverted=True)
WORDS = sorted({w for s in LANGUAGE for w in (*s.words, *TWIN.translate(s.words))})
SPECIMEN = tiny_specimen(WORDS, replace(BilingualRecipe(), layers=1, width=48, inner=48))


def test_layer_is_chosen_on_even_items_and_measured_on_odd_ones():
    scores = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1]])
    assert cl.selected(scores).tolist() == [0, 0]


def test_counting_words():
    sentences = [["a", "dog", "runs"], ["a", "cat", "sleeps"], ["the", "owl", "sings"]]
    assert cl.lexical_retrieval(sentences, sentences).tolist() == [1, 1, 1]
    foreign = [TWIN.translate(s) for s in sentences]
    assert cl.lexical_retrieval(sentences, foreign) == pytest.approx([1 / 3] * 3)
    partly = [["x"], ["a", "cat"], ["the"]]
    assert cl.lexical_retrieval(sentences, partly).tolist() == [0, 1, 1]


def test_tagging_transfers_to_itself_and_not_to_unseen_letters():
    own = cl.zero_shot_tagging(SPECIMEN, LANGUAGE[:200], LANGUAGE[200:], None)
    other = cl.zero_shot_tagging(SPECIMEN, LANGUAGE[:200], LANGUAGE[200:], TWIN)
    assert own.shape == (2, sum(len(s.words) for s in LANGUAGE[200:]))
    assert own.mean() > max(0.6, other.mean() + 0.2)


def test_words_of_an_inverted_language_stand_in_the_order_of_the_first(monkeypatch):
    places = []
    monkeypatch.setattr(cl, "stack_words", lambda vectors, chosen=None: places.append(chosen) or stack_words(vectors))
    for language in (TWIN, INVERTED):
        cl.zero_shot_tagging(SPECIMEN, LANGUAGE[:40], LANGUAGE[40:42], language)
    words = len(LANGUAGE[40].words)
    assert places[1][:words] == [(0, place) for place in range(words)] == places[3][:words][::-1]
    assert cl.sentence_of_words(LANGUAGE[40:42]) == ["0"] * words + ["1"] * len(LANGUAGE[41].words)


def test_shared_words_are_not_in_other_letters():
    some = TwinLanguage(frozenset(LANGUAGE[0].words[:1]))
    moved = cl.in_other_letters(LANGUAGE[:1], some)
    assert not moved[0] and moved.sum() == sum(word != LANGUAGE[0].words[0] for word in LANGUAGE[0].words)


def test_fresh_embeddings_leave_body_and_special_pieces():
    fresh = cl.with_fresh_embeddings(SPECIMEN)
    before, after = (m.model.get_input_embeddings().weight for m in (SPECIMEN, fresh))
    specials = sorted(SPECIMEN.tokenizer.all_special_ids)
    assert torch.equal(before[specials], after[specials]) and not torch.allclose(before[10:], after[10:])
    assert torch.equal(fresh.model.cls.predictions.decoder.weight, after)
    for a, b in zip(SPECIMEN.encoder.encoder.parameters(), fresh.encoder.encoder.parameters(), strict=True):
        assert torch.equal(a, b)


def test_shares_and_similarity_of_planted_vectors():
    meaning = torch.randn(1, 50, 6, generator=torch.Generator().manual_seed(0))
    shift = torch.tensor([3.0, 0, 0, 0, 0, 0])
    assert cl.parallel_similarity(meaning, meaning + shift).mean() > 0.9
    total, between = cl.language_share(meaning[0], meaning[0] + shift)
    assert between.mean() == pytest.approx(1.5**2, rel=1e-4) and 0 < between.mean() / total.mean() < 1
    total, between = cl.language_share(meaning[0], meaning[0] + shift, meaning[0] - shift)
    assert between.mean() == pytest.approx(6, rel=1e-4) and len(total) == 150
