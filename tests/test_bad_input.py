"""What users get wrong, from the outside: one or two lines on stderr, an exit code, no traceback, no waiting.

Mistakes of one module alone are tested beside that module (names in `test_cli`, treebank lines in `test_conllu`, data
in `test_data`, corpora and configurations in `test_pretraining`).
"""

import json
import os
import pickle
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from notebook_project import add_notebook, already_checked, make_project
from pretraining_toys import config_file, write_corpus
from transformers import BertConfig, BertModel

from bertology_utils import cli
from bertology_utils.activations import word_vectors
from bertology_utils.chapter import Chapter
from bertology_utils.data import registry as data
from bertology_utils.data.conllu import read_conllu
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.cloze import pseudo_log_likelihood
from bertology_utils.models import load
from bertology_utils.verdicts.claims import load_claims
from bertology_utils.verdicts.predictions import NOT_TESTABLE

PACKAGE_ROOT = Path(__file__).resolve().parents[1]
LONGEST_WAIT = 20  # seconds, imports included; the hub's client alone would try for 26


@pytest.fixture
def root(tmp_path):
    root = make_project(tmp_path / "book")
    add_notebook(root, "syntax", "1 + 1")
    return root


@pytest.fixture(autouse=True)
def folder_first(tmp_path):
    (tmp_path / "book").mkdir()


def command(*arguments: str, **variables: str) -> tuple[subprocess.CompletedProcess, float]:
    """The command line in a process of its own, without a network, and how long it took."""
    environment = os.environ | {"PYTHONPATH": str(PACKAGE_ROOT), "HF_HUB_OFFLINE": "1"} | variables
    started = time.monotonic()
    called = [sys.executable, "-m", "bertology_utils", *arguments]
    done = subprocess.run(called, env=environment, capture_output=True, text=True, timeout=120)
    return done, time.monotonic() - started


def assert_told(done: subprocess.CompletedProcess, *texts: str) -> None:
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert 1 <= done.stderr.count("\n") <= 2, done.stderr
    assert all(text in done.stderr for text in texts), done.stderr


# --- models ---------------------------------------------------------------------------------------------------------


def test_a_hub_model_that_is_not_cached_is_told_at_once(root, tmp_path):
    done, seconds = command("run", "syntax", "--model", "some/none", "--root", str(root), HF_HUB_CACHE=str(tmp_path))
    assert_told(done, "some/none", "--online")
    assert seconds < LONGEST_WAIT
    assert not (root / "_executed").exists()


@pytest.mark.parametrize("prefix", ["", "random:"])
def test_a_folder_that_is_no_model_is_told_before_anything_runs(root, tmp_path, capsys, prefix):
    (tmp_path / "notes").mkdir()
    assert cli.main(["run", "syntax", "--model", f"{prefix}{tmp_path / 'notes'}", "--root", str(root)]) == 1
    assert capsys.readouterr().err.strip().endswith("holds no model: it has no config.json.")
    assert not (root / "_executed").exists()


@pytest.mark.parametrize("prefix", ["", "random:"])
def test_a_path_that_leads_nowhere_is_told_as_one(root, tmp_path, capsys, prefix):
    assert cli.main(["run", "syntax", "--model", f"{prefix}{tmp_path / 'absent'}", "--root", str(root)]) == 1
    assert capsys.readouterr().err == f"There is no folder {tmp_path / 'absent'}.\n"
    assert not (root / "_executed").exists()


def test_a_misspelt_data_folder_is_told_before_anything_runs(root, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("BERTOLOGY_DATA", str(tmp_path / "absent"))
    assert cli.main(["run", "--profile", "full", "--root", str(root)]) == 1
    assert capsys.readouterr().err == f"BERTOLOGY_DATA names {tmp_path / 'absent'}, which is not a folder.\n"
    assert not (root / "_executed").exists()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "cannot be read"),
        ('{"model_type": "abacus"}', "cannot be read"),
    ],
)
def test_a_configuration_that_is_none_is_told(tmp_path, config, message):
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(BertologyError, match=message):
        load(str(tmp_path))


