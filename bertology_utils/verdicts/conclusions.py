"""What a chapter's verdicts add up to: what replicates, what does not, and what to suspect first, as HTML.

Depends on `predictions` (the names of verdicts) and templates: its input are the results that a chapter records, and
the themes of its room (`themes.yaml`), which map a heading to claims, and each claim to a few words that finish the
sentence; the rest is computed.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertology_utils.files import read_yaml
from bertology_utils.templates import render
from bertology_utils.verdicts.cards import LOOKS
from bertology_utils.verdicts.claims import claims_file
from bertology_utils.verdicts.predictions import (
    CONTRADICTS,
    NOT_SPECIFIC,
    REPLICATES,
    UNABLE,
    UNDERPOWERED,
    WEAKER,
)

COUNTED = (
    ((REPLICATES,), "replicates and leads its untrained twins", "replicate and lead their untrained twins"),
    ((NOT_SPECIFIC,), "holds without a lead over untrained twins", "hold without a lead over untrained twins"),
    ((WEAKER,), "is there but too small to matter", "are there but too small to matter"),
    ((CONTRADICTS,), "is contradicted here", "are contradicted here"),
    ((UNDERPOWERED, UNABLE), "stays open", "stay open"),
)
Themes = Mapping[str, Mapping[str, str]]


def read_themes(chapter: str) -> Themes:
    """The themes of a chapter, from `themes.yaml` beside its claims."""
    return read_yaml(claims_file(chapter).with_name("themes.yaml"))


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
    grouped = {heading: _grouped(claims, found) for heading, claims in {**themes, "Besides": rest}.items()}
    return render("conclusions.html", themes=grouped)


@dataclass(frozen=True)
class Answer:
    """What a chapter says before its first experiment.

    Attributes:
        sentences: how the claims about training fared, which stands surest, which fails clearest.
        rows: of claims with a smallest effect: (effect, low, high, the twins' effect) in multiples of it, by the words
            that the themes have for them, under their theme.
        replicated: the words of those that replicate.
    """

    sentences: tuple[str, ...]
    rows: Mapping[str, Mapping[str, tuple[float, float, float, float]]]
    replicated: frozenset[str]


def answer(results: Sequence[Mapping[str, Any]], themes: Themes, about: Collection[str]) -> Answer:
    """The chapter in short, from its results; `about` names the claims about training."""
    found = {result["id"]: result for result in results if result["clauses"]}
    words = {identity: text for claims in themes.values() for identity, text in claims.items() if identity in found}
    rows = {
        heading: {text: _multiples(found[i]) for i, text in claims.items() if i in found and found[i]["smallest"]}
        for heading, claims in themes.items()
    }
    held = frozenset(text for i, text in words.items() if found[i]["verdict"] == REPLICATES)
    asked = [identity for identity in words if identity in about]
    return Answer(tuple(_sentences(asked, found, words)), {h: r for h, r in rows.items() if r}, held)


def _multiples(result: Mapping[str, Any]) -> tuple[float, float, float, float]:
    place = next(i for i, c in enumerate(result["clauses"]) if c["effect"] == result["difference"])
    twins = result["control_clauses"][place]["effect"] if result["control_clauses"] else float("nan")
    numbers = (result["difference"], result["ci_low"], result["ci_high"], twins)
    return tuple(number / result["smallest"] for number in numbers)


def _sentences(asked: Sequence[str], found: Mapping[str, Mapping[str, Any]], words: Mapping[str, str]) -> Iterator[str]:
    counts = Counter(found[identity]["verdict"] for identity in asked)
    numbers = [(sum(counts[verdict] for verdict in verdicts), one, many) for verdicts, one, many in COUNTED]
    told = [f"{number} {one if number == 1 else many}" for number, one, many in numbers if number]
    if told:
        *first, last = told
        listed = f"{', '.join(first)} and {last}" if first else last
        yield f"Of {len(asked)} claims about what training teaches, {listed}."
    sure = [identity for identity in asked if found[identity]["verdict"] == REPLICATES and found[identity]["lead"]]
    if sure:
        yield f"Surest: {words[max(sure, key=lambda i: _surely(found[i]['lead']))]}."
    against = [identity for identity in asked if found[identity]["verdict"] == CONTRADICTS]
    if against:
        worst = min(against, key=lambda i: found[i]["ci_high"] / (found[i]["smallest"] or 1.0))
        yield f"Farthest from its study, and not so here: {words[worst]}."


def _surely(lead: Mapping[str, Any]) -> float:
    half = (lead["high"] - lead["low"]) / 2
    return lead["value"] / half if half else lead["value"]


def _grouped(claims: Mapping[str, str], found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Verdict and doubt -> the claims of a theme with their words."""
    groups: dict[str, dict[str, str]] = {}
    for verdict, look in LOOKS.items():
        for identity, words in claims.items():
            if identity in found and found[identity]["verdict"] == verdict:
                doubt = suspicion(found[identity])
                groups.setdefault(look["heading"] + (f" ({doubt})" if doubt else ""), {})[identity] = words
    return groups
