"""Muon in batches is Muon; the number format follows what the processor is fast in."""

import pytest
import torch

from bertology_utils.pretraining import precision
from bertology_utils.pretraining.muon import Muon, orthogonalised

SHAPES = ((6, 6), (6, 6), (12, 6), (6, 12))


def matrices():
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def trained(parameters, optimizer):
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        for p in parameters:
            p.grad = torch.randn(p.shape, generator=generator)
        optimizer.step()
    return [p.detach() for p in parameters]


def test_batched_muon_is_that_of_torch():
    ours, theirs = matrices(), matrices()
    got = trained(ours, Muon(ours, 0.1, 0.05, torch.bfloat16))
    plain = trained(theirs, torch.optim.Muon(theirs, 0.1, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"))
    for a, b in zip(got, plain, strict=True):
        assert torch.allclose(a, b, atol=0.02)
    exact = matrices()
    for a, b in zip(trained(exact, Muon(exact, 0.1, 0.05, torch.float32)), plain, strict=True):
        assert torch.allclose(a, b, atol=0.05)
        assert not torch.allclose(a, torch.zeros_like(a), atol=0.1)


def test_singular_values_come_near_one():
    found = torch.linalg.svdvals(orthogonalised(torch.randn(3, 8, 20), torch.float32))
    assert found.min() > 0.3 and found.max() < 1.4


def test_an_old_state_of_torchs_muon_can_be_resumed():
    ours, theirs = matrices(), matrices()
    old = torch.optim.Muon(theirs, 0.1, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
    trained(theirs, old)
    new = Muon(ours, 0.1, 0.05, torch.float32)
    new.load_state_dict(old.state_dict())
    assert torch.equal(new.state[ours[0]]["momentum_buffer"], old.state[theirs[0]]["momentum_buffer"])


@pytest.mark.parametrize("speed, dtype", [(4.0, torch.bfloat16), (0.0125, torch.float32)])
def test_the_faster_format_is_taken(monkeypatch, speed, dtype):
    monkeypatch.setattr(precision, "bfloat16_speed", lambda device: speed)
    assert precision.fast_dtype() == dtype


def test_a_core_that_is_taken_for_a_while_makes_no_format_slow(monkeypatch):
    waits = iter([0.05, 0.03, 0.001, 0.002])  # seconds that products took

    class Clock:
        now = 0.0

        def perf_counter(self) -> float:
            self.now += self.pending
            self.pending = 0.0 if self.pending else next(waits)
            return self.now

        pending = 0.0

    monkeypatch.setattr(precision, "time", Clock())
    assert precision._seconds(torch.float32, "cpu") == pytest.approx(0.001)
