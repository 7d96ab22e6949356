"""Students as deep as their teacher, very narrow, and with a small vocabulary of their own (zhao2019extreme).

Depends on `lesson`, on the WordPiece of `pretraining` and on masked words. Two stages on text: the teacher gets rows
for the student's pieces, then the student learns to be its shadow under one pair of projections for all layers.
Deviation: the study trains both at once; here one comes after the other.
"""

import copy
import dataclasses
import math
from collections.abc import Container, Sequence
from functools import partial
from itertools import groupby

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from bertology_utils.compression.distill import renamed
from bertology_utils.compression.methods.lesson import FROM_NOTHING, Course, Lesson, Method, Small, dense
from bertology_utils.compression.prune import prunable
from bertology_utils.errors import NotAskable
from bertology_utils.models import Specimen
from bertology_utils.pretraining.wordpieces import as_pretrained, tokenizer_of
from bertology_utils.text import Encoding, Words, encode_words
from bertology_utils.tokenizing import pieces_of
from bertology_utils.tuning.mlm_training import endless_batches, masked_loss, optimise

PIECES = 6  # one piece of the student for so many of the teacher: 30,522 -> about 5,000
LEAST = 8  # numbers of a state: layer norm leaves only signs of two, and too little of few
SIZES = ("hidden_size", "intermediate_size", "embedding_size")  # of a configuration, all narrowed alike
MIXED = 0.5  # share of words that the student's vocabulary cuts
MIXED_RATE = 2e-4  # of the teacher's further training
READS = 4 * FROM_NOTHING  # after sixteen times the usual text, neither led an untrained network by enough to be judged
ALIGNED = 1.0  # weight of the alignment beside the loss of masked words


# ---------------------------------------------------------------- a vocabulary of its own


