"""Siamese features, features of a classifier, and the projection that removes a superficial view."""

import numpy as np
import torch

from bertology_utils.studies.generalization.debiasing import (
    Siamese,
    linear_correct,
    siamese_features,
    superficial_features,
    without_superficial,
)
from bertology_utils.studies.generalization.planted import mixed_lessons
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.shortcuts import by_pair, overlap_pairs
from bertology_utils.tuning.training import Classifier, batches, compared, finetune, pooled
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed


def test_siamese_features_are_u_v_difference_and_product(tiny):
    features = siamese_features(tiny, overlap_pairs(6, biased=True))
    u, v, difference, product = np.split(features, 4, axis=1)
    assert np.allclose(difference, np.abs(u - v)) and np.allclose(product, u * v)
    assert np.allclose(u[0], u[1], atol=1e-5)  # the same premise twice


def alone(specimen, sentences) -> torch.Tensor:
    """The plain definition: each sentence in an input of its own, and the mean of its pieces."""
    found = []
    for sentence in sentences:
        inputs = model_inputs(specimen, encode_words(specimen, [sentence]))
        found.append(pooled(specimen.encoder(**inputs).last_hidden_state, inputs, "mean"))
    return torch.cat(found)


@torch.no_grad()
def test_sentences_of_a_trainable_siamese_encoder_never_meet(tiny):
    pairs = overlap_pairs(12, biased=False)
    for kind, apart in ((Siamese, True), (Classifier, False)):
        reader = kind(tiny.encoder, 2, "pair", tiny.tokenizer.sep_token_id).eval()
        plain = compared(alone(tiny, pairs.sentences), alone(tiny, pairs.pairs))
        for rows, batch in batches(tiny, pairs, budget=60):
            del batch["labels"]
            assert torch.allclose(reader.features(**batch), plain[rows], atol=1e-5) == apart


def test_a_siamese_encoder_is_trained_through_both_sentences(tiny):
    pairs = overlap_pairs(24, biased=True)
    run = finetune(tiny, pairs, pairs, kind=Siamese, pool="pair", epochs=1, budget=192)
    before, after = dict(tiny.encoder.named_parameters()), dict(run.specimen.encoder.named_parameters())
    moved = {name for name, own in after.items() if not torch.equal(own, before[name])}
    assert any("layer.0" in name for name in moved) and run.features.shape == (24, 4 * tiny.width)


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


def planted_features(pairs, rng, structure: float) -> np.ndarray:
    """Word overlap plainly, whether the hypothesis follows to a degree, and noise."""
    follows = np.asarray(pairs.labels)[:, None] * structure + rng.normal(size=(len(pairs), 1))
    return np.hstack([superficial_features(pairs)[:, :3] * 3, follows, rng.normal(size=(len(pairs), 20))])


def asked_through_hex(lessons, structure: float) -> dict[str, np.ndarray]:
    """What `readers.projected` gives, of five encoders with planted features."""
    rng, sets = np.random.default_rng(0), [overlap_pairs(400, biased=flag, split="test") for flag in (True, False)]
    found = {}
    for name, superficial in {"hex": superficial_features(lessons), "unprojected": None}.items():
        scores = []
        for _ in range(5):
            tests = [(planted_features(pairs, rng, structure), pairs.labels) for pairs in sets]
            train = planted_features(lessons, rng, structure)
            scores.append(linear_correct(train, lessons.labels, tests, superficial))
        for own, correct in zip(("_in_domain", ""), zip(*scores, strict=True), strict=True):
            found[name + own] = by_pair(np.stack(correct))
    return found


def hex_verdict(samples: dict[str, np.ndarray]) -> str:
    claim, control = claim_by_id("hex-debiasing"), {name: np.full((5, 200), 0.5) for name in samples}
    return judge_claim(claim, needed(claim, samples), [needed(claim, control)]).verdict


def test_where_overlap_is_the_label_hex_learns_nothing_and_shows_nothing():
    found = asked_through_hex(overlap_pairs(800, biased=True), 3)
    assert (found["hex"] == 0.5).all() and (found["hex_in_domain"] == 0.5).all()  # arithmetic
    assert hex_verdict(found) == "cannot do the task"


def test_with_some_lessons_that_break_the_rule_hex_finds_what_follows():
    found = asked_through_hex(mixed_lessons(800, 0), 4)
    assert found["hex"].mean() > found["unprojected"].mean() + 0.1 and found["hex_in_domain"].mean() > 0.85
    assert hex_verdict(found) == "contradicts"


def test_hex_that_changes_nothing_replicates():
    rng = np.random.default_rng(1)
    found = {name: (rng.random((5, 200)) < 0.95) * 1.0 for name in ("hex_in_domain", "unprojected_in_domain")}
    found |= {name: (rng.random((5, 200)) < 0.55) * 1.0 for name in ("hex", "unprojected")}
    assert hex_verdict(found).startswith("replicates")
