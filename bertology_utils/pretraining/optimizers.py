"""The optimisers of a run: AdamW, and Muon for the matrices of the blocks. Depends on torch."""

import torch
from torch import nn

from .config import PretrainingConfig
from .muon import Muon
from .network import Network


class Optimizers:
    """AdamW for embeddings, norms and heads; Muon for the matrices of the blocks, which learn faster with it.

    `dtype` is what matrices are orthogonalised in.
    """

    def __init__(self, network: Network, config: PretrainingConfig, dtype: torch.dtype):
        muon = config.matrix_learning_rate is not None
        matrices = network.matrices if muon else []
        head = network.fresh_head
        elsewhere = {id(p) for p in (*matrices, *head)}
        body = [p for p in network.parameters() if id(p) not in elsewhere]
        self.parts = [_adamw(body, config)]
        self.rates = [config.learning_rate]
        if head:
            self.parts.append(_adamw(head, config))
            self.rates.append(config.head_learning_rate or config.learning_rate)
        if muon:
            decay, rate = config.weight_decay, config.matrix_learning_rate
            self.parts.append(Muon(matrices, rate, decay, dtype))
            self.rates.append(rate)

    def step(self, factor: float) -> None:
        """One update at `factor` of the peak learning rates; clears the gradients."""
        for part, rate in zip(self.parts, self.rates, strict=True):
            for group in part.param_groups:
                group["lr"] = rate * factor
            part.step()
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict]:
        return [part.state_dict() for part in self.parts]

    def load_state_dict(self, states: list[dict]) -> None:
        for part, state in zip(self.parts, states, strict=True):
            part.load_state_dict(state)


def _adamw(parameters: list[nn.Parameter], config: PretrainingConfig) -> torch.optim.AdamW:
    """AdamW with weight decay on matrices and embeddings only."""
    decayed = {"params": [p for p in parameters if p.ndim > 1], "weight_decay": config.weight_decay}
    plain = {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0}
    return torch.optim.AdamW([decayed, plain], lr=config.learning_rate, betas=(0.9, 0.98), eps=1e-6, fused=True)
