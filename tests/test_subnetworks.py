"""Sub-networks: agreement equals kappa, ablations equal the plain definition, masks have one size."""

import numpy as np
import pytest
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.heads import fleiss_kappa
from bertology_utils.studies import subnetworks as nets
from bertology_utils.tuning.classification_tasks import task
from bertology_utils.tuning.training import finetune, predict


@pytest.fixture(scope="module")
def run(tiny):
    return finetune(tiny, task("voice", 16), task("voice", 12, split="test"), epochs=1)


def test_agreement_rebuilds_kappa():
    survival = np.random.default_rng(0).random((4, 30)) < 0.4
    seen, chance = nets.agreement(survival)
    assert (seen.mean() - chance) / (1 - chance) == pytest.approx(fleiss_kappa(survival))


def test_agreement_between_equal_sets_is_complete():
    keep = np.array([[True, False, True]])
    assert nets.agreement_between(keep, keep).all() and not nets.agreement_between(keep, ~keep).any()


def test_survivors_are_the_highest():
    keep = nets.survivors(np.array([[1.0, 5.0], [4.0, 2.0]]))
    assert keep.tolist() == [[False, True], [True, False]]


def test_single_ablation_is_closing_one_gate(run):
    test = task("voice", 6, split="test")
    change = nets.single_ablations(run, test)
    labels = np.asarray(test.labels)
    rows = np.arange(len(labels))
    keep = torch.ones(2, 4)
    keep[1, 2] = 0
    whole = predict(run.classifier, run.specimen, test)[rows, labels]
    with nets.gated(run.classifier, keep):
        without = predict(run.classifier, run.specimen, test)[rows, labels]
    assert np.allclose(change[1, 2], without - whole, atol=1e-5)
    assert nets.single_ablations(run, test, "mean").shape == nets.single_ablations(run, test, "uniform").shape


def test_one_head_stays_per_layer(run):
    test = task("voice", 6, split="test")
    scores = nets.importance(run, test)
    closed, one = nets.layer_ablations(run, test), nets.layer_ablations(run, test, scores)
    assert closed.shape == one.shape == (2, 6) and not np.allclose(closed, one)


def test_masks_have_one_size_and_bad_avoids_good(run):
    sets = nets.subnetworks(run, nets.importance(run, task("voice", 8)))
    assert set(sets) == set(nets.SUBNETWORKS)
    for kind in "sm":
        sizes = {name: sum(int(m.sum()) for m in sets[name].values()) for name in sets if name.startswith(kind)}
        assert len(set(sizes.values())) == 1
    shared = sum(int((g & b).sum()) for g, b in zip(sets["m_good"].values(), sets["m_bad"].values(), strict=True))
    assert shared == 0  # at one half of the weights nothing has to be filled up
    before = predict(run.classifier, run.specimen, task("voice", 6))
    assert nets.score_pruned(run, task("voice", 6), sets["m_bad"]).shape == (6,)
    assert np.array_equal(before, predict(run.classifier, run.specimen, task("voice", 6)))


def test_curves_end_without_heads(run):
    curve = nets.pruning_curve(run, task("voice", 8), task("voice", 8, split="test"), "inverse", step=0.5)
    assert [step.share_kept for step in curve] == [1, 0.5, 0]


def test_best_without_measures_on_other_items():
    changes = np.array([[1.0, -1.0, 1.0, -1.0], [0.0, 0.5, 0.0, 0.5]])
    assert nets.best_without(changes).tolist() == [-1, -1]


def test_threshold_gap():
    gap, deviation = nets.threshold_gap([np.arange(10.0), np.arange(10.0) + 2], share=0.1)
    assert gap.tolist() == [[1], [1]] and np.allclose(deviation, 1)  # (runs, 1): a run is a seed, not an item


def test_overlap_of_equal_tasks_is_complete():
    kept = np.array([[True, True, False, False]] * 2)
    overlap = nets.task_overlap(kept, kept)
    assert overlap["between_tasks"].all() and overlap["between_seeds"].all()
    assert overlap["shared_unneeded"].tolist() == overlap["either_unneeded"].tolist() == [False, False, True, True]


def test_layer_contrast_leaves_the_head_itself_out():
    distances = np.array([[0, 1, 4, 6], [1, 0, 4, 6], [4, 4, 0, 2], [6, 6, 2, 0.0]])
    found = nets.layer_contrast(distances, 2)
    assert found["within"].tolist() == [1, 1, 2, 2] and found["between"].tolist() == [5, 5, 4, 6]


def test_a_layer_of_one_head_has_no_contrast():
    with pytest.raises(BertologyError, match="at least two heads"):
        nets.layer_contrast(np.array([[0, 1], [1, 0.0]]), 2)
