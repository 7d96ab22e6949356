"""Students that imitate what happens inside of their teacher: attention, states, and relations of values.

Depends on `lesson`, `students`, `augmented` and `traces`. Every such loss is zero where the student is its teacher:
the fact `at_teacher` of each row here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from bertology_utils.compression.distill import student_of
from bertology_utils.compression.methods.augmented import augmented, changed_shares
from bertology_utils.compression.methods.distilled import Layers
from bertology_utils.compression.methods.lesson import (
    FROM_NOTHING,
    Batch,
    Course,
    Encoded,
    Lesson,
    Method,
    Small,
    dense,
    hard_loss,
)
from bertology_utils.compression.methods.students import Size, newborn
from bertology_utils.compression.methods.traces import Trace, answers_loss, relation, relation_divergence, traced
from bertology_utils.errors import BertologyError
from bertology_utils.models import Specimen

# Rates, chosen on a task that is not reported: telling active from passive.
RELATION_RATE = IMITATION_RATE = (
    1e-3  # of bodies from nothing, on text; TinyBERT's loss after 150 steps is 13, with 3e-3 17
)
INTERNAL_RATE = 1e-3  # layer upon layer: of 2e-4, 5e-4 and 1e-3 the best (.963, .967, .973)
INSIDE, INSIDE_RATE = 2, 2e-3  # TinyBERT's first stage on a task: times the second's steps; 5e-4 .60, 2e-3 .87
ANSWERS_RATE = 1e-3  # and of its second: .90, even from a worse body than that of .87 with 2e-4
SHARE, CANDIDATES = 0.4, 15  # jiao2019tinybert's augmentation: words replaced, and words to choose from
TERMS = ("embeddings", "attention", "hidden", "answers")

Imitation = Callable[[Trace, Trace], Tensor]


def followed(student: int, teacher: int) -> Layers:
    """Which of the teacher's layers each of the student's follows, 1-based: 4 of 12 follow 3, 6, 9 and 12."""
    return [(layer, round(layer * teacher / student)) for layer in range(1, student + 1)]


def imitating(loss: Imitation, teacher: nn.Module) -> Callable[[nn.Module, Batch], Tensor]:
    """A loss of (student with a body, batch) from one of two traces, the student's and the teacher's (bare) body's."""

    def of_batch(student: nn.Module, batch: Batch) -> Tensor:
        with torch.no_grad():
            target = traced(teacher, batch)
        return loss(traced(student.base_model, batch), target)

    return of_batch


@torch.no_grad()
def apart(loss: Imitation, encoder: nn.Module, lesson: Lesson) -> float:
    """How far a body is from the tuned teacher's by this loss, on one batch of the task."""
    batch = next(lesson.feed())
    return float(loss(traced(encoder, batch), traced(lesson.teacher.encoder, batch)))


# ---------------------------------------------------------------- relations of the last layer


def last_relations(own: Trace, target: Trace) -> Tensor:
    """Divergence of the last layers' attention, and of how their values relate, a scalar; needs as many heads."""
    attention = relation_divergence(own.scores(-1), target.scores(-1), own.real)
    mine, theirs = (relation(trace.values[-1], trace.values[-1]) for trace in (own, target))
    return attention + relation_divergence(mine, theirs, own.real)


def _half_by_relations(course: Course) -> Specimen:
    """Half of the blocks, from nothing, taught by the last layer's relations alone (wang2020minilm).

    No assistant stands between teacher and student; sentences are those of masked-word training, blanks included.
    """
    student = newborn(course.origin, Size.of(course.origin).share(depth=1 / 2))
    loss = imitating(last_relations, course.origin.encoder)
    course.read(student, loss, rate=RELATION_RATE)
    return student


def _minilm(lesson: Lesson) -> Small:
    """The body tuned on the task without any teacher, as the study's."""
    network = lesson.network()
    lesson.train(network)
    return dense(network, at_teacher=apart(last_relations, lesson.teacher.encoder, lesson))


# ---------------------------------------------------------------- internal representations, layer upon layer


