"""What happens inside a BERT while it reads: hidden states, queries, keys and values, for losses that compare them.

Depends on torch alone. Any encoder whose self-attention has linear layers named `query`, `key` and `value` will do.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bertology_utils.errors import NotAskable

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
    kept: dict[str, list[Tensor]] = {part: [] for part in PARTS}
    heads = encoder.config.num_attention_heads

    def keep(part: str):
        return lambda module, inputs, output: kept[part].append(_by_head(output, heads))

    found = [(part, module) for name, module in encoder.named_modules() for part in PARTS if name.endswith(f".{part}")]
    if not found:
        raise NotAskable("This network has no queries, keys and values to compare.")
    handles = [module.register_forward_hook(keep(part)) for part, module in found]
    try:
        inputs = {name: values for name, values in batch.items() if name not in ("labels", "places")}
        hidden = encoder(**inputs, output_hidden_states=True).hidden_states
    finally:
        for handle in handles:
            handle.remove()
    return Trace(hidden, kept["query"], kept["key"], kept["value"], batch["attention_mask"].bool())


def _by_head(output: Tensor, heads: int) -> Tensor:
    return output.unflatten(-1, (heads, -1)).transpose(-2, -3)


@torch.no_grad()
def passed(network: nn.Module, batch: Mapping[str, Tensor]) -> list[int]:
    """The weights that a batch went through: one number a block that ran, in order, the same for the same weights."""
    seen: list[int] = []
    queries = [module for name, module in network.named_modules() if name.endswith(".query")]
    handles = [q.register_forward_hook(lambda module, *_: seen.append(module.weight.data_ptr())) for q in queries]
    try:
        network(**{name: values for name, values in batch.items() if name != "labels"})
    finally:
        for handle in handles:
            handle.remove()
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


@torch.no_grad()
def told(teacher: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """The teacher's logits, without gradients: (answers, classes)."""
    return teacher(**{name: values for name, values in batch.items() if name != "labels"})
