"""Lists make well-formed pairs and clozes, whose usual words are right as often as wrong."""

from collections import Counter

from bertology_utils.language.items import ITEMS
from bertology_utils.language.lexicon import article
from bertology_utils.language.listed_pairs import classified_things, negation_clozes, role_reversal_pairs
from bertology_utils.language.pairs import MASK


def test_role_reversal_keeps_the_bag_of_words():
    pairs = role_reversal_pairs()
    assert len(pairs) > 1200 and len({pair.good for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert Counter(pair.good) == Counter(pair.bad) and len(pair.differing()) == 2
        assert pair.good[pair.focus] == pair.bad[pair.focus] == pair.condition["verb"]


def test_more_events_are_other_ones_and_those_of_the_scenes():
    listed, all_of_them = ({p.condition["event"] for p in role_reversal_pairs(more=more)} for more in (False, True))
    more = [event.split() for event in all_of_them - listed]
    assert listed < all_of_them and len(more) == len(ITEMS["more_roles"]) > 200
    told = {(f"the {agent}", f"the {patient}") for agent, _, patient in more}
    assert told <= {(who, " ".join(deed.split()[1:])) for who, deeds in ITEMS["scenes"].items() for deed in deeds}


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
