"""Comparisons of fine-tuning: shapes, planted effects, and plain definitions."""

import numpy as np
import pytest

from bertology_utils.studies import tuning_study as study


@pytest.fixture(scope="module")
def plan():
    return study.Plan(train=12, test=10, epochs=1, seeds=(0, 1))


def test_conditions_have_the_shape_of_the_items(tiny, plan):
    train, test = plan.examples("voice")
    scores = study.frozen_conditions(tiny, train, test, heads=3)
    assert scores["mean"].shape == scores["cls"].shape == (10,) and scores["untrained"].shape == (3, 10)


def test_restoring_everything_gives_the_frozen_encoder_under_the_tuned_head(tiny, plan):
    runs = study.tune(tiny, ["voice"], plan)["voice"]
    assert study.correct(runs).shape == (2, 10)
    test = plan.examples("voice")[1]
    scores = study.restoration(runs, tiny, test, {"none": [], "all": [0, 1, 2]})
    assert (scores["none"] == study.correct(runs)).all()
    assert scores["all"].shape == (2, 10)


def test_silencing_the_separator_nowhere_changes_nothing(tiny_eager, plan):
    runs = study.tune(tiny_eager, ["voice"], plan)["voice"]
    test = plan.examples("voice")[1]
    assert (study.without_separator(runs, test, []) == study.correct(runs)).all()
    assert study.without_separator(runs, test, [1, 2]).shape == (2, 10)


def test_nothing_changes_without_training(tiny_eager, plan):
    runs = study.tune(tiny_eager, ["voice"], plan, freeze="encoder")["voice"]
    sentences = plan.examples("voice")[1].sentences
    assert np.allclose(study.attention_change(tiny_eager, runs, sentences), 0, atol=1e-5)
    assert np.allclose(study.separator_shift(tiny_eager, runs[0].specimen, sentences), 0, atol=1e-6)


def test_extremes_of_equal_runs_do_not_differ_on_new_items():
    rng = np.random.default_rng(0)
    scores = rng.random((9, 20000)) < 0.7
    found = study.extremes(scores)
    assert abs(found["best"].mean() - found["worst"].mean()) < 0.02
    scores[4] = True
    assert study.extremes(scores)["best"].all()


def test_false_wins_count_ordered_pairs():
    scores = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 0]])
    assert study.false_wins(scores).tolist().count(True) == 2 and len(study.false_wins(scores)) == 6


def test_expected_best_is_the_plain_average_over_draws():
    scores = [0.2, 0.5, 0.9]
    by_hand = np.mean([max(a, b) for a in scores for b in scores])
    assert study.best_of(scores)[0] == pytest.approx(np.mean(scores))
    assert study.best_of(scores)[1] == pytest.approx(by_hand)


def test_seed_grid_varies_both_factors(tiny, plan):
    train, test = plan.examples("voice")
    grid = study.seed_grid(tiny, train, test, (0, 1), (0, 1, 2), epochs=1)
    assert grid.shape == (2, 3, 10)


def test_samples_are_named_by_task_and_condition():
    scores = {"tuned": {"voice": np.ones((2, 3)), "topic": np.zeros((2, 4))}}
    found = study.named(scores)
    assert found["voice_tuned"].shape == (2, 3) and found["tuned"].shape == (2, 7) and found["tuned"].mean() == 3 / 7


def test_a_planted_start_is_found_in_the_grid():
    grid = np.zeros((3, 2, 40), dtype=bool)
    grid[1] = True
    samples = study.grid_samples(grid)
    assert samples["best_start"].mean() == 1 and samples["worst_start"].mean() == 0
    assert samples["best_order"].mean() == samples["worst_order"].mean()
