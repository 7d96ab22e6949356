"""What is spared is what nobody reads: the same scores, whatever the weights, or nothing at all."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from model_zoo import save_model

from bertology_utils import rows
from bertology_utils.anatomy import examine
from bertology_utils.instruments.cloze import VARIANTS, pseudo_log_likelihood
from bertology_utils.models import load

SENTENCES = [["The", "dogs", "listen", "to", "nobody", "."], ["Nobody", "sings", "."], ["A", "bird", "sings", "."]]
LAST = "attention.self.query attention.output.dense intermediate.dense output.dense"


def without(specimen, **fields):
    """The specimen as if its trial had found other modules."""
    other = copy.copy(specimen)
    other.__dict__["anatomy"] = replace(specimen.anatomy, **fields)
    return other


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", ["bert", "modernbert", "deberta-v2", "esm"])
def test_scores_are_those_of_all_rows(kind, variant, tmp_path):
    specimen = load(str(save_model(kind, tmp_path)))
    whole = pseudo_log_likelihood(without(specimen, read_at=()), SENTENCES, variant)
    assert specimen.anatomy.read_at
    np.testing.assert_allclose(pseudo_log_likelihood(specimen, SENTENCES, variant), whole, rtol=0, atol=1e-4)


def test_all_but_keys_and_values_of_the_last_layer_are_found(tmp_path):
    specimen = load(str(save_model("bert", tmp_path)))
    assert {f"encoder.layer.1.{name}" for name in LAST.split()} <= set(specimen.anatomy.read_at)
    assert all(name.startswith("encoder.layer.1.") for name in specimen.anatomy.read_at)
    assert not any(name.endswith(("key", "value")) for name in specimen.anatomy.read_at)


def test_weights_of_zero_hide_nothing(tmp_path):
    """Attention that moves nothing today would move something with other weights of the same kind."""
    specimen = load(str(save_model("bert", tmp_path)))
    inputs = {"input_ids": torch.arange(5, 12)[None], "attention_mask": torch.ones(1, 7)}
    found = rows.modules_read_at(specimen.encoder, inputs)
    with torch.no_grad():
        for parameter in specimen.encoder.parameters():
            parameter.zero_()
    assert rows.modules_read_at(specimen.encoder, inputs) == found


def test_a_trial_in_inference_mode_finds_the_same(tmp_path):
    specimen = load(str(save_model("bert", tmp_path, layer_norm_eps=1e-6)))  # of a kind that no other test examines
    with torch.inference_mode():
        assert examine(specimen.model, "bert").read_at


def test_a_network_of_one_block_is_spared_too(tmp_path):
    specimen = load(str(save_model("bert", tmp_path, num_hidden_layers=1)))
    assert specimen.anatomy.read_at
    often = [sentence for sentence in SENTENCES for _ in range(8)]
    whole = pseudo_log_likelihood(without(specimen, read_at=()), often)
    np.testing.assert_allclose(pseudo_log_likelihood(specimen, often), whole, rtol=0, atol=1e-4)
