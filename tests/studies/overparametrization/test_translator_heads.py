"""Heads of translators switched off: a planted harm is found, a chosen head that is noise gains nothing elsewhere."""

import pytest
import torch

from bertology_utils.instruments.blocks import attention_projections
from bertology_utils.studies import small_models
from bertology_utils.studies.overparametrization import translator_heads as heads
from bertology_utils.tuning.translating import Translator, drawn, translators
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed


@pytest.fixture(scope="module")
def trained():
    """A translator that knows its pairs, and these."""
    _, pairs, start = drawn(120, 0)
    return translators([start], [pairs], 150, [0])[0], pairs


def test_an_experiment_gives_what_its_claim_names(monkeypatch):
    for name, value in {"PAIRED": 20, "CHOOSING": 6, "ASKED": 6, "STEPS": 2}.items():
        monkeypatch.setattr(heads, name, value)
    assert "translator-without-a-head" in small_models.EXPERIMENTS
    found = heads.heads_off([0, 1])
    assert {sample.shape for side in (found.model, found.twin) for sample in side.values()} == {(2, 1)}
    for side in (found.model, found.twin):
        assert needed(claim_by_id("harmful-heads-mt"), side)


def test_encoder_and_decoder_have_heads_and_are_whole_again(trained):
    model, pairs = trained
    assert len(heads.heads_of(model)) == 4 * 4  # two blocks that read, one that writes and looks back
    before = heads.share_right(model, pairs)
    heads.without(model, pairs)((0, 0))
    assert heads.share_right(model, pairs) == before


def test_a_head_switched_off_is_one_whose_columns_are_zero(trained):
    model, pairs = trained
    off = heads.without(model, pairs)((3, 2))
    projection = attention_projections(model, "output")[3]
    kept, width = projection.weight.detach().clone(), projection.in_features // 4
    with torch.no_grad():
        projection.weight[:, 2 * width : 3 * width] = 0
        assert heads.share_right(model, pairs) == off
        projection.weight.copy_(kept)


def test_a_harmful_head_is_found_and_elsewhere_nothing_is_gained(trained, monkeypatch):
    monkeypatch.setattr(heads, "CHOOSING", 60)
    model, pairs = trained
    sound = heads.measured(model, pairs)
    assert sound["without_head"] < sound["full"] + 0.02
    projection = attention_projections(model, "output")[1]
    kept = projection.weight.detach().clone()
    with torch.no_grad():
        projection.weight[:, :8] += 3 * torch.randn(32, 8, generator=torch.Generator().manual_seed(0))
    harmed = heads.measured(model, pairs)
    with torch.no_grad():
        projection.weight.copy_(kept)
    assert harmed["without_head"] > harmed["full"] + 0.1
    assert harmed["without_any"] < harmed["without_head"]


def test_untrained_translators_gain_nothing(monkeypatch):
    monkeypatch.setattr(heads, "CHOOSING", 40)
    _, pairs, start = drawn(80, 1)
    blank = heads.measured(Translator(start, 1), pairs)
    assert blank["without_head"] < blank["full"] + 0.05
