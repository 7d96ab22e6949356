"""English and its twin in one model: the twin's letters, what is counted, the record over seeds and their sum."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bertology_utils.files import read_csv
from bertology_utils.instruments.grammaticality import record
from bertology_utils.language.ten_languages import parallel_corpus
from bertology_utils.provenance import origin
from bertology_utils.studies.mbert import twin_pair as pair
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, judge, parse

KNOWN, UNSEEN = (parallel_corpus(10, part)["en"] for part in ("train", "test"))
EVERYTHING = [pair.twin_corpus(rows, overlap) for rows in (KNOWN, UNSEEN) for overlap in (0.0, 0.4)]
WORDS = sorted({w.lower() for corpus in EVERYTHING for rows in corpus.values() for row in rows for w in row.words})
SPECIMEN = tiny_specimen(WORDS, replace(BilingualRecipe(), layers=1, width=16, inner=16))


def test_twins_differ_in_letters_only():
    corpus = pair.twin_corpus(KNOWN[:5], 0.0)
    for own, other in zip(corpus["en"], corpus["twin"], strict=True):
        assert own.upos == other.upos and len(own.words) == len(other.words)
        assert not set(own.words) & set(other.words)
    assert pair.twin_corpus(KNOWN[:5], 1.0)["twin"][0].words == tuple(w.lower() for w in KNOWN[0].words)


@pytest.mark.parametrize(("overlap", "some", "every"), [(0.0, True, True), (0.4, True, False), (1.0, False, False)])
def test_moved_words_are_those_in_other_letters(overlap, some, every):
    corpus = pair.twin_corpus(UNSEEN, overlap)
    moved = pair.is_moved(corpus)
    assert len(moved) == sum(tag != "PUNCT" for row in UNSEEN for tag in row.upos)
    assert moved.any() == some and moved.all() == every


def test_without_shared_words_every_word_is_in_other_letters():
    found = pair.twin_scores(SPECIMEN, 0.0, KNOWN, UNSEEN)
    assert {values.shape for values in found.values()} == {(2,)}
    assert (found[pair.TAGGING] == found[pair.MOVED]).all()
    shared = pair.twin_scores(SPECIMEN, 0.4, KNOWN, UNSEEN)
    assert shared[pair.TAGGING][0] > shared[pair.MOVED][0]  # a shared word has the tag that English taught


def test_the_record_gives_back_every_arm_by_layer_and_seed(monkeypatch, tmp_path):
    monkeypatch.setattr(pair, "load", lambda name: SPECIMEN)
    monkeypatch.setattr(pair, "twin", lambda specimen, seed: specimen)
    names = [f"twins-{arm}{seed}" for arm in pair.ARMS for seed in ("", "-seed-1")]
    path = tmp_path / "twins.csv"
    for rows in pair.compare(names, KNOWN, UNSEEN, origin(tmp_path)):
        record(path, rows)
    found = pair.recorded(path)
    plain = pair.twin_scores(SPECIMEN, 0.4, KNOWN, UNSEEN)
    for measure, arms in found.items():
        assert set(arms) == {*pair.ARMS, *map(pair.untrained, pair.ARMS)}
        assert arms["overlapping"].shape == (2, 2)
        assert arms["overlapping"][:, 1] == pytest.approx(plain[measure], abs=1e-4)
    assert {"commit", "date", "hardware", "model_sha256"} <= set(read_csv(path)[0])


def test_nothing_recorded_is_no_arm(tmp_path):
    assert pair.recorded(tmp_path / "none.csv") == {}


def test_the_gain_is_the_difference_of_seeds_with_welchs_interval():
    rng = np.random.default_rng(0)
    scores = {"apart": rng.random((3, 3)), "overlapping": 1 + rng.random((3, 4))}
    apart, overlapping = (100 * scores[arm][1:].mean(0) for arm in pair.ARMS)
    found = pair.gain(scores)
    expected = stats.ttest_ind(overlapping, apart, equal_var=False)
    assert found.value == pytest.approx(overlapping.mean() - apart.mean())
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))
    assert found.seeds == 3 and (found.low > 0) == (expected.pvalue < 0.05)


def test_what_untrained_copies_gain_as_well_was_not_learnt():
    rng = np.random.default_rng(0)
    copies = {"apart": rng.random((3, 4)), "overlapping": 1 + rng.random((3, 4))}
    scores = {arm: values + 0.01 * rng.random((3, 4)) for arm, values in copies.items()}
    scores |= {pair.untrained(arm): values for arm, values in copies.items()}
    assert pair.gain(scores).low > 0 and abs(pair.learnt_gain(scores).value) < 1


@pytest.mark.parametrize(("learnt", "word"), [(0.5, "adds more"), (-0.5, "adds less"), (0.0, "stays open")])
def test_it_is_told_whether_learning_gains_from_shared_words(learnt, word):
    noise = 0.01 * np.random.default_rng(0).random((4, 3, 3))
    scores = dict(zip((*pair.ARMS, *map(pair.untrained, pair.ARMS)), noise, strict=True))
    scores["overlapping"] = scores["overlapping"] + learnt
    assert word in pair.told("tagging", scores)


def test_the_embedded_models_say_what_they_score_here(monkeypatch):
    monkeypatch.setattr(pair, "embedded_arm", lambda arm: [SPECIMEN] if arm == "apart" else [])
    found = pair.twin_scores(SPECIMEN, 0.0, KNOWN, UNSEEN)
    said = pair.asked_here(KNOWN, UNSEEN)
    assert f"{len(UNSEEN)} sentences" in said
    assert all(f"{measure} {values[1:].mean():.2f}" in said for measure, values in found.items())


def test_lines_are_arms_and_their_untrained_copies():
    scores = {name: np.full((3, 2), i) for i, name in enumerate((*pair.ARMS, *map(pair.untrained, pair.ARMS)))}
    assert pair.recorded_lines("share", scores).table["overlapping, untrained"].tolist() == [3, 3, 3]


@pytest.mark.parametrize(("planted", "found"), [(0.3, True), (0.0, False)])
def test_what_is_learnt_without_a_shared_word_leads_untrained_copies(planted, found):
    rng = np.random.default_rng(1)
    blank = rng.random((3, 5))
    scores = {"apart": blank + planted + 0.02 * rng.standard_normal((3, 5)), pair.untrained("apart"): blank}
    learnt = pair.learnt_apart(scores)
    assert (learnt.low > 0) == found and learnt.low < 100 * planted < learnt.high


@pytest.mark.parametrize(("helped", "verdict"), [(0.1, REPLICATES), (0.0, CONTRADICTS)])
def test_what_shared_words_add_is_judged_over_seeds(helped, verdict):
    """A planted lead beyond untrained copies is found, and none refutes the claim that they help."""
    rng = np.random.default_rng(2)
    noise = 0.002 * rng.standard_normal((4, 3, 5))
    scores = dict(zip((*pair.ARMS, *map(pair.untrained, pair.ARMS)), noise, strict=True))
    scores["apart"] = scores["apart"] + 0.7
    scores["overlapping"] = scores["overlapping"] + 0.7 + helped
    found = pair.tagged(scores, KNOWN, UNSEEN)
    assert found.model["no_overlap"].shape == (5, 1) and found.networks == 5
    claim = claim_by_id("mbert-shared-wordpieces-help")
    assert judge(parse(claim.prediction), parse(claim.given), found.model).verdict == verdict


def test_the_commonest_tag_is_counted_on_words_in_other_letters():
    corpus = pair.twin_corpus(UNSEEN, 0.4)
    known, tags = ([tag for row in rows for tag in row.upos if tag != "PUNCT"] for rows in (KNOWN, UNSEEN))
    own = np.array(tags)[pair.is_moved(corpus)]
    assert pair.commonest_tag(KNOWN, corpus) == (own == max(known, key=known.count)).mean()
