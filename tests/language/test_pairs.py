"""Minimal pairs differ where they should and nowhere else; the listed facts are well formed."""

from collections import Counter
from dataclasses import replace

import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.language.facts import MASK, RELATIONS, facts, invented_people
from bertology_utils.language.grammar import LIVING
from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.language.pairs import (
    agreement_pairs,
    determiner_noun_pairs,
    npi_pairs,
    reflexive_pairs,
)


def noun_numbers(split="train"):
    table = {}
    for group in load_lexicon(split).nouns.values():
        for noun in group:
            table |= {noun.singular: "singular", noun.plural: "plural"} if noun.plural else {noun.singular: "singular"}
    return table


@pytest.mark.parametrize("nonsense", [False, True])
@pytest.mark.parametrize("attractors", [0, 1, 2, 3])
def test_agreement_pairs_differ_in_one_verb_form(attractors, nonsense):
    numbers = noun_numbers()
    verbs = {v.base: v.third for group in load_lexicon("train").verbs.values() for v in group}
    forms = {(a, b) for a, b in verbs.items()} | {(b, a) for a, b in verbs.items()}
    forms |= {("is", "are"), ("are", "is"), ("was", "were"), ("were", "was")}
    for pair in agreement_pairs(60, attractors, nonsense=nonsense, seed=5):
        assert pair.differing() == (pair.focus,) and len(pair.good) == len(pair.bad)
        assert (pair.good[pair.focus], pair.bad[pair.focus]) in forms
        subject, number = pair.condition["subject"], pair.condition["number"]
        assert numbers[pair.good[subject]] == number
        between = [numbers[w] for w in pair.good[subject + 1 : pair.focus] if w in numbers]
        assert between.count("plural" if number == "singular" else "singular") == attractors == len(between)
        singular = pair.good[pair.focus] in set(verbs.values()) | {"is", "was"}
        assert singular == (number == "singular")


def test_agreement_structures_and_controls():
    assert {p.condition["structure"] for p in agreement_pairs(9, 1)} == {"pp", "relative", "object_relative"}
    assert Counter(p.condition["number"] for p in agreement_pairs(120, 2)) == {"singular": 60, "plural": 60}
    control = agreement_pairs(30, 0, "pp", agreeing=1)
    assert all(p.condition["distance"] > 1 and p.condition["attractors"] == 0 for p in control)
    assert agreement_pairs(5, 1, seed=1) == agreement_pairs(5, 1, seed=1) != agreement_pairs(5, 1, seed=2)
    for wrong in ({"structure": "odd"}, {"attractors": 4}):
        with pytest.raises(BertologyError):
            agreement_pairs(1, **wrong)


def test_nonsense_breaks_selection():
    """Inanimate subjects of lexical verbs hardly occur with sense, and mostly without."""
    kinds = {f: n for g in load_lexicon("train").nouns.values() for n in g for f in (n.singular, n.plural)}

    def inanimate(nonsense):
        pairs = [p for p in agreement_pairs(200, nonsense=nonsense) if p.condition["verb"] == "lexical"]
        return sum(kinds[p.good[p.condition["subject"]]].kind not in LIVING for p in pairs) / len(pairs)

    assert inanimate(False) < 0.2 < 0.5 < inanimate(True)


SCOPE_KINDS = ("relative", "conjoined")


def test_the_first_word_tells_nothing_about_scope():
    pairs = npi_pairs(80, "scope")
    assert sum(pair.good[0] != "the" for pair in pairs) == sum(pair.bad[0] != "the" for pair in pairs) == 40


def test_rivals_are_nouns_of_the_other_number_wherever_they_stand():
    numbers = noun_numbers()
    for pair in agreement_pairs(60, split="train", seed=2):
        others = [word for word in pair.good if numbers.get(word, pair.condition["number"]) != pair.condition["number"]]
        assert len(others) == pair.condition["rivals"]


