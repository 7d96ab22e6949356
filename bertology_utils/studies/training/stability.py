"""How steadily and how flatly fine-tuning ends: the width of the basin, and heads on raw or normalised [CLS] vectors.

Depends on `training` and `changes` for the models and the loss along a line, on `laboratory`, `runs` and `figures`;
section 6 of the survey.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertology_utils.activations import sentence_vectors
from bertology_utils.figures import Figure, curve
from bertology_utils.language.grammar import generate
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import by_unit, per_seed
from bertology_utils.studies.training.laboratory import Models, captioned, nouns_of
from bertology_utils.tuning.changes import along_line
from bertology_utils.tuning.tiny_pretraining import number_examples
from bertology_utils.tuning.training import Examples, FineTuned, correctness, finetune, item_losses

RISE = 0.2  # nats of training loss at which a basin ends; with two classes a guess costs 0.69
RATES = {"learning_rate": 1e-3, "head_learning_rate": 4e-3}
PRETRAINED, SCRATCH = "pretrained", "scratch"


def filter_normalised(state: dict[str, Tensor], generator: torch.Generator) -> dict[str, Tensor]:
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


def loss_slices(
    run: FineTuned, examples: Examples, alphas: Sequence[float], directions: int = 3, seed: int = 0
) -> np.ndarray:
    """Mean loss at theta + alpha d for random filter-normalised d: (directions, alphas), in nats."""
    state = {name: value.clone() for name, value in run.classifier.state_dict().items()}
    generator = torch.Generator().manual_seed(seed)
    curves = []
    for _ in range(directions):
        step = filter_normalised(state, generator)
        end = {name: value + step[name] for name, value in state.items()}
        losses = along_line(run.classifier, state, lambda c: item_losses(c, run.specimen, examples), alphas, end)
        curves.append(losses.mean(1))
    return np.stack(curves)


def basin_width(curve: Sequence[float], alphas: Sequence[float], rise: float = 0.5) -> float:
    """The alpha at which the loss first exceeds its value at alphas[0] by `rise`, interpolated; else the last alpha."""
    curve, alphas = np.asarray(curve, dtype=float), np.asarray(alphas, dtype=float)
    above = np.flatnonzero(curve > curve[0] + rise)
    if not len(above):
        return float(alphas[-1])
    i = int(above[0])
    share = (curve[0] + rise - curve[i - 1]) / (curve[i] - curve[i - 1])
    return float(alphas[i - 1] + share * (alphas[i] - alphas[i - 1]))


@dataclass(frozen=True)
class Basins:
    """Where fine-tuning ends from a pre-trained start and from scratch, and the loss around it.

    task: training and test examples; ends: start -> one run a seed; slices: start -> one (directions, alphas) a seed,
    training loss in nats at distances `alphas` in units of the weights' own norms.
    """

    task: tuple[Examples, Examples]
    alphas: np.ndarray
    ends: Mapping[str, Sequence[FineTuned]]
    slices: Mapping[str, Sequence[np.ndarray]]

    @property
    def samples(self) -> Runs:
        """`width`, `fit` and `gap` of both starts, (seeds, 1 or nouns); the control has scratch in the place of both.

        width: distance to a rise of 0.2 nats; fit: correctness on training examples; gap: test minus training loss.
        """
        found = {f"{kind}_{start}": values for start in self.ends for kind, values in self._of(start).items()}
        return Runs(found, {name: found[name.replace(PRETRAINED, SCRATCH)] for name in found})

    def _of(self, start: str) -> dict[str, np.ndarray]:
        runs, (train, test) = self.ends[start], self.task
        widths = [[basin_width(line, self.alphas, RISE) for line in lines] for lines in self.slices[start]]
        learnt, asked = (
            np.stack([item_losses(run.classifier, run.specimen, part) for run in runs]) for part in (train, test)
        )
        fit = np.stack([correctness(run.classifier, run.specimen, train) for run in runs])
        gap = by_unit(asked - learnt.mean(1, keepdims=True), nouns_of(test))
        return {"width": per_seed(np.mean(widths, axis=1)), "fit": by_unit(fit, nouns_of(train)), "gap": gap}

    def figure(self, claim: str, caption: str) -> Figure:
        """Training loss over the distance from the end of fine-tuning."""
        lines = {start: np.concatenate(slices).T for start, slices in self.slices.items()}
        return curve(
            self.alphas, lines, xlabel="distance (in weight norms)", ylabel="training loss (nats)",
            controls=(SCRATCH,), caption=captioned(caption, claim),
        )  # fmt: skip


def basins(
    pretrained: Models, scratch: Models, task: tuple[Examples, Examples], epochs: int, alphas: np.ndarray
) -> Basins:
    """Fine-tunes both starts for equally many steps, and walks away from each end in random directions."""
    starts = {PRETRAINED: pretrained, SCRATCH: scratch}
    ends = {
        name: [finetune(model, *task, seed, epochs=epochs, **RATES) for seed, model in enumerate(models)]
        for name, models in starts.items()
    }
    slices = {
        name: [loss_slices(run, task[0], alphas, seed=seed) for seed, run in enumerate(runs)]
        for name, runs in ends.items()
    }
    return Basins(task, alphas, ends, slices)


def off_centre(vectors: Tensor) -> np.ndarray:
    """Cosine of each vector with the mean of all: (items,). About 0 where a cloud is centred on zero, 1 far from it."""
    vectors = vectors.float()
    return torch.nn.functional.cosine_similarity(vectors, vectors.mean(0, keepdim=True)).numpy()


def standardised(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """Both sets (items, width) with the training set's mean and deviation taken out (zhou2019improving)."""
    mean, deviation = train.mean(0), train.std(0).clamp_min(1e-6)
    return (train - mean) / deviation, (test - mean) / deviation


