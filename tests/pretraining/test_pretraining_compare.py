"""Pre-training: a comparison at equal budget on a toy text."""

import csv

import pytest
import yaml
from pretraining_toys import config, settings, write_corpus

from bertology_utils import cli
from bertology_utils.models import load
from bertology_utils.pretraining.compare import at_budget, run_comparison
from bertology_utils.pretraining.engine import Pretraining


@pytest.fixture
def folder(tmp_path):
    write_corpus(tmp_path / "toy.txt")
    return tmp_path


def config_at(folder, name, **changes):
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(settings(folder, **{"name": name, "cooldown": 0, **changes})))
    return path


def test_every_packing_reads_the_budget(folder):
    for changes in ({}, {"objectives": {"masked-tokens": 1.0}}, {"objectives": {"masked-tokens": 1.0}, "stream": True}):
        phases = [{"steps": 9, "length": 32}, {"steps": 3, "length": 16}]
        stretched = at_budget(config(folder, phases=phases, **changes), 4000)
        run = Pretraining(stretched)
        read = sum(int(run.batches[step]["attention_mask"].sum()) for step in range(stretched.steps))
        assert abs(read - 4000) < 0.06 * 4000
        assert stretched.phases[0].steps == pytest.approx(3 * stretched.phases[1].steps, abs=2)


def test_a_comparison_is_one_table_that_can_be_gone_on_with(folder):
    spans = {"objectives": {"masked-tokens": 1.0, "span-boundary": 1.0}, "masking": {"unit": "span"}}
    paths = [config_at(folder, "bert"), config_at(folder, "spans", study="joshi2020spanbert", **spans)]
    out, scored = folder / "results" / "table.csv", []

    def score(final):
        scored.append(final)
        return {"layers": load(str(final)).layers}

    run_comparison(paths[:1], [0], 600, out, score)
    run_comparison(paths, [0, 1], 600, out, score)
    rows = list(csv.DictReader(out.open()))
    assert [(row["config"], row["seed"]) for row in rows] == [
        ("bert", "0"),
        ("bert", "1"),
        ("spans", "0"),
        ("spans", "1"),
    ]
    assert len(scored) == 4 and {row["layers"] for row in rows} == {"1.0"}
    assert rows[2]["study"] == "joshi2020spanbert" and rows[2]["objectives"] == "masked-tokens + span-boundary"
    assert all(abs(int(row["tokens"]) - 600) < 90 and float(row["held_out_loss"]) > 1 for row in rows)
    assert rows[0]["held_out_loss"] != rows[1]["held_out_loss"] and rows[0]["commit"] and rows[0]["date"]


def test_a_changed_recipe_is_run_again_and_its_rows_give_way(folder):
    out = folder / "table.csv"
    first = run_comparison([config_at(folder, "bert"), config_at(folder, "other")], [0], 600, out)
    again = run_comparison([config_at(folder, "bert", about="in other words")], [0], 600, out)
    assert [row["recipe"] for row in again] == [row["recipe"] for row in first]
    changed = run_comparison([config_at(folder, "bert", learning_rate=1e-4)], [0], 600, out)
    assert sorted(row["config"] for row in changed) == ["bert", "other"]
    assert {row["recipe"] for row in changed} != {row["recipe"] for row in first}


@pytest.mark.parametrize("command", ["pretrain", "compare"])
def test_a_mistake_in_the_last_configuration_is_told_before_anything_trains(folder, capsys, command):
    paths = [config_at(folder, "bert"), config_at(folder, "wrong", layer=3)]
    assert cli.main([command, *map(str, paths)]) == 1
    assert "'layer'" in capsys.readouterr().err
    assert not (folder / "work" / "bert").exists() and not (folder / "bert").exists()


def test_variants_are_compared_from_the_command_line(folder, capsys):
    paths = [config_at(folder, name) for name in ("bert", "again")]
    out = folder / "table.csv"
    assert cli.main(["compare", *map(str, paths), "--tokens", "300", "--seeds", "1", "--out", str(out)]) == 0
    assert [row["config"] for row in csv.DictReader(out.open())] == ["bert", "again"]
    assert cli.main(["compare", str(folder / "none.yaml"), "--out", str(out)]) == 1
    assert "There is no configuration file" in capsys.readouterr().err
