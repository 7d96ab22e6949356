"""Fine-tuning: what is trained is what was asked for, regularisers are their formulas, changes are measured right."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.heads import head_importance
from bertology_utils.text import encode_words
from bertology_utils.tuning import changes, regimens, training
from bertology_utils.tuning.classification_tasks import shared_parts
from bertology_utils.tuning.mlm_training import mlm_losses, train_mlm
from bertology_utils.tuning.training import Examples


def task(n, seed):
    """Does the sentence speak of a dog? Separable from the word alone."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, n)
    fill = ["the", "a", "sees", "near", "sleeps"]
    sentences = [[*generator.choice(fill, 3), "dog" if y else "cat", str(generator.choice(fill))] for y in labels]
    return Examples(sentences, labels.tolist())


TRAIN, TEST = task(48, 0), task(24, 1)
QUICK = {"epochs": 4, "learning_rate": 3e-3, "head_learning_rate": 1e-2, "budget": 128}


@pytest.fixture(scope="module")
def tuned(tiny):
    return training.finetune(tiny, TRAIN, TEST, seed=1, **QUICK)


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_learns_and_leaves_the_specimen_alone(tiny, tuned):
    before = copy.deepcopy(tiny.model)
    again = training.finetune(tiny, TRAIN, TEST, seed=1, **QUICK)
    assert tuned.accuracy > 0.9 and tuned.correct.shape == (len(TEST),)
    assert np.allclose(again.probabilities, tuned.probabilities)  # the same seed, the same run
    assert same(before, tiny.model) and not same(tuned.specimen.encoder, tiny.encoder)
    assert tuned.classifier.encoder is tuned.specimen.encoder
    assert not tuned.classifier.training


def test_a_finished_run_holds_no_gradients(tiny, tuned):
    further, _ = train_mlm(tiny, TRAIN.sentences, 2, budget=128)
    models = (tuned.classifier, further.model)
    assert all(parameter.grad is None for model in models for parameter in model.parameters())


def test_data_order_and_initialisation_are_two_seeds(tiny):
    quick = {**QUICK, "epochs": 1}
    base = training.finetune(tiny, TRAIN, TEST, 0, order_seed=5, **quick)
    other_order = training.finetune(tiny, TRAIN, TEST, 0, order_seed=6, **quick)
    assert torch.equal(base.start["head.weight"], other_order.start["head.weight"])
    assert not np.allclose(base.probabilities, other_order.probabilities)


def test_frozen_parts_do_not_move(tiny):
    frozen = training.finetune(tiny, TRAIN, TEST, freeze="encoder", head_learning_rate=1e-2)
    assert same(frozen.specimen.encoder, tiny.encoder) and frozen.accuracy > 0.6
    bottom = training.finetune(tiny, TRAIN, TEST, freeze="bottom-1", **QUICK)
    moved = changes.weight_change(tiny.encoder, bottom.specimen.encoder)
    assert moved[0] == 0 and moved[1] == 0 and moved[2] > 0
    with pytest.raises(BertologyError):
        training.finetune(tiny, TRAIN, TEST, freeze="bottom-9", **QUICK)


def test_the_means_of_both_sentences_are_compared(tiny):
    """Of one input; the separators are of neither sentence."""
    words = (["the", "dog", "sleeps"], ["a", "cat"])
    pair = Examples([words[0]], [0], [words[1]])
    ((_, batch),) = training.batches(tiny, pair)
    del batch["labels"]
    reader = training.Classifier(tiny.encoder, 2, "pair", tiny.tokenizer.sep_token_id).eval()
    (encoding,) = encode_words(tiny, pair.sentences, pair.pairs)
    with torch.no_grad():
        (hidden,) = tiny.encoder(**batch).last_hidden_state
        u, v, difference, product = reader.features(**batch)[0].chunk(4)
    first, second = np.flatnonzero(np.array(encoding.input_ids) == tiny.tokenizer.sep_token_id)
    assert torch.allclose(u, hidden[:first].mean(0), atol=1e-6)
    assert torch.allclose(v, hidden[first + 1 : second].mean(0), atol=1e-6)
    assert torch.equal(difference, (u - v).abs()) and torch.equal(product, u * v)


