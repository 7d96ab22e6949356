"""The planted shortcut, the heuristics that use it, and the views of a reading item."""

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.studies.generalization.reading_comprehension import (
    MASK,
    VIEWS,
    answers_right,
    known_items,
    matcher_right,
    reading_items,
)
from bertology_utils.tuning.shortcuts import (
    bag_of_words,
    bag_predictions,
    by_pair,
    challenge_kinds,
    lexical_overlap,
    number_sentences,
    overlap_heuristic,
    overlap_pairs,
    split_by_label,
)
from bertology_utils.tuning.training import Examples


def test_the_shortcut_solves_the_biased_pairs_and_fails_the_challenge():
    assert overlap_heuristic(overlap_pairs(60, biased=True)).all()
    follows, does_not = split_by_label(overlap_heuristic(overlap_pairs(60, biased=False)))
    assert follows.all() and not does_not.any()
    assert (lexical_overlap(overlap_pairs(60, biased=False)) == 1).all()


def test_a_bag_of_words_cannot_solve_the_challenge():
    train, test = (overlap_pairs(600, biased=False, seed=i) for i in (0, 1))
    swaps = np.array(challenge_kinds(600)) == "swap"
    assert abs(bag_of_words(train, test)[swaps].mean() - 0.5) < 0.12


def test_a_bag_of_pairs_finds_what_they_share_and_no_order():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(4000)]
    firsts = [list(rng.choice(words, 6)) for _ in range(300)]
    labels = rng.integers(0, 2, 300)
    both = list(zip(firsts, labels, strict=True))
    copies = [list(rng.permutation(own)) if label else list(rng.choice(words, 6)) for own, label in both]
    turned = [own if label else own[::-1] for own, label in both]
    for seconds, low, high in ((copies, 0.95, 1.0), (turned, 0.3, 0.7)):
        train, test = (Examples(firsts[own], labels[own], seconds[own]) for own in (slice(200), slice(200, 300)))
        assert low <= (bag_predictions(train, test).argmax(1) == test.labels).mean() <= high
    graded = [Examples(part.sentences, part.labels / 2, part.pairs, graded=True) for part in (train, test)]
    assert bag_predictions(*graded).shape == (100, 1)


def test_pairs_share_premises_but_splits_share_no_content_words():
    biased, challenge = (overlap_pairs(12, biased=flag) for flag in (True, False))
    assert biased.sentences[::2] == challenge.sentences[::2]
    strange = load_lexicon("test").forms()
    assert not any(word in strange for words in (*biased.sentences, *biased.pairs) for word in words)
    with pytest.raises(BertologyError):
        overlap_pairs(3, biased=True)


def test_constant_answers_score_one_half_on_every_couple():
    constant = np.asarray(overlap_pairs(20, biased=False).labels) == 1
    assert (by_pair(constant) == 0.5).all()


def test_any_noun_tells_the_number_only_in_biased_sentences():
    lexicon = load_lexicon("train")
    plural = {noun.plural for group in lexicon.nouns.values() for noun in group}
    for biased in (True, False):
        examples = number_sentences(20, biased=biased)
        subject, other = (np.array([words[i] in plural for words in examples.sentences]) for i in (1, 4))
        assert (subject == np.asarray(examples.labels)).all()
        assert (other == subject).all() if biased else (other != subject).all()


def test_bag_of_words_learns_a_word_and_nothing_else():
    examples = Examples([("a", "b"), ("c", "b")] * 20, [0, 1] * 20)
    assert bag_of_words(examples, examples, part="first").all()
    assert bag_of_words(examples, Examples([("b", "a"), ("b", "c")], [0, 1]), part="first").all()


def test_reading_items_ask_what_the_passage_tells():
    for item in reading_items(40):
        assert len(set(item.options)) == 4 and set(item.options) <= set(item.passage)
        for view in VIEWS:
            passage, question = item.view(view)
            assert question.count(MASK) == 1 and item.options[0] not in question
            assert not passage or set(passage) == set(item.passage)


def test_matching_words_solves_literal_questions_alone():
    items = reading_items(80)
    assert matcher_right(items).mean() > 0.95
    assert abs(matcher_right(items, "no_passage").mean() - 0.25) < 1e-9
    assert matcher_right(items, "paraphrased").mean() < 0.6


def test_an_untrained_model_answers_at_chance(tiny):
    items = known_items(tiny, reading_items(120))
    assert len(items) > 40
    assert answers_right(tiny, items).mean() < 0.5
