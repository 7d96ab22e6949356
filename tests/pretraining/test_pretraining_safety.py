"""The laboratory: nothing of the user's is overwritten, no run harms another, and mistakes end in a sentence."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from pretraining_toys import config, config_file, write_corpus

from bertology_utils.errors import BertologyError
from bertology_utils.files import locked, read_csv, replacing, write_text
from bertology_utils.instruments.grammaticality import KEYS, record
from bertology_utils.pretraining.average import average
from bertology_utils.pretraining.corpus import tokenize
from bertology_utils.pretraining.engine import Pretraining, pretrain
from bertology_utils.pretraining.publish import publish
from bertology_utils.pretraining.sources import CorpusSource
from bertology_utils.pretraining.wordpieces import train_tokenizer


@pytest.fixture
def folder(tmp_path):
    write_corpus(tmp_path / "toy.txt")
    return tmp_path


def test_a_file_never_takes_the_place_of_a_folder(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.tex").write_text("years")
    with pytest.raises(BertologyError, match="it is a folder"):
        write_text(tmp_path / "work", "a table")
    assert [p.name for p in tmp_path.rglob("*")] == ["work", "thesis.tex"]


def test_a_folder_takes_the_place_of_a_folder(tmp_path):
    for content in "ab":
        with replacing(tmp_path / "model") as part:
            part.mkdir()
            (part / content).touch()
    assert [p.name for p in (tmp_path / "model").iterdir()] == ["b"]


def test_a_folder_that_holds_no_model_is_not_published_over(tmp_path):
    run, target = tmp_path / "runs" / "nano", tmp_path / "models" / "nano"
    for folder in (run / "final", target):
        folder.mkdir(parents=True)
    (run / "final" / "config.json").touch()
    (target / "notes.txt").touch()
    with pytest.raises(BertologyError, match="holds no model"):
        publish(run, tmp_path / "models")
    assert (target / "notes.txt").exists()


@pytest.mark.parametrize("name", ["..", "a/b", "."])
def test_a_mean_stays_beside_its_runs(folder, name):
    paths = [config_file(folder)] * 2
    with pytest.raises(BertologyError, match="no name of a run"):
        average(name, paths)


def test_a_lock_refuses_or_waits_and_ends_with_its_block(tmp_path):
    def refused():
        return locked(tmp_path / ".lock", "busy")

    with refused(), pytest.raises(BertologyError, match="busy"), refused():
        pass
    with refused():
        pass


def test_no_writer_of_a_table_loses_the_rows_of_another(tmp_path):
    table = tmp_path / "table.csv"
    rows = [dict.fromkeys(KEYS, "0") | {"model": f"model-{number}"} for number in range(40)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda row: record(table, [row]), rows))
    assert sorted(row["model"] for row in read_csv(table)) == sorted(row["model"] for row in rows)


def test_a_run_is_trained_by_one_process_at_a_time(folder):
    path = config_file(folder)
    with Pretraining(config(folder)).alone(), pytest.raises(BertologyError, match="another process"):
        pretrain(path)


def test_weights_that_are_no_numbers_end_the_run_and_leave_its_checkpoint(folder):
    run = Pretraining(config(folder, checkpoint_every=2))
    run.begin()
    run.train_step()
    before = run.checkpoint.read_bytes()
    with torch.no_grad():
        next(run.network.parameters()).fill_(float("nan"))
    with pytest.raises(BertologyError, match="no numbers any more"):
        run.run()
    assert run.checkpoint.read_bytes() == before and not (run.folder / "final").exists()


def test_a_word_without_end_costs_no_time_and_is_unknown(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat.\n\n" * 200 + "abc" * 40_000 + "\n\nthe end of it.\n")
    source, started = CorpusSource(path=str(text)), time.monotonic()
    tokenizer = train_tokenizer([source], 200, 100, None, False)
    corpus = tokenize(source, tokenizer, tmp_path / "tokens")
    assert time.monotonic() - started < 5
    assert np.count_nonzero(corpus.tokens == tokenizer.token_to_id("[UNK]")) == 1
