"""What is kept of a smaller model, and the recipes that only serve as comparisons."""

import pytest
import torch

from bertology_utils.compression.scorecard import (
    count,
    embedding_rank,
    factor_agreement,
    kept,
    latency,
    low_rank_embeddings,
    printed_factor,
    prune_everywhere,
    with_model,
)
from bertology_utils.errors import BertologyError
from bertology_utils.language.grammar import generate
from bertology_utils.language.pairs import agreement_pairs


def test_scores_have_one_value_an_item(tiny):
    sentences = [s.words for s in generate(5)]
    scores = kept(tiny, sentences, agreement_pairs(6))
    assert scores.losses.shape == (5,) and 0 < len(scores.agreement) <= 6
    again = kept(with_model(tiny, prune_everywhere(tiny.model, 1.0)), sentences, agreement_pairs(6))
    assert (again.losses == scores.losses).all()


def test_pruning_everywhere_leaves_the_asked_size(tiny):
    small = prune_everywhere(tiny.model, 2.0)
    zeros = sum(int((p == 0).sum()) for p in small.parameters() if p.dim() == 2)
    assert zeros == pytest.approx(count(tiny.model) / 2, rel=0.01)
    weight = tiny.model.get_input_embeddings().weight
    gone = small.get_input_embeddings().weight == 0
    assert weight[gone & (weight != 0)].abs().max() <= weight[~gone].abs().min()
    with pytest.raises(BertologyError):
        prune_everywhere(tiny.model, 1e9)


def test_the_best_low_rank_table_is_the_truncated_svd(tiny):
    weight = tiny.model.get_input_embeddings().weight.detach()
    u, s, v = torch.linalg.svd(weight, full_matrices=False)
    best = u[:, :8] * s[:8] @ v[:8]
    ours = low_rank_embeddings(tiny.model, 8).get_input_embeddings().weight
    assert torch.allclose(ours, best, atol=1e-4)
    other = low_rank_embeddings(tiny.model, 8, "random").get_input_embeddings().weight
    assert (other - weight).norm() > (ours - weight).norm()
    rank, (rows, width) = embedding_rank(tiny.model), weight.shape
    assert rank * (rows + width) <= rows * width / 2 < (rank + 1) * (rows + width)


def test_latency_is_positive(tiny):
    assert latency(tiny.model, 8, 2) > 0


def test_printed_factors_are_read_without_footnotes():
    assert [printed_factor(t) for t in ("1.7‡", "6**", "9", "1.4-2.5", "")] == [1.7, 6.0, 9.0, None, None]


def test_which_printed_factors_count_everything():
    rows = factor_agreement().set_index("name")
    assert rows.loc["TinyBERT", "agrees"] and rows.loc["BERT-small", "agrees"]
    assert not rows.loc["DistilBERT", "agrees"]
    assert not rows.loc["Soft MvP", "agrees"] and rows.loc["Soft MvP", "agrees_encoder"]
    assert "BERT-base" not in rows.index and "WaLDORf" not in rows.index
