"""Pairs are covered, balanced and sampled over verbs; damage is measured against the intact sentence."""

from collections import Counter

import numpy as np
import pytest

from bertology_utils.data import pair_sets
from bertology_utils.instruments import cloze
from bertology_utils.language.agreement_verbs import agreement_verbs
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.studies.syntax import agreement
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, parse


def test_agreement_has_the_samples_of_its_predictions(tiny):
    found = agreement.by_attractors(tiny, 6, 4)
    assert {"attractors_0", "attractors_3", "nonsense", "unigram", "coverage"} <= set(found)
    assert len(found["attractors_0"]) == 3 and found["attractors_0"].items == found["nonsense"].items == 6
    assert found["attractors_1"].items == found["agreeing"].items == 4
    np.testing.assert_array_equal(found["meaningful"], found["attractors_0"])
    assert found["unigram"].mean() == 0.5, "each verb is asked in either number"
    assert len(found["copulas"])
    assert {"meaningful", "nonsense_alike"} <= set(found)


def verdicts_of(specimen, monkeypatch, right) -> list[str]:
    """The claims of agreement next to a verb and apart from it, of a model with these answers."""
    monkeypatch.setattr(agreement, "preferences", lambda specimen, pairs: np.array([right(p) for p in pairs], float))
    found = agreement.by_attractors(specimen, 240, 240)
    claims = map(claim_by_id, ("sva-in-cloze", "sva-meaningless-sentences"))
    return [min(c.verdict for c in parse(claim.prediction).judge(found)) for claim in claims]


def test_the_word_before_the_verb_is_no_agreement(tiny, monkeypatch):
    assert verdicts_of(tiny, monkeypatch, lambda pair: agreement.word_before([pair])[0]) == [CONTRADICTS] * 2
    assert verdicts_of(tiny, monkeypatch, lambda pair: "subject" in pair.condition) == [REPLICATES] * 2  # not alone


def test_behind_another_verb_the_word_before_tells_nothing(tiny):
    kind = {"agreeing": 1, "seed": 0} | agreement.BEHIND_A_VERB
    apart, _ = agreement.verb_pairs(tiny, 200, **kind)
    beside, _ = agreement.verb_pairs(tiny, 200, seed=0)
    assert agreement.word_before(apart).mean() == 0.5 and agreement.word_before(beside).mean() > 0.9
    assert {(pair.condition["attractors"], pair.condition["agreeing"]) for pair in apart} == {(0, 1)}


def test_pairs_are_drawn_until_enough_are_covered(tiny, monkeypatch):
    known = {"is", "are", "was", "were"}
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: 1 if form in known else None)
    found, share = agreement.covered_pairs(tiny, 12, attractors=1, seed=0, split="test")
    assert len(found) == 12 and {pair.good[pair.focus] for pair in found} <= known
    assert 0.2 < share < 0.6
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: 1)
    assert agreement.covered_pairs(tiny, 12)[1] == 1


def test_every_covered_verb_is_asked_in_both_numbers(tiny, monkeypatch):
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: None if form == "sings" else 1)
    found, share = agreement.verb_pairs(tiny, 600, attractors=1, seed=1)
    units = Counter(map(agreement.unit_of, found))
    assert len(found) == 600 and len(units) == len(agreement_verbs()) - 1 and "sing/sings" not in units
    assert 0.99 < share < 1 and set(units.values()) == {2, 4}
    numbers = Counter((agreement.unit_of(pair), pair.condition["number"]) for pair in found)
    assert set(numbers.values()) == {1, 2} and {pair.condition["attractors"] for pair in found} == {1}
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: None)
    assert agreement.verb_pairs(tiny, 6) == ([], 0.0)


def test_damaged_agreement_prefers_the_agreeing_form_where_words_stand_before_it(tiny, monkeypatch):
    def any_word_before(specimen, sentences, places, forms):
        scores = np.array([[0.0, -1.0] if place else [-1.0, 0.0] for place in places])
        return cloze.CandidateScores(scores, np.ones(len(places), bool))

    monkeypatch.setattr(cloze, "word_log_probability", any_word_before)
    found = agreement.damaged_agreement(tiny, 6)
    assert found["intact"].all() and not found["headless"].any()


def test_damaged_agreement_has_a_rival_in_each_sentence_and_favours_no_form(tiny):
    pairs = agreement._balanced(agreement._rivalled(tiny, 20, 0, "embedded"), 20)
    assert len(pairs) == 20 and all(pair.condition["rivals"] for pair in pairs)
    assert [pair.condition["number"] for pair in pairs].count("plural") == 10
    assert len(agreement._balanced(pairs[:13], 20)) == 6


def test_what_is_left_without_the_subject_is_a_part_of_the_lead():
    right = {"intact": np.array([1.0, 1.0, 1.0, 0.6]), "headless": np.array([0.7])}
    assert agreement.left_without_subject(right) == pytest.approx(0.5)
    assert agreement.left_without_subject(right | {"intact": np.array([0.5])}) == pytest.approx(4)


def pair_of(good: str, bad: str, **condition) -> MinimalPair:
    return MinimalPair(("it", good), ("it", bad), 1, "agreement", condition)


def test_agreement_is_sampled_over_verbs_and_nonsense_over_constructions():
    units = [agreement.unit_of(pair_of(*forms)) for forms in (("sleeps", "sleep"), ("sleep", "sleeps"))]
    assert units[0] == units[1] != agreement.unit_of(pair_of("eats", "eat"))
    assert agreement.unit_of(pair_of("is", "are")) == agreement.unit_of(pair_of("were", "was"))
    assert agreement.unit_of(pair_of("is", "are", construction="L 3")) == "L 3"


def test_nonsense_is_compared_in_the_constructions_whose_original_can_be_asked(tiny, monkeypatch):
    made = [pair_of("sleeps", "sleep", construction=name) for name in ("a", "a", "b", "c")]
    natural = [pair_of("eats", "eat", construction=name) for name in ("a", "b", "d")]
    monkeypatch.setattr(pair_sets, "natural_originals", lambda source: natural)
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: 1)
    monkeypatch.setattr(agreement, "preferences", lambda specimen, pairs: np.arange(float(len(pairs))))
    found = agreement._originals_and_nonsense(tiny, made)
    assert {name: (len(values), values.mean()) for name, values in found.items()} == {
        "meaningful": (2, 0.5), "nonsense_alike": (2, 1.0)
    }  # fmt: skip
