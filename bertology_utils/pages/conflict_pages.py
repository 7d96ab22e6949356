"""The synthesis page: a card for each conflict, themes that end in two computed sentences, and the overview.

Depends on `contents` for verdicts, `axes` for strips and on the template `conflict.html`. A side is supported only if
it replicates because of training and the other one is contradicted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from bertology_utils.bibliography import Reference
from bertology_utils.pages import axes
from bertology_utils.pages.contents import (
    NOT_RUN,
    Row,
    conflict_outcome,
    is_tested,
    outcome,
    result_of,
    verdict_of,
)
from bertology_utils.pages.ledger_table import measure
from bertology_utils.pages.parts import Link, badge, claim_link, counted, number, simple_table, slug, study_names
from bertology_utils.pages.templates import render
from bertology_utils.project import DEFAULT_MODEL, is_untrained
from bertology_utils.verdicts.conflicts import KINDS, Conflict
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_SPECIFIC, OPEN, REPLICATES, WEAKER

OUTCOMES = {
    "both": "Both claims replicate, so this run does not choose between them.",
    "first": "This run supports the first side: it replicates, specific to training, and the second is contradicted.",
    "second": "This run supports the second side: it replicates, specific to training, and the first is contradicted.",
    "neither": "This run contradicts both sides.",
    "open": "This run supports neither side.",
}
SHORT = {"both": "both hold", "first": "first side", "second": "second side", "neither": "neither", "open": "open"}
NAMES = ("First side", "Second side")
Entries = Sequence[Mapping[str, Any]]


def conflict_map(
    conflicts: Sequence[Conflict], rows: Mapping[str, Row], references: Mapping[str, Reference], link: Link,
    entries: Entries = (),
) -> Markup:  # fmt: skip
    """The conflicts of one theme, opposed conclusions first, and what a reader remembers of them."""
    ordered = sorted(conflicts, key=lambda conflict: KINDS.index(conflict.kind))
    cards = Markup("").join(conflict_card(conflict, rows, references, link, entries) for conflict in ordered)
    return cards + Markup('<p class="remember">{}</p>').format(remembered(ordered, rows, entries))


def conflict_card(
    conflict: Conflict, rows: Mapping[str, Row], references: Mapping[str, Reference], link: Link,
    entries: Entries = (),
) -> Markup:  # fmt: skip
    """Both sides with their studies' numbers next to each other, what the verdicts amount to, and every run."""
    sides = [rows[name] for name in conflict.pair]
    names = NAMES if len(sides) > 1 else ("One entry, two studies",)
    mine = [entry for entry in entries if conflict.axis and entry["axis"] == conflict.axis.name]
    others = other_runs(sides)
    return render(
        "conflict.html", conflict=conflict, result=conflict_outcome(conflict.pair, rows), text=outcome_text(sides),
        sides=[_side(row, name, references, link) for row, name in zip(sides, names, strict=True)],
        differ=conflict.axis.differ if conflict.axis else "", address=_address(conflict, sides, link),
        strip=axes.strip(conflict.axis, mine) if conflict.axis else "", others=others, older=older_text(sides, mine),
    )  # fmt: skip


def _side(row: Row, name: str, references: Mapping[str, Reference], link: Link) -> dict[str, Any]:
    live = row.live or {}
    shown = measure(live) if live.get("measured") is not None else ""
    control = Markup('<span class="interval">untrained {}</span>').format(number(live.get("control")))
    return {
        "name": name,
        "statement": claim_link(row, link),
        "studies": study_names(row, references),
        "published": "; ".join(filter(None, [row.published, row.study])) or "no figures in the survey",
        "badge": badge(row.verdict, live.get("reason") or live.get("needs")),
        "measured": shown and Markup(shown) + control,
    }


def outcome_text(sides: Sequence[Row]) -> str:
    """What the verdicts of a conflict amount to, and why no side is supported where none is."""
    verdicts = [side.verdict for side in sides]
    if len(sides) == 1:
        told = {REPLICATES: "This run supports the claim as stated.", CONTRADICTS: "This run contradicts the claim."}
        return told.get(verdicts[0], "This run leaves it open.")
    result = outcome(*verdicts)
    return OUTCOMES[result] if result != "open" else f"{OUTCOMES[result]} {why_open(verdicts)}"


def why_open(verdicts: Sequence[str]) -> str:
    """Why two verdicts support no side."""
    if NOT_RUN in verdicts or "not testable here" in verdicts:
        return "One of them was not tested."
    if waiting := [NAMES[i].lower() for i, verdict in enumerate(verdicts) if verdict in OPEN]:
        return f"The {' and the '.join(waiting)} {'is' if len(waiting) == 1 else 'are'} not decided."
    if NOT_SPECIFIC in verdicts:
        return "What holds shows no lead over untrained networks."
    return "One effect is there, but smaller than would matter." if WEAKER in verdicts else ""


def _address(conflict: Conflict, sides: Sequence[Row], link: Link) -> str:
    """Where the chapter shows both sides on one axis, once it has run."""
    axis = conflict.axis
    ran = axis and any(side.live for side in sides if side.notebook == axis.notebook)
    return f"{link(f'notebooks/{axis.notebook}')}#conflict-{axis.name}" if axis and ran else ""


