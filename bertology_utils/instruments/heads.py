"""Attention heads: gates, importance, ablation, iterative pruning, and the agreement of surviving sets.

Depends on torch, `blocks` and the layout of the encoder (BERT-like `attention.output.dense`, DistilBERT
`attention.out_lin`, ALBERT `attention.dense`); knows nothing of tasks: losses and scores come in as functions. In
tensors layers and heads are 0-based; print them with `models.head_name`. transformers 5 has neither `head_mask` nor
`prune_heads`, so every intervention here is a hook on the input of the output projection W_O, which is the
concatenation of the heads' outputs.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn

from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.instruments.blocks import attention_projections, recorded_calls, starting_at, watched

Batch = Mapping[str, Tensor]
ItemLoss = Callable[[nn.Module, Batch], Tensor]
"""A loss of one batch: (model, batch) -> (batch,), one value an example, not averaged."""


# ---------------------------------------------------------------- where the heads are


def output_projections(model: nn.Module) -> list[nn.Module]:
    """The output projection W_O of each layer, first layer first; (width, heads * head width) each.

    Raises BertologyError where the layout is unknown, or layers share modules (`models.load` gives each its own).
    """
    found = attention_projections(model, "output")
    if len(found) != model.config.num_hidden_layers:
        raise NotAskable(
            f"Heads of {type(model).__name__} cannot be gated: {len(found)} attention output projections "
            f"for {model.config.num_hidden_layers} layers."
        )
    return found


def head_grid(model: nn.Module) -> tuple[int, int]:
    """(layers, heads) of a model."""
    return model.config.num_hidden_layers, model.config.num_attention_heads


# ---------------------------------------------------------------- gates


@contextmanager
def gated(model: nn.Module, gates: Tensor) -> Iterator[None]:
    """Multiply every head's output, before W_O, by its gate.

    `gates` is (layers, heads), or (batch, layers, heads) to give each example its own: then one backward pass returns
    per-example gradients, and one batch can hold different ablations. Follows michel2019sixteen.
    """
    with ExitStack() as stack:
        _gate(model, gates, stack)
        yield


def _gate(
    model: nn.Module, gates: Tensor, stack: ExitStack, replacement: Callable[[int], Tensor] | None = None
) -> None:
    """Hooks that multiply every head's output by its gate and put in its `replacement` (of a layer) as far as that is
    closed."""
    gates = gates if gates.dim() == 3 else gates.unsqueeze(0)
    if tuple(gates.shape[-2:]) != head_grid(model):
        raise BertologyError(f"Gates of shape {tuple(gates.shape)} do not fit (layers, heads) = {head_grid(model)}.")

    def hook_for(layer: int) -> Callable:
        def hook(module: nn.Module, inputs: tuple) -> tuple:
            per_head = inputs[0].unflatten(-1, (gates.shape[-1], -1))  # (batch, pieces, heads, head width)
            gate = gates[:, None, layer, :, None].to(per_head)
            mixed = gate * per_head
            if replacement is not None:
                mixed = mixed + (1 - gate) * replacement(layer)
            return (mixed.flatten(-2), *inputs[1:])

        return hook

    for layer, module in enumerate(output_projections(model)):
        stack.enter_context(module.register_forward_pre_hook(hook_for(layer)))


# ---------------------------------------------------------------- importance


def gate_gradients(model: nn.Module, batch: Batch, loss: ItemLoss, keep: Tensor | None = None) -> Tensor:
    """dL(x)/dgate of every example: (batch, layers, heads), in one backward pass (gates at `keep`, ones if None)."""
    layers, heads = head_grid(model)
    rows = batch["input_ids"].shape[0]
    start = torch.ones(layers, heads) if keep is None else keep.float()
    gates = start.expand(rows, layers, heads).clone().to(batch["input_ids"].device).requires_grad_(True)
    with torch.enable_grad(), gated(model, gates):
        per_item = loss(model, batch)
    if per_item.shape != (rows,):
        raise BertologyError(f"The loss must give one value an example, shape ({rows},); got {tuple(per_item.shape)}.")
    return torch.autograd.grad(per_item.sum(), gates)[0]


def head_importance(model: nn.Module, batches: Iterable[Batch], loss: ItemLoss, keep: Tensor | None = None) -> Tensor:
    """|dL(x)/dgate| per example: (examples, layers, heads); its mean over examples is I_h of michel2019sixteen.

    Deviation: per example, where the published code adds |.| over tokens in all but the last layer. The model is put
    into eval mode by the caller. Heads closed in `keep` still get the importance of opening them.
    """
    return torch.cat([gate_gradients(model, batch, loss, keep).abs() for batch in batches])


def normalise_by_layer(importance: Tensor) -> Tensor:
    """Divide (layers, heads) by each layer's L2 norm, as michel2019sixteen do before ranking over layers."""
    return importance / importance.norm(dim=-1, keepdim=True).clamp_min(1e-12)