@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, 0.99])
def test_truncated_weights_are_told(tiny_folder, tmp_path, kept):
    folder = shutil.copytree(tiny_folder, tmp_path / "cut")
    weights = (folder / "model.safetensors").read_bytes()
    size = int(kept * len(weights)) if isinstance(kept, float) else kept
    (folder / "model.safetensors").write_bytes(weights[:size])
    with pytest.raises(BertologyError, match="cannot be read"):
        load(str(folder))


def test_missing_weights_and_a_missing_tokenizer_are_told(tiny_folder, tmp_path):
    folder = shutil.copytree(tiny_folder, tmp_path / "parts")
    (folder / "tokenizer.json").rename(tmp_path / "tokenizer.json")
    with pytest.raises(BertologyError, match="tokenizer"):
        load(str(folder))
    (tmp_path / "tokenizer.json").rename(folder / "tokenizer.json")
    (folder / "model.safetensors").unlink()
    with pytest.raises(BertologyError, match="weights"):
        load(str(folder))


class Evil:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return (os.mkdir, (os.environ["EVIL"],))


def test_weights_that_would_run_code_are_refused(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("EVIL", str(tmp_path / "evil"))
    folder = shutil.copytree(tiny_folder, tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Evil()}, folder / "pytorch_model.bin", pickle_module=pickle)
    with pytest.raises(BertologyError, match="cannot be read"):
        load(str(folder))
    assert not (tmp_path / "evil").exists()


def test_code_that_comes_with_a_model_is_never_run(tiny_folder, tmp_path):
    folder = shutil.copytree(tiny_folder, tmp_path / "remote")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'evil')!r})\n")
    with pytest.raises(BertologyError):
        load(str(folder))
    assert not (tmp_path / "evil").exists()


