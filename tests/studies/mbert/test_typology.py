"""Features of held-out languages: planted ones are told, noise is not, the weights are those of ridge regression."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from bertology_utils.language.ten_languages import LANGUAGES, parallel_corpus
from bertology_utils.studies.mbert import typology
from bertology_utils.studies.mbert.parallel_text import Vectors

CORPUS = parallel_corpus(12, "test")


def planted(strength: float) -> Vectors:
    """Three layers of noise, to which each language adds its features with some strength."""
    generator = torch.Generator().manual_seed(0)
    table = torch.tensor(typology.TABLE, dtype=torch.float32)
    noise = torch.randn(len(LANGUAGES), 12, 3, 1, table.shape[1], generator=generator)
    rows = noise + strength * table[:, None, None, None]
    return Vectors(dict(zip(LANGUAGES, map(list, rows), strict=True)))


def test_each_feature_has_two_values_in_several_families():
    for feature in typology.TABLE.T:
        assert all(len(set(typology.FAMILIES[feature == value])) >= 2 for value in (-1, 1))


def test_planted_features_are_told_and_noise_is_not():
    found = typology.told_features(planted(2.0), CORPUS)
    assert found["held_out"].shape == (12,) and found["held_out"].mean() > 0.85 > found["dealt_anew"]
    assert found["share_beaten"] > 0.99 and set(typology.by_feature(planted(2.0))) == set(typology.FEATURES)
    found = typology.told_features(planted(0.0), CORPUS)
    assert 0.4 < found["held_out"].mean() < 0.6 and found["held_out"].mean() < found["dealt_anew"] + 0.05


def test_the_weights_are_those_of_ridge_regression():
    rows = np.random.default_rng(0).normal(size=(len(LANGUAGES), 6, 5))
    weights = typology.language_weights(rows)
    learnt = typology.FAMILIES[0] != typology.FAMILIES
    labels = np.where(np.arange(learnt.sum()) < 4, 1.0, -1.0)
    known = rows[learnt].reshape(-1, 5)
    scaled = (known - known.mean(0)) / known.std(0)
    plain = Ridge(alpha=len(known), fit_intercept=False).fit(scaled, np.repeat(labels, 6))
    asked = (rows[0] - known.mean(0)) / known.std(0)
    assert weights[0][:, learnt] @ labels / learnt.sum() == pytest.approx(plain.predict(asked))
    assert not weights[0][:, ~learnt].any()


def test_either_value_of_a_feature_counts_alike():
    table = typology.TABLE[:, :1]
    always = np.ones((len(LANGUAGES), 3, len(LANGUAGES)))
    told = typology.right_features(np.maximum(table.T, 0) * always, table)
    assert told == pytest.approx(np.full((1, 3), 0.5))


def test_characters_are_counted_sentence_by_sentence():
    counts = typology.counted_characters(CORPUS)
    assert counts.shape == (len(LANGUAGES), 12, typology.NGRAMS) and counts[0, 0].any()
