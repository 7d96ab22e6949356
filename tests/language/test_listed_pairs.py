"""Lists make well-formed pairs and clozes, whose usual words are right as often as wrong."""

from collections import Counter

from bertology_utils.language.items import ITEMS
from bertology_utils.language.lexicon import SPLITS, UNIONS, article, load_lexicon
from bertology_utils.language.listed_pairs import classified_things, negation_clozes, role_reversal_pairs
from bertology_utils.language.pairs import MASK


def test_role_reversal_keeps_the_bag_of_words():
    pairs = role_reversal_pairs()
    assert len(pairs) > 1200 and len({pair.good for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert Counter(pair.good) == Counter(pair.bad) and len(pair.differing()) == 2
        assert pair.good[pair.focus] == pair.bad[pair.focus] == pair.condition["verb"]


def test_events_of_living_beings_are_new_and_none_is_reversed():
    old, new = ([row.split() for row in ITEMS[name]] for name in ("roles", "living_roles"))
    pairs = {frozenset((agent, patient)) for agent, _, patient in new}
    assert len(pairs) == len(new) >= 160 and not pairs & {frozenset((agent, patient)) for agent, _, patient in old}
    assert max(Counter(noun for agent, _, patient in new for noun in (agent, patient)).values()) <= 8
    assert {pair.condition["event"] for pair in role_reversal_pairs(listed="living_roles")} == {*ITEMS["living_roles"]}


def test_events_of_living_beings_have_no_noun_that_the_lexicon_lists_as_a_thing():
    nouns = {noun for row in ITEMS["living_roles"] for noun in row.split()[::2]}
    kinds = {n.singular: n.kind for split in SPLITS for ns in load_lexicon(split).nouns.values() for n in ns}
    known = [kinds[noun] for noun in nouns if noun in kinds]
    assert len(known) > 60 and set(known) <= set(UNIONS["living"])


def test_things_in_places_are_no_places_and_none_is_named_twice():
    things, places = ITEMS["things"].split(), " ".join(ITEMS["levels"]).split()
    assert len(things) == len(set(things)) == 120 and not set(things) & set(places)


def test_negation_clozes_swap_true_and_false():
    clozes = negation_clozes()
    assert len(clozes) >= 200
    for plain, negated in zip(clozes[::2], clozes[1::2], strict=True):
        assert (plain.true, plain.false) == (negated.false, negated.true)
        assert [word for word in negated.words if word != "not"] == list(plain.words)
        assert plain.words[plain.focus] == negated.words[negated.focus] == MASK
        article = "an" if plain.true[0] in "aeiou" else "a"
        assert plain.words[plain.focus - 1] == article and (plain.false[0] in "aeiou") == (plain.true[0] in "aeiou")


def test_a_class_is_as_often_false_as_true_and_takes_the_same_article():
    things = classified_things()
    assert len(things) == len({thing for thing, _, _ in things}) > 300
    assert Counter(kind for _, kind, _ in things) == Counter(wrong for _, _, wrong in things)
    assert all(kind != wrong and article(kind) == article(wrong) for _, kind, wrong in things)
