"""The verdict card of a claim as one HTML section: the verdict with the numbers that decide it on one line, everything
else behind a fold; and the card of a conflict between claims.

Depends on `predictions` for the clauses and on jinja2; the look is in book/assets/cards.css.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from bertology_utils.statistics import short, short_ends
from bertology_utils.verdicts import predictions
from bertology_utils.verdicts.predictions import ClauseResult, Contrast, Judgement, absence_factor, as_published

if TYPE_CHECKING:
    from bertology_utils.verdicts.claims import Claim

AMENDED = re.compile(r"Amended (\d{4}-\d\d-\d\d), when results were known: ")
HEADINGS = ("Who", "Clause", "Says", "Left", "Right", "Effect", "95 % interval")

# The word always stands beside the icon, so that no verdict is told by colour or sign alone.
VERDICTS = {
    predictions.REPLICATES: ("✓", "replicates"),
    predictions.NOT_SPECIFIC: ("◐", "not-specific"),
    predictions.WEAKER: ("◔", "weaker"),
    predictions.CONTRADICTS: ("✗", "contradicts"),
    predictions.UNDERPOWERED: ("≈", "underpowered"),
    predictions.UNABLE: ("–", "unable"),
    predictions.NOT_TESTABLE: ("∅", "not-testable"),
}


@dataclass(frozen=True)
class Card:
    """What the card of one claim on one model shows.

    Attributes:
        prediction: the formula; `effect`: why its smallest effects are those.
        size: items, units and seeds in words.
        study: the study's own values, by clause text, where scales agree.
        amendment: what was changed of the test when results were known.
    """

    id: str
    statement: str
    verdict: str
    prediction: str = ""
    effect: str = ""
    size: str = ""
    published: str = ""
    model: Judgement = field(default_factory=Judgement)
    twins: Judgement = field(default_factory=Judgement)
    lead: Contrast | None = None
    study: Mapping[str, float] = field(default_factory=dict)
    amendment: str = ""


def card_of(claim: Claim, result: Mapping[str, Any], model: Judgement, twins: Judgement) -> Card:
    """The card of a result that a chapter has just recorded."""
    lead = result.get("lead")
    return Card(
        claim.id, told(claim), result["verdict"], claim.full_prediction, claim.effect or "", size_text(result),
        claim.published_text, model, twins, Contrast(**lead) if lead else None, claim.study_effects, claim.amendment,
    )  # fmt: skip


def told(claim: Claim) -> str:
    """What a verdict is about: the claim's statement, or what is checked in its place, which is no word on a method."""
    return f"Checked here: {claim.checks.removesuffix('.')}." if claim.checks else claim.statement


def size_text(result: Mapping[str, Any]) -> str:
    """Items, units and seeds of a result: `400 items of 40 units, 3 seeds`."""
    counts = {name: result.get(name) or 0 for name in ("n", "units", "seeds")}
    parts = [_counted(counts["n"], "item") if counts["n"] > 1 else ""]
    if parts[0] and 1 < counts["units"] < counts["n"]:
        parts[0] += f" of {_counted(counts['units'], 'unit')}"
    return ", ".join(filter(None, [*parts, _counted(counts["seeds"], "seed") if counts["seeds"] > 1 else ""]))


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'s' * (count != 1)}"


def verdict_card(card: Card, ledger: str = "../book/ledger.html") -> str:
    """The card as HTML: `<section class="verdict-card" id="claim-<id>">`, with a link to its row in the ledger.

    Raises ValueError for an unknown verdict: verdicts are computed, so a misspelt one is a defect of the package.
    """
    if card.verdict not in VERDICTS:
        raise ValueError(f"unknown verdict {card.verdict!r}")
    icon, kind = VERDICTS[card.verdict]
    return (
        _template()
        .render(
            id=card.id, kind=kind, icon=icon, verdict=card.verdict, statement=card.statement,
            decided=_decided(card.model), twins=_of_twins(card), reason=_sentence(card.model.reason),
            facts=list(_facts(card)), headings=HEADINGS, rows=list(_rows(card)), amendments=_amendments(card.amendment),
            ledger=ledger,
        )
        .strip()
    )  # fmt: skip


@cache
def _template():
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=False)
    return environment.get_template("card.html")


