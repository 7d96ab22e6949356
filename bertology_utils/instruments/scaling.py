"""Scaling of features before a probe is trained, all layers at once. Needs torch only."""

from collections.abc import Sequence
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

    @classmethod
    def fit_parts(cls, parts: Sequence[torch.Tensor]) -> Self:
        """The same from items that lie in several tensors, ``(layers, items, width)`` each, without a copy of all."""
        items = sum(part.shape[1] for part in parts)
        mean = sum(part.sum(1, keepdim=True, dtype=torch.float64) for part in parts) / items
        mean = mean.float()
        squares = sum((part - mean).square_().sum(1, keepdim=True, dtype=torch.float64) for part in parts)
        deviation = (squares / items).sqrt_().float()
        return cls(mean, torch.where(deviation > 1e-8, deviation, torch.ones_like(deviation)))

    def in_place(self, features: torch.Tensor) -> torch.Tensor:
        """The features themselves, standardised."""
        return features.sub_(self.mean).div_(self.deviation)

    def __call__(self, features: torch.Tensor) -> torch.Tensor:
        return (features - self.mean).div_(self.deviation)
