"""Students of the teacher's kind: where they begin, whom they follow, and that each loss is its definition."""

import copy
import dataclasses
from types import SimpleNamespace

import pytest
import torch

from bertology_utils.compression.distill import student_of
from bertology_utils.compression.methods.distilled import (
    ALPHA,
    BETA,
    RUNG,
    TEMPERATURE,
    TRANSFER_SEED,
    distance,
    distances,
    first_pieces,
    last,
    patient_loss,
    skipping,
)
from bertology_utils.compression.methods.lesson import asked, hard_loss
from bertology_utils.compression.methods.problems import problem, questions
from bertology_utils.compression.methods.registry import method
from bertology_utils.compression.methods.students import Size, inherited, newborn
from bertology_utils.compression.methods.traces import answers_loss, soft_loss
from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.models import load


def test_sizes_are_shares_of_the_teachers():
    whole = Size(8, 8, 32, 1024)
    assert whole.share(4 / 12, 2 / 3) == Size(3, 5, 32, 640)
    assert whole.share(4 / 12, head_width=312 / 768) == Size(3, 8, 13, 416)
    assert Size(1, 1, 2, 4).share(0.1, 0.1, 0.1) == Size(1, 1, 1, 2)


def test_a_share_above_all_is_told():
    with pytest.raises(BertologyError, match="share"):
        Size(8, 8, 32, 1024).share(depth=1.5)


def test_a_newborn_has_the_size_that_is_asked_and_reads(tiny, pair_lesson):
    student = newborn(tiny, Size(1, 3, 8, 48))
    assert (student.layers, student.heads, student.width) == (1, 3, 24)
    assert student.sha256 != tiny.sha256 and tiny.width == 32
    assert torch.isfinite(hard_loss(pair_lesson.network(student.encoder), next(pair_lesson.feed())))


def test_heirs_are_told_from_newborns(tiny):
    heir, stranger = student_of(tiny), newborn(tiny, Size.of(tiny))
    with torch.no_grad():  # a copy that has been trained on
        for parameter in heir.encoder.parameters():
            parameter.add_(0.2 * parameter.std() * torch.randn_like(parameter) if parameter.numel() > 1 else 0)
    assert inherited(heir.encoder, tiny.encoder) == 7  # six matrices of its block, and the embeddings
    assert inherited(stranger.encoder, tiny.encoder) == 0


def test_a_corner_of_the_teachers_matrix_is_inherited_too(tiny):
    student = newborn(tiny, Size(1, 3, 8, 48))
    query = student.encoder.encoder.layer[0].attention.self.query
    with torch.no_grad():
        query.weight.copy_(tiny.encoder.encoder.layer[1].attention.self.query.weight[:24, :24])
    assert inherited(student.encoder, tiny.encoder) == 1


def test_a_student_starts_with_the_blocks_that_are_named(tiny):
    student = student_of(tiny, kept=[1])
    own, named = student.encoder.encoder.layer[0].state_dict(), tiny.encoder.encoder.layer[1].state_dict()
    assert student.layers == 1 and all(torch.equal(own[name], value) for name, value in named.items())


def test_layers_follow_as_in_the_study():
    assert [teacher for _, teacher in skipping(6, 12)] == [2, 4, 6, 8, 10]
    assert [teacher for _, teacher in last(6, 12)] == [7, 8, 9, 10, 11]
    assert skipping(3, 12) == [(1, 4), (2, 8)] and last(2, 8) == [(1, 7)]


def test_distance_lies_between_zero_and_four():
    states = torch.randn(5, 8)
    assert distance(states, 3 * states) < 1e-6
    assert distance(states, -states) == pytest.approx(4, abs=1e-5)
    plain = [((a / a.norm() - b / b.norm()) ** 2).sum() for a, b in zip(states, states.roll(1, 0), strict=True)]
    assert distance(states, states.roll(1, 0)) == pytest.approx(float(sum(plain) / 5), abs=1e-5)


def test_first_pieces_are_the_models_own_states(pair_lesson):
    batch, network = next(pair_lesson.feed()), pair_lesson.teacher
    with torch.no_grad():
        logits, states = first_pieces(network, batch)
        given = {name: values for name, values in batch.items() if name != "labels"}
        hidden = network.encoder(**given, output_hidden_states=True).hidden_states
    assert torch.equal(logits, network(**given))
    assert all(torch.allclose(own, plain[:, 0], atol=1e-6) for own, plain in zip(states, hidden[:-1], strict=True))


