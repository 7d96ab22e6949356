"""Pre-training: what is packed between [CLS] and [SEP] from every kind of corpus."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score

from bertology_utils.pretraining.batches import equal_parts
from bertology_utils.pretraining.corpus import Corpus
from bertology_utils.pretraining.examples import IGNORED, Packing, Sampler, SpecialIds, collate, mask_tokens
from bertology_utils.pretraining.objectives import PAIR_TASKS

SPECIAL = SpecialIds(pad=0, cls=2, sep=3, mask=4, vocabulary_size=100)
IN_DOCUMENT = 5


def counted_corpus(lengths: list[int], in_document: int = IN_DOCUMENT, **facts) -> Corpus:
    """Every piece of sentence s has the id 5 + s, so that an example tells where it was drawn."""
    tokens = np.repeat(np.arange(len(lengths)) + 5, lengths).astype(np.uint16)
    starts = [*range(0, len(lengths), in_document), len(lengths)]
    return Corpus(tokens, np.concatenate([[0], np.cumsum(lengths)]), np.array(starts), **facts)


def drawn(corpora, packing: Packing, number: int = 600, seed: int = 3):
    rng = np.random.default_rng(seed)
    sampler = Sampler(corpora, packing, SPECIAL)
    return [sampler.draw(rng)[0] for _ in range(number)]


def segments(row) -> list[np.ndarray]:
    """The sentence numbers of each segment."""
    return [row.ids[(row.segments == part) & ~row.is_special] - 5 for part in np.unique(row.segments)]


def document(sentence: int) -> int:
    return sentence // IN_DOCUMENT


def relation(a: np.ndarray, b: np.ndarray) -> str:
    """What b is to a, from the sentence numbers alone."""
    if document(a[0]) != document(b[0]):
        return "random"
    if b[0] == a[-1] + 1:
        return "next"
    return "previous" if a[0] == b[-1] + 1 else "distant"


@pytest.mark.parametrize("length", [8, 24, 64])
@pytest.mark.parametrize("task", PAIR_TASKS)
def test_second_segments_are_what_the_label_says_and_everything_fits(length, task):
    corpus = counted_corpus(np.random.default_rng(1).integers(1, 30, 60).tolist())
    rows = drawn([(corpus, 1.0)], Packing(length, (task,), 0.25), 1000)
    for row in rows:
        assert len(row) <= length and row.ids[0] == SPECIAL.cls and row.ids[-1] == SPECIAL.sep
        for part in segments(row):
            found = sorted(set(part.tolist()))
            assert found == list(range(found[0], found[-1] + 1)) and document(found[0]) == document(found[-1])
        if row.relation is None:
            assert row.segments.max() == 0
        else:
            a, b = segments(row)
            told = PAIR_TASKS[row.relation[0]][row.relation[1]]
            # The first part is cut where it fills its room, so only the order of sentences tells a swapped pair.
            assert relation(a, b) == told or (told == "previous" and document(a[0]) == document(b[0]) and b[0] < a[0])
    labels = [row.relation[1] for row in rows if row.relation]
    assert set(labels) == set(range(len(PAIR_TASKS[task])))
    singles = np.mean([row.relation is None for row in rows])
    assert 0.2 < singles < 0.3 or task == "sentence-distance"  # in short documents nothing stands far away
    assert np.ptp(np.bincount(labels) / len(labels)) < 0.1


@pytest.mark.parametrize("length", [32, 128])
@pytest.mark.parametrize("task", PAIR_TASKS)
def test_the_lengths_of_the_segments_do_not_tell_the_class(length, task):
    rng = np.random.default_rng(2)
    corpus = counted_corpus(rng.integers(1, 40, 9000).tolist(), 30)
    rows = [row for row in drawn([(corpus, 1.0)], Packing(length, (task,), 0.0), 4000) if row.relation]
    lengths = np.array([[len(part) for part in segments(row)] for row in rows])
    guess = HistGradientBoostingClassifier(max_iter=30, random_state=0)
    right = cross_val_score(guess, lengths, [row.relation[1] for row in rows], cv=5).mean()
    assert len(rows) > 3000 and right < 1 / len(PAIR_TASKS[task]) + 0.035


def test_every_pair_is_made_for_one_of_the_tasks():
    rows = drawn([(counted_corpus([4] * 60, 20), 1.0)], Packing(32, ("sentence-order", "sentence-distance"), 0.0))
    shares = np.mean([row.relation[0] == "sentence-order" for row in rows if row.relation])
    assert 0.3 < shares < 0.6


def test_a_text_of_one_document_has_no_random_pairs():
    rows = drawn([(counted_corpus([4] * 6, in_document=6), 1.0)], Packing(32, ("next-sentence",), 0.0), 100)
    assert {row.relation for row in rows} == {None}


def test_without_pair_tasks_inputs_are_whole_sentences_of_one_document():
    for row in drawn([(counted_corpus([5] * 40), 1.0)], Packing(24)):
        (found,) = segments(row)
        assert len(found) % 5 == 0 and document(found[0]) == document(found[-1])


def test_streams_cross_documents_with_a_separator_after_every_sentence():
    rows = drawn([(counted_corpus([5] * 40), 1.0)], Packing(24, stream=True))
    crossing = 0
    for row in rows:
        inner = row.ids[1:]
        ends = np.flatnonzero(inner == SPECIAL.sep)
        assert (row.segments == 0).all() and (np.diff(ends)[:-1] == 6).all()
        found = (inner[inner >= 5] - 5).tolist()
        assert found == sorted(found) and (len(row) == 24 or found[-1] == 39)
        crossing += document(found[0]) != document(found[-1])
    assert crossing > 100


def test_translations_stand_in_either_order_with_positions_of_their_own():
    corpus = counted_corpus([6, 3] * 20, in_document=2, format="parallel")
    rows = drawn([(corpus, 1.0)], Packing(32), 200)
    for row in rows:
        a, b = segments(row)
        assert {a[0] // 2} == {b[0] // 2} and a[0] != b[0]
        assert row.positions[row.segments == 0].tolist() == list(range((row.segments == 0).sum()))
        assert row.positions[row.segments == 1].tolist() == list(range(1, (row.segments == 1).sum() + 1))
    assert 0.3 < np.mean([segments(row)[0][0] % 2 for row in rows]) < 0.7
    for row in drawn([(counted_corpus([40, 30] * 9, in_document=2, format="parallel"), 1.0)], Packing(32), 50):
        assert len(row) == 32 and min(map(len, segments(row))) >= 14


def test_the_segment_of_a_labelled_text_is_its_label():
    labels = np.array([2, 0, 1] * 8)
    corpus = counted_corpus([4] * 24, 1, format="labelled", labels=labels, label_names=("bad", "good", "so"))
    for part in corpus.split():
        for row in drawn([(part, 1.0)], Packing(16), 60):
            (found,) = segments(row)
            assert (row.segments == labels[found[0]]).all() and len(row) == 6


def test_the_mixture_is_kept():
    corpora = [(counted_corpus([3] * 10), 3.0), (counted_corpus([3] * 90), 1.0)]
    rows = drawn(corpora, Packing(32), 2000)
    assert abs(np.mean([row.ids[1] < 15 for row in rows]) - (0.75 + 0.25 / 9)) < 0.04


def test_fixed_copies_depend_on_the_seed_alone():
    corpus = counted_corpus([4] * 40)

    def found(seed, packing_seed, copies=2):
        packing = Packing(24, ("next-sentence",), 0.25, copies=copies, seed=packing_seed)
        rng = np.random.default_rng(seed)
        sampler = Sampler([(corpus, 1.0)], packing, SPECIAL)
        inputs = set()
        for _ in range(1500):
            row, own = sampler.draw(rng)
            inputs.add((tuple(row.ids), tuple(row.segments), own.random()))
        return inputs

    first = found(0, 0)
    assert len(first) <= 2 * 40 and first == found(1, 0)
    assert not first & found(0, 1)
    assert len(found(0, 0, copies=None)) > 1000


def test_parts_of_a_pool_have_about_the_same_pieces():
    lengths = sorted(np.random.default_rng(0).integers(5, 65, 256).tolist())
    cuts = equal_parts(lengths, 8)
    sums = [sum(lengths[a:b]) for a, b in pairwise(cuts)]
    assert len(sums) == 8 and sum(sums) == sum(lengths) and max(sums) - min(sums) <= 2 * max(lengths)
    assert equal_parts([1, 1, 1, 97], 4).tolist() == [0, 1, 2, 3, 4]
    assert equal_parts([97, 1, 1, 1], 4).tolist() == [0, 1, 2, 3, 4]


def test_collating_pads():
    rows = drawn([(counted_corpus([4] * 20), 1.0)], Packing(24, ("next-sentence",), 0.5), 12)
    batch = collate(rows, SPECIAL)
    for number, row in enumerate(rows):
        assert batch["attention_mask"][number].tolist() == [1] * len(row) + [0] * (
            batch["input_ids"].shape[1] - len(row)
        )
        assert batch["input_ids"][number, : len(row)].tolist() == row.ids.tolist()
        assert batch["token_type_ids"][number, : len(row)].tolist() == row.segments.tolist()
        assert (batch["input_ids"][number, len(row) :] == SPECIAL.pad).all()


def test_masking_shares_and_what_is_never_masked():
    ids = torch.randint(5, 100, (400, 64), generator=torch.Generator().manual_seed(1))
    ids[:, 0], ids[:, 40], ids[:, 50:] = SPECIAL.cls, SPECIAL.sep, SPECIAL.pad
    corrupted, labels = mask_tokens(ids, SPECIAL, torch.Generator().manual_seed(2))
    chosen = labels != IGNORED
    assert not chosen[:, [0, 40]].any() and not chosen[:, 50:].any()
    assert torch.equal(labels[chosen], ids[chosen]) and torch.equal(corrupted[~chosen], ids[~chosen])
    assert abs(chosen.sum().item() / (400 * 48) - 0.15) < 0.01
    masked, kept = (corrupted[chosen] == SPECIAL.mask).float().mean(), (corrupted[chosen] == ids[chosen]).float().mean()
    assert abs(masked - 0.8) < 0.02 and abs(kept - 0.1) < 0.02
    replaced = corrupted[chosen & (corrupted != ids) & (corrupted != SPECIAL.mask)]
    assert replaced.min() >= 5 and replaced.max() < 100 and abs(len(replaced) / chosen.sum() - 0.1) < 0.02
