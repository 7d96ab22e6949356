"""Outlier dimensions of the output layer norms, and switching them off (kovaleva2021bertbusters).

Depends on torch and on BERT-like names (`output.LayerNorm` of each block, not that of attention or embeddings).
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from bertology_utils.errors import NotAskable
from bertology_utils.instruments.blocks import put_back

PARTS = ("weight", "bias")  # scale and bias of a layer norm
SIGMAS = 3.0  # the study's
PERSISTENT = 0.25  # more than 3 of its 12 layers


@dataclass(frozen=True)
class Outlier:
    """A dimension that stands out, in how many layers its scale does, and in how many its bias does."""

    dimension: int
    scale_layers: int
    bias_layers: int


def output_norms(model: nn.Module) -> list[nn.LayerNorm]:
    """The layer norm after the feed-forward part of each block, first to last."""
    ends = (".output.LayerNorm", ".output_layer_norm", ".full_layer_layer_norm", ".final_layer_norm")
    found = [m for name, m in model.named_modules() if name.endswith(ends) and "attention" not in name]
    if len(found) != model.config.num_hidden_layers:
        raise NotAskable(f"{type(model).__name__} has no output layer norm in each block that this module knows.")
    return found


def deviations(model: nn.Module) -> np.ndarray:
    """|value - layer mean| / layer deviation of scales and of biases: (2, layers, width)."""
    norms = output_norms(model)
    values = torch.stack([torch.stack([getattr(norm, part).detach() for norm in norms]) for part in PARTS])
    # In an untrained model all scales are equal: no deviation, no outlier.
    return ((values - values.mean(-1, keepdim=True)).abs() / values.std(-1, keepdim=True).clamp_min(1e-6)).numpy()


def deviating(model: nn.Module) -> np.ndarray:
    """Which dimensions' scale or bias lies more than `SIGMAS` off its layer's mean: booleans (layers, width)."""
    return (deviations(model) > SIGMAS).any(0)


def outlier_dimensions(model: nn.Module) -> list[Outlier]:
    """Dimensions whose scale or bias deviates in more than `PERSISTENT` of the layers, the most persistent first."""
    flags = deviations(model) > SIGMAS
    scale, bias = flags.sum(1)
    found = [Outlier(int(d), int(scale[d]), int(bias[d])) for d in persistent(flags)]
    return sorted(found, key=lambda o: (-max(o.scale_layers, o.bias_layers), -o.scale_layers - o.bias_layers))


def persistent(flags: np.ndarray) -> np.ndarray:
    """Dimensions whose scale or whose bias deviates in more than `PERSISTENT` of the layers, of (2, layers, width)."""
    return np.flatnonzero(flags.sum(1).max(0) > PERSISTENT * flags.shape[1])


@contextmanager
def rows_at_zero(modules: Sequence[nn.Module], dimensions: Sequence[int]) -> Iterator[int]:
    """Run with these rows of weights and biases at 0; gives the number of rows switched off."""
    affected = [getattr(module, part) for module in modules for part in PARTS]
    with put_back(affected):
        for parameter in affected:
            parameter.data[list(dimensions)] = 0
        yield len(affected) * len(dimensions)


def disabled(model: nn.Module, dimensions: Sequence[int]) -> AbstractContextManager[int]:
    """Run with scale and bias of these dimensions at 0 in all layers; gives the number of parameters switched off."""
    return rows_at_zero(output_norms(model), dimensions)


def random_dimensions(
    model: nn.Module, count: int, sets: int = 20, seed: int = 0, avoid: Sequence[int] = ()
) -> np.ndarray:
    """Control: `sets` draws of `count` other dimensions, (sets, count)."""
    others = np.setdiff1d(np.arange(model.config.hidden_size), np.asarray(avoid, dtype=int))
    generator = np.random.default_rng(seed)
    return np.stack([generator.choice(others, count, replace=False) for _ in range(sets)])
