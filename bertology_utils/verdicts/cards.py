"""The verdict card of a claim: what was predicted, measured and controlled, and the verdict, as one HTML section; and
the card of a conflict between claims.

Depends on `predictions` for the clauses: its input is a `Result` of plain values that the chapter fills; the look is in
book/assets/cards.css.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from bertology_utils.statistics import ROUNDING, short, short_ends
from bertology_utils.verdicts.predictions import ClauseResult, deciding

AMENDED = re.compile(r"Amended (\d{4}-\d\d-\d\d), when results were known: ")

# The word always stands beside the icon, so that no verdict is told by colour or sign alone.
VERDICTS = {
    "replicates": ("✓", "replicates"),
    "contradicts": ("✗", "contradicts"),
    "inconclusive": ("≈", "inconclusive"),
    "not testable here": ("∅", "not-testable"),
    "replicates (not specific)": ("◐", "not-specific"),
}


@dataclass(frozen=True)
class Result:
    """The outcome of one claim on one model: what the card and the ledger's row show.

    prediction: the formula in words or signs; clauses and control_clauses: the same comparisons on the model and on
    its control; conditions and control_conditions: those of the positive control; unit: of the measured values
    ("accuracy", "%", ""); n: items; seeds: 0 where nothing was trained; reason: why the verdict is not testable here or
    what limits it; control_reason: why the control's outcome does not count; published: the published figures as text;
    amendment: what was changed of the test when results were known.
    """

    id: str
    statement: str
    prediction: str
    verdict: str
    clauses: Sequence[ClauseResult] = field(default_factory=tuple)
    control_clauses: Sequence[ClauseResult] = field(default_factory=tuple)
    reason: str = ""
    n: int = 0
    seeds: int = 0
    unit: str = ""
    published: str = ""
    conditions: Sequence[ClauseResult] = field(default_factory=tuple)
    control_conditions: Sequence[ClauseResult] = field(default_factory=tuple)
    control_reason: str = ""
    amendment: str = ""


def verdict_card(result: Result, ledger: str = "../book/ledger.html") -> str:
    """The card of one claim as HTML: `<section class="verdict-card" id="claim-<id>">`, with a link to its row in the
    ledger.

    Raises ValueError for an unknown verdict: verdicts are computed, so a misspelt one is a defect of the package.
    """
    if result.verdict not in VERDICTS:
        raise ValueError(f"unknown verdict {result.verdict!r}")
    icon, kind = VERDICTS[result.verdict]
    identity = html.escape(result.id, quote=True)
    parts = [
        f'<section class="verdict-card verdict-{kind}" id="claim-{identity}" '
        f'aria-labelledby="claim-{identity}-statement">',
        f'<p class="verdict-statement" id="claim-{identity}-statement">{html.escape(result.statement)}</p>',
        f'<p class="verdict-word"><span class="verdict-icon" aria-hidden="true">{icon}</span> '
        f"<strong>{html.escape(result.verdict)}</strong>{_reason(result.reason)}</p>",
        _facts(result),
        _clause_table(result),
        _note(f"Of the control: {result.control_reason}." if result.control_reason else ""),
        _amendments(result.amendment),
        f'<p class="verdict-foot">{_sample(result)}<a href="{html.escape(ledger, quote=True)}#row-{identity}">'
        f"<code>{identity}</code> in the ledger</a></p>",
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def conflict_card(name: str, figure: str, outcome: str, differ: str) -> str:
    """A conflict's figure (HTML) with the computed outcome and the reason why the studies could differ."""
    identity = html.escape(name, quote=True)
    return (
        f'<section class="conflict-axis" id="conflict-{identity}" aria-label="Both sides on one axis">{figure}'
        f"<p><strong>{html.escape(outcome)}</strong> {html.escape(differ)}</p></section>"
    )


def plain_card(result: Result) -> str:
    """The card as text, for terminals and notebooks without HTML."""
    icon, _ = VERDICTS[result.verdict]
    lines = [f"{icon} {result.verdict}: {result.statement} [{result.id}]", f"  predicted: {result.prediction}"]
    for who, clauses in (("model", result.clauses), ("control", result.control_clauses)):
        lines += [
            f"  {who}: {clause.text}: {clause.difference:+.3f} ({clause.low:+.3f} to {clause.high:+.3f})"
            for clause in clauses
        ]
    return "\n".join(lines + ([f"  {result.reason}"] if result.reason else []))


def _reason(reason: str) -> str:
    return f' <span class="verdict-reason">({html.escape(reason)})</span>' if reason else ""


def _note(text: str) -> str:
    return f'<p class="verdict-note">{html.escape(text)}</p>' if text else ""


def _amendments(text: str) -> str:
    """What was changed of a test, one line a date, behind a summary that says so."""
    _, *parts = AMENDED.split(text)
    if not parts:
        return _note(text)
    dates, changes = parts[::2], [change.strip() for change in parts[1::2]]
    often = f"Amended {dates[0]}" if len(dates) == 1 else f"Amended {len(dates)} times, last on {dates[-1]}"
    rows = "".join(f"<li>{date}: {html.escape(change)}</li>" for date, change in zip(dates, changes, strict=True))
    return f'<details class="verdict-note"><summary>{often}, when results were known</summary><ul>{rows}</ul></details>'


def _facts(result: Result) -> str:
    pairs = [("Predicted", result.prediction, True), ("Published", result.published, False)]
    shown = [
        f"<dt>{name}</dt><dd>{_code(text) if code else html.escape(text)}</dd>" for name, text, code in pairs if text
    ]
    return f'<dl class="verdict-facts">{"".join(shown)}</dl>' if shown else ""


def _code(text: str) -> str:
    """Names of measurements may break at their underscores, or a long one would widen its column."""
    return f"<code>{html.escape(text).replace('_', '_<wbr>')}</code>"


def _clause_table(result: Result) -> str:
    if not result.clauses:
        return ""
    sides = (
        ("model", result.conditions, result.clauses),
        ("control", result.control_conditions, result.control_clauses),
    )
    rows = []
    for who, conditions, clauses in sides:
        rows += [_clause_row(who, clause, "given ") for clause in conditions]
        rows += [_clause_row(who, clause) for clause in clauses]
    unit = f" ({html.escape(result.unit)})" if result.unit else ""
    headings = ("Who", "Clause", "Holds", f"Left{unit}", f"Right{unit}", "Difference", "95 % interval")
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    label = html.escape(f"Measured values of claim {result.id}", quote=True)
    return (
        f'<div class="verdict-scroll" role="region" tabindex="0" aria-label="{label}"><table class="verdict-table">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _clause_row(who: str, clause: ClauseResult, role: str = "") -> str:
    holds = {"replicates": "yes", "contradicts": "no"}.get(clause.verdict, "undecided")
    cells = [
        role + _code(clause.text),
        holds,
        short(clause.left),
        short(clause.right),
        short(clause.difference, "+"),
        " to ".join(short_ends(clause.low, clause.high, "+")),
    ]
    return (
        f'<tr class="verdict-{who}"><th scope="row">{who}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
    )


def _sample(result: Result) -> str:
    parts = [f"{result.n:,} item{'s' if result.n != 1 else ''}"] if result.n else []
    parts += [f"{result.seeds} seed{'s' if result.seeds != 1 else ''}"] if result.seeds else []
    place = deciding([(clause.low, clause.high) for clause in result.clauses]) if result.clauses else None
    least = None if place is None else result.clauses[place].detectable
    power = f": could have shown a difference of {least:.2g}" if parts and least and least > ROUNDING else ""
    return f"{', '.join(parts)}{power}. " if parts else ""
