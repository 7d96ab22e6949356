"""The projection acts inside the network, at one layer, and leaves no trace."""

import numpy as np
import torch

from bertology_utils.activations import word_vectors
from bertology_utils.instruments.blocks import encoder_layers, inputs_of_runs, recorded_calls
from bertology_utils.instruments.controls import remove_directions
from bertology_utils.studies.syntax import interventions

SENTENCES = [("the", "dog", "saw", "the", "cat", "."), ("a", "man", "slept", ".")]


def second_block_input(specimen):
    """What block 2 receives; the library records block 1's own output before any hook changes it."""
    kept = []
    handle = encoder_layers(specimen.encoder)[1].register_forward_pre_hook(lambda m, args: kept.append(args[0]))
    word_vectors(specimen, SENTENCES[:1])
    handle.remove()
    return kept[0][0].double()


def test_removing_every_direction_leaves_the_mean(tiny):
    mean = torch.arange(tiny.width, dtype=torch.double)
    before, last = second_block_input(tiny), word_vectors(tiny, SENTENCES)[0][2]
    with interventions.without_subspace(tiny, 1, remove_directions(torch.eye(tiny.width)), mean):
        inside, changed = second_block_input(tiny), word_vectors(tiny, SENTENCES)[0][2]
    assert torch.allclose(inside, mean.expand_as(inside), atol=1e-4)
    assert not torch.allclose(changed, last, atol=1e-3)
    assert torch.equal(second_block_input(tiny), before)


def test_a_removed_direction_is_constant_and_the_rest_is_untouched(tiny):
    directions = torch.randn(tiny.width, 3, generator=torch.Generator().manual_seed(0))
    removed, mean = remove_directions(directions), torch.zeros(tiny.width)
    before = second_block_input(tiny)
    with interventions.without_subspace(tiny, 1, removed, mean):
        inside = second_block_input(tiny)
    assert (inside @ removed.basis).abs().max() < 1e-5
    rest = torch.eye(tiny.width, dtype=torch.double) - removed.basis @ removed.basis.T
    assert torch.allclose(inside @ rest, before @ rest, atol=1e-5)


def test_reliance_removes_what_the_probe_reads(tiny):
    found = interventions.reliance(tiny, 1, 40, 12, draws=2)
    assert found["probe"].mean() > found["probe_after"].mean()
    assert found["intact"].shape == found["removed"].shape == found["random"].shape[1:]
    assert found["random"].shape == (2, *found["intact"].shape) and found["shuffled_random"].shape[0] == 1
    assert not np.allclose(found["random"][0], found["random"][1])
    assert np.isfinite(found["shuffled_removed"]).all() and found["rank"] > 3
    assert found["random_cost"].shape == found["random"].shape and 0 < found["removed_share"] < 1
    growth = found["removed"] - found["intact"]
    np.testing.assert_allclose(found["removed_cost"] * found["removed_share"], growth)


def test_the_loss_without_a_subspace_is_that_of_whole_runs(tiny):
    words, places = [*SENTENCES, *SENTENCES[::-1]], [1, 1, 2, 4]
    removed, mean = remove_directions(torch.eye(tiny.width)[:, :5]), torch.ones(tiny.width)
    with recorded_calls(tiny.encoder) as calls:
        intact = interventions.masked_loss(tiny, words, places)
    runs = inputs_of_runs(calls, tiny.layers)
    fast = interventions._loss_without(tiny, 2, removed, mean, words, places, runs)
    with interventions.without_subspace(tiny, 2, removed, mean):
        plain = interventions.masked_loss(tiny, words, places)
    np.testing.assert_allclose(fast, plain, rtol=1e-5)
    assert not np.allclose(fast, intact)
