"""Sentences with two auxiliaries: which comes first, what stands before them, and whose words they are."""

import pytest

from bertology_utils.language.ten_languages import concepts
from bertology_utils.language.two_auxiliaries import AUXILIARIES, two_auxiliaries

CODES = tuple(AUXILIARIES)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("parting", [False, True])
def test_the_main_auxiliary_is_first_unless_order_and_hierarchy_part(code, parting):
    for sentence in two_auxiliaries(code, 40, parting):
        assert (sentence.embedded < sentence.main) == parting
        assert {sentence.words[sentence.main], sentence.words[sentence.embedded]} <= set(AUXILIARIES[code])
        relative = max(place for place, word in enumerate(sentence.words[: sentence.embedded]) if word == ",")
        assert relative < sentence.embedded and (parting or sentence.main < relative)


@pytest.mark.parametrize("code", CODES)
def test_the_words_of_the_test_are_new(code):
    held_out = set(concepts("nouns", ["person", "text", "object"], "test"))
    assert {noun for s in two_auxiliaries(code, 40, True, "test") for noun in s.nouns} <= held_out
    assert not {noun for s in two_auxiliaries(code, 40, True, "train") for noun in s.nouns} & held_out


def test_three_words_before_do_not_tell_where_order_and_hierarchy_agree():
    shapes = {"de": ("kaufen", "lesen"), "fi": ("ssa", "ssä", "lla", "llä")}
    for code, endings in shapes.items():
        for sentence in two_auxiliaries(code, 60, False):
            before = [sentence.words[place - 1] for place in (sentence.main, sentence.embedded)]
            assert all(word.endswith("en" if code == "de" else endings) for word in before)
