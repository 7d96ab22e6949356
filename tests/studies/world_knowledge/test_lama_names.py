"""LAMA's facts and the factbook's in the book's form, on rows in the sets' formats, written here."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bertology_utils.data import lama
from bertology_utils.data import registry as data
from bertology_utils.errors import BertologyError
from bertology_utils.instruments import knowledge
from bertology_utils.studies.world_knowledge import lama_names

COLOURS = ["red", "green", "white", "black"]
ALTERED = {"obj_label": "red", "masked_sentences": ["Sun is [MASK] ."], "masked_negations": ["Sun is not [MASK] ."],
           "masked_misprimed": ["Dog? Sun is [MASK] ."]}  # fmt: skip
NAME = "conventional short form"
PERU = {
    "Government": {"Country name": {NAME: {"text": "Peru"}}, "Capital": {"name": {"text": "Lima"}}},
    "People and Society": {"Languages": {"Languages": {"text": "Spanish (official) 82.9%, Quechua 13.6%"}}},
    "Geography": {"Map references": {"text": "South America"}},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    def write(name, rows):
        path = tmp_path / "world" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    facts = [{"sub_label": f"the old town {i}", "obj_label": COLOURS[i % 4]} for i in range(24)]
    odd = [{"sub_label": "a b c d e f g h i", "obj_label": "red"}, {"sub_label": "the sea", "obj_label": "dark blue"}]
    write(
        "lama_probe_raw/relations.jsonl",
        [{"relation": "P1", "template": "[X] is [Y] ."}, {"relation": "P2", "template": "[X] has [Y]"}],
    )
    write("lama_probe_raw/TREx/P1.jsonl", facts + odd)
    write("lama_probe_raw/TREx/P2.jsonl", facts[:5])
    mined = [{"relation": "P1", "template": "see [Y] [X]."}, {"relation": "P1", "template": "[X]'s [Y], ."}]
    write("optiprompt_metainfo/relation_metainfo/LPAQA_relations.jsonl", mined)
    write("lama_negated_primed/data/TREx/random/P1_random.jsonl", [ALTERED, ALTERED | {"masked_negations": []}])
    nameless = PERU | {"Government": {"Country name": {NAME: {"text": "none"}}}}
    for i, page in enumerate([PERU, nameless]):
        write(f"factbook_json/south-america/{i}.json", [page])
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(data.ORDER_VARIABLE, raising=False)


def test_a_fact_is_asked_by_both_templates_and_long_or_split_ones_are_left_out(folder):
    assert lama.relations() == ["P1"]
    first, *others = lama.facts("P1")
    assert len(others) == 23 and first.candidates == ("black", "green", "red", "white")
    own, mined, untidy = first.prompts()
    assert own.words == ("the", "old", "town", "0", "is", "[MASK]", ".") and own.focus == 5 and own.answer == "red"
    assert untidy.words == ("the", "old", "town", "0", "'s", "[MASK]", ".")
    assert mined.words == ("see", "[MASK]", "the", "old", "town", "0", ".") and mined.focus == 1
    with pytest.raises(BertologyError, match="P1"):
        lama.facts("P9")


def test_knowledge_is_measured_on_lama_as_on_the_book_s_own_facts(folder, tiny):
    own = knowledge.asked(tiny)
    assert len(own) > 10 and own == [name for name in knowledge.ASKED if name in own], "those that its words can answer"
    assert knowledge.asked(tiny, "lama + lpaqa") == ["P1"]
    scores = knowledge.relation_scores(tiny, "P1", ("{}", "we know that {}"), 12, "lama + lpaqa")
    assert scores.log_probabilities.shape == (6, 12, 4) and scores.coverage == 1
    assert scores.prompts[0] == "[X] is [Y] ." and scores.prompts[4] == "we know that see [Y] [X] ."
    samples = knowledge.fact_samples([scores, scores])
    assert set(samples) >= {"manual", "best_template", "ensemble", "consistency"}
    assert np.allclose(samples["manual"], [scores.hits[0].mean()] * 2), "a sample for each relation"
    ranked, again, drawn = (knowledge.triple_ranking(tiny, scores, corrupted) for corrupted in (None, 3, 1))
    assert all(np.array_equal(ranked[name], again[name]) for name in ranked), "3 are all the wrong colours"
    assert all(drawn[name].shape == (12,) for name in ranked)
    assert knowledge.mispriming_effect(tiny, scores)["misprimed"].shape == (12,)


def test_negations_come_in_pairs(folder, tiny):
    assert lama.negations("P1") == [(("Sun", "is", "[MASK]", "."), ("Sun", "is", "not", "[MASK]", "."))]
    assert knowledge.negation_effect(tiny, "P1", source="lama_altered")["spearman"].shape == (1,)


def test_primes_are_kassner_s_and_answers_any_piece(folder, tiny):
    assert lama.altered() == {"P1"}
    assert lama.misprimings("P1") == [("red", ("Sun", "is", "[MASK]", "."), ("Dog", "?", "Sun", "is", "[MASK]", "."))]
    scores = knowledge.relation_scores(tiny, "P1", ("{}",), 12, "lama + lpaqa + factbook")
    primed = knowledge.mispriming_effect(tiny, scores, source="lama_altered")
    assert {name: values.shape for name, values in primed.items()} == dict.fromkeys(
        ("plain", "misprimed", "gives_the_prime"), (1,)
    )


def test_the_factbook_s_countries_are_facts_too(folder, monkeypatch):
    rows = {row.relation: (row.subject, row.object, row.template) for row in data.load("factbook")}
    assert rows["capital"] == ("Peru", "Lima", "The capital of [X] is [Y] .")
    assert (rows["language"][1], rows["continent"][1]) == ("Spanish", "South America")
    assert len(data.load("factbook")) == 3, "a page without a name is left out"
    monkeypatch.setattr(lama, "FEWEST", 1)
    assert lama.relations() == ["P1", "P2", "capital", "language"], "objects of two words are left out"
    (fact,) = lama.facts("capital")
    assert [" ".join(p.words) for p in fact.prompts()] == [
        "The capital of Peru is [MASK] .",
        "[MASK] is the capital of Peru .",
        "Peru has its capital in [MASK] .",
    ]


def test_facts_are_divided_by_what_the_name_tells(folder, tiny, monkeypatch):
    """A planted model: the plain prompt knows what the name tells, and nothing else."""
    monkeypatch.setitem(lama_names.KINDS, "P1", "city")
    scores = knowledge.relation_scores(tiny, "P1", ("{}",), 12, "lama + lpaqa + factbook")
    assert lama_names.name_scores(tiny, scores).shape == (12, 4)
    n, first = len(scores.facts), np.arange(12) < 3
    order = np.where(first[:, None], scores.answers[:, None], (scores.answers + 1)[:, None]) % 4
    planted = -((np.arange(4) - order) % 4)  # the best guess, then the next ones round
    monkeypatch.setattr(lama_names, "name_scores", lambda specimen, found: planted.astype(float))
    monkeypatch.setattr(lama_names, "FIRST", 1)
    log_probabilities = scores.log_probabilities.copy()
    log_probabilities[0] = planted - planted.mean(0)
    known = knowledge.RelationScores("P1", scores.facts, scores.candidates, scores.prompts, log_probabilities,
                                     scores.answers, 1.0)  # fmt: skip
    found = lama_names.names_test(tiny, [known])
    assert found["style"].sum() == found["congruent"].sum() == 3 == len(found["congruent"])
    assert found["incongruent"].sum() == 0 and len(found["incongruent"]) == 3, "as many as agree"
    assert found["misled"].sum() == n - 3 and len(found["told"]) == n
    assert np.allclose(found["constant"], 1 / 4) and len(found["constant"]) == n, "a guess among the four candidates"
    two = replace(known, candidates=("green", "red"), log_probabilities=log_probabilities[..., :2])
    monkeypatch.setattr(lama_names, "told_hits", lambda specimen, scores: np.ones(n, dtype=bool))
    assert lama_names.names_test(tiny, [known, two])["constant"].mean() == pytest.approx((1 / 4 + 1 / 2) / 2)
    with pytest.raises(BertologyError, match="people"):
        lama_names.names_test(tiny, [])


def test_invented_people_are_judged_where_no_set_is_named(monkeypatch):
    asked = {}
    monkeypatch.setattr(knowledge, "names_test", lambda specimen, same, clashing: asked.update(a=same, b=clashing))
    lama_names.judged_by_name(None, [], 8, 0)
    assert len(asked["a"]) == len(asked["b"]) == 8
    assert all(person.congruent for person in asked["a"]) and not any(person.congruent for person in asked["b"])
    assert lama_names.example(8, 0).startswith(asked["b"][0].name) and "[MASK]" in lama_names.example(8, 0)


def test_published_losses_are_shares_of_the_facts_that_were_known():
    losses = lama_names.published_losses()
    assert losses["T-REx, BERT-base"] == pytest.approx(1 - 21.8 / 31.1) and len(losses) == 2
