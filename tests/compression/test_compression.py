"""Compression: counts against known figures and real models, masks of the exact sparsity, quantisers by definition."""

import copy

import numpy as np
import pytest
import torch
from transformers import AutoModel

from bertology_utils.compression import accounting, distill, outliers, prune, quantize
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.heads import gated

SENTENCES = [["the", "dog", "sees", "the", "cat"], ["a", "cat", "sleeps"], ["the", "dogs", "sleep"]] * 4


# ---------------------------------------------------------------- accounting


@pytest.mark.parametrize(
    ("architecture", "embeddings", "encoder", "total"),
    [
        ("bert-base", 23.84, 85.05, 109.48),
        ("distilbert", 23.84, 42.53, 66.36),
        ("L6-768", 23.84, 42.53, 66.96),
        ("L3-768", 23.84, 21.26, 45.69),
        ("L4-512", 15.89, 12.61, 28.76),
        ("L6-512", 15.89, 18.91, 35.07),
        ("tinybert4", 9.68, 4.57, 14.35),
        ("albert-base", 4.01, 7.09, 11.68),
        ("albert-xxlarge", 4.43, 201.4, 222.6),
    ],
)
def test_known_counts(architecture, embeddings, encoder, total):
    counts = accounting.counts(architecture)
    found = (counts.embeddings / 1e6, counts.encoder / 1e6, counts.all / 1e6)
    assert found == pytest.approx((embeddings, encoder, total), abs=0.06)


def test_meta_counts_are_real_counts():
    config = accounting.bert_config(2, 64, vocabulary=100)
    real = AutoModel.from_config(config)
    assert accounting.count_parameters(accounting.build(config)).all == sum(p.numel() for p in real.parameters())


def test_macs_of_a_bert_are_the_formula():
    layers, width, inner, pieces = 2, 64, 256, 10
    config = accounting.bert_config(layers, width, inner, vocabulary=100)
    expected = layers * (pieces * (4 * width**2 + 2 * width * inner) + 2 * pieces**2 * width) + width**2  # + pooler
    assert accounting.count_macs(accounting.build(config), pieces) == expected


def test_factors_by_definition():
    assert accounting.factors("distilbert").all == pytest.approx(1.65, abs=0.005)
    movement = accounting.factors("bert-base", "kept-0.03")
    assert movement.all == pytest.approx(4.04, abs=0.005) and movement.encoder == pytest.approx(33.3, abs=0.1)
    assert accounting.factors("bert-base", "bits-8-8").encoder == pytest.approx(4)
    assert accounting.pruning_ceiling() == pytest.approx(4.59, abs=0.01)
    with pytest.raises(BertologyError):
        accounting.counts("bert-bse")


def test_both_versions_of_the_table():
    table, differences = accounting.table1(), accounting.table1_differences()
    assert len(table) == len({row["name"] for row in table}) == 26
    assert {row["architecture"] for row in table} - {""} <= set(accounting.ARCHITECTURES)
    changed = {(r["name"], r["column"]): (r["v1"], r["v3"]) for r in differences.to_dict("records")}
    assert changed["DistilBERT", "compression"] == ("2.5", "1.5")
    assert changed["Q-BERT-MP", "retention"] == ("99", "98¶")
    assert changed["ALBERT-base", "speedup"] == ("5.6", "")


# ---------------------------------------------------------------- pruning


@pytest.mark.parametrize("share", [0.0, 0.37, 0.9, 1.0])
def test_masks_have_exactly_the_asked_sparsity(tiny, share):
    masks = prune.magnitude_masks(tiny.encoder, share)
    total = sum(mask.numel() for mask in masks.values())
    assert sum(int((~mask).sum()) for mask in masks.values()) == round(share * total)


def test_ties_do_not_spoil_the_sparsity(tiny):
    model = copy.deepcopy(tiny.encoder)
    for weight in prune.prunable(model).values():
        weight.data.fill_(0.5)
    kept = torch.cat([mask.flatten() for mask in prune.magnitude_masks(model, 0.5).values()])
    assert float(kept.float().mean()) == pytest.approx(0.5, abs=1e-4)


def test_magnitude_prunes_the_smallest(tiny):
    masks, weights = prune.magnitude_masks(tiny.encoder, 0.6), prune.prunable(tiny.encoder)
    kept = torch.cat([weights[n].abs()[m] for n, m in masks.items()])
    gone = torch.cat([weights[n].abs()[~m] for n, m in masks.items()])
    assert gone.max() <= kept.min() and not any("embedding" in name for name in masks)


def test_good_random_and_bad_have_one_size(tiny):
    good = prune.magnitude_masks(tiny.encoder, 0.7)
    bad, random = prune.bad_masks(good), prune.random_masks(good)
    size = sum(int(m.sum()) for m in good.values())
    for masks in (bad, random):
        assert sum(int(m.sum()) for m in masks.values()) == size
    assert not any((good[name] & bad[name]).any() for name in good)  # 70 % are pruned: enough to fill 30 %
    keep = {"heads": torch.tensor([[1, 1, 1, 0], [1, 1, 1, 0]], dtype=torch.bool)}
    filled = prune.bad_masks(keep)["heads"]
    assert filled.sum() == 6 and filled[:, 3].all()


