"""Every family of instruments on every kind of hub model, each against something that must hold for it.

With BERTOLOGY_SLOW=1 also models of the real configurations (some 2 GB on disk, minutes), randomly initialised.
"""

import os

import numpy as np
import pytest
import torch
from hub_cache import BASE, KINDS, LANGUAGES, SENTENCES, add_to_cache, use_only
from transformers import AlbertModel

from bertology_utils.activations import word_vectors
from bertology_utils.compression import outliers, prune, quantize
from bertology_utils.compression.distill import distill
from bertology_utils.errors import BertologyError
from bertology_utils.instruments import attention, cloze, geometry, heads, structural
from bertology_utils.instruments.probes import train_probe
from bertology_utils.models import load, twin
from bertology_utils.studies.attention import effects as attention_effects
from bertology_utils.studies.overparametrization.subnetworks import importance
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.mlm_training import masked_batches, masked_loss, train_mlm
from bertology_utils.tuning.training import Examples, finetune

pytestmark = pytest.mark.usefixtures("only_this_cache")
TREES = [(1, 2, -1, 5, 5, 2, 2), (1, -1, 1), (1, -1, 3, 1, 1), (1, 2, -1, 5, 5, 2, 2)]
LABELS = [0, 1, 1, 0]


def last_hidden(specimen, sentences=SENTENCES):
    inputs = model_inputs(specimen, encode_words(specimen, sentences))
    with torch.no_grad():
        return specimen.encoder(**inputs).last_hidden_state


# --- cloze ----------------------------------------------------------------------------------------------------------


def test_cloze_scores_agree_with_each_other(specimen):
    known = [word for word in ("in", "the", "The", ".") if cloze.single_piece(specimen, word) is not None]
    sentence, position = SENTENCES[0], 3
    scores = cloze.word_log_probability(specimen, [sentence], [position], [known]).log_probabilities[0]
    distribution = cloze.masked_distributions(specimen, [cloze.mask_word(sentence, position)])
    assert distribution.shape == (1, specimen.vocabulary_size)
    assert np.isclose(distribution.exp().sum(), 1, atol=1e-4) and known
    ids = [cloze.single_piece(specimen, word) for word in known]
    assert np.allclose(scores[: len(ids)], distribution[0, ids].numpy(), atol=1e-4)
    whole, alone = (cloze.word_scores(specimen, [sentence], only=only)[0] for only in (None, [position]))
    assert np.isclose(alone.sum(), whole[position], atol=1e-4) and np.isclose(alone[position], alone.sum())


def test_words_of_other_scripts_are_words(specimen):
    words = ["狗", "Собаки", "chiens", "?"]
    assert [v.shape[1] for v in word_vectors(specimen, [words])] == [4]
    if specimen.name == "bert-base-multilingual-cased":
        ids = specimen.tokenizer(LANGUAGES)["input_ids"]
        assert not any(specimen.tokenizer.unk_token_id in row for row in ids)


# --- attention ------------------------------------------------------------------------------------------------------


def test_attention_maps_sum_to_one_and_statistics_are_shares(eager):
    for _, encoding, maps in attention.attention_maps(eager, SENTENCES):
        assert maps.shape == (eager.layers, eager.heads, len(encoding), len(encoding))
        assert torch.allclose(maps.sum(-1), torch.ones(()), atol=1e-4)
    for weighting in ("attention", "norm"):
        kept = attention.head_statistics(eager, SENTENCES, SENTENCES, weighting)
        for name in ("cls", "sep", "self"):
            values = kept.values[name]
            assert values.shape == (4, eager.layers, eager.heads) and ((values >= 0) & (values <= 1)).all(), name
    distances = attention.head_distances(eager, SENTENCES)
    assert np.allclose(distances, distances.T) and np.allclose(np.diag(distances), 0, atol=1e-6)


def test_norm_weighting_is_the_norm_of_what_each_head_moves(eager):
    encoding = encode_words(eager, SENTENCES[:1])[0]
    (_, _, weights), (_, _, weighted) = (
        next(iter(attention.attention_maps(eager, SENTENCES[:1], weighting=how))) for how in ("attention", "norm")
    )
    factors = weighted / weights  # ||f(x_j)||: the same for every source
    assert weighted.shape[-1] == len(encoding)
    assert torch.allclose(factors, factors[:, :, :1].expand_as(factors), rtol=1e-3)


