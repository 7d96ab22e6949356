"""How many times faster one network is than another, measured in turns, so that a busy machine slows both alike.

Depends on `compression.methods`.
"""

import time

import numpy as np
import torch
from torch import nn

from bertology_utils.compression.methods.lesson import Batch, Encoded, asked

TURNS = 7
Side = tuple[nn.Module, Encoded]  # a network and the questions as its tokenizer cuts them


@torch.no_grad()
def times_faster(slow: Side, fast: Side, inputs: int = 1) -> float:
    """Seconds of `slow` by seconds of `fast` for the first inputs of both, the median of turns; above 1 if faster."""
    sides = [(network.eval(), asked(_first(encoded, inputs))) for network, encoded in (slow, fast)]
    for network, batch in sides:  # the first pass of a network allocates
        network(**batch)
    return float(np.median([_seconds(*sides[0]) / _seconds(*sides[1]) for _ in range(TURNS)]))


def _first(encoded: Encoded, inputs: int) -> Batch:
    return encoded.batch(np.arange(min(inputs, len(encoded))))


def _seconds(network: nn.Module, batch: Batch) -> float:
    started = time.perf_counter()
    network(**batch)
    return time.perf_counter() - started
