"""What a chapter's verdicts add up to: what replicates, what does not, and what to suspect first, as HTML.

Depends on `predictions` (the names of verdicts) alone: its input are the results that a chapter records. Themes map a
heading to claims, and each claim to a few words that finish the sentence; the rest is computed.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from bertology_utils.verdicts.predictions import (
    CONTRADICTS,
    INCONCLUSIVE,
    NOT_SPECIFIC,
    NOT_TESTABLE,
    REPLICATES,
    deciding,
)

Themes = Mapping[str, Mapping[str, str]]
HEADINGS = {
    REPLICATES: "Replicates",
    NOT_SPECIFIC: "Holds for the untrained control too, so training is not the reason",
    CONTRADICTS: "Does not replicate",
    INCONCLUSIVE: "Open",
    NOT_TESTABLE: "Not testable here",
}


def suspicion(result: Mapping[str, Any]) -> str:
    """Why a claim may not have replicated, read from the clause that failed most; empty where there is no doubt.

    A specimen that does no better than its untrained control is the first suspect; one that training moved against
    the prediction points to the method, the text or the claim.
    """
    if result["verdict"] not in (CONTRADICTS, INCONCLUSIVE):
        return ""
    if result["reason"].startswith("the positive control"):
        return "its positive control does not hold, so this specimen cannot tell"
    if result["reason"]:
        return "even a perfect score would not pass"
    model, control = _deciding(result)
    if result["verdict"] == INCONCLUSIVE:
        return "the interval leaves both answers"
    if model["low"] > control["high"]:
        return "training moved it towards the prediction, but not far enough"
    if model["high"] < control["low"]:
        return "training moved it the other way: look at method and text"
    return "no better than the untrained control: suspect the specimen"


def _deciding(result: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    place = deciding([(clause["low"], clause["high"]) for clause in result["clauses"]])
    return result["clauses"][place], result["control_clauses"][place]


def conclusions(results: Sequence[Mapping[str, Any]], themes: Themes, statements: Mapping[str, str]) -> str:
    """A list with one item a theme, its claims grouped by verdict and doubt, each a link to its card.

    Results that no theme names stand under "Besides", with their statement; a claim without a result is left out.
    """
    found = {result["id"]: result for result in results}
    named = {identity for claims in themes.values() for identity in claims}
    rest = {identity: statements[identity].rstrip(".") for identity in found if identity not in named}
    items = [_theme(heading, claims, found) for heading, claims in {**themes, "Besides": rest}.items()]
    return f'<ul class="conclusions">{"".join(items)}</ul>'


def _theme(heading: str, claims: Mapping[str, str], found: Mapping[str, Mapping[str, Any]]) -> str:
    groups: dict[str, list[str]] = {}
    for verdict, lead in HEADINGS.items():
        for identity, words in claims.items():
            if identity in found and found[identity]["verdict"] == verdict:
                doubt = suspicion(found[identity])
                groups.setdefault(f"{lead} ({doubt})" if doubt else lead, []).append(_link(identity, words))
    told = " ".join(f"{lead}: {'; '.join(links)}." for lead, links in groups.items())
    return f"<li><strong>{html.escape(heading)}.</strong> {told}</li>" if told else ""


def _link(identity: str, words: str) -> str:
    return f'<a href="#claim-{html.escape(identity)}">{html.escape(words)}</a>'
