"""What a classifier needs: agreement equals kappa, ablations equal the plain definition."""

import numpy as np
import pytest
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.heads import fleiss_kappa
from bertology_utils.studies.overparametrization import subnetworks as nets
from bertology_utils.tuning.classification_tasks import task
from bertology_utils.tuning.training import finetune, predict


@pytest.fixture(scope="module")
def run(tiny):
    return finetune(tiny, task("voice", 16), task("voice", 12, split="test"), epochs=1)


def test_agreement_rebuilds_kappa():
    survival = np.random.default_rng(0).random((4, 30)) < 0.4
    seen, chance = nets.agreement(survival)
    assert (seen.mean() - chance) / (1 - chance) == pytest.approx(fleiss_kappa(survival))


def test_kappa_by_run_has_the_mean_kappa_and_one_value_a_run():
    survival = np.random.default_rng(0).random((4, 30)) < 0.4
    kappa = nets.kappa_by_run(survival)
    assert kappa.shape == (4,) and kappa.mean() == pytest.approx(fleiss_kappa(survival))


def test_reliability_is_the_correlation_between_runs():
    scores = np.random.default_rng(0).random((3, 2, 4))
    pairs = [np.corrcoef(scores[a].ravel(), scores[b].ravel())[0, 1] for a, b in ((0, 1), (0, 2), (1, 2))]
    found = nets.reliability(scores)
    assert found.shape == (3,) and found.mean() == pytest.approx(np.mean(pairs))


def test_spread_by_run_estimates_the_deviation():
    shares = np.random.default_rng(0).normal(0, 0.2, (200, 50))
    assert nets.spread_by_run(shares).mean() == pytest.approx(0.2, rel=0.02)


def test_gates_are_ranked_by_what_the_right_class_keeps(run):
    test = task("voice", 6, split="test")
    gates = nets.layer_gates((2, 4))
    kept = [nets.probability_with(run, test, keep).mean() for keep in gates]
    assert torch.equal(nets.ranked_gates(run, test, gates)[0], gates[int(np.argmax(kept))])


def test_removals_are_chosen_on_some_items_and_scored_on_others(run):
    few, test, changes = task("voice", 4, 1, "test"), task("voice", 12, split="test"), np.zeros((2, 4, 4))
    changes[1, 2] = 1
    found = nets.removals(run, few, changes, test, np.ones((2, 4)))
    keep = torch.ones(2, 4)
    keep[1, 2] = 0
    assert found["without_head"].tolist() == nets.with_heads(run, test, keep).tolist()
    assert {values.shape for values in found.values()} == {(12,)} and np.array_equal(found["full"], run.correct)


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


def test_gates_share_the_blocks_below_the_first_that_is_closed(run):
    test = task("voice", 6, split="test")
    gates = [torch.ones(2, 4), *nets.layer_gates((2, 4)), torch.eye(2, 4)]
    found = nets.gated_probabilities(run, test, gates)
    for keep, shared in zip(gates, found, strict=True):
        with nets.gated(run.classifier, keep):
            assert np.allclose(shared, predict(run.classifier, run.specimen, test), atol=1e-6)
    assert not np.allclose(found[1], found[2])


def test_one_head_stays_per_layer():
    closed, one = nets.layer_gates((2, 3)), nets.layer_gates((2, 3), np.array([[1, 3, 2], [0, 0, 1]]))
    assert [keep.tolist() for keep in closed] == [[[0, 0, 0], [1, 1, 1]], [[1, 1, 1], [0, 0, 0]]]
    assert [keep.tolist() for keep in one] == [[[0, 1, 0], [1, 1, 1]], [[1, 1, 1], [0, 0, 1]]]


def test_curves_go_from_the_whole_model_to_the_last_step(run):
    curve = nets.pruning_curve(run, task("voice", 8), task("voice", 12, split="test"), "inverse")
    assert [step.share_kept for step in curve] == [1, 0.75, 0.5, 0.25] and curve[0].scores is run.correct


def test_overlap_of_equal_tasks_is_complete():
    kept = np.array([[True, True, False, False]] * 2)
    overlap = nets.task_overlap(kept, kept)
    assert all(values.shape == (4,) and (values == 1).all() for values in overlap.values())
    assert (nets.task_overlap(kept, ~kept)["between_tasks"] == 0).all()


def test_layer_contrast_leaves_the_head_itself_out():
    distances = np.array([[0, 1, 4, 6], [1, 0, 4, 6], [4, 4, 0, 2], [6, 6, 2, 0.0]])
    found = nets.layer_contrast(distances, 2)
    assert found["within"].tolist() == [1, 1, 2, 2] and found["between"].tolist() == [5, 5, 4, 6]


def test_a_layer_of_one_head_has_no_contrast():
    with pytest.raises(BertologyError, match="at least two heads"):
        nets.layer_contrast(np.array([[0, 1], [1, 0.0]]), 2)


def test_a_contrast_has_one_value_a_sentence():
    distances = np.array([[0, 1, 4, 6], [1, 0, 4, 6], [4, 4, 0, 2], [6, 6, 2, 0.0]])
    found = nets.contrast_by_sentence([distances, 2 * distances], 2)
    assert found["within"].tolist() == [1.5, 3] and found["between"].tolist() == [5, 10]
