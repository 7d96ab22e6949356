"""Few bits a weight: what is rounded, how its gradient goes on, and which blocks a Hessian calls sensitive."""

import copy
import io

import numpy as np
import pytest
import torch
from torch import nn

from bertology_utils.compression.methods import quantised
from bertology_utils.compression.methods.lesson import Encoded, asked, count, hard_loss
from bertology_utils.compression.methods.registry import method
from bertology_utils.compression.quantize import gobo_matrix, quantise_matrix
from bertology_utils.errors import BertologyError


def test_gobo_keeps_outliers_and_eight_values_of_the_rest():
    before = torch.randn(60, 60, generator=torch.Generator().manual_seed(0))
    before[3, 4] = 9.0
    made = torch.from_numpy(gobo_matrix(before.numpy()).values.astype(np.float32))
    assert quantised.few_values(before, made) == (8, 0)
    for place, found in (((3, 4), (8, 1)), ((0, 0), (9, 0))):  # an outlier that moved; a ninth value
        wrong = made.clone()
        wrong[place] += 0.01
        assert quantised.few_values(before, wrong) == found


def test_gobo_is_never_retrained_and_small(pair_lesson):
    small = method("GOBO").special(pair_lesson)
    norms = [network.encoder.embeddings.LayerNorm.weight for network in (small.network, pair_lesson.teacher)]
    assert torch.equal(*norms)
    assert small.facts["moved_outliers"] == 0 and 4 < small.memory / small.bytes < 32 / 3


def test_the_gradient_of_a_rounded_weight_is_that_of_its_exact_value():
    layer, inputs = nn.Linear(5, 3), torch.randn(4, 5)
    plain = copy.deepcopy(layer)
    with torch.no_grad():
        plain.weight.copy_(quantised.linear_grid(layer.weight))
    (plain(inputs).square().sum()).backward()
    nn.utils.parametrize.register_parametrization(layer, "weight", quantised.RoundedWeight(quantised.linear_grid))
    loss = layer(inputs).square().sum()
    loss.backward()
    assert torch.allclose(layer.parametrizations.weight.original.grad, plain.weight.grad)


def test_rounding_to_one_grid_is_its_plain_definition_and_a_stray_weight_is_noticed():
    weight = torch.randn(6, 7)
    scale = weight.abs().max() / 127
    rounded = quantised.linear_grid(weight)
    assert torch.allclose(rounded, (weight / scale).round() * scale)
    assert quantised.off_grid(rounded) < 1e-6
    rounded[2, 2] += 0.3 * scale
    assert quantised.off_grid(rounded) > 1e-3


def test_the_range_of_activations_is_a_moving_average_and_rests_in_evaluation():
    inputs = quantised.RoundedInputs()
    inputs(torch.tensor([2.0, -4.0]))
    assert inputs.top == 4
    inputs(torch.tensor([2.0, 1.0]))
    assert inputs.top.item() == pytest.approx(0.9 * 4 + 0.1 * 2)
    inputs.eval()
    top = inputs.top.item()
    made = inputs(torch.tensor([100.0, 0.011]))
    assert inputs.top.item() == top and made[0].item() == pytest.approx(top)
    assert made[1].item() == pytest.approx(0.0) or made[1].item() == pytest.approx(top / 127)


def test_linear_layers_go_on_rounding_their_inputs(pair_lesson):
    small = method("BERT-QAT (Q8BERT)").special(pair_lesson)
    seen = []
    query = small.network.encoder.encoder.layer[1].attention.self.query
    ranges = query.inputs
    query.register_forward_hook(lambda module, inputs, output: seen.append(output))
    batch = Encoded.of(pair_lesson.origin, pair_lesson.problem.test).batch([0, 1])
    with torch.no_grad():
        small.network(**asked(batch))
        ranges.top.mul_(1e-3)
        small.network(**asked(batch))
    assert ranges.top > 0 and not torch.allclose(*seen)
    assert small.bytes < 0.3 * 4 * count(small.network) and small.memory == 4 * count(small.network)


