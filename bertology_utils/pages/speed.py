"""The recorded benchmarks as a table of the run record. Depends on `parts` for tables."""

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from bertology_utils.pages.parts import simple_table

RECORD = Path("results") / "bench.json"


def speed_table(benchmarks: Iterable[dict[str, Any]]) -> str:
    """Each benchmark's rival beside ours; empty where none is recorded."""
    lines = [_line(entry) for entry in benchmarks]
    if not lines:
        return ""
    heads = ("Work", "Plain way", "Its cost", "Ours", "Ratio (range of rounds)", "Bar", "Same results")
    return (
        "<p>Both ways do the same work in turns, in one run on one machine; the ratio says how often the cost of ours "
        "goes into that of the plain way: the cheapest one, or the package that the bar names. All ways, machine and "
        "versions are in <code>results/bench.json</code>.</p>" + simple_table("Benchmarks, recorded", heads, lines)
    )


def _line(entry: dict[str, Any]) -> tuple[str, ...]:
    ours = next(way for way in entry["speeds"] if way["way"] == entry["judged"])
    plain = next(way for way in entry["speeds"] if way["ratio"] == 1)
    spread = "" if ours["low"] == ours["high"] else f" ({ours['low']:.3g} to {ours['high']:.3g})"
    bar = "" if entry["bar"] is None else f"{entry['bar']:g}, {entry['verdict']}"
    same = {True: "yes", False: "no", None: ""}[entry["equal"]]
    costs = (f"{way['cost']:.3g} {escape(entry['quantity'])}" for way in (plain, ours))
    return escape(entry["what"]), escape(plain["way"]), *costs, f"{ours['ratio']:.3g}{spread}", bar, same