def test_silenced_separators_and_removed_edges_change_the_output(eager):
    losses = attention_effects.separator_losses(eager, SENTENCES, layers=[1])
    assert all(np.isfinite(values).all() for values in losses.values())
    effects = attention_effects.edge_effects(eager, SENTENCES[:2], edges=6)
    assert all(np.isfinite(values).all() for values in effects.values())


# --- geometry and probes --------------------------------------------------------------------------------------------


def test_geometry_of_the_vectors(specimen):
    vectors = [v.numpy() for v in word_vectors(specimen, SENTENCES)]
    found = geometry.contextuality(SENTENCES, vectors, minimum=2)
    assert found.self_similarity.shape == (specimen.layers + 1, len(found.words))
    assert (np.abs(found.self_similarity) <= 1 + 1e-6).all()


def test_disabled_dimensions_change_the_output_and_come_back(specimen):
    before = last_hidden(specimen)
    with outliers.disabled(specimen.encoder, [3]):
        changed = last_hidden(specimen)
    assert not changed[..., 3].any() and before[..., 3].any() and torch.equal(last_hidden(specimen), before)


def test_probes_read_the_vectors(specimen):
    vectors = word_vectors(specimen, SENTENCES)
    probe = structural.fit_distance_probe(vectors, TREES, rank=4, seeds=2, epochs=2)
    scores = structural.score_distances(probe.distances(vectors), TREES)
    assert scores.uuas.shape == (specimen.layers + 1, 2, 4) and (scores.uuas >= 0).all()
    features = torch.cat(vectors, dim=1)
    labels = [place % 2 for place in range(features.shape[1])]
    features[..., 0] += features.std() * torch.tensor(labels) * 10  # what is to be read, planted
    correct = train_probe(features, labels, classes=2, seeds=2).correct(features, labels)
    assert correct.shape == (specimen.layers + 1, 2, len(labels)) and correct.mean() > 0.9


# --- heads ----------------------------------------------------------------------------------------------------------


def test_open_gates_change_nothing_and_closed_ones_do(specimen):
    before = last_hidden(specimen)
    keep = torch.ones(heads.head_grid(specimen.model))
    with heads.gated(specimen.model, keep):
        assert torch.equal(last_hidden(specimen), before)
    keep[1, 0] = 0
    with heads.gated(specimen.model, keep):
        closed = last_hidden(specimen)
    assert not torch.allclose(closed, before, atol=1e-6) and torch.equal(last_hidden(specimen), before)


def test_importance_is_the_slope_of_the_loss_in_the_gate(specimen):
    batch = masked_batches(specimen, SENTENCES, seed=1)[0][1]
    gradients = heads.gate_gradients(specimen.model, batch, masked_loss)
    assert gradients.shape == (4, specimen.layers, specimen.heads)
    keep, step = torch.ones(heads.head_grid(specimen.model)), 1e-2
    losses = []
    for sign in (1, -1):
        moved = keep.clone()
        moved[1, 2] += sign * step
        with torch.no_grad(), heads.gated(specimen.model, moved):
            losses.append(masked_loss(specimen.model, batch))
    slope = (losses[0] - losses[1]) / (2 * step)
    assert torch.allclose(gradients[:, 1, 2], slope, atol=2e-3)


@pytest.mark.parametrize("how", ["zero", "mean", "uniform"])
def test_each_head_can_be_ablated(specimen, how):
    batch = masked_batches(specimen, SENTENCES, seed=1)[0][1]
    means = heads.head_means(specimen.model, [batch])
    scores = heads.ablate_each(specimen.model, batch, masked_loss, how, means)
    keep = torch.ones(heads.head_grid(specimen.model))
    keep[0, 1] = 0
    with torch.no_grad(), heads.ablated(specimen.model, keep, how, means):
        alone = masked_loss(specimen.model, batch)
    assert scores.shape == (specimen.layers, specimen.heads, 4) and torch.allclose(scores[0, 1], alone, atol=1e-4)


# --- training -------------------------------------------------------------------------------------------------------


def test_fine_tuning_moves_a_copy(specimen):
    before = last_hidden(specimen)
    examples = Examples(SENTENCES, LABELS)
    run = finetune(specimen, examples, examples, epochs=2)
    assert run.probabilities.shape == (4, 2) and np.isfinite(run.losses).all()
    assert torch.equal(last_hidden(specimen), before)
    assert not torch.allclose(last_hidden(run.specimen), before, atol=1e-5)
    assert importance(run, examples).shape == (specimen.layers, specimen.heads)


