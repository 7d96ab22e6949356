"""The loss around the ends of fine-tuning: in random directions, on the way from the start, and on a plane.

The plane is that of hao2019visualizing: one axis leads from the start to the end, the other to where the same start
ends on another task. The study `small-models` records what is measured, each seed with a language of its own.
Depends on `more_seeds` (languages and pre-trained nets), `tuning.training` and `tuning.changes`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from bertology_utils.figures import Figure, surfaces
from bertology_utils.language.grammar import Sentence
from bertology_utils.models import Specimen
from bertology_utils.recorded_arms import Values, of_sides
from bertology_utils.runs import Runs
from bertology_utils.studies.training import more_seeds
from bertology_utils.studies.training.laboratory import captioned
from bertology_utils.tuning import training
from bertology_utils.tuning.changes import along_line
from bertology_utils.tuning.tiny_pretraining import number_examples
from bertology_utils.tuning.training import Classifier, Examples, FineTuned, finetune

RISE = 0.2  # nats of training loss at which a basin ends; with two classes a guess costs 0.69
RATES = {"learning_rate": 1e-3, "head_learning_rate": 4e-3}
EPOCHS, READ = 24, 100  # of fine-tuning, and sentences it reads
FAR = np.linspace(0, 3, 10)  # distances from an end, in weight norms or in ways from start to end
WAY = np.linspace(0, 1, 11)  # from start to end
RAYS, DIRECTIONS = 8, 3  # on the plane, and at random
PRETRAINED, SCRATCH = "pretrained", "scratch"
State = Mapping[str, Tensor]


def tense_examples(sentences: Sequence[Sentence]) -> Examples:
    """The other task: is the main clause in the past?"""
    return Examples([s.words for s in sentences], [int(s.features["tense"] == "past") for s in sentences])


def filter_normalised(state: State, generator: torch.Generator) -> dict[str, Tensor]:
    """A random direction whose every row is as long as the row of the weights; vectors and scalars stay where they are.

    The normalisation makes basins of models with larger and smaller weights comparable (hao2019visualizing).
    """
    direction = {}
    for name, weights in state.items():
        if weights.ndim < 2 or not weights.is_floating_point():
            direction[name] = torch.zeros_like(weights)
            continue
        noise = torch.randn(weights.shape, generator=generator)
        scale = weights.norm(dim=-1, keepdim=True) / noise.norm(dim=-1, keepdim=True)
        direction[name] = noise * scale
    return direction


def basin_width(curve: Sequence[float], alphas: Sequence[float], rise: float = RISE) -> float:
    """The alpha at which the loss first exceeds its value at alphas[0] by `rise`, interpolated; else the last alpha."""
    curve, alphas = np.asarray(curve, dtype=float), np.asarray(alphas, dtype=float)
    above = np.flatnonzero(curve > curve[0] + rise)
    if not len(above):
        return float(alphas[-1])
    i = int(above[0])
    share = (curve[0] + rise - curve[i - 1]) / (curve[i] - curve[i - 1])
    return float(alphas[i - 1] + share * (alphas[i] - alphas[i - 1]))


def barrier(curve: Sequence[float]) -> float:
    """How far the loss on a way, (points,), rises above that of its first point before it ends lower, in nats."""
    return float(np.max(curve) - curve[0])


def norm(state: State) -> float:
    """Length of all weights together."""
    return float(sum(value.double().pow(2).sum() for value in state.values() if value.is_floating_point()) ** 0.5)


def moved(state: State, *steps: tuple[float, State]) -> dict[str, Tensor]:
    """A state and multiples of directions."""
    total = {name: value.clone() for name, value in state.items()}
    for size, direction in steps:
        for name, value in total.items():
            if value.is_floating_point():
                value.add_(direction[name], alpha=float(size))
    return total


@dataclass(frozen=True)
class Ends:
    """Where one start ends on a task, and on another one whose direction is the plane's second axis.

    run, other: fine-tuned from the same weights, head and all; train, test: examples of the first task.
    """

    run: FineTuned
    other: FineTuned
    train: Examples
    test: Examples

    @classmethod
    def of(
        cls, start: Specimen, sentences: Sequence[Sentence], held_out: Sequence[Sentence], seed: int, epochs: int
    ) -> Self:
        """Fine-tunes a start on the number of the subject, and on tense, with one head's first weights for both."""
        tasks = [[make(part) for part in (sentences, held_out)] for make in (number_examples, tense_examples)]
        run, other = (finetune(start, *parts, seed, epochs=epochs, **RATES) for parts in tasks)
        return cls(run, other, *tasks[0])

    @cached_property
    def end(self) -> State:
        """The weights after fine-tuning."""
        return {name: value.clone() for name, value in self.run.classifier.state_dict().items()}

    @cached_property
    def axes(self) -> tuple[State, State]:
        """From the start to the end, and to the other end, as long as the first (hao2019visualizing)."""
        start, other = self.run.start, self.other.classifier.state_dict()
        way, aside = ({name: to[name] - start[name] for name in start} for to in (self.end, other))
        scale = norm(way) / norm(aside)
        return way, {name: scale * value for name, value in aside.items()}

    @cached_property
    def loss(self) -> Callable[[Classifier], np.ndarray]:
        """Training losses of a classifier, its batches made once: (items,)."""
        made = [batch for _, batch in training.batches(self.run.specimen, self.train)]

        @torch.no_grad()
        def losses(classifier: Classifier) -> np.ndarray:
            return torch.cat([training.classification_loss(classifier, batch) for batch in made]).numpy()

        return losses

    def line(self, start: State, end: State, alphas: Sequence[float]) -> np.ndarray:
        """Mean training loss from one state (0) to another (1): (alphas,)."""
        return along_line(self.run.classifier, start, self.loss, alphas, end).mean(1)

    def surface(self, alphas: Sequence[float], betas: Sequence[float]) -> np.ndarray:
        """Mean training loss on the plane: (betas, alphas). The start is at (0, 0), the end at alpha 1, beta 0."""
        way, aside = self.axes
        rows = [moved(self.run.start, (beta, aside)) for beta in betas]
        return np.stack([self.line(row, moved(row, (1, way)), alphas) for row in rows])

    def measured(self, seed: int) -> Values:
        """What a seed records.

        width: how far the weights can move, in their own lengths, before the training loss has risen by `RISE`, mean of
        random directions; valley: the same on the plane, mean of `RAYS` directions, in ways from start to end; travel:
        that way in lengths of the weights; path_0 ...: the loss on it, which rises above its start by barrier; fit:
        training accuracy; gap: test minus training loss.
        """
        generator, turns = torch.Generator().manual_seed(seed), np.arange(RAYS) * 2 * np.pi / RAYS
        random = [moved(self.end, (1, filter_normalised(self.end, generator))) for _ in range(DIRECTIONS)]
        rays = [moved(self.end, *zip((np.cos(turn), np.sin(turn)), self.axes, strict=True)) for turn in turns]
        width, valley = (
            np.mean([basin_width(self.line(self.end, to, FAR), FAR) for to in directions])
            for directions in (random, rays)
        )
        run, path = self.run, self.line(self.run.start, self.end, WAY)
        gap = training.item_losses(run.classifier, run.specimen, self.test).mean() - path[-1]
        found = {"width": width, "valley": valley, "travel": norm(self.axes[0]) / norm(self.end), "gap": gap}
        found |= {
            "fit": training.correctness(run.classifier, run.specimen, self.train).mean(),
            "barrier": barrier(path),
        }
        return {name: float(value) for name, value in found.items()} | {
            f"path_{i}": float(v) for i, v in enumerate(path)
        }


