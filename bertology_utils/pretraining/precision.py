"""Which number format this processor multiplies fast in. Depends on torch.

Processors with instructions for bfloat16 are several times faster in it; on those without, the same product takes up
to eighty times as long as in float32. Nothing but a measurement tells.
"""

import time
from functools import cache

import torch

SIZE = 384
REPEATS = 3
SLOW = 0.08  # seconds that no fast product takes, even where another process has the core for a while


@cache
def bfloat16_speed(device: str) -> float:
    """How many times as fast as float32 products in bfloat16 are, the best of a few; takes some 50 ms."""
    seconds = {dtype: _seconds(dtype, device) for dtype in (torch.float32, torch.bfloat16)}
    return seconds[torch.float32] / seconds[torch.bfloat16]


def fast_dtype(device: str = "cpu") -> torch.dtype:
    """bfloat16 where it is faster than float32, and on any GPU; else float32."""
    return torch.bfloat16 if device != "cpu" or bfloat16_speed(device) > 1 else torch.float32


def _seconds(dtype: torch.dtype, device: str) -> float:
    """The least time of a product of two square matrices after one that warms up; a slow format is tried once."""
    matrix = torch.ones(SIZE, SIZE, dtype=dtype, device=device)
    times = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - start)
        if times[-1] > SLOW:
            break
    return min(times[1:] or times)
