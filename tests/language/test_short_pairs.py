"""Short frames: two sentences differ in the word that the pair is about, and no word is always the right one."""

from collections import Counter

from bertology_utils.language.lexicon import article
from bertology_utils.language.short_pairs import CASES, FRAMES, short_pairs


def test_a_pair_differs_in_its_focus_alone():
    drawn = short_pairs(12, seed=1, split="test")
    assert set(drawn) == set(FRAMES) and all(len(pairs) == 12 for pairs in drawn.values())
    for pairs in drawn.values():
        assert all(pair.differing() == (pair.focus,) for pair in pairs)
    assert len({pair.good[1] for pairs in drawn.values() for pair in pairs}) > 12


def test_every_slot_is_filled():
    words = {word for pairs in short_pairs(20).values() for pair in pairs for word in pair.good + pair.bad}
    assert not words & {"N", "P", "D", "W", "V", "T", "M", "Q", "S", "O"} and not any("|" in word for word in words)
    assert not any("." in word and word != "." for word in words)


def test_no_word_is_always_right_where_a_closed_class_is_asked():
    for name in ("case", "article", "who and which"):
        right = Counter(pair.good[pair.focus] for pair in short_pairs(300, split="test")[name])
        wrong = Counter(pair.bad[pair.focus] for pair in short_pairs(300, split="test")[name])
        assert set(right) == set(wrong) and all(0.6 < right[word] / wrong[word] < 1.7 for word in right), name


def test_an_article_fits_the_next_word_and_a_pronoun_its_place():
    drawn = short_pairs(60)
    assert all(pair.good[pair.focus] == article(pair.good[pair.focus + 1]) for pair in drawn["article"])
    for pair in drawn["case"]:
        assert pair.good[pair.focus] in CASES["S" if pair.focus == 0 else "O"]


def test_the_same_seed_draws_the_same_pairs():
    assert short_pairs(5, 3) == short_pairs(5, 3) != short_pairs(5, 4)
