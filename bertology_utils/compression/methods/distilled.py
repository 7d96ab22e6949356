"""Students with the teacher's own kind of blocks: they learn from text, from its answers or from its first pieces.

Depends on `lesson`, `students` and `traces`. Sizes are the studies' in proportion: half of the blocks or a quarter.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from bertology_utils.compression.distill import distillation_loss, student_of
from bertology_utils.compression.methods.lesson import (
    FROM_NOTHING,
    Batch,
    Course,
    Encoded,
    Lesson,
    Method,
    Network,
    Small,
    asked,
    dense,
)
from bertology_utils.compression.methods.problems import questions
from bertology_utils.compression.methods.references import HALF, fewer_blocks, first_blocks, leading, tuned_alone
from bertology_utils.compression.methods.students import Size, inherited, newborn
from bertology_utils.compression.methods.traces import answers_loss, soft_loss
from bertology_utils.errors import NotAskable
from bertology_utils.instruments.blocks import recorded_calls
from bertology_utils.models import Specimen, load

RUNG = "ladder-3m"  # a third of pocket-bert's size, as BERT-small is a quarter of BERT's; it read 2.6 million pieces
NEWBORN_RATE = 1e-3  # masked words after 300 steps: 4.66 nats, with 3e-3 5.27
TRANSFER, TRANSFER_SEED = 4, 9_000  # unlabelled examples for each labelled one; no seed of a task is as high
ALPHA, TEMPERATURE = 0.5, 5.0  # sun2019patient's share and temperature of the teacher's answers
BETA = 1.0  # weight of states: of 0.1, 1 and 10 what told active from passive best (.977, .987, .980 of a quarter)

Layers = Sequence[tuple[int, int]]


# ---------------------------------------------------------------- taught by text alone, or with predictions of words


def _distilbert(course: Course) -> Specimen:
    """Every other block of the teacher, taught by its predictions of masked words (sanh2019distilbert)."""
    student = student_of(course.origin)
    course.read(student, lambda model, batch: distillation_loss(model, course.origin.model, batch), rate=3e-4)
    return student


def _well_read(course: Course) -> Specimen:
    """A smaller BERT that has read text alone: the project's own, whose pieces are the teacher's, see `RUNG`.

    Where the teacher has other pieces, or is no larger, one with random weights reads the course's text.
    """
    rung, origin = load(RUNG), course.origin
    smaller = rung.model.num_parameters() < origin.model.num_parameters()
    if smaller and rung.tokenizer.get_vocab() == origin.tokenizer.get_vocab():
        return rung
    student = newborn(course.origin, Size.of(course.origin).share(depth=4 / 12, heads=2 / 3))
    course.read(student, rate=NEWBORN_RATE)
    return student


def _small(lesson: Lesson) -> Small:
    """BERT-small: no teacher at any stage (turc2019wellread)."""
    network = lesson.network()
    lesson.train(network)
    return dense(network, inherited=inherited(network.encoder, lesson.origin.encoder))


# ---------------------------------------------------------------- pre-trained, then distilled, then tuned


def _by_answers(lesson: Lesson) -> Small:
    """Copied blocks that imitate the teacher's answers and see no label (hinton2015distilling)."""
    network = lesson.network()
    lesson.train(network, partial(answers_loss, teacher=lesson.teacher))
    return dense(network)