def cumulative_importance(gradients: Tensor, batch_size: int) -> Tensor:
    """The score of scripts that never zero the gate's gradient: sum_t |sum_{s<=t} mean gradient of batch s|.

    `gradients` is signed (examples, layers, heads). Kept to show how far this common slip moves the ranking:
    signed gradients cancel within a batch, and early batches count again at every later step.
    """
    means = torch.stack([part.mean(0) for part in gradients.split(batch_size)])
    return means.cumsum(0).abs().sum(0) / len(gradients)


# ---------------------------------------------------------------- ablation


@torch.no_grad()
def head_means(model: nn.Module, batches: Iterable[Batch]) -> Tensor:
    """Mean output of each head over all real pieces of the batches: (layers, heads, head width)."""
    layers, heads = head_grid(model)
    sums: list[Tensor | float] = [0.0] * layers
    pieces = 0
    for batch in batches:
        inputs = {key: batch[key] for key in ("input_ids", "attention_mask", "token_type_ids") if key in batch}
        with watched(output_projections(model), lambda module, given, output: given[0]) as seen:
            model(**inputs)
        real = batch["attention_mask"].bool()
        pieces += int(real.sum())
        for layer, states in enumerate(seen):
            sums[layer] = sums[layer] + states[:, : real.shape[1]][real].sum(0)  # Longformer pads to whole windows
    if not pieces:
        raise BertologyError("Head means need at least one batch.")
    return torch.stack(sums).unflatten(-1, (heads, -1)) / pieces


@contextmanager
def ablated(model: nn.Module, keep: Tensor, how: str = "zero", means: Tensor | None = None) -> Iterator[None]:
    """Run with the heads where `keep` is 0 replaced; `keep` (layers, heads) or (batch, layers, heads).

    how: "zero" removes the head (michel2019sixteen); "mean" puts its average output `means` (from `head_means`);
    "uniform" makes it attend equally to all real pieces (kovaleva2019revealing): the mean of its value vectors.
    """
    if how not in ("zero", "mean", "uniform"):
        raise BertologyError(f"Unknown ablation {how!r}: choose zero, mean or uniform.")
    if how == "mean" and means is None:
        raise BertologyError("Ablation by mean needs means=head_means(model, batches).")
    with ExitStack() as stack:
        replacements = {"mean": lambda: means.__getitem__, "uniform": lambda: _uniform_outputs(model, stack)}
        _gate(model, keep.float(), stack, replacements[how]() if how in replacements else None)
        yield


def _uniform_outputs(model: nn.Module, stack: ExitStack) -> Callable[[int], Tensor]:
    """What every head would put out under uniform attention: layer -> (batch, 1, heads, head width)."""
    values: dict[int, Tensor] = {}
    seen: dict[str, Tensor] = {}
    heads = model.config.num_attention_heads
    encoder = getattr(model, "base_model", model)
    projections = attention_projections(model, "value")
    if len(projections) != model.config.num_hidden_layers:
        raise NotAskable(f"It is not known where {type(encoder).__name__} projects the heads' values.")

    def read_mask(module: nn.Module, args: tuple, kwargs: dict) -> None:
        if kwargs.get("attention_mask") is None:
            raise BertologyError("Uniform ablation needs the attention_mask passed by name.")
        seen["mask"] = kwargs["attention_mask"]

    stack.enter_context(encoder.register_forward_pre_hook(read_mask, with_kwargs=True))
    for layer, module in enumerate(projections):
        hook = module.register_forward_hook(
            lambda module, inputs, output, layer=layer: values.__setitem__(layer, output)
        )
        stack.enter_context(hook)

    def outputs(layer: int) -> Tensor:
        weight = seen["mask"].to(values[layer]).unsqueeze(-1)  # (batch, pieces, 1)
        real = values[layer][:, : weight.shape[1]]
        mean = (real * weight).sum(1, keepdim=True) / weight.sum(1, keepdim=True)
        return mean.unflatten(-1, (heads, -1))

    return outputs


