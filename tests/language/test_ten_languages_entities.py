"""Names in ten languages: sentences by hand, names of one split, the same entities in translations, no cue left."""

from itertools import pairwise

import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.language import ten_languages as ten
from bertology_utils.language.ten_languages import LANGUAGES, Meaning, parallel_corpus, sentence
from bertology_utils.language.ten_languages_entities import ARTICLES, CAPITALS, _row, entity_corpus

BARE = (CAPITALS, ARTICLES)
CORPUS = {split: entity_corpus(80, split) for split in ("train", "test")}
BOTH = Meaning("Julia", verb="read", object="book", place="Istanbul")
NONE = Meaning("boy", verb="read", object="book", place="kitchen")


def spoken(code: str, meaning: Meaning, without=()) -> str:
    return " ".join(_row(0, meaning, code, without).words)


def test_names_have_no_article_and_stand_in_the_case_of_their_place():
    assert {code: spoken(code, BOTH) for code in LANGUAGES} == {
        "en": "Julia reads the book in Istanbul .",
        "de": "Julia liest das Buch in Istanbul .",
        "fr": "Julie lit le livre à Istanbul .",
        "es": "Julia lee el libro en Estambul .",
        "ru": "Юлия читает книгу в Стамбуле .",
        "fi": "Julia lukee kirjaa Istanbulissa .",
        "tr": "Julia kitabı İstanbul'da okuyor .",
        "ar": "تقرأ جوليا الكتاب في إسطنبول .",
        "hi": "जूलिया किताब इस्तांबुल में पढ़ रही है ।",
        "zh": "朱莉娅 在 伊斯坦布尔 读 书 。",
    }


def test_without_cues_a_name_looks_as_a_noun_does():
    told = {code: (spoken(code, BOTH, BARE), spoken(code, NONE, BARE)) for code in ("de", "fr", "tr", "ar", "zh")}
    assert told == {
        "de": ("julia liest buch in istanbul .", "junge liest buch in küche ."),
        "fr": ("julie lit livre dans istanbul .", "garçon lit livre dans cuisine ."),
        "tr": ("julia kitabı istanbulda okuyor .", "oğlan kitabı mutfakta okuyor ."),
        "ar": ("تقرأ جوليا كتاب في إسطنبول .", "يقرأ ولد كتاب في مطبخ ."),
        "zh": ("朱莉娅 在 伊斯坦布尔 读 书 。", "男孩 在 厨房 读 书 。"),
    }
    for code, rows in entity_corpus(40, without=BARE).items():
        shapes = {(row.roles, row.words == tuple(word.lower() for word in row.words)) for row in rows}
        assert all(lower for _, lower in shapes) and not any("article" in role for roles, _ in shapes for role in roles)
        assert len(rows) == 40 and code in LANGUAGES


@pytest.mark.parametrize("split", CORPUS)
def test_translations_have_the_same_entities_and_half_of_the_subjects_and_places_are_names(split):
    for versions in zip(*CORPUS[split].values(), strict=True):
        assert len({row.identity for row in versions}) == 1
        assert len({tuple(row.upos.count(tag) for tag in ("PER", "LOC", "PUNCT")) for row in versions}) == 1
    for rows in CORPUS[split].values():
        tags = [(role, tag) for row in rows for role, tag in zip(row.roles, row.upos, strict=True)]
        for role, name in (("subject", "PER"), ("place", "LOC")):
            assert tags.count((role, name)) == tags.count((role, "O")) == 40 == [tag for _, tag in tags].count(name)
    combinations = [("PER" in row.upos, "LOC" in row.upos) for row in CORPUS[split]["en"]]
    assert all(combinations.count(both) == 20 for both in set(combinations)) and len(set(combinations)) == 4


@pytest.mark.parametrize("code", LANGUAGES)
def test_names_of_the_two_splits_differ_and_each_has_its_own_form(code):
    names = {"nouns": ten.concepts("nouns", ["name"]), "places": ten.concepts("places", ["city"])}
    forms = [ten._entries(kind)[name][code].forms for kind, own in names.items() for name in own]
    assert len(set(forms)) == len(forms) == 32
    taught, asked = (
        {w for row in CORPUS[split][code] for w, tag in zip(row.words, row.upos, strict=True) if tag in ("PER", "LOC")}
        for split in CORPUS
    )
    assert not taught & asked and min(len(taught), len(asked)) >= 14


def test_gender_of_a_name_is_that_of_its_verb():
    """Both genders are in both splits, which alternate."""
    for code in ("ar", "hi"):
        kinds = [ten.gender(code, name) for name in ten.concepts("nouns", ["name"])]
        assert set(kinds) == {"m", "f"} and all(a == b for a, b in list(pairwise(kinds))[::2])


def test_the_other_corpus_has_no_names_and_what_cannot_be_made_is_refused():
    assert not {"PROPN"} & {tag for rows in parallel_corpus(300).values() for row in rows for tag in row.upos}
    assert [token.upos for token in sentence(BOTH, "en")].count("PROPN") == 2
    with pytest.raises(BertologyError, match="split"):
        entity_corpus(4, "dev")
    with pytest.raises(BertologyError, match="1 to 2,000"):
        entity_corpus(0)
