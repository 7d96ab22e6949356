"""The parallel grammar: translations that join, agreement by hand-written examples, held-out words, gold alignment."""

from collections import Counter

import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.language import ten_languages as ten
from bertology_utils.language.ten_languages import LANGUAGES, Meaning, gold_alignment, parallel_corpus, sentence
from bertology_utils.language.ten_languages_agreement import KINDS, agreement_pairs

CORPUS = {split: parallel_corpus(400, split) for split in ("train", "test")}
LETTERS = {"ru": (0x400, 0x52F), "ar": (0x600, 0x6FF), "hi": (0x900, 0x97F), "zh": (0x3000, 0x9FFF)}
SAME_IN_EVERY_LANGUAGE = ("NOUN", "ADJ", "VERB", "PUNCT")


def spoken(code: str, meaning: Meaning, **options) -> str:
    return " ".join(token.form for token in sentence(meaning, code, **options))


def test_rows_are_translations_of_each_other():
    for corpus in CORPUS.values():
        for code, rows in corpus.items():
            assert [row.identity for row in rows] == list(range(400)) and {row.language for row in rows} == {code}
        for versions in zip(*corpus.values(), strict=True):
            tags = {tuple(Counter(row.upos)[tag] for tag in SAME_IN_EVERY_LANGUAGE) for row in versions}
            assert len(tags) == 1


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_sentence_twice_and_the_same_for_the_same_seed(code):
    rows = CORPUS["train"][code]
    assert len({row.words for row in rows}) == len(rows)
    assert rows == parallel_corpus(400, "train")[code] != parallel_corpus(400, "train", seed=1)[code]


@pytest.mark.parametrize("code", LANGUAGES)
def test_content_words_of_the_test_are_new(code):
    words = {split: set() for split in CORPUS}
    for split, corpus in CORPUS.items():
        for row in corpus[code]:
            first, *rest = row.words  # German "Junge" (boy) and "junge" (young) differ in their capital alone
            tagged = zip((first.lower(), *rest), row.upos, strict=True)
            words[split] |= {word for word, tag in tagged if tag in ("NOUN", "VERB", "ADJ")}
    assert words["train"] & words["test"] == set()


@pytest.mark.parametrize(("code", "span"), LETTERS.items())
def test_languages_are_written_in_their_script(code, span):
    for row in CORPUS["test"][code]:
        letters = [c for word in row.words[:-1] for c in word]
        assert all(span[0] <= ord(c) <= span[1] for c in letters), row.text
    assert (" " in CORPUS["test"][code][0].text) == (code != "zh")


def test_agreement_case_and_order_of_one_sentence():
    meaning = Meaning("queen", "old", "buy", "apple", "new", adverb="today")
    assert {code: spoken(code, meaning) for code in LANGUAGES} == {
        "en": "Today the old queen buys the new apple .",
        "de": "Heute kauft die alte Königin den neuen Apfel .",
        "fr": "Aujourd'hui la vieille reine achète la nouvelle pomme .",
        "es": "Hoy la reina vieja compra la manzana nueva .",
        "ru": "Сегодня старая королева покупает новое яблоко .",
        "fi": "Tänään vanha kuningatar ostaa uutta omenaa .",
        "tr": "Bugün yaşlı kraliçe yeni elmayı alıyor .",
        "ar": "اليوم تشتري الملكة المسنة التفاحة الجديدة .",
        "hi": "आज बूढ़ी रानी नया सेब खरीद रही है ।",
        "zh": "今天 年老 的 王后 买 新 的 苹果 。",
    }


