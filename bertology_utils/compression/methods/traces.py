"""What happens inside a BERT while it reads: hidden states, queries, keys and values, for losses that compare them.

Depends on `blocks`. Any encoder whose self-attention has linear layers named `query`, `key` and `value` will do.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bertology_utils.errors import NotAskable
from bertology_utils.instruments.blocks import watched

PARTS = ("query", "key", "value")


@dataclass(frozen=True)
class Trace:
    """One pass over a batch.

    hidden: layers + 1 states (batch, pieces, width), the embeddings first; queries, keys, values: a list over layers of
    (batch, heads, pieces, head width); real: (batch, pieces), False at padding.
    """

    hidden: tuple[Tensor, ...]
    queries: list[Tensor]
    keys: list[Tensor]
    values: list[Tensor]
    real: Tensor

    def scores(self, layer: int) -> Tensor:
        """Attention before its softmax, scaled dot products (batch, heads, pieces, pieces) of a 0-based block."""
        return relation(self.queries[layer], self.keys[layer])

    @property
    def pairs(self) -> Tensor:
        """(batch, 1, pieces, pieces): both pieces are real."""
        return (self.real[:, None, :, None] & self.real[:, None, None, :]).bool()


def relation(a: Tensor, b: Tensor) -> Tensor:
    """Scaled dot products of every piece with every piece: (..., pieces, d) twice -> (..., pieces, pieces)."""
    return a @ b.mT / a.shape[-1] ** 0.5


def traced(encoder: nn.Module, batch: Mapping[str, Tensor]) -> Trace:
    """Runs the encoder and keeps what happened, gradients included; `places` and `labels` of the batch are ignored.

    Raises NotAskable for an encoder without queries, keys and values of their own.
    """
    heads = encoder.config.num_attention_heads
    parts = {module: last for name, module in encoder.named_modules() if (last := name.rpartition(".")[2]) in PARTS}
    if not parts:
        raise NotAskable("This network has no queries, keys and values to compare.")

    def by_head(module: nn.Module, _: tuple, output: Tensor) -> tuple[str, Tensor]:
        return parts[module], output.unflatten(-1, (heads, -1)).transpose(-2, -3)

    inputs = {name: values for name, values in batch.items() if name not in ("labels", "places")}
    with watched(parts, by_head) as seen:
        hidden = encoder(**inputs, output_hidden_states=True).hidden_states
    kept = ([states for own, states in seen if own == part] for part in PARTS)
    return Trace(hidden, *kept, batch["attention_mask"].bool())


@torch.no_grad()
def passed(network: nn.Module, batch: Mapping[str, Tensor]) -> list[int]:
    """The weights that a batch went through: one number a block that ran, in order, the same for the same weights."""
    queries = [module for name, module in network.named_modules() if name.endswith(".query")]
    with watched(queries, lambda module, *_: module.weight.data_ptr()) as seen:
        told(network, batch)
    return seen


def relation_divergence(student: Tensor, teacher: Tensor, real: Tensor) -> Tensor:
    """KL(teacher || student) of two relations after their softmax, mean over real pieces and heads: a scalar.

    student, teacher: (batch, heads, pieces, pieces) with equal heads; real: (batch, pieces).
    """
    hidden = ~real[:, None, None, :]
    own, target = (scores.masked_fill(hidden, -1e4).log_softmax(-1) for scores in (student, teacher))
    divergence = (target.exp() * (target - own)).sum(-1)
    return divergence.transpose(1, 2)[real].mean()


def soft_loss(logits: Tensor, teacher: Tensor, temperature: float = 1.0) -> Tensor:
    """KL(teacher || student) of answers (answers, classes), times the squared temperature (hinton2015distilling)."""
    own, target = ((scores / temperature).log_softmax(-1) for scores in (logits, teacher))
    return nn.functional.kl_div(own, target, log_target=True, reduction="batchmean") * temperature**2


def answers_loss(
    network: nn.Module, batch: Mapping[str, Tensor], teacher: nn.Module, temperature: float = 1.0
) -> Tensor:
    """Divergence from the teacher's answers, a scalar; reads no label."""
    inputs = {name: values for name, values in batch.items() if name != "labels"}
    return soft_loss(network(**inputs), told(teacher, batch), temperature)


@torch.no_grad()
def told(teacher: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """The teacher's logits, without gradients: (answers, classes)."""
    return teacher(**{name: values for name, values in batch.items() if name != "labels"})
