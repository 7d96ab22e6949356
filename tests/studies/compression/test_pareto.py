"""The figure of size, speed and what is kept, on planted rows."""

import itertools

import numpy as np
import pandas as pd

from bertology_utils.studies.compression.pareto import front, pareto

ROWS = pd.DataFrame(
    {
        "row": ["small", "smaller", "beaten", "elsewhere"],
        "family": ["pruning", "distillation", "pruning", "distillation"],
        "kept": [99.0, 90.0, 80.0, 100.0],
        "bytes": [2.0, 4.0, 3.0, 16.0],
        "faster_32": [1.0, 4.0, 2.0, 16.0],
        "alike": [True, True, True, False],
        "printed factor": [2.0, None, None, 4.0],
        "printed speed": [None, None, None, 4.0],
        "printed kept": [98.0, None, None, 95.0],
    }
)


def test_the_front_is_what_no_row_beats():
    rng = np.random.default_rng(0)
    gains, kept = rng.random(40), 100 * rng.random(40)
    beaten = {a for a, b in itertools.permutations(range(40), 2) if gains[b] > gains[a] and kept[b] >= kept[a] - 2}
    assert set(np.flatnonzero(~front(gains, kept))) == beaten


def test_a_tie_within_what_seeds_tell_goes_to_the_smaller_row():
    assert front([1, 2], [100, 99]).tolist() == [False, True]
    assert front([1, 2], [100, 97]).tolist() == [True, True]


def test_rows_asked_elsewhere_are_drawn_and_in_no_front():
    told = pareto(ROWS)
    assert "The front in times smaller (bytes as stored): small (2, 99 %), smaller (4, 90 %)." in told.alt
    assert "elsewhere (16" not in told.alt and list(told.table["row"]) == list(ROWS["row"])
    assert {"printed: times smaller", "printed: times faster"} <= set(told.table)
