"""Pruning masks over an encoder's weight matrices: by magnitude, by head, and the good, random and bad sets.

Depends on torch and the layout of `heads`. A mask set is {parameter name: boolean tensor, True = kept}; names are those
of the module that it was made for (usually the encoder). `training.finetune(masks=...)` trains under one.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.blocks import put_back
from bertology_utils.instruments.heads import head_grid, output_projections

Masks = dict[str, Tensor]


def prunable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The weight matrices of the encoder's blocks: no embeddings, norms, biases, pooler or heads (as the studies)."""
    return {
        name: parameter
        for name, parameter in model.named_parameters()
        if parameter.dim() == 2 and re.search(r"layers?\.", name) and "embedding" not in name
    }


@torch.no_grad()
def magnitude_masks(model: nn.Module, share: float) -> Masks:
    """Prune exactly `round(share * weights)` weights of smallest magnitude, over all matrices (chen2020lottery)."""
    if not 0 <= share <= 1:
        raise BertologyError(f"A sparsity lies between 0 and 1, got {share}.")
    matrices = prunable(model)
    flat = torch.cat([weight.abs().flatten() for weight in matrices.values()]).numpy()
    count = round(share * flat.size)
    kept = np.ones(flat.size, dtype=bool)
    if count:  # partition, not a threshold: ties at the threshold would miss the asked count
        kept[np.argpartition(flat, count - 1)[:count]] = False
    return _unflatten(torch.from_numpy(kept), matrices)


def random_masks(like: Mapping[str, Tensor], seed: int = 0) -> Masks:
    """As many kept weights as `like`, drawn over all matrices together."""
    generator = torch.Generator().manual_seed(seed)
    flat = torch.cat([mask.flatten() for mask in like.values()])
    return _unflatten(flat[torch.randperm(flat.numel(), generator=generator)], like)


def bad_masks(good: Mapping[str, Tensor], seed: int = 0) -> Masks:
    """The bad set of prasanna2020bert: drawn from what `good` prunes, filled up from the rest to its size."""
    generator = torch.Generator().manual_seed(seed)
    flat = torch.cat([mask.flatten() for mask in good.values()])
    places = (flat.float() + torch.rand(flat.numel(), generator=generator) * 0.999).numpy()  # the pruned come first
    bad, count = np.zeros(flat.numel(), dtype=bool), int(flat.sum())
    bad[np.argpartition(places, count - 1)[:count] if count else []] = True
    return _unflatten(torch.from_numpy(bad), good)


def _unflatten(flat: Tensor, like: Mapping[str, Tensor]) -> Masks:
    parts = flat.split([tensor.numel() for tensor in like.values()])
    return {name: part.view(tensor.shape) for (name, tensor), part in zip(like.items(), parts, strict=True)}


def head_masks(model: nn.Module, keep: Tensor) -> Masks:
    """Masks that zero the W_O columns of the heads where `keep` (layers, heads) is False: the same as gates of 0.

    Raises BertologyError where layers that share their weights (ALBERT) are to keep different heads.
    """
    if tuple(keep.shape) != head_grid(model):
        raise BertologyError(f"keep has shape {tuple(keep.shape)}; (layers, heads) is {head_grid(model)}.")
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    masks = {}
    for layer, projection in enumerate(output_projections(model)):
        weight = projection.weight  # (width, heads * head width)
        columns = keep[layer].bool().repeat_interleave(weight.shape[1] // keep.shape[1])
        mask = columns.expand_as(weight).clone()
        if not torch.equal(masks.setdefault(names[id(weight)], mask), mask):
            raise BertologyError("Layers that share their weights can only be masked alike; use gates instead.")
    return masks


def apply_masks(model: nn.Module, masks: Mapping[str, Tensor]) -> None:
    """Zero the pruned weights in place."""
    for name, mask in masks.items():
        model.get_parameter(name).data.mul_(mask)


@contextmanager
def pruned(model: nn.Module, masks: Mapping[str, Tensor]) -> Iterator[None]:
    """Run with the masks applied; the weights come back afterwards."""
    with put_back(map(model.get_parameter, masks)):
        apply_masks(model, masks)
        yield
