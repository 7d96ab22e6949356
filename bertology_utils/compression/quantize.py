"""Post-training quantisation, with no retraining: 8-bit integers and GOBO's few centroids.

Depends on torch. Every function returns a changed copy and what it costs in bytes; the weights are written back as
32-bit floats of the quantised values, so the copy runs anywhere and its accuracy is that of the small model, while the
size is the arithmetic of the stored form. `dynamic_int8` alone gives a model that computes in integers.
"""

import copy
import math
import warnings
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor, nn

from bertology_utils.errors import BertologyError


@dataclass(frozen=True)
class Quantised:
    """The changed model, bytes before and after (all parameters), and the share of weights kept at full precision."""

    model: nn.Module = field(repr=False)
    bytes_before: int
    bytes_after: int
    outlier_share: float = 0.0

    @property
    def factor(self) -> float:
        return self.bytes_before / self.bytes_after


def _matrices(model: nn.Module) -> list[nn.Parameter]:
    """Weight matrices of linear layers and embeddings, tied ones once."""
    weights = (module.weight for module in model.modules() if isinstance(module, nn.Linear | nn.Embedding))
    return list({id(weight): weight for weight in weights}.values())


def _bytes(model: nn.Module) -> int:
    return 4 * sum(parameter.numel() for parameter in model.parameters())


def quantise_matrix(weight: Tensor, bits: int = 8) -> tuple[Tensor, Tensor]:
    """Symmetric integers of (out, in), one scale a row: (int8 integers, scales (out, 1)); value = integer * scale."""
    if not 2 <= bits <= 8:
        raise BertologyError(f"Integers of {bits} bits are not supported: choose 2 to 8.")
    top = 2 ** (bits - 1) - 1
    scale = weight.abs().amax(1, keepdim=True).clamp_min(1e-12) / top
    return (weight / scale).round().clamp(-top, top).to(torch.int8), scale


@torch.no_grad()
def quantise_weights(model: nn.Module, bits: int = 8) -> Quantised:
    """Symmetric linear quantisation of all weight matrices, one scale a row, as zafrir2019q8bert but after training.

    Deviations: weights only (activations stay floats), no quantisation-aware training.
    """
    changed = copy.deepcopy(model)
    size = _bytes(model)
    after = float(size)
    for weight in _matrices(changed):
        integers, scale = quantise_matrix(weight, bits)
        weight.copy_(integers * scale)
        after += weight.numel() * bits / 8 + 4 * scale.numel() - 4 * weight.numel()
    return Quantised(changed, size, math.ceil(after))


def dynamic_int8(model: nn.Module) -> nn.Module:
    """A copy whose linear layers compute in 8-bit integers on the CPU (torch's dynamic quantisation); for timing.

    Raises BertologyError where this torch no longer has it: torch announces its removal.
    """
    try:
        from torch.ao.quantization import quantize_dynamic
    except ImportError as error:
        raise BertologyError("This version of torch has no dynamic quantisation; use quantise_weights.") from error
    with warnings.catch_warnings():  # the announcement of its removal, told above
        warnings.simplefilter("ignore")
        return quantize_dynamic(copy.deepcopy(model).eval(), {nn.Linear}, dtype=torch.qint8)


@dataclass(frozen=True)
class GoboMatrix:
    """One matrix in GOBO form: values of the same shape, the centroids, and where full precision is kept."""

    values: np.ndarray
    centroids: np.ndarray
    outliers: np.ndarray


def gobo_matrix(weight: np.ndarray, bits: int = 3, expected_outliers: float = 0.001, rounds: int = 30) -> GoboMatrix:
    """2**bits centroids for the weights under a fitted Gaussian, its outliers left as they are (zadeh2020gobo).

    Outliers lie where a Gaussian would have `expected_outliers` of its mass: the study cuts at a log-density of -4,
    which depends on the scale of the matrix, and gets about 0.1 % of the weights; that share is what is fixed here.
    Centroids start as means of equally full bins, then alternate nearest-centroid assignment and means; the round with
    the smallest L1 distance is kept.
    """
    flat = np.asarray(weight, dtype=np.float64).ravel()
    outliers = gaussian_outliers(flat, expected_outliers)
    order = np.sort(flat[~outliers])
    centroids = _centroids(order, 2**bits, rounds)
    values = flat.copy()
    values[~outliers] = _nearest(flat[~outliers], centroids)
    return GoboMatrix(values.reshape(weight.shape), centroids, outliers.reshape(weight.shape))


def gaussian_outliers(weight: np.ndarray, expected: float = 0.001) -> np.ndarray:
    """Booleans of the same shape: where a Gaussian fitted to all weights would have `expected` of its mass."""
    values = np.asarray(weight, dtype=np.float64)
    return np.abs(values - values.mean()) / max(values.std(), 1e-12) > norm.isf(expected / 2)


def _centroids(order: np.ndarray, count: int, rounds: int) -> np.ndarray:
    """Sorted values -> centroids; prefix sums make each round a few look-ups."""
    sums = np.concatenate([[0.0], order.cumsum()])
    edges = np.linspace(0, len(order), count + 1).round().astype(int)
    best, best_distance = None, math.inf
    for _ in range(rounds):
        filled = np.diff(edges) > 0
        centroids = np.diff(sums[edges])[filled] / np.diff(edges)[filled]
        distance = np.abs(order - _nearest(order, centroids)).sum()
        if distance >= best_distance:
            break
        best, best_distance = centroids, distance
        middles = (centroids[1:] + centroids[:-1]) / 2
        edges = np.concatenate([[0], np.searchsorted(order, middles), [len(order)]])
    return best


def _nearest(values: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    return centroids[np.searchsorted((centroids[1:] + centroids[:-1]) / 2, values)]


@torch.no_grad()
def gobo(model: nn.Module, bits: int = 3) -> Quantised:
    """GOBO on every weight matrix: a copy of the model with at most 2**bits values a matrix beside its outliers.

    Size: `bits` a weight, 32 bits a centroid, and 64 bits (value and position) an outlier.
    """
    changed = copy.deepcopy(model)
    size = _bytes(model)
    after, kept, total = float(size), 0, 0
    for weight in _matrices(changed):
        made = gobo_matrix(weight.numpy(), bits)
        weight.copy_(torch.from_numpy(made.values))
        outliers = int(made.outliers.sum())
        after += weight.numel() * bits / 8 + 4 * len(made.centroids) + 8 * outliers - 4 * weight.numel()
        kept, total = kept + outliers, total + weight.numel()
    return Quantised(changed, size, math.ceil(after), kept / max(total, 1))
