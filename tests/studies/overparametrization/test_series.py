"""Several runs together: one value a run, orders of pruning, six sub-networks tuned again."""

import numpy as np
import pytest

from bertology_utils.absent import Absent
from bertology_utils.models import twin
from bertology_utils.runs import Runs
from bertology_utils.studies.overparametrization import series, tickets
from bertology_utils.studies.overparametrization import subnetworks as nets
from bertology_utils.studies.overparametrization.subnetworks import ORDERS, SUBNETWORKS
from bertology_utils.tuning import comparisons
from bertology_utils.tuning.classification_tasks import task

PLAN = comparisons.Plan(train=8, test=6, epochs=1, seeds=(0, 1))


@pytest.fixture(scope="module")
def tuned(tiny):
    return comparisons.tune(tiny, ["number"], PLAN)["number"]


@pytest.fixture(scope="module")
def scores(tuned):
    return series.importances(tuned, task("number", 4, 1))


def test_scores_and_survivors_have_a_row_for_each_run(tuned, scores) -> None:
    assert scores.shape == (2, 2, 4) and series.survival(scores).sum(1).tolist() == [4, 4]
    assert series.matrix_shares(tuned).shape[0] == 2
    assert series.shared_survivors(scores[0], scores[0]) == 1 and series.shared_survivors(scores[0], -scores[0]) == 0


def test_curves_begin_with_the_whole_model(tuned, scores) -> None:
    rank_on, test = task("number", 4, 1), PLAN.examples("number")[1]
    orders = series.pruning_orders(tuned, scores, rank_on, test, 0, inverse=2)
    assert set(orders) == set(ORDERS) and {right.shape[::2] for right in orders.values()} == {(2, 6)}
    for order, curves in orders.items():  # scores that are known already change nothing
        anew = [nets.pruning_curve(run, rank_on, test, order, seed=seed) for seed, run in enumerate(tuned)]
        assert np.array_equal(curves, [[step.scores for step in curve] for curve in anew])
    found = series.curve_samples(orders)
    assert np.array_equal(found["full"], comparisons.correct(tuned))
    assert found["quarter"].shape == (2, 6) and found["random_order"].shape == (2, 6)


def test_removals_end_with_the_shorter_list(tuned, scores) -> None:
    few, test = task("number", 4, 2, "test"), PLAN.examples("number")[1]
    changes = series.single_ablations(tuned[:1], few)
    assert changes.shape == (1, 2, 4, 4)
    found = series.removals(tuned, few, changes, test, scores)
    assert {values.shape for values in found.values()} == {(1, 6)}


def test_two_tasks_are_compared_with_what_was_learnt(tiny, tuned, scores) -> None:
    others = series.other_tasks(tiny, ["tense"], PLAN.of_seeds(1), ranked=4)
    assert others["tense"]["correct"].shape == (1, 6) and others["tense"]["survival"].shape == (1, 8)
    number = {"correct": comparisons.correct(tuned), "survival": series.survival(scores)}
    found = series.overlap(number, others["tense"])
    assert set(found) == {"between_tasks", "between_seeds", "first_task", "second_task"}


def test_six_subnetworks_are_scored_before_and_after(tiny, tuned, scores) -> None:
    six = tickets.six_subnetworks(tiny, tuned[:1], scores, PLAN)
    assert all(six[how][name].shape == (1, 6) for how in ("pruned", "retrained") for name in SUBNETWORKS)
    assert tickets.by_subnetwork(six)["s-good"]["pruned"] is six["pruned"]["s_good"]


def test_of_an_untrained_model_only_the_control_has_all_runs(tiny, tuned, scores) -> None:
    six = tickets.six_subnetworks(twin(tiny), tuned, scores, PLAN)
    retrained = six["retrained"]
    assert {name: len(runs) for name, runs in retrained.items() if len(runs) > 1} == {tickets.RANDOM_INIT: 2}
    assert tickets.by_subnetwork(six)["s-good"] == {"retrained": retrained["s_good"]}


def test_tickets_stand_beside_the_whole_model_and_untrained_halves() -> None:
    model, twin = ({name: np.full((runs, 2), runs) for name in SUBNETWORKS} for runs in (2, 1))
    found = tickets.tickets(Runs(model, twin), Runs(np.zeros((5, 2)), np.zeros((4, 2))))
    assert found.model["full"].shape == (2, 2) and found.twin["full"].shape == (1, 2)
    assert found.model["random_init"] is twin["s_random"] and found.twin["random_init"] is twin["m_random"]
    assert isinstance(tickets.tickets(Absent("shared weights"), Runs(0, 0)), Absent)


def test_published_figures_have_the_names_of_the_bars() -> None:
    assert list(tickets.published_tickets()) == [tickets.label(name) for name in SUBNETWORKS]
    assert series.published_kappas()["published: MNLI"] == 0.258
