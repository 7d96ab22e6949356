"""Layers by which words hear of other words: self-attention, and the convolutions of wu2019pay that would replace it.

A convolution reads gated channels through a kernel of so many neighbours, normalised by a softmax, that groups of
channels (heads) share. A lightweight kernel is learnt and the same everywhere, a dynamic one is a linear function of
the word at its place, and an even window, the control, weighs all neighbours alike. Left out: dropping weights of a
kernel while it learns. Depends on torch alone.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

CONVOLUTIONS = ("lightweight", "dynamic", "window")
KINDS = ("attention", *CONVOLUTIONS)


class Attention(nn.Module):
    """Scaled dot-product attention: (texts, words, width) to the same."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.enter, self.leave = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.enter(x).unflatten(-1, (3, self.heads, -1)).movedim(2, 0).transpose(2, 3)
        return self.leave(F.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2))

    def work(self, words: int) -> int:
        """Multiply-adds of a text: every word is mapped, and every pair compared and summed up."""
        return _mapped(self, words) + 2 * words**2 * self.leave.in_features


class Convolution(nn.Module):
    """Gated channels, mixed by a kernel of `size` neighbours: (texts, words, width) to the same.

    Beyond the ends of a text are zeros. kind: one of `CONVOLUTIONS`; channels: a multiple of heads; size: odd.
    """

    def __init__(self, kind: str, width: int, channels: int, heads: int, size: int) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(width, 2 * channels), nn.Linear(channels, width)
        self.shape = (heads, size)
        if kind == "dynamic":
            self.kernel = nn.Linear(channels, heads * size, bias=False)
        elif kind == "lightweight":
            self.weights = nn.Parameter(torch.randn(self.shape))
        else:
            self.register_buffer("weights", torch.zeros(self.shape))

    def forward(self, x: Tensor) -> Tensor:
        values = F.glu(self.enter(x))
        kernels = self.kernel(values).unflatten(-1, self.shape) if hasattr(self, "kernel") else self.weights
        return self.leave(mixed(values, kernels.softmax(-1)))

    def work(self, words: int) -> int:
        """Multiply-adds of a text: every word is mapped, and sums up its neighbours."""
        return _mapped(self, words) + words * self.leave.in_features * self.shape[1]


def mixed(values: Tensor, kernels: Tensor) -> Tensor:
    """Each word's sum of its neighbours' values, by a kernel a head: (texts, words, channels) to the same.

    kernels: (heads, size), or (texts, words, heads, size) where every word has its own.
    """
    heads, size = kernels.shape[-2:]
    around = F.pad(values.unflatten(-1, (heads, -1)), (0, 0, 0, 0, size // 2, size // 2))
    words = values.shape[1]
    return sum(around[:, lag : lag + words] * kernels[..., lag : lag + 1] for lag in range(size)).flatten(2)


def layer(kind: str, width: int, heads: int, size: int) -> Attention | Convolution:
    """A layer of a kind; a convolution with the channels that make it nearest to attention in parameters."""
    if kind == "attention":
        return Attention(width, heads)
    with torch.device("meta"):  # counted, not allocated
        wanted = parameters(Attention(width, heads))
        sizes = {n: parameters(Convolution(kind, width, n, heads, size)) for n in range(heads, 2 * width, heads)}
    return Convolution(kind, width, min(sizes, key=lambda channels: abs(sizes[channels] - wanted)), heads, size)


def parameters(module: nn.Module) -> int:
    """How many weights are learnt."""
    return sum(weight.numel() for weight in module.parameters())


def seconds(run: Callable[[], object], times: int) -> float:
    """Processor seconds of a call, the least of so many."""
    least = float("inf")
    for _ in range(times):
        began = time.process_time()
        run()
        least = min(least, time.process_time() - began)
    return least


def _mapped(module: nn.Module, words: int) -> int:
    """Multiply-adds of the linear maps of a layer."""
    return words * sum(part.weight.numel() for part in module.modules() if isinstance(part, nn.Linear))
