"""The ledger page's table of all claims, and the counts and expected errors above it.

Depends on `contents` and `tallies` for what they say, on `parts` for labels and on the template `ledger.html`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from bertology_utils.bibliography import Reference, short_name
from bertology_utils.pages import tallies
from bertology_utils.pages.contents import NOT_RUN, SHARES, VERDICTS, Row, deciding_clause, verdict_counts, verdict_of
from bertology_utils.pages.parts import (
    Link,
    badge,
    claim_link,
    counted,
    folded,
    number,
    short_share,
    simple_table,
    study_names,
    with_interval,
)
from bertology_utils.pages.templates import render
from bertology_utils.verdicts.cards import size_text

COLUMNS = ("Claim", "Published", "Recorded", "Here (live)", "Untrained", "q", "Verdict")
OLDER = "older intervals"


def ledger_table(rows: Sequence[Row], references: Mapping[str, Reference], link: Link) -> str:
    """Every claim as one row; complete without JavaScript, stacked into cards on a phone."""
    counts = verdict_counts(rows)
    cited = {key for row in rows for key in row.studies} & set(references)
    return render(
        "ledger.html",
        columns=COLUMNS,
        sections=[(name, name) for name in dict.fromkeys(row.section for row in rows)],
        verdicts=[(name, f"{name} ({counts[name]})") for name in VERDICTS if counts[name]],
        studies=sorted(((key, short_name(references[key])) for key in cited), key=lambda pair: pair[1].lower()),
        lines=[_line(row, references, link) for row in rows],
    )


def _line(row: Row, references: Mapping[str, Reference], link: Link) -> dict[str, Any]:
    facts = f"{row.section} · {row.kind.replace('_', ' ')} · {study_names(row, references)}"
    return {
        "row": row,
        "statement": claim_link(row, link),
        "facts": f"{facts} · checks {row.checks}" if row.checks else facts,
        "cells": list(_cells(row)),
    }


def _cells(row: Row) -> Iterator[str]:
    live = row.live or {}
    yield folded(row.published or "–")
    yield _recorded(row.recorded)
    yield measure(row.live)
    yield _untrained(live)
    yield "–" if live.get("q") is None else short_share(live["q"])
    note = live.get("needs") and f"would settle it: {live['needs']}"
    yield badge(row.verdict, live.get("reason") or note) + _other_runs(row)


def measure(result: Mapping[str, Any] | None) -> Markup | str:
    """The deciding clause's measured value, then the clause, its effect with interval, and the size of the sample."""
    if not result or result.get("measured") is None:
        return "–"
    lines = [Markup("<code>{}</code>").format(deciding_clause(result))] if result.get("clauses") else []
    if result.get("ci_low") is not None:
        lines.append("effect " + with_interval(result["difference"], result["ci_low"], result["ci_high"]))
    if result.get("smallest"):
        lines.append(f"{number(float(result['smallest']))} would matter")
    lines.append(size_text(result))
    notes = Markup("").join(Markup('<span class="interval">{}</span>').format(line) for line in lines if line)
    return Markup("<strong>{}</strong>{}").format(number(result["measured"]), notes)


def _untrained(live: Mapping[str, Any]) -> Markup | str:
    """The control's value on the same clause, and the model's lead over untrained twins."""
    value, lead = number(live.get("control")), live.get("lead")
    if not lead:
        return value
    told = f"lead {with_interval(lead['value'], lead['low'], lead['high'])} over {counted(lead['twins'], 'twin')}"
    return Markup('{}<span class="interval">{}</span>').format(value, told)


def _recorded(results: Sequence[Mapping[str, Any]]) -> Markup | str:
    """The kept results, one below the other: specimen and profile, value, verdict, and whether intervals are older."""
    return Markup("").join(map(_recorded_result, results)) or "–"


def _recorded_result(result: Mapping[str, Any]) -> Markup:
    value = "" if result.get("measured") is None else Markup("<strong>{}</strong> ").format(number(result["measured"]))
    older = f", {OLDER}" if result.get("intervals_only") else ""
    return Markup('<div class="recorded"><span class="facts">{}, {}{}</span> {}{}</div>').format(
        result["model"], result["profile"], older, value, badge(verdict_of(dict(result)))
    )


def _other_runs(row: Row) -> Markup:
    """Results on further models, behind a summary."""
    others = [result for result in row.results if result is not row.live and result not in row.recorded]
    if not others:
        return Markup("")
    runs = Markup("").join(
        Markup("<li>{}, {}: {}</li>").format(r.get("model"), r.get("profile"), verdict_of(r)) for r in others
    )
    return Markup("<details><summary>{} more</summary><ul>{}</ul></details>").format(len(others), runs)


def ledger_summary(rows: Sequence[Row]) -> str:
    """Counts of this run's verdicts, how many of them are expected to be false, and which rest on older intervals."""
    counts = [found for found in tallies.tallies(rows) if found.tested]
    if not counts:
        return ""
    heads = ("This run", "Tested", *SHARES)
    lines = [(found.label, str(found.tested), *(str(found.counts[word]) for word in SHARES)) for found in counts]
    return f"{simple_table('Counts of verdicts', heads, lines)}{errors_text(rows)}{older_text(rows)}"


def errors_text(rows: Sequence[Row]) -> Markup:
    """How many decisions of this run are expected to be false."""
    found = tallies.errors(rows)
    return Markup(
        "<p>How many of these are false? Of the {} verdicts that a prediction holds, specific or not, at most {} are "
        "expected to be: <em>q</em> is the share of false ones among verdicts at least as sure as a row's own, after "
        "Benjamini and Hochberg over all {} tests of the run. Of the {} that contradict or read <em>weaker</em>, at "
        "most {} are: an interval lies too low in 2.5 % of tests.</p>"
    ).format(found.positive, f"{found.false_positive:.1f}", found.asked, found.negative, f"{found.false_negative:.1f}")


def older_text(rows: Sequence[Row]) -> Markup:
    """What results are that were judged from recorded intervals alone; empty where there are none."""
    older = sum(bool(result.get("intervals_only")) for row in rows for result in row.recorded)
    every = sum(verdict_of(result) != NOT_RUN for row in rows for result in row.recorded)
    if not older:
        return Markup("")
    return Markup(
        "<p>{} of the {} recorded results are from before records kept samples. They are judged from the intervals of "
        "then, which were wider: they read <em>underpowered</em> more often than a new run would, and their lead is "
        "over one twin, as if on other items. They are marked <em>{}</em>.</p>"
    ).format(older, every, OLDER)
