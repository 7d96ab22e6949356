"""Scaling of features before a probe is trained: standardising and whitening, all layers at once. Needs torch only."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Standardiser:
    """Mean and deviation of the training items, both ``(layers, 1, width)``."""

    mean: torch.Tensor
    deviation: torch.Tensor

    @classmethod
    def fit(cls, features: torch.Tensor) -> Standardiser:
        """Read both from ``(layers, items, width)``; a constant dimension keeps deviation 1."""
        mean = features.mean(1, keepdim=True)
        deviation = (features - mean).square_().mean(1, keepdim=True).sqrt_()
        return cls(mean, torch.where(deviation > 1e-8, deviation, torch.ones_like(deviation)))

    def __call__(self, features: torch.Tensor) -> torch.Tensor:
        return (features - self.mean) / self.deviation


def whitening(features: torch.Tensor, floor: float = 0.01) -> torch.Tensor:
    """Matrices ``(layers, width, width)`` that make standardised ``(layers, items, width)`` nearly uncorrelated.

    They change nothing that a linear probe can express, only how fast gradient descent gets there: the vectors of a
    transformer are strongly correlated. ``floor``, a share of the mean variance, keeps directions without variance
    from being blown up.
    """
    values, vectors = torch.linalg.eigh((features.mT @ features / features.shape[1]).double())
    least = floor * values.mean(-1, keepdim=True).clamp_min(1e-9)
    return (vectors * (values.clamp_min(0) + least).rsqrt()[:, None]).float()
