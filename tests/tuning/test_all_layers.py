"""HIRE and SesameBERT: what weighs the layers, and what is blurred."""

import pytest
import torch

from bertology_utils.models import load
from bertology_utils.tuning.all_layers import Hire, Sesame, blur_matrix, blurred
from bertology_utils.tuning.classification_tasks import examples
from bertology_utils.tuning.training import batches, finetune


@pytest.fixture
def inputs(tiny):
    batch = batches(tiny, examples("voice", 6))[0][1]
    return {name: values for name, values in batch.items() if name != "labels"}


def test_hire_weighs_layers_by_what_is_in_them(tiny):
    made = Hire(tiny.encoder, 2)
    torch.nn.init.zeros_(made.importance.bias)
    layers = torch.zeros(1, 3, tiny.width)
    layers[0, 1] = 50 * made.importance.weight[0].detach()
    weights = made.weights(layers)[0].detach()
    assert weights.sum() == pytest.approx(1) and weights.argmax() == 1


def test_hires_features_hold_the_last_layer(tiny, inputs):
    made = Hire(tiny.encoder, 2).eval()
    last = super(Hire, made).features(**inputs)
    assert torch.allclose(made.features(**inputs)[:, : tiny.width], last, atol=1e-6)


def test_sesame_may_choose_one_layer(tiny, inputs):
    made = Sesame(tiny.encoder, 2).eval()
    choice = torch.full((tiny.layers,), -50.0)
    choice[0] = 50.0
    for linear in (made.excitation[0], made.excitation[2]):
        torch.nn.init.zeros_(linear.weight)
    made.excitation[2].bias.data.copy_(choice)
    with blurred(tiny.encoder, inputs["attention_mask"]):
        first = tiny.encoder(**inputs, output_hidden_states=True).hidden_states[1]
    real = inputs["attention_mask"].unsqueeze(-1)
    expected = (first * real).sum(1) / real.sum(1) / tiny.layers
    assert torch.allclose(made.features(**inputs), expected, atol=1e-5)


def test_the_blur_is_between_real_pieces_and_hands_on_everything():
    matrix = blur_matrix(torch.tensor([[1, 1, 1, 0]]))[0]
    assert torch.allclose(matrix.sum(-1), torch.ones(4)) and matrix[0, 3] == 0
    assert matrix[1, 0] == matrix[1, 2] < matrix[1, 1]


def test_blurred_values_are_blurred_attention(tiny_folder):
    eager = load(str(tiny_folder), attention="eager")
    batch = batches(eager, examples("voice", 4))[0][1]
    inputs = {name: values for name, values in batch.items() if name != "labels"}
    block = eager.encoder.encoder.layer[0].attention.self
    value = {}
    hook = block.value.register_forward_hook(lambda module, given, output: value.update(plain=output))
    with torch.no_grad():
        out = eager.encoder(**inputs, output_attentions=True)
        hook.remove()
        kept = {}
        hook = block.register_forward_hook(lambda module, given, output: kept.update(context=output[0]))
        with blurred(eager.encoder, inputs["attention_mask"]):
            eager.encoder(**inputs)
        hook.remove()
    heads = out.attentions[0] @ blur_matrix(inputs["attention_mask"]).unsqueeze(1)
    size = eager.width // eager.heads
    values = value["plain"].unflatten(-1, (eager.heads, size)).transpose(1, 2)
    expected = (heads @ values).transpose(1, 2).flatten(2)
    assert torch.allclose(kept["context"], expected, atol=1e-5)


@pytest.mark.parametrize("kind", [Hire, Sesame])
def test_both_learn_with_the_parts_they_add(tiny, kind):
    train = examples("voice", 24)
    run = finetune(tiny, train, train, epochs=8, learning_rate=1e-3, kind=kind)
    assert run.losses[-3:].mean() < run.losses[:3].mean()
    own = [name for name in run.start if name.startswith(("importance", "excitation"))]
    moved = run.classifier.state_dict()
    assert own and any(not torch.equal(run.start[name], moved[name]) for name in own)