def linear_heads(
    train: Tensor,
    labels: Sequence[int],
    test: Tensor,
    test_labels: Sequence[int],
    seeds: int = 10,
    epochs: int = 10,
    learning_rate: float = 1e-3,
) -> np.ndarray:
    """Linear classifiers trained as in fine-tuning, all seeds at once: correctness (seeds, test items).

    Seeds differ in initial weights and in data order; Adam, batches of 32, no normalisation of the features.
    """
    generator = torch.Generator().manual_seed(0)
    target, gold = torch.as_tensor(np.asarray(labels)), np.asarray(test_labels)
    classes = int(max(target.max(), gold.max())) + 1
    weight = (0.02 * torch.randn(seeds, train.shape[1], classes, generator=generator)).requires_grad_(True)
    bias = torch.zeros(seeds, 1, classes, requires_grad=True)
    optimiser = torch.optim.Adam([weight, bias], lr=learning_rate)
    for _ in range(epochs):
        orders = torch.stack([torch.randperm(len(train), generator=generator) for _ in range(seeds)])
        for rows in orders.split(32, dim=1):  # rows: (seeds, batch)
            logits = train[rows] @ weight + bias
            loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), target[rows], reduction="none")
            optimiser.zero_grad()
            loss.mean(1).sum().backward()
            optimiser.step()
    with torch.no_grad():
        return ((test @ weight + bias).argmax(-1).numpy() == gold).astype(float)


def number_parts(train: int, test: int, seed: int) -> dict[str, Examples]:
    """Is the subject plural? Examples of one-clause sentences by part; no content word is in both."""
    sizes = {"train": train, "test": test}
    return {part: number_examples(generate(n, seed=seed, split=part, kind="simple")) for part, n in sizes.items()}


def heads_on_cls(specimen: Specimen, parts: Mapping[str, Examples], seeds: int) -> dict[str, np.ndarray]:
    """Linear heads on raw and on normalised [CLS] vectors of the last layer (zhou2019improving).

    `off_centre` (nouns,): cosine with the mean; `raw` and `normalised` (seeds, nouns of the test): correctness;
    `spread_...` (seeds, 1): how far each head's accuracy lies from the mean; `majority`: of always the same answer.
    """
    fit, test = (sentence_vectors(specimen, parts[part].sentences, pool="cls")[-1] for part in ("train", "test"))
    gold = parts["test"].labels
    found = {"off_centre": by_unit(off_centre(fit), nouns_of(parts["train"]))}
    for name, (seen, new) in {"raw": (fit, test), "normalised": standardised(fit, test)}.items():
        found[name] = by_unit(linear_heads(seen, parts["train"].labels, new, gold, seeds), nouns_of(parts["test"]))
        means = found[name].mean(1)
        found[f"spread_{name}"] = per_seed(np.abs(means - means.mean()))
    plural = np.mean(gold)
    return found | {"majority": max(plural, 1 - plural)}