@pytest.mark.parametrize(
    "recipe", [{"freeze": "encoder"}, {"freeze": "bottom-1"}, {"reinit_top": 1}, {"mixout": 0.5}, {"adapters": 4}]
)
def test_every_recipe_of_fine_tuning_runs(specimen, recipe):
    examples = Examples(SENTENCES, LABELS)
    run = finetune(specimen, examples, examples, epochs=1, **recipe)
    assert np.isfinite(run.losses).all() and 0 < run.trained_share <= 1


def test_training_on_as_a_masked_language_model_lowers_the_loss(specimen):
    tuned, losses = train_mlm(specimen, SENTENCES * 4, steps=12, learning_rate=3e-3)
    assert losses[-3:].mean() < losses[:3].mean() and tuned.layers == specimen.layers


def test_a_student_has_fewer_layers_and_the_teachers_vocabulary(specimen):
    student, losses = distill(specimen, SENTENCES, steps=2, layers=1)
    assert student.layers == 1 and student.vocabulary_size == specimen.vocabulary_size and np.isfinite(losses).all()


# --- compression ----------------------------------------------------------------------------------------------------


def test_pruned_weights_are_zero_and_come_back(specimen):
    before = last_hidden(specimen)
    masks = prune.magnitude_masks(specimen.encoder, 0.5)
    kept = torch.cat([mask.flatten() for mask in masks.values()])
    assert np.isclose(float(kept.float().mean()), 0.5, atol=1e-3)
    with prune.pruned(specimen.encoder, masks):
        assert not torch.allclose(last_hidden(specimen), before, atol=1e-6)
    assert torch.equal(last_hidden(specimen), before)


def test_quantised_models_are_near_the_original(specimen):
    plain = last_hidden(specimen)
    for changed in (quantize.quantise_weights(specimen.model), quantize.gobo(specimen.model, bits=4)):
        assert changed.factor > 2
        hidden = changed.model.base_model(**model_inputs(specimen, encode_words(specimen, SENTENCES))).last_hidden_state
        assert torch.cosine_similarity(hidden.flatten(), plain.flatten(), dim=0) > 0.95


# --- shared blocks --------------------------------------------------------------------------------------------------


def test_alberts_layers_have_modules_of_their_own_and_one_set_of_weights(only_this_cache):
    specimen = load("albert-base-v2", attention="eager")
    plain = AlbertModel.from_pretrained("albert-base-v2", local_files_only=True, attn_implementation="eager").eval()
    inputs = model_inputs(specimen, encode_words(specimen, SENTENCES))
    with torch.no_grad():
        ours, theirs = (
            model(**inputs, output_hidden_states=True, output_attentions=True) for model in (specimen.encoder, plain)
        )
    for name in ("hidden_states", "attentions"):
        assert len(ours[name]) == len(theirs[name]) and all(map(torch.equal, ours[name], theirs[name]))
    assert len(set(map(id, heads.output_projections(specimen.encoder)))) == specimen.layers == 2
    assert sum(p.numel() for p in specimen.encoder.encoder.parameters()) == sum(
        p.numel() for p in plain.encoder.parameters()
    )
    keep = torch.tensor([[True] * 4, [False] + [True] * 3])
    with pytest.raises(BertologyError, match="share their weights"):
        prune.head_masks(specimen.encoder, keep)


# --- the real sizes -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.environ.get("BERTOLOGY_SLOW"), reason="models of real size; ask with BERTOLOGY_SLOW=1")
@pytest.mark.parametrize("name", KINDS)
def test_models_of_the_real_configurations_load_and_are_measured(name, tmp_path, monkeypatch):
    add_to_cache(tmp_path, name, real=True)
    use_only(monkeypatch, tmp_path)
    specimen = load(name, attention="eager")
    real = KINDS[name].real
    assert specimen.vocabulary_size == real["vocab_size"] and specimen.max_pieces == 512
    assert specimen.width == real.get("hidden_size", BASE["hidden_size"]) and specimen.has_mlm_head
    assert np.isfinite(cloze.pseudo_log_likelihood(specimen, SENTENCES[:2])).all()
    assert word_vectors(specimen, SENTENCES)[0].shape == (specimen.layers + 1, 7, specimen.width)
    maps = next(iter(attention.attention_maps(specimen, SENTENCES[:1])))[2]
    assert maps.shape[:2] == (specimen.layers, specimen.heads) and twin(specimen).is_random
    with torch.no_grad():
        specimen.encoder(torch.full((1, specimen.max_pieces), 6))
