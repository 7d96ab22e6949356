"""The README's picture: predictions about what training teaches, for each specimen beside its untrained twin.

Depends on `contents` for the counts and on matplotlib. Like every figure it is drawn from `ledger.json`'s rows alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from bertology_utils.errors import BertologyError
from bertology_utils.pages.contents import SPECIFIC, Row
from bertology_utils.project import DEFAULT_MODEL
from bertology_utils.verdicts.predictions import CONTRADICTS, INCONCLUSIVE

SHARES = {SPECIFIC: ("holds", "#17624a"), INCONCLUSIVE: ("undecided", "#8a9299"), CONTRADICTS: ("fails", "#a3331f")}
NARROW = 6  # a share of fewer predictions has no room for its number


def sides(rows: Sequence[Row]) -> dict[str, Counter[str]]:
    """Verdicts on the claims about training, of each live specimen and of its control; the book's own comes first.

    A model that was asked some of the chapters only is left out: its bar would count other claims.
    """
    asked: dict[str, set[str]] = {}
    for row in rows:
        for result in (result for result in row.recorded if result.get("profile") == "live"):
            asked.setdefault(result["model"], set()).add(row.notebook)
    chapters = {row.notebook for row in rows if row.live}
    recorded = {name for name, found in asked.items() if found >= chapters}
    specimens = [DEFAULT_MODEL, *sorted(recorded - {DEFAULT_MODEL})]
    found: dict[str, Counter[str]] = {}
    for name in specimens:
        results = [_result_of(name, specimens, row) for row in rows if row.specific]
        decided = [result for result in results if result and result.get("control_verdict")]
        for label, side in ((name, "model"), (f"{name}, untrained", "control")) if decided else ():
            found[label] = Counter(result[f"{side}_verdict"] for result in decided)
    return found


def _result_of(name: str, specimens: Sequence[str], row: Row) -> dict[str, Any] | None:
    """What a specimen's run says of a claim; a model that a chapter asks beside any specimen counts for all of them."""
    live = [result for result in (row.live, *row.recorded) if result and result.get("profile") == "live"]
    beside = row.live if row.live and row.live["model"] not in specimens else None
    return next((result for result in live if result["model"] == name), beside)


def draw(rows: Sequence[Row], path: Path) -> str:
    """Writes the picture as SVG and returns the sentence that stands for it where it cannot be seen.

    Raises BertologyError where nothing was run.
    """
    found = sides(rows)
    if not found:
        raise BertologyError("There are no fresh verdicts to draw. Run `bertology run` first.")
    with matplotlib.rc_context({"svg.hashsalt": "verdicts", "font.size": 11}):
        figure = Figure(figsize=(7.4, 0.45 * len(found) + 0.8), layout="constrained")
        _bars(figure.subplots(), found)
        figure.savefig(path, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    told = (f"{counts[SPECIFIC]} of {sum(counts.values())} hold for {label}" for label, counts in found.items())
    return f"Of the predictions about what training teaches, {', '.join(told)}"


def _bars(axes, found: dict[str, Counter[str]]) -> None:
    """One bar a side, of its three shares, with their numbers and a key above."""
    left = dict.fromkeys(found, 0)
    for verdict, (word, colour) in SHARES.items():
        for place, (label, counts) in enumerate(found.items()):
            width = counts[verdict]
            axes.barh(place, width, 0.75, left[label], color=colour, label=word if place == 0 else None)
            if width >= NARROW:
                axes.text(left[label] + 2, place, str(width), color="white", va="center")
            left[label] += width
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, borderaxespad=0)
