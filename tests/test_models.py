"""Specimens: identity, twins, and every way in which a name can be wrong."""

import json
import shutil
import time
from pathlib import Path

import pytest
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.models import embedded_models, head_name, layer_name, load, twin


def test_names_are_one_based():
    assert layer_name(0) == "embeddings" and layer_name(3) == "layer 3"
    assert head_name(8, 9) == "8-10"


def test_the_twin_shares_architecture_and_nothing_else(tiny):
    other = twin(tiny)
    assert other.name == f"random:{tiny.name}" and other.is_random
    assert other.layers == tiny.layers and other.vocabulary_size == tiny.vocabulary_size
    ours, theirs = (s.encoder.embeddings.word_embeddings.weight for s in (tiny, other))
    assert not torch.allclose(ours, theirs)
    assert torch.equal(theirs, twin(tiny).encoder.embeddings.word_embeddings.weight)


def test_the_twin_of_a_twin_has_another_seed(tiny_twin):
    assert twin(tiny_twin).sha256 != tiny_twin.sha256


def test_eager_attention_returns_maps(tiny_eager):
    output = tiny_eager.encoder(torch.tensor([[2, 8, 3]]), output_attentions=True)
    assert len(output.attentions) == tiny_eager.layers


def test_unknown_names_are_told_at_once():
    started = time.monotonic()
    with pytest.raises(BertologyError, match="pocket-bert"):
        load("pocket-bret")
    with pytest.raises(BertologyError, match="network is off"):
        load("somebody/some-bert")
    assert time.monotonic() - started < 5


def test_a_folder_without_a_model_is_told(tmp_path):
    with pytest.raises(BertologyError, match=r"no config\.json"):
        load(str(tmp_path))


def test_altered_or_truncated_weights_are_refused(tiny_folder, tmp_path):
    folder = tmp_path / "altered"
    shutil.copytree(tiny_folder, folder)
    (folder / "checksums.json").write_text(json.dumps({"model.safetensors": "0" * 64}), encoding="utf-8")
    with pytest.raises(BertologyError, match="altered"):
        load(str(folder))
    (folder / "checksums.json").unlink()
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(BertologyError, match="cannot be read"):
        load(str(folder))


@pytest.mark.parametrize("name", embedded_models())
def test_embedded_models_match_their_checksums_and_have_a_card(name):
    specimen = load(name)
    assert specimen.sha256
    card = Path(specimen.source, "README.md").read_text(encoding="utf-8")
    assert "CC BY-SA" in card
