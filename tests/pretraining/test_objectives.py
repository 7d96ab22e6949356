"""Objectives: every mask keeps its rule and its budget, every pair maker its shares."""

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.pretraining import objectives as ob

WORD_IDS = [None, 0, 1, 1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 8, 9, None]


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seed", range(20))
def test_masks_keep_budget_and_groups(seed):
    assert ob.token_mask(20, rng(seed)).sum() == 3
    assert ob.frequency_mask(np.arange(1, 21), rng(seed)).sum() == 3
    chosen = ob.group_mask(WORD_IDS, rng(seed), 0.3)
    assert not chosen[0] and not chosen[-1] and chosen.any() and chosen.sum() <= 4
    for word in set(WORD_IDS) - {None}:
        assert len({bool(c) for c, w in zip(chosen, WORD_IDS, strict=True) if w == word}) == 1


def test_a_phrase_is_masked_as_a_whole():
    chunks = ["B-NP", "I-NP", "I-NP", "B-VP", "B-NP", "I-NP", "O"]
    for seed in range(20):
        chosen = ob.phrase_mask(chunks, rng(seed), 0.3)
        assert len(set(chosen[:3])) == 1 and len(set(chosen[4:6])) == 1 and chosen.any()


def test_rare_words_are_masked_more_often():
    counts = [100] * 5 + [1] * 5
    chosen = np.mean([ob.frequency_mask(counts, rng(seed), 0.2) for seed in range(300)], axis=0)
    assert chosen[5:].mean() > 3 * chosen[:5].mean()


def runs(mask):
    return int((np.diff(np.concatenate([[0], mask.astype(int)])) == 1).sum())


@pytest.mark.parametrize(("mask", "mean"), [(ob.span_mask, 3.8), (ob.ngram_mask, 18 / 11)])
def test_runs_have_the_lengths_of_their_study_and_keep_the_share(mask, mean):
    drawn = [mask(400, rng(seed), 0.15) for seed in range(300)]
    assert abs(sum(m.sum() for m in drawn) / sum(map(runs, drawn)) - mean) < 0.15
    assert abs(np.mean(drawn) - 0.15) < 0.005


@pytest.mark.parametrize("share", [0.05, 0.3, 0.95])
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_something_is_masked_in_inputs_of_any_length(n, share):
    shares = [ob.span_mask(n, rng(seed), share) for seed in range(200)]
    assert all(len(m) == n and m.any() for m in shares)
    assert np.mean(shares) < max(1 / n, share) + 0.25


def test_spans_are_longer_than_single_tokens():
    spans = np.mean([runs(ob.span_mask(40, rng(seed), 0.3)) for seed in range(200)])
    tokens = np.mean([runs(ob.token_mask(40, rng(seed), 0.3)) for seed in range(200)])
    assert spans < 0.7 * tokens


def test_corruption_has_its_shares_and_touches_nothing_else():
    ids, chosen = np.full(30000, 7), np.arange(30000) < 20000
    hidden = ob.corrupt(ids, chosen, 4, [8, 9], rng())
    assert (hidden[20000:] == 7).all()
    shares = [(hidden[:20000] == value).mean() for value in (4, 7)]
    assert shares == pytest.approx([0.8, 0.1], abs=0.01)


def test_boundaries_of_spans():
    assert ob.span_boundaries([True, False, True, True]) == [(-1, 1, 0), (1, 4, 0), (1, 4, 1)]


def test_shuffled_ngram_keeps_the_words():
    words = ["the", "old", "dog", "chased", "a", "cat"]
    shuffled, start = ob.shuffle_ngram(words, rng(3))
    assert shuffled != words and sorted(shuffled) == sorted(words)
    assert shuffled[:start] == words[:start] and shuffled[start + 3 :] == words[start + 3 :]
    with pytest.raises(BertologyError):
        ob.shuffle_ngram(["no"], rng())


def test_permutation_sees_what_came_before_in_the_order():
    sees = ob.permutation_attention([2, 0, 1])
    assert sees.tolist() == [[False, False, True], [True, False, True], [False, False, False]]


def test_pair_makers():
    documents = [((f"a{d}",), (f"b{d}",)) for d in range(600)]
    nsp = ob.next_sentence_pairs(documents, rng())
    assert all((first[0][1:] == second[0][1:]) == bool(label) for first, second, label in nsp)
    sop = ob.sentence_order_pairs(documents, rng())
    assert all((first[0][0] == "a") == bool(label) and first[0][1:] == second[0][1:] for first, second, label in sop)
    for labels in (nsp, sop):
        assert np.mean([label for *_, label in labels]) == pytest.approx(1 / 2, abs=0.07)
    with pytest.raises(BertologyError):
        ob.next_sentence_pairs(documents[:1], rng())