@pytest.mark.parametrize("kind", ["pair_lesson", "word_lesson"])
def test_the_patient_loss_is_its_definition_and_reaches_the_layer_that_follows(kind, request):
    lesson = request.getfixturevalue(kind)
    network, batch, layers = lesson.network().eval(), next(lesson.feed()), [(1, 1)]
    loss = patient_loss(network, batch, lesson.teacher, layers)
    with torch.no_grad():
        (logits, own), (target, states) = first_pieces(network, batch), first_pieces(lesson.teacher, batch)
        plain = (1 - ALPHA) * hard_loss(network, batch) + ALPHA * soft_loss(logits, target, TEMPERATURE)
        plain += BETA * distances(own, states, layers)[0]
    assert loss.item() == pytest.approx(plain.item(), abs=1e-5)
    loss.backward()
    assert all(p.grad is None for p in lesson.teacher.parameters())
    assert network.encoder.encoder.layer[0].attention.self.value.weight.grad.abs().sum() > 0


def test_patience_is_measured_and_its_lack_is_noticed(pair_lesson, monkeypatch):
    """With the states' weight turned round, layers stray; as the study has it, they do not."""
    row = method("BERT6-PKD")
    torch.manual_seed(0)
    kept = row.special(pair_lesson)
    monkeypatch.setattr("bertology_utils.compression.methods.distilled.BETA", -100.0)
    torch.manual_seed(0)
    strayed = row.special(pair_lesson)
    assert kept.facts["strayed"] == 0 and kept.facts["after"] < kept.facts["before"]
    assert strayed.facts["strayed"] == 1


@pytest.mark.parametrize(("row", "controls"), [
    ("BERT6-PKD", ("first half of the blocks, tuned", "answers alone, first half")),
    ("BERT3-PKD", ("first quarter of the blocks, tuned",)),
])  # fmt: skip
def test_a_patient_student_and_its_controls_begin_with_the_same_blocks(pair_lesson, monkeypatch, row, controls):
    origin, begun = load(RUNG), []
    monkeypatch.setattr(type(pair_lesson), "network", lambda lesson, body: begun.append(body) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        method(row).special(dataclasses.replace(pair_lesson, origin=origin))
    for name in (*controls, "half of the blocks, tuned"):
        other = method(name).general(SimpleNamespace(origin=origin)).encoder
        pairs = zip(begun[0].parameters(), other.parameters(), strict=False)
        assert all(torch.equal(a, b) for a, b in pairs) == (name in controls), "a half is spread evenly"


def test_a_teacher_of_one_layer_cannot_be_followed(pair_lesson):
    shallow = dataclasses.replace(pair_lesson, origin=student_of(pair_lesson.origin, 1))
    with pytest.raises(NotAskable, match="one layer"):
        method("BERT3-PKD").special(shallow)


def test_distilling_answers_reads_no_label(pair_lesson):
    network, batch = pair_lesson.network().eval(), next(pair_lesson.feed())
    other = batch | {"labels": 1 - batch["labels"]}
    teacher = pair_lesson.teacher
    assert answers_loss(network, batch, teacher) == answers_loss(network, other, teacher)
    assert answers_loss(teacher, batch, teacher).abs() < 1e-6 < answers_loss(network, batch, teacher)


def test_transfer_sentences_are_new_ones_of_the_task():
    train = problem("tense", 40, 10).train
    drawn = questions("tense", 160, TRANSFER_SEED)
    shared = set(map(tuple, train.sentences)) & set(map(tuple, drawn.sentences))
    assert len(shared) < 4 and not drawn.of_words


def test_the_body_of_pd_is_no_heir_and_a_copied_one_is_noticed(small_course, pair_lesson):
    row = method("PD")
    body = row.general(small_course)
    assert body.layers == 1 and body.width < small_course.origin.width
    honest = row.special(dataclasses.replace(pair_lesson, body=body))
    copied = row.special(dataclasses.replace(pair_lesson, body=student_of(pair_lesson.origin)))
    assert honest.facts["inherited"] == 0 and copied.facts["inherited"] == 7


def test_a_well_read_body_is_the_rung_where_the_pieces_are_the_same(small_course):
    """The teacher's text taught it, so nothing is left to read; its matrices are nobody's heirs."""
    origin = load("pocket-bert")
    body = method("BERT-small").general(dataclasses.replace(small_course, origin=origin, text=[]))
    assert body.name == RUNG and inherited(body.encoder, origin.encoder) == 0


def test_the_rung_is_no_student_of_itself(small_course):
    origin = load(RUNG)
    body = method("BERT-small").general(dataclasses.replace(small_course, origin=origin))
    assert body.name != RUNG and body.width < origin.width


def test_rows_leave_the_origin_and_the_teacher_alone(pair_lesson):
    before = copy.deepcopy((pair_lesson.origin.model.state_dict(), pair_lesson.teacher.state_dict()))
    method("BERT3-PKD").special(pair_lesson)
    for old, module in zip(before, (pair_lesson.origin.model, pair_lesson.teacher), strict=True):
        assert all(torch.equal(value, old[name]) for name, value in module.state_dict().items())
    assert "labels" not in asked(next(pair_lesson.feed()))
