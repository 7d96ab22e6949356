"""Real text in the shape of the table's tasks, from small files in the formats of the data sets, written here."""

import json

import numpy as np
import pytest

from bertology_utils.compression.methods.real_problems import REAL, SPAN_TAGS, asked_tags, real_problem
from bertology_utils.data import registry as data
from bertology_utils.errors import BertologyError
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.studies.compression.live import five_rows

PLACES = ("Rome", "Oslo", "Lima", "Kyiv", "Bonn", "Bern")


@pytest.fixture
def folder(data_folder):
    for part, word in (("train_full", "film"), ("dev", "play")):
        rows = [f"the {word} {i} is {'good' if i % 2 else 'bad'} .\t{i % 2}" for i in range(30)]
        data_folder(f"glue/SST-2/{part}.tsv", "\n".join(["sentence\tlabel", *rows]) + "\n")
    labels = ("contradiction", "entailment", "neutral")
    for part, word in (("train", "dog"), ("dev", "cat")):
        pairs = {
            i: {"text_a": f"A {word} {i} runs.", "text_b": f"It {i} moves.", "label": labels[i % 3]} for i in range(30)
        }
        data_folder(f"glue/subsets_prompt/glue_pretrain/MNLI/{part}.json", json.dumps(pairs))

    def block(identity, words, name=-1):
        lines = [f"{i + 1}\t{word}\t{'B-LOC' if i == name else 'O'}\t-\t-" for i, word in enumerate(words)]
        return "\n".join([f"# sent_id = {identity}", *lines]) + "\n"

    for part in ("train", "test"):
        blocks = [block(f"{part}-{i}", ["We", "saw", place, "in", "may"], 2) for i, place in enumerate(PLACES * 3)]
        blocks.append(block(f"{part}-none", ["We", "saw", "it", "."]))
        data_folder(f"spans/uner/UNER_English-EWT/en_ewt-ud-{part}.iob2", "\n".join(blocks) + "\n")


@pytest.mark.parametrize("name", REAL)
def test_a_real_task_has_so_many_examples_of_splits_that_share_none(folder, name):
    found, again, other = real_problem(name, 12, 6), real_problem(name, 12, 6), real_problem(name, 12, 6, seed=1)
    assert (len(found.train.sentences), len(found.test.sentences)) == (12, 6)
    assert found == again and found.train != other.train
    assert found.paired == (name == "mnli") and found.train.of_words == (name == "uner_ewt")
    if name != "uner_ewt":
        assert not set(found.train.sentences) & set(found.test.sentences)
    answers = np.concatenate([np.atleast_1d(label) for label in found.train.labels])
    assert set(answers) - {IGNORED} <= set(range(found.classes))


def test_words_of_names_and_their_neighbours_are_asked():
    names = ("O", "O", "B-PER", "I-PER", "O", "O", "B-OTH")
    asked = asked_tags(names)
    assert [None if tag == IGNORED else SPAN_TAGS[tag] for tag in asked] == [
        None,
        "O",
        "B-PER",
        "I-PER",
        "O",
        None,
        None,
    ]


def test_five_rows_run_on_spans_of_real_text(folder, tiny):
    found = five_rows(tiny, "uner_ewt", seeds=2, examples=12, test=6)
    assert all(answers.shape == (2, 18) for answers in found.values())  # a name and two neighbours a sentence


def test_what_is_no_task_or_not_at_hand_is_told(folder, tmp_path, monkeypatch):
    with pytest.raises(BertologyError, match="mnli"):
        real_problem("mnil", 2, 2)
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path / "empty"))
    with pytest.raises(BertologyError):
        real_problem("sst2", 2, 2)
