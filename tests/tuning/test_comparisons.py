"""Comparisons of fine-tuning: shapes, planted effects, and plain definitions."""

import numpy as np
import pytest

from bertology_utils.instruments.attention import head_statistics, map_similarity
from bertology_utils.language.grammar import generate
from bertology_utils.tuning import comparisons as study
from bertology_utils.verdicts.predictions import parse


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
    sentences = generate(4, seed=0, split="test", kind="simple")
    effects = study.attention_effects(tiny_eager, runs, sentences)
    assert all(values.shape == (2, 4, 2) and np.allclose(values, 0, atol=1e-5) for values in effects.values())


def test_effects_on_attention_are_those_of_each_measure_alone(tiny_eager, plan):
    runs = study.tune(tiny_eager, ["voice"], plan)["voice"]
    sentences = generate(4, seed=0, split="test", kind="simple")
    effects = study.attention_effects(tiny_eager, runs, sentences)
    before = study.attention_targets(tiny_eager, sentences)
    for place, run in enumerate(runs):
        similarity = map_similarity(tiny_eager, run.specimen, [s.words for s in sentences])
        assert np.allclose(effects["change"][place], 1 - similarity.mean(-1), atol=1e-6)
        after = study.attention_targets(run.specimen, sentences)
        assert all(np.allclose(effects[name][place], after[name] - before[name], atol=1e-6) for name in study.TARGETS)
    assert (effects["change"] > 0).any()


def binary(runs: int, items: int, deviation: float, seed: int) -> np.ndarray:
    """Runs on items of unlike difficulty; the runs' own log odds differ by `deviation`."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(1, 1, items) + rng.normal(0, deviation, (runs, 1))
    return rng.random((runs, items)) < 1 / (1 + np.exp(-odds))


def replicates(scores: np.ndarray) -> bool:
    samples = study.spread_samples({"run": scores, "start": scores, "order": scores})
    return parse("run_spread > run_floor").judge(samples)[0].verdict == "replicates"


def test_runs_that_differ_by_chance_alone_do_not_replicate():
    assert sum(replicates(binary(16, 128, 0.0, seed)) for seed in range(200)) <= 5  # 2.5 %


def test_planted_seeds_are_found():
    assert sum(replicates(binary(16, 128, 0.6, seed)) for seed in range(20)) >= 15


def test_the_chance_spread_is_that_of_permuted_runs():
    scores = binary(12, 100, 0.5, 0)
    drawn = np.square(study.permuted_spreads(scores)).mean() ** 0.5
    assert study.chance_spread(scores) == pytest.approx(drawn, rel=0.03)
    assert study.chance_spread(scores, 3.0) == pytest.approx(np.hypot(study.chance_spread(scores), 3.0))


def test_pseudo_values_average_to_about_the_standard_deviation():
    scores = binary(16, 100, 0.5, 1)
    assert study.spread_values(scores).mean() == pytest.approx(100 * scores.mean(1).std(ddof=1), rel=0.1)


def test_expected_best_is_the_plain_average_over_draws():
    scores = [0.2, 0.5, 0.9]
    by_hand = np.mean([max(a, b) for a in scores for b in scores])
    assert study.best_of(scores)[0] == pytest.approx(np.mean(scores))
    assert study.best_of(scores)[1] == pytest.approx(by_hand)


def test_seed_series_vary_one_factor_or_both(tiny, plan):
    train, test = plan.examples("voice")
    series = study.seed_series(tiny, train, test, (0, 1, 2), epochs=1)
    assert {scores.shape for scores in series.values()} == {(3, 10)}
    assert all((scores[0] == series["run"][0]).all() for scores in series.values())


def test_samples_are_named_by_task_and_condition():
    scores = {"tuned": {"voice": np.ones((2, 3)), "topic": np.zeros((2, 4))}}
    found = study.named(scores)
    assert found["voice_tuned"].shape == (2, 3) and found["tuned"].shape == (2, 7) and found["tuned"].mean() == 3 / 7


def test_one_run_repeated_has_no_spread():
    scores = binary(1, 40, 0, 0).repeat(5, 0)
    samples = study.spread_samples({"run": scores, "start": scores, "order": scores})
    assert not samples["run_spread"].any() and samples["run_floor"] == 0.84


def test_planted_attention_is_told_apart(tiny_eager):
    sentences = generate(4, seed=0, split="test", kind="simple")
    shares = study.attention_targets(tiny_eager, sentences)
    expected = head_statistics(tiny_eager, [s.words for s in sentences])["sep"].mean(-1)
    assert np.allclose(shares["sep"], expected, atol=1e-6)
    assert shares["relation"].shape == expected.shape and (shares["relation"] < 1).all()
    assert (shares["relation"] > 0).all()
