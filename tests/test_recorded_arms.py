"""Recorded arms: what an experiment gives is kept seed by seed, and comes back as the samples that it gave."""

import numpy as np
import pytest

from bertology_utils import recorded_arms
from bertology_utils.errors import BertologyError
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies import small_models


def planted(seeds):
    """What is known is the seed, and of untrained models nothing."""
    return Runs({"known": per_seed(np.array(seeds) / 10, 20)}, {"known": per_seed(np.zeros(len(seeds)), 20)})


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded_arms, "find_root", lambda: tmp_path)
    monkeypatch.setattr(small_models, "EXPERIMENTS", {"planted": planted})
    return tmp_path / recorded_arms.PATH


def run(path, seeds):
    todo = small_models.missing(path, [small_models.known_row("planted")], seeds, "no model")
    small_models.study(path, todo, "no model", small_models.Plan(), jobs=1)
    return todo


def test_samples_come_back_and_a_second_call_measures_what_is_missing(project) -> None:
    run(project, range(3))
    assert run(project, range(5)) == [("planted", 3), ("planted", 4)]
    found = recorded_arms.read("planted")
    assert found.model["known"][:, 0] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    assert found.model["known"].items == 20 and found.networks == 5 and not found.twin["known"].any()


def test_only_seeds_that_all_samples_have_are_read(project) -> None:
    run(project, range(3))
    recorded_arms.keep(project, recorded_arms.lines("planted", [7], lambda seeds: Runs({"known": per_seed([1.0])}, {})))
    assert len(recorded_arms.read("planted").model["known"]) == 3


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: recorded_arms.read("planted"), "small_models.csv is missing"),
        (lambda: small_models.known_row("plated"), "planted"),
        (lambda: recorded_arms.lines("x", [0], lambda seeds: Runs({"a": np.zeros((1, 3))}, {})), "one value a seed"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(project, ask, told) -> None:
    with pytest.raises(BertologyError, match=told):
        ask()


def test_an_experiment_without_lines_is_named(project) -> None:
    run(project, range(2))
    with pytest.raises(BertologyError, match="--row other"):
        recorded_arms.read("other")
