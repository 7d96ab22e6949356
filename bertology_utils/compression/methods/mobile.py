"""MobileBERT: a student as deep as its teacher whose blocks are thin, taught block after block (sun2020mobilebert).

Depends on `thin`, `traces` and transformers' network. Its body begins from nothing but the table of pieces.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers import MobileBertConfig, MobileBertModel

from bertology_utils.compression.distill import distillation_loss, renamed
from bertology_utils.compression.methods.lesson import FROM_NOTHING, Batch, Course, Lesson, Method, Small, dense
from bertology_utils.compression.methods.thin import part_of, squared_distance
from bertology_utils.compression.methods.traces import Trace, relation_divergence, traced
from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.models import Specimen

TRANSFER = 1 / 3  # of the steps on text, for all stages: 240,000 of 740,000
TRANSFER_RATE = 1e-2  # 3e-3 is slower, 3e-2 diverges (two blocks, 20 steps on other text)
MOBILE_TEXT_RATE, MOBILE_RATE = 3e-3, 1e-3  # no others were tried


def mobile_config(origin: Specimen) -> MobileBertConfig:
    """As deep and as wide between its blocks as the teacher, a quarter inside, with four feed-forward networks.

    The study's table, blocks and inner layers are 128, 128 and 512 wide of 512.
    """
    config, inside = origin.encoder.config, part_of(origin.width, 1 / 4, origin.heads)
    return MobileBertConfig(
        vocab_size=config.vocab_size,
        hidden_size=origin.width,
        embedding_size=inside,
        intra_bottleneck_size=inside,
        intermediate_size=4 * inside,
        num_hidden_layers=origin.layers,
        num_attention_heads=origin.heads,
        max_position_embeddings=config.max_position_embeddings,
        type_vocab_size=getattr(config, "type_vocab_size", 2),
        pad_token_id=config.pad_token_id,
        attention_probs_dropout_prob=0.0,
        classifier_activation=False,  # a pooler without weights
    )


def mobile_body(origin: Specimen) -> MobileBertModel:
    """A new body that begins with the best narrow copy of the teacher's table of pieces.

    In the study teacher and student have tables of one width, and the student's is the teacher's.
    """
    body = MobileBertModel(mobile_config(origin))
    table, narrow = origin.encoder.get_input_embeddings().weight.detach(), body.config.embedding_size
    _, _, directions = torch.linalg.svd(table.double(), full_matrices=False)
    directions = directions[:narrow].to(table)  # (narrow, width)
    with torch.no_grad():
        body.embeddings.word_embeddings.weight.copy_(table @ directions.T)
        body.embeddings.embedding_transformation.weight[:, narrow : 2 * narrow] = directions.T  # a piece's own third
    return body


@contextmanager
def first_blocks(encoder: nn.Module, count: int) -> Iterator[None]:
    """Inside, the encoder ends after so many blocks."""
    blocks = encoder_layers(encoder)
    rest = list(blocks[count:])
    del blocks[count:]
    try:
        yield
    finally:
        blocks.extend(rest)


def transfer_loss(student: Trace, teacher: Trace, layer: int) -> Tensor:
    """Knowledge transfer of one 0-based block: squared distance of its feature map, divergence of its attention."""
    maps = squared_distance(student.hidden[layer + 1], teacher.hidden[layer + 1], teacher.real)
    return maps + relation_divergence(student.scores(layer), teacher.scores(layer), teacher.real)


def transfer(course: Course, student: Specimen, teacher: nn.Module, layer: int, steps: int) -> None:
    """One stage of the progressive transfer: this block learns (the first one with the embeddings), all others rest."""
    body = student.encoder
    student.model.requires_grad_(False)
    for part in (encoder_layers(body)[layer], *([body.embeddings] if layer == 0 else [])):
        part.requires_grad_(True)

    def loss(_: nn.Module, batch: Batch) -> Tensor:
        with torch.no_grad():
            target = traced(teacher, batch)
        return transfer_loss(traced(body, batch), target, layer)

    with first_blocks(body, layer + 1), first_blocks(teacher, layer + 1):
        course.read(student, loss, rate=TRANSFER_RATE, steps=steps)
    student.model.requires_grad_(True)


def _mobilebert(course: Course) -> Specimen:
    """Block after block learns the teacher's feature maps and attention, then all its predictions (sun2020mobilebert).

    Deviations: the specimen itself teaches, no BERT with inverted bottlenecks; the
    predictions are made by the teacher's head, kept as it is.
    """
    model, teacher = copy.deepcopy(course.origin.model), copy.deepcopy(course.origin.encoder)
    setattr(model, model.base_model_prefix, mobile_body(course.origin))
    student = renamed(course.origin, "mobile", model)
    for whole in (student.encoder, teacher):  # what transformers records is fixed in the first pass
        traced(whole, next(course.masked()))
    steps = course.budget.text_steps
    stage = max(1, round(TRANSFER * steps / course.origin.layers))
    for layer in range(course.origin.layers):
        transfer(course, student, teacher, layer, stage)
    model.requires_grad_(False)
    student.encoder.requires_grad_(True)
    loss = lambda own, batch: distillation_loss(own, course.origin.model, batch)  # noqa: E731
    course.read(student, loss, rate=MOBILE_TEXT_RATE, steps=max(1, steps - stage * course.origin.layers))
    return student


def _mobile_tuned(lesson: Lesson) -> Small:
    """The body tuned on the task without any teacher, as any BERT."""
    network = lesson.network()
    lesson.train(network, rate=MOBILE_RATE)
    kinds = [type(module) for module in network.modules()]
    return dense(network, layer_norms=kinds.count(nn.LayerNorm))


METHODS = (
    Method("MobileBERT", "distillation", _mobile_tuned, _mobilebert, FROM_NOTHING, defines=("layer_norms", 0.0)),
)
