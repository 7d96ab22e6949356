"""What every method of Table 1 is given: a tuned teacher, labelled examples, unlabelled text, a seed and one budget.

Depends on `problems`, on the classifier of `tuning.training` and on its descent. A method is two functions at most: one
from a `Course` to a body that has read text, one from a `Lesson` to the `Small` network that it makes.
"""

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.compression.methods.problems import Problem, Questions
from bertology_utils.compression.scorecard import count
from bertology_utils.errors import BertologyError
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.text import Words, encode_words, model_inputs, token_budget_batches
from bertology_utils.tuning.descent import descend, trainable
from bertology_utils.tuning.mlm_training import endless_batches, masked_loss
from bertology_utils.tuning.training import INIT_DEVIATION, Classifier

Batch = dict[str, Tensor]
Loss = Callable[[nn.Module, Batch], Tensor]
BODY_RATE, HEAD_RATE, TEXT_RATE = 2e-4, 2e-3, 1e-3
FROM_NOTHING = 16  # times the usual text and steps on it, for a body that begins with none of the teacher's blocks


@dataclass(frozen=True)
class Budget:
    """Sizes of one re-enactment, the same for every row: examples of a task, passes, test examples, steps on text."""

    examples: int = 720
    epochs: int = 2
    test: int = 300
    text_steps: int = 100
    pieces: int = 512  # of one batch of examples
    text_pieces: int = 1024


# ---------------------------------------------------------------- networks and what they read


class Network(Classifier):
    """A body and a linear layer: batch -> logits (answers, classes), an answer a sentence or a word.

    Where the batch has `places` (batch, pieces), True at the first piece of each word that is asked, every such word is
    answered; else the sentence, as `Classifier`. The body is any module that gives a `last_hidden_state` and has a
    `config` with its `hidden_size`.
    """

    def features(self, places: Tensor | None = None, **batch: Tensor) -> Tensor:
        if places is None:
            return super().features(**batch)
        return self.encoder(**batch).last_hidden_state[places]


