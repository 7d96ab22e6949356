"""Published sets in the form of the generated items of meaning, on rows in the sets' formats, written here."""

import json
from collections import Counter
from zipfile import ZipFile

import numpy as np
import pytest

from bertology_utils.data import registry as data
from bertology_utils.data import semantic_sets
from bertology_utils.data.material import is_held_out
from bertology_utils.language import semantic_tasks
from bertology_utils.studies.embeddings import sense_pairs

NOUNS = [f"{a}{b}" for a in "bdfgk" for b in ("ag", "en", "ill", "ot", "um")]
SENSES = {"0": "bank_river", "1": "bank_money", "2": "bank_shot"}


@pytest.fixture
def folder(data_folder):
    pairs = [(a, b) for a in NOUNS for b in NOUNS if a != b]
    rows = [f'{i}\t"The <e1>old {a}</e1> made a <e2>{b}</e2>."\nCause-Effect(e1,e2)\nComment:\n\n'
            for i, (a, b) in enumerate(pairs)]  # fmt: skip
    for part, name in (("train", "TRAIN_FILE.TXT"), ("test", "TEST_FILE_FULL.TXT")):
        data_folder(f"spans/semeval2010_task8/{part}/{name}", "".join(rows))
        bank = f"semantics/coarsewsd20/CoarseWSD-20/bank/{part}"
        data_folder(f"{bank}.data.txt", "".join(f"{40 + i}\t{'x ' * (40 + i)}bank{' y' * 20}\n" for i in range(10)))
        data_folder(f"{bank}.gold.txt", "0\n0\n0\n0\n1\n1\n1\n1\n1\n2\n")
    data_folder("semantics/coarsewsd20/CoarseWSD-20/bank/classes_map.txt", json.dumps(SENSES))


def test_embedded_items_are_the_generated_ones():
    for name in ("relation_items", "entity_items", "role_items"):
        assert getattr(semantic_sets, name)(6, "test", 2) == getattr(semantic_tasks, name)(6, "test", 2)
    assert semantic_sets.sense_items(2, "test", 3) == semantic_tasks.sense_items(2, "test", 3)


def test_relations_of_training_and_test_share_no_nominal(folder):
    for split in ("train", "test"):
        items = semantic_sets.relation_items(999, split, source="semeval2010_task8")
        asked = {item.words[place] for item in items for place in (item.first, item.second)}
        assert asked == {noun for noun in NOUNS if is_held_out(noun, 2) == (split == "test")} != set()
        assert {item.relation for item in items} == {"Cause-Effect(e1,e2)"}


def test_senses_are_the_two_frequent_ones_in_a_window_around_the_noun(folder):
    items = semantic_sets.sense_items(4, "test", source="coarsewsd20")
    assert Counter(item.sense for item in items) == {"bank_river": 4, "bank_money": 4}
    assert all(len(item.words) == 30 and item.words[item.place] == "bank" == item.lemma for item in items)
    assert semantic_sets.sense_items(5, "test", source="coarsewsd20") == []


def tree(identity, words, argument, verb):
    """A flat tree: the argument below the verb, all else below the argument."""
    rows = [
        f"{i}\t{word}\t{word}\t{'VERB' if i == verb else 'NOUN'}\t_\t_\t"
        f"{0 if i == verb else verb if i == argument else argument}\tdep\t_\t_"
        for i, word in enumerate(words, 1)
    ]
    return "\n".join([f"# sent_id = {identity}", *rows]) + "\n\n"


@pytest.fixture
def rated(folder, tmp_path):
    """Sentence 1 of the training part of UDS is the second tree; the development part has lost its first sentence."""

    def ratings(*held):
        return {"protoroles": {key: {"value": float(key in held) - 0.5} for key in semantic_sets.UDS_PROPERTIES}}

    def edge(name, argument, verb):
        return f"{name}-semantics-pred-{verb}%%{name}-semantics-arg-{argument}"

    known = [noun for noun in NOUNS if not is_held_out(noun, 2)][:2]
    unseen = [noun for noun in NOUNS if is_held_out(noun, 2)][:2]
    trees = {
        "train_rebuilt/en_ewt-ud-train.part00": tree("b", [known[1], "x", "slept", "."], 1, 3)
        + tree("a", ["x", known[0], "y", "ran"], 2, 4),
        "en_ewt-ud-dev": tree("c", ["the", unseen[0], "w", "sat"], 2, 4),
        "en_ewt-ud-test": tree("d", ["x", "y", "z", "fell", unseen[1]], 5, 4),
    }
    for name, text in trees.items():
        path = tmp_path / "ud_english_ewt" / f"{name}.conllu"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    names = tmp_path / "spans/uner/UNER_English-EWT/en_ewt-ud-train.iob2"
    names.parent.mkdir(parents=True)
    names.write_text("".join(f"# sent_id = {i}\n1\tx\tO\n\n" for i in "ab"), encoding="utf-8")
    found = {
        "ewt-train-1": {edge("ewt-train-1", 2, 4): ratings("volition", "sentient")},
        "ewt-train-2": {edge("ewt-train-2", 1, 3): ratings(), edge("ewt-train-2", 2, 3): ratings("sentient")},
        "ewt-dev-2": {edge("ewt-dev-2", 2, 4): ratings("change_of_location")},
        "ewt-test-1": {edge("ewt-test-1", 5, 4): ratings("change_of_state")},
    }
    path = tmp_path / "semantics/uds_decomp/1.0/normalized/sentence/annotations/protoroles.zip"
    path.parent.mkdir(parents=True)
    with ZipFile(path, "w") as archive:
        archive.writestr("protoroles.json", json.dumps({"data": found}))
    return known, unseen