def test_places_predicates_and_number():
    place = Meaning("cow", verb="sleep", place="street")
    assert spoken("tr", place) == "İnek sokakta uyuyor ." and spoken("zh", place) == "牛 在 街 上 睡觉 。"
    assert spoken("ar", place) == "تنام البقرة في الشارع ."
    assert spoken("de", place, plural=True) == "Die Kühe schlafen auf der Straße ."
    assert spoken("es", Meaning("dog", verb="run", place="park"), plural=True) == "Los perros corren en el parque ."
    heavy = Meaning("table", predicate="expensive")
    assert spoken("de", heavy) == "Der Tisch ist teuer ." and spoken("fr", heavy) == "La table est chère ."
    assert spoken("ru", heavy) == "Стол дорогой ." and spoken("hi", heavy) == "मेज महँगी है ।"
    assert spoken("zh", heavy) == "桌子 很 贵 。" and spoken("ar", heavy) == "الطاولة ثمينة ."
    assert ten.adjective_form("ru", "good", "n") == "хорошее" and ten.adjective_form("de", "expensive", "f") == "teure"


def test_no_french_article_needs_an_apostrophe():
    nouns = [ten.noun_form("fr", noun) for noun in ten.concepts("nouns", (*ten.BEINGS, *ten.THINGS))]
    adjectives = [a for a, words in ten._entries("adjectives").items() if words["fr"].before]
    before = [ten.adjective_form("fr", adjective, gender) for adjective in adjectives for gender in "mf"]
    assert not [word for word in nouns + before if word[0] in "aeiouhéèêâœ"]


def test_gold_alignment_joins_what_translates_each_other():
    meaning = Meaning("dog", "small", "sleep", place="garden", adverb="now")
    rows = {code: ten._row(0, meaning, code) for code in LANGUAGES}
    links = [(rows["en"].words[i], rows["de"].words[j]) for i, j in gold_alignment(rows["en"], rows["de"])]
    assert links == [("Now", "Jetzt"), ("the", "der"), ("small", "kleine"), ("dog", "Hund"), ("sleeps", "schläft"),
                     ("in", "im"), ("garden", "Garten")]  # fmt: skip
    links = [(rows["en"].words[i], rows["tr"].words[j]) for i, j in gold_alignment(rows["en"], rows["tr"])]
    assert links == [("Now", "Şimdi"), ("small", "küçük"), ("dog", "köpek"), ("sleeps", "uyuyor"),
                     ("garden", "bahçede")]  # fmt: skip


@pytest.mark.parametrize(("kind", "code"), [(kind, code) for kind, codes in KINDS.items() for code in codes])
def test_agreement_pairs_differ_in_one_word_and_every_form_is_right_as_often(kind, code):
    pairs = agreement_pairs(kind, code, 24)
    assert len({pair.good for pair in pairs}) == 24
    assert {pair.differing() for pair in pairs} == {(pair.focus,) for pair in pairs}
    assert len(set(Counter(pair.condition["right"] for pair in pairs).values())) == 1


def test_agreement_pairs_by_example():
    firsts = {kind: agreement_pairs(kind, "es", 12)[0] for kind in KINDS}
    for kind, pair in firsts.items():
        good, bad = pair.good[pair.focus], pair.bad[pair.focus]
        if kind == "noun_determiner":
            assert {good, bad} == {"El", "La"}
        elif kind == "subject_verb":
            assert bad == good[:-1] + ("en" if good.endswith("e") else "an") or bad.endswith("n")
    assert {p.bad[1] for p in agreement_pairs("noun_determiner", "de", 12)} != {"Der"}


def test_what_cannot_be_made_is_refused():
    with pytest.raises(BertologyError, match="no agreement of noun and determiner"):
        agreement_pairs("noun_determiner", "tr", 4)
    with pytest.raises(BertologyError, match="kind of agreement"):
        agreement_pairs("case", "de", 4)
    with pytest.raises(BertologyError, match="do not make"):
        agreement_pairs("noun_determiner", "de", 100_000)
    with pytest.raises(BertologyError, match="split"):
        parallel_corpus(4, "dev")
    with pytest.raises(BertologyError, match="1 to 5,000"):
        parallel_corpus(0)
