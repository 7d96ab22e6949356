"""Comparisons of fine-tuning: shapes, planted effects, and plain definitions."""

import numpy as np
import pytest
import torch

from bertology_utils.instruments.attention import (
    attention_maps,
    head_statistics,
    mean_values,
    projections,
    silenced_values,
)
from bertology_utils.language.grammar import generate
from bertology_utils.tuning import comparisons as study
from bertology_utils.tuning.changes import representation_change
from bertology_utils.tuning.classification_tasks import GRADED, examples
from bertology_utils.tuning.training import batches, finetune
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


def test_one_pass_gives_what_restoring_and_comparing_give_one_by_one(tiny, plan):
    runs = study.tune(tiny, ["voice"], plan)["voice"]
    test = plan.examples("voice")[1]
    groups = {"none": (), "bottom": [0, 1], "top": [2], "middle": [1], "ends": [0, 2], "all": range(3)}
    assert tiny.layers == 2
    scores, change = study.restoration_and_change(runs, tiny, test, groups)
    expected = study.restoration(runs, tiny, test, groups)
    assert scores.keys() == expected.keys() and all((scores[name] == expected[name]).all() for name in groups)
    one_by_one = representation_change(tiny, [run.specimen for run in runs], test.sentences)
    np.testing.assert_allclose(change, one_by_one, atol=1e-6)


def test_silencing_the_separator_nowhere_changes_nothing(tiny_eager, plan):
    runs = study.tune(tiny_eager, ["voice"], plan)["voice"]
    test = plan.examples("voice")[1]
    assert (study.without_separator(runs, test, []) == study.correct(runs)).all()
    assert study.without_separator(runs, test, [1, 2]).shape == (2, 10)


def test_what_the_separator_says_is_told_from_a_constant_that_it_holds(tiny_eager, plan):
    """Equal values everywhere tell nothing of a sentence: their mean is what they are, and zero would not be."""
    run, test = study.tune(tiny_eager, ["voice"], plan)["voice"][0], plan.examples("voice")[1]
    layers = range(1, tiny_eager.layers + 1)
    for value, _ in projections(run.specimen.encoder):
        torch.nn.init.zeros_(value.weight)
        torch.nn.init.normal_(value.bias)
    assert (study.without_separator([run], test, layers) == study.without_separator([run], test, [])).all()
    _, batch = next(iter(batches(run.specimen, test)))
    silent = batch["input_ids"] == run.specimen.tokenizer.sep_token_id
    labels, before = batch.pop("labels"), run.classifier(**batch)
    assert len(labels) and torch.allclose(
        mean_values(run.specimen, [batch], [silent]), _biases(run.specimen), atol=1e-4
    )
    with silenced_values(run.specimen, silent, layers):
        assert not torch.allclose(run.classifier(**batch), before, atol=1e-3)


def _biases(specimen):
    return torch.stack([value.bias for value, _ in projections(specimen.encoder)])


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
        maps = (attention_maps(specimen, [s.words for s in sentences]) for specimen in (tiny_eager, run.specimen))
        alike = np.mean(
            [torch.cosine_similarity(a[2].flatten(2), b[2].flatten(2), dim=-1) for a, b in zip(*maps, strict=True)], 0
        )
        assert np.allclose(effects["change"][place], 1 - alike.mean(-1), atol=1e-6)
        after = study.attention_targets(run.specimen, sentences)
        assert all(np.allclose(effects[name][place], after[name] - before[name], atol=1e-6) for name in study.TARGETS)
    assert (effects["change"] > 0).any()


