"""Networks of few bits a weight: rounded after training, rounded while it goes on, or computed in integers.

Depends on `lesson` and on the roundings of `quantize`. Weights are floats of the rounded values, but those of torch's
integers; `bytes` is the arithmetic of the stored form.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils import parametrize

from bertology_utils.compression.methods.lesson import Batch, Lesson, Method, Network, Small, count, hard_loss
from bertology_utils.compression.quantize import dynamic_int8, gaussian_outliers, gobo, quantise_matrix
from bertology_utils.instruments.blocks import encoder_layers

GOBO_BITS = 3
EMA = 0.9  # of an activation's range; the study's .9999 forgets its start in more steps than are made here
GROUPS = 128  # of a matrix of Q-BERT, as in the study, or as many as divide its rows
LOW, HIGH, EMBEDDED = 2, 3, 8  # bits of Q-BERT: of a block, of a sensitive one, of what is in no block
HESSIAN_BATCHES, HESSIAN_PIECES, POWER_ROUNDS = 3, 128, 8  # a second draw ranks all but two blocks the same


def matrices(module: nn.Module) -> dict[str, nn.Module]:
    """Linear layers and embeddings by name."""
    return {name: part for name, part in module.named_modules() if isinstance(part, nn.Linear | nn.Embedding)}


def stored(network: nn.Module, bits: Mapping[str, int], floats: int, **facts: float) -> Small:
    """A network stored in so many bits a weight of the named matrices, floats for the rest and for `floats` scales."""
    weights = {id(part.weight): (part.weight.numel(), bits[name]) for name, part in matrices(network).items()}
    saved = sum(size * (32 - own) for size, own in weights.values()) / 8
    size = count(network)
    return Small(network.eval(), size, math.ceil(4 * (size + floats) - saved), 4 * size, facts)


# ---------------------------------------------------------------- after training


def _gobo(lesson: Lesson) -> Small:
    """Eight values a matrix beside its outliers, without retraining (zadeh2020gobo)."""
    made = gobo(lesson.teacher, GOBO_BITS)
    pairs = [(part.weight, made.model.get_submodule(name).weight) for name, part in matrices(lesson.teacher).items()]
    values, moved = zip(*(few_values(*pair) for pair in pairs), strict=True)
    facts = {"values": max(values), "moved_outliers": sum(moved), "outlier_share": made.outlier_share}
    size = count(made.model)
    return Small(made.model.eval(), size, made.bytes_after, 4 * size, facts)


def few_values(before: Tensor, after: Tensor) -> tuple[int, int]:
    """How many values a rounded matrix has where it had no outliers, and how many of its outliers are changed."""
    before, after = before.detach().numpy(), after.detach().numpy()
    outliers = gaussian_outliers(before)
    return len(np.unique(after[~outliers])), int((after != before)[outliers].sum())


# ---------------------------------------------------------------- in integers


def _integers(lesson: Lesson) -> Small:
    """Linear layers that multiply 8-bit integers, here and now; embeddings stay floats."""
    network = dynamic_int8(lesson.teacher)
    size = held_bytes(network)
    return Small(network, count(lesson.teacher), size, size, {"float_linears": float_linears(network)})


def _integer_layers(network: nn.Module) -> list[nn.Module]:
    return [part for part in network.modules() if callable(getattr(part, "weight", None))]


def held_bytes(network: nn.Module) -> int:
    """Of all parameters, and of integer layers their bytes, biases, scale and zero (4 bytes each)."""
    integers = sum(part.weight().numel() + 4 * part.bias().numel() + 8 for part in _integer_layers(network))
    return integers + sum(one.numel() * one.element_size() for one in network.parameters())


def float_linears(network: nn.Module) -> int:
    """How many linear layers do not hold 8-bit integers."""
    integer = _integer_layers(network)
    wrong = sum(part.weight().dtype != torch.qint8 for part in integer)
    return wrong + sum(isinstance(part, nn.Linear) for part in network.modules())


# ---------------------------------------------------------------- while training goes on


class _Straight(torch.autograd.Function):
    """(exact, rounded) -> rounded; its gradient is that of the exact values (straight through)."""

    @staticmethod
    def forward(context, exact: Tensor, rounded: Tensor) -> Tensor:
        return rounded

    @staticmethod
    def backward(context, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


class RoundedWeight(nn.Module):
    """A weight whose rounding is used, and whose exact value is trained."""

    def __init__(self, rounding: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.rounding = rounding

    def forward(self, weight: Tensor) -> Tensor:
        return _Straight.apply(weight, self.rounding(weight.detach()))


class RoundedInputs(nn.Module):
    """Activations in 8 bits whose range is an exponential moving average over training batches."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("top", torch.tensor(0.0))

    def forward(self, inputs: Tensor) -> Tensor:
        exact = inputs.detach()
        if self.training:
            own = exact.abs().amax()
            self.top.copy_(torch.where(self.top > 0, torch.lerp(own, self.top, EMA), own))
        scale = self.top.clamp_min(1e-12) / 127
        return _Straight.apply(inputs, (exact / scale).round().clamp(-127, 127) * scale)


