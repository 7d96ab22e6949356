"""Probes: planted structure is found, and all layers at once equal one layer at a time."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bertology_utils.errors import BertologyError
from bertology_utils.instruments import probes


@pytest.fixture(scope="module")
def planted():
    """Three layers of 12 dimensions: noise, the classes weakly, the classes clearly (in correlated dimensions)."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(4, (900,), generator=generator)
    noise = torch.randn(3, 900, 12, generator=generator)
    signal = torch.randn(4, 12, generator=generator)[labels]
    features = noise + torch.tensor([0.0, 0.5, 2.0])[:, None, None] * signal
    mixing = torch.randn(12, 12, generator=generator)
    return (features @ mixing * 5 + 3), labels.numpy()


def test_linear_probe_finds_the_planted_layer_as_sklearn_does(planted):
    features, labels = planted
    correct = probes.probe_correctness(features[:, :600], labels[:600], features[:, 600:], labels[600:])
    assert correct.shape == (3, 3, 300)
    accuracy = correct.mean((1, 2))
    assert accuracy[0] < 0.4 < accuracy[1] < accuracy[2] and accuracy[2] > 0.9
    for layer in range(3):
        reference = LogisticRegression(max_iter=1000).fit(features[layer, :600], labels[:600])
        assert abs(reference.score(features[layer, 600:], labels[600:]) - accuracy[layer]) < 0.05


@pytest.mark.parametrize("settings", [{}, {"hidden": 8}])
def test_all_layers_at_once_equal_one_layer_at_a_time(planted, settings):
    features, labels = planted
    together = probes.train_probe(features, labels, seeds=2, epochs=2, steps=20, **settings).logits(features)
    for layer in range(3):
        alone = probes.train_probe(features[layer : layer + 1], labels, seeds=2, epochs=2, steps=20, **settings)
        assert torch.allclose(alone.logits(features[layer : layer + 1])[0], together[layer], atol=1e-3)
    assert not torch.allclose(together[:, 0], together[:, 1], atol=1e-3), "seeds must differ"


def test_the_mlp_solves_what_no_linear_probe_can():
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(1, 1200, 2, generator=generator)
    labels = (features[0].prod(-1) > 0).long()  # exclusive or of the signs
    split = features[:, :800], labels[:800], features[:, 800:], labels[800:]
    assert probes.probe_correctness(*split).mean() < 0.65
    assert probes.probe_correctness(*split, hidden=16, epochs=40).mean() > 0.9


def test_log_loss_is_the_bits_of_the_right_class(planted):
    features, labels = planted
    probe = probes.train_probe(features, labels, seeds=1, epochs=1, steps=1)
    expected = -probe.logits(features).log_softmax(-1)[1, 0, 7, labels[7]] / np.log(2)
    assert probe.log_loss(features, labels)[1, 0, 7] == pytest.approx(float(expected), rel=1e-4)


def test_unseen_labels_count_as_wrong_and_misfits_are_refused(planted):
    features, labels = planted
    train, test, names = probes.encode_labels(["b", "a", "b"], ["a", "z"])
    assert (train.tolist(), test.tolist(), names) == ([1, 0, 1], [0, -1], ["a", "b"])
    probe = probes.train_probe(features, labels, seeds=1, steps=1, epochs=1)
    assert probe.correct(features[:, :2], [-1, -1]).sum() == 0
    with pytest.raises(BertologyError):
        probes.train_probe(features, labels[:5])


def test_stacked_words_are_the_sentences_words():
    vectors = [torch.randn(2, 3, 4), torch.randn(2, 1, 4)]
    assert torch.equal(probes.stack_words(vectors)[:, 3], vectors[1][:, 0])
    assert torch.equal(probes.stack_words(vectors, [(1, 0), (0, 2)])[:, 1], vectors[0][:, 2])


