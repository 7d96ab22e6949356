"""Recorded studies: seed after seed in one process, or several seeds at a time. Knows no study. Depends on `files`."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from pathlib import Path

import torch
from transformers.utils import logging

from bertology_utils.errors import BertologyError
from bertology_utils.files import Row, read_rows


def read_study(path: Path, kind: type[Row], study: str) -> list[Row]:
    """The lines of a study's file. Raises BertologyError where it has none, and as `files.read_rows`."""
    if not (lines := read_rows(path, kind)):
        raise BertologyError(f"{path.parent.name}/{path.name} is missing: `bertology study {study}` makes it.")
    return lines


def run_seeds(work: Callable[[int, Sequence[str]], None], todo: Sequence[tuple[str, int]], jobs: int) -> None:
    """Calls `work(seed, names)` for every seed of `todo`, pairs of name and seed; `jobs` seeds at a time.

    work: of a module, so that a worker finds it; it keeps what it measures itself, name by name.
    """
    of_seed: dict[int, list[str]] = {}
    for name, seed in todo:
        of_seed.setdefault(seed, []).append(name)
    if jobs == 1:
        for seed, names in of_seed.items():
            _prepared(work, seed, names)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed(pool.submit(_prepared, work, *entry) for entry in of_seed.items()):
            done.result()


def _prepared(work: Callable[[int, Sequence[str]], None], seed: int, names: Sequence[str]) -> None:
    torch.set_num_threads(1)
    logging.disable_progress_bar()  # of models that are loaded: a worker has settings of its own
    work(seed, names)


def orphaned() -> bool:
    """Whether the command that started this worker is gone: a killed one leaves no worker behind."""
    parent = parent_process()
    return parent is not None and not parent.is_alive()
