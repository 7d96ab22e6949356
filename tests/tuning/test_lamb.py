"""LAMB: the step of each model's matrix is as long as the matrix says, that of a vector is Adam's."""

import pytest
import torch

from bertology_utils.tuning.descent import adamw, descend
from bertology_utils.tuning.lamb import Lamb, trust


def moved(weight: torch.Tensor, make=Lamb, scale: float = 1.0) -> torch.Tensor:
    """By how much one step at a rate of 0.1 moves weights whose gradient is one everywhere, times `scale`."""
    own = weight.clone().requires_grad_(True)
    own.grad = torch.full_like(own, scale)
    make([{"params": [own], "lr": 0.1}]).step()
    return (own - weight).detach()


def test_a_matrix_moves_by_a_share_of_its_length_whatever_the_gradient() -> None:
    matrices = (
        torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0)) * torch.tensor([0.1, 1.0, 9.0])[:, None, None]
    )
    for scale in (1e-2, 1e2):
        shares = moved(matrices, scale=scale).flatten(1).norm(dim=1) / matrices.flatten(1).norm(dim=1)
        assert shares.tolist() == pytest.approx([0.1] * 3, rel=1e-3)


def test_a_vector_takes_the_step_of_adam() -> None:
    biases = torch.ones(2, 6)
    assert torch.allclose(moved(biases), moved(biases, adamw), atol=1e-5)


def test_without_weights_there_is_nothing_to_scale_by() -> None:
    assert trust(torch.zeros(2, 3, 3), torch.ones(2, 3, 3)).flatten().tolist() == [1, 1]


def test_it_finds_the_bottom_of_a_bowl() -> None:
    weight, goal = torch.ones(2, 3, 3).requires_grad_(True), torch.full((2, 3, 3), 2.0)
    losses = descend(
        [{"params": [weight], "lr": 0.1}], lambda: (weight - goal).square().sum((1, 2)), 60, lambda _: None, Lamb
    )
    assert losses.shape == (60, 2) and losses[-1].max() < 0.01 * losses[0].min()
