"""Data sets of the hub: a folder laid out like the hub's parquet branch, and what becomes of its rows."""

import dataclasses

import datasets
import pytest
from datasets import ClassLabel, Features, Value

from bertology_utils.data import registry as data
from bertology_utils.errors import BertologyError

STRINGS = datasets.List(Value("string"))
TAGS = datasets.List(ClassLabel(names=["DET", "NOUN", "VERB", "_"]))


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Writes rows as a split of a set's repository, which then lies in a folder; nothing asks the network."""
    monkeypatch.setenv(data.ORDER_VARIABLE, "hub")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")

    def write(name, split, rows, features):
        spec = data.REGISTRY[name]
        folder = tmp_path / name / spec.hub.configuration / split
        folder.mkdir(parents=True)
        datasets.Dataset.from_list(rows, features=Features(features)).to_parquet(folder / "0000.parquet")
        there = dataclasses.replace(spec.hub, repository=str(tmp_path / name))
        monkeypatch.setitem(data.REGISTRY, name, dataclasses.replace(spec, hub=there))

    return write


def test_glue_rows_carry_the_labels_of_the_local_files(hub):
    label = ClassLabel(names=["entailment", "neutral", "contradiction"])
    hub("mnli", "validation_matched", [{"premise": "A dog runs.", "hypothesis": "It moves.", "label": 0}] * 2,
        {"premise": Value("string"), "hypothesis": Value("string"), "label": label})  # fmt: skip
    loaded = data.load("mnli", "validation")
    assert loaded.source == "hub" and len(loaded) == 2
    assert (loaded.rows[0].text, loaded.rows[0].text_b, loaded.rows[0].label) == (
        "A dog runs.",
        "It moves.",
        "entailment",
    )


def test_numbers_stay_numbers_where_the_local_files_have_them(hub):
    hub("sst2", "train", [{"sentence": "fine ", "label": 1}],
        {"sentence": Value("string"), "label": ClassLabel(names=["negative", "positive"])})  # fmt: skip
    assert data.load("sst2", "train").rows[0].label == "1"
    with pytest.raises(BertologyError, match="no labelled split 'test'"):
        data.load("sst2", "test")


def test_trees_without_ranges_and_empty_nodes(hub):
    row = {
        "idx": "s1", "text": "The dogs can't", "tokens": ["The", "dogs", "can't", "ca", "n't"],
        "lemmas": ["the", "dog", "_", "can", "not"], "upos": [0, 1, 3, 2, 2], "xpos": ["DT", "NNS", "_", "MD", "RB"],
        "feats": ["{'Definite': 'Def'}", "{'Number': 'Plur', 'Case': 'Nom'}", "None", "None", "None"],
        "head": ["2", "3", "None", "0", "3"], "deprel": ["det", "nsubj", "_", "root", "advmod"],
    }  # fmt: skip
    columns = dict.fromkeys(("tokens", "lemmas", "xpos", "feats", "head", "deprel"), STRINGS)
    hub("ud_english_ewt", "test", [row], {"idx": Value("string"), "text": Value("string"), "upos": TAGS, **columns})
    (tree,) = data.load("ud_english_ewt", "test")
    assert tree.words == ("The", "dogs", "ca", "n't") and tree.heads == (1, 2, -1, 2)
    assert tree.upos == ("DET", "NOUN", "VERB", "VERB") and tree.number == (None, "Plur", None, None)
    assert (tree.identity, tree.text, tree.language) == ("s1", "The dogs can't", "en")


def test_names_relations_and_words_in_context(hub):
    hub("uner_ewt", "validation", [{"idx": "s", "tokens": ["Ann", "runs"], "ner_tags": [1, 0]}],
        {"idx": Value("string"), "tokens": STRINGS,
         "ner_tags": datasets.List(ClassLabel(names=["O", "B-PER"]))})  # fmt: skip
    assert data.load("uner_ewt", "validation").rows[0].tags == ("B-PER", "O")
    hub("semeval2010_task8", "train", [{"sentence": '"The <e1>fire</e1> caused <e2>smoke</e2>."', "relation": 1}],
        {"sentence": Value("string"), "relation": ClassLabel(names=["Other", "Cause-Effect(e1,e2)"])})  # fmt: skip
    (relation,) = data.load("semeval2010_task8", "train")
    assert relation.words == ("The", "fire", "caused", "smoke", ".") and relation.label == "Cause-Effect(e1,e2)"
    assert (relation.span_a, relation.span_b) == ((1, 2), (3, 4))
    row = {
        "word": "bank",
        "sentence1": "A river bank.",
        "sentence2": "Banks lend.",
        "start1": 8,
        "start2": 0,
        "label": 0,
    }
    hub("wic", "train", [row], {"word": Value("string"), "sentence1": Value("string"), "sentence2": Value("string"),
                                "start1": Value("int32"), "start2": Value("int32"),
                                "label": ClassLabel(names=["False", "True"])})  # fmt: skip
    (pair,) = data.load("wic", "train")
    assert (pair.words_a[pair.index_a], pair.words_b[pair.index_b], pair.same) == ("bank", "Banks", False)


def test_what_the_hub_does_not_give_is_told_with_its_name(hub, monkeypatch, tmp_path):
    hub("wic", "train", [{"word": "bank"}], {"word": Value("string")})
    with pytest.raises(BertologyError, match="other columns than expected: 'sentence1'"):
        data.load("wic", "train")
    with pytest.raises(BertologyError, match=r"The hub did not give .*wic \("):
        data.load("wic", "validation")