def plain_card(card: Card) -> str:
    """The card as text, for terminals and notebooks without HTML."""
    icon, _ = VERDICTS[card.verdict]
    lines = [f"{icon} {card.verdict}: {card.statement} [{card.id}]", f"  predicted: {card.prediction}"]
    for who, judgement in (("model", card.model), ("control", card.twins)):
        lines += [f"  {who}: {c.text}: {c.effect:+.3f} ({c.low:+.3f} to {c.high:+.3f})" for c in judgement.clauses]
    return "\n".join(lines + ([f"  {card.model.reason}"] if card.model.reason else []))


def _decided(model: Judgement) -> Markup | str:
    """The deciding clause with both of its sides, the effect and its interval."""
    if model.deciding is None:
        return ""
    clause = model.clauses[model.deciding]
    return Markup("{}: {} against {}, effect {}").format(
        _code(clause.text),
        short(clause.left),
        short(clause.right),
        _with_interval(clause.effect, clause.low, clause.high),
    )


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{short(value, '+')} [{', '.join(short_ends(low, high, '+'))}]"


def _of_twins(card: Card) -> str:
    """What untrained twins make of the same clause, and whether training makes a tested difference."""
    if card.lead:
        lead = card.lead
        who = "its untrained twin" if lead.twins == 1 else f"{lead.twins} untrained twins"
        leads = f"leads {who} by {_with_interval(lead.value, lead.low, lead.high)}"
        return (
            leads if lead.shown else f"no lead over {who} is shown, {_with_interval(lead.value, lead.low, lead.high)}"
        )
    place = card.model.deciding
    if place is None or not card.twins.clauses:
        return ""
    return f"the control has {short(card.twins.clauses[place].effect, '+')}"


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}." if reason else ""


def _facts(card: Card):
    """Rows of names and texts; texts without markup are escaped by the template."""
    clause = None if card.model.deciding is None else card.model.clauses[card.model.deciding]
    yield from [("Predicted", _code(card.prediction))] if card.prediction else []
    yield from [("Smallest effect", card.effect)] if card.effect else []
    yield from [("Published", card.published)] if card.published else []
    if clause:
        yield "Effect there?", "yes" if clause.shown else "no" if clause.high <= 0 else "not decided"
        if size := as_published(clause, card.study.get(clause.text)):
            yield (
                "As large as published?",
                f"{size}: {short(card.study[clause.text], '+')} there, {short(clause.effect, '+')} here",
            )
        if factor := absence_factor(clause):
            yield "Bayes factor", f"{short(factor)} for nothing against an effect as large as would matter"
        if clause.needs:
            yield "Would settle it", clause.needs
    if card.lead:
        yield "Lead over untrained", f"tested on {card.lead.text}"
    if card.twins.reason:
        yield "Of the control", card.twins.reason
    if card.size:
        yield "Sample", card.size


def _code(text: str) -> Markup:
    """Names of measurements may break at their underscores, or a long one would widen its column."""
    return Markup("<code>" + html.escape(text).replace("_", "_<wbr>") + "</code>")


def _rows(card: Card):
    for who, judgement in (("model", card.model), ("control", card.twins)):
        for role, clauses in (("given ", judgement.conditions), ("", judgement.clauses)):
            yield from (_row(who, role, clause) for clause in clauses)


def _row(who: str, role: str, clause: ClauseResult) -> tuple[str | Markup, ...]:
    interval = " to ".join(short_ends(clause.low, clause.high, "+"))
    cells = (short(clause.left), short(clause.right), short(clause.effect, "+"), interval)
    return who, Markup(role) + _code(clause.text), clause.verdict, *cells


def _amendments(text: str) -> Sequence[tuple[str, str]]:
    """What was changed of a test, with the date of each change."""
    before, *parts = AMENDED.split(text)
    if not parts:
        return [("note", before)] if before else []
    return [(date, change.strip()) for date, change in zip(parts[::2], parts[1::2], strict=True)]


def answer_card(sentences: Sequence[str], figure: str) -> str:
    """What a chapter found, in computed sentences and a figure (HTML)."""
    told = " ".join(map(html.escape, sentences))
    return f'<section class="chapter-answer" aria-label="What this chapter finds"><p>{told}</p>{figure}</section>'


def conflict_card(name: str, figure: str, outcome: str, differ: str) -> str:
    """A conflict's figure (HTML) with the computed outcome and the reason why the studies could differ."""
    identity = html.escape(name, quote=True)
    return (
        f'<section class="conflict-axis" id="conflict-{identity}" aria-label="Both sides on one axis">{figure}'
        f"<p><strong>{html.escape(outcome)}</strong> {html.escape(differ)}</p></section>"
    )
