"""FreeLB and SMART beside their definitions."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from bertology_utils.tuning import smoothing
from bertology_utils.tuning.classification_tasks import examples
from bertology_utils.tuning.smoothing import Smart, divergence, freelb, shifted
from bertology_utils.tuning.training import Classifier, batches, classification_loss, finetune


@pytest.fixture
def classifier(tiny):
    torch.manual_seed(0)
    made = Classifier(deepcopy(tiny.encoder), 2)  # the tests train it; the shared one stays as it is
    torch.nn.init.normal_(made.head.weight)  # as after some training: answers that a shift moves
    return made.eval()


@pytest.fixture
def batch(tiny):
    return batches(tiny, examples("voice", 6))[0][1]


def test_a_shift_is_added_to_the_pieces_and_goes_again(classifier, batch):
    inputs = {name: values for name, values in batch.items() if name != "labels"}
    plain, table = classifier(**inputs), classifier.encoder.get_input_embeddings()
    shift = torch.randn(table.embedding_dim)
    with shifted(classifier.encoder, shift):
        assert torch.allclose(table(batch["input_ids"]), table.weight[batch["input_ids"]] + shift)
        assert not torch.allclose(classifier(**inputs), plain)
    assert torch.equal(classifier(**inputs), plain)


def test_without_room_to_move_freelb_is_plain_tuning(classifier, batch):
    losses = [freelb(classifier, radius=0.0)(batch), classification_loss(classifier, batch)]
    assert torch.allclose(*losses)
    grads = [torch.autograd.grad(own.mean(), classifier.head.weight)[0] for own in losses]
    assert torch.allclose(*grads)


def test_freelb_climbs_and_stays_within_its_ball(classifier, batch, monkeypatch):
    seen = []
    inner = smoothing.shifted
    monkeypatch.setattr(
        smoothing, "shifted", lambda encoder, shift: seen.append(shift.detach()) or inner(encoder, shift)
    )
    radius = 0.5
    freelb(classifier, steps=4, radius=radius)(batch)
    lengths = torch.stack([shift.norm(dim=(1, 2)) for shift in seen]) / smoothing._mean_length(classifier.encoder)
    assert (lengths <= radius + 1e-5).all() and (lengths[-1] > lengths[0]).all()
    padding = batch["attention_mask"] == 0
    assert (seen[0][padding] == 0).all()

    def mean_loss(shift):
        with inner(classifier.encoder, shift):
            return classification_loss(classifier, batch).mean()

    assert mean_loss(seen[-1]) > mean_loss(seen[0])


def test_freelb_hides_the_same_numbers_in_each_step(classifier, batch, monkeypatch):
    states = []
    inner = smoothing.classification_loss
    monkeypatch.setattr(
        smoothing, "classification_loss", lambda *own: states.append(torch.get_rng_state()) or inner(*own)
    )
    freelb(classifier, steps=3)(batch)
    assert len(states) == 3 and all(torch.equal(states[0], own) for own in states)


def test_divergence_is_symmetric_and_none_of_equals():
    one, other = torch.randn(5, 3), torch.randn(5, 3)
    assert torch.allclose(divergence(one, other), divergence(other, one)) and (divergence(one, other) > 0).all()
    assert (divergence(one, one + 2.0).abs() < 1e-6).all()
    assert divergence(torch.tensor([[1.0]]), torch.tensor([[3.0]])).tolist() == [4.0]


def test_smart_adds_roughness_and_distance_to_the_loss(classifier, batch):
    plain = classification_loss(classifier, batch)
    assert torch.allclose(Smart(classifier, 0.0, 0.0)(batch), plain)
    assert torch.allclose(Smart(classifier, 0.0, 1.0)(batch), plain, atol=1e-6)  # at the start nothing has moved
    assert (Smart(classifier, 1.0, 0.0)(batch) > plain).all()
    smart = Smart(classifier, 0.0, 1.0)
    with torch.no_grad():
        classifier.head.weight += torch.randn_like(classifier.head.weight)
    assert (smart(batch) > classification_loss(classifier, batch)).all()


def test_smarts_shift_moves_answers_more_than_noise_of_its_length(classifier, batch):
    torch.manual_seed(0)
    inputs = {name: values for name, values in batch.items() if name != "labels"}
    smart, logits = Smart(classifier), classifier(**inputs)
    found = smart._roughness(batch, logits, torch.get_rng_state()).mean()
    noise = smoothing._noise(classifier, batch, 1.0)
    shift = smoothing.REACH * smart.length * smoothing._direction(noise)
    with shifted(classifier.encoder, shift):
        assert found > divergence(classifier(**inputs), logits).mean()


def test_what_dropout_hides_is_no_roughness(classifier, batch, monkeypatch):
    monkeypatch.setattr(smoothing, "REACH", 0.0)
    classifier.train()
    assert any(isinstance(own, torch.nn.Dropout) and own.p > 0 for own in classifier.modules())
    smart, dropout = Smart(classifier), torch.get_rng_state()
    logits = classifier(**{name: values for name, values in batch.items() if name != "labels"})
    assert (smart._roughness(batch, logits, dropout).abs() < 1e-6).all()


@pytest.mark.parametrize("objective", [freelb, Smart])
def test_both_learn(tiny, objective):
    train = examples("voice", 24)
    run = finetune(tiny, train, train, epochs=8, learning_rate=1e-3, objective=objective)
    assert run.losses[-3:].mean() < run.losses[:3].mean() and np.isfinite(run.losses).all()
