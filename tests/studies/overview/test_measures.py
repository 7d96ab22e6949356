"""What the chapter asks of the architecture: rows, distances, samples by sentence, and the two published sizes."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.compression.accounting import counts
from bertology_utils.language.grammar import generate
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


def planted_maps(pieces: int, kind: str) -> torch.Tensor:
    """Maps (1, 4, pieces, pieces) of heads that look at four distances, or all where the same random logits point."""
    rng = torch.Generator().manual_seed(pieces)
    if kind == "alike":
        return torch.softmax(9 * torch.randn(1, 1, pieces, pieces, generator=rng), -1).double().repeat(1, 4, 1, 1)
    looks = torch.stack([torch.eye(pieces).roll(step, 1) for step in range(4)])
    return (0.9 * looks + 0.1 / pieces)[None].double()


@pytest.mark.parametrize(
    ("kind", "expected"), [("long", CONTRADICTS), ("alike", CONTRADICTS), ("distances", REPLICATES)]
)
def test_sharp_heads_are_no_patterns_yet(tiny_eager, monkeypatch, kind, expected) -> None:
    """Untrained heads whose queries and keys are made longer, sharp heads alike, and heads with places of their own."""
    model, sentences = copy.deepcopy(tiny_eager.model), [s.words for s in generate(40, seed=1)]
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.mul_(6 if name.endswith(("query.weight", "key.weight")) else 1)
    specimen, plain = replace(tiny_eager, model=model), anatomy.maps_of

    def maps_of(given, texts):
        if kind == "long" or given is not specimen:
            return plain(given, texts)
        return [planted_maps(len(words) + 2, kind) for words in texts]

    monkeypatch.setattr(anatomy, "maps_of", maps_of)
    samples = measures.head_diversities(specimen, sentences)
    assert samples["heads"].mean() > samples["untrained"].mean() or kind == "alike"
    assert judge(parse(claim_by_id("multi-head-different-patterns").prediction), None, samples).verdict == expected


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


def test_the_first_being_acts_unless_the_sentence_is_passive() -> None:
    task = WhoActs.of(train=8, test=40, epochs=1)
    assert task.first_acts == 1 - np.mean(["by" in sentence for sentence in task.test.sentences])
