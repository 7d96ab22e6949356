"""Controls of probing: control tasks, description length, removed subspaces, trivial baselines. Needs ``probes``.

Control tasks follow hewitt2019designing, the online code voita2020information.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.probes import Labels, train_probe

PORTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class ControlTask:
    """A label for every word type, drawn once from the distribution of the real labels (hewitt2019designing).

    The draw depends on the word and the seed only, so that a type has the same label in training and test, also one
    that training never showed.
    """

    names: tuple[Hashable, ...]
    cumulative: tuple[float, ...]
    seed: int = 0

    @classmethod
    def of(cls, labels: Sequence[Hashable], seed: int = 0) -> Self:
        """The control of a task with these training labels (one per token: frequent labels are drawn often)."""
        if not len(labels):
            raise BertologyError("A control task needs the labels of the real task; there are none.")
        counts = sorted(Counter(labels).items(), key=lambda item: str(item[0]))
        shares = np.cumsum([count for _, count in counts]) / len(labels)
        return cls(tuple(name for name, _ in counts), tuple(shares), seed)

    def labels(self, words: Sequence[str]) -> list[Hashable]:
        """The control label of each word; case is part of the type, as it is part of what the model reads."""
        places = np.searchsorted(self.cumulative, [_uniform(word, self.seed) for word in words], side="right")
        return [self.names[place] for place in places.clip(max=len(self.names) - 1)]


def selectivity(task: np.ndarray, control: np.ndarray) -> np.ndarray:
    """Score of the task minus score of its control, item by item; the mean is the study's selectivity.

    Both arrays have items last, in the same order. Raises BertologyError if they do not fit.
    """
    if np.shape(task) != np.shape(control):
        raise BertologyError(f"Task and control must score the same items: {np.shape(task)}, {np.shape(control)}.")
    return np.asarray(task, dtype=float) - np.asarray(control, dtype=float)


def majority_baseline(train_labels: Sequence[Hashable], test_labels: Sequence[Hashable]) -> np.ndarray:
    """Always guess the most frequent training label: 0/1 ``(items,)``."""
    guess = _most_frequent(train_labels)
    return np.array([float(label == guess) for label in test_labels])


def word_baseline(
    train_words: Sequence[Hashable],
    train_labels: Sequence[Hashable],
    test_words: Sequence[Hashable],
    test_labels: Sequence[Hashable],
) -> np.ndarray:
    """Guess each word's most frequent training label, the overall majority for unseen words: 0/1 ``(items,)``."""
    seen: dict[Hashable, list[Hashable]] = {}
    for word, label in zip(train_words, train_labels, strict=True):
        seen.setdefault(word, []).append(label)
    table = {word: _most_frequent(labels) for word, labels in seen.items()}
    fallback = _most_frequent(train_labels)
    pairs = zip(test_words, test_labels, strict=True)
    return np.array([float(table.get(word, fallback) == label) for word, label in pairs])


@dataclass(frozen=True)
class OnlineCode:
    """Description length in bits of labels given vectors: ``bits (layers, seeds)``, ``uniform`` the cost unaided."""

    bits: np.ndarray
    uniform: float

    @property
    def compression(self) -> np.ndarray:
        """Uniform code over online code, ``(layers, seeds)``: 1 is nothing learnt, larger is better."""
        return self.uniform / self.bits


def online_code(
    features: torch.Tensor,
    labels: Labels,
    *,
    classes: int | None = None,
    seeds: int = 3,
    portions: Sequence[float] = PORTIONS,
    penalty: float = 10.0,
    seed: int = 0,
    **settings,
) -> OnlineCode:
    """Online code of ``labels (items,)`` given ``features (layers, items, width)`` (voita2020information).

    The first portion is sent by the uniform code, each next one by a probe trained on all before it; the probe on all
    items is not part of the code. Items are shuffled, differently for each seed. ``penalty`` is the prior that stands
    in for the study's early stopping; other settings as in ``train_probe``. Portions that hold no new item are skipped.
    """
    target = np.asarray(labels)
    classes = classes or int(target.max()) + 1
    ends = sorted({max(1, round(share * len(target))) for share in portions})
    bits = []
    for place in range(seed, seed + seeds):
        order = np.random.default_rng(place).permutation(len(target))
        shuffled, answers = features[:, order], target[order]
        total = np.full(len(features), ends[0] * math.log2(classes))
        for start, end in pairwise(ends):
            probe = train_probe(
                shuffled[:, :start], answers[:start], classes=classes, seeds=1, penalty=penalty, seed=place, **settings
            )
            total += probe.log_loss(shuffled[:, start:end], answers[start:end])[:, 0].sum(-1)
        bits.append(total)
    return OnlineCode(np.stack(bits, axis=1), len(target) * math.log2(classes))


