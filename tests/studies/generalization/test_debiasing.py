"""Siamese features, features of a classifier, and the projection that removes a superficial view."""

import numpy as np

from bertology_utils.studies.generalization.debiasing import (
    linear_correct,
    siamese_features,
    superficial_features,
    without_superficial,
)
from bertology_utils.tuning.shortcuts import overlap_pairs


def test_siamese_features_are_u_v_difference_and_product(tiny):
    features = siamese_features(tiny, overlap_pairs(6, biased=True))
    u, v, difference, product = np.split(features, 4, axis=1)
    assert np.allclose(difference, np.abs(u - v)) and np.allclose(product, u * v)
    assert np.allclose(u[0], u[1], atol=1e-5)  # the same premise twice


def test_the_projection_removes_what_overlap_predicts_and_nothing_else():
    pairs = overlap_pairs(60, biased=True)
    superficial, rng = superficial_features(pairs), np.random.default_rng(0)
    noise = rng.normal(size=(60, 5))
    labels = np.asarray(pairs.labels)
    features = np.hstack([labels[:, None] * 3.0, noise])
    rest = without_superficial(features, superficial)
    assert np.abs(superficial.T @ rest).max() < 1e-8
    assert abs(rest[:, 0]).max() < 1e-8  # the label is overlap here
    assert linear_correct(features, labels, [(features, labels)])[0].mean() > 0.95
    assert np.corrcoef(noise[:, 0], rest[:, 1])[0, 1] > 0.9
