"""A vocabulary of the student's own, and one pair of projections that makes all its layers the teacher's shadow."""

import copy
import dataclasses

import pytest
import torch

from bertology_utils.compression.methods import vocabularies
from bertology_utils.compression.methods.lesson import Encoded, count, hard_loss
from bertology_utils.compression.methods.registry import method
from bertology_utils.compression.prune import prunable
from bertology_utils.errors import NotAskable
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.text import Encoding, encode_words


@pytest.fixture(scope="module")
def pieces(small_course):
    return vocabularies.small_tokenizer(small_course.origin, small_course.text)


@pytest.fixture(scope="module")
def body(small_course):
    return method("BERT-48").general(small_course)


def test_the_student_has_a_sixth_of_the_pieces_and_keeps_every_word(small_course, pieces):
    assert len(pieces) == small_course.origin.vocabulary_size // 6
    student = dataclasses.replace(small_course.origin, tokenizer=pieces)
    for words, encoding in zip(small_course.text, encode_words(student, small_course.text), strict=True):
        assert set(encoding.word_ids) - {None} == set(range(len(words)))
        assert pieces.unk_token_id not in encoding.input_ids


def test_chosen_words_are_cut_by_the_other_vocabulary():
    plain = Encoding([2, 7, 8, 9, 3], [None, 0, 0, 1, None], [0] * 5)
    made = vocabularies.mixed(plain, [[100], [101, 102]], {1})
    assert made == Encoding([2, 7, 8, 101, 102, 3], [None, 0, 0, 1, 1, None], [0] * 6)
    assert vocabularies.mixed(plain, [[100], [101, 102]], set()) == plain


def test_every_word_is_cut_both_ways_once(small_course, pieces):
    first = small_course.origin.vocabulary_size
    made = vocabularies.mixed_encodings(small_course, pieces)
    assert len(made) == 2 * len(small_course.text)
    for words, one, other in zip(small_course.text, made[::2], made[1::2], strict=True):
        sides = [
            {word: piece >= first for piece, word in zip(e.input_ids, e.word_ids, strict=True) if word is not None}
            for e in (one, other)
        ]
        assert all(sides[0][word] != sides[1][word] for word in range(len(words)))


def test_the_mixed_teacher_has_rows_for_both_and_the_origin_is_as_it_was(small_course, pieces):
    before = copy.deepcopy(small_course.origin.model.state_dict())
    teacher = vocabularies.mixed_teacher(small_course, pieces)
    assert teacher.vocabulary_size == small_course.origin.vocabulary_size + len(pieces)
    assert all(torch.equal(value, before[name]) for name, value in small_course.origin.model.state_dict().items())


def test_a_piece_that_both_know_starts_from_the_same_row(tiny):
    model = copy.deepcopy(tiny.model)
    model.resize_token_embeddings(tiny.vocabulary_size + 2, mean_resizing=False)
    vocabularies._same_rows(model, tiny.tokenizer.get_vocab(), {"the": 1, "never-seen": 0}, tiny.vocabulary_size)
    table, known = model.get_input_embeddings().weight, tiny.tokenizer.get_vocab()["the"]
    assert torch.equal(table[-1], table[known]) and not torch.equal(table[-2], table[known])


def test_misalignment_is_its_plain_definition_and_nothing_where_weights_are_projected(small_course, body):
    student, teacher = copy.deepcopy(body.encoder), copy.deepcopy(small_course.origin.encoder)
    projections, rows = body.model.projections, len(body.encoder.get_input_embeddings().weight)
    missed = total = 0.0
    for name, weight in prunable(student).items():
        u, v = projections.left[str(len(weight))], projections.right[str(weight.shape[1])]
        target = teacher.get_parameter(name)
        missed, total = missed + ((u @ weight @ v - target) ** 2).sum(), total + (target**2).sum()
    own, target = student.get_input_embeddings().weight, teacher.get_input_embeddings().weight[-rows:]
    v = projections.right[str(own.shape[1])]
    missed, total = missed + ((own @ v - target) ** 2).sum(), total + (target**2).sum()
    assert vocabularies.misalignment(student, teacher, projections).item() == pytest.approx((missed / total).item())
    with torch.no_grad():
        for name, weight in prunable(student).items():
            teacher.get_parameter(name).copy_(projections(weight))
        target.copy_(own @ v)
    assert vocabularies.misalignment(student, teacher, projections) < 1e-6


def test_the_alignment_teaches_the_student_and_the_projections_but_not_the_teacher(small_course, body):
    student, teacher = copy.deepcopy(body.encoder), copy.deepcopy(small_course.origin.encoder)
    projections = copy.deepcopy(body.model.projections)
    vocabularies.misalignment(student, teacher, projections).backward()
    assert all(one.grad.abs().sum() > 0 for one in [*projections.parameters(), *prunable(student).values()])
    assert all(one.grad is None for one in teacher.parameters())


def test_a_pair_of_projections_for_each_layer_is_noticed(body):
    assert vocabularies.common_rank(body.encoder, body.model.projections) == 1
    many = [vocabularies.Projections([(8, 32), (16, 64)]) for _ in range(2)]

    class OnePairALayer:
        def __init__(self):
            self.calls = 0

        def __call__(self, weight):
            self.calls += 1
            return many[self.calls > 4](weight)  # of the four square matrices of each of two layers

    assert vocabularies.common_rank(body.encoder, OnePairALayer()) == 2


def test_rows_are_narrow_and_read_with_their_own_tokenizer(small_course, body, pair_lesson, word_lesson):
    assert (body.width, body.layers) == (vocabularies.LEAST, small_course.origin.layers)
    for own in (pair_lesson, word_lesson):
        small = method("BERT-48").special(dataclasses.replace(own, body=body))
        assert small.body.vocabulary_size == len(body.tokenizer) and small.parameters == count(small.network)
        batch = Encoded.of(small.body, own.problem.test).batch([0, 1])
        assert batch["input_ids"].max() < small.body.vocabulary_size and torch.isfinite(hard_loss(small.network, batch))


def test_masked_words_of_the_student_are_its_own_pieces(small_course, body):
    batch = next(small_course.masked(body))
    assert batch["labels"].max() < body.vocabulary_size and (batch["labels"] != IGNORED).any()


def test_a_model_that_does_not_tell_its_inner_width_is_refused(tiny, pieces):
    class Bare:
        hidden_size = 32

    other = dataclasses.replace(tiny, model=type("Model", (), {"config": Bare()})())
    with pytest.raises(NotAskable, match="width"):
        vocabularies.thin_student(other, pieces, 0.25)
