"""How far verdicts can be trusted, as tables of the run record: other seeds, the untrained twin, other data.

Depends on `reruns` and `contents` for the counts and on `parts` for tables and names; pure functions from data
to text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from bertology_utils.pages.contents import NOT_RUN, SPECIFIC, Row, verdict_of
from bertology_utils.pages.parts import CHAPTERS, simple_table
from bertology_utils.project import RANDOM_PREFIX
from bertology_utils.verdicts.predictions import NOT_TESTABLE
from bertology_utils.verdicts.reruns import DECIDED, Flips, Verdict, by_chapter, flips


def rerun_table(verdicts: Sequence[Verdict]) -> str:
    """How many verdicts other seeds flip, by chapter and in all; empty where nothing was run again."""
    if not verdicts:
        return ""
    lines = [
        (_chapter(chapter), escape(model), escape(profile), *_flips(found))
        for (model, profile, chapter), found in by_chapter(verdicts).items()
    ]
    lines.append(("All", "", "", *_flips(flips(verdicts))))
    heads = (
        "Chapter",
        "Model",
        "Profile",
        "Claims",
        "Seeds",
        "Not the majority",
        "Other side",
    )
    return (
        "<p>Chapters run again with other seeds, which draw other items (where there are more than a test asks), probe "
        "weights and resamples: verdicts that are not the one most runs give to the claim, and, among runs that decide "
        "it, those on the other side (replicates against contradicts).</p>"
        + simple_table("Reruns with other seeds", heads, lines)
    )


def _flips(found: Flips) -> tuple[str, ...]:
    return str(found.claims), str(found.seeds), *(_share(n, found.verdicts) for n in (found.flipped, found.opposed))


def twin_table(rows: Iterable[Row]) -> str:
    """What untrained specimens make of the predictions, by chapter and in all; empty without a run of one."""
    groups: dict[tuple[str, str, str], list[tuple[bool, str]]] = {}
    for row in rows:
        for result in filter(_is_untrained, row.results):
            key = (result["model"], result["profile"], row.notebook)
            groups.setdefault(key, []).append((row.specific, verdict_of(result)))
    if not groups:
        return ""
    lines = [(_chapter(key[2]), escape(key[0]), escape(key[1]), *_passes(found)) for key, found in groups.items()]
    lines.append(("All", "", "", *_passes([pair for found in groups.values() for pair in found])))
    heads = ("Chapter", "Model", "Profile", "Tested", "Replicates", "About training", "Replicates")
    return (
        "<p>An untrained specimen is asked everything too. What training teaches must not replicate there; claims "
        "about architecture, arithmetic, data or the instrument may.</p>"
        + simple_table("Untrained specimens", heads, lines)
    )


def data_table(rows: Iterable[Row]) -> str:
    """What becomes of the live verdicts under the recorded `full` profile of the same model; empty without one."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        for full in _full_runs(row):
            groups.setdefault(row.notebook, []).append((row.verdict, verdict_of(full)))
    if not groups:
        return ""
    lines = [(_chapter(chapter), *_changes(pairs)) for chapter, pairs in groups.items()]
    lines.append(("All", *_changes([pair for pairs in groups.values() for pair in pairs])))
    heads = ("Chapter", "Tested", "Same", "Decided only there", "Decided only here", "Other side")
    return (
        "<p>The same model under the recorded profile <code>full</code>, on real data wherever the chapter has some: "
        "how many verdicts stay, how many are decided there or here alone, and how many fall on the other side. "
        "<em>Same</em> counts <em>not specific</em> as replicating.</p>"
        + simple_table("Live and full verdicts of the same model", heads, lines)
    )


def _full_runs(row: Row) -> list[dict[str, Any]]:
    """The recorded full results of the model whose live verdict is shown, where both test the claim."""
    if verdict_of(row.live) in (NOT_RUN, NOT_TESTABLE):
        return []
    mine = [r for r in row.recorded if r.get("profile") == "full" and r.get("model") == row.live["model"]]
    return [result for result in mine if verdict_of(result) != NOT_TESTABLE]


def _changes(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Number of pairs (here, there), then those alike, decided there alone, decided here alone, and opposed."""
    sides = [(DECIDED.get(here), DECIDED.get(there)) for here, there in pairs]
    same = sum(here == there for here, there in sides)
    there_alone = sum(here is None and there is not None for here, there in sides)
    here_alone = sum(here is not None and there is None for here, there in sides)
    opposed = len(sides) - same - there_alone - here_alone
    return str(len(sides)), *(_share(count, len(sides)) for count in (same, there_alone, here_alone, opposed))


def _is_untrained(result: dict[str, Any]) -> bool:
    return str(result.get("model", "")).startswith(RANDOM_PREFIX) and verdict_of(result) != NOT_TESTABLE


def _passes(found: Sequence[tuple[bool, str]]) -> tuple[str, ...]:
    """Number and passing share of all claims, then of those about training."""
    taught = [pair for pair in found if pair[0]]
    shares = ((len(part), sum(verdict == SPECIFIC for _, verdict in part)) for part in (found, taught))
    return tuple(text for size, passed in shares for text in (str(size), _share(passed, size)))


def _share(count: int, of: int) -> str:
    return f"{count} ({count / of:.1%})" if of else "0"


def _chapter(name: str) -> str:
    return CHAPTERS.get(name, escape(name))
