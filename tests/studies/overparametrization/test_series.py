"""Several runs together: one value a run, orders of pruning, what is removed."""

import numpy as np
import pytest

from bertology_utils.studies.overparametrization import series
from bertology_utils.studies.overparametrization import subnetworks as nets
from bertology_utils.studies.overparametrization.recorded_networks import NETWORKS, label, published_networks
from bertology_utils.studies.overparametrization.subnetworks import ORDERS
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
    assert scores.shape == (2, 2, 4)
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


def test_published_figures_have_the_names_of_the_bars() -> None:
    assert list(published_networks()) == [label(name) for name in NETWORKS]
    assert series.published_kappas()["published: MNLI"] == 0.258
