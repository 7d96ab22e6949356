"""What is cut is gone from the shapes, and nothing else changes."""

import copy

import pytest
import torch

from bertology_utils.compression.methods.lesson import asked, count
from bertology_utils.compression.methods.structured import (
    HALF,
    HIGH,
    KEPT,
    LOW,
    PENALTY,
    STRETCH,
    HardConcrete,
    cut,
    cut_difference,
    gate_loss,
    gated_answers,
    grids,
    importance,
    most,
    shapes,
)
from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.instruments.heads import gated


@pytest.fixture
def gates(network):
    """Gates between 0 and 1, unlike from layer to layer: one head of the first, three of the second."""
    heads, rows = (torch.rand(grid).clamp_min(0.2) for grid in grids(network))
    heads[0, 1:] = 0
    heads[1, 2] = 0
    rows[:, ::3] = 0
    rows[1, 1] = 0
    return heads, rows


def test_gates_on_columns_are_gates_on_heads(network, batch, gates):
    heads, rows = gates
    with torch.no_grad(), gated(network.encoder, heads):
        plain = network(**asked(batch))
    assert torch.allclose(gated_answers(network, heads, torch.ones_like(rows), batch), plain, atol=1e-5)


def test_gates_on_columns_are_gates_on_rows(network, batch, gates):
    heads, rows = gates
    for layer, block in enumerate(encoder_layers(network.encoder)):
        block.output.dense.register_forward_pre_hook(lambda _, inputs, layer=layer: (inputs[0] * rows[layer],))
    answers = gated_answers(network, torch.ones_like(heads), torch.ones_like(rows), batch)
    for block in encoder_layers(network.encoder):
        block.output.dense._forward_pre_hooks.clear()
    assert torch.allclose(gated_answers(network, torch.ones_like(heads), rows, batch), answers, atol=1e-5)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_the_cut_network_answers_as_under_gates(network, batch, gates, attention):
    network.encoder.set_attn_implementation(attention)
    smaller = copy.deepcopy(network)
    cut(smaller, *gates)
    assert cut_difference(smaller, network, *gates, batch) < 1e-9
    heads, rows = gates
    assert shapes(smaller) == ([1, 3], (rows > 0).sum(1).tolist())
    width, head_width = 32, 8
    gone = (heads == 0).sum() * (4 * width + 3) * head_width + (rows == 0).sum() * (2 * width + 1)
    assert count(smaller) == count(network) - int(gone)


def test_a_changed_weight_is_noticed(network, batch, gates):
    smaller = copy.deepcopy(network)
    cut(smaller, *gates)
    with torch.no_grad():
        encoder_layers(smaller.encoder)[0].output.dense.weight[0, 0] += 0.01
    assert cut_difference(smaller, network, *gates, batch) > 1e-5


def test_a_network_that_is_only_masked_is_not_cut(network, batch, gates):
    assert cut_difference(network, network, *gates, batch) == torch.inf


def test_the_cut_network_learns_in_all_that_is_left(network, batch, gates):
    cut(network, *gates)
    torch.nn.functional.cross_entropy(network(**asked(batch)), batch["labels"]).backward()
    left = [
        block.get_parameter(name) for block in encoder_layers(network.encoder) for name, _ in block.named_parameters()
    ]
    assert all(
        parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in left if parameter.dim() == 2
    )


def test_hard_concrete_gates_are_open_as_often_as_expected():
    torch.manual_seed(0)
    gates = HardConcrete(20_000)
    with torch.no_grad():
        for odds in (-2.0, 0.0, 1.0):
            gates.openness.fill_(odds)
            drawn = gates()
            assert (drawn > 0).float().mean() == pytest.approx(float(gates.share_open()), abs=0.01)
            assert drawn.min() == 0 and drawn.max() == 1


def test_settled_gates_are_the_formulas_middle_value():
    gates = HardConcrete(2, 4)
    gates.openness.data = torch.tensor([[4.0, 0.0, -1.0, -9.0], [-9.0, -8.0, -7.0, -6.0]])
    middle = torch.tensor([1.0, 0.5, float(torch.tensor(-1.0).sigmoid()) * (HIGH - LOW) + LOW])
    values = gates.settled(HALF)
    assert torch.allclose(values[0, :3], middle) and values[0, 3] == 0
    assert (values[1] > 0).tolist() == [False, False, False, True]  # each layer keeps one


def test_the_gates_loss_is_its_definition_and_reaches_every_gate(network, batch):
    heads, rows = (HardConcrete(*grid) for grid in grids(network))
    loss = gate_loss(heads, rows)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        made = loss(network, batch)
        torch.manual_seed(1)
        plain = torch.nn.functional.cross_entropy(gated_answers(network, heads(), rows(), batch), batch["labels"])
    chance = (heads.openness - STRETCH * torch.log(torch.tensor(-LOW / HIGH))).sigmoid().mean()
    assert made.item() == pytest.approx((plain + 2 * PENALTY * (chance - KEPT)).item(), rel=1e-5)
    made.backward()
    assert all(bool((gates.openness.grad > 0).any()) for gates in (heads, rows))


def test_the_penalty_ends_where_the_goal_is_reached(network, batch):
    heads, rows = (HardConcrete(*grid) for grid in grids(network))
    for gates in (heads, rows):
        gates.openness.data.fill_(-9.0)
    assert gate_loss(heads, rows)(network, batch).item() < PENALTY * 0.1 + 5


def test_importance_is_nothing_where_a_head_writes_nothing(pair_lesson, network):
    with torch.no_grad():
        encoder_layers(network.encoder)[1].attention.output.dense.weight[:, 8:16] = 0  # the second head's columns
    heads, rows = importance(pair_lesson, network)
    assert heads[1, 1] == 0 and (heads > 0).sum() == heads.numel() - 1 and rows.shape == (2, 64)


def test_most_keeps_the_share_and_one_of_each_layer():
    scores = torch.tensor([[5.0, 4.0, 3.0, 2.0], [1.0, 0.5, 0.4, 0.3]])
    assert most(scores, 0.5).tolist() == [[True, True, True, False], [True, False, False, False]]
    with pytest.raises(BertologyError, match="above 0"):
        most(scores, 0.0)


def test_other_blocks_are_refused(network):
    del encoder_layers(network.encoder)[0].intermediate
    with pytest.raises(NotAskable, match=r"intermediate\.dense"):
        grids(network)
