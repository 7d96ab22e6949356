"""The calibration of intervals as a table of the run record. Depends on `verdicts.calibration` and `parts`."""

from html import escape
from pathlib import Path

from bertology_utils.pages.parts import simple_table
from bertology_utils.verdicts.calibration import COVERED, WRONG, by_kind, read

HEADS = ("Estimator", "Planted", "Designs", "95 % intervals cover", "Wrong on a side, at most", "Tell it from nothing",
         "Miss")  # fmt: skip


def calibration_table(path: Path) -> str:
    """Coverage, wrong decisions and decided share of the estimators by kind of design; empty where nothing was kept."""
    found = read(path)
    if not found:
        return ""
    low, high = (f"{100 * share:.0f}" for share in COVERED)
    return (
        "<p>Effects of known size, planted in samples with 1 to 10 seeds, 16 to 2,000 items and 8 to 200 units: how "
        f"often an interval holds the truth ({low} to {high} % is asked), lies wholly on one side of it (at most "
        f"{100 * WRONG:.0f} %), and tells it from nothing. A design misses where that is more than chance. The former "
        "estimator resampled seeds and items; M is the plain method of moments, on its own designs.</p>"
        + simple_table("Calibration of intervals", HEADS, [tuple(map(escape, row)) for row in by_kind(found)])
    )