def _round_inputs(layer: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (layer.inputs(inputs[0]), *inputs[1:])


@contextmanager
def rounded(network: nn.Module, roundings: Mapping[str, Callable[[Tensor], Tensor]]) -> Iterator[None]:
    """Inside, the named matrices and the inputs of linear layers are rounded in every pass; they stay so afterwards."""
    parts = {network.get_submodule(name): rounding for name, rounding in roundings.items()}
    for part, rounding in parts.items():
        parametrize.register_parametrization(part, "weight", RoundedWeight(rounding))
        if isinstance(part, nn.Linear):
            part.inputs = RoundedInputs()
            part.register_forward_pre_hook(_round_inputs)
    try:
        yield
    finally:
        for part in parts:
            parametrize.remove_parametrizations(part, "weight", leave_parametrized=True)


def linear_grid(weight: Tensor) -> Tensor:
    """8-bit integers times one scale for the whole matrix, of the same shape."""
    integers, scale = quantise_matrix(weight.reshape(1, -1))
    return (integers * scale).view_as(weight)


def off_grid(weight: Tensor) -> float:
    """How far a weight lies from an integer times the matrix's one scale, at most, as a share of the largest weight."""
    weight = weight.detach()
    return float((weight - linear_grid(weight)).abs().amax() / weight.abs().amax())


def _q8bert(lesson: Lesson) -> Small:
    """Tuned while all matrices and the inputs of linear layers are rounded to 8 bits (zafrir2019q8bert).

    Deviation: it goes on from the tuned teacher, where the study tunes once: rounded from the start, a network does not
    learn every task in so few steps.
    """
    network = lesson.copy_of_teacher()
    names = matrices(network)
    with rounded(network, dict.fromkeys(names, linear_grid)):
        lesson.train(network)
    scales = len(names) + sum(isinstance(part, RoundedInputs) for part in network.modules())
    worst = max(off_grid(part.weight) for part in names.values())
    return stored(network, dict.fromkeys(names, 8), scales, off_grid=worst)


# ---------------------------------------------------------------- few bits where the loss is flat


def group_grid(weight: Tensor, bits: int) -> Tensor:
    """Each group of rows rounded to 2**bits values at even distances, from its least to its greatest."""
    rows = weight.reshape(math.gcd(GROUPS, len(weight)), -1)
    least, greatest = rows.aminmax(dim=1, keepdim=True)
    step = (greatest - least).clamp_min(1e-12) / (2**bits - 1)
    return (((rows - least) / step).round() * step + least).view_as(weight)


def used_bits(weight: Tensor) -> float:
    """The bits that tell the values of a group apart, of the group with the most values."""
    rows = weight.detach().reshape(math.gcd(GROUPS, len(weight)), -1)
    return math.log2(max(len(row.unique()) for row in rows))


def top_eigenvalue(gradient: Sequence[Tensor], parameters: Sequence[Tensor], rounds: int = POWER_ROUNDS) -> float:
    """Of the Hessian of a loss, by power iteration, the eigenvalue farthest from 0.

    gradient: of the loss with respect to the parameters, with a graph (`create_graph`).
    """
    vector, value = [torch.randn_like(one) for one in parameters], 0.0
    for _ in range(rounds):
        length = _dot(vector, vector).sqrt().clamp_min(1e-30)
        vector = [one / length for one in vector]
        product = torch.autograd.grad(gradient, parameters, vector, retain_graph=True, materialize_grads=True)
        value, vector = float(_dot(vector, product)), product
    return value


def _dot(a: Iterable[Tensor], b: Iterable[Tensor]) -> Tensor:
    return sum((one * other).sum() for one, other in zip(a, b, strict=True))


def sensitivities(network: Network, batches: Sequence[Batch]) -> np.ndarray:
    """|mean| + spread over batches of the top eigenvalue of each block's Hessian: (layers,)."""
    blocks = [list(block.parameters()) for block in encoder_layers(network.encoder)]
    values = []
    for batch in batches:
        with sdpa_kernel(SDPBackend.MATH):  # the quick kernels cannot be derived twice
            loss = hard_loss(network, batch)
        values.append([top_eigenvalue(torch.autograd.grad(loss, own, create_graph=True), own) for own in blocks])
    return np.abs(np.mean(values, 0)) + np.std(values, 0)


def block_bits(sensitive: np.ndarray) -> list[int]:
    """Three bits for the more sensitive half of the blocks, two for the others."""
    high = np.argsort(-sensitive, kind="stable")[: len(sensitive) // 2]
    return [HIGH if block in high else LOW for block in range(len(sensitive))]


def misranked(sensitive: np.ndarray, bits: Sequence[float]) -> int:
    """Pairs of blocks of which the more sensitive one has fewer bits."""
    order = np.asarray(bits)[np.argsort(-sensitive, kind="stable")]
    return int(np.triu(order[:, None] < order[None, :]).sum())


def _qbert(lesson: Lesson) -> Small:
    """Mixed precision by the Hessian, a range for each group of rows, tuned while it is rounded (shen2019qbert)."""
    network = lesson.copy_of_teacher()
    order = np.random.default_rng(lesson.seed)
    few = list(islice(lesson.train_set.batches(HESSIAN_PIECES, order), HESSIAN_BATCHES))
    sensitive = sensitivities(network, few)
    blocks = [matrices(block) for block in encoder_layers(network.encoder)]
    chosen = {
        id(part): own for own, block in zip(block_bits(sensitive), blocks, strict=True) for part in block.values()
    }
    bits = {name: chosen.get(id(part), EMBEDDED) for name, part in matrices(network).items()}
    with rounded(network, {name: lambda weight, own=own: group_grid(weight, own) for name, own in bits.items()}):
        lesson.train(network)
    used = [np.mean([used_bits(part.weight) for part in block.values()]) for block in blocks]
    facts = {"average_bits": average_bits(blocks), "misranked": misranked(sensitive, used)}
    return stored(network, bits, _ranges(network), **facts)


def average_bits(blocks: Sequence[Mapping[str, nn.Module]]) -> float:
    """Of the weights of all matrices of these blocks."""
    weights = [part.weight for block in blocks for part in block.values()]
    return float(np.average([used_bits(one) for one in weights], weights=[one.numel() for one in weights]))


def _ranges(network: nn.Module) -> int:
    """Floats beside the weights: two for each group of rows, one for the inputs of each linear layer."""
    groups = sum(math.gcd(GROUPS, len(part.weight)) for part in matrices(network).values())
    return 2 * groups + sum(isinstance(part, RoundedInputs) for part in network.modules())


METHODS = (
    Method("Q-BERT-MP", "quantisation", _qbert, counted="bytes", defines=("average_bits", 2.5)),
    Method("BERT-QAT (Q8BERT)", "quantisation", _q8bert, counted="bytes", defines=("off_grid", 0.0)),
    Method("GOBO", "quantisation", _gobo, counted="bytes", defines=("values", 2.0**GOBO_BITS)),
    Method("8-bit integers (torch)", "baseline", _integers, counted="bytes", defines=("float_linears", 0.0)),
)
