"""Text against score: which doublings help is read off planted seeds, and every kept step is asked alike."""

import numpy as np
import pytest

from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.training import text_and_scores as texts

STEPS = texts.steps()
ENDS = len(STEPS) - 1


def planted(seeds: int = 5, **rises: list[float]) -> Runs:
    """Values that rise by so much at each kept step, those of the loss negative; starts of seeds lie far apart."""
    rng = np.random.default_rng(0)
    luck, found = rng.normal(0, 0.1, seeds), {}
    for name, own in rises.items():
        reached = np.cumsum([0.5, *own])
        for place, value in zip(STEPS, reached, strict=True):
            found[f"{name}_{place}"] = per_seed(value + luck + rng.normal(0, 0.0003, seeds), 320)
        for place in texts.members():
            found.setdefault(f"{name}_{place}", per_seed(reached[-1] + luck - 0.04, 320))
    return Runs(found, found)


STOPS = [0.05] * (ENDS - 1) + [0.0]
GOES_ON = [0.0] * (ENDS - 1) + [0.05]
FALLS = [-0.5] * ENDS


def test_a_step_doubles_what_was_read() -> None:
    read = np.array([texts.pieces()[step] for step in STEPS[1:]])
    assert STEPS[0] == 0 and (np.abs(np.log2(read[1:] / read[:-1]) - 1) < 0.05).all()


def test_a_score_that_stops_and_one_that_goes_on_are_told_from_each_other() -> None:
    runs = planted(topic=STOPS, tense=GOES_ON, loss=FALLS)
    stopped, went_on, fell = (texts.gain(runs, name, *STEPS[-2:], 3) for name in texts.MEASURES)
    assert stopped.low < 0 < stopped.high < 0.02 < went_on.low
    assert went_on.value == pytest.approx(0.05, abs=0.005) and fell.value == pytest.approx(0.5, abs=0.005)
    assert texts.clear_doublings(runs) == {"topic": STEPS[2:-1], "tense": STEPS[-1:], "loss": STEPS[2:]}


def test_nothing_is_called_clear_where_only_seeds_differ() -> None:
    flat = [0.0] * ENDS
    assert texts.clear_doublings(planted(topic=flat, tense=flat, loss=flat)) == {name: [] for name in texts.MEASURES}


def test_what_is_told_and_drawn_is_what_was_planted() -> None:
    runs = planted(topic=STOPS, tense=GOES_ON, loss=FALLS)
    said = texts.told(runs)
    assert "+5.0 points" in said and "0.50 nats" in said and "4.0 points (topic)" in said
    figure = texts.figure(runs, "A caption.")
    assert figure.table["thousand pieces read"].tolist() == [texts.pieces()[step] / 1e3 for step in STEPS[1:]]
    assert figure.table["share of the loss's fall"].iloc[-1] == pytest.approx(1, abs=0.01)


def test_every_member_is_tuned_on_the_same_examples(monkeypatch) -> None:
    few = {place: texts.members()[place] for place in ("0", "3200")}
    for name, value in {"members": lambda: few, "TRAIN": 24, "TEST": 20, "EPOCHS": 1}.items():
        monkeypatch.setattr(texts, name, value)
    trained, control = texts.of_seed(7)
    assert set(trained) == set(control) == {f"{name}_{place}" for name in texts.MEASURES for place in few}
    assert trained["loss_3200"] < trained["loss_0"] - 2 and control["loss_0"] == control["loss_3200"]
    assert control["loss_0"] != trained["loss_0"]
