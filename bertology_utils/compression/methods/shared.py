"""Rows with fewer numbers for the same computation: one block for all layers, and a token table in two factors.

Depends on `lesson` and `traces`. Sharing makes a model small and no faster: every layer still runs.
"""

import dataclasses
from collections.abc import Iterator

import torch
from torch import nn
from transformers import AlbertConfig, AlbertForMaskedLM

from bertology_utils.compression.distill import renamed
from bertology_utils.compression.methods.lesson import FROM_NOTHING, Course, Lesson, Method, Small, dense
from bertology_utils.compression.methods.traces import passed
from bertology_utils.errors import BertologyError
from bertology_utils.models import Specimen

FACTOR = 6  # 768 / 128: how much narrower the token table of lan2019albert's base model is than its blocks
WIDER = 4 / 3  # xxlarge is four times that; a pass costs the square, and twice the teacher's time has to do here
READ_RATE = 1e-3  # on seed 100, 530 steps of two passes end at 5.3 nats, and 530 more of four at 4.8
WIDE_READ_RATE = 5e-4  # with 1e-3 it loses at four passes (5.6 nats) what it had learnt with two (5.1)

# ---------------------------------------------------------------- one block for all layers


def one_block(origin: Specimen, width: int) -> Specimen:
    """An untrained model whose layers, as many as the origin's, are one block of this width (lan2019albert).

    Heads are as wide as the origin's, the inner layer as many times the width, and the token table is, as in both
    models of the study, a sixth of the origin's width. Raises BertologyError for a width that heads do not divide.
    """
    head = origin.width // max(1, origin.heads)
    if width < head or width % head:
        raise BertologyError(f"A width of {width} cannot be divided into heads of {head}.")
    return renamed(origin, f"one-block-{width}", AlbertForMaskedLM(_config(origin, width, width // head)))


def _config(origin: Specimen, width: int, heads: int) -> AlbertConfig:
    own, tokenizer = origin.model.config.get_text_config(), origin.tokenizer
    return AlbertConfig(
        vocab_size=origin.vocabulary_size,
        embedding_size=narrow(origin.width),
        hidden_size=width,
        num_hidden_layers=origin.layers,
        num_hidden_groups=1,
        num_attention_heads=heads,
        intermediate_size=width * getattr(own, "intermediate_size", 4 * origin.width) // origin.width,
        hidden_act=getattr(own, "hidden_act", "gelu"),
        max_position_embeddings=origin.max_pieces,
        initializer_range=getattr(own, "initializer_range", 0.02),
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
    )


def narrow(width: int) -> int:
    """Width of the token table for blocks of this width."""
    return max(1, width // FACTOR)


def _albert_base(course: Course) -> Specimen:
    """One block as wide as the teacher's, from nothing, deeper in stages as the study's deep ones (lan2019albert).

    Deviations: masked words alone, single ones, since the course's sentences do not follow each other, so that no order
    can be asked.
    """
    return _read(course, course.origin.width, READ_RATE)


def _albert_xxlarge(course: Course) -> Specimen:
    """The same, a third wider than the teacher: twice its time, and fewer parameters still (lan2019albert).

    Deviation: the study's is so wide that one block has more parameters than all of its teacher's; here that would cost
    twenty times the teacher's time.
    """
    head = course.origin.width // max(1, course.origin.heads)
    return _read(course, head * round(WIDER * course.origin.width / head), WIDE_READ_RATE)


def _read(course: Course, width: int, rate: float) -> Specimen:
    body = one_block(course.origin, width)
    depths = list(growing(course.origin.layers))
    for passes in depths:
        body.model.config.num_hidden_layers = passes
        stage = dataclasses.replace(course, seed=course.seed + passes)  # other masks in each
        stage.read(body, rate=rate, steps=max(1, course.budget.text_steps // len(depths)))
    return body


def growing(layers: int) -> Iterator[int]:
    """Numbers of passes of the stages of reading, each twice the one before: 8 layers give 2, 4, 8.

    A body of eight that begins with all does not come below the loss of word frequencies in as many steps.
    """
    yield from (layers // part for part in (4, 2, 1) if layers >= part)


def _tuned(lesson: Lesson) -> Small:
    network = lesson.network()
    lesson.train(network)
    ran = passed(network, lesson.train_set.batch([0]))
    return dense(network, blocks=len(set(ran)), passes=len(ran))


# ---------------------------------------------------------------- a token table in two factors


class FactorisedTable(nn.Sequential):
    """A token table stored as two: ids (...) -> vectors (..., width), through `rank` numbers a piece."""

    def __init__(self, table: nn.Embedding, rank: int) -> None:
        """The nearest pair of factors to a table (pieces, width), by its singular vectors."""
        pieces, width = table.weight.shape
        if not 1 <= rank <= min(pieces, width):
            raise BertologyError(f"A table of {pieces} x {width} has no factors of {rank} columns.")
        super().__init__(nn.Embedding(pieces, rank, table.padding_idx), nn.Linear(rank, width, bias=False))
        with torch.no_grad():
            left, sizes, right = torch.linalg.svd(table.weight, full_matrices=False)
            root = sizes[:rank].sqrt()  # half of each size goes to either side, so that both learn alike
            self[0].weight.copy_(left[:, :rank] * root)
            self[1].weight.copy_((root[:, None] * right[:rank]).mT)


@torch.no_grad()
def table_rank(encoder: nn.Module) -> int:
    """Rank of the vectors that an encoder looks up for all its pieces."""
    table = encoder.get_input_embeddings()
    pieces = encoder.config.get_text_config().vocab_size
    return int(torch.linalg.matrix_rank(table(torch.arange(pieces))))


def _factorised(lesson: Lesson) -> Small:
    """The tuned teacher with its token table in two factors of a sixth of its width, tuned once more."""
    network = lesson.copy_of_teacher()
    table, rank = network.encoder.get_input_embeddings(), narrow(lesson.origin.width)
    network.encoder.set_input_embeddings(FactorisedTable(table, rank))
    lesson.train(network)
    return dense(network, rank_beyond=max(0, table_rank(network.encoder) - rank), rank=rank)


METHODS = (
    Method("ALBERT-base", "other", _tuned, _albert_base, FROM_NOTHING, defines=("blocks", 1.0)),
    Method("ALBERT-xxlarge", "other", _tuned, _albert_xxlarge, FROM_NOTHING, defines=("blocks", 1.0)),
    Method("factorised embeddings", "baseline", _factorised, defines=("rank_beyond", 0.0)),
)
