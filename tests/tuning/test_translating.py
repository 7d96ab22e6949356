"""Tiny translators: what agrees with what, what a planted start gives, and that training together is training alone."""

import numpy as np
import pytest
import torch

from bertology_utils.language.twins import shift_word
from bertology_utils.tuning import translating
from bertology_utils.tuning.translating import ENDINGS, inflected, pairs_of, reader, share_right, translators

SENTENCES = translating.short_sentences(60, seed=0)


def test_verbs_and_modifiers_end_by_the_class_of_their_noun():
    sentence = next(s for s in SENTENCES if {"nsubj", "det", "root"} <= set(s.deprels))
    subject = sentence.deprels.index("nsubj")
    verb, noun = sentence.heads[subject], sentence.lemmas[subject]
    for second, ending in ((frozenset({noun}), ENDINGS[1]), (frozenset(), ENDINGS[0])):
        translated = inflected(sentence, second)
        assert translated[translated.index(shift_word(sentence.words[verb])) + 1] == ending
    assert inflected(sentence, None) == [shift_word(word) for word in reversed(sentence.words)]


def test_half_of_the_nouns_are_of_the_second_class_and_a_seed_draws_which():
    first, other = (translating.noun_class(SENTENCES, seed) for seed in (0, 1))
    nouns = {lemma for s in SENTENCES for lemma, tag in zip(s.lemmas, s.upos, strict=True) if tag in ("NOUN", "PROPN")}
    assert first != other and 0 < len(first & nouns) < len(nouns)


def test_sentences_are_short_different_and_of_the_seed():
    assert len({s.words for s in SENTENCES}) == 60 and max(len(s.words) for s in SENTENCES) <= translating.LONGEST
    assert translating.short_sentences(60, seed=0) == SENTENCES != translating.short_sentences(60, seed=1)


@pytest.fixture(scope="module")
def trained():
    """Two translators of few sentences, which they come to know; the second reads translations of other sentences."""
    few = SENTENCES[: translating.AT_ONCE]
    pairs = pairs_of(few, translating.noun_class(few, 0))
    shifted = [(source, target) for (source, _), (_, target) in zip(pairs, pairs[1:] + pairs[:1], strict=True)]
    return pairs, shifted, translators([reader(SENTENCES, 0)] * 2, [pairs, shifted], 60, [0, 0])


def test_a_translator_comes_to_know_its_pairs_and_reads_their_sources(trained):
    pairs, shifted, (own, other) = trained
    assert share_right(own, pairs) > share_right(own, pairs, shift=1) + 0.1
    assert share_right(own, pairs) > share_right(own, shifted) and share_right(other, shifted) > 0.5


def test_training_leaves_the_start_and_changes_a_copy_that_is_read_as_a_specimen(trained):
    fresh, own = reader(SENTENCES, 0), trained[2][0]
    assert own.specimen.encoder is own.encoder
    before, after = (next(model.parameters()) for model in (fresh.encoder, own.encoder))
    assert before.shape == after.shape and not torch.equal(before, after)


def test_what_comes_later_is_not_seen():
    model = translating.Translator(reader(SENTENCES, 0), 0)
    source, read, target, written = translating._sides(model.specimen, pairs_of(SENTENCES[:4], frozenset()))
    changed = target.clone()
    changed[:, 3:] = changed[:, 3:].flip(0)
    with torch.no_grad():
        logits, others = (model(source, read, ids, written) for ids in (target, changed))
    assert logits[:, :3].numpy() == pytest.approx(others[:, :3].numpy(), abs=1e-5)
    assert np.abs((logits - others)[:, 3:].numpy()).max() > 1e-4


def test_the_sides_of_models_are_padded_alike():
    short, long = (torch.ones(2, length, dtype=torch.long) for length in (3, 5))
    stacked = translating._stacked([(short, short.bool()) * 2, (long, long.bool()) * 2])
    assert [part.shape for part in stacked] == [(2, 2, 5)] * 4 and not stacked[1][0, :, 3:].any()
