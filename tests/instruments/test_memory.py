"""Scoring stays within the memory that it states: long sentences, long inputs, a large vocabulary."""

import json

import pytest
import torch
from model_zoo import save_model
from transformers import BertConfig, BertForMaskedLM

from bertology_utils.bench.memory import added_at_peak
from bertology_utils.instruments import cloze
from bertology_utils.models import load

MEBIBYTE = 2**20


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A vocabulary of 250,000 and 512 positions."""
    folder = save_model("bert", tmp_path_factory.mktemp("models") / "large")
    said = json.loads((folder / "config.json").read_text())
    sizes = {"vocab_size": 250_000, "max_position_embeddings": 512, "num_attention_heads": 1}
    torch.manual_seed(0)
    BertForMaskedLM(BertConfig(**said | sizes)).save_pretrained(folder)
    return load(str(folder))


@pytest.mark.parametrize("words", [["the"] * 400, ["dogs"] * 170, ["the", "dogs", "."]], ids=["400", "510", "3"])
def test_scores_stay_within_the_memory_that_is_stated(large, words):
    """All masked copies at once would hold 400 times 400 states; all their logits, 160 gigabytes."""
    stated = cloze.memory_of_scoring(large) / MEBIBYTE
    cloze.pseudo_log_likelihood(large, [["the", "dogs"]])
    added = added_at_peak(lambda: cloze.pseudo_log_likelihood(large, [words]))
    assert added <= stated <= 256
