"""Agreement in eight languages: which form is likelier, and what pairs share."""

from dataclasses import replace

import numpy as np
import pytest

from bertology_utils.instruments.cloze import word_scores
from bertology_utils.language.ten_languages import parallel_corpus
from bertology_utils.language.ten_languages_agreement import KINDS, agreement_pairs
from bertology_utils.studies.mbert import agreement
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

SUITE = agreement.agreement_suite(4)
CORPUS = parallel_corpus(3, "test")["en"]
WORDS = sorted({word for row in CORPUS for word in row.words})
SPECIMEN = tiny_specimen(WORDS, replace(BilingualRecipe(), layers=2, width=32, inner=32))


def test_the_right_form_is_the_likelier_one_at_its_place():
    pairs = agreement_pairs("subject_verb", "hi", 6)
    words = sorted({w for p in pairs for w in (*p.good, *p.bad)})
    specimen = tiny_specimen(words, replace(BilingualRecipe(), layers=1, width=16, inner=16))
    expected = [word_scores(specimen, [p.good])[0][p.focus] > word_scores(specimen, [p.bad])[0][p.focus] for p in pairs]
    assert agreement.right_forms(specimen, pairs).tolist() == expected


def test_pairs_share_their_nouns_in_all_languages_of_a_kind():
    nouns = agreement.agreement_nouns(SUITE["subject_verb"])
    assert len(nouns) == 4 * 8 and nouns[0] == SUITE["subject_verb"]["en"][0].condition["noun"]
    right = {kind: {code: np.eye(4)[0] for code in languages} for kind, languages in SUITE.items()}
    found = agreement.by_noun(right, SUITE)
    assert list(found) == list(KINDS) and len(found["subject_verb"]) == len(set(nouns))
    assert [values.mean() for values in found.values()] == pytest.approx([0.25] * 4)


def test_languages_that_are_not_kept_do_not_count_and_a_kind_without_any_keeps_all():
    right = {kind: {code: np.full(4, code == "fi") for code in languages} for kind, languages in SUITE.items()}
    found = agreement.by_noun(right, SUITE, lambda scores: {code: of for code, of in scores.items() if code == "fi"})
    assert found["subject_verb"].mean() == 1 and found["subject_verb"].items == 4
    assert found["noun_determiner"].mean() == 0 and found["noun_determiner"].items == 3 * 4


def test_the_suite_is_shown_and_judged_kind_by_kind(monkeypatch):
    rows = agreement.one_of_each(SUITE)
    assert [row["kind"] for row in rows] == [kind.replace("_", " and ") for kind in KINDS]
    assert rows[0]["right"] == " ".join(SUITE["subject_verb"]["en"][0].good) != rows[0]["wrong"]
    monkeypatch.setattr(agreement, "right_forms", lambda specimen, pairs: np.full(len(pairs), 0.5))
    right = agreement.judged(None, SUITE)
    assert {kind: tuple(languages) for kind, languages in right.items()} == KINDS
    assert len(agreement.agreement_map(right).table) == len(KINDS)


def test_only_one_word_of_a_sentence_is_scored():
    sentences = [row.words for row in CORPUS[:3]]
    whole, part = word_scores(SPECIMEN, sentences), word_scores(SPECIMEN, sentences, only=[0, 1, 2])
    for place, (all_words, one) in enumerate(zip(whole, part, strict=True)):
        assert one[place] == pytest.approx(all_words[place], abs=1e-4) and np.count_nonzero(one) == 1


def test_the_words_make_the_pairs_of_a_full_run():
    sizes = {len(pairs) for languages in agreement.agreement_suite(120).values() for pairs in languages.values()}
    assert sizes == {120}
