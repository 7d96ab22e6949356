"""What the chapters call, on every kind of hub model: an unusual architecture is measured or refused, never a crash.

`test_hub_instruments.py` asks the instruments; here are the studies on top of them that a chapter calls outside any
guard for BERT.
"""

import hub_cache
import numpy as np
import pytest
import torch
from hub_cache import KINDS, SENTENCES, add_to_cache, use_only

from bertology_utils.compression import outlier_effects as outlier_study
from bertology_utils.compression.accounting import count_parameters
from bertology_utils.compression.outliers import outlier_dimensions
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.attention import head_distances, head_statistics, target_masks
from bertology_utils.language.grammar import generate
from bertology_utils.models import load
from bertology_utils.studies.attention import evidence as attention_evidence
from bertology_utils.studies.embeddings import input_slots as slots
from bertology_utils.studies.overparametrization import lottery
from bertology_utils.studies.overparametrization import subnetworks as nets
from bertology_utils.studies.overview import anatomy, probe_limits
from bertology_utils.studies.syntax import triggers
from bertology_utils.text import encode_words, model_inputs, pool_pieces
from bertology_utils.tuning import changes
from bertology_utils.tuning.training import Examples, finetune

pytestmark = pytest.mark.usefixtures("only_this_cache")
EXAMPLES = Examples(SENTENCES, [0, 1, 1, 0])
SHARED = "albert-base-v2"


def _cached_in(folder, monkeypatch, name: str) -> str:
    """Writes the model `name` into a cache of its own, which replaces the common one."""
    add_to_cache(folder, name)
    use_only(monkeypatch, folder)
    return name


# --- chapter by chapter ---------------------------------------------------------------------------------------------


def test_what_overview_calls(eager):
    maps = anatomy.maps_of(eager, SENTENCES)
    assert (anatomy.head_diversity(anatomy.head_profiles(eager, SENTENCES, maps)) >= 0).all()
    for view in anatomy.VIEWS:
        queries, targets = anatomy.masked_queries(eager, SENTENCES, view, each=1)
        scores = anatomy.masked_scores(eager, queries, targets)
        assert np.isfinite(scores["loss"]).all() and len(anatomy.unigram_hits(eager, SENTENCES, targets)) == 4
    assert anatomy.operations_per_second(eager, SENTENCES) > 0
    assert not eager.has_next_sentence_head and count_parameters(eager.encoder).all > 0
    short = [sentence for sentence in generate(200, seed=1, kind="simple") if len(sentence.words) < 8]
    limits = probe_limits.unused_property(eager, short)
    assert np.isfinite(limits["effect"]).all()
    assert probe_limits.exclusive_or(eager, 8)["mlp"].shape[-1] == 8


def test_what_overparametrization_calls(eager):
    contrast = nets.layer_contrast(head_distances(eager, SENTENCES), eager.layers)
    assert contrast["within"].shape == contrast["between"].shape == (eager.layers * eager.heads,)
    run = finetune(eager, EXAMPLES, EXAMPLES, epochs=1)
    scores = nets.importance(run, EXAMPLES)
    assert all(found.shape == scores.shape for found in nets.two_scores(run, EXAMPLES))
    assert len(nets.pruning_curve(run, EXAMPLES, EXAMPLES, "inverse", step=0.5)) == 2
    assert nets.single_ablations(run, EXAMPLES, "mean").shape == (*scores.shape, 4)
    found = nets.removals(run, EXAMPLES, nets.single_ablations(run, EXAMPLES), EXAMPLES, scores)
    assert all(right.shape == (4,) for right in found.values())
    survival = nets.matrix_survival(run.specimen.encoder)
    assert len(survival) > 0 and ((survival >= 0) & (survival <= 1)).all()


def test_subnetworks_need_blocks_with_weights_of_their_own(specimen):
    run = finetune(specimen, EXAMPLES, EXAMPLES, epochs=1)
    if not changes.blocks_have_own_weights(specimen.encoder):
        parts = lottery.whole(run)
        parts["heads"][0, 0] = False
        with pytest.raises(BertologyError, match="share their weights"):
            lottery.part_masks(run, parts)
        return
    *_, parts = lottery.s_steps(run, EXAMPLES, lottery.Plan(step=0.5), 0.5)
    for masks in lottery.six(run, parts, lottery.magnitude_masks(specimen.encoder, 0.5), 0).values():
        assert 0 <= lottery.score_with(run, EXAMPLES, masks) <= 1
        assert finetune(specimen, EXAMPLES, EXAMPLES, epochs=1, masks=masks).correct.shape == (4,)


def test_what_overparametrization_calls_of_outliers(specimen):
    assert outlier_study.deviations(specimen.model).shape == (specimen.layers, specimen.width)
    assert outlier_study.persistence(specimen.model)[0].shape == (specimen.layers,)
    assert isinstance(outlier_dimensions(specimen.model), list)
    losses = outlier_study.loss_increases(specimen, SENTENCES, sets=2)
    assert all(np.isfinite(values).all() for values in losses.values()) and losses["dense"].any()
    assert outlier_study.fill_in_damage(specimen, SENTENCES, [1, 1, 1, 1])["top1"].shape == (4,)