def test_a_run_keeps_what_its_head_saw(tiny, tuned):
    assert torch.equal(tuned.features, training.encoder_features(tuned.classifier, tiny, TEST))
    batches = training.batches(tiny, TEST)
    with torch.no_grad():
        for rows, batch in batches:
            del batch["labels"]
            plain = tuned.classifier(**batch).softmax(-1).numpy()
            assert np.allclose(tuned.probabilities[rows], plain, atol=1e-6)


def test_a_head_that_is_trained_first_starts_the_encoder_with_a_lower_loss(tiny):
    runs = [training.finetune(tiny, TRAIN, TEST, seed=1, **QUICK, head_first=first) for first in (False, True)]
    assert runs[1].losses[0] < runs[0].losses[0] and not same(runs[1].classifier.encoder, tiny.encoder)


def test_reinitialisation_touches_the_top_only(tiny):
    encoder = copy.deepcopy(tiny.encoder)
    regimens.reinitialise_top(encoder, 1, torch.Generator().manual_seed(0))
    moved = changes.weight_change(tiny.encoder, encoder)
    assert moved[0] == 0 and moved[1] == 0 and moved[2] > 0.5


def test_mixout_keeps_the_mean_and_draws_every_weight():
    """The trap: one drawn row repeated, and a gradient without 1 / (1 - p)."""
    torch.manual_seed(0)
    pretrained, weight = torch.zeros(400, 300), torch.ones(400, 300, requires_grad=True)
    mixout = regimens.Mixout(pretrained, 0.75).train()
    mixed = mixout(weight)
    assert set(mixed.unique().tolist()) == {0.0, 4.0}
    assert float(mixed.detach().mean()) == pytest.approx(1, abs=0.05)
    kept = mixed != 0
    assert kept.float().mean(0).std() < 0.05 and not torch.equal(kept[0], kept[1])  # no repeated row
    mixed.sum().backward()
    assert torch.allclose(weight.grad, kept * 4.0)
    assert torch.equal(mixout.eval()(weight), weight)


def test_mixout_run_ends_in_plain_weights(tiny):
    run = training.finetune(tiny, TRAIN, TEST, mixout=0.2, **(QUICK | {"epochs": 8}))
    names = {name for name, _ in run.specimen.model.named_parameters()}
    assert names == {name for name, _ in tiny.model.named_parameters()}
    assert run.accuracy > 0.7


def test_adapters_start_near_identity_and_train_alone(tiny):
    run = training.finetune(tiny, TRAIN, TEST, adapters=8, **{**QUICK, "epochs": 12, "learning_rate": 2e-2})
    old = dict(tiny.encoder.named_parameters())
    for name, parameter in run.specimen.encoder.named_parameters():
        if name in old and "LayerNorm" not in name:
            assert torch.equal(parameter, old[name]), name
    assert 0 < run.trained_share < 0.5 and run.accuracy > 0.7
    hidden = torch.randn(3, 16)
    assert torch.allclose(regimens.Adapter(16, 4)(hidden), hidden, atol=0.05)


def test_masked_weights_stay_zero(tiny):
    name = "encoder.layer.0.intermediate.dense.weight"
    mask = torch.rand(tiny.encoder.get_parameter(name).shape) < 0.5
    run = training.finetune(tiny, TRAIN, TEST, masks={name: mask}, **QUICK)
    weight = run.specimen.encoder.get_parameter(name)
    assert (weight[~mask] == 0).all() and (weight[mask] != 0).float().mean() > 0.9


def test_restoring_all_layers_is_the_pretrained_encoder(tiny, tuned):
    everything = changes.restored(tuned.classifier, tiny.encoder, range(tiny.layers + 1))
    assert changes.weight_change(tiny.encoder, everything.encoder).max() == 0
    nothing = changes.restored(tuned.classifier, tiny.encoder, [])
    assert same(nothing, tuned.classifier)


