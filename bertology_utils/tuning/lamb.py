"""LAMB, the optimiser of large batches: Adam's step, in each layer as long as the layer's weights say.

Depends on torch alone. Weights are those of several models stacked, (models, ...), each of which has a step of its own.
"""

import torch
from torch import Tensor

from bertology_utils.tuning.descent import WEIGHT_DECAY

MATRIX = 3  # axes of stacked matrices; vectors (biases, scales) have two


class Lamb(torch.optim.Optimizer):
    """Adam's step with decay, times ||weights|| / ||step|| of each matrix (you2019large, algorithm 2).

    Biases and scales take Adam's step as it is, as in the authors' code: a bias of zero would never leave it otherwise.
    """

    def __init__(self, groups, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-6) -> None:
        super().__init__(groups, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self) -> None:
        """Moves all weights that have a gradient."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    step = self._adam(weight, *group["betas"], group["eps"]) + WEIGHT_DECAY * weight
                    weight -= group["lr"] * trust(weight, step) * step

    def _adam(self, weight: Tensor, first: float, second: float, eps: float) -> Tensor:
        """The corrected mean of the gradients over the root of that of their squares."""
        state = self.state[weight]
        if not state:
            state |= {"time": 0, "mean": torch.zeros_like(weight), "square": torch.zeros_like(weight)}
        state["time"] += 1
        mean, square = state["mean"], state["square"]
        mean.lerp_(weight.grad, 1 - first)
        square.lerp_(weight.grad.square(), 1 - second)
        corrected = (square / (1 - second ** state["time"])).sqrt()
        return mean / (1 - first ** state["time"]) / (corrected + eps)


def trust(weights: Tensor, steps: Tensor) -> Tensor:
    """||weights|| / ||steps|| of each model's matrix, to be multiplied with (models, ...); 1 for vectors and zeros."""
    shape = (-1, *[1] * (weights.dim() - 1))
    own, way = (tensor.flatten(1).norm(dim=1).view(shape) for tensor in (weights, steps))
    ratio = torch.where((own > 0) & (way > 0), own / way.clamp_min(1e-12), 1.0)
    return ratio if weights.dim() >= MATRIX else torch.ones_like(ratio)