def test_ridge_of_all_layers_is_that_of_each_layer():
    generator = torch.Generator().manual_seed(2)
    features = torch.randn(2, 30, 6, generator=generator, dtype=torch.double)
    targets = features[1] @ torch.randn(6, 2, generator=generator, dtype=torch.double)
    targets = targets + 0.5 * torch.randn(30, 2, generator=generator, dtype=torch.double)
    found = probes.fit_ridge(features, targets).predict(features)
    assert found.shape == (2, 30, 2)
    for layer in range(2):
        assert torch.equal(probes.fit_ridge(features[[layer]], targets).predict(features[[layer]])[0], found[layer])
    assert (found[1] - targets).square().mean() < 0.5 < (found[0] - targets).square().mean()


@pytest.mark.parametrize(("items", "width", "targets"), [(60, 8, 1), (30, 50, 2), (20, 20, 1)])
@pytest.mark.parametrize("scaled", [True, False])
def test_ridge_is_the_librarys(items, width, targets, scaled):
    generator = torch.Generator().manual_seed(5)
    known, asked = (3 + 2 * torch.randn(2, n, width, generator=generator) for n in (items, 15))
    known[..., 0], asked[..., 0] = 1.5, 1.5  # a feature that never varies
    wanted = known[1] @ torch.randn(width, targets, generator=generator) + torch.randn(
        items, targets, generator=generator
    )
    found = probes.fit_ridge(known, wanted, scaled).predict(asked)
    for layer in range(2):
        plain = make_pipeline(StandardScaler(with_std=scaled), RidgeCV(probes.PENALTIES)).fit(
            known[layer].double().numpy(), wanted.double().numpy()
        )
        predicted = plain.predict(asked[layer].double().numpy()).reshape(15, -1)
        np.testing.assert_allclose(found[layer].numpy(), predicted, rtol=1e-6, atol=1e-8)


def test_selector_points_at_the_marked_word_of_sentences_of_any_length():
    generator = torch.Generator().manual_seed(3)
    direction = torch.randn(16, generator=generator)
    lengths = torch.randint(4, 9, (300,), generator=generator).tolist()
    places = [int(torch.randint(length, (1,), generator=generator)) for length in lengths]
    vectors = [torch.randn(2, length, 16, generator=generator) for length in lengths]
    for words, place in zip(vectors, places, strict=True):
        words[1, place] += 2 * direction
    correct = probes.train_selector(vectors[:200], places[:200]).correct(vectors[200:], places[200:])
    assert correct.shape == (2, 3, 100)
    assert correct[1].mean() > 0.9 and correct[0].mean() < 0.4


def test_scalar_mix_puts_its_weight_on_the_planted_layer(planted):
    features, labels = planted
    full = probes.train_scalar_mix(features[:, :600], labels[:600])
    assert full.shares.shape == (1, 3, 3)
    assert (full.shares[0].argmax(-1) == 2).all()
    assert (probes.centre_of_gravity(full.shares[0]) > 1.2).all()
    stacked = probes.train_scalar_mix(features[:, :600], labels[:600], cumulative=True)
    assert torch.equal(stacked.shares[0, 0], torch.tensor([1.0, 0, 0])), "mix 0 may read layer 0 only"
    scores = stacked.correct(features[:, 600:], labels[600:]).mean(2)  # (mixes, seeds)
    assert scores[2].min() > 0.9 and (probes.expected_layer(scores) > 1.25).all()


def test_expected_layer_and_centre_of_gravity_by_hand():
    assert probes.expected_layer(np.array([0.5, 0.7, 0.6, 0.9])) == pytest.approx((0.2 - 0.2 + 0.9) / 0.4)
    assert np.isnan(probes.expected_layer(np.array([0.5, 0.5])))
    assert probes.centre_of_gravity(np.array([0.5, 0.0, 0.5])) == pytest.approx(1)
    draws = probes.shuffled_expected_layers(np.array([0.5, 0.7, 0.6, 0.9]), draws=400)
    assert draws.mean() == pytest.approx(2, abs=0.3)


def test_items_are_those_of_plain_indexing():
    scaled, rows = torch.randn(3, 20, 4), torch.randint(20, (2, 5))
    assert torch.equal(probes._items(scaled, rows), scaled[:, rows])