def landscapes(seeds: Sequence[int]) -> Runs:
    """`Ends.measured` of a pre-trained and of an untrained start; the control has the latter in the place of both."""
    models = more_seeds.pretrained(more_seeds.texts_of(seeds), seeds), more_seeds.untrained(seeds)
    trained, control = [], []
    for seed, *starts in zip(seeds, *models, strict=True):
        own = more_seeds.sentences_of(seed)
        ends = [Ends.of(start, own[:READ], own[-more_seeds.HELD_OUT :], seed, EPOCHS) for start in starts]
        after, scratch = (end.measured(seed) for end in ends)
        for side, first in ((trained, after), (control, scratch)):
            pairs = ((PRETRAINED, first), (SCRATCH, scratch))
            side.append({f"{kind}_{start}": value for start, found in pairs for kind, value in found.items()})
    return of_sides(trained, control, READ)


def way(runs: Runs, start: str) -> np.ndarray:
    """Recorded losses on the way from a start to its end: (points of `WAY`, seeds)."""
    return np.stack([runs.model[f"path_{i}_{start}"][:, 0] for i in range(len(WAY))])


def drawn(ends: Mapping[str, Ends], steps: int, claim: str, caption: str) -> Figure:
    """The planes of some starts, one above the other, `steps` points along each axis, start and end marked."""
    alphas, betas = np.linspace(-1, 3, steps), np.linspace(-2, 2, steps)
    losses = {name: own.surface(alphas, betas) for name, own in ends.items()}
    rims = {name: own.line(own.end, own.end, [0])[0] + RISE for name, own in ends.items()}
    return surfaces(
        losses, alphas, betas, marks={"start": (0, 0), "end": (1, 0)}, rims=rims,
        label="training loss (nats)", xlabel="from start to end", ylabel="towards the other task",
        caption=captioned(caption, claim),
    )  # fmt: skip


EXPERIMENTS = {"loss-landscapes": landscapes}
