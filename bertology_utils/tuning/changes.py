"""What fine-tuning changed: weights, representations, layer restoration, and the loss on the line between two models.

Depends on `training` (classifier and scores) and `activations` (sentence vectors). Layer 0 is the embeddings, 1..L the
blocks, on every axis.
"""

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.activations import sentence_vectors
from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.models import Specimen
from bertology_utils.tuning.training import Classifier


def blocks_have_own_weights(encoder: nn.Module) -> bool:
    """Whether every block of an encoder has weights of its own; those of ALBERT share them in groups (lan2019albert).

    Blocks that share their weights cannot be rolled back apart, nor changed by different amounts.
    """
    blocks = [{id(parameter) for parameter in block.parameters()} for block in encoder_layers(encoder)]
    return len(blocks) == encoder.config.num_hidden_layers and len(set().union(*blocks)) == sum(map(len, blocks))


def _require_own_weights(encoder: nn.Module) -> None:
    if not blocks_have_own_weights(encoder):
        raise NotAskable(f"Blocks of this {type(encoder).__name__} share their weights: none changes alone.")


def _layer_of(parameter: str) -> int | None:
    """0 for embeddings and the map from their width to the blocks', 1..L for blocks, None for pooler and heads."""
    block = re.search(r"(?:^|\.)(?:layer|albert_layer_groups)\.(\d+)\.", parameter)
    if block:
        return int(block[1]) + 1
    return 0 if re.search(r"embeddings\.|embeddings_project\.|embedding_hidden_mapping_in\.", parameter) else None


def weight_change(before: nn.Module, after: nn.Module) -> np.ndarray:
    """||W_after - W_before|| / ||W_before|| of each layer's weight matrices together: (layers + 1,).

    kovaleva2019revealing and hao2019visualizing look at such changes per layer; norms are Frobenius. Raises
    BertologyError where blocks share their weights.
    """
    _require_own_weights(before)
    old = dict(before.named_parameters())
    layers = len(encoder_layers(before)) + 1
    moved, size = np.zeros(layers), np.zeros(layers)
    for name, new in after.named_parameters():
        layer = _layer_of(name)
        if layer is None or name not in old or new.dim() < 2:
            continue
        moved[layer] += float((new - old[name]).detach().pow(2).sum())
        size[layer] += float(old[name].detach().pow(2).sum())
    return np.sqrt(moved / size)


def representation_change(
    before: Specimen, after: Sequence[Specimen], sentences: Sequence[Sequence[str]]
) -> np.ndarray:
    """1 - cosine of each sentence's vector before and after each tuning: (layers + 1, tunings, sentences)."""
    old, *new = (sentence_vectors(specimen, sentences) for specimen in (before, *after))
    return 1 - nn.functional.cosine_similarity(old[:, None], torch.stack(new, dim=1), dim=-1).numpy()


def restored(classifier: Classifier, pretrained: nn.Module, layers: Iterable[int]) -> Classifier:
    """A copy of the classifier with these layers (0 = embeddings, 1..L) rolled back to the pre-trained encoder's.

    hao2019visualizing: lower layers can be rolled back with little loss, higher ones not. Raises BertologyError where
    blocks share their weights, and where there is no such layer.
    """
    _require_own_weights(pretrained)
    chosen = set(layers)
    unknown = chosen - set(range(len(encoder_layers(pretrained)) + 1))
    if unknown:
        raise BertologyError(f"There is no layer {min(unknown)} to restore.")
    copied = copy.deepcopy(classifier)
    source = dict(pretrained.named_parameters())
    with torch.no_grad():
        for name, parameter in copied.encoder.named_parameters():
            if _layer_of(name) in chosen and name in source:
                parameter.copy_(source[name])
    return copied


def along_line(
    classifier: Classifier,
    start: Mapping[str, Tensor],
    evaluate: Callable[[Classifier], np.ndarray],
    alphas: Sequence[float] = tuple(np.linspace(-0.5, 1.5, 9)),
    end: Mapping[str, Tensor] | None = None,
) -> np.ndarray:
    """`evaluate` at theta_0 + alpha (theta_1 - theta_0) for each alpha: (alphas, items).

    `start` is theta_0 (for example `FineTuned.start`), theta_1 is `end` or the classifier as it is; hao2019visualizing.
    Head and encoder both move, so alpha = 0 is the untrained head on the pre-trained encoder.
    """
    end = end or {name: value.clone() for name, value in classifier.state_dict().items()}
    moving = copy.deepcopy(classifier)
    points = []
    for alpha in alphas:
        state = {
            name: torch.lerp(start[name], value, float(alpha)) if value.is_floating_point() else value
            for name, value in end.items()
        }
        moving.load_state_dict(state)
        points.append(np.asarray(evaluate(moving)))
    return np.stack(points)
