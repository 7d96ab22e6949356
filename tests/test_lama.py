"""LAMA's facts, prompts and negations in the book's form, on rows in the sets' formats, written here."""

import json

import pytest

from bertology_utils import data, knowledge, lama
from bertology_utils.errors import BertologyError

COLOURS = ["red", "green", "white", "black"]
ALTERED = {"obj_label": "red", "masked_sentences": ["Sun is [MASK] ."], "masked_negations": ["Sun is not [MASK] ."],
           "masked_misprimed": ["Dog? Sun is [MASK] ."]}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    def write(name, rows):
        path = tmp_path / "world" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    facts = [{"sub_label": f"the old town {i}", "obj_label": COLOURS[i % 4]} for i in range(24)]
    odd = [{"sub_label": "a b c d e f g h i", "obj_label": "red"}, {"sub_label": "the sea", "obj_label": "dark blue"}]
    write("lama_probe_raw/relations.jsonl", [{"relation": "P1", "template": "[X] is [Y] ."},
                                             {"relation": "P2", "template": "[X] has [Y]"}])
    write("lama_probe_raw/TREx/P1.jsonl", facts + odd)
    write("lama_probe_raw/TREx/P2.jsonl", facts[:5])
    mined = [{"relation": "P1", "template": "see [Y] [X]."}]
    write("optiprompt_metainfo/relation_metainfo/LPAQA_relations.jsonl", mined)
    write("lama_negated_primed/data/TREx/random/P1_random.jsonl", [ALTERED, ALTERED | {"masked_negations": []}])
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(data.ORDER_VARIABLE, raising=False)


def test_a_fact_is_asked_by_both_templates_and_long_or_split_ones_are_left_out(folder):
    assert lama.relations() == ["P1"]
    first, *others = lama.facts("P1")
    assert len(others) == 23 and first.candidates == ("black", "green", "red", "white")
    own, mined = first.prompts()
    assert own.words == ("the", "old", "town", "0", "is", "[MASK]", ".") and own.focus == 5 and own.answer == "red"
    assert mined.words == ("see", "[MASK]", "the", "old", "town", "0", ".") and mined.focus == 1
    with pytest.raises(BertologyError, match="P1"):
        lama.facts("P9")


def test_knowledge_is_measured_on_lama_as_on_the_book_s_own_facts(folder, tiny):
    assert knowledge.asked(tiny) == list(knowledge.ASKED)
    assert knowledge.asked(tiny, "lama + lpaqa") == ["P1"]
    scores = knowledge.relation_scores(tiny, "P1", ("{}", "we know that {}"), 12, "lama + lpaqa")
    assert scores.log_probabilities.shape == (4, 12, 4) and scores.coverage == 1
    assert scores.prompts[0] == "[X] is [Y] ." and scores.prompts[3] == "we know that see [Y] [X] ."
    assert set(knowledge.fact_samples([scores])) >= {"manual", "best_template", "ensemble", "consistency"}
    assert knowledge.triple_ranking(tiny, scores)["mlm_unseen"].shape == (12,)
    assert knowledge.mispriming_effect(tiny, scores)["misprimed"].shape == (12,)


def test_negations_come_in_pairs(folder, tiny):
    assert lama.negations("P1") == [(("Sun", "is", "[MASK]", "."), ("Sun", "is", "not", "[MASK]", "."))]
    assert knowledge.negation_effect(tiny, "P1", source="lama_altered")["spearman"].shape == (1,)
