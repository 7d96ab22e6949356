"""Each choice of weights is what its study defines, and what is pruned stays zero."""

import copy
import dataclasses

import pytest
import torch

from bertology_utils.compression.methods import pruned
from bertology_utils.compression.methods.lesson import asked
from bertology_utils.compression.methods.pruned import (
    FLOOR,
    HALF,
    PENALTY,
    SOFT,
    TEMPERATURE,
    THRESHOLD,
    Scores,
    farthest,
    masked_answers,
    misplaced,
    movement_loss,
    share_kept,
    shrunk,
    stored,
    strength_for,
    tuned_under,
)
from bertology_utils.compression.methods.registry import method
from bertology_utils.compression.methods.traces import soft_loss
from bertology_utils.compression.prune import apply_masks, magnitude_masks, prunable
from bertology_utils.errors import BertologyError


def test_what_is_pruned_stays_zero_and_one_that_comes_back_is_noticed(pair_lesson, network):
    masks = magnitude_masks(network.encoder, HALF)
    tuned_under(pair_lesson, network, masks)
    assert stored(network, masks).facts["nonzero_pruned"] == 0
    name, mask = next(iter(masks.items()))
    with torch.no_grad():
        network.encoder.get_parameter(name)[~mask] += 1
    assert stored(network, masks).facts["nonzero_pruned"] == int((~mask).sum())


def test_random_masks_keep_half_and_are_not_the_largest(pair_lesson, network):
    small = method("random half, retrained").special(pair_lesson)
    assert small.facts["share_kept"] == pytest.approx(HALF, abs=1e-3)
    kept = small.network.encoder.encoder.layer[0].intermediate.dense.weight != 0
    largest = magnitude_masks(network.encoder, HALF)["encoder.layer.0.intermediate.dense.weight"]
    assert 0.3 < float((kept & largest).sum() / largest.sum()) < 0.7


# ---------------------------------------------------------------- rewinding


def test_the_last_round_starts_at_the_pretrained_weights(pair_lesson):
    small = method("IMP, rewind 50%").special(pair_lesson)
    assert small.facts["not_rewound"] == 0 and small.facts["share_kept"] == pytest.approx(HALF, abs=1e-3)


def test_rounds_that_go_on_without_rewinding_are_noticed(pair_lesson, monkeypatch):
    going_on = dataclasses.replace(pair_lesson)
    monkeypatch.setattr(type(going_on), "network", lambda self: self.copy_of_teacher())
    assert method("IMP, rewind 50%").special(going_on).facts["not_rewound"] > 0


def test_distance_from_the_origin_counts_kept_weights_alone(network):
    masks, moved = magnitude_masks(network.encoder, HALF), copy.deepcopy(network.encoder)
    apply_masks(moved, masks)
    assert farthest(moved, network.encoder, masks) == 0
    name, mask = next(iter(masks.items()))
    with torch.no_grad():
        moved.get_parameter(name)[tuple(mask.nonzero()[0])] += 0.25
    assert farthest(moved, network.encoder, masks) == pytest.approx(0.25)


# ---------------------------------------------------------------- the shrinking step


def test_the_step_minimises_what_it_stands_for():
    """argmin over x of (x - w)^2 / 2 + a |x|, with a = strength / (|w| + FLOOR)."""
    grid = torch.linspace(-1, 1, 20_001)
    for weight in (-0.7, -0.02, 0.0, 0.01, 0.3):
        pull = 1e-3 / (abs(weight) + FLOOR)
        best = grid[((grid - weight) ** 2 / 2 + pull * grid.abs()).argmin()]
        assert float(shrunk(torch.tensor(weight), 1e-3)) == pytest.approx(float(best), abs=1e-4)


def test_the_step_pulls_small_weights_harder():
    weights = torch.tensor([0.02, 0.2, 2.0])
    lost = weights - shrunk(weights, 1e-4)
    assert lost[0] > lost[1] > lost[2] > 0