@dataclass(frozen=True)
class Encoded:
    """Questions as one tokenizer cuts them: padded inputs (examples, pieces), labels (examples,) or by piece."""

    inputs: Mapping[str, Tensor]
    labels: Tensor

    @classmethod
    def of(cls, specimen: Specimen, questions: Questions) -> "Encoded":
        encodings = encode_words(specimen, questions.sentences, questions.pairs)
        inputs = model_inputs(specimen, encodings)
        if not questions.of_words:
            return cls(inputs, torch.as_tensor(questions.labels))
        labels = torch.full(inputs["input_ids"].shape, IGNORED)
        for row, (encoding, own) in enumerate(zip(encodings, questions.labels, strict=True)):
            for word, label in enumerate(own):
                labels[row, encoding.word_ids.index(word)] = label
        return cls(inputs, labels)

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Pieces of each example: (examples,)."""
        return self.inputs["attention_mask"].sum(1).numpy()

    def batch(self, rows: Sequence[int]) -> Batch:
        """These examples without needless padding; `labels` (answers,), and `places` where words are asked."""
        longest = int(self.lengths[rows].max())
        made = {name: values[rows, :longest] for name, values in self.inputs.items()}
        labels = self.labels[rows]
        if labels.dim() == 1:
            return made | {"labels": labels}
        places = labels[:, :longest] != IGNORED
        return made | {"labels": labels[:, :longest][places], "places": places}

    def batches(self, pieces: int, order: np.random.Generator | None = None) -> Iterator[Batch]:
        """All examples once, about `pieces` of them in a batch; `order` shuffles."""
        rows = np.arange(len(self)) if order is None else order.permutation(len(self))
        groups = token_budget_batches(self.lengths[rows].tolist(), pieces)
        for group in range(len(groups)) if order is None else order.permutation(len(groups)):
            yield self.batch(rows[groups[group]])


def asked(batch: Batch) -> Batch:
    """The batch without its labels: what a network is given."""
    return {name: values for name, values in batch.items() if name != "labels"}


def hard_loss(network: nn.Module, batch: Batch) -> Tensor:
    """Cross-entropy of the right answers, a scalar."""
    return nn.functional.cross_entropy(network(**asked(batch)), batch["labels"])


@torch.no_grad()
def right_answers(network: nn.Module, encoded: Encoded, pieces: int = 1024) -> np.ndarray:
    """Which answers are right, (answers,), in the order of the questions and of their words."""
    network.eval()
    found: list[np.ndarray] = [np.empty(0)] * len(encoded)
    for group in token_budget_batches(encoded.lengths.tolist(), pieces):
        batch = encoded.batch(group)
        right = (network(**asked(batch)).argmax(-1) == batch["labels"]).numpy()
        answers = batch["places"].sum(1).tolist() if "places" in batch else [1] * len(group)
        for row, own in zip(group, np.split(right, np.cumsum(answers)[:-1]), strict=True):
            found[row] = own
    return np.concatenate(found)


# ---------------------------------------------------------------- what a method is given


@dataclass(frozen=True)
class Course:
    """The pre-trained model, unlabelled sentences of all words, a seed and the budget; nothing of a task."""

    origin: Specimen
    text: Sequence[Words]
    seed: int
    budget: Budget

    def masked(self, specimen: Specimen | None = None) -> Iterator[Batch]:
        """Endless masked batches of the text, cut by the origin's tokenizer or another's; `labels` (batch, pieces)."""
        chosen = specimen or self.origin
        return endless_batches(chosen, encode_words(chosen, self.text), self.seed, self.budget.text_pieces)

    def read(
        self,
        specimen: Specimen,
        loss: Loss | None = None,
        *,
        rate: float = TEXT_RATE,
        steps: int | None = None,
        also: Sequence[nn.Module] = (),
        each: Callable[[float], None] | None = None,
    ) -> np.ndarray:
        """Trains the specimen's model in place on the text: losses (steps,).

        loss(model, batch) is a scalar; by default that of masked words. `also` are trained with it, such as maps from
        one width to another. `each` is called before every step with the share of the training that is done.
        """
        feed = self.masked(specimen)
        loss = loss or (lambda model, batch: masked_loss(model, batch).mean())
        parts = [(module, rate) for module in (specimen.model, *also)]
        return _trained(specimen.model, parts, loss, feed, steps or self.budget.text_steps, each)


@dataclass(frozen=True)
class Lesson(Course):
    """A course with a task: its questions, the teacher that was tuned on it, and the `body` to begin with.

    `body` is what the method's first stage made of the text, or the origin itself. Nothing given is ever changed:
    methods work on copies.
    """

    problem: Problem
    teacher: Network = field(repr=False)
    body: Specimen

    @cached_property
    def train_set(self) -> Encoded:
        return Encoded.of(self.body, self.problem.train)

    @property
    def steps(self) -> int:
        """Of one tuning: as many as the teacher had."""
        groups = token_budget_batches(self.train_set.lengths.tolist(), self.budget.pieces)
        return self.budget.epochs * len(groups)

    def network(self, body: nn.Module | None = None) -> Network:
        """A copy of a bare body (by default the lesson's) with a new head, drawn with the lesson's seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return new_network(copy.deepcopy(body or self.body.encoder), self.body, self.problem)

    def copy_of_teacher(self) -> Network:
        return copy.deepcopy(self.teacher)

    def feed(self, encoded: Encoded | None = None, seed: int = 0) -> Iterator[Batch]:
        """Endless shuffled batches of the training examples, or of others."""
        order = np.random.default_rng((self.seed, seed))
        while True:
            yield from (encoded or self.train_set).batches(self.budget.pieces, order)

    def train(
        self,
        network: Network,
        loss: Loss = hard_loss,
        *,
        rate: float = BODY_RATE,
        steps: int | None = None,
        encoded: Encoded | None = None,
        also: Sequence[nn.Module] = (),
        also_rate: float | None = None,
        each: Callable[[float], None] | None = None,
    ) -> np.ndarray:
        """Trains a network in place, as many steps as the teacher had unless told: losses (steps,).

        loss(network, batch) is a scalar. The head learns ten times faster than the body, as the teacher's; `encoded`
        are other examples than the task's; `also` and `each` as in `read`, the former at `also_rate` or the body's.
        """
        parts = [(network.encoder, rate), (network.head, 10 * rate), *((module, also_rate or rate) for module in also)]
        return _trained(network, parts, loss, self.feed(encoded), self.steps if steps is None else steps, each)


def new_network(body: nn.Module, specimen: Specimen, problem: Problem) -> Network:
    """A body under a new head for this problem; the specimen's tokenizer says what stands between two sentences."""
    network = Network(body, problem.classes, "pair" if problem.paired else "mean", specimen.tokenizer.sep_token_id)
    nn.init.normal_(network.head.weight, std=INIT_DEVIATION)
    nn.init.zeros_(network.head.bias)
    return network


def _trained(network, parts, loss: Loss, feed: Iterator[Batch], steps: int, each) -> np.ndarray:
    if steps < 1:
        return np.empty(0)
    groups = [{"params": trainable(part), "lr": rate} for part, rate in parts if trainable(part)]
    count = iter(range(steps))

    def loss_of_step() -> Tensor:
        if each:
            each(next(count) / steps)
        return loss(network, next(feed))

    network.train()
    losses = descend(groups, loss_of_step, steps)
    network.eval()
    if each:
        each(1.0)
    return losses


def course(origin: Specimen, text: Sequence[Words], seed: int, budget: Budget) -> Course:
    """Checks what is asked: a method needs text and a model with a masked-language-model head."""
    if not text:
        raise BertologyError("A course needs sentences to read.")
    if not origin.has_mlm_head:
        raise BertologyError(f"{origin.name} has no masked-language-model head, so it has no predictions to teach.")
    return Course(origin, text, seed, budget)


def lesson(course: Course, problem: Problem, body: Specimen | None = None, teacher: Network | None = None) -> Lesson:
    """The course with a task; the teacher is tuned here unless it is given."""
    shared = {part.name: getattr(course, part.name) for part in dataclasses.fields(Course)}
    made = Lesson(**shared, problem=problem, teacher=teacher, body=body or course.origin)
    return made if teacher is not None else dataclasses.replace(made, teacher=_tuned(made))


def _tuned(lesson: Lesson) -> Network:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(lesson.seed)
        network = lesson.network(lesson.origin.encoder)
        lesson.train(network)
    return network


# ---------------------------------------------------------------- what a method makes


@dataclass(frozen=True)
class Small:
    """What a method made of a teacher, and what that costs.

    Attributes:
        network: batch -> logits, in evaluation mode.
        parameters: numbers that are stored, shared ones once, zeros of a pruned matrix not at all.
        bytes: of the file, in the form that the method stores.
        memory: bytes of weights while it runs as it runs here; rounded or pruned floats take the room of floats.
        facts: what defines the method, measured on this network, such as the share of pruned weights that are zero.
        body: whose tokenizer cuts its inputs; None for the lesson's body.
    """

    network: nn.Module = field(repr=False)
    parameters: int
    bytes: int
    memory: int
    facts: Mapping[str, float] = field(default_factory=dict)
    body: Specimen | None = None


def dense(network: nn.Module, body: Specimen | None = None, **facts: float) -> Small:
    """A network stored as it is, four bytes a parameter."""
    size = count(network)
    return Small(network.eval(), size, 4 * size, 4 * size, facts, body)


def sparse(network: nn.Module, masks: Mapping[str, Tensor], **facts: float) -> Small:
    """A network of which what the masks keep is stored, with one bit a weight that says where; it runs as floats.

    masks: parameter name in `network` -> booleans, True = kept.
    """
    size, held = count(network), sum(mask.numel() for mask in masks.values())
    kept = size - held + sum(int(mask.sum()) for mask in masks.values())
    return Small(network.eval(), kept, 4 * kept + -(-held // 8), 4 * size, facts)


# ---------------------------------------------------------------- rows


@dataclass(frozen=True)
class Method:
    """A row of Table 1, or a baseline beside it.

    Attributes:
        row: its name in `table1.csv`; a baseline has a name of its own.
        family: reference, distillation, quantisation, pruning, other, or baseline.
        special: from a lesson to the small network.
        general: what it does with unlabelled text before any task, once a seed.
        reads: times the usual text and steps on it that `general` is given; above 1, as reading is long, one body is
            made and tuned with every seed, as the studies tuned theirs.
        counted: what the row's own factor counts: "all", "encoder" or "bytes".
        defines: the fact (of `Small.facts`) that defines the method, and its value: tests and the table hold it to it.
        model, problems: another teacher and other tasks than the table's, where the row is about such.
    """

    row: str
    family: str
    special: Callable[[Lesson], Small]
    general: Callable[[Course], Specimen] | None = None
    reads: int = 1
    counted: str = "all"
    defines: tuple[str, float] | None = None
    model: str | None = None
    problems: tuple[str, ...] | None = None


def read_body(method: Method, course: Course) -> Specimen | None:
    """What the method's first stage makes of the course's text; None where it has no such stage."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(course.seed)
        return method.general(course) if method.general else None


def enact(
    method: Method,
    course: Course,
    problems: Sequence[Problem],
    teachers: Sequence[Network],
    body: Specimen | None = None,
) -> list[Small]:
    """The method on each problem, with one body for all of them: the given one, or one that reads the course's text."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(course.seed)
        if body is None and method.general:
            body = method.general(course)
        lessons = [lesson(course, p, body, t) for p, t in zip(problems, teachers, strict=True)]
        return [method.special(own) for own in lessons]
