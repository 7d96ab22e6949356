"""The mean of runs: its weights, what its card says of them, and runs that have no mean."""

import pytest
import torch
import yaml
from pretraining_toys import settings, write_corpus

from bertology_utils import cli
from bertology_utils.models import load
from bertology_utils.pretraining import checkpoints
from bertology_utils.pretraining.engine import pretrain


@pytest.fixture
def described(tmp_path):
    """Writes the configuration of a toy run."""
    write_corpus(tmp_path / "toy.txt")

    def describe(name, **changes):
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(settings(tmp_path, name=name, **changes)), encoding="utf-8")
        return path

    return describe


def average(*arguments):
    return cli.main(["average", *map(str, arguments)])


def test_the_mean_of_two_runs_is_a_model_with_both_in_its_card(described, tmp_path):
    paths = [described("one", remarks={"Why": "a toy"}), described("two", seed=1)]
    for path in paths:
        pretrain(path)
    assert average("mean", *paths) == 0
    states = [checkpoints.read(tmp_path / "work" / name / "checkpoint.pt") for name in ("one", "two", "mean")]
    assert states[2]["tokens"] == states[0]["tokens"] + states[1]["tokens"]
    for name, weights in states[2]["model"].items():
        assert torch.allclose(weights, (states[0]["model"][name] + states[1]["model"][name]) / 2)
    final = tmp_path / "work" / "mean" / "final"
    card = (final / "README.md").read_text(encoding="utf-8")
    assert "# mean" in card and "| Why | a toy |" in card
    for told in ("the mean of those of `one` (6 steps, held-out loss ", " and `two` (6 steps, held-out loss "):
        assert told in card
    assert load(str(final)).has_mlm_head and (final / "evaluations.jsonl").exists()


def test_runs_without_a_mean_are_refused(described, tmp_path, capsys):
    one, begun = described("one"), described("begun")
    pretrain(one)
    wide = described("wide", width=32)
    pretrain(wide)
    for wrong, why in (
        ((one,), "at least two runs"),
        ((one, begun), "'begun' has no checkpoint"),
        ((one, wide), "'wide' has other sizes or heads than 'one'"),
        ((one, tmp_path / "none.yaml"), "no configuration file"),
    ):
        assert average("mean", *wrong) == 1
        assert why in capsys.readouterr().err
    assert average("one", one, one) == 1 and "holds a run already" in capsys.readouterr().err
    described("one", phases=[{"steps": 9, "length": 32}])
    assert average("mean", one, wide) == 1 and "stands at step 6 of 9" in capsys.readouterr().err
    assert not (tmp_path / "work" / "mean").exists()