def test_proto_roles_find_their_sentences_in_the_older_order_and_after_a_loss(rated):
    known, unseen = rated
    source = "uds_protoroles + ud_english_ewt + uner_ewt"
    asked = {
        split: {
            i.words[i.place]: (i.words[i.verb], i.label)
            for i in semantic_sets.proto_role_items(9, split, source=source)
        }
        for split in ("train", "test")
    }
    assert asked["train"] == {known[0]: ("ran", "volition+sentience"), known[1]: ("slept", "")}
    assert asked["test"] == {unseen[0]: ("sat", "change_of_place"), unseen[1]: ("fell", "change_of_state")}
    assert semantic_sets.proto_role_items(3, "test") == semantic_tasks.proto_role_items(3, "test")


def test_partners_of_a_sentence_are_alike_in_size(tmp_path, monkeypatch):
    for part in ("train_rebuilt/en_ewt-ud-train.part00", "en_ewt-ud-test"):
        path = tmp_path / "ud_english_ewt" / f"{part}.conllu"
        path.parent.mkdir(parents=True, exist_ok=True)
        trees = (tree(i, ["x" * (1 + i % 2), "y", "ran", "."], 2, 3) for i in range(9))
        path.write_text("".join(trees), encoding="utf-8")
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    own, first, second = semantic_sets.partner_triples(3, source="ud_english_ewt")
    assert len(own) == len(first) == len(second) == 3
    assert all(map(len, own)) and [len("".join(words)) for words in first] == [len("".join(words)) for words in second]
    assert semantic_sets.partner_triples(3) == semantic_tasks.partner_triples(3)


def test_generated_pairs_of_senses_are_half_alike_and_share_their_word():
    pairs = sense_pairs.sense_pairs(40, "test")
    assert sum(pair.same for pair in pairs) == 20
    assert all(pair.words_a[pair.index_a] == pair.words_b[pair.index_b] == pair.lemma for pair in pairs)
    senses = {(i.words, i.place): i.sense for i in semantic_tasks.sense_items(8, "test")}
    assert all((senses[p.words_a, p.index_a] == senses[p.words_b, p.index_b]) == p.same for p in pairs)


def test_pairs_of_wic_are_cut_around_the_word_and_told_apart_by_a_threshold(tmp_path, monkeypatch, tiny):
    for part, name in (("train", "train"), ("test", "test")):
        path = tmp_path / f"semantics/wic/{part}/{name}"
        path.parent.mkdir(parents=True)
        long = " ".join(["x"] * 40 + ["hook", "y"])
        path.with_name(f"{name}.data.txt").write_text(f"hook\tN\t0-0\thook a fish .\thook a fish .\n"
                                                      f"hook\tN\t0-40\thook a fish .\t{long}\n")  # fmt: skip
        path.with_name(f"{name}.gold.txt").write_text("T\nF\n")
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    pairs = sorted(sense_pairs.sense_pairs(9, source="wic"), key=lambda pair: pair.same)
    assert len(pairs[0].words_b) == 30 and pairs[0].words_b[pairs[0].index_b] == "hook"
    told = sense_pairs.same_sense(tiny, pairs, pairs)
    assert told["by_layer"].shape == (tiny.layers + 1, 2) and set(told["best_layer"]) <= {0.0, 1.0}
    cosines = sense_pairs.pair_cosines(tiny, pairs)
    np.testing.assert_allclose(cosines[:, 1], 1, atol=1e-5)


def test_the_threshold_is_the_one_that_is_most_often_right():
    value, share = sense_pairs._threshold(np.array([0.1, 0.2, 0.6, 0.9]), np.array([False, False, True, True]))
    assert (value, share) == (0.2, 1.0)
