"""Scaling of features before a probe is trained, all layers at once. Needs torch only."""

from dataclasses import dataclass
from typing import Self

import torch


@dataclass(frozen=True)
class Standardiser:
    """Mean and deviation of the training items, both ``(layers, 1, width)``."""

    mean: torch.Tensor
    deviation: torch.Tensor

    @classmethod
    def fit(cls, features: torch.Tensor) -> Self:
        """Read both from ``(layers, items, width)``; a constant dimension keeps deviation 1."""
        mean = features.mean(1, keepdim=True)
        deviation = (features - mean).square_().mean(1, keepdim=True).sqrt_()
        return cls(mean, torch.where(deviation > 1e-8, deviation, torch.ones_like(deviation)))

    def __call__(self, features: torch.Tensor) -> torch.Tensor:
        return (features - self.mean) / self.deviation
