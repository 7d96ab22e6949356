"""The verdict card of a claim: the verdict with the numbers that decide it on one line, everything else behind a fold;
the card of a conflict between claims; and a chapter's answer.

Depends on `predictions` for the clauses and on templates; the look is in book/assets/cards.css.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bertology_utils.files import read_yaml
from bertology_utils.statistics import short_ends
from bertology_utils.templates import counted, render
from bertology_utils.verdicts.claims import Claim
from bertology_utils.verdicts.leads import Contrast
from bertology_utils.verdicts.predictions import Judgement, absence_factor, as_published

AMENDED = re.compile(r"Amended (\d{4}-\d\d-\d\d), when results were known: ")

LOOKS: dict[str, dict[str, str]] = read_yaml(Path(__file__).with_name("verdicts.yaml"))


def size_text(result: Mapping[str, Any]) -> str:
    """Items, units and seeds of a result: `400 items of 40 units, 3 seeds`."""
    n, units, seeds = (result.get(name) or 0 for name in ("n", "units", "seeds"))
    items = counted(n, "item") if n > 1 else ""
    if 1 < units < n:
        items += f" of {counted(units, 'unit')}"
    return ", ".join(filter(None, [items, counted(seeds, "seed") if seeds > 1 else ""]))


def verdict_card(claim: Claim, result: Mapping[str, Any], model: Judgement, twins: Judgement) -> str:
    """The card of a result that a chapter has just recorded: `<section class="verdict-card" id="claim-<id>">`, with a
    link to its row in the ledger.

    Raises ValueError for an unknown verdict: verdicts are computed, so a misspelt one is a defect of the package.
    """
    if result["verdict"] not in LOOKS:
        raise ValueError(f"unknown verdict {result['verdict']!r}")
    place = model.deciding
    clause = None if place is None else model.clauses[place]
    return render(
        "card.html",
        claim=claim,
        verdict=result["verdict"],
        look=LOOKS[result["verdict"]],
        model=model,
        twins=twins,
        clause=clause,
        control=twins.clauses[place] if clause and twins.clauses else None,
        lead=Contrast(**result["lead"]) if result.get("lead") else None,
        published=clause and as_published(clause, claim.study_effects.get(clause.text)),
        factor=clause and absence_factor(clause),
        size=size_text(result),
        smoke=result.get("profile") == "smoke",
        ends=short_ends,
        amendments=amendments(claim.amendment),
        ledger="../book/ledger.html",
    )


def amendments(text: str) -> list[tuple[str, str]]:
    """What was changed of a test, with the date of each change."""
    before, *parts = AMENDED.split(text)
    if not parts:
        return [("note", before)] if before else []
    return [(date, change.strip()) for date, change in zip(parts[::2], parts[1::2], strict=True)]


def answer_card(sentences: Sequence[str], figure: str) -> str:
    """What a chapter found, in computed sentences and a figure (HTML)."""
    return render("answer.html", sentences=sentences, figure=Markup(figure))


def conflict_card(name: str, figure: str, outcome: str, differ: str) -> str:
    """A conflict's figure (HTML) with the computed outcome and the reason why the studies could differ."""
    return render("conflict_axis.html", name=name, figure=Markup(figure), outcome=outcome, differ=differ)