def crossed(runs: int, items: int, start: float, order: float, seed: int) -> np.ndarray:
    """A grid of runs on items of unlike difficulty; the log odds of starts and of orders have these deviations."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(1, 1, items) + rng.normal(0, start, (runs, 1, 1)) + rng.normal(0, order, (runs, 1))
    return rng.random((runs, runs, items)) < 1 / (1 + np.exp(-odds))


def verdict_of(name: str, start: float, order: float, seed: int) -> str:
    grids = [crossed(4, 128, start, order, 100 * seed + place) for place in range(12)]
    found, chance = [study.spreads(grid.mean(-1)) for grid in grids], [study.chance_spreads(grid) for grid in grids]
    return parse(f"{name}_spread > {name}_floor").judge(study.spread_samples(found, chance))[0].verdict


@pytest.mark.parametrize("name", study.DRAWN)
def test_runs_that_differ_by_chance_alone_do_not_replicate(name):
    assert not any(verdict_of(name, 0.0, 0.0, seed) == "replicates" for seed in range(20))


def test_planted_starts_are_found_and_not_taken_for_orders():
    verdicts = {name: [verdict_of(name, 0.6, 0.0, seed) for seed in range(10)] for name in study.DRAWN}
    assert verdicts["start"].count("replicates") >= 9 and verdicts["run"].count("replicates") >= 9
    assert "replicates" not in verdicts["order"]


def test_the_chance_spread_is_that_of_runs_that_change_places():
    grid = crossed(4, 60, 0.5, 0.5, 0)
    rng, chance = np.random.default_rng(0), study.chance_spreads(grid)
    for name, own in study.series(grid).items():
        drawn = [rng.permuted(own, axis=1).mean(-1).var(1, ddof=1).mean() for _ in range(400)]
        assert chance[name] == pytest.approx(100 * np.mean(drawn) ** 0.5, rel=0.03)


def test_series_draw_anew_what_their_names_say():
    places = np.arange(3)
    grid = np.stack(np.meshgrid(places, places, indexing="ij"), -1)  # of each run its start and its order
    found = study.series(grid)
    assert all(own.shape == (3, 3, 2) for own in found.values())
    varies = {name: [len(set(run)) == 3 for run in own[0].T.tolist()] for name, own in found.items()}
    assert varies == {"start": [True, False], "order": [False, True], "run": [True, True]}


def test_spreads_are_standard_deviations_in_points():
    accuracies = np.array([[0.5, 0.5], [0.7, 0.7]])
    found = study.spreads(accuracies)
    assert found["order"] == 0 and found["start"] == found["run"] == pytest.approx(100 * np.std([0.5, 0.7], ddof=1))


def test_expected_best_is_the_plain_average_over_draws():
    scores = [0.2, 0.5, 0.9]
    by_hand = np.mean([max(a, b) for a in scores for b in scores])
    assert study.best_of(scores)[0] == pytest.approx(np.mean(scores))
    assert study.best_of(scores)[1] == pytest.approx(by_hand)


def test_a_grid_crosses_starts_and_orders(tiny, plan):
    train, test = plan.examples("voice")
    grid = study.seed_grid(tiny, train, test, (0, 1), epochs=1)
    assert grid.shape == (2, 2, 10) and grid.dtype == bool
    alone = finetune(tiny, train, test, 1, order_seed=0, epochs=1)
    assert (grid[1, 0] == alone.correct).all()


def test_one_run_repeated_has_no_spread():
    grid = crossed(1, 40, 0, 0, 0).repeat(4, 0).repeat(4, 1)
    samples = study.spread_samples([study.spreads(grid.mean(-1))], [study.chance_spreads(grid)])
    assert not samples["run_spread"].any() and samples["run_floor"].ravel() == [0.84]


@pytest.mark.parametrize("name", ["paraphrase", GRADED])
def test_frozen_vectors_of_pairs_are_those_that_a_tuned_head_sees(tiny, name):
    train, test = examples(name, 12), examples(name, 10, split="test")
    run = finetune(tiny, train, test, epochs=0, pool="pair", freeze="encoder")
    assert np.allclose(study.features(tiny, test)["mean"], run.features, atol=1e-5)
    found = study.frozen_predictions(tiny, train, test, heads=3)
    outputs = 1 if name == GRADED else 2
    assert found["mean"].shape == found["cls"].shape == (10, outputs) and found["untrained"].shape == (3, 10, outputs)


def test_planted_attention_is_told_apart(tiny_eager):
    sentences = generate(4, seed=0, split="test", kind="simple")
    shares = study.attention_targets(tiny_eager, sentences)
    expected = head_statistics(tiny_eager, [s.words for s in sentences])["sep"].mean(-1)
    assert np.allclose(shares["sep"], expected, atol=1e-6)
    assert shares["relation"].shape == expected.shape and (shares["relation"] < 1).all()
    assert (shares["relation"] > 0).all()