def test_head_masks_equal_gates(tiny):
    keep = torch.ones(tiny.layers, tiny.heads, dtype=torch.bool)
    keep[0, 0] = keep[1, 1] = False
    ids = torch.randint(5, 20, (2, 6))
    with torch.no_grad():
        with gated(tiny.encoder, keep.float()):
            expected = tiny.encoder(input_ids=ids).last_hidden_state
        plain = tiny.encoder(input_ids=ids).last_hidden_state
        with prune.pruned(tiny.encoder, prune.head_masks(tiny.encoder, keep)):
            masked = tiny.encoder(input_ids=ids).last_hidden_state
        assert torch.equal(tiny.encoder(input_ids=ids).last_hidden_state, plain)  # the weights came back
    assert torch.allclose(masked, expected, atol=1e-6)


# ---------------------------------------------------------------- quantisation


def test_integers_are_within_half_a_step():
    weight = torch.randn(20, 50)
    integers, scale = quantize.quantise_matrix(weight)
    assert integers.dtype == torch.int8 and ((integers * scale - weight).abs() <= scale / 2 + 1e-6).all()


def test_quantised_sizes_and_values(tiny):
    eight, three = quantize.quantise_weights(tiny.model), quantize.gobo(tiny.model)
    matrices = sum(w.numel() for w in quantize._matrices(tiny.model))
    total = sum(p.numel() for p in tiny.model.parameters())
    assert eight.bytes_before == 4 * total
    assert eight.bytes_after > 4 * (total - matrices) + matrices and 1 < eight.factor < 4 < 32 / 3
    assert three.factor > eight.factor
    drift = {}
    for name, made in (("eight", eight), ("three", three)):
        pairs = zip(tiny.model.parameters(), made.model.parameters(), strict=True)
        drift[name] = sum(float((a - b).detach().abs().sum()) for a, b in pairs)
    assert 0 < drift["eight"] < drift["three"]


def test_gobo_uses_eight_centroids_beside_its_outliers():
    weight = np.random.default_rng(0).normal(0, 0.05, (64, 200))
    weight[3, 5] = weight[60, 7] = 2.0
    made = quantize.gobo_matrix(weight)
    assert len(np.unique(made.values[~made.outliers])) <= 8 and made.outliers[3, 5] and made.outliers[60, 7]
    assert np.array_equal(made.values[made.outliers], weight[made.outliers]) and made.outliers.mean() < 0.004
    grid = np.linspace(weight[~made.outliers].min(), weight[~made.outliers].max(), 8)
    evenly = np.abs(weight[~made.outliers][:, None] - grid).min(1).sum()
    assert np.abs(made.values - weight).sum() < evenly


def test_dynamic_integers_answer_almost_the_same(tiny):
    ids = torch.randint(5, 20, (2, 6))
    with torch.no_grad():
        exact = tiny.encoder(input_ids=ids).last_hidden_state
        close = quantize.dynamic_int8(tiny.encoder)(input_ids=ids).last_hidden_state
    assert 0 < (exact - close).abs().max() < 0.2


# ---------------------------------------------------------------- outliers and distillation


def test_planted_outlier_is_found_and_disabled(tiny):
    model = copy.deepcopy(tiny.model)
    assert outliers.outlier_dimensions(model) == [] and len(outliers.output_norms(model)) == tiny.layers
    with torch.no_grad():
        for norm in outliers.output_norms(model):
            norm.weight[5], norm.bias[5] = 9.0, -4.0
        for block in model.base_model.encoder.layer:
            block.attention.output.LayerNorm.weight[7] = 9.0  # must not be looked at
    found = outliers.outlier_dimensions(model)
    assert [(o.dimension, o.scale_layers, o.bias_layers) for o in found] == [(5, tiny.layers, tiny.layers)]
    with outliers.disabled(model, [5]) as count:
        assert count == 2 * tiny.layers and outliers.output_norms(model)[0].weight[5] == 0
    assert outliers.output_norms(model)[0].weight[5] == 9
    assert 5 not in outliers.random_dimensions(model, 2, avoid=[5])


def test_student_layers():
    assert distill.kept_layers(12, 6) == [0, 2, 4, 7, 9, 11]
    with pytest.raises(BertologyError):
        distill.kept_layers(2, 3)


def test_student_learns_from_its_teacher(tiny):
    untaught = distill.student_of(tiny)
    assert untaught.layers == 1 and tiny.layers == 2
    student, losses = distill.distill(tiny, SENTENCES, steps=30, learning_rate=3e-3, budget=64)
    assert losses[-5:].mean() < losses[:5].mean()
    with torch.no_grad():
        student.encoder(torch.randint(5, 20, (1, 4)))
