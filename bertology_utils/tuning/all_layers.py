"""Classifiers that read every layer in place of the last: HIRE's complement and SesameBERT's weighted mix.

Depends on `training` for the classifier and on `blocks` for where attention keeps its values. Both learn how much each
layer counts for an input, HIRE to add to the last layer, SesameBERT to take its place.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from bertology_utils.instruments.blocks import attention_projections
from bertology_utils.tuning.training import Classifier, compared, pooled

BLUR = 0.5  # standard deviation of SesameBERT's blur, in pieces
SQUEEZE = 4  # times fewer numbers than layers, between the squeeze and the weights


class Hire(Classifier):
    """The last layer beside a complement, the layers' weighted mean (yang2019deepening).

    How much a layer counts for an input is read from its own vector; the weights of an input sum to one. The study
    reads and fuses by recurrent networks, here both are linear: on some dozen examples little can be learnt.
    """

    def __init__(self, encoder: nn.Module, classes: int, pool: str = "mean", separator: int | None = None) -> None:
        super().__init__(encoder, classes, pool, separator)
        width = self.head.in_features
        self.importance = nn.Linear(width, 1)
        self.head = nn.Linear(4 * width, classes)

    def weights(self, layers: Tensor) -> Tensor:
        """How much each layer counts: vectors (batch, layers, width) -> (batch, layers)."""
        return self.importance(layers)[..., 0].softmax(-1)

    def features(self, **batch: Tensor) -> Tensor:
        states = self.encoder(**batch, output_hidden_states=True).hidden_states[1:]
        layers = torch.stack([pooled(state, batch, self.pool, self.separator) for state in states], 1)
        return compared(layers[:, -1], (self.weights(layers).unsqueeze(-1) * layers).sum(1))


class Sesame(Classifier):
    """A weighted mix of all layers in place of the last, over attention that is blurred (su2019sesamebert).

    Squeeze: the mean of each layer's numbers over an input. Excitation: two linear maps make of these a weight between
    0 and 1 for each layer.
    """

    def __init__(self, encoder: nn.Module, classes: int, pool: str = "mean", separator: int | None = None) -> None:
        super().__init__(encoder, classes, pool, separator)
        layers = encoder.config.num_hidden_layers
        hidden = max(1, layers // SQUEEZE)
        self.excitation = nn.Sequential(nn.Linear(layers, hidden), nn.ReLU(), nn.Linear(hidden, layers), nn.Sigmoid())

    def features(self, **batch: Tensor) -> Tensor:
        with blurred(self.encoder, batch["attention_mask"]):
            states = torch.stack(self.encoder(**batch, output_hidden_states=True).hidden_states[1:], 1)
        real = batch["attention_mask"][:, None, :, None].to(states)
        squeezed = (states * real).sum((2, 3)) / (real.sum((2, 3)) * states.shape[-1])
        weights = self.excitation(squeezed)[..., None, None]
        return pooled((weights * states).mean(1), batch, self.pool, self.separator)


def blur_matrix(mask: Tensor, deviation: float = BLUR) -> Tensor:
    """Gaussian weights between the real pieces of each input, rows summing to one: (batch, pieces) -> (..., pieces)."""
    places = torch.arange(mask.shape[1])
    bell = torch.exp(-((places[:, None] - places[None]) ** 2) / (2 * deviation**2))
    weights = bell * mask[:, None, :] + torch.diag_embed((mask == 0).float())  # a row of padding has a sum too
    return weights / weights.sum(-1, keepdim=True)


@contextmanager
def blurred(encoder: nn.Module, mask: Tensor, deviation: float = BLUR) -> Iterator[None]:
    """Inside, each attention map A is A times `blur_matrix`: what a piece gives to another, its neighbours get too.

    Blurring the values gives the same, since (A G) V = A (G V).
    """
    blur = blur_matrix(mask, deviation)
    with ExitStack() as hooks:
        for value in attention_projections(encoder, "value"):
            hooks.enter_context(value.register_forward_hook(lambda module, inputs, output: blur @ output))
        yield