def internal_loss(own: Trace, target: Trace, layers: Layers) -> Tensor:
    """Sum over layers of the divergence of attention and of 1 - cosine of first pieces, a scalar."""
    return torch.stack([_internal(own, target, *pair) for pair in layers]).sum()


def _internal(own: Trace, target: Trace, student: int, teacher: int) -> Tensor:
    attention = relation_divergence(own.scores(student - 1), target.scores(teacher - 1), own.real)
    cosine = nn.functional.cosine_similarity(own.hidden[student][:, 0], target.hidden[teacher][:, 0], dim=-1)
    return attention + (1 - cosine).mean()


class Stack:
    """The layers that are taught so far: the lowest at first, one more on top after each equal part of the training."""

    def __init__(self, layers: Layers) -> None:
        self.layers, self.taught = layers, layers[:1]

    def grow(self, done: float) -> None:
        self.taught = self.layers[: 1 + int(done * len(self.layers))]

    def loss(self, own: Trace, target: Trace) -> Tensor:
        """Of the layers taught so far."""
        return internal_loss(own, target, self.taught)

    def whole(self, own: Trace, target: Trace) -> Tensor:
        """Of all layers."""
        return internal_loss(own, target, self.layers)


def _internal_stack(lesson: Lesson) -> Small:
    """Half of the blocks: attention and first pieces of the tuned teacher, layer upon layer, then its answers.

    aguilar2019knowledge, stacked: a layer stays taught when the next begins. Each student's block begins as the one of
    the pre-trained model that it is to follow. Deviation: layers grow at set times, not when a loss has come to rest.
    """
    size = Size.of(lesson.origin).share(depth=1 / 2)
    layers = followed(size.layers, lesson.origin.layers)
    network = lesson.network(student_of(lesson.origin, kept=[teacher - 1 for _, teacher in layers]).encoder)
    stack, teacher = Stack(layers), lesson.teacher
    before = apart(stack.whole, network.encoder.eval(), lesson)
    lesson.train(network, imitating(stack.loss, teacher.encoder), rate=INTERNAL_RATE, each=stack.grow)
    lesson.train(network, partial(answers_loss, teacher=teacher))
    same = Stack(followed(lesson.origin.layers, lesson.origin.layers))
    facts = {"before": before, "after": apart(stack.whole, network.encoder, lesson)}
    return dense(network, at_teacher=apart(same.whole, teacher.encoder, lesson), **facts)


# ---------------------------------------------------------------- two stages, every layer, a map of widths


@dataclass(frozen=True)
class Imitator:
    """TinyBERT's losses: which of the `TERMS` count, and the learnt maps from the student's width to the teacher's."""

    layers: Layers
    terms: Sequence[str]
    embeddings: nn.Module
    hidden: nn.Module

    @property
    def taught(self) -> bool:
        """Whether any term is about the inside of a network."""
        return bool({*self.terms} & {"embeddings", "attention", "hidden"})

    @property
    def maps(self) -> tuple[nn.Module, nn.Module]:
        return self.embeddings, self.hidden

    def parts(self, own: Trace, target: Trace) -> Mapping[str, Tensor]:
        """Mean squared errors of real pieces, of real pairs; of the layers their sum. A scalar for each term."""
        return {
            "embeddings": _error(self.embeddings(own.hidden[0]), target.hidden[0], own.real),
            "attention": sum(_error(own.scores(s - 1), target.scores(t - 1), own.pairs) for s, t in self.layers),
            "hidden": sum(_error(self.hidden(own.hidden[s]), target.hidden[t], own.real) for s, t in self.layers),
        }

    def __call__(self, own: Trace, target: Trace) -> Tensor:
        return torch.stack([value for name, value in self.parts(own, target).items() if name in self.terms]).sum()


def _error(own: Tensor, target: Tensor, real: Tensor) -> Tensor:
    """Mean squared error where `real`, a scalar: (batch, pieces, width), or (batch, heads, pieces, pieces)."""
    square = (own - target).square()
    weights = real if square.dim() == real.dim() else real[..., None]
    return (square * weights).sum() / weights.expand_as(square).sum()


