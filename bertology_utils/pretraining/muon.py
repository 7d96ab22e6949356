"""Muon: momentum whose matrices are orthogonalised before each step (Jordan et al., 2024). Depends on torch.

The update is that of `torch.optim.Muon` with the learning rates of AdamW; what differs is that matrices of one shape
are orthogonalised together, as a batch, and in the number format that the processor is fast in.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the quintic iteration: steep at zero, so that few steps suffice
STEPS = 5
SMALLEST = 1e-7
MOMENTUM = 0.95


def orthogonalised(matrices: Tensor, dtype: torch.dtype) -> Tensor:
    """Matrices (n, rows, columns) with all singular values drawn near one, by Newton and Schulz's iteration."""
    a, b, c = COEFFICIENTS
    tall = matrices.size(1) > matrices.size(2)
    x = (matrices.mT if tall else matrices).to(dtype)
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=SMALLEST)
    for _ in range(STEPS):
        gram = x @ x.mT  # (n, rows, rows)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Muon for matrices, with decoupled weight decay and Nesterov's momentum."""

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, weight_decay: float, dtype: torch.dtype):
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self) -> None:
        """One update of every matrix that has a gradient."""
        for group in self.param_groups:
            for alike in _by_shape(p for p in group["params"] if p.grad is not None):
                updates = torch.stack([self._momentum(p) for p in alike])
                rate = 0.2 * math.sqrt(max(alike[0].shape)) * group["lr"]
                for p, update in zip(alike, orthogonalised(updates, self.dtype), strict=True):
                    p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(update, alpha=rate)

    def _momentum(self, p: nn.Parameter) -> Tensor:
        state = self.state[p]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(p)
        running = state["momentum_buffer"].lerp_(p.grad, 1 - MOMENTUM)
        return p.grad.lerp(running, MOMENTUM)


def _by_shape(matrices: Iterable[nn.Parameter]) -> list[list[nn.Parameter]]:
    found: dict[torch.Size, list[nn.Parameter]] = {}
    for matrix in matrices:
        found.setdefault(matrix.shape, []).append(matrix)
    return list(found.values())
