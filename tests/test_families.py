"""Families of embedded models: found by name, ordered by size, and clear about what is missing."""

import json

import pytest
from family_toys import add_model, make_family

from bertology_utils import families
from bertology_utils.errors import BertologyError


def test_rungs_are_ordered_by_their_weights_not_by_their_names(tmp_path):
    make_family(tmp_path)
    assert families.parameters("ladder-2m", tmp_path) == 8 * 8 + 3
    assert families.rungs(tmp_path) == ["ladder-2m", "ladder-10m"]


def test_depths_are_of_one_width(tmp_path):
    add_model(make_family(tmp_path), "ladder-12-layers", 4)
    for name, width, layers in (("ladder-2m", 8, 6), ("ladder-10m", 16, 6), ("ladder-12-layers", 8, 12)):
        sizes = {"hidden_size": width, "num_hidden_layers": layers}
        (tmp_path / "models" / name / "config.json").write_text(json.dumps(sizes))
    assert families.depths(tmp_path) == {6: "ladder-2m", 12: "ladder-12-layers"}
    assert families.groups(tmp_path)["Depths: ladder"] == ["ladder-12-layers"]
    assert families.is_member("ladder-12-layers") and "ladder-12-layers" not in families.rungs(tmp_path)


def test_seeds_and_checkpoints_belong_to_one_model(tmp_path):
    make_family(tmp_path)
    assert families.seeds("ladder-2m", tmp_path) == ["ladder-2m", "ladder-2m-seed-1"]
    assert families.checkpoints("ladder-2m", tmp_path) == {
        0: "ladder-2m@0", 5: "ladder-2m@5", 40: "ladder-2m@40", 100: "ladder-2m",
    }  # fmt: skip


def test_the_held_out_loss_is_the_last_of_the_log(tmp_path):
    make_family(tmp_path)
    assert families.held_out_loss("ladder-2m", tmp_path) == 4.0
    assert families.held_out_loss("pocket", tmp_path) is None


def test_every_model_is_in_one_group(tmp_path):
    root = make_family(tmp_path)
    for name in ("twins-overlapping", "twins-apart"):
        add_model(root, name, 4)
    groups = families.groups(root)
    assert groups == {
        "Specimens": ["pocket"],
        "Bilingual pair": ["twins-apart", "twins-overlapping"],
        "Sizes: ladder": ["ladder-2m", "ladder-10m"],
        "Seeds of ladder-2m": ["ladder-2m-seed-1"],
    }


def test_what_is_missing_is_named(tmp_path):
    add_model(tmp_path, "ladder-2m", 8, steps=(5,))
    for ask, told in (
        (lambda: families.rungs(tmp_path), "'ladder' needs two models"),
        (lambda: families.seeds("ladder-2m", tmp_path), "no siblings of another seed"),
        (lambda: families.checkpoints("ladder-2m", tmp_path), "without evaluations.jsonl"),
    ):
        with pytest.raises(BertologyError, match=told):
            ask()