def small_tokenizer(origin: Specimen, text: Sequence[Words]) -> PreTrainedTokenizerFast:
    """A WordPiece of the text with a sixth of the origin's pieces, which divides words as BERT does."""
    cased = pieces_of(origin.tokenizer, ["A"]) != pieces_of(origin.tokenizer, ["a"])
    size = origin.vocabulary_size // PIECES
    made = tokenizer_of((" ".join(words) for words in text), size, alphabet=size // 3, cased=cased)
    return as_pretrained(made, model_max_length=origin.max_pieces)


def mixed(encoding: Encoding, own: Sequence[Sequence[int]], chosen: Container[int]) -> Encoding:
    """The encoding with the chosen words (their places) cut otherwise; own: the other pieces of each word."""
    pairs: list[tuple[int, int | None]] = []
    for word, group in groupby(zip(encoding.input_ids, encoding.word_ids, strict=True), key=lambda pair: pair[1]):
        pairs += [(piece, word) for piece in own[word]] if word in chosen else group
    return Encoding([piece for piece, _ in pairs], [word for _, word in pairs], [0] * len(pairs))


def mixed_encodings(course: Course, tokenizer: PreTrainedTokenizerFast) -> list[Encoding]:
    """Each sentence twice, what the student's pieces cut in one left to the teacher's in the other.

    The student's pieces are numbered after the teacher's; a sentence that gets too long is left out.
    """
    first, order = course.origin.vocabulary_size, np.random.default_rng(course.seed)
    own = {word: [first + piece for piece in pieces_of(tokenizer, [word])] for s in course.text for word in s}
    made = []
    for words, encoding in zip(course.text, encode_words(course.origin, course.text), strict=True):
        pieces, cut = [own[word] for word in words], order.random(len(words)) < MIXED
        made += [mixed(encoding, pieces, set(np.flatnonzero(side).tolist())) for side in (cut, ~cut)]
    return [encoding for encoding in made if len(encoding) <= course.origin.max_pieces]


def mixed_teacher(course: Course, tokenizer: PreTrainedTokenizerFast) -> Specimen:
    """The origin with rows of its own for the student's pieces, trained on for an eighth of the course's steps.

    Deviation: a piece that both know starts from the origin's row, for there are few steps to learn it in.
    """
    model = copy.deepcopy(course.origin.model)
    model.resize_token_embeddings(course.origin.vocabulary_size + len(tokenizer), mean_resizing=False)
    _same_rows(model, course.origin.tokenizer.get_vocab(), tokenizer.get_vocab(), course.origin.vocabulary_size)
    teacher = renamed(course.origin, "mixed", model)
    feed = endless_batches(teacher, mixed_encodings(course, tokenizer), course.seed, course.budget.text_pieces)
    steps = max(1, course.budget.text_steps // 8)
    optimise(model, lambda: masked_loss(model, next(feed)).mean(), steps, MIXED_RATE)
    return teacher


@torch.no_grad()
def _same_rows(model: PreTrainedModel, known: dict[str, int], own: dict[str, int], first: int) -> None:
    """Copies what the model has by piece, rows and biases, to the student's pieces from `first` on."""
    twins = [(known[piece], first + place) for piece, place in own.items() if piece in known]
    sources, targets = torch.tensor(twins, dtype=torch.long).reshape(-1, 2).T
    for parameter in model.parameters():
        if parameter.shape[:1] == (first + len(own),):
            parameter[targets] = parameter[sources]


# ---------------------------------------------------------------- one pair of projections


class Projections(nn.Module):
    """U W V: a student's matrix in the shape of its teacher's, with one U and one V for each width of all layers.

    widths: (student's, teacher's), such as those between the blocks and inside of them.
    """

    def __init__(self, widths: Sequence[tuple[int, int]]) -> None:
        super().__init__()
        self.left = nn.ParameterDict({str(own): _orthogonal(full, own) for own, full in widths})
        self.right = nn.ParameterDict({str(own): _orthogonal(own, full) for own, full in widths})

    def rows(self, table: Tensor) -> Tensor:
        """A table of which both have the same rows: (rows, own) -> (rows, full)."""
        return table @ self.right[str(table.shape[1])]

    def forward(self, weight: Tensor) -> Tensor:
        """(own out, own in) -> (full out, full in)."""
        return self.left[str(len(weight))] @ self.rows(weight)


def _orthogonal(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(nn.init.orthogonal_(torch.empty(rows, columns)))


def misalignment(student: nn.Module, teacher: nn.Module, projections: Projections) -> Tensor:
    """||U W V - teacher's W||^2 summed over all blocks' matrices and the table of words, over the teacher's own.

    student, teacher: encoders; of the teacher's words the last rows are the student's.
    """
    pairs = [(projections(weight), teacher.get_parameter(name)) for name, weight in prunable(student).items()]
    own, full = student.get_input_embeddings().weight, teacher.get_input_embeddings().weight
    pairs.append((projections.rows(own), full[len(full) - len(own) :]))
    missed = sum((made - target.detach()).square().sum() for made, target in pairs)
    return missed / sum(target.detach().square().sum() for _, target in pairs)


def common_rank(student: nn.Module, projections: Projections) -> float:
    """The dimensions in which all layers' projected square matrices lie, as a share of the student's width.

    1 under one pair of projections; a pair for each layer would give as much as there are layers.
    """
    width = student.config.hidden_size
    square = [projections(weight) for weight in prunable(student).values() if weight.shape == (width, width)]
    return float(torch.linalg.matrix_rank(torch.cat(square, 1).detach().double(), rtol=1e-5)) / width


# ---------------------------------------------------------------- rows


def thin_student(origin: Specimen, tokenizer: PreTrainedTokenizerFast, share: float) -> Specimen:
    """An untaught model of the origin's kind and depth, of this share of its widths, with the tokenizer's pieces."""
    config = copy.deepcopy(origin.model.config)
    if not all(hasattr(config, size) for size in SIZES[:2]):
        raise NotAskable(f"{origin.name} does not tell the width inside of its blocks.")
    share = max(share, LEAST / config.hidden_size)
    for size in _sizes(config):
        setattr(config, size, round(share * getattr(config, size)))
    config.num_attention_heads = math.gcd(config.hidden_size, config.num_attention_heads)
    config.vocab_size, config.pad_token_id, config.dtype = len(tokenizer), tokenizer.pad_token_id, torch.float32
    student = renamed(origin, f"thin-{config.hidden_size}", type(origin.model)(config))
    return dataclasses.replace(student, tokenizer=tokenizer)


def _sizes(config: PreTrainedConfig) -> list[str]:
    return [size for size in SIZES if hasattr(config, size)]


def taught(course: Course, share: float, rate: float) -> Specimen:
    """A student of the mixed teacher, of this share of its widths."""
    tokenizer = small_tokenizer(course.origin, course.text)
    teacher, student = mixed_teacher(course, tokenizer), thin_student(course.origin, tokenizer, share)
    own, full = student.model.config, course.origin.model.config
    widths = [(getattr(own, size), getattr(full, size)) for size in _sizes(own)]
    student.model.projections = Projections(widths)  # beside the encoder: no network takes them over

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        missed = misalignment(model.base_model, teacher.encoder, model.projections)
        return masked_loss(model, batch).mean() + ALIGNED * missed

    course.read(student, loss, rate=rate)
    return student


def _tuned(lesson: Lesson, rate: float) -> Small:
    """The student tuned on the task, its input cut by its own tokenizer."""
    network = lesson.network()
    lesson.train(network, rate=rate)
    rows = len(network.encoder.get_input_embeddings().weight)
    facts = {
        "pieces": rows / lesson.origin.vocabulary_size,
        "common_rank": common_rank(lesson.body.encoder, lesson.body.model.projections),
    }
    return dense(network, lesson.body, **facts)


def _row(name: str, share: float, rate: float) -> Method:
    special, general = partial(_tuned, rate=rate), partial(taught, share=share, rate=rate)
    return Method(name, "distillation", special, general, READS, defines=("common_rank", 1.0))


# The narrower, the faster it must learn in few steps: on a task that is not reported, tuned at 1e-3 and 3e-3, a
# sixteenth of the width gave .69 and .80, a quarter .93 and .81.
METHODS = (_row("BERT-48", 1 / 16, 3e-3), _row("BERT-192", 1 / 4, 1e-3))
