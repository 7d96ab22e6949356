"""Outlier dimensions of the output layer norms, and switching them off (kovaleva2021bertbusters).

Depends on torch and on BERT-like names (`output.LayerNorm` of each block, not that of attention or embeddings).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from bertology_utils.errors import BertologyError


@dataclass(frozen=True)
class Outlier:
    """A dimension that stands out, in how many layers its scale does, and in how many its bias does."""

    dimension: int
    scale_layers: int
    bias_layers: int


def output_norms(model: nn.Module) -> list[nn.LayerNorm]:
    """The layer norm after the feed-forward part of each block, first to last."""
    ends = (".output.LayerNorm", ".output_layer_norm", ".full_layer_layer_norm")
    found = [m for name, m in model.named_modules() if name.endswith(ends) and "attention" not in name]
    if len(found) != model.config.num_hidden_layers:
        raise BertologyError(f"{type(model).__name__} has no output layer norm in each block that this module knows.")
    return found


def deviating(model: nn.Module, part: str = "weight", sigmas: float = 3.0) -> np.ndarray:
    """Which dimensions deviate by more than `sigmas` from their layer's mean: booleans (layers, width).

    `part` is "weight" (scale) or "bias".
    """
    values = torch.stack([getattr(norm, part).detach() for norm in output_norms(model)])
    centred = values - values.mean(1, keepdim=True)
    # In an untrained model all scales are equal: no deviation, no outlier.
    return (centred.abs() > sigmas * values.std(1, keepdim=True).clamp_min(1e-6)).numpy()


def outlier_dimensions(model: nn.Module, sigmas: float = 3.0, share: float = 0.25) -> list[Outlier]:
    """Dimensions whose scale or bias deviates in more than `share` of the layers, the most persistent first.

    The study asks for more than 3 of 12 layers, which is `share` = 0.25.
    """
    scale, bias = (deviating(model, part, sigmas).sum(0) for part in ("weight", "bias"))
    least = share * model.config.num_hidden_layers
    chosen = np.flatnonzero(np.maximum(scale, bias) > least)
    found = [Outlier(int(d), int(scale[d]), int(bias[d])) for d in chosen]
    return sorted(found, key=lambda o: (-max(o.scale_layers, o.bias_layers), -o.scale_layers - o.bias_layers))


@contextmanager
def disabled(model: nn.Module, dimensions: Sequence[int], parts: Sequence[str] = ("weight", "bias")) -> Iterator[int]:
    """Run with scale and bias of these dimensions at 0 in all layers; gives the number of parameters switched off."""
    norms = output_norms(model)
    chosen = torch.as_tensor(list(dimensions), dtype=torch.long)
    saved = [{part: getattr(norm, part).detach().clone() for part in parts} for norm in norms]
    with torch.no_grad():
        for norm in norms:
            for part in parts:
                getattr(norm, part)[chosen] = 0
    try:
        yield len(norms) * len(parts) * len(chosen)
    finally:
        with torch.no_grad():
            for norm, values in zip(norms, saved, strict=True):
                for part, value in values.items():
                    getattr(norm, part).copy_(value)


def random_dimensions(
    model: nn.Module, count: int, sets: int = 20, seed: int = 0, avoid: Sequence[int] = ()
) -> np.ndarray:
    """Control: `sets` draws of `count` other dimensions, (sets, count)."""
    others = np.setdiff1d(np.arange(model.config.hidden_size), np.asarray(avoid, dtype=int))
    generator = np.random.default_rng(seed)
    return np.stack([generator.choice(others, count, replace=False) for _ in range(sets)])
