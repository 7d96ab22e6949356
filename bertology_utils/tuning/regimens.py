"""Which parts of an encoder a fine-tuning run trains, and under what constraint.

Freezing, re-initialised top layers, mixout, adapters, and pruned weights held at zero. Depends on torch alone and on
the layout of BERT-like encoders; `training` composes these.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.blocks import encoder_layers

# The last linear map of attention and of the feed-forward part: BERT-like, DistilBERT, ALBERT.
_ADAPTED = ("output.dense", "attention.out_lin", "ffn.lin2", "attention.dense", "ffn_output")
INIT_DEVIATION = 0.02  # BERT's own initialiser, also that of zhang2021revisiting's re-initialised layers


def freeze_parameters(encoder: nn.Module, freeze: str) -> None:
    """ "none", "encoder" (all of it), "embeddings", or "bottom-n" (embeddings and blocks 1..n, as wu2019beto)."""
    if freeze == "none":
        return
    if freeze == "encoder":
        encoder.requires_grad_(False)
        return
    bottom = re.fullmatch(r"bottom-(\d+)", freeze)
    if freeze != "embeddings" and not bottom:
        raise BertologyError(f"Unknown freeze {freeze!r}: choose none, encoder, embeddings or bottom-n.")
    encoder.embeddings.requires_grad_(False)
    blocks = encoder_layers(encoder)
    if bottom and int(bottom[1]) > len(blocks):
        raise BertologyError(f"Cannot freeze the bottom {bottom[1]} of {len(blocks)} layers.")
    for block in blocks[: int(bottom[1]) if bottom else 0]:
        block.requires_grad_(False)


@torch.no_grad()
def reinitialise_top(encoder: nn.Module, layers: int, generator: torch.Generator) -> None:
    """Draw the pooler and the top `layers` blocks anew: weights N(0, 0.02), biases 0, layer norm 1 and 0.

    zhang2021revisiting: fewer failed runs on small data.
    """
    if layers <= 0:
        return
    for block in filter(None, [*encoder_layers(encoder)[-layers:], getattr(encoder, "pooler", None)]):
        for module in block.modules():
            if isinstance(module, nn.Linear):
                module.weight.normal_(0, INIT_DEVIATION, generator=generator)
            elif isinstance(module, nn.LayerNorm):
                module.weight.fill_(1)
            if isinstance(module, nn.Linear | nn.LayerNorm) and module.bias is not None:  # ModernBERT has none
                module.bias.zero_()


class Mixout(nn.Module):
    """While training, each weight is its pre-trained value with probability p, rescaled to keep the mean.

    W~ = (m * W0 + (1 - m) * W - p * W0) / (1 - p), m ~ Bernoulli(p) for each weight (lee2020mixout). The authors' code
    draws one row of m and repeats it, and its backward leaves out 1 / (1 - p); here m is drawn for every weight and
    autograd differentiates the formula.
    """

    def __init__(self, pretrained: Tensor, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise BertologyError(f"Mixout needs 0 <= p < 1, got {p}.")
        self.p = p
        self.register_buffer("pretrained", pretrained.detach().clone(), persistent=False)

    def forward(self, weight: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return weight
        back = torch.empty_like(weight, dtype=torch.bool).bernoulli_(self.p)
        mixed = torch.where(back, self.pretrained, weight)
        return (mixed - self.p * self.pretrained) / (1 - self.p)


@contextmanager
def mixing_out(encoder: nn.Module, p: float) -> Iterator[None]:
    """Train inside with `Mixout` on every trainable linear weight of the blocks; afterwards they are plain weights."""
    if not p:
        yield
        return
    linears = [m for m in encoder_layers(encoder).modules() if isinstance(m, nn.Linear) and m.weight.requires_grad]
    for linear in linears:
        parametrize.register_parametrization(linear, "weight", Mixout(linear.weight, p))
    try:
        yield
    finally:
        for linear in linears:  # what stays is the trained weight itself, not its last mixture
            parametrize.remove_parametrizations(linear, "weight", leave_parametrized=False)


class Adapter(nn.Module):
    """Bottleneck with a skip connection, x + up(gelu(down(x))), at first near the identity (houlsby2019parameter)."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(width, size), nn.Linear(size, width)
        for linear in (self.down, self.up):
            nn.init.trunc_normal_(linear.weight, std=1e-2, a=-2e-2, b=2e-2)
            nn.init.zeros_(linear.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden + self.up(nn.functional.gelu(self.down(hidden)))


def _through_adapter(module: nn.Module, inputs: tuple, output: Tensor) -> Tensor:
    return module.adapter(output)


def adapt(dense: nn.Linear, size: int) -> Adapter:
    """Hangs an adapter on a linear map as a forward hook, so that no existing parameter changes its name."""
    dense.adapter = Adapter(dense.out_features, size)
    dense.register_forward_hook(_through_adapter)
    return dense.adapter


def add_adapters(encoder: nn.Module, size: int = 64) -> list[Adapter]:
    """Put adapters after attention projection and feed-forward of each block, before residual and layer norm.

    Freezes all but adapters and layer norms.
    """
    encoder.requires_grad_(False)
    added = []
    for block in encoder_layers(encoder):
        denses = [module for name, module in block.named_modules() if name.endswith(_ADAPTED)]
        added += [adapt(dense, size) for dense in denses]
        for module in block.modules():
            if isinstance(module, nn.LayerNorm):
                module.requires_grad_(True)
    return added


@contextmanager
def without_adapters(encoder: nn.Module, blocks: Iterable[int]) -> Iterator[None]:
    """Inside, vectors pass by the adapters of these blocks (1..L); the layer norms stay as they were trained."""
    layers = encoder_layers(encoder)
    with ExitStack() as hooks:
        for adapter in (part for block in blocks for part in layers[block - 1].modules() if isinstance(part, Adapter)):
            hooks.enter_context(adapter.register_forward_hook(lambda module, inputs, output: inputs[0]))
        yield


@contextmanager
def held_at_zero(module: nn.Module, masks: Mapping[str, Tensor]) -> Iterator[None]:
    """While training inside, weights where the mask is False keep gradient 0 (so AdamW leaves zeros at zero)."""
    with ExitStack() as hooks:
        for name, mask in masks.items():
            parameter = module.get_parameter(name)
            if parameter.requires_grad:
                hooks.enter_context(parameter.register_hook(lambda gradient, mask=mask: gradient * mask))
        yield