@torch.no_grad()
def ablate_each(
    model: nn.Module, batch: Batch, score: ItemLoss, how: str = "zero", means: Tensor | None = None
) -> Tensor:
    """`score`, which runs the model once, of every example with each single head ablated: (layers, heads, batch).

    All heads of a layer run in one forward pass, as rows of one batch with different gates; the layers below it, which
    no gate reaches, give back what they gave in an intact pass.
    """
    layers, heads = head_grid(model)
    rows = batch["input_ids"].shape[0]
    repeated = {key: value.repeat(heads, *[1] * (value.dim() - 1)) for key, value in batch.items()}
    encoder = getattr(model, "base_model", model)
    with recorded_calls(encoder) as calls:
        score(model, batch)
    inputs = [call.hidden.repeat(heads, 1, 1) for call in calls]
    scores = []
    for layer in range(layers):
        keep = torch.ones(heads, layers, heads)
        keep[torch.arange(heads), layer, torch.arange(heads)] = 0
        with starting_at(encoder, layer, [inputs]), ablated(model, keep.repeat_interleave(rows, 0), how, means):
            scores.append(score(model, repeated).view(heads, rows))
    return torch.stack(scores)


# ---------------------------------------------------------------- pruning curve


@dataclass(frozen=True)
class PruningStep:
    """One point of a pruning curve: the surviving heads (layers, heads) and the per-item scores (items,)."""

    keep: Tensor
    scores: np.ndarray

    @property
    def share_kept(self) -> float:
        return float(self.keep.float().mean())


def prune_iteratively(
    importance: Callable[[Tensor], Tensor],
    evaluate: Callable[[Tensor], np.ndarray],
    grid: tuple[int, int],
    step: float = 0.1,
    floor: float = 0.0,
) -> list[PruningStep]:
    """Remove the `step` share of all heads with the lowest importance, again and again, without retraining.

    `importance(keep) -> (layers, heads)` is asked anew at each step, `evaluate(keep) -> (items,)` scored after it;
    stops when at most `floor` of the heads are left (michel2019sixteen). The first point is the whole model.
    """
    keep = torch.ones(grid, dtype=torch.bool)
    curve = [PruningStep(keep.clone(), np.asarray(evaluate(keep)))]
    quota = max(1, round(step * keep.numel()))
    while keep.float().mean() > floor + 1e-9:
        keep = drop_lowest(importance(keep), keep, quota)
        curve.append(PruningStep(keep, np.asarray(evaluate(keep))))
    return curve


def drop_lowest(importance: Tensor, keep: Tensor, count: int) -> Tensor:
    """`keep` without its `count` heads of lowest importance."""
    order = importance.masked_fill(~keep, math.inf).flatten().argsort()
    smaller = keep.clone().flatten()
    smaller[order[: min(count, int(keep.sum()))]] = False
    return smaller.view_as(keep)


# ---------------------------------------------------------------- do runs agree on the survivors?


def fleiss_kappa(survival: np.ndarray) -> float:
    """Fleiss' kappa of survival (runs, elements), boolean: do runs agree on which elements survive?

    1 = identical sets, 0 = no more than the survival rate alone gives; nan where everything or nothing survives.
    """
    votes = np.asarray(survival, dtype=float)
    runs, _ = votes.shape
    if runs < 2:
        raise BertologyError("Fleiss' kappa needs at least two runs.")
    yes = votes.sum(0)
    observed = ((yes * (yes - 1) + (runs - yes) * (runs - yes - 1)) / (runs * (runs - 1))).mean()
    rate = votes.mean()
    expected = rate**2 + (1 - rate) ** 2
    return float("nan") if expected == 1 else float((observed - expected) / (1 - expected))


@dataclass(frozen=True)
class KappaTest:
    """Kappa, its values when each run keeps as many elements as it did, but random ones, and the one-sided p."""

    kappa: float
    null: np.ndarray
    p: float


def kappa_test(survival: np.ndarray, draws: int = 1000, seed: int = 0) -> KappaTest:
    """Fleiss' kappa of (runs, elements) beside its permutation null with the same number of survivors a run.

    The studies (prasanna2020bert) print kappa alone; with few runs its chance level is not exactly 0.
    """
    survival = np.asarray(survival, dtype=bool)
    generator = np.random.default_rng(seed)
    kappa = fleiss_kappa(survival)
    null = np.array([fleiss_kappa(generator.permuted(survival, axis=1)) for _ in range(draws)])
    return KappaTest(kappa, null, float((1 + (null >= kappa - 1e-12).sum()) / (draws + 1)))


def rank_agreement(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman correlation of two scores of the same heads, whatever the shape of the two grids."""
    return float(spearmanr(np.ravel(first), np.ravel(second)).statistic)
