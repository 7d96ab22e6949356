"""Recorded studies run seed after seed, or several at a time, with the same calls."""

from functools import partial
from pathlib import Path

import pytest

from bertology_utils.by_seed import orphaned, run_seeds


def note(folder: Path, seed: int, items: list) -> None:
    (folder / str(seed)).write_text(",".join(map(str, items)))


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_seed_gets_its_items_once(tmp_path, jobs) -> None:
    run_seeds(partial(note, tmp_path), [("a", 0), ("b", 0), ("a", 1)], jobs)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"0": "a,b", "1": "a"}


def test_a_process_with_a_parent_is_no_orphan() -> None:
    assert not orphaned()
