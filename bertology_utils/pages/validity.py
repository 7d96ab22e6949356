"""How far verdicts can be trusted, as tables of the run record: other seeds, the untrained twin, other data.

Depends on `reruns` and `contents` for the counts and on `parts` for tables and names; pure functions from data
to text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from scipy import stats

from bertology_utils.pages.contents import NOT_RUN, Row, verdict_of
from bertology_utils.pages.parts import CHAPTERS, simple_table
from bertology_utils.project import is_untrained
from bertology_utils.verdicts.predictions import NOT_TESTABLE, REPLICATES
from bertology_utils.verdicts.reruns import DECIDED, Flips, IntervalCheck, Verdict, by_chapter, flips, typical_spread

FAR = 1.5  # times wider than an interval says: more than its error explains


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
        "it, those on the other side (replicates against contradicts). Reruns from before a claim was amended do not "
        "count.</p>" + simple_table("Reruns with other seeds", heads, lines)
    )


def interval_table(checks: Sequence[IntervalCheck]) -> str:
    """How far measured differences move between reruns, in units of what their intervals imply; empty without any."""
    if not checks:
        return ""
    chapters: dict[tuple[str, str, str], list[IntervalCheck]] = {}
    for check in checks:
        chapters.setdefault((check.chapter, check.model, check.profile), []).append(check)
    lines = [
        (_chapter(chapter), escape(model), escape(profile), *_spreads(found))
        for (chapter, model, profile), found in chapters.items()
    ]
    lines.append(("All", "", "", *_spreads(checks)))
    heads = ("Chapter", "Model", "Profile", "Clauses", "Spread / error", f"Above {FAR}", "By chance", "Farthest")
    return (
        "<p>The same reruns test the intervals. The spread of a measured difference over reruns is set beside the "
        "standard error that its interval implies: 1 where intervals are right, below 1 where they are wider than "
        "need be, above where something varies that they do not know of. Median over clauses; how many lie above "
        f"{FAR}; how many would by chance if every interval were right, since few reruns tell a spread roughly; and "
        "the claim that lies farthest. Clauses that measure the same with every seed, since their items are fixed, "
        "say nothing of intervals and are left out.</p>"
        + simple_table("Spread over reruns and what intervals imply", heads, lines)
    )


def _spreads(checks: Sequence[IntervalCheck]) -> tuple[str, ...]:
    far = sum(check.ratio > FAR for check in checks)
    by_chance = sum(stats.chi2.sf((check.seeds - 1) * FAR**2, check.seeds - 1) for check in checks)
    farthest = max(checks, key=lambda check: check.ratio)
    return (
        str(len(checks)),
        f"{typical_spread(checks):.2f}",
        _share(far, len(checks)),
        f"{by_chance / len(checks):.1%}",
        f"<code>{escape(farthest.claim)}</code>, {farthest.ratio:.1f}",
    )


def _flips(found: Flips) -> tuple[str, ...]:
    return str(found.claims), str(found.seeds), *(_share(n, found.verdicts) for n in (found.flipped, found.opposed))


def twin_table(rows: Iterable[Row]) -> str:
    """What untrained specimens make of the predictions, by chapter and in all; empty without a run of one."""
    groups: dict[tuple[str, str, str], list[tuple[bool, str]]] = {}
    for row in rows:
        for result in filter(_is_untrained, row.results):
            key = (result["model"], result["profile"], row.notebook)
            groups.setdefault(key, []).append((row.about_training, verdict_of(result)))
    if not groups:
        return ""
    lines = [(_chapter(key[2]), escape(key[0]), escape(key[1]), *_passes(found)) for key, found in groups.items()]
    lines.append(("All", "", "", *_passes([pair for found in groups.values() for pair in found])))
    heads = ("Chapter", "Model", "Profile", "Tested", "Replicates", "About training", "Replicates")
    return (
        "<p>An untrained specimen is asked everything too, as if it were the model. What training teaches must not "
        "replicate there, but for the 2.5 % that chance allows; instruments and arithmetic may.</p>"
        + simple_table("Untrained specimens", heads, lines)
    )


def data_table(rows: Iterable[Row]) -> str:
    """What becomes of a model's live verdicts under its recorded `full` profile, by chapter; empty without one."""
    groups: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for row in rows:
        for full in (result for result in row.recorded if result.get("profile") == "full"):
            pair = verdict_of(_live_of(row, full["model"])), verdict_of(full)
            if not {NOT_RUN, NOT_TESTABLE} & set(pair):
                groups.setdefault(full["model"], {}).setdefault(row.notebook, []).append(pair)
    if not groups:
        return ""
    lines = [line for model, chapters in sorted(groups.items()) for line in _data_lines(model, chapters)]
    heads = ("Chapter", "Model", "Tested", "Same", "Decided only full", "Decided only live", "Other side")
    return (
        "<p>The same model under the recorded profile <code>full</code>, on real data wherever the chapter has some: "
        "how many verdicts stay, how many are decided under one profile alone, and how many fall on the other side. "
        "<em>Same</em> counts <em>not specific</em> as replicating, and <em>weaker</em> as open: it says neither yes "
        "nor no.</p>" + simple_table("Live and full verdicts of the same model", heads, lines)
    )


def _live_of(row: Row, model: str) -> dict[str, Any] | None:
    """The model's own live result on the claim, of this machine or recorded."""
    return next((r for r in row.results if (r.get("model"), r.get("profile")) == (model, "live")), None)


def _data_lines(model: str, chapters: dict[str, list[tuple[str, str]]]) -> list[tuple[str, ...]]:
    """A line for each chapter, then one for all."""
    every = [pair for pairs in chapters.values() for pair in pairs]
    lines = [*((_chapter(name), pairs) for name, pairs in chapters.items()), ("All", every)]
    return [(name, escape(model), *_changes(pairs)) for name, pairs in lines]


def _changes(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Number of pairs (live, full), then those alike, decided under full alone, under live alone, and opposed."""
    sides = [(DECIDED.get(live), DECIDED.get(full)) for live, full in pairs]
    same = sum(live == full for live, full in sides)
    full_alone = sum(live is None and full is not None for live, full in sides)
    live_alone = sum(live is not None and full is None for live, full in sides)
    opposed = len(sides) - same - full_alone - live_alone
    return str(len(sides)), *(_share(count, len(sides)) for count in (same, full_alone, live_alone, opposed))


def _is_untrained(result: dict[str, Any]) -> bool:
    return is_untrained(str(result.get("model", ""))) and verdict_of(result) != NOT_TESTABLE


def _passes(found: Sequence[tuple[bool, str]]) -> tuple[str, ...]:
    """Number and passing share of all claims, then of those about training."""
    taught = [pair for pair in found if pair[0]]
    shares = ((len(part), sum(verdict == REPLICATES for _, verdict in part)) for part in (found, taught))
    return tuple(text for size, passed in shares for text in (str(size), _share(passed, size)))


def _share(count: int, of: int) -> str:
    return f"{count} ({count / of:.1%})" if of else "0"


def _chapter(name: str) -> str:
    return CHAPTERS.get(name, escape(name))
