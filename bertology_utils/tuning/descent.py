"""Short training in a notebook: AdamW with warm-up, linear decay and clipping, on any loss.

Depends on torch alone. `training` (labelled sentences) and `mlm_training` (masked pieces) bring model and loss.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

WEIGHT_DECAY = 0.01


def descend(groups: Sequence[Mapping], loss_of_step: Callable[[], Tensor], steps: int) -> np.ndarray:
    """`steps` steps on `loss_of_step()`, the first tenth of them warm-up: losses (steps,).

    groups: parameters with their peak learning rate, `{"params": ..., "lr": ...}` as torch takes them. They are left
    without gradients: chapters keep many runs, and gradients are as large as weights.
    """
    optimiser = torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY, fused=True)
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    schedule = learning_rates(optimiser, steps)
    losses = []
    for _ in range(steps):
        loss = loss_of_step()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        schedule.step()
        losses.append(float(loss.detach()))
    optimiser.zero_grad(set_to_none=True)
    return np.array(losses)


def learning_rates(optimiser: torch.optim.Optimizer, steps: int) -> torch.optim.lr_scheduler.LambdaLR:
    """The schedule: a tenth of the steps up to the peak, then linearly down to 0."""
    warmup = max(1, steps // 10)
    return torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warmup, (steps - step) / max(1, steps - warmup))
    )


def trainable(module: nn.Module) -> list[nn.Parameter]:
    """The parameters of a module that are not frozen."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]
