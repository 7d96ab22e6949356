"""The README's picture: verdicts on claims about what training teaches, for each specimen beside its untrained twin.

Depends on `tallies` for the counts and on matplotlib. Like every figure it is drawn from `ledger.json`'s rows alone.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from bertology_utils.errors import BertologyError
from bertology_utils.pages import tallies
from bertology_utils.pages.contents import SHARES, Row, result_of
from bertology_utils.pages.tallies import Tally
from bertology_utils.project import DEFAULT_MODEL
from bertology_utils.verdicts.cards import LOOKS

NARROW = 6  # a share of fewer predictions has no room for its number


def specimens(rows: Sequence[Row]) -> list[str]:
    """The book's own specimen, then those that were asked as many chapters: another's bar would count other claims."""
    asked: dict[str, set[str]] = {}
    for row in rows:
        for result in (result for result in row.recorded if result.get("profile") == "live"):
            asked.setdefault(result["model"], set()).add(row.claim.notebook)
    chapters = {row.claim.notebook for row in rows if row.live}
    return [DEFAULT_MODEL, *sorted(name for name in asked if asked[name] >= chapters and name != DEFAULT_MODEL)]


def sides(rows: Sequence[Row]) -> dict[str, Tally]:
    """Verdicts on the claims about training, of each live specimen and of its control."""
    names, found = specimens(rows), {}
    for name in names:
        chosen = partial(result_of, model=name, profile="live", specimens=names)
        model, twins = tallies.tallies(rows, chosen)[0], tallies.twin_tally(rows, chosen)
        if model.tested:
            found |= {name: model, f"{name}, untrained": twins}
    return found


def draw(rows: Sequence[Row], path: Path) -> str:
    """Writes the picture as SVG and returns the sentence that stands for it where it cannot be seen.

    Raises BertologyError where nothing was run.
    """
    found = sides(rows)
    if not found:
        raise BertologyError("There are no fresh verdicts to draw. Run `bertology run` first.")
    with matplotlib.rc_context({"svg.hashsalt": "verdicts", "font.size": 11}):
        figure = Figure(figsize=(7.4, 0.45 * len(found) + 1.1), layout="constrained")
        _bars(figure.subplots(), found)
        figure.savefig(path, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    trained = {label: side for label, side in found.items() if not label.endswith(", untrained")}
    told = (f"{side.replicate} of {side.tested} replicate for {label}" for label, side in trained.items())
    return f"Of the tested claims about what training teaches, {', '.join(told)}; none can for an untrained network"


def _bars(axes, found: dict[str, Tally]) -> None:
    """One bar a side, of its shares, with their numbers and a key above."""
    left = dict.fromkeys(found, 0)
    for verdict in SHARES:
        colour = LOOKS[verdict]["colour"]
        for place, (label, side) in enumerate(found.items()):
            width = side.counts[verdict]
            axes.barh(place, width, 0.75, left[label], color=colour, label=verdict if place == 0 else None)
            if width >= NARROW:
                axes.text(left[label] + 2, place, str(width), color="white", va="center")
            left[label] += width
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.legend(loc="lower left", bbox_to_anchor=(-0.2, 1), ncols=3, frameon=False, borderaxespad=0)
