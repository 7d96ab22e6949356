"""How steadily and how flatly fine-tuning ends: the width of the basin, and heads on raw or normalised [CLS] vectors.

Depends on `training` and `changes` for the models and the loss along a line; section 6 of the survey.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bertology_utils.tuning.changes import along_line
from bertology_utils.tuning.training import Examples, FineTuned, item_losses


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
