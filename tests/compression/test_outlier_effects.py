"""Outlier dimensions: a planted one is found, its removal is undone, an untrained model has none."""

import copy
import dataclasses

import numpy as np
import pytest
import torch

from bertology_utils.compression import outlier_effects as study
from bertology_utils.compression.outliers import output_norms
from bertology_utils.tuning.mlm_training import mlm_losses


@pytest.fixture
def planted(tiny):
    model = copy.deepcopy(tiny.model)
    with torch.no_grad():
        for norm in output_norms(model):
            norm.weight[5] = 9.0
    return dataclasses.replace(tiny, model=model)


def test_a_planted_dimension_is_found_in_all_layers(planted, tiny):
    assert study.strongest_dimensions(planted.model, 1).tolist() == [5]
    flagged, chance = study.persistence(planted.model)
    assert flagged.all() and chance < 1
    assert not study.persistence(tiny.model)[0].any()


def test_a_scan_holds_the_rule_against_shuffled_layers(planted, tiny, monkeypatch):
    """Planted: one dimension in each of eight layers; the trivial reason: a net so shallow that one layer is enough."""
    flags = np.zeros((2, 8, 200))
    flags[:, np.arange(8), np.arange(8)] = flags[0, :, 5] = 9  # here and there another one, and always this one
    deviations = {8: flags, 2: flags[:, :2]}
    monkeypatch.setattr(study, "load", lambda layers: dataclasses.replace(tiny, model=layers))
    monkeypatch.setattr(study.outliers, "deviations", deviations.get)
    deep, shallow = study.scan([8, 2]).to_dict("records")
    assert deep == {"model": 8, "layers": 8, "width": 200, "outlier dimensions": 1, "by chance": 0.0}
    assert shallow["outlier dimensions"] == 3 and shallow["by chance"] > 3


def test_position_is_a_share_of_all_layers(planted):
    found = study.position(planted.model)
    assert float(found["flagged"]) == 1 and found["chance"] < 1


def test_two_dimensions_are_four_values_a_layer(tiny):
    total = sum(parameter.numel() for parameter in tiny.model.parameters())
    assert study.share_of_weights(tiny.model) == pytest.approx(4 * tiny.layers / total)


def test_everything_is_put_back(planted):
    sentences = [("the", "dog", "sleeps", "."), ("the", "cat", "saw", "the", "dog", ".")]
    before = mlm_losses(planted, sentences)
    found = study.loss_increases(planted, sentences, count=1, sets=3)
    study.fill_in_damage(planted, sentences, [1, 1], count=1)
    assert np.array_equal(before, mlm_losses(planted, sentences))
    assert found["random"].shape == (3, 2) and found["dense"].shape == (2,)
    assert found["random_worst"].mean() == found["random"].mean(1).max()


def test_dense_rows_are_zeroed(planted):
    dense = planted.encoder.encoder.layer[0].output.dense
    with study.dense_disabled(planted.model, [5]):
        assert not dense.weight[5].any() and dense.weight[4].any()
    assert dense.weight[5].any()