def test_npi_pairs():
    licensors = {"no", "not", "few"}
    for pair in npi_pairs(80, "licensor"):
        (where,) = pair.differing()
        assert pair.good[where] in licensors and not licensors & set(pair.bad)
        assert where == pair.condition["licensor_index"] < pair.focus
        assert pair.good[pair.focus] == pair.bad[pair.focus] == pair.condition["npi"]
    for pair in npi_pairs(80, "scope"):
        first, second = pair.differing()
        assert first == 0 < second < pair.focus and Counter(pair.good) == Counter(pair.bad)
        above, elsewhere = (first, second) if pair.condition["structure"] == "relative" else (second, first)
        assert pair.good[above] == pair.bad[elsewhere] in licensors and above == pair.condition["licensor_index"]
    shared = Counter((p.condition["npi"], p.condition["structure"]) for p in npi_pairs(80, "scope"))
    assert shared == {(npi, kind): n for npi, n in (("ever", 20), ("any", 10), ("yet", 10)) for kind in SCOPE_KINDS}
    for pair in npi_pairs(80, "npi"):
        assert pair.differing() == (pair.focus,) and not licensors & set(pair.good)
        assert pair.bad[pair.focus] in ("ever", "any", "yet")
        assert {"relative": "that", "conjoined": "and"}[pair.condition["structure"]] in pair.good


@pytest.mark.parametrize("attractors", [0, 1])
def test_reflexive_pairs(attractors):
    for pair in reflexive_pairs(60, attractors):
        assert pair.differing() == (pair.focus,)
        good, bad = pair.good[pair.focus], pair.bad[pair.focus]
        assert (good == "themselves") == (pair.condition["number"] == "plural")
        assert ("themselves" in (good, bad)) == (pair.condition["mismatch"] == "number")
        assert ("that" in pair.good) == bool(attractors)


def test_determiner_noun_pairs():
    numbers = noun_numbers()
    for adjectives in (0, 1, 2):
        for pair in determiner_noun_pairs(40, adjectives):
            assert pair.differing() == (pair.focus,)
            assert pair.good[pair.focus - adjectives - 1] == pair.condition["determiner"]
            assert numbers[pair.good[pair.focus]] == pair.condition["number"] != numbers[pair.bad[pair.focus]]


def test_facts_have_one_answer_and_one_mask():
    assert len(facts()) >= 250 and {fact.relation for fact in facts()} == set(RELATIONS)
    assert len({(fact.relation, fact.subject) for fact in facts()}) == len(facts())
    for fact in facts():
        assert fact.object in fact.candidates and len(set(fact.candidates)) == len(fact.candidates)
        assert len(fact.prompts()) >= 3
        for prompt in fact.prompts() + fact.prompts(negated=True):
            assert prompt.words.count(MASK) == 1 and prompt.words[prompt.focus] == MASK
            assert prompt.answer in prompt.candidates and not any("{" in word for word in prompt.words)
            assert prompt.answer not in prompt.words
        assert all("not" in prompt.words for prompt in fact.prompts(negated=True))
        if fact.relation != "size":
            others = [replace(fact, object=other).prompts() for other in fact.candidates]
            assert {tuple(p.words for p in prompts) for prompts in others} == {tuple(p.words for p in fact.prompts())}
    with pytest.raises(BertologyError):
        facts("odd")


def test_size_facts_come_in_both_directions():
    sizes = {fact.subject: fact.object for fact in facts("size")}
    assert sizes["elephant mouse"] == "larger" and sizes["mouse elephant"] == "smaller"
    assert {p.answer for fact in facts("size") for p in fact.prompts()} == {"larger", "smaller", "large", "small"}


def test_invented_people():
    same, other = invented_people(100, True, seed=2), invented_people(100, False, seed=2)
    assert len({person.name for person in same}) == 100
    assert all(p.congruent and p.style == p.country for p in same) and not any(p.congruent for p in other)
    for person in other:
        assert person.country in person.statement()
        for asked in ("country", "language", "nationality"):
            for prompt in person.prompts(asked):
                assert prompt.words[prompt.focus] == MASK and prompt.answer in prompt.candidates
    with pytest.raises(BertologyError):
        invented_people(10_000)
