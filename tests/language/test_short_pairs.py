"""Short frames: two sentences differ in the word that the pair is about, and no word is always the right one."""

from collections import Counter

from bertology_utils.language.lexicon import VOWELS
from bertology_utils.language.short_pairs import CASES, FRAMES, short_pairs


def test_a_pair_differs_in_its_focus_alone():
    drawn = short_pairs(12, seed=1, split="test")
    assert set(drawn) == set(FRAMES) and all(len(pairs) == 12 for pairs in drawn.values())
    for pairs in drawn.values():
        assert all(pair.differing() == (pair.focus,) for pair in pairs)
    assert len({pair.good[1] for pairs in drawn.values() for pair in pairs}) > 12


def test_every_slot_is_filled():
    words = {word for pairs in short_pairs(20).values() for pair in pairs for word in pair.good + pair.bad}
    assert not words & {"N", "P", "V", "T", "A", "M", "Q", "S", "O"} and not any("|" in word for word in words)
    assert not any("." in word and word != "." for word in words)


def test_both_articles_are_right_as_often_and_pronouns_have_their_case():
    drawn = short_pairs(200)
    right = Counter(pair.good[pair.focus] for pair in drawn["article"])
    assert set(right) == {"a", "an"} and min(right.values()) > 70
    for pair in drawn["article"]:
        assert (pair.good[pair.focus] == "an") == (pair.good[pair.focus + 1][0] in VOWELS)
    assert all(pair.good[0] in CASES["S"] and pair.bad[0] in CASES["O"] for pair in drawn["case of a subject"])
    assert all(pair.good[3] in CASES["O"] and pair.bad[3] in CASES["S"] for pair in drawn["case of an object"])


def test_the_same_seed_draws_the_same_pairs():
    assert short_pairs(5, 3) == short_pairs(5, 3) != short_pairs(5, 4)
