"""Thin students: what is narrow or short in them, what each stage teaches, and what each may change."""

import copy

import pytest
import torch
from torch import nn

from bertology_utils.compression.methods import thin, traces
from bertology_utils.compression.methods.lesson import Encoded, asked, course, enact, lesson
from bertology_utils.compression.methods.problems import (
    SPLIT_TAGS,
    TEN_LANGUAGES,
    mixed_languages,
    problem,
    text_of_ten_languages,
)
from bertology_utils.compression.methods.thin import (
    METHODS,
    inner_share,
    part_of,
    squared_distance,
    states_loss,
    waldorf_body,
)
from bertology_utils.errors import NotAskable
from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.language.ten_languages import LANGUAGES
from bertology_utils.pretraining.examples import IGNORED

ROWS = {method.row: method for method in METHODS}


@pytest.fixture(scope="module")
def batch(pair_lesson):
    return pair_lesson.train_set.batch([0, 1, 2, 3])


def test_a_part_of_a_width_goes_evenly_to_the_heads():
    assert (part_of(256, 1 / 3, 8), part_of(256, 1 / 4, 8), part_of(32, 1 / 4, 4), part_of(8, 1 / 16, 4)) == (
        88,
        64,
        8,
        4,
    )


def test_distance_looks_at_real_pieces_alone():
    a, real = torch.randn(2, 3, 4), torch.tensor([[True, True, False], [True, False, False]])
    changed = a.clone()
    changed[0, 2] += 9
    assert squared_distance(a, changed, real) == 0
    assert squared_distance(a, a + 2, real).item() == pytest.approx(4, rel=1e-5)


# ---------------------------------------------------------------- WaLDORf


@pytest.fixture(scope="module")
def waldorf(tiny):
    torch.manual_seed(0)
    return waldorf_body(tiny).eval()


def test_blocks_read_half_of_the_places_and_a_whole_sequence_is_noticed(waldorf):
    assert inner_share(waldorf) == 0.5
    whole = copy.deepcopy(waldorf)
    whole.shorten.stride = (1,)
    assert inner_share(whole) == 1


@pytest.mark.parametrize("pieces", [1, 6, 7])
def test_each_piece_has_a_state_that_does_not_depend_on_padding(waldorf, pieces):
    ids = torch.arange(5, 5 + pieces)[None]
    alone = waldorf(ids, torch.ones_like(ids), output_hidden_states=True)
    padded = nn.functional.pad(ids, (0, 4))
    beside = waldorf(padded, (torch.arange(pieces + 4) < pieces)[None].long(), output_hidden_states=True)
    assert len(alone.hidden_states) == 1 + len(encoder_layers(waldorf.blocks))
    for a, b in zip(alone.hidden_states, beside.hidden_states, strict=True):
        assert a.shape == (1, pieces, 32) and torch.allclose(a, b[:, :pieces], atol=1e-5)


def test_states_equal_to_the_teachers_cost_nothing(tiny, waldorf, batch):
    assert states_loss(tiny.encoder, tiny.encoder, batch) == 0
    loss = states_loss(waldorf, tiny.encoder, batch)
    loss.backward()
    assert loss > 0 and waldorf.restore.weight.grad.abs().sum() > 0 and waldorf.shorten.weight.grad.abs().sum() > 0


# ---------------------------------------------------------------- MiniBERT


@pytest.fixture(scope="module")
def many_languages(small_course):
    """The tiny specimen on sentences of ten languages, most of whose words fall into single letters or are unknown."""
    made = course(small_course.origin, text_of_ten_languages(20), 0, small_course.budget)
    return lesson(made, problem(TEN_LANGUAGES, 20, 10))


def test_all_languages_are_asked_and_no_asked_word_was_shown():
    asked_in = problem(TEN_LANGUAGES, 400, 200)
    shown = {word.lower() for words in asked_in.train.sentences for word in words}
    asked_words = [
        word.lower()
        for words, labels in zip(asked_in.test.sentences, asked_in.test.labels, strict=True)
        for word, label in zip(words, labels, strict=True)
        if label != IGNORED
    ]
    assert sum(word in shown for word in asked_words) / len(asked_words) < 0.01
    assert {label for own in asked_in.test.labels for label in own} == {IGNORED, *range(len(SPLIT_TAGS))}
    assert [s.language for s in mixed_languages(10, "train")] == list(LANGUAGES)


def test_a_mini_student_has_three_blocks_and_learns_from_text_alone(many_languages, monkeypatch):
    given = []
    monkeypatch.setattr(traces, "told", lambda teacher, batch: given.append(batch) or teacher(**asked(batch)).detach())
    (small,) = enact(ROWS["MiniBERT"], many_languages, [many_languages.problem], [many_languages.teacher])
    assert small.facts["blocks"] == 3 and small.network.config.hidden_size == 12
    assert given and all((batch["labels"] == 0).all() for batch in given)  # no right answer is in them
    encoded = Encoded.of(many_languages.origin, many_languages.problem.test)
    assert torch.isfinite(small.network(**asked(encoded.batch([0, 1])))).all()


def test_another_depth_is_noticed(many_languages, monkeypatch):
    monkeypatch.setattr(thin, "MINI_LAYERS", 2)
    (small,) = enact(ROWS["MiniBERT"], many_languages, [many_languages.problem], [many_languages.teacher])
    assert small.facts["blocks"] != ROWS["MiniBERT"].defines[1]


def test_a_task_of_sentences_is_not_for_it(pair_lesson):
    with pytest.raises(NotAskable, match="labels words"):
        ROWS["MiniBERT"].special(pair_lesson)
