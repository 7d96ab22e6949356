"""Published sets in the form of the generated items of meaning, on rows in the sets' formats, written here."""

import json
from collections import Counter

import pytest

from bertology_utils import data, semantic_sets, semantic_tasks
from bertology_utils.material import is_held_out

NOUNS = [f"{a}{b}" for a in "bdfgk" for b in ("ag", "en", "ill", "ot", "um")]
SENSES = {"0": "bank_river", "1": "bank_money", "2": "bank_shot"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    pairs = [(a, b) for a in NOUNS for b in NOUNS if a != b]
    rows = [f'{i}\t"The <e1>old {a}</e1> made a <e2>{b}</e2>."\nCause-Effect(e1,e2)\nComment:\n\n'
            for i, (a, b) in enumerate(pairs)]  # fmt: skip
    for part, name in (("train", "TRAIN_FILE.TXT"), ("test", "TEST_FILE_FULL.TXT")):
        write(f"spans/semeval2010_task8/{part}/{name}", "".join(rows))
        bank = f"semantics/coarsewsd20/CoarseWSD-20/bank/{part}"
        write(f"{bank}.data.txt", "".join(f"{40 + i}\t{'x ' * (40 + i)}bank{' y' * 20}\n" for i in range(10)))
        write(f"{bank}.gold.txt", "0\n0\n0\n0\n1\n1\n1\n1\n1\n2\n")
    write("semantics/coarsewsd20/CoarseWSD-20/bank/classes_map.txt", json.dumps(SENSES))
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(data.ORDER_VARIABLE, raising=False)


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
