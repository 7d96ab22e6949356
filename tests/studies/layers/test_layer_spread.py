"""Mixing weights by parts of the sentences, and planted spreads that the prediction can tell."""

import numpy as np
import pytest
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.layer_curves import mix_entropy, side_means, upper_share
from bertology_utils.studies.layers.spread import mixing_shares
from bertology_utils.studies.layers.tasks import Part, Task
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, UNDERPOWERED, judge

LAYERS, WIDTH = 7, 24


class Planted:
    """Features of items whose label can be read from the given layers alone, each with noise of its own."""

    def __init__(self, readable, noise=1.0, seed=0):
        self.readable, self.noise, self.seed = readable, noise, seed

    def of(self, part):
        generator = torch.Generator().manual_seed(1000 * self.seed + 10 * len(part.sentences) + part.items[0][0])
        vectors = self.noise * torch.randn(LAYERS, len(part.items), WIDTH, generator=generator)
        vectors[self.readable, :, 0] += 2.0 * torch.tensor(part.labels) - 1
        return vectors


def planted_task():
    """A label for each sentence, half of them 1."""
    sizes = (400, 320)
    halves = [Part([["a"]] * n, [(i,) for i in range(n)], [i // 4 % 2 for i in range(n)]) for n in sizes]
    return Task("planted", *halves)


def shares(readable, seed=0):
    """(parts, layers); more noise where more layers can be read, so that one alone does not do."""
    noise = 0.5 if len(readable) == 1 else 2.0
    return mixing_shares(Planted(readable, noise, seed), planted_task(), parts=4, seed=seed, steps=80)


def judged(syntactic, semantic):
    planted = {"pos": syntactic, "dep": syntactic, "ner": semantic, "role": semantic, "coref": semantic}
    entropies = {name: mix_entropy(shares(layers, seed)) for seed, (name, layers) in enumerate(planted.items())}
    sides = {"syntactic": ("pos", "dep"), "semantic": ("ner", "role", "coref")}
    return judge(claim_by_id("semantics-spread").parsed_prediction, None, side_means(entropies, sides)).verdict


def test_the_claim_can_come_out_either_way():
    one, every = [2], list(range(LAYERS))
    assert judged(syntactic=one, semantic=every) == REPLICATES
    assert judged(syntactic=every, semantic=one) == CONTRADICTS


def test_tasks_that_spread_alike_do_not_replicate():
    every = list(range(LAYERS))
    assert judged(every, every) in (UNDERPOWERED, CONTRADICTS)


def test_weight_goes_to_the_layers_that_can_be_read():
    assert upper_share(shares([LAYERS - 1])).min() > 0.8 > 0.2 > upper_share(shares([0])).max()


def test_a_task_with_one_label_is_refused():
    part = Part([["a"]] * 4, [(i,) for i in range(4)], [0] * 4)
    with pytest.raises(BertologyError, match="single label"):
        mixing_shares(Planted([0]), Task("planted", part, part), parts=2)


def test_every_part_is_a_training_of_its_own():
    found = shares([0, 1, 2])
    assert found.shape == (4, LAYERS)
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-5)
    assert len(np.unique(found[:, 0].round(6))) == 4
