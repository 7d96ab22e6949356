"""Controls: labels constant per type, code lengths against known bounds, subspaces that are really gone."""

from collections import Counter

import numpy as np
import pytest
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments import controls, probes


def test_control_labels_are_constant_per_type_and_follow_the_distribution():
    tags = ["NOUN"] * 60 + ["VERB"] * 30 + ["DET"] * 10
    task = controls.ControlTask.of(tags, seed=1)
    words = [f"word{place}" for place in range(3000)]
    labels = task.labels(words)
    assert task.labels(words[::-1]) == labels[::-1], "a label depends on the word alone"
    assert controls.ControlTask.of(tags, seed=2).labels(words) != labels
    shares = Counter(labels)
    for tag, count in Counter(tags).items():
        assert shares[tag] / 3000 == pytest.approx(count / 100, abs=0.03)
    with pytest.raises(BertologyError):
        controls.ControlTask.of([])


def test_word_identity_is_learnable_but_not_selective():
    generator = torch.Generator().manual_seed(0)
    types = torch.randint(40, (800,), generator=generator)
    tag_of = torch.arange(40) % 3
    identity = torch.eye(40)[types]  # knows the type, so it knows task and control alike
    tags = torch.eye(3)[tag_of[types]] @ torch.randn(3, 40, generator=generator)  # knows the tag only
    features = torch.stack([identity, tags]) + 0.05 * torch.randn(2, 800, 40, generator=generator)
    task_labels = tag_of[types].numpy()
    control_labels = np.array(controls.ControlTask.of(task_labels.tolist()).labels([f"w{t}" for t in types.tolist()]))
    score = [
        probes.probe_correctness(features[:, :600], y[:600], features[:, 600:], y[600:])
        for y in (task_labels, control_labels)
    ]
    means = controls.selectivity(*score).mean((1, 2))
    assert abs(means[0]) < 0.05 and means[1] > 0.3


def test_baselines_by_hand():
    assert controls.majority_baseline(["a", "b", "b"], ["b", "a"]).tolist() == [1, 0]
    found = controls.word_baseline(["x", "x", "x", "y"], ["a", "a", "b", "b"], ["x", "y", "z"], ["a", "a", "a"])
    assert found.tolist() == [1, 0, 1], "the unseen word gets the majority label (the first in order on a tie)"
    with pytest.raises(BertologyError):
        controls.selectivity(np.ones(3), np.ones(4))


def test_description_length_of_noise_and_of_structure():
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(4, (1000,), generator=generator)
    noise = torch.randn(2, 1000, 16, generator=generator)
    noise[1] += 3 * torch.randn(4, 16, generator=generator)[labels]
    code = controls.online_code(noise, labels, seeds=2)
    assert code.bits.shape == (2, 2) and code.uniform == 2000
    assert (code.bits[0] > 0.97 * code.uniform).all() and (code.bits[0] < 1.25 * code.uniform).all()
    assert (code.compression[1] > 4).all()


def test_first_portion_costs_the_uniform_code():
    code = controls.online_code(torch.zeros(1, 8, 2), np.arange(8) % 2, seeds=1, portions=(1.0,))
    assert code.bits.item() == code.uniform == 8


def decodability(features, labels):
    split = len(labels) // 2
    return probes.probe_correctness(
        features[None, :split], labels[:split], features[None, split:], labels[split:], seeds=1
    ).mean()


def test_removed_subspace_kills_linear_decodability_and_random_ones_do_not():
    generator = torch.Generator().manual_seed(2)
    labels = torch.randint(3, (1200,), generator=generator)
    features = torch.randn(1200, 24, generator=generator) + 2 * torch.randn(3, 24, generator=generator)[labels]
    mixed = features @ torch.randn(24, 24, generator=generator)
    labels = labels.numpy()
    removed = controls.class_mean_projection(mixed, labels)
    assert torch.allclose(removed.projection @ removed.projection, removed.projection, atol=1e-8)
    assert torch.trace(removed.projection).item() == pytest.approx(24 - removed.rank)
    assert decodability(mixed, labels) > 0.9
    assert decodability(removed(mixed), labels) < 0.45
    assert (
        decodability(controls.remove_directions(torch.randn(24, removed.rank, generator=generator))(mixed), labels)
        > 0.7
    )


def test_a_quantity_can_be_removed_too():
    generator = torch.Generator().manual_seed(3)
    features = torch.randn(500, 10, generator=generator)
    depth = features @ torch.randn(10, generator=generator) + 0.1 * torch.randn(500, generator=generator)
    removed = controls.class_mean_projection(features, depth.numpy())
    assert removed.rank == 1
    before, after = (
        np.corrcoef(probes.fit_ridge(x[None], depth).predict(x[None])[0, :, 0], depth)[0, 1]
        for x in (features, removed(features))
    )
    assert before > 0.95 and abs(after) < 0.3


def test_a_matched_subspace_holds_as_much_variance_and_is_another_one():
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(600, 24, generator=generator, dtype=torch.double) * torch.logspace(1, -1, 24)
    removed = controls.remove_directions(torch.eye(24)[:, [0, 5, 9]])
    captured = float((features @ removed.basis).square().sum())
    for seed in (0, 1):
        matched = controls.matched_projection(features, removed, seed)
        assert matched.rank == removed.rank
        centred = features - features.mean(0)
        assert float((centred @ matched.basis).square().sum()) == pytest.approx(captured, rel=0.05)
        assert float((matched.basis.T @ removed.basis).abs().max()) < 1e-6, "nothing of what was removed"


def test_shares_of_the_variance_and_the_nearest_match_where_there_is_not_enough():
    features = torch.randn(4000, 4, generator=torch.Generator().manual_seed(0)) * torch.tensor([3.0, 1, 1, 1])
    strong = controls.remove_directions(torch.eye(4)[:, :1])
    assert controls.variance_share(features, strong) == pytest.approx(9 / 12, abs=0.03)
    assert controls.variance_share(features, controls.matched_projection(features, strong)) < 0.15
