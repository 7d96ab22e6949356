"""Two systems and their paraphrases: what stories hold, that matching is learnt from what is planted, and verdicts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from ledger_toys import planted_verdict

from bertology_utils.studies.generalization import stories, two_readers
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed

CLAIM = "quail-systems"


def drawn(kind: str, count: int = 30) -> stories.Questions:
    rng = np.random.default_rng(0)
    return stories.asked(kind, count, [stories.split(8, rng)[1]], [rng])


@pytest.mark.parametrize("kind", stories.TYPES)
def test_the_answer_stands_in_the_deed_that_is_asked_for(kind) -> None:
    read = drawn(kind)
    named = read.question.unsqueeze(-1) == read.story.unsqueeze(-2)
    named &= read.question.unsqueeze(-1) != stories.PLACE["."]
    deed = named.any(-2).int().argmax(-1) // 5 + (kind == "order")
    assert torch.equal(deed, read.places[..., 0] // 5)
    assert all(len(set(options)) == 3 for options in read.options[0].tolist())


def test_paraphrases_share_no_content_word_with_the_story_and_come_back() -> None:
    read = drawn("factual")
    views = read.views()
    names = list(stories.PLACE)
    told, other = ({names[piece] for piece in row} - {".", "[MASK]"} for row in
                   (read.story[0, 0].tolist(), views["paraphrased"].question[0, 0].tolist()))  # fmt: skip
    assert len(other) == 2 and not told & other
    assert torch.equal(views["again"].views()["again"].story, read.story)
    assert (
        torch.equal(views["blind"].options, read.options) and (views["blind"].story == stories.PLACE["."]).sum() == 360
    )


def test_known_and_new_words_have_none_in_common() -> None:
    known, new = stories.split(8, np.random.default_rng(1))
    for kind, own in known.items():
        assert len(own) == 8 and not set(own.ravel()) & set(new[kind].ravel())


def test_synonyms_of_equal_vectors_are_met_and_of_random_ones_are_not() -> None:
    vectors = torch.randn(1, len(stories.PLACE), 32, generator=torch.Generator().manual_seed(0))
    equal = vectors + vectors[:, stories.OTHER]
    assert two_readers.synonyms_met(equal) == 1 and two_readers.synonyms_met(vectors) < 0.3


def test_both_sides_have_all_that_the_claim_names(monkeypatch) -> None:
    monkeypatch.setattr(two_readers, "READ", 60)
    monkeypatch.setattr(two_readers, "LESSONS", 40)
    monkeypatch.setattr(two_readers, "STEPS", {"trian": 3, "bert": 3})
    monkeypatch.setattr(two_readers, "RECIPE", replace(two_readers.RECIPE, steps=3))
    runs = two_readers.compared([9000, 9001])
    for side in (runs.model, runs.twin):
        assert {own.shape for own in needed(claim_by_id(CLAIM), side).values()} == {(2, 1)}
        assert all(own.shape == (2, 1) for own in side.values())
    assert runs.model.keys() == runs.twin.keys()


def test_an_attention_reader_learns_to_point_at_a_word_of_the_question() -> None:
    read = drawn("factual", 60)
    planted = read._replace(question=read.question.clone())
    planted.question[..., 2] = planted.options[..., 0]  # the gap is filled
    vectors = torch.randn(1, len(stories.PLACE), two_readers.WIDTH, generator=torch.Generator().manual_seed(0))
    reader = two_readers.teach(two_readers.AttentionReader(vectors, [0]), planted, 80, 1e-2)
    assert two_readers.right(reader, planted) > 0.9 > 0.6 > two_readers.right(reader, planted.views()["paraphrased"])


CHANGES = {
    "replicates": {},
    "contradicts": {"bert_paraphrased": 0.8},
    "weaker": {"trian_paraphrased": 0.77},
    "cannot do the task": {"bert_original": 0.36, "bert_again": 0.36},
}


@pytest.mark.parametrize("verdict", CHANGES)
def test_planted_verdicts(verdict) -> None:
    base = {f"{name}_{view}": mean for name in ("trian", "bert") for view, mean in
            {"original": 0.8, "again": 0.8, "paraphrased": 0.5, "synonyms": 0.9}.items()}  # fmt: skip
    base |= {"trian_taught_blind": 0.35} | CHANGES[verdict]
    assert planted_verdict(CLAIM, base, 1 / 3) == verdict