@torch.no_grad()
def imitator(student: nn.Module, teacher: nn.Module, batch: Batch, terms: Sequence[str] = TERMS) -> Imitator:
    """One for two bare bodies, whose maps are the best for this batch, so that training has less to find."""
    own, target = traced(student, batch), traced(teacher, batch)
    layers = followed(len(own.hidden) - 1, len(target.hidden) - 1)
    lowest = _best_map(own.hidden[:1], target.hidden[:1], own.real)
    others = _best_map([own.hidden[s] for s, _ in layers], [target.hidden[t] for _, t in layers], own.real)
    return Imitator(layers, terms, lowest, others)


@torch.no_grad()
def _best_map(own: Sequence[Tensor], target: Sequence[Tensor], real: Tensor) -> nn.Linear:
    """The linear map with the least squared error from states to states, lists of (batch, pieces, width)."""
    x, y = (torch.cat([states[real] for states in side]).double() for side in (own, target))
    x = torch.cat([x, torch.ones(len(x), 1)], 1)
    ridge = 1e-3 * len(x) * torch.eye(x.shape[1])  # states of an untrained student may not span their space
    weights = torch.linalg.solve(x.T @ x + ridge, x.T @ y).float()
    made = nn.Linear(x.shape[1] - 1, y.shape[1])
    made.weight.copy_(weights[:-1].T)
    made.bias.copy_(weights[-1])
    return made


def tiny_body(course: Course, terms: Sequence[str] = TERMS) -> Specimen:
    """A third of the blocks in two fifths of the width, from nothing, taught by the pre-trained model's inside."""
    student = newborn(course.origin, Size.of(course.origin).share(depth=4 / 12, head_width=312 / 768))
    teacher = course.origin.encoder
    made = imitator(student.encoder, teacher, next(course.masked()), terms)
    if made.taught:
        course.read(student, imitating(made, teacher), rate=IMITATION_RATE, also=made.maps)
    return student


def tinybert(lesson: Lesson, terms: Sequence[str] = TERMS) -> Small:
    """The small body imitates the tuned teacher's inside, then its answers, both on twice the sentences.

    jiao2019tinybert, whose ablation leaves out `terms`; without answers the labels teach. Deviations: one new sentence
    for each instead of twenty, words of several pieces stay, and maps of widths are not handed from stage to stage.
    """
    if not terms or set(terms) - set(TERMS):
        raise BertologyError(
            f"TinyBERT's loss has the terms {', '.join(TERMS)}; {', '.join(terms) or 'none'} is asked."
        )
    given, teacher = lesson.problem.train, lesson.teacher
    more = augmented(lesson.origin, given, SHARE, CANDIDATES, lesson.seed)
    encoded, network = Encoded.of(lesson.body, more), lesson.network()
    made = imitator(network.encoder, teacher.encoder, next(lesson.feed(encoded)), terms)
    if made.taught:
        loss, steps = imitating(made, teacher.encoder), INSIDE * lesson.steps
        lesson.train(network, loss, rate=INSIDE_RATE, steps=steps, encoded=encoded, also=made.maps)
    loss = partial(answers_loss, teacher=teacher) if "answers" in terms else hard_loss
    lesson.train(network, loss, rate=ANSWERS_RATE, encoded=encoded)
    same = Imitator(followed(lesson.origin.layers, lesson.origin.layers), terms, nn.Identity(), nn.Identity())
    most = max(changed_shares(given.sentences, more.sentences[len(given.sentences) :]))
    own = apart(same, teacher.encoder, lesson) if same.taught else 0.0
    return dense(network, at_teacher=own, most_changed=most)


METHODS = (
    Method("Aguilar et al., Exp. 3", "distillation", _internal_stack, defines=("at_teacher", 0.0)),
    Method("TinyBERT", "distillation", tinybert, tiny_body, FROM_NOTHING, defines=("at_teacher", 0.0)),
    Method("MiniLM", "distillation", _minilm, _half_by_relations, FROM_NOTHING, defines=("at_teacher", 0.0)),
)
