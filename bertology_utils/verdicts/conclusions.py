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
    NOT_SPECIFIC,
    NOT_TESTABLE,
    REPLICATES,
    UNABLE,
    UNDERPOWERED,
    WEAKER,
)

Themes = Mapping[str, Mapping[str, str]]
HEADINGS = {
    REPLICATES: "Replicates",
    NOT_SPECIFIC: "Holds, but no lead over untrained twins is shown",
    WEAKER: "There, but smaller than would matter",
    CONTRADICTS: "Does not replicate",
    UNDERPOWERED: "Open, because the sample is too small",
    UNABLE: "Open, because this specimen cannot do the task",
    NOT_TESTABLE: "Not testable here",
}


def suspicion(result: Mapping[str, Any]) -> str:
    """What to suspect first where a claim did not replicate; empty where there is no doubt.

    A specimen that does no better than its untrained twins is the first suspect; one that training moved against the
    prediction points to the method, the text or the claim.
    """
    if result["verdict"] == UNDERPOWERED:
        return result["needs"] or result["reason"].partition(":")[0]
    if result["verdict"] not in (CONTRADICTS, WEAKER):
        return ""
    lead = result["lead"]
    if not lead:
        return ""
    if lead["low"] > 0:
        return "training moved it towards the prediction, but not far enough"
    if lead["high"] < 0:
        return "training moved it the other way: look at method and text"
    return "no better than its untrained twins: suspect the specimen"


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
