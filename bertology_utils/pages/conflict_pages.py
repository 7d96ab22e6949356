"""The synthesis page: a card for each conflict, themes that end in two computed sentences, and the overview.

Depends on `contents` for verdicts and on `axes` for strips. A side is supported only if it replicates because of
training and the other one is contradicted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bertology_utils.bibliography import Reference
from bertology_utils.pages import axes
from bertology_utils.pages.contents import NOT_RUN, Row, is_tested, outcome, result_of, verdict_of
from bertology_utils.pages.ledger_table import WORDS, Link, study_names
from bertology_utils.project import DEFAULT_MODEL, is_untrained
from bertology_utils.templates import counted, render
from bertology_utils.verdicts.conflicts import KINDS, Conflict
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_SPECIFIC, NOT_TESTABLE, OPEN, REPLICATES, WEAKER
from bertology_utils.verdicts.sides import load_sides

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
Rows = Mapping[str, Row]


def conflict_map(
    conflicts: Sequence[Conflict], rows: Rows, references: Mapping[str, Reference], link: Link, entries: Entries = ()
) -> str:
    """The conflicts of one theme, opposed conclusions first, and what a reader remembers of them."""
    ordered = sorted(conflicts, key=lambda conflict: KINDS.index(conflict.kind))
    cards = [conflict_card(conflict, rows, references, link, entries) for conflict in ordered]
    return render("conflicts.html", cards=cards, remembered=remembered(ordered, rows, entries))


def conflict_card(
    conflict: Conflict, rows: Rows, references: Mapping[str, Reference], link: Link, entries: Entries = ()
) -> str:
    """Both sides with their studies' numbers and settings, what the verdicts amount to, and every run."""
    sides, axis = [rows[name] for name in conflict.pair], conflict.axis
    mine = [entry for entry in entries if axis and entry["axis"] == axis.name]
    older = {(r["model"], r["profile"]) for row in sides for r in row.results if r.get("intervals_only")}
    return render(
        "conflict.html",
        conflict=conflict,
        result=conflict_outcome(conflict, rows),
        text=outcome_text(sides),
        sides=dict(zip(NAMES if len(sides) > 1 else ("One entry, two studies",), sides, strict=True)),
        studies=partial(study_names, references=references),
        shown=load_sides(),
        ran=axis and any(side.live for side in sides if side.claim.notebook == axis.notebook),
        strip=axes.strip(axis, mine) if axis else "",
        others=other_runs(sides),
        older=len(older - {(entry["model"], entry["profile"]) for entry in mine}),
        link=link,
        **WORDS,
    )


def conflict_outcome(conflict: Conflict, rows: Rows) -> str:
    """What the live verdicts say on the conflict's claims: see `outcome`."""
    return outcome(*(rows[name].verdict for name in conflict.pair))


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
    if NOT_RUN in verdicts or NOT_TESTABLE in verdicts:
        return "One of them was not tested."
    if waiting := [NAMES[i].lower() for i, verdict in enumerate(verdicts) if verdict in OPEN]:
        return f"The {' and the '.join(waiting)} {'is' if len(waiting) == 1 else 'are'} not decided."
    if NOT_SPECIFIC in verdicts:
        return "What holds shows no lead over untrained networks."
    return "One effect is there, but smaller than would matter." if WEAKER in verdicts else ""


def other_runs(sides: Sequence[Row]) -> list[tuple[str, list[str], str]]:
    """Name, verdicts and outcome of every other trained run that tested one of the claims: specimens, the ladder, both
    kinds of data."""
    runs = {(str(r["model"]), str(r["profile"])) for row in sides for r in row.results if r is not row.live}
    runs = {run for run in runs if not is_untrained(run[0])} - {(DEFAULT_MODEL, "live")}
    found = []
    for run in axes.in_order(dict(model=model, profile=profile) for model, profile in runs):
        results = [result_of(row, **run) for row in sides]
        verdicts = [verdict_of(result) for result in results]
        if any(map(is_tested, results)):
            found.append((axes.name_of(run), verdicts, SHORT[outcome(*verdicts)]))
    return found


def remembered(conflicts: Sequence[Conflict], rows: Rows, entries: Entries = ()) -> str:
    """Two sentences of a theme: how many of its conflicts this run settles, and the clearest thing that it says."""
    results = [conflict_outcome(conflict, rows) for conflict in conflicts]
    counts = Counter(results)
    words = {"both": "in {} both sides hold", "neither": "in {} neither side holds", "open": "{} stay open"}
    rest = ", ".join(text.format(counts[key]) for key, text in words.items() if counts[key])
    settled = f"{counts['first'] + counts['second'] or 'none'}{'; ' if rest else ''}{rest}"
    clearest = _winner(conflicts, results, rows) or _on_axis(conflicts, entries)
    clearest = clearest or _nearest(conflicts, rows) or _waiting(conflicts, rows)
    return f"Of {counted(len(conflicts), 'conflict')} this run settles {settled}. Remember: {clearest}"


def _winner(conflicts: Sequence[Conflict], results: Sequence[str], rows: Rows) -> str:
    """The surest of the conflicts that one side wins."""
    places = {"first": 0, "second": 1}
    won = [(c, places[result]) for c, result in zip(conflicts, results, strict=True) if result in places]
    if not won:
        return ""
    best, place = min(won, key=lambda pair: min(_sureness(rows[name]) for name in pair[0].pair))
    return f"“{best.about}” {rows[best.pair[place]].claim.statement}"


def _on_axis(conflicts: Sequence[Conflict], entries: Entries) -> str:
    """What the first axis says that the book's own run decides."""
    shown = {e["axis"]: e["outcome"] for e in entries if (e["model"], e["profile"]) == (DEFAULT_MODEL, "live")}
    for conflict in conflicts:
        if conflict.axis and shown.get(conflict.axis.name) in ("first", "second"):
            told = axes.verdict_words(conflict.axis, shown[conflict.axis.name])
            return f"on one axis, “{conflict.about}” comes out {told}."
    return ""


def _nearest(conflicts: Sequence[Conflict], rows: Rows) -> str:
    """The conflict of which one side replicates, most surely, while the other was tested too."""
    found = []
    for conflict in (conflict for conflict in conflicts if len(conflict.pair) > 1):
        for one, other in (conflict.pair, conflict.pair[::-1]):
            if rows[one].verdict == REPLICATES and rows[other].verdict in (*OPEN, NOT_SPECIFIC, WEAKER):
                told = (conflict.about, rows[one].claim.statement, rows[other].verdict)
                found.append((_sureness(rows[one]), *told))
    if not found:
        return ""
    _, about, statement, verdict = min(found)
    return f"nearest to a decision is “{about}” {statement} The rival view reads “{verdict}”."


def _sureness(row: Row) -> float:
    return float((row.live or {}).get("q") or 1.0)


def _waiting(conflicts: Sequence[Conflict], rows: Rows) -> str:
    verdicts = [rows[name].verdict for conflict in conflicts for name in conflict.pair]
    word, count = Counter(verdicts).most_common(1)[0]
    return f"a winner needs a loser, and {count} of the {len(verdicts)} sides read “{word}”."


def conflict_summary(conflicts: Sequence[Conflict], rows: Rows, titles: Mapping[str, str]) -> str:
    """The map's overview: per theme, how many conflicts there are and which way this run points."""
    found = {title: Counter() for title in titles.values()}
    for conflict in conflicts:
        found[titles[conflict.theme]][conflict_outcome(conflict, rows)] += 1
    return render("themes.html", themes=found)
