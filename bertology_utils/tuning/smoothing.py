"""Losses that make a tuned network smooth around its inputs: FreeLB's adversarial steps and SMART's two regularizers.

Depends on torch and on `training` for the loss of examples. A shift of the piece vectors enters where the encoder looks
them up, so that any encoder will do. Lengths are shares of the mean length of a piece's vector: models differ in scale.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from bertology_utils.tuning.training import Classifier, answer_losses, classification_loss

Batch = Mapping[str, Tensor]
STEPS = 2  # of ascent in FreeLB
FIRST, STEP, RADIUS = 0.1, 0.3, 0.5  # of its shift: at the start, of each step, at most
NOISE, REACH = 1e-3, 0.3  # of SMART's shift: before its step of ascent, and after
AVERAGE = 0.9  # of the earlier weights that SMART stays near: a momentum, for runs of some dozen steps


@contextmanager
def shifted(encoder: nn.Module, shift: Tensor) -> Iterator[None]:
    """Inside, `shift` (batch, pieces, width) is added to the vectors of the pieces."""
    hook = encoder.get_input_embeddings().register_forward_hook(lambda module, inputs, output: output + shift)
    try:
        yield
    finally:
        hook.remove()


def freelb(classifier: Classifier, steps: int = STEPS, radius: float = RADIUS) -> Callable[[Batch], Tensor]:
    """The loss of zhu2019freelb: the mean over `steps` shifts of a batch's vectors, each one step uphill from the last.

    Gradients of the weights come from every step, and dropout hides the same numbers in each. A shift stays within
    `radius` of an input's vectors, by the norm of the whole input.
    """
    length = _mean_length(classifier.encoder)

    def loss_of(batch: Batch) -> Tensor:
        shift = _bounded(_noise(classifier, batch, FIRST * length), radius * length)
        dropout, losses = torch.get_rng_state(), []
        for _ in range(steps):
            torch.set_rng_state(dropout)
            shift.requires_grad_()
            with shifted(classifier.encoder, shift):
                losses.append(classification_loss(classifier, batch) / steps)
            (uphill,) = torch.autograd.grad(losses[-1].sum(), shift, retain_graph=True)
            shift = _bounded(shift.detach() + STEP * length * _direction(uphill), radius * length)
        return torch.stack(losses).sum(0)

    return loss_of


class Smart:
    """The loss of jiang2020smart: the task's, a part for smoothness, and one for staying near the weights of before.

    smoothness: how far the answers move (symmetric Kullback-Leibler divergence, of grades the squared difference) under
    the shift that moves them most, found by one step uphill. proximity, the Bregman step: how far they have moved from
    those of the running average of earlier weights.
    """

    def __init__(self, classifier: Classifier, smoothness: float = 1.0, proximity: float = 1.0) -> None:
        self.classifier, self.smoothness, self.proximity = classifier, smoothness, proximity
        self.earlier = copy.deepcopy(classifier).requires_grad_(False).eval()
        self.length = _mean_length(classifier.encoder)

    def __call__(self, batch: Batch) -> Tensor:
        self._follow()
        inputs = {name: values for name, values in batch.items() if name != "labels"}
        dropout = torch.get_rng_state()
        logits = self.classifier(**inputs)
        with torch.no_grad():
            before = self.earlier(**inputs)
        loss = answer_losses(logits, batch["labels"]) + self.proximity * divergence(logits, before)
        return loss + self.smoothness * self._roughness(inputs, logits, dropout)

    def _roughness(self, inputs: Batch, logits: Tensor, dropout: Tensor) -> Tensor:
        """How far a shift moves the answers; dropout hides the same numbers with and without it."""
        shift = _noise(self.classifier, inputs, NOISE * self.length).requires_grad_()
        moved = divergence(self._shifted(inputs, shift, dropout), logits.detach())
        (uphill,) = torch.autograd.grad(moved.sum(), shift)
        return divergence(self._shifted(inputs, REACH * self.length * _direction(uphill), dropout), logits)

    def _shifted(self, inputs: Batch, shift: Tensor, dropout: Tensor) -> Tensor:
        torch.set_rng_state(dropout)
        with shifted(self.classifier.encoder, shift):
            return self.classifier(**inputs)

    @torch.no_grad()
    def _follow(self) -> None:
        for average, weight in zip(self.earlier.parameters(), self.classifier.parameters(), strict=True):
            average.lerp_(weight, 1 - AVERAGE)


def divergence(one: Tensor, other: Tensor) -> Tensor:
    """How far two answers lie apart, from logits (batch, classes) or grades (batch, 1): (batch,)."""
    if one.shape[-1] == 1:
        return (one - other)[:, 0] ** 2
    p, q = one.log_softmax(-1), other.log_softmax(-1)
    return ((p.exp() - q.exp()) * (p - q)).sum(-1)


def _mean_length(encoder: nn.Module) -> float:
    return float(encoder.get_input_embeddings().weight.detach().norm(dim=-1).mean())


def _noise(classifier: Classifier, batch: Batch, length: float) -> Tensor:
    """Shifts of real pieces alone, uniform, of about this length an input: (batch, pieces, width)."""
    mask = batch["attention_mask"].unsqueeze(-1).float()
    noise = 2 * torch.rand(*mask.shape[:2], classifier.encoder.get_input_embeddings().embedding_dim) - 1
    return length * noise * mask / (mask.sum(1, keepdim=True) * noise.shape[-1]).sqrt()


def _norm(shift: Tensor) -> Tensor:
    return shift.norm(dim=(1, 2), keepdim=True)


def _direction(shift: Tensor) -> Tensor:
    return shift / _norm(shift).clamp_min(1e-12)


def _bounded(shift: Tensor, radius: float) -> Tensor:
    return shift * (radius / _norm(shift).clamp_min(1e-12)).clamp_max(1)
