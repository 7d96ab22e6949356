"""The study of sizes: each rung once a seed, and a claim that can go both ways."""

from dataclasses import replace

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_rows
from bertology_utils.studies.generalization import larger_models
from bertology_utils.studies.generalization.larger_models import PRETRAINED, UNTRAINED, BySize, Plan, Unit
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

SIZES = {"ladder-1m": 1_000_000, "ladder-9m": 9_000_000}


def test_a_rung_is_measured_once_a_seed_with_its_untrained_size(tiny, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(larger_models, "load", lambda rung: tiny)
    path, plan = tmp_path / "larger_models.csv", Plan(lessons=12, test=12, epochs=1)
    todo = larger_models.missing(path, list(SIZES), [0, 1], "")
    assert todo == [("ladder-1m", 0), ("ladder-9m", 0), ("ladder-1m", 1), ("ladder-9m", 1)]
    larger_models.study(path, todo[:1], "", plan, jobs=1)
    lines = read_rows(path, Unit)
    assert [line.start for line in lines] == [PRETRAINED, UNTRAINED] and "ladder-1m, seed 0" in capsys.readouterr().out
    assert larger_models.missing(path, list(SIZES), [0, 1], "") == todo[1:]
    larger_models.keep(path, [replace(lines[0], challenge=0.25)])
    assert [line.challenge for line in read_rows(path, Unit)] == [0.25, lines[1].challenge]
    monkeypatch.setattr(larger_models, "load", lambda rung: replace(tiny, name="other"))
    assert len(larger_models.missing(path, ["ladder-1m"], [0], "")) == 1  # other weights


def test_what_is_no_rung_is_told() -> None:
    with pytest.raises(BertologyError, match="rung of the ladder"):
        larger_models.known_row("pocket-bert")


def lines(challenge: dict[str, float], learnt: float = 0.9, seeds: int = 5) -> list[Unit]:
    rng = np.random.default_rng(0)
    noise = lambda: float(rng.normal(0, 0.01))  # noqa: E731
    return [
        Unit(rung, "", start, seed, learnt + noise(), score + noise(), 320, 1.0, "", "")
        for rung in SIZES
        for seed in range(seeds)
        for start, score in ((PRETRAINED, challenge[rung]), (UNTRAINED, 0.5))
    ]


@pytest.mark.parametrize(
    ("largest", "learnt", "verdict"),
    [(0.7, 0.9, "replicates"), (0.5, 0.9, "contradicts"), (0.7, 0.6, "cannot do the task")],
)
def test_a_planted_gain_of_size_is_found(largest, learnt, verdict) -> None:
    claim = claim_by_id("larger-models-generalize")
    found = BySize(lines({"ladder-1m": 0.5, "ladder-9m": largest}, learnt), SIZES)
    own, control = (needed(claim, found.samples(start)) for start in (PRETRAINED, UNTRAINED))
    assert judge_claim(claim, own, [control]).verdict == verdict


def test_seeds_that_a_rung_lacks_do_not_count() -> None:
    every = lines({"ladder-1m": 0.5, "ladder-9m": 0.6})
    found = BySize([line for line in every if (line.rung, line.seed) != ("ladder-9m", 4)], SIZES)
    assert found.scores("ladder-1m", PRETRAINED, "challenge").shape == (4, 1)
    figure = found.figure("Accuracy by size.")
    assert "untrained" in figure.alt and list(figure.table["million parameters"]) == [1, 9]