def test_groups_of_rows_have_levels_of_their_own():
    weight = torch.randn(quantised.GROUPS * 2, 16)
    weight[:2] *= 100
    rounded = quantised.group_grid(weight, 2)
    assert all(len(rows.unique()) <= 4 for rows in rounded.reshape(quantised.GROUPS, -1))
    assert quantised.used_bits(rounded) == 2 and quantised.used_bits(weight) > 4
    half_step = (weight[4:6].max() - weight[4:6].min()) / 6
    assert (rounded - weight)[4:6].abs().max() <= half_step * 1.001
    assert rounded[4:6].max() == pytest.approx(weight[4:6].max().item())


def test_power_iteration_finds_the_top_eigenvalue_of_the_exact_hessian():
    torch.manual_seed(0)
    inputs, labels = torch.randn(12, 3), torch.randint(0, 2, (12,))
    first, second = torch.randn(4, 3, requires_grad=True), torch.randn(2, 4, requires_grad=True)

    def loss(first, second):
        return nn.functional.cross_entropy(torch.tanh(inputs @ first.T) @ second.T, labels)

    for place, chosen in enumerate((first, second)):
        gradient = torch.autograd.grad(loss(first, second), [chosen], create_graph=True)
        found = quantised.top_eigenvalue(gradient, [chosen], rounds=200)
        exact = torch.autograd.functional.hessian(loss, (first, second))[place][place]
        values = torch.linalg.eigvalsh(exact.reshape(chosen.numel(), -1))
        assert found == pytest.approx(values[values.abs().argmax()].item(), rel=1e-3)


def test_sensitivities_see_a_block_that_matters_and_one_that_cannot(pair_lesson):
    batches = list(pair_lesson.train_set.batches(128))[:2]
    network = pair_lesson.copy_of_teacher()
    plain = quantised.sensitivities(network, batches)
    assert plain.shape == (2,) and (plain > 0).all()
    with torch.no_grad():  # the last block gives its norm's bias whatever it reads: nothing in the first can matter
        network.encoder.encoder.layer[1].output.LayerNorm.weight.zero_()
    blind = quantised.sensitivities(network, batches)
    assert blind[0] == pytest.approx(0, abs=1e-9) and blind[1] > 0


def test_more_sensitive_blocks_get_more_bits_and_a_swap_is_noticed():
    sensitive = np.array([0.1, 3.0, 0.2, 1.0])
    assert quantised.block_bits(sensitive) == [2, 3, 2, 3]
    assert quantised.misranked(sensitive, [2, 3, 2, 3]) == 0
    assert quantised.misranked(sensitive, [2, 3, 3, 2]) == 1
    assert quantised.misranked(sensitive, [2.5] * 4) == 0


def test_q_bert_stores_what_its_bits_say(word_lesson):
    small = method("Q-BERT-MP").special(word_lesson)
    blocks = [quantised.matrices(block) for block in small.network.encoder.encoder.layer]
    assert small.facts["misranked"] == 0 and quantised.average_bits(blocks) == small.facts["average_bits"]
    with torch.no_grad():  # a block that was left as it was
        for own in blocks[0].values():
            own.weight.add_(torch.randn_like(own.weight))
    assert quantised.average_bits(blocks) > 3


def test_torch_holds_integers_and_their_bytes_are_those_of_its_file(pair_lesson):
    small = method("8-bit integers (torch)").special(pair_lesson)
    file = io.BytesIO()
    torch.save(small.network.state_dict(), file)
    assert file.tell() == pytest.approx(small.bytes, rel=0.25)  # the file names each of its many small tensors
    assert small.facts["float_linears"] == 0
    linears = sum(isinstance(part, nn.Linear) for part in pair_lesson.teacher.modules())
    assert quantised.float_linears(pair_lesson.teacher) == linears
    batch = Encoded.of(pair_lesson.origin, pair_lesson.problem.test).batch([0, 1])
    assert torch.isfinite(hard_loss(small.network, batch))


def test_bits_that_no_integer_has_are_refused():
    with pytest.raises(BertologyError, match="9 bits"):
        quantise_matrix(torch.randn(2, 2), 9)
