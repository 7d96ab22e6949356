"""Recorded studies: seed after seed in one process, or several seeds at a time. Knows no study."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process

import torch
from transformers.utils import logging


def run_seeds(work: Callable[[int, Sequence], None], todo: Sequence[tuple], jobs: int) -> None:
    """Calls `work(seed, items)` for every seed of `todo`, whose entries end in their seed; `jobs` seeds at a time.

    work: of a module, so that a worker finds it; it keeps what it measures itself, item by item.
    """
    of_seed: dict[int, list] = {}
    for *item, seed in todo:
        of_seed.setdefault(seed, []).append(item[0] if len(item) == 1 else tuple(item))
    if jobs == 1:
        for seed, items in of_seed.items():
            _prepared(work, seed, items)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed(pool.submit(_prepared, work, *entry) for entry in of_seed.items()):
            done.result()


def _prepared(work: Callable[[int, Sequence], None], seed: int, items: Sequence) -> None:
    torch.set_num_threads(1)
    logging.disable_progress_bar()  # of models that are loaded: a worker has settings of its own
    work(seed, items)


def orphaned() -> bool:
    """Whether the command that started this worker is gone: a killed one leaves no worker behind."""
    parent = parent_process()
    return parent is not None and not parent.is_alive()
