"""The optimiser without bias correction: equal to its definition, and its first steps too long."""

import torch

from bertology_utils.tuning.descent import WEIGHT_DECAY, adamw, uncorrected_adamw


def steps(make, gradients: torch.Tensor, rate: float = 0.01) -> torch.Tensor:
    """Where weights that begin at one are after each step: (steps, weights)."""
    weight = torch.ones(gradients.shape[1], requires_grad=True)
    optimiser, found = make([{"params": [weight], "lr": rate}]), []
    for gradient in gradients:
        weight.grad = gradient.clone()
        optimiser.step()
        found.append(weight.detach().clone())
    return torch.stack(found)


def test_it_is_adam_without_the_correction() -> None:
    gradients = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    weight, mean, square, found = torch.ones(4), torch.zeros(4), torch.zeros(4), []
    for gradient in gradients:
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        weight = weight * (1 - 0.01 * WEIGHT_DECAY) - 0.01 * mean / (square.sqrt() + 1e-8)
        found.append(weight)
    assert torch.allclose(steps(uncorrected_adamw, gradients), torch.stack(found), atol=1e-6)


def test_its_first_step_is_three_times_as_long_and_its_late_ones_are_not() -> None:
    constant = torch.ones(20000, 1)
    plain, other = (
        steps(make, constant, 1e-5).diff(dim=0, prepend=torch.ones(1, 1)) for make in (adamw, uncorrected_adamw)
    )
    assert 3.1 < float(other[0] / plain[0]) < 3.2 and 0.95 < float(other[-100:].mean() / plain[-100:].mean()) < 1.05
