"""The conditions of one start, what tuning changed, and luck: names, shapes and planted values."""

import dataclasses

import numpy as np
import pytest

from bertology_utils.absent import Absent
from bertology_utils.language.grammar import generate
from bertology_utils.runs import Runs
from bertology_utils.studies.finetuning import luck, what_changed
from bertology_utils.studies.finetuning.conditions import TASKS, Conditions, by_task
from bertology_utils.tuning.comparisons import Plan


@pytest.fixture(scope="module")
def plan():
    return Plan(train=8, test=6, epochs=1, seeds=(0, 1))


@pytest.fixture(scope="module")
def conditions(tiny_eager, plan):
    return Conditions.tuned_and_frozen(tiny_eager, plan)


@pytest.fixture(scope="module")
def probe():
    return generate(3, seed=0, split="test", kind="simple")


def test_every_task_has_every_condition(conditions, plan):
    shown = by_task(Runs(conditions, conditions), plan)
    assert tuple(shown) == TASKS and all(len(own) == 6 for own in shown.values())


def test_changes_have_the_shape_of_runs_and_sentences(tiny_eager, conditions, probe, plan):
    further = dataclasses.replace(plan, seeds=(2,))
    effects = what_changed.attention_effects(tiny_eager, conditions, probe, further)
    assert effects["sep_shift"].shape == effects["relation_shift"].shape == (3, 3)
    assert effects["learnt"].mean() == np.mean(list(conditions.tuned.values()))
    assert what_changed.weights(tiny_eager, conditions)["weights"].shape == (2,)
    assert what_changed.weight_change(tiny_eager, conditions.runs["voice"][0]) > 0
    tests = {name: plan.examples(name)[1] for name in TASKS}
    quiet = what_changed.silenced(tiny_eager, conditions, tests)
    assert quiet["tuned"].shape == quiet["silenced"].shape and len(quiet["tuned"]) == 2
    assert quiet["tuned"].mean() == pytest.approx(np.mean(list(conditions.tuned.values())))
    halves = what_changed.halves_restored(tiny_eager, conditions.runs["voice"], tests["voice"])
    assert {values.shape for values in halves.values()} == {(2, 6)}


def test_the_strongest_other_layer_is_none_of_the_last_two(monkeypatch, conditions, tiny_eager, probe):
    change = np.broadcast_to([0.125, 0.375, 0.25, 0.75, 0.5], (2 * len(TASKS), 3, 5))
    effects = dict.fromkeys(("change", "sep", "relation"), change)
    monkeypatch.setattr(what_changed.comparisons, "attention_effects", lambda *_: effects)
    found = what_changed.attention_effects(tiny_eager, conditions, probe)
    assert (found["last"][0, 0], found["last_but_one"][0, 0], found["strongest_other"][0, 0]) == (0.5, 0.75, 0.375)
    assert found["by_layer"].shape == (5, 3)


def test_masked_words_need_a_head(tiny_eager, conditions, probe, plan):
    train, _ = plan.examples("tense")
    assert isinstance(what_changed.masked_words_shift(tiny_eager, conditions, train, probe), float)
    headless = dataclasses.replace(tiny_eager, has_mlm_head=False)
    assert isinstance(what_changed.masked_words_shift(headless, conditions, train, probe), Absent)


def test_shared_blocks_do_not_change_apart(monkeypatch, tiny_eager, conditions, plan):
    monkeypatch.setattr(what_changed.changes, "blocks_have_own_weights", lambda encoder: False)
    runs = conditions.runs["voice"]
    assert what_changed.weights(tiny_eager, conditions) == {}
    assert isinstance(what_changed.weight_change(tiny_eager, runs[0]), Absent)
    assert isinstance(what_changed.halves_restored(tiny_eager, runs, plan.examples("voice")[1]), Absent)


def test_a_grid_is_told_with_its_chance():
    grid = np.random.default_rng(0).random((4, 4, 30)) < 0.7
    found = luck.sorted_accuracies(grid)
    assert list(found) == ["other starts", "other orders", "both"]
    assert all((np.diff(accuracies) >= 0).all() and len(accuracies) == 4 for accuracies in found.values())
    assert luck.told(grid).count("by chance") == 3 and "16 runs" in luck.told(grid)


def test_two_layers_have_no_other_one(monkeypatch, conditions, tiny_eager, probe):
    change = np.full((len(conditions.runs[TASKS[0]]) * len(TASKS), 3, 2), 0.1)
    effects = dict.fromkeys(("change", "sep", "relation"), change)
    monkeypatch.setattr(what_changed.comparisons, "attention_effects", lambda *_: effects)
    found = what_changed.attention_effects(tiny_eager, conditions, probe)
    assert isinstance(found["strongest_other"], Absent) and found["last"].mean() == pytest.approx(0.1)
