"""Layers that mix words: each is its plain definition, of the size of attention, and costs what is counted."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bertology_utils.studies.overparametrization import mixing

WIDTH, HEADS, SIZE, WORDS = 12, 3, 5, 7


@pytest.fixture
def texts() -> torch.Tensor:
    return torch.randn(2, WORDS, WIDTH, generator=torch.Generator().manual_seed(0))


def built(kind: str) -> torch.nn.Module:
    torch.manual_seed(1)
    return mixing.layer(kind, WIDTH, HEADS, SIZE).eval()


def by_loops(layer: mixing.Convolution, text: torch.Tensor) -> torch.Tensor:
    """The definition, word by word and channel by channel, of one text (words, width)."""
    shown, gates = layer.enter(text).chunk(2, -1)
    values = shown * gates.sigmoid()
    made = torch.zeros_like(values)
    each = values.shape[1] // HEADS
    for word in range(WORDS):
        kernel = layer.kernel(values[word]).view(HEADS, SIZE) if hasattr(layer, "kernel") else layer.weights
        for channel in range(values.shape[1]):
            weights = kernel[channel // each].exp() / kernel[channel // each].exp().sum()
            for lag in range(SIZE):
                place = word + lag - SIZE // 2
                if 0 <= place < WORDS:
                    made[word, channel] += weights[lag] * values[place, channel]
    return layer.leave(made)


@torch.no_grad()
@pytest.mark.parametrize("kind", mixing.CONVOLUTIONS)
def test_a_convolution_is_its_definition(kind, texts) -> None:
    layer = built(kind)
    assert torch.allclose(layer(texts), torch.stack([by_loops(layer, text) for text in texts]), atol=1e-6)


@torch.no_grad()
def test_attention_is_its_definition(texts) -> None:
    layer, each = built("attention"), WIDTH // HEADS
    for text, found in zip(texts, layer(texts), strict=True):
        query, key, value = layer.enter(text).chunk(3, -1)
        heads = [slice(head * each, (head + 1) * each) for head in range(HEADS)]
        weights = [(query[:, own] @ key[:, own].T / each**0.5).softmax(-1) for own in heads]
        plain = torch.cat([map_ @ value[:, own] for map_, own in zip(weights, heads, strict=True)], -1)
        assert torch.allclose(found, layer.leave(plain), atol=1e-6)


def test_a_window_is_a_mean_and_a_dynamic_kernel_differs_by_word(texts) -> None:
    values = torch.randn(1, WORDS, 6)
    even = mixing.mixed(values, torch.full((2, 3), 1 / 3))
    assert torch.allclose(even[:, 3], values[:, 2:5].mean(1))
    assert not [name for name, _ in built("window").named_parameters() if "weights" in name]
    layer = built("dynamic")
    kernels = layer.kernel(torch.nn.functional.glu(layer.enter(texts))).unflatten(-1, layer.shape).softmax(-1)
    assert torch.allclose(kernels.sum(-1), torch.ones(2, WORDS, HEADS)) and kernels.std(1).min() > 1e-3


@pytest.mark.parametrize("size", [7, 11])
def test_layers_are_nearly_of_one_size(size) -> None:
    sizes = [mixing.parameters(mixing.layer(kind, 48, 4, size)) for kind in mixing.KINDS]
    assert max(sizes) < 1.04 * min(sizes)


@torch.no_grad()
@pytest.mark.parametrize("kind", mixing.KINDS)
def test_work_is_what_is_counted_when_a_layer_runs(kind) -> None:
    """The counter knows products of matrices, two operations a multiply-add; sums of neighbours are counted by hand."""
    layer, words = built(kind), 40
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        layer(torch.randn(1, words, WIDTH))
    neighbours = 0 if kind == "attention" else words * layer.leave.in_features * SIZE
    assert layer.work(words) == counter.get_total_flops() // 2 + neighbours


def test_seconds_are_the_least_of_several() -> None:
    calls = []
    least = mixing.seconds(lambda: calls.append(sum(range(200_000 if not calls else 10))), 3)
    assert len(calls) == 3 and 0 <= least < 1e-3