def test_ends_of_the_line_are_the_two_models(tiny, tuned):
    losses = changes.along_line(
        tuned.classifier, tuned.start, lambda model: training.item_losses(model, tiny, TEST), alphas=(0.0, 0.5, 1.0)
    )
    assert losses.shape == (3, len(TEST))
    assert np.allclose(losses[2], training.item_losses(tuned.classifier, tiny, TEST))
    assert losses[0].mean() == pytest.approx(np.log(2), abs=0.1) and losses[2].mean() < losses[0].mean()


def test_representations_change(tiny, tuned):
    moved = changes.representation_change(tiny, [tuned.specimen], TEST.sentences)
    assert moved.shape == (tiny.layers + 1, 1, len(TEST)) and moved[-1].mean() > 1e-3


def test_importance_of_heads_on_a_tuned_classifier(tiny, tuned):
    parts = [batch for _, batch in training.batches(tiny, TEST)]
    importance = head_importance(tuned.classifier, parts, training.classification_loss)
    assert importance.shape == (len(TEST), tiny.layers, tiny.heads) and (importance >= 0).all()


def test_short_mlm_training_lowers_the_loss(tiny):
    trained, losses = train_mlm(tiny, TRAIN.sentences, 40, learning_rate=3e-3, budget=128)
    assert len(losses) == 40
    assert mlm_losses(trained, TEST.sentences).mean() < mlm_losses(tiny, TEST.sentences).mean() - 0.5


def test_examples_must_match():
    with pytest.raises(BertologyError):
        Examples([["a"]], [0, 1])
    with pytest.raises(BertologyError):
        regimens.freeze_parameters(nn.Linear(1, 1), "top")


@pytest.mark.parametrize("pool", ["mean", "cls"])
def test_a_frozen_encoder_that_reads_once_gives_what_each_run_alone_gives(tiny, pool):
    options = {"freeze": "encoder", "pool": pool, "epochs": 2}
    together, correct = training.finetune_seeds(tiny, TRAIN, TEST, (3, 4), **options)
    for seed, run, right in zip((3, 4), together, correct, strict=True):
        alone = training.finetune(tiny, TRAIN, TEST, seed, **options)
        np.testing.assert_allclose(run.probabilities, alone.probabilities, atol=1e-6)
        assert np.array_equal(right, alone.correct) and same(run.classifier, alone.classifier)
        assert np.array_equal(training.predict(run.classifier, tiny, TEST), run.probabilities)


def test_grades_are_learnt_as_numbers_and_scored_by_their_correlation(tiny):
    train, test = (shared_parts(n, 0, split) for n, split in ((64, "train"), (24, "test")))
    run = training.finetune(tiny, train, test, epochs=2, pool="pair")
    assert run.classifier.head.out_features == 1 and run.probabilities.shape == (24, 1)
    grades = run.probabilities[:, 0]
    assert np.array_equal(run.correct, grades.round() == np.asarray(test.labels))
    assert training.task_score(run.probabilities, test) == pytest.approx(np.corrcoef(grades, test.labels)[0, 1])
    assert training.task_score(np.ones((24, 1)), test) == 0
    assert run.losses[-5:].mean() < run.losses[:5].mean()


def test_grades_between_whole_ones_stay_what_they_are(tiny):
    graded = training.Examples([["the", "cat"], ["a", "dog"]], [0.4, 2.6], [["a", "dog"]] * 2, graded=True)
    (_, batch), *_ = training.batches(tiny, graded)
    assert sorted(batch["labels"].tolist()) == pytest.approx([0.4, 2.6])
    assert training.right(np.array([[0.3], [2.2]]), graded).tolist() == [True, False]


def test_classes_are_scored_by_the_share_that_is_right():
    right = np.eye(2)[list(TEST.labels)]
    assert training.task_score(right, TEST) == 1 and training.task_score(1 - right, TEST) == 0
