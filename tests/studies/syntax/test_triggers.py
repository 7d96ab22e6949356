"""The gradient is the gradient, the search lowers the loss, and a trigger holds no forbidden word."""

import numpy as np
import pytest
import torch

from bertology_utils.data import material
from bertology_utils.data.rows import Labelled
from bertology_utils.studies.syntax import triggers
from bertology_utils.studies.syntax.probing import two_questions
from bertology_utils.tuning.training import Examples, finetune


@pytest.fixture(scope="module")
def tuned(tiny):
    words, labels = two_questions(24)
    examples = Examples(words, labels["lexical"].tolist())
    return finetune(tiny, examples, examples, 0, freeze="encoder").classifier, words


def test_gradient_predicts_the_change_of_the_loss(tiny, tuned):
    classifier, words = tuned
    trigger = ("dog", "ran", "red")
    slope = triggers.embedding_gradient(classifier, tiny, words, 1, trigger)
    table = classifier.encoder.get_input_embeddings().weight
    piece = tiny.tokenizer.convert_tokens_to_ids("ran")
    others = [w for w in words if "ran" not in w]
    slope = triggers.embedding_gradient(classifier, tiny, others, 1, trigger)[1]
    before = triggers.trigger_loss(classifier, tiny, others, 1, trigger)
    step = 1e-2 * slope / slope.norm()
    with torch.no_grad():
        table[piece] += step
        after = triggers.trigger_loss(classifier, tiny, others, 1, trigger)
        table[piece] -= step
    assert after - before == pytest.approx(float(slope @ step), rel=0.1, abs=1e-6)


def test_the_search_lowers_the_loss_with_allowed_words(tiny, tuned):
    classifier, words = tuned
    allowed = triggers.candidate_words(tiny, {"dog", "cat"})
    assert "dog" not in allowed and len(allowed) > 50 and all(w.isalpha() for w in allowed)
    start = tuple(np.random.default_rng(0).permutation(list(allowed))[:3].tolist())
    found = triggers.find_trigger(classifier, tiny, words, 1, allowed, np.random.default_rng(1))
    losses = [triggers.trigger_loss(classifier, tiny, words, 1, t) for t in (found, start)]
    assert losses[0] < losses[1] and set(found) <= set(allowed)


def test_attack_reports_both_classes_and_a_baseline(tiny):
    found = triggers.trigger_attack(tiny, 16, 12, seeds=2, draws=2)
    assert found["triggered"].shape == found["random"].shape == found["accuracy"].shape == (2, 6)
    assert len(found["triggers"]) == 2 and ((found["random"] >= 0) & (found["random"] <= 1)).all()


def test_reviews_are_drawn_half_from_either_class(monkeypatch):
    rows = [Labelled(f"film number {i} is{' not' * (i % 3 == 0)} good", str(int(i % 3 > 0))) for i in range(60)]
    monkeypatch.setattr(material, "rows", lambda name, split: rows)
    examples = triggers._examples(12, 0, "train", "sst2")
    assert len(examples.sentences) == 12 and sum(examples.labels) == 6
    assert ["not" not in words for words in examples.sentences] == [label == 1 for label in examples.labels]
