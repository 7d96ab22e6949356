"""Heads of translators: a planted head is found and an untrained one is not, and samples have the claim's names."""

import pytest
import torch

from bertology_utils.studies import small_models
from bertology_utils.studies.attention import translation_heads
from bertology_utils.tuning.translating import Translator, reader, short_sentences
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed


@pytest.fixture
def brief(monkeypatch):
    """An experiment of two steps on few sentences."""
    for name, value in {"PAIRED": 20, "ASKED": 160, "STEPS": 2}.items():
        monkeypatch.setattr(translation_heads, name, value)


def test_an_experiment_gives_what_its_claim_names(brief):
    assert "heads-of-a-translator" in small_models.EXPERIMENTS
    found = translation_heads.translation_heads([0, 1])
    assert set(found.model) == set(found.twin)
    assert {sample.shape for sample in found.model.values()} == {(2, 1)}
    for side in (found.model, found.twin):
        assert needed(claim_by_id("mt-encoder-heads-syntactic"), side)


def planted_maps(made, sentences):
    """A first layer whose first head has each word look at its grammatical head, and the others at [CLS]."""
    by_words = {sentence.words: sentence for sentence in sentences}
    tokenizer, heads = made.specimen.tokenizer, made.specimen.heads

    def maps(specimen, inputs):
        size = inputs["input_ids"].shape[1]
        planted = torch.zeros(specimen.layers, len(inputs["input_ids"]), heads, size, size)
        planted[..., 0] = 1
        for row, ids in enumerate(inputs["input_ids"]):
            pieces = tokenizer.convert_ids_to_tokens(ids[inputs["attention_mask"][row].bool()])[1:-1]
            for place, head in enumerate(by_words[tuple(pieces)].heads):
                planted[0, row, 0, place + 1] = torch.eye(size)[head + 1]
        return planted

    return maps


def test_a_planted_head_leads_and_untrained_ones_do_not(brief, monkeypatch):
    sentences = short_sentences(320, seed=0)
    made = Translator(reader(sentences, 0), 0)
    blank = translation_heads.measured(made, sentences)
    monkeypatch.setattr("bertology_utils.instruments.attention._run", planted_maps(made, sentences))
    planted = translation_heads.measured(made, sentences)
    assert planted["head"] == planted["subject_head"] == 1 > planted["offset"] + 0.1
    assert blank["subject_head"] < blank["subject_offset"] + 0.1