@dataclass(frozen=True)
class RemovedSubspace:
    """``projection (width, width)``: apply as ``vectors @ projection``; ``basis (width, rank)`` spans what is removed.

    Only differences along the basis go; the mean of the vectors is moved too, unless it is taken off first.
    """

    projection: torch.Tensor
    basis: torch.Tensor

    @property
    def rank(self) -> int:
        """Number of dimensions removed."""
        return self.basis.shape[1]

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        return vectors @ self.projection.to(vectors.dtype)


def remove_directions(directions: torch.Tensor, tolerance: float = 1e-4) -> RemovedSubspace:
    """The orthogonal projection away from the columns of ``directions (width, any)``."""
    left, strengths, _ = torch.linalg.svd(directions.double(), full_matrices=False)
    basis = left[:, strengths > tolerance * strengths.max().clamp_min(1e-12)]
    return RemovedSubspace(torch.eye(len(directions), dtype=torch.double) - basis @ basis.T, basis)


def class_mean_projection(features: torch.Tensor, labels: Labels) -> RemovedSubspace:
    """Remove the directions in which the class means (or a quantity's covariance) lie, in one step and no more.

    Afterwards no linear least-squares probe of the training items beats a constant: the smallest such removal.
    """
    centred = features.double() - features.double().mean(0)
    return remove_directions(centred.T @ _targets(labels) / len(centred))


def matched_projection(features: torch.Tensor, removed: RemovedSubspace, seed: int = 0) -> RemovedSubspace:
    """Remove as many directions outside of ``removed``, with as much variance of ``features (items, width)``.

    All of them are orthogonal to what ``removed`` takes: a control that takes part of the property would not be one.
    Directions are Gaussian with the remaining covariance to a power, which is sought by bisection: power 0 draws every
    direction alike, a high one the directions of most variance. Where even these hold less, they are the match; see
    ``variance_share``.
    """
    centred = features.double() - features.double().mean(0)
    scatter = centred.T @ centred
    variances, axes = torch.linalg.eigh(removed.projection.T @ scatter @ removed.projection)
    scales = variances.clamp_min(0) / variances.max()
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(len(axes), removed.rank, generator=generator, dtype=torch.double)

    def variance(subspace: RemovedSubspace) -> float:
        return float((subspace.basis.T @ scatter @ subspace.basis).trace())

    wanted = variance(removed)
    low, high = 0.0, 8.0
    for _ in range(25):
        power = (low + high) / 2
        candidate = remove_directions(removed.projection @ axes @ (scales[:, None] ** power * drawn), tolerance=0.0)
        low, high = (power, high) if variance(candidate) < wanted else (low, power)
    return candidate


def variance_share(features: torch.Tensor, removed: RemovedSubspace) -> float:
    """The share of the variance of ``features (items, width)`` that lies in the removed directions."""
    centred = features.double() - features.double().mean(0)
    return float((centred @ removed.basis).square().sum() / centred.square().sum())


def _targets(labels: Labels) -> torch.Tensor:
    """Centred targets ``(items, columns)``: one column a class, or the quantity itself."""
    values = torch.as_tensor(np.asarray(labels))
    if not values.is_floating_point():
        values = torch.nn.functional.one_hot(values.long())
    values = values.double().reshape(len(values), -1)
    return values - values.mean(0)


def _most_frequent(labels: Sequence[Hashable]) -> Hashable:
    return max(sorted(Counter(labels).items(), key=lambda item: str(item[0])), key=lambda item: item[1])[0]


def _uniform(word: str, seed: int) -> float:
    """A number in [0, 1) that is fixed by word and seed on every machine."""
    digest = hashlib.sha256(f"{seed}\t{word}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
