"""Whole sentences are judged as for the recorded scores, and read against rules without grammar."""

import numpy as np
import pytest

from bertology_utils.absent import Absent
from bertology_utils.instruments import grammaticality
from bertology_utils.runs import Runs
from bertology_utils.studies.syntax import whole_sentences


def test_whole_sentences_are_judged_by_paradigm_as_for_the_recorded_scores(tiny, tmp_path, monkeypatch):
    own = whole_sentences.paradigms(tiny, 3)
    assert len(own) == 4 and all(values.shape == (3,) for values in own.values())
    for name in ("number", "case"):
        path = tmp_path / f"agreement/zorro/sentences/babyberta/{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("the owls sleeps .\nthe owl sleeps .\n" * 5, encoding="utf-8")
    monkeypatch.setenv("BERTOLOGY_DATA", str(tmp_path))
    found = whole_sentences.paradigms(tiny, 3, source="zorro")
    recorded = grammaticality.score(tiny, grammaticality.load_suite("zorro", 3).paradigms.items())
    assert {name: values.mean() for name, values in found.items()} == {
        name: recorded[name].value for name in ("case", "number")
    }


def test_a_score_is_read_against_the_best_of_the_rules(tiny, tiny_twin):
    judged = Runs(*(whole_sentences.paradigms(specimen, 4) for specimen in (tiny, tiny_twin)))
    rules = Runs(*(whole_sentences.rules_of_paradigms(specimen, 4) for specimen in (tiny, tiny_twin)))
    rows = {row["paradigm"]: row for row in whole_sentences.against_rules(judged, rules)}
    assert set(rows) == set(judged.model) and set(grammaticality.RULES) < set(rows["agreement"])
    lead = 100 * (judged.model["agreement"].mean() - grammaticality.best_rule(rules.model["agreement"]))
    assert rows["agreement"]["over the best rule"] == f"{lead:+.0f}"


def test_fixed_contrasts_differ_in_the_same_words_each_time(tiny, monkeypatch):
    asked = []
    monkeypatch.setattr(
        whole_sentences, "judgements", lambda specimen, pairs: asked.append(pairs) or np.ones(len(pairs))
    )
    found = whole_sentences.fixed_contrasts(tiny, 6)
    assert set(found) == set(whole_sentences.CONTRASTS) and all(len(f["blind"]) == 6 for f in found.values())
    assert [grammaticality.contrasts(pairs) for pairs in asked] == [1, 1]


def test_a_taste_for_pieces_gives_the_same_answer_without_words_and_has_a_table():
    judged, blind = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
    found = {"only / even": {"judged": judged, "blind": blind}}
    assert whole_sentences.same_answers(found) == pytest.approx(0.75)
    table = whole_sentences.contrast_table(Runs(found, found, (found,)), "A caption.").table
    assert list(table["network"]) == ["model", "random 1", "random 2"]
    assert list(table["only / even, words masked"]) == ["25%"] * 3
    assert whole_sentences.contrast_table(Absent("no head"), "A caption.") is None


def test_every_way_of_masking_has_a_share(tiny):
    shares = whole_sentences.by_variant(tiny, 3)
    assert set(shares) == set(whole_sentences.PLL_VARIANTS)
    right = whole_sentences.paradigms(tiny, 3)
    assert shares["one_piece"] == pytest.approx(np.mean([values.mean() for values in right.values()]))