def _pretrained_distillation(lesson: Lesson) -> Small:
    """After the text, one pass over unlabelled sentences of the task with the teacher's answers, then the labels.

    Transfer sentences are drawn as the task's own, with the words of its training split (turc2019wellread).
    """
    network = lesson.network()
    drawn = questions(lesson.problem.name, TRANSFER * lesson.budget.examples, TRANSFER_SEED + lesson.seed)
    steps = TRANSFER * max(1, lesson.steps // lesson.budget.epochs)
    transfer = Encoded.of(lesson.body, drawn)
    lesson.train(network, partial(answers_loss, teacher=lesson.teacher), encoded=transfer, steps=steps)
    lesson.train(network)
    return dense(network, inherited=inherited(network.encoder, lesson.origin.encoder))


# ---------------------------------------------------------------- patient: states of chosen layers


def skipping(student: int, teacher: int) -> Layers:
    """Which of the teacher's layers each of the student's follows, 1-based, spread evenly: 6 of 12 follow 2, 4 .. 10.

    The last layer follows none: the answers teach it.
    """
    return [(layer, layer * teacher // student) for layer in range(1, student)]


def last(student: int, teacher: int) -> Layers:
    """The same with the teacher's last layers: 6 of 12 follow 7, 8 .. 11."""
    return [(layer, teacher - student + layer) for layer in range(1, student)]


def first_pieces(network: Network, batch: Batch) -> tuple[Tensor, list[Tensor]]:
    """Logits, and the first pieces' states after layers 0 .. layers - 1: (batch, width) each."""
    with recorded_calls(network.encoder) as calls:
        logits = network(**asked(batch))
    return logits, [call.hidden[:, 0] for call in calls]


def distance(own: Tensor, target: Tensor) -> Tensor:
    """Squared distance of states (batch, width) of length one, mean over the batch: a scalar from 0 to 4."""
    own, target = (nn.functional.normalize(states, dim=-1) for states in (own, target))
    return (own - target).square().sum(-1).mean()


def distances(own: Sequence[Tensor], target: Sequence[Tensor], layers: Layers) -> Tensor:
    """Of each student's layer to the one that it follows: (pairs,)."""
    return torch.stack([distance(own[student], target[teacher]) for student, teacher in layers])


def patient_loss(network: Network, batch: Batch, teacher: Network, layers: Layers) -> Tensor:
    """(1 - a) cross-entropy + a divergence from softened answers + b mean distance of first pieces, a scalar."""
    with torch.no_grad():
        target, target_states = first_pieces(teacher, batch)
    logits, states = first_pieces(network, batch)
    hard = nn.functional.cross_entropy(logits, batch["labels"])
    soft = soft_loss(logits, target, TEMPERATURE)
    return (1 - ALPHA) * hard + ALPHA * soft + BETA * distances(states, target_states, layers).mean()


def _patient(lesson: Lesson, depth: float, follow: Callable[[int, int], Layers]) -> Small:
    """The pre-trained model's first blocks, at least two, tuned under `patient_loss` (sun2019patient).

    Fact `strayed`: layers that end further from the one that they follow than they began.
    """
    teacher = lesson.origin.layers
    if teacher < 2:
        raise NotAskable(f"{lesson.origin.name} has one layer: none lies below its last for a student to follow.")
    body = first_blocks(lesson.origin, depth)
    network = lesson.network(body.encoder)
    layers, batch = follow(body.layers, teacher), next(lesson.feed())
    before = _gaps(network.eval(), lesson.teacher, batch, layers)
    lesson.train(network, partial(patient_loss, teacher=lesson.teacher, layers=layers))
    after = _gaps(network, lesson.teacher, batch, layers)
    return dense(network, strayed=float((after > before).sum()), before=float(before.mean()), after=float(after.mean()))


@torch.no_grad()
def _gaps(network: Network, teacher: Network, batch: Batch, layers: Layers) -> Tensor:
    return distances(first_pieces(network, batch)[1], first_pieces(teacher, batch)[1], layers)


METHODS = (
    Method(
        "BERT-small",
        "reference",
        _small,
        general=_well_read,
        reads=FROM_NOTHING,
        defines=("inherited", 0.0),
    ),
    Method("DistilBERT", "distillation", tuned_alone, general=_distilbert),
    Method("BERT6-PKD", "distillation", partial(_patient, depth=1 / 2, follow=skipping), defines=("strayed", 0.0)),
    Method("BERT3-PKD", "distillation", partial(_patient, depth=1 / 4, follow=last), defines=("strayed", 0.0)),
    Method(
        "PD",
        "distillation",
        _pretrained_distillation,
        general=_well_read,
        reads=FROM_NOTHING,
        defines=("inherited", 0.0),
    ),
    Method("answers alone", "baseline", _by_answers, general=fewer_blocks(HALF)),
    Method("answers alone, first half", "baseline", _by_answers, general=leading(HALF)),
)
