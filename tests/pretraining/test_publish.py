"""A finished run becomes an embedded model: loadable at the end and at every kept step, or nothing is there."""

import pytest
from pretraining_toys import config_file, write_corpus

from bertology_utils import families
from bertology_utils.errors import BertologyError
from bertology_utils.models import load
from bertology_utils.pretraining.engine import pretrain
from bertology_utils.pretraining.publish import publish


def test_a_run_is_published_with_its_steps_and_evaluations(tmp_path):
    write_corpus(tmp_path / "toy.txt")
    final = pretrain(config_file(tmp_path, keep_steps=[0, 3]))
    folder = publish(final.parent, tmp_path / "models")
    assert families.checkpoints("toy", tmp_path) == {0: "toy@0", 3: "toy@3", 6: "toy"}
    assert families.held_out_loss("toy", tmp_path) == families.evaluations("toy", tmp_path)[-1]["mlm_loss"] > 0
    early, late = load(f"{folder}@3"), load(str(folder))  # verifies both checksums
    assert early.sha256 != late.sha256 and early.width == late.width


def test_an_unfinished_run_is_refused_and_leaves_nothing(tmp_path):
    (tmp_path / "begun").mkdir()
    with pytest.raises(BertologyError, match="no finished model"):
        publish(tmp_path / "begun", tmp_path / "models")
    assert not (tmp_path / "models").exists()