def test_the_last_dense_layer_feeds_the_blocks_output(specimen):
    denses = outlier_study.last_denses(specimen.model)
    assert [dense.out_features for dense in denses] == [specimen.width] * specimen.layers
    assert all(dense.in_features == 2 * specimen.width for dense in denses)  # the inner width, not attention's
    with outlier_study.dense_disabled(specimen.model, [3]):
        assert not any(dense.weight[3].any() for dense in denses) and all(dense.weight[4].any() for dense in denses)
    assert all(dense.weight[3].any() for dense in denses)


def test_speed_counts_the_blocks_alone(specimen, monkeypatch):
    moments = iter([0.0, 1.0])
    monkeypatch.setattr(anatomy.time, "perf_counter", lambda: next(moments))
    pieces = sum(map(len, encode_words(specimen, SENTENCES)))
    width, inner = specimen.width, 2 * specimen.width
    block = 4 * (width**2 + width) + 2 * width * inner + width + inner + 4 * width  # projections, feed-forward, norms
    assert anatomy.operations_per_second(specimen, SENTENCES) == 2 * specimen.layers * block * pieces


# --- slots ----------------------------------------------------------------------------------------------------------


def test_both_changes_put_a_sentence_into_the_second_slot(specimen):
    first, partner = SENTENCES[0], SENTENCES[2]
    [moved] = slots.slot_vectors(specimen, [first], [partner], segment=True, position=True)
    [real] = encode_words(specimen, [partner], [first])
    with torch.inference_mode():
        hidden = specimen.encoder(**model_inputs(specimen, [real]), output_hidden_states=True).hidden_states
    there = pool_pieces(torch.stack(hidden)[:, 0], real.word_ids)[:, len(partner) :]
    assert moved.shape == there.shape and torch.allclose(moved, there, atol=1e-5)
    [stayed] = slots.slot_vectors(specimen, [first], [partner])
    assert not torch.allclose(moved, stayed, atol=1e-3)


# --- layers rolled back ---------------------------------------------------------------------------------------------


def test_only_albert_shares_the_weights_of_its_blocks(specimen):
    assert changes.blocks_have_own_weights(specimen.encoder) == (specimen.name != SHARED)


def test_layers_are_rolled_back_or_refused(specimen):
    run = finetune(specimen, EXAMPLES, EXAMPLES, epochs=1)
    layers = range(specimen.layers + 1)
    if specimen.name == SHARED:
        for change in (changes.weight_change, lambda before, after: changes.restored(run.classifier, before, layers)):
            with pytest.raises(BertologyError, match="share their weights"):
                change(specimen.encoder, run.specimen.encoder)
        return
    _check_every_layer_comes_back(specimen, run)


def _check_every_layer_comes_back(specimen, run) -> None:
    assert (changes.weight_change(specimen.encoder, run.specimen.encoder) > 0).all()
    last = changes.restored(run.classifier, specimen.encoder, [specimen.layers])
    moved = changes.weight_change(specimen.encoder, last.encoder)
    assert moved[-1] == 0 and (moved[:-1] > 0).all()
    everything = changes.restored(run.classifier, specimen.encoder, range(specimen.layers + 1)).encoder
    old = dict(specimen.encoder.named_parameters())
    left = [name for name, new in everything.named_parameters() if not torch.equal(new, old[name])]
    assert all("pooler" in name for name in left)


def test_an_albert_whose_groups_are_distinct_is_rolled_back(tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS[SHARED].tiny, "num_hidden_groups", 2)
    specimen = load(_cached_in(tmp_path, monkeypatch, SHARED))
    assert changes.blocks_have_own_weights(specimen.encoder)
    _check_every_layer_comes_back(specimen, finetune(specimen, EXAMPLES, EXAMPLES, epochs=1))


# --- words and their pieces -----------------------------------------------------------------------------------------


def test_attention_mass_and_share_count_the_same_pieces(eager):
    _check_special_ratio(eager)


def test_a_full_stop_that_brings_its_space_is_punctuation(tmp_path, monkeypatch):
    monkeypatch.setattr(hub_cache, "TEXT", [line.replace(".", " .") for line in hub_cache.TEXT])
    eager = load(_cached_in(tmp_path, monkeypatch, "roberta-base"), attention="eager")
    assert "Ġ." in eager.tokenizer.get_vocab()  # as in RoBERTa's own vocabulary
    _check_special_ratio(eager)


def _check_special_ratio(eager) -> None:
    statistics = head_statistics(eager, SENTENCES)
    mass = sum(statistics[name] for name in ("cls", "sep", "punctuation")).mean(2)
    ratio = attention_evidence.special_ratio(eager, statistics, SENTENCES)
    pieces = np.array([len(encoding) for encoding in encode_words(eager, SENTENCES)])
    assert np.allclose(ratio, mass * (pieces / 3)[:, None])  # the first piece, the last one and the full stop
    assert target_masks(eager, encode_words(eager, SENTENCES)[0])["punctuation"][0].sum() == 1


def test_candidates_for_triggers_begin_words_and_need_a_piece_each(specimen):
    known = triggers.candidate_words(specimen, set())
    assert {"the", "garden"} <= set(known) and "garden" not in triggers.candidate_words(specimen, {"garden"})
    pieces = specimen.tokenizer([list(known)], is_split_into_words=True, add_special_tokens=False)["input_ids"]
    assert pieces == [list(known.values())]
    specimen.model.config.vocab_size += 5  # ids that the tokenizer has no piece for
    assert triggers.candidate_words(specimen, set()) == known
