"""Recorded studies: seed after seed, or row after row, or several at a time. Knows no study. Depends on `files`."""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import TypeVar

import torch
from transformers.utils import logging

from bertology_utils.errors import BertologyError
from bertology_utils.files import Row, read_rows, updating, write_rows

G, P = TypeVar("G"), TypeVar("P")


def read_study(path: Path, kind: type[Row], study: str) -> list[Row]:
    """The lines of a study's file. Raises BertologyError where it has none, and as `files.read_rows`."""
    if not (lines := read_rows(path, kind)):
        raise BertologyError(f"{path.parent.name}/{path.name} is missing: `bertology study {study}` makes it.")
    return lines


def keep_rows(
    path: Path, new: Sequence[Row], kind: type[Row], key: Callable[[Row], Hashable], order: Callable | None = None
) -> None:
    """Adds lines to a study's file in the place of older ones of the same key; sorted by the key, or by `order`."""
    with updating(path):
        fresh = {key(line): line for line in [*read_rows(path, kind), *new]}
        write_rows(path, sorted(fresh.values(), key=order or key), kind)


def run_seeds(work: Callable[[int, Sequence[str]], None], todo: Sequence[tuple[str, int]], jobs: int) -> None:
    """Calls `work(seed, names)` for every seed of `todo`, pairs of name and seed; `jobs` seeds at a time.

    work: of a module, so that a worker finds it; it keeps what it measures itself, name by name.
    """
    run_groups(work, [(seed, name) for name, seed in todo], jobs)


def run_groups(work: Callable[[G, Sequence[P]], None], todo: Sequence[tuple[G, P]], jobs: int) -> None:
    """Calls `work(group, parts)` for every group of `todo`, pairs of group and part; `jobs` groups at a time."""
    parts_of: dict[G, list[P]] = {}
    for group, part in todo:
        parts_of.setdefault(group, []).append(part)
    if jobs == 1:
        for group, parts in parts_of.items():
            _prepared(work, group, parts)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed(pool.submit(_prepared, work, *entry) for entry in parts_of.items()):
            done.result()


def _prepared(work: Callable[[G, Sequence[P]], None], group: G, parts: Sequence[P]) -> None:
    torch.set_num_threads(1)
    logging.disable_progress_bar()  # of models that are loaded: a worker has settings of its own
    work(group, parts)


def orphaned() -> bool:
    """Whether the command that started this worker is gone: a killed one leaves no worker behind."""
    parent = parent_process()
    return parent is not None and not parent.is_alive()
