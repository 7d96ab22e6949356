"""What the chapter asks of the architecture: rows, distances, samples by sentence, and the two published sizes."""

import numpy as np
import pytest

from bertology_utils.absent import Absent
from bertology_utils.compression.accounting import counts
from bertology_utils.language.grammar import generate
from bertology_utils.runs import Runs
from bertology_utils.studies.overview import anatomy, measures, sizes, stories
from bertology_utils.studies.overview.two_stages import WhoActs
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, judge, parse

SENTENCES = [sentence.words for sentence in generate(9, seed=3)]
FIRST, SECOND = ["the", "dog", "sleeps", "."], ["the", "cat", "runs", "."]


def test_pieces_have_a_segment_and_a_word(tiny) -> None:
    rows = measures.pieces_of(tiny, FIRST, SECOND)
    assert [row["piece"] for row in rows[:3]] == ["[CLS]", "the", "dog"]
    assert rows[0]["word"] == "" and rows[1]["word"] == 0 and rows[-1]["segment"] == 1


def test_without_segment_ids_all_layers_move(tiny) -> None:
    moved = measures.moved_by_segments(tiny, FIRST, SECOND)
    assert moved.shape == (tiny.layers + 1,) and (moved > 0).all()


def test_our_sum_is_the_librarys(tiny) -> None:
    found = measures.sum_and_tables(tiny, SENTENCES, 1, 0)
    assert found["sum_error"].shape == (8,) and measures.largest(found)["sum_error"] < 1e-4
    assert found["no_words"].shape == (9,)


def test_blanks_are_counted_by_sentence(tiny) -> None:
    found = measures.blanks(tiny, SENTENCES, SENTENCES, 2, 0)
    assert set(found) == {*anatomy.VIEWS, "unigram"} and {len(values) for values in found.values()} == {9}


def reads_both(sides: list[int], masks: int) -> bool:
    return all(sides)


def reads_left(sides: list[int], masks: int) -> bool:
    return bool(sides[0])


def counts_masks(sides: list[int], masks: int) -> bool:
    return masks < 3


@pytest.mark.parametrize(
    ("reader", "expected"), [(reads_both, REPLICATES), (reads_left, CONTRADICTS), (counts_masks, CONTRADICTS)]
)
def test_a_reader_of_one_side_or_of_the_number_of_masks_does_not_pass_for_one_of_both(
    tiny, monkeypatch, reader, expected
) -> None:
    mask, special = tiny.tokenizer.mask_token_id, set(tiny.tokenizer.all_special_ids)

    def planted(specimen, queries, targets):
        right = []
        for ids, _, at in queries:
            sides = [sum(piece not in special for piece in part) for part in (ids[:at], ids[at + 1 :])]
            right.append(float(reader(sides, ids.count(mask))))
        return {"top1": np.array(right)}

    monkeypatch.setattr(anatomy, "masked_scores", planted)
    samples = measures.blanks(tiny, [s.words for s in generate(60, seed=1)], SENTENCES, 8, 0)
    assert judge(parse(claim_by_id("bert-mlm-objective").prediction), None, samples).verdict == expected


def test_follows_has_a_value_for_each_place(tiny) -> None:
    found = measures.follows(tiny, stories.second_segments(tellings=2))
    assert len(found["other_document"]) == 3 * len(stories.STORIES)


def test_further_twins_take_the_models_place() -> None:
    trained, *twins = (np.array([value]) for value in (5.0, 1.0, 2.0, 3.0))
    found = measures.against_untrained(Runs(trained, twins[0], tuple(twins[1:])))
    assert [side["trained"].item() for side in (found.model, found.twin, *found.others)] == [5, 2, 3]
    assert all(side["untrained"].item() == 1 for side in (found.model, found.twin, *found.others))
    alone = measures.against_untrained(Runs(trained, twins[0]))
    assert alone.twin["trained"].item() == 1 and not alone.others
    assert isinstance(measures.against_untrained(Absent("one head")), Absent)


def test_sizes_are_counted_twice() -> None:
    exact = sizes.counted()
    assert exact["formula"] == exact["tensors"] and exact["base"] == pytest.approx(109.5, abs=0.1)
    assert [row["sum"] for row in sizes.rows()] == [row["tensors"] for row in sizes.rows()]
    assert sizes.training_work()["base_operations"] == 6 * counts("bert-base").encoder * sizes.TOKENS
    assert sizes.share_of_embeddings(sizes.SIZES)["bert-base"] > sizes.share_of_embeddings(sizes.SIZES)["bert-large"]


def test_who_acts_is_scored_over_nouns(tiny) -> None:
    task = WhoActs.of(train=8, test=12, epochs=1)
    found = task.tuned(tiny, [0, 1])
    assert found.shape[0] == 2 and 0 <= found.mean() <= 1 and task.majority == 0.5
