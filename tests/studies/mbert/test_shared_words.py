"""Pairs with and without shared words: what is asked, and that a seed has everything of its own."""

import numpy as np

from bertology_utils.studies.mbert import crosslingual, shared_words

SEEDS = (7, 8)


def test_the_samples_are_values_of_seeds(small):
    found = shared_words.shared_words(SEEDS)
    for side in (found.model, found.twin):
        assert {name: sample.shape for name, sample in side.items()} == dict.fromkeys(side, (2, 1))
    assert np.array_equal(found.model["majority"], found.twin["majority"])


def test_only_words_that_no_twin_shares_are_asked(small):
    own = shared_words.Seed(7)
    words = [word for sentence in own.sentences[40:] for word in sentence.words]
    moved = np.array([own.sharing.translate([word])[0] != word for word in words])
    assert 0 < moved.sum() < len(words)
    assert np.array_equal(moved, crosslingual.in_other_letters(own.sentences[40:], own.sharing))
    assert own.moved(moved.astype(float)) == 1 and own.moved(~moved) == 0


def test_a_seed_has_words_twins_and_weights_of_its_own(small):
    first, second = (shared_words.Seed(seed) for seed in SEEDS)
    assert first.english != second.english and first.sharing.shared != second.sharing.shared
    models = [one.untrained(shared_words.RECIPE) for one in (first, second)]
    assert len({len(model.tokenizer) for model in models}) == 1
    assert not np.allclose(*(m.model.state_dict()["cls.predictions.transform.dense.weight"] for m in models))