def test_the_strength_leaves_the_share_that_was_asked():
    weights = {"a": torch.randn(100, 100) * 0.04, "b": torch.randn(50, 100) * 0.08}
    strength = strength_for(weights, 0.59, 200)
    for _ in range(200):
        weights = {name: shrunk(weight, strength) for name, weight in weights.items()}
    assert share_kept({name: weight != 0 for name, weight in weights.items()}) == pytest.approx(0.59, abs=0.02)
    with pytest.raises(BertologyError, match="between 0 and 1"):
        strength_for(weights, 1.2, 200)


def test_reading_on_makes_zeros_that_tuning_leaves(small_course, pair_lesson):
    body = method("RPP").general(small_course)
    zeros = {name: weight == 0 for name, weight in prunable(body.encoder).items()}
    assert sum(int(zero.sum()) for zero in zeros.values()) > 0
    small = method("RPP").special(dataclasses.replace(pair_lesson, body=body))
    assert all((small.network.encoder.get_parameter(name)[zero] == 0).all() for name, zero in zeros.items())
    assert all(weight.ne(0).any() for weight in prunable(small_course.origin.encoder).values())


# ---------------------------------------------------------------- movement


@pytest.fixture
def scores(network):
    made = Scores(prunable(network.encoder))
    for values in made.values:
        torch.nn.init.normal_(values, mean=-2, std=1)
    return made


def test_a_score_learns_the_slope_times_the_weight(network, batch, scores):
    name, values = scores.names[0], scores.values[0]
    weight = network.encoder.get_parameter(name)
    torch.nn.functional.cross_entropy(masked_answers(network, scores, batch), batch["labels"]).backward()
    applied = copy.deepcopy(network)
    apply_masks(applied.encoder, scores.masks())
    applied.zero_grad()
    torch.nn.functional.cross_entropy(applied(**asked(batch)), batch["labels"]).backward()
    slope, mask = applied.encoder.get_parameter(name).grad, values.detach().sigmoid() > THRESHOLD
    assert torch.allclose(values.grad, slope * weight.detach(), atol=1e-6) and (values.grad[~mask] != 0).any()
    assert torch.allclose(weight.grad, slope * mask, atol=1e-6)


def test_the_movement_loss_is_its_definition(network, pair_lesson, batch, scores):
    scores.press(0.5)
    made = movement_loss(scores, pair_lesson.teacher)(network, batch)
    apply_masks(network.encoder, scores.masks())
    with torch.no_grad():
        logits, taught = network(**asked(batch)), pair_lesson.teacher(**asked(batch))
        hard = torch.nn.functional.cross_entropy(logits, batch["labels"])
        everything = torch.cat([values.flatten() for values in scores.values]).sigmoid().mean()
    plain = SOFT * soft_loss(logits, taught, TEMPERATURE) + (1 - SOFT) * hard
    assert scores.pressure == pytest.approx(1 - 0.5**3)
    assert made.item() == pytest.approx((plain + PENALTY * scores.pressure * everything).item(), rel=1e-4)


def test_weights_that_are_not_what_their_score_says_are_counted(network, scores):
    dense = {name: weight.detach().clone() for name, weight in prunable(network.encoder).items()}
    below = sum(int((~mask).sum()) for mask in scores.masks().values())
    assert misplaced(network, dense, scores) == below > 0  # nothing has been pruned yet
    apply_masks(network.encoder, scores.masks())
    assert misplaced(network, dense, scores) == 0
    name = scores.names[0]
    with torch.no_grad():
        network.encoder.get_parameter(name)[tuple(scores.masks()[name].nonzero()[0])] = 0
    assert misplaced(network, dense, scores) == 1


def test_movement_pruning_freezes_embeddings_and_prunes_by_score(pair_lesson, monkeypatch):
    monkeypatch.setattr(pruned, "SCORE_RATE", 4.0)
    small = method("Soft MvP").special(pair_lesson)
    assert 0 < small.facts["share_kept"] < 1 and small.facts["misplaced"] == 0 == small.facts["nonzero_pruned"]
    frozen = pair_lesson.origin.encoder.embeddings.state_dict()
    assert all(torch.equal(v, frozen[n]) for n, v in small.network.encoder.embeddings.state_dict().items())
