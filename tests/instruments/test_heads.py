"""Heads: gates against plain definitions, importance against a loop, agreement against closed forms."""

import numpy as np
import pytest
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments import heads
from bertology_utils.tuning.mlm_training import masked_batches, masked_loss

SENTENCES = [["the", "dog", "sees", "the", "cat"], ["a", "cat", "sleeps"], ["the", "dogs", "near", "a", "cat", "sleep"]]


@pytest.fixture
def batch(tiny):
    return masked_batches(tiny, SENTENCES, seed=3)[0][1]


def inputs(batch):
    return {key: value for key, value in batch.items() if key != "labels"}


def hidden(tiny, batch):
    return tiny.encoder(**inputs(batch)).last_hidden_state


def test_open_gates_change_nothing(tiny, batch):
    with torch.no_grad():
        plain = hidden(tiny, batch)
        with heads.gated(tiny.model, torch.ones(tiny.layers, tiny.heads)):
            assert torch.equal(hidden(tiny, batch), plain)
        assert torch.equal(hidden(tiny, batch), plain)


def test_closed_gate_is_zeroed_output_columns(tiny, batch):
    keep = torch.ones(tiny.layers, tiny.heads)
    keep[1, 0] = keep[0, 1] = 0
    with torch.no_grad():
        with heads.gated(tiny.model, keep):
            gated = hidden(tiny, batch)
        for layer, head in ((1, 0), (0, 1)):
            weight = heads.output_projections(tiny.model)[layer].weight
            size = weight.shape[1] // tiny.heads
            saved = weight.clone()
            weight[:, head * size : (head + 1) * size] = 0
            keep[layer, head] = 1
            heads.output_projections(tiny.model)[layer].saved = saved
        zeroed = hidden(tiny, batch)
        for projection in heads.output_projections(tiny.model):
            projection.weight.copy_(projection.saved)
            del projection.saved
        assert torch.allclose(gated, zeroed, atol=1e-6)
        assert not torch.allclose(gated, hidden(tiny, batch), atol=1e-4)


def test_one_backward_gives_the_gradients_of_single_examples(tiny, batch):
    together = heads.gate_gradients(tiny.model, batch, masked_loss)
    alone = [
        heads.gate_gradients(tiny.model, {k: v[i : i + 1] for k, v in batch.items()}, masked_loss)
        for i in range(len(SENTENCES))
    ]
    assert together.shape == (len(SENTENCES), tiny.layers, tiny.heads)
    assert torch.allclose(together, torch.cat(alone), atol=1e-6)
    assert together.abs().max() > 1e-5


def test_gradient_is_the_slope_of_the_loss(tiny, batch):
    gradient = heads.gate_gradients(tiny.model, batch, masked_loss)[:, 1, 1]
    gates, step = torch.ones(tiny.layers, tiny.heads), 1e-2
    values = []
    for sign in (1, -1):
        moved = gates.clone()
        moved[1, 1] += sign * step
        with torch.no_grad(), heads.gated(tiny.model, moved):
            values.append(masked_loss(tiny.model, batch))
    assert torch.allclose((values[0] - values[1]) / (2 * step), gradient, atol=1e-3)


def test_cumulative_importance_differs_from_the_expectation():
    gradients = torch.tensor([[[1.0, 0.1]], [[-1.0, 0.1]]])  # head 1 matters in each example, with changing sign
    exact = gradients.abs().mean(0)
    slipped = heads.cumulative_importance(gradients, batch_size=2)
    assert exact[0, 0] > exact[0, 1] and slipped[0, 0] < slipped[0, 1]


def test_uniform_ablation_is_uniform_attention(tiny, batch):
    keep = torch.zeros(tiny.layers, tiny.heads)
    with torch.no_grad():
        with heads.ablated(tiny.model, keep, "uniform"):
            ablated = hidden(tiny, batch)
        for block in tiny.encoder.encoder.layer:  # without queries every score is 0, so attention is uniform
            block.attention.self.saved = [p.clone() for p in block.attention.self.query.parameters()]
            for parameter in block.attention.self.query.parameters():
                parameter.zero_()
        uniform = hidden(tiny, batch)
        for block in tiny.encoder.encoder.layer:
            query = block.attention.self.query
            for parameter, value in zip(query.parameters(), block.attention.self.saved, strict=True):
                parameter.copy_(value)
            del block.attention.self.saved
    real = batch["attention_mask"].bool()
    assert torch.allclose(ablated[real], uniform[real], atol=1e-5)


def test_mean_ablation_keeps_the_mean_output(tiny, batch):
    with torch.no_grad():
        means = heads.head_means(tiny.model, [batch])
        with heads.ablated(tiny.model, torch.zeros(tiny.layers, tiny.heads), "mean", means):
            again = heads.head_means(tiny.model, [batch])
    assert means.shape == (tiny.layers, tiny.heads, tiny.width // tiny.heads)
    assert torch.allclose(means[0], again[0], atol=1e-6)  # the hook reads before it is replaced; layer 1 sees no change
    with pytest.raises(BertologyError), heads.ablated(tiny.model, torch.zeros(tiny.layers, tiny.heads), "mean"):
        pass


@pytest.mark.parametrize("how", ["zero", "mean", "uniform"])
def test_ablating_each_head_in_one_batch_is_the_loop(tiny, batch, how):
    with torch.no_grad():
        means = heads.head_means(tiny.model, [batch])
        fast = heads.ablate_each(tiny.model, batch, masked_loss, how, means)
        for layer in range(tiny.layers):
            for head in range(tiny.heads):
                keep = torch.ones(tiny.layers, tiny.heads)
                keep[layer, head] = 0
                with heads.ablated(tiny.model, keep, how, means):
                    assert torch.allclose(masked_loss(tiny.model, batch), fast[layer, head], atol=1e-5)


def test_pruning_curve_removes_the_least_important_first():
    worth = torch.arange(20.0).view(4, 5)
    curve = heads.prune_iteratively(lambda keep: worth, lambda keep: (worth * keep).flatten().numpy(), (4, 5), step=0.1)
    assert [int(point.keep.sum()) for point in curve] == list(range(20, -1, -2))
    assert not curve[1].keep[0, :2].any() and curve[1].keep.sum() == 18


def test_kappa_closed_form_and_null():
    same = np.tile(np.array([1, 1, 0, 0, 0, 0, 1, 0], bool), (4, 1))
    assert heads.fleiss_kappa(same) == pytest.approx(1)
    two = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], bool)  # observed 1/2, expected 1/2
    assert heads.fleiss_kappa(two) == pytest.approx(0)
    assert heads.fleiss_kappa(np.array([[1, 0], [0, 1]], bool)) == pytest.approx(-1)
    generator = np.random.default_rng(0)
    random = np.stack([generator.permutation(np.arange(60) < 20) for _ in range(5)])
    assert heads.kappa_test(random, 200).p > 0.01
    planted = random.copy()
    planted[:, :10] = True
    assert heads.kappa_test(planted, 200).p < 0.01


def test_wrong_gates_are_a_clear_error(tiny):
    with pytest.raises(BertologyError, match="do not fit"), heads.gated(tiny.model, torch.ones(1, 1)):
        pass


def test_rank_agreement_sees_order_and_not_scale():
    grid = np.arange(6.0).reshape(2, 3)
    assert heads.rank_agreement(grid, np.exp(grid)) == pytest.approx(1)
    assert heads.rank_agreement(grid, -grid) == pytest.approx(-1)
