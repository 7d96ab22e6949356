"""MobileBERT: thin, deep and without layer norm; each stage teaches one block and changes no other."""

import copy
import dataclasses

import pytest
import torch
from torch import nn

from bertology_utils.compression.distill import renamed
from bertology_utils.compression.methods.mobile import METHODS, first_blocks, mobile_body, transfer, transfer_loss
from bertology_utils.compression.methods.traces import relation_divergence, traced
from bertology_utils.instruments.blocks import encoder_layers


@pytest.fixture(scope="module")
def batch(pair_lesson):
    return pair_lesson.train_set.batch([0, 1, 2, 3])


@pytest.fixture(scope="module")
def mobile(tiny):
    model = copy.deepcopy(tiny.model)
    model.bert = mobile_body(tiny)
    return renamed(tiny, "mobile", model)


def test_a_mobile_body_is_as_deep_as_its_teacher_thin_and_without_layer_norm(tiny, mobile):
    body = mobile.encoder
    blocks = encoder_layers(body)
    assert len(blocks) == tiny.layers and blocks[0].attention.self.query.in_features == tiny.width // 4
    assert 1 + len(blocks[0].ffn) == 4 and isinstance(blocks[0].intermediate.intermediate_act_fn, nn.ReLU)
    assert not any(isinstance(module, nn.LayerNorm) for module in body.modules())


def test_a_planted_layer_norm_is_noticed(pair_lesson, mobile):
    assert METHODS[0].special(dataclasses.replace(pair_lesson, body=mobile)).facts["layer_norms"] == 0
    changed = dataclasses.replace(mobile, model=copy.deepcopy(mobile.model))
    encoder_layers(changed.encoder)[0].output.LayerNorm = nn.LayerNorm(8)
    assert METHODS[0].special(dataclasses.replace(pair_lesson, body=changed)).facts["layer_norms"] == 1


def test_the_narrow_table_is_the_best_copy_of_the_teachers(tiny, mobile):
    table, own = tiny.encoder.get_input_embeddings().weight.detach(), mobile.encoder.embeddings
    narrow = own.word_embeddings.embedding_dim
    back = own.word_embeddings.weight @ own.embedding_transformation.weight[:, narrow : 2 * narrow].T
    lost = torch.linalg.svdvals(table)[narrow:].square().sum()
    assert (back - table).square().sum().item() == pytest.approx(lost.item(), rel=1e-3)


def test_transfer_costs_nothing_at_the_teachers_own_block_and_its_two_terms_elsewhere(tiny, mobile, batch):
    teacher, student = traced(tiny.encoder, batch), traced(mobile.encoder, batch)
    assert transfer_loss(teacher, teacher, 1).abs() < 1e-6
    real = teacher.real
    maps = (student.hidden[2] - teacher.hidden[2])[real].square().mean()
    attention = relation_divergence(student.scores(1), teacher.scores(1), real)
    assert torch.allclose(transfer_loss(student, teacher, 1), maps + attention)
    assert student.scores(0).shape == teacher.scores(0).shape


def test_a_stage_changes_its_own_block_alone(small_course, mobile):
    student = dataclasses.replace(mobile, model=copy.deepcopy(mobile.model))
    teacher = copy.deepcopy(small_course.origin.encoder)
    for whole in (student.encoder, teacher):
        traced(whole, next(small_course.masked()))
    before = copy.deepcopy(student.model.state_dict())
    transfer(small_course, student, teacher, layer=1, steps=1)
    changed = {name for name, value in student.model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed and all(".layer.1." in name for name in changed)
    assert all(parameter.requires_grad for parameter in student.model.parameters())


def test_an_encoder_has_all_of_its_blocks_again(tiny):
    encoder = copy.deepcopy(tiny.encoder)
    blocks = list(encoder_layers(encoder))
    with first_blocks(encoder, 1):
        assert len(encoder_layers(encoder)) == 1
    assert list(encoder_layers(encoder)) == blocks
