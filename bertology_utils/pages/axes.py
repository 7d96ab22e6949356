"""Conflicts on their axes: what every run says between the two predicted regions, as rows of tracks in a table.

Depends on `conflicts` for axes, regions and `read_settled`, and on templates. A track is a strip of the axis in which
regions, intervals and values lie by per cent of its width, so that it fits any screen; numbers stand beside it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from bertology_utils.families import is_member
from bertology_utils.project import DEFAULT_MODEL
from bertology_utils.templates import render
from bertology_utils.verdicts.conflicts import Axis, Conflict

ROOM = 0.12  # of the axis' length, to each side of all that is drawn
FAR = 1.0  # a twin farther off than this many lengths does not stretch the axis
DATA = {"live": "generated data", "full": "real data"}
FEW = 8  # runs that a card shows without unfolding


@dataclass(frozen=True)
class Track:
    """The part of an axis that is drawn."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Where a value lies, in per cent of the width; what lies beyond is at the end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(100 * share, 1)

    def span(self, low: float, high: float) -> tuple[float, float]:
        """Left end and width of an interval in per cent."""
        left = self.place(low)
        return left, round(self.place(high) - left, 1)


def track_of(axis: Axis, entries: Iterable[Mapping[str, Any]]) -> Track:
    """From the least to the largest number on an axis, with room for regions that are open to one side."""
    entries = list(entries)
    bounds = [bound for side in axis.sides for bound in (side.region.low, side.region.high)]
    values = [value for e in entries for row in e["rows"].values() for value in row]
    values += [value for e in entries for value in e["published"].values()]
    near = [value for value in (*bounds, *values) if isfinite(value)] or [0.0]
    low, high = min(near), max(near)
    reach = FAR * ((high - low) or 1.0)
    twins = [row[0] for e in entries for row in e["twins"].values()]
    near = [low, high, *(value for value in twins if low - reach <= value <= high + reach)]
    room = ROOM * ((max(near) - min(near)) or 1.0)
    return Track(min(near) - room, max(near) + room)


def in_order(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The runs on an axis: the book's own, other specimens, members of a series; generated data first."""
    return sorted(
        entries,
        key=lambda e: (e["model"] != DEFAULT_MODEL, is_member(e["model"]), e["model"], e["profile"] != "live"),
    )


def name_of(run: Mapping[str, Any]) -> str:
    """A run as tables name it: `pocket-bert, real data`."""
    return f"{run['model']}, {DATA.get(run['profile'], run['profile'])}"


def strip(axis: Axis, entries: Sequence[Mapping[str, Any]]) -> str:
    """Every run's value between the two regions, row by row; empty where no record holds samples."""
    entries = in_order(entries)
    return render("strip.html", axis=axis, entries=entries, track=track_of(axis, entries), few=FEW, name_of=name_of)


TOLD = {
    "both": "both sides hold",
    "neither": "neither side holds",
    "undecided": "undecided",
    "unspecific": "no lead over untrained twins",
    "unable": "cannot do the task",
}


def verdict_words(axis: Axis, outcome: str) -> str:
    """The outcome of an axis in a few words."""
    place = {"first": 0, "second": 1}.get(outcome)
    return TOLD[outcome] if place is None else f"for “{axis.sides[place].label}”"


def overview(conflicts: Sequence[Conflict], entries: Sequence[Mapping[str, Any]], link: Callable[[str], str]) -> str:
    """The picture of all axes: the book's own run between the regions of each conflict that has an axis."""
    shown = {e["axis"]: e for e in entries if (e["model"], e["profile"]) == (DEFAULT_MODEL, "live")}
    found = [(c, shown.get(c.axis.name)) for c in conflicts if c.axis]
    lines = [(conflict, entry, track_of(conflict.axis, [entry] if entry else [])) for conflict, entry in found]
    return render("axes.html", lines=lines, link=link, verdict_words=verdict_words)
