"""Runs that begin in the middle of the stack give what whole runs give."""

import pytest
import torch
from model_zoo import save_model

from bertology_utils.errors import NotAskable
from bertology_utils.instruments.blocks import encoder_layers, inputs_of_runs, recorded_calls, starting_at
from bertology_utils.models import load
from bertology_utils.text import encode_words, model_inputs

SENTENCES = [["the", "cat", "sleeps", "."], ["the", "old", "dogs", "chase", "a", "bird", "."]]


@pytest.fixture
def batch(tiny):
    return model_inputs(tiny, encode_words(tiny, SENTENCES))


def states(specimen, batch):
    with torch.no_grad():
        return torch.stack(specimen.encoder(**batch, output_hidden_states=True).hidden_states)


def test_blocks_are_called_with_the_hidden_states(tiny, batch):
    with recorded_calls(tiny.encoder) as calls:
        whole = states(tiny, batch)
    torch.testing.assert_close(torch.stack([call.hidden for call in calls]), whole[:-1])
    assert [call.block for call in calls] == list(encoder_layers(tiny.encoder))


def test_a_block_called_again_gives_its_row_as_often_as_asked(tiny):
    batch = model_inputs(tiny, encode_words(tiny, SENTENCES[1:]))
    with recorded_calls(tiny.encoder) as calls:
        whole = states(tiny, batch)
    for layer, call in enumerate(calls):
        torch.testing.assert_close(call.again(3), whole[layer + 1].expand(3, -1, -1))


def test_blocks_below_do_not_run_and_those_above_see_no_difference(tiny, batch):
    with recorded_calls(tiny.encoder) as calls:
        whole = states(tiny, batch)
    hook = encoder_layers(tiny.encoder)[1].register_forward_hook(lambda block, a, output: output + 1)
    changed = states(tiny, batch)
    other = {**batch, "input_ids": torch.zeros_like(batch["input_ids"])}
    with starting_at(tiny.encoder, 1, inputs_of_runs(calls, tiny.layers) * 2):
        torch.testing.assert_close(states(tiny, batch), changed)
        torch.testing.assert_close(states(tiny, other)[1:], changed[1:])  # the input no longer matters
    hook.remove()
    torch.testing.assert_close(states(tiny, batch), whole)  # all blocks run again


@pytest.mark.parametrize("kind", ["bert", "deberta-v2", "fnet", "modernbert"])
def test_blocks_of_every_kind_give_what_their_model_expects(kind, tmp_path):
    specimen = load(str(save_model(kind, tmp_path / kind)))
    own = model_inputs(specimen, encode_words(specimen, SENTENCES[:1]))
    with recorded_calls(specimen.encoder) as calls:
        whole = states(specimen, own)
    with starting_at(specimen.encoder, specimen.layers - 1, inputs_of_runs(calls, specimen.layers)):
        torch.testing.assert_close(states(specimen, own)[-1], whole[-1])


def test_a_model_without_a_list_of_blocks_says_so(tmp_path):
    with pytest.raises(NotAskable, match="no list of layers"):
        encoder_layers(load(str(save_model("xlm", tmp_path / "xlm"))).encoder)
