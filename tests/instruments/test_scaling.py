"""Standardising from parts, in place, and at once is the same."""

import torch

from bertology_utils.instruments.scaling import Standardiser


def test_parts_are_standardised_as_the_whole():
    torch.manual_seed(0)
    parts = [3 + 2 * torch.randn(2, words, 5) for words in (4, 1, 7)]
    for part in parts:
        part[..., 4] = 0.3  # a constant dimension keeps its deviation
    whole = torch.cat(parts, 1)
    from_parts, at_once = Standardiser.fit_parts(parts), Standardiser.fit(whole)
    assert torch.allclose(from_parts.mean, at_once.mean, atol=1e-6)
    assert torch.allclose(from_parts(whole), at_once(whole), atol=1e-5)
    expected, own = at_once(whole), whole.clone()
    assert at_once.in_place(own) is own and torch.equal(own, expected)
    assert own[..., :4].mean(1).abs().max() < 1e-6 and torch.allclose(
        own[..., :4].std(1, correction=0), torch.ones(2, 4)
    )
