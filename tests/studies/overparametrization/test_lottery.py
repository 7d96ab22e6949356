"""Sub-networks of a tuned run: gates equal masks, pruning stops where it should, three networks of one size."""

import itertools

import numpy as np
import pytest
import torch

from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.instruments.blocks import feed_forward_outputs, gated_feed_forward
from bertology_utils.instruments.heads import gated
from bertology_utils.studies.overparametrization import lottery
from bertology_utils.tuning.training import batches, classification_loss, finetune, predict

PLAN = lottery.Plan(train=12, held=8, test=12, epochs=1, step=0.25)


@pytest.fixture(scope="module")
def tuned(tiny):
    train, _, test = lottery.drawn("number", 0, PLAN)
    return finetune(tiny, train, test, epochs=1)


@pytest.fixture(scope="module")
def held():
    return lottery.drawn("number", 0, PLAN)[1]


def test_masks_of_parts_are_gates_of_zero(tuned, held) -> None:
    kept = {"heads": torch.ones(2, 4, dtype=bool), "feed_forward": torch.tensor([[True, False]])}
    kept["heads"][1, 2] = False
    with (
        gated(tuned.classifier, kept["heads"].float()),
        gated_feed_forward(tuned.classifier.encoder, kept["feed_forward"][0].float()),
    ):
        expected = predict(tuned.classifier, tuned.specimen, held)
    with lottery.pruned(tuned.classifier.encoder, lottery.part_masks(tuned, kept)):
        found = predict(tuned.classifier, tuned.specimen, held)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_importance_is_the_mean_slope_of_single_examples(tuned, held) -> None:
    found = lottery.part_importance(tuned, held, lottery.whole(tuned))
    (_, batch), *_ = batches(tuned.specimen, held)
    assert len(batch["labels"]) == len(held)
    slopes, step = [], 1e-2
    for sign in (1, -1):
        gates = torch.ones(2)
        gates[1] += sign * step
        with gated_feed_forward(tuned.classifier.encoder, gates), torch.no_grad():
            slopes.append(classification_loss(tuned.classifier, batch))
    expected = ((slopes[0] - slopes[1]) / (2 * step)).abs().mean()
    assert found["feed_forward"][0, 1] == pytest.approx(expected.item(), rel=0.02)


def test_each_step_leaves_less_and_ends_at_the_share(tuned, held) -> None:
    steps = list(lottery.s_steps(tuned, held, PLAN, 0.5))
    sizes = [tuple(int(part.sum()) for part in kept.values()) for kept in steps]
    assert sizes == [(8, 2), (6, 1), (4, 1)]
    for larger, smaller in itertools.pairwise(steps):
        assert all((larger[name] | ~smaller[name]).all() for name in larger)


@pytest.mark.parametrize("least", [0.0, 2.0])
def test_pruning_goes_on_while_enough_of_the_score_is_left(tuned, held, least) -> None:
    plan = lottery.Plan(least=least, step=0.5)
    parts, weights = lottery.s_pruned(tuned, held, plan), lottery.m_pruned(tuned, held, plan)
    left = [int(parts["heads"].sum()), float(torch.cat([mask.flatten() for mask in weights.values()]).float().mean())]
    assert left == ([8, 1.0] if least > 1 else [0, pytest.approx(0, abs=1e-6)])


def test_good_random_and_bad_have_one_size_and_bad_is_what_good_lacks(tuned) -> None:
    kept = {"heads": torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0]]).bool(), "feed_forward": torch.tensor([[True, False]])}
    bad, drawn = lottery.bad_parts(kept, 0), lottery.random_parts(kept, 0)
    for name, part in kept.items():
        assert torch.equal(bad[name], ~part) and drawn[name].sum() == part.sum()


def test_masks_of_weights_have_one_size_and_leave_the_run_as_it_was(tuned, held) -> None:
    *_, parts = lottery.s_steps(tuned, held, PLAN, 0.5)
    before = predict(tuned.classifier, tuned.specimen, held)
    masks = lottery.six(tuned, parts, lottery.magnitude_masks(tuned.specimen.encoder, 0.5), 0)
    for kind in "sm":
        sizes = [sum(int(mask.sum()) for mask in own.values()) for name, own in masks.items() if name[0] == kind]
        assert len(set(sizes)) == 1
    shared = [int((good & masks["m_bad"][name]).sum()) for name, good in masks["m_good"].items()]
    assert sum(shared) == 0  # at one half of the weights nothing has to be filled up
    lottery.score_with(tuned, held, masks["m_bad"])
    assert np.array_equal(before, predict(tuned.classifier, tuned.specimen, held))


@pytest.mark.parametrize("task", ["number", lottery.GRADED])
def test_a_run_scores_the_whole_model_and_six_networks(tiny, task) -> None:
    found = lottery.run(tiny, task, 0, PLAN)
    assert set(found.pruned) == set(found.retrained) == {f"{kind}_{which}" for kind in "sm" for which in
                                                         ("good", "random", "bad")}  # fmt: skip
    low = -1 if task == lottery.GRADED else 0
    assert all(low <= score <= 1 for score in [found.full, *found.pruned.values(), *found.retrained.values()])
    assert found.importance.shape == (2, 4) and int(found.good["heads"].sum()) == 4


def test_nothing_known_of_a_task_is_said() -> None:
    with pytest.raises(BertologyError, match="number"):
        lottery.known_task("numbr")


def test_a_block_without_a_narrowing_matrix_is_not_asked(tiny) -> None:
    assert [linear.out_features for linear in feed_forward_outputs(tiny.encoder)] == [tiny.width] * tiny.layers
    encoder = torch.nn.Module()
    encoder.config, encoder.encoder = tiny.encoder.config, torch.nn.Module()
    encoder.encoder.layer = torch.nn.ModuleList([torch.nn.Linear(tiny.width, tiny.width)])
    with pytest.raises(NotAskable):
        feed_forward_outputs(encoder)
