"""Short training in a notebook: AdamW or another optimiser, with warm-up, linear decay and clipping, on any loss.

Depends on torch alone. `training` (labelled sentences) and `mlm_training` (masked pieces) bring model and loss.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn

WEIGHT_DECAY = 0.01
CLIP = 1.0
Optimiser = Callable[[Sequence[Mapping]], torch.optim.Optimizer]


def adamw(groups: Sequence[Mapping]) -> torch.optim.Optimizer:
    """The usual optimiser of groups of parameters."""
    return torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY, fused=True)


def uncorrected_adamw(groups: Sequence[Mapping]) -> torch.optim.Optimizer:
    """The same without bias correction, as BERT's own code: its first steps are too long (zhang2021revisiting)."""
    optimiser = adamw(groups)
    for weight in (weight for group in optimiser.param_groups for weight in group["params"]):
        averages = {name: torch.zeros_like(weight) for name in ("exp_avg", "exp_avg_sq")}
        optimiser.state[weight] = {"step": torch.tensor(1e6)} | averages  # so late the correction is one
    return optimiser


def clip_together(parameters: Sequence[Tensor]) -> None:
    """Scales the gradients of one model so that their common norm is at most `CLIP`."""
    nn.utils.clip_grad_norm_(parameters, CLIP)


def descend(
    groups: Sequence[Mapping],
    loss_of_step: Callable[[], Tensor],
    steps: int,
    clip: Callable[[Sequence[Tensor]], None] = clip_together,
    optimiser_of: Optimiser = adamw,
) -> np.ndarray:
    """`steps` steps on `loss_of_step()`, a scalar or one loss a model, the first tenth of them warm-up: (steps, ...).

    groups: parameters with their peak learning rate, `{"params": ..., "lr": ...}` as torch takes them. They are left
    without gradients: chapters keep many runs, and gradients are as large as weights.
    """
    warmup = max(1, steps // 10)

    def share(step: int) -> float:
        return min((step + 1) / warmup, (steps - step) / max(1, steps - warmup))

    moving = descent(groups, loss_of_step, share, clip, optimiser_of)
    return torch.stack([*islice(moving, steps)]).double().numpy()


def descent(
    groups: Sequence[Mapping],
    loss_of_step: Callable[[], Tensor],
    share: Callable[[int], float],
    clip: Callable[[Sequence[Tensor]], None] = clip_together,
    optimiser_of: Optimiser = adamw,
) -> Iterator[Tensor]:
    """Steps without end, as `descend`, at `share(step)` of the peak rates: the loss before each."""
    optimiser = optimiser_of(groups)
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, share)
    while True:
        loss = loss_of_step()
        optimiser.zero_grad(set_to_none=True)
        loss.sum().backward()
        clip(parameters)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad(set_to_none=True)
        yield loss.detach()


def trainable(module: nn.Module) -> list[nn.Parameter]:
    """The parameters of a module that are not frozen."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]