def other_runs(sides: Sequence[Row]) -> list[dict[str, Any]]:
    """Verdicts of every other trained run that tested one of the claims: specimens, the ladder, both kinds of data."""
    runs = {(str(r["model"]), str(r["profile"])) for row in sides for r in row.results if r is not row.live}
    runs = [dict(model=model, profile=profile) for model, profile in runs if not is_untrained(model)]
    found = []
    for run in axes.in_order(run for run in runs if (run["model"], run["profile"]) != (DEFAULT_MODEL, "live")):
        results = [result_of(row, run["model"], run["profile"]) for row in sides]
        if not any(map(is_tested, results)):
            continue
        verdicts = [verdict_of(result) for result in results]
        result = outcome(*verdicts) if len(verdicts) > 1 else "open"
        name = f"{run['model']}, {axes.DATA.get(run['profile'], run['profile'])}"
        found.append({"name": name, "badges": [badge(word) for word in verdicts], "outcome": SHORT[result]})
    return found


def older_text(sides: Sequence[Row], entries: Entries) -> str:
    """How many runs are judged from recorded intervals alone and have no place on the axis."""
    older = {(r["model"], r["profile"]) for row in sides for r in row.results if r.get("intervals_only")}
    missing = older - {(entry["model"], entry["profile"]) for entry in entries}
    if not missing:
        return ""
    return (
        f"Judged from recorded intervals alone, and so without a place on the axis: {counted(len(missing), 'run')} "
        "from before records kept samples."
    )


def remembered(conflicts: Sequence[Conflict], rows: Mapping[str, Row], entries: Entries = ()) -> str:
    """Two sentences of a theme: how many of its conflicts this run settles, and the clearest thing that it says."""
    results = {conflict.pair: conflict_outcome(conflict.pair, rows) for conflict in conflicts}
    won = [conflict for conflict in conflicts if results[conflict.pair] in ("first", "second")]
    counts = Counter(results.values())
    return f"{_how_many(len(conflicts), len(won), counts)} {_clearest(conflicts, won, results, rows, entries)}"


def _how_many(total: int, won: int, counts: Mapping[str, int]) -> str:
    rest = [
        words.format(counts[key])
        for key, words in (
            ("both", "in {} both sides hold"),
            ("neither", "in {} neither side holds"),
            ("open", "{} stay open"),
        )
        if counts[key]
    ]
    return f"Of {counted(total, 'conflict')} this run settles {won or 'none'}{'; ' if rest else ''}{', '.join(rest)}."


def _clearest(
    conflicts: Sequence[Conflict], won: Sequence[Conflict], results: Mapping[Any, str], rows: Mapping[str, Row],
    entries: Entries,
) -> str:  # fmt: skip
    """The surest win; else what an axis says; else the conflict that comes nearest; else what verdicts wait for."""
    if won:
        best = min(won, key=lambda conflict: min(_sureness(rows[name]) for name in conflict.pair))
        place = ("first", "second").index(results[best.pair])
        return f"Remember: “{best.about}” {rows[best.pair[place]].statement}"
    shown = {e["axis"]: e for e in entries if (e["model"], e["profile"]) == (DEFAULT_MODEL, "live")}
    for conflict in conflicts:
        if conflict.axis and (entry := shown.get(conflict.axis.name)) and entry["outcome"] in ("first", "second"):
            words = axes.verdict_words(conflict.axis, entry["outcome"])
            return f"Remember: on one axis, “{conflict.about}” comes out {words}."
    verdicts = [rows[name].verdict for conflict in conflicts for name in conflict.pair]
    return f"Remember: {_nearest(conflicts, rows) or _waiting(verdicts)}"


def _nearest(conflicts: Sequence[Conflict], rows: Mapping[str, Row]) -> str:
    """The conflict of which one side replicates, most surely, while the other was tested too."""
    found = []
    for conflict in (conflict for conflict in conflicts if len(conflict.pair) > 1):
        for one, other in (conflict.pair, conflict.pair[::-1]):
            if rows[one].verdict == REPLICATES and rows[other].verdict in (*OPEN, NOT_SPECIFIC, WEAKER):
                found.append((_sureness(rows[one]), conflict.about, rows[one].statement, rows[other].verdict))
    if not found:
        return ""
    _, about, statement, verdict = min(found)
    return f"nearest to a decision is “{about}” {statement} The rival view reads “{verdict}”."


def _sureness(row: Row) -> float:
    return float((row.live or {}).get("q") or 1.0)


def _waiting(verdicts: Sequence[str]) -> str:
    word, count = Counter(verdicts).most_common(1)[0]
    return f"a winner needs a loser, and {count} of the {len(verdicts)} sides read “{word}”."


def conflict_summary(conflicts: Sequence[Conflict], rows: Mapping[str, Row], titles: Mapping[str, str]) -> str:
    """The map's overview: per theme, how many conflicts there are and which way this run points."""
    lines = []
    for theme, title in titles.items():
        mine = [conflict for conflict in conflicts if conflict.theme == theme]
        counts = Counter(conflict_outcome(conflict.pair, rows) for conflict in mine)
        one = counts["first"] + counts["second"]
        told = (len(mine), one, counts["both"], counts["neither"], counts["open"])
        lines.append((Markup('<a href="#{}">{}</a>').format(slug(title), title), *map(str, told)))
    return simple_table("Conflicts by theme", ("Theme", "Conflicts", "Settled", "Both", "Neither", "Open"), lines)