def test_seeds_share_all_items_or_none():
    groups = [0, 0, 1, 2, 2, 2, 3, 4, 5, 5]
    assert probes.items_of_seeds(4, 2, None).tolist() == [[0, 1, 2, 3]] * 2
    read = probes.items_of_seeds(len(groups), 2, groups, seed=3)
    sides = [{groups[item] for item in side.tolist()} for side in read]
    assert not sides[0] & sides[1] and read.shape[0] == 2 and read.shape[1] >= 2
    with pytest.raises(BertologyError, match="a sentence of its own"):
        probes.items_of_seeds(3, 4, [0, 1, 2])


def test_there_are_as_many_probes_as_seeds():
    features, labels = torch.randn(1, 40, 3, generator=torch.Generator().manual_seed(0)), np.arange(40) % 2
    one, two = (probes.train_probe(features, labels, steps=2, **probes.of_seeds(s)) for s in ([6], range(6, 8)))
    other = probes.train_probe(features, labels, steps=2, **probes.of_seeds([7]))
    assert [probe.stages[0][0].shape[1] for probe in (one, two, other)] == [1, 2, 1]
    assert not torch.equal(one.stages[0][0], other.stages[0][0])


def test_a_seed_learns_nothing_from_sentences_of_another(planted):
    features, labels, *_ = planted
    groups = np.arange(len(labels))
    mine = probes.items_of_seeds(len(labels), 2, groups)[0].numpy()
    other = labels.copy()
    other[np.setdiff1d(groups, mine)] = 0
    settings = {"classes": int(labels.max()) + 1, "seeds": 2, "groups": groups, "steps": 30, "epochs": 1}
    first, second = (probes.train_probe(features, known, **settings).logits(features) for known in (labels, other))
    assert torch.equal(first[:, 0], second[:, 0]) and not torch.equal(first[:, 1], second[:, 1])


def test_a_mix_of_one_layer_is_the_probe_of_that_layer():
    """Many faint directions tell words apart, a strong one their class: for new words only the strong one helps."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(120) % 3
    words = 0.3 * torch.randn(1, 120, 40, generator=generator)
    words[0, :, :3] += 2 * torch.nn.functional.one_hot(labels, 3)
    features = (words @ torch.randn(40, 40, generator=generator)).repeat_interleave(6, dim=1)
    features = features + 0.1 * torch.randn(features.shape, generator=generator)
    known, new, answers = features[:, :360], features[:, 360:], labels.repeat_interleave(6)
    alone = probes.train_probe(known, answers[:360]).correct(new, answers[360:]).mean()
    mixed = probes.train_scalar_mix(known, answers[:360]).correct(new, answers[360:]).mean()
    assert alone > 0.85 and abs(alone - mixed) < 0.03


@pytest.mark.parametrize("hidden", [0, 5])
def test_reading_all_seeds_at_once_is_reading_them_one_by_one(hidden):
    generator = torch.Generator().manual_seed(0)
    features, labels = torch.randn(3, 40, 8, generator=generator), np.arange(40) % 3
    probe = probes.train_probe(features, labels, hidden=hidden, seeds=4, steps=5, epochs=1)
    found = probe.logits(features)
    for layer in range(3):
        scaled = probe.standardise(features)[layer]
        for seed in range(4):
            plain = scaled
            for place, (weight, bias) in enumerate(probe.stages):
                plain = (plain.relu() if place else plain) @ weight[layer, seed] + bias[layer, seed]
            torch.testing.assert_close(found[layer, seed], plain)


def test_a_window_holds_a_word_and_its_last_predecessors():
    vectors = torch.arange(1.0, 5)[:, None]  # four words of width 1
    windows = probes.predecessor_windows(vectors, 2)
    assert windows[0].tolist() == [[1, 0, 0], [2, 1, 0], [3, 2, 0], [4, 3, 0]]
    assert windows[1].tolist() == [[1, 0, 0], [2, 1, 0], [3, 2, 1], [4, 3, 2]]
