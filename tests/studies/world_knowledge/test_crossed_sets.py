"""Crossed clozes from Forbes's things, on files in the set's format, written here."""

import pytest

from bertology_utils.data import registry as data
from bertology_utils.instruments import crossed_clozes as crossed
from bertology_utils.studies.world_knowledge import crossed_sets

FILES = {
    "pc/properties.tsv": "uid\tsentence\tcategorization\nlarge\tis big\tperceptual\n"
    "light_weight\tis light\tperceptual\nloud\tis loud\tperceptual\nused_for_music\tis used for music\tfunctional\n"
    "used_for_eating\tis used for eating\tfunctional\na_tool\tis a tool\tfunctional\n",
    "pc/objects.tsv": "uid\tctx\nhouse\thouse\nspoon_soup\tsoup spoon\nowl\towl\ndrum\tdrum\n",
    "pc/abstract.csv": "objectUID,large,light_weight,loud,used_for_music,used_for_eating,a_tool\n"
    "house,1,0,0,0,0,0\nspoon_soup,0,1,0,0,1,1\nowl,0,-2,1,0,0,0\ndrum,0,0,1,1,0,1\n",
    "pc/situated-affordances-sampled.csv": "affordancesNo,affordancesYes,cocoAnnID,cocoImgID,objectHuman,objectUID\n"
    '"eat","beat,hear",1,1,drum,drum\n"beat","eat",2,1,soup,soup\n',
    "sentences/index.csv": "task,uids,word1,word2\nOP,drum/loud,drum,loud\nOA,drum/eat,drum,ate\n"
    "OA,drum/beat,drum,beat\nOA,drum/hear,drum,heard\nOA,soup/beat,soup,beat\nOA,soup/eat,soup,ate\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        path = tmp_path / "world/forbes_physical_commonsense/data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(data.ORDER_VARIABLE, raising=False)


def told(items):
    return sorted((" ".join(item.first), " ".join(item.second), *item.targets) for item in items)


def test_properties_that_people_disagreed_on_are_left_out(folder):
    kept = {(row.thing, row.text): row.holds for row in data.load("forbes:perceptual")}
    assert kept["owl", "is loud"] and ("owl", "is light") not in kept and not kept["soup spoon", "is big"]
    assert {row.kind for row in data.load("forbes")} == {"perceptual", "functional", "affordance"}


def test_things_cross_where_each_has_what_the_other_lacks(folder):
    assert told(crossed_sets.affordance_items(9, source="forbes")) == [
        ("he [MASK] the soup .", "he [MASK] the drum .", "ate", "beat"),
        ("he [MASK] the soup .", "he [MASK] the drum .", "ate", "heard"),
    ]
    assert told(crossed_sets.property_items(9, source="forbes")) == [
        ("a house is very [MASK] .", "a soup spoon is very [MASK] .", "big", "small")
    ]
    assert told(crossed_sets.comparison_items(9, source="forbes")) == [
        ("a house is [MASK] than a soup spoon .", "a soup spoon is [MASK] than a house .", "larger", "smaller")
    ]
    kinds = crossed_sets.attribute_items(9, source="forbes")
    assert told(kinds["functional"]) == [
        ("a soup spoon is used for [MASK] .", "a drum is used for [MASK] .", "eating", "music")
    ]
    assert {item.targets for item in kinds["perceptual"]} == {("big", "light"), ("big", "loud"), ("light", "loud")}


ROLE = [
    "item\tcontext\texpected\texp_cloze\ttarget",
    "1-b\tthe cat saw which dog the man had \tfed\t1\tbitten",
    "1-a\tthe cat saw which man the dog had \tbitten\t1\tbitten",
    "2-b\tshe knew which mouse the old cat had \teaten\t1\tfled",
    "2-a\tshe knew which old cat the mouse had \tfled\t1\tfled",
]
STORY = [
    "item\tcontext_s1\tcontext_s2\texpected\twithin_category\tbetween_category\tconstraint",
    "0\tIt was dark.\tHe lit a\tlamp\tfire\tdog\tH",
    "1\tIt was cold.\tHe lit a\tfire\tlamp\tdog\tH",
    "2\tIt was wet.\tHe took a\ttowel\tspoon\tdog\tH",
]


@pytest.fixture
def diagnostics(tmp_path, monkeypatch):
    for name, lines in (("ROLE-88/ROLE-88", ROLE), ("CPRAG-102/CPRAG-102", STORY)):
        path = tmp_path / f"cloze/ettinger_lm_diagnostics/datasets/{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(data.ORDER_VARIABLE, raising=False)


def test_a_story_is_crossed_with_the_one_that_expects_the_other_word(diagnostics):
    (item,) = crossed_sets.event_items(source="ettinger")
    assert item.targets == ("fire", "lamp") and (item.first[2], item.second[2]) == ("cold", "dark")
    (item,) = crossed_sets.event_items(mention=True, source="ettinger")
    assert item.first[:5] == ("they", "spoke", "of", "fire", ".") and item.second[3] == "lamp"


def test_other_nouns_are_those_of_the_next_item(diagnostics):
    items = sorted(crossed_sets.role_items(source="ettinger"), key=lambda item: item.event)
    assert [" ".join(side) for side in (items[0].likely, items[0].reversed, items[0].replaced)] == [
        "the cat saw which man the dog had [MASK] .",
        "the cat saw which dog the man had [MASK] .",
        "the cat saw which old cat the mouse had [MASK] .",
    ]
    assert items[1].replaced == ("she", "knew", *items[0].likely[3:])


def test_embedded_items_are_the_book_s_own():
    for name in ("affordance_items", "property_items", "comparison_items"):
        assert getattr(crossed_sets, name)(5, 1) == getattr(crossed, name)(5, 1)
    assert crossed_sets.attribute_items(5, 1)["perceptual"] == crossed.fact_items("colour", 5, 1)
    assert crossed_sets.event_items() == crossed.event_items() and crossed_sets.role_items(4) == crossed.role_items(4)


def test_questions_about_things_tell_invented_ones(folder):
    questions = crossed_sets.thing_questions(9, source="forbes")
    assert crossed.examples({k: questions[k] for k in ("property_told", "sizes_told")}) == {
        "property_told": "a dax is very big . a dax is very [MASK] .",
        "sizes_told": "a dax is very big . a wug is very small . a dax is [MASK] than a wug .",
    }
    assert list(questions) == [
        "affordance", "property", "comparison", "property_told", "comparison_told", "sizes_told",
    ]  # fmt: skip