@pytest.fixture
def headless(tiny, tmp_path):
    """A saved model without a masked-LM head."""
    config = BertConfig(
        vocab_size=tiny.vocabulary_size,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    BertModel(config).save_pretrained(tmp_path / "headless")
    tiny.tokenizer.save_pretrained(tmp_path / "headless")
    return str(tmp_path / "headless")


def test_without_a_masked_lm_head_cloze_claims_are_not_testable_and_the_rest_runs(headless):
    chapter = Chapter("syntax", headless, "smoke", 0, None)
    claims = [c.id for c in load_claims() if c.notebook == "syntax" and "masked-LM head" in c.requires][:2]
    for claim in claims:
        chapter.test(claim, lambda specimen: pytest.fail("measured"))
    assert [result["verdict"] for result in chapter.results] == [NOT_TESTABLE] * 2
    assert all("masked-LM head" in result["reason"] for result in chapter.results)
    vectors = chapter.measure(lambda specimen: word_vectors(specimen, [["the", "dog"]]))
    assert vectors.model[0].shape == vectors.twin[0].shape == (2, 2, 16)
    with pytest.raises(BertologyError, match="head"):
        pseudo_log_likelihood(chapter.specimen, [["the", "dog"]])


# --- notebooks, data, places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", "{", "{}", "[]", '{"cells": 3}'])
def test_a_broken_notebook_is_told(root, capsys, content):
    (root / "notebooks" / "syntax.ipynb").write_text(content)
    assert cli.main(["run", "syntax", "--root", str(root)]) == 1
    errors = capsys.readouterr().err
    assert "syntax" in errors and "Traceback" not in errors


def test_a_treebank_whose_tree_is_a_circle_is_told_with_its_line(tmp_path):
    rows = ["1\tdogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_", "2\trun\trun\tVERB\t_\t_\t1\troot\t_\t_"]
    (tmp_path / "circle.conllu").write_text("\n".join(rows) + "\n\n")
    with pytest.raises(BertologyError, match=r"circle\.conllu"):
        list(read_conllu(tmp_path / "circle.conllu"))


def test_unknown_data_sets_are_told_with_the_nearest():
    known = data.describe(None)[0]["name"]
    with pytest.raises(BertologyError, match=f"Did you mean .*{known}"):
        data.describe(known[:-1])
    assert cli.main(["data", known[:-1]]) == 1


def test_a_scheduler_that_does_not_answer_is_told(root):
    already_checked(root)
    done, seconds = command("run", "syntax", "--scheduler", "tcp://127.0.0.1:9", "--root", str(root))
    assert_told(done, "No dask scheduler answers")
    assert seconds < 30


def test_a_place_without_a_book_is_told(tmp_path):
    done, _ = command("run", "--root", str(tmp_path / "nowhere"))
    assert_told(done, "There is no book in")


# --- where results go ------------------------------------------------------------------------------------------------

MOUNTS = {
    "Read-only file system": "mount --bind {0} {0} && mount -o remount,bind,ro {0}",
    "No space left on device": "mount -t tmpfs -o size=64k none {0} && cp -r {1}/. {0} && "
    "(head -c 64k /dev/zero >{0}/fill; true) 2>/dev/null",
}
OWN_MOUNTS = ["unshare", "--user", "--map-root-user", "--mount"]  # of one process, so that no privilege is needed


def may_mount() -> bool:
    try:
        return (
            subprocess.run([*OWN_MOUNTS, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
        )
    except OSError:
        return False


@pytest.mark.skipif(not may_mount(), reason="needs Linux that lets users mount")
@pytest.mark.parametrize("reason", MOUNTS)
@pytest.mark.parametrize("name", ["run", "pretrain", "compare", "score"])
def test_a_folder_that_takes_nothing_is_told(root, tmp_path, tiny_folder, name, reason):
    """A full disk and a read-only folder, each a real one."""
    already_checked(root)
    config = config_file(root, corpora={"toy": str(write_corpus(root / "toy.txt"))})
    suite = root / "pairs.tsv"
    suite.write_text("the cat sees .\tthe cat see .\n" * 3)
    arguments = {
        "run": ["--root", root],
        "pretrain": [config],
        "compare": [config, "--tokens", 500, "--seeds", 1, "--out", root / "table.csv"],
        "score": [tiny_folder, "--suite", suite, "--out", root / "table.csv"],
    }[name]
    copy = shutil.copytree(root, tmp_path / "copy")
    called = shlex.join([sys.executable, "-m", "bertology_utils", name, *map(str, arguments)])
    environment = os.environ | {"PYTHONPATH": str(PACKAGE_ROOT), "HF_HUB_OFFLINE": "1"}
    script = f"{MOUNTS[reason].format(root, copy)} && cd / && exec {called}"
    done = subprocess.run([*OWN_MOUNTS, "sh", "-c", script], env=environment, capture_output=True, text=True)
    done.stderr = done.stderr.lstrip("\n")  # what a bar leaves that is gone
    assert_told(done, reason)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"{}", b"word\n1\n", b'[{"other": 1}]'])
def test_a_file_that_holds_something_else_is_not_replaced(tmp_path, tiny_folder, capsys, content):
    """It is told before anything is scored, measured or trained."""
    path = tmp_path / "kept"
    path.write_bytes(content)
    config = tmp_path / "none.yaml"
    config.write_text("{}")
    for arguments in (["score", str(tiny_folder)], ["bench", "pll"], ["compare", str(config)]):
        assert cli.main([*arguments, "--out", str(path)]) == 1
        assert capsys.readouterr().err.count("\n") <= 2 and path.read_bytes() == content


@pytest.mark.parametrize("address", ["here", "tcp://here", "127.0.0.1:8786", ":8786"])
def test_an_address_of_no_scheduler_is_told(root, capsys, address):
    already_checked(root)
    assert cli.main(["run", "syntax", "--scheduler", address, "--root", str(root)]) == 1
    assert "no address of a dask scheduler" in capsys.readouterr().err
