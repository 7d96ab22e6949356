"""Which claims need size or training, for the specimens' page: one recipe's verdicts over steps, sizes, seeds and data.

Depends on `families` (who belongs together), `contents` (recorded results) and `parts` (bars); pure functions from data
to text. Every column answers the same claims: those about what training teaches that all columns could test. What is
counted are specific replications: the claim holds, and no better in untrained networks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bertology_utils import families
from bertology_utils.pages.contents import SHARES, Row, control_verdict, is_tested, verdict_of
from bertology_utils.pages.parts import CHAPTERS, Link, claim_link, number, share_figure, slug
from bertology_utils.verdicts.cards import VERDICTS
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_SPECIFIC, REPLICATES

LIVE, FULL = "live", "full"
START = "untrained"
HOLDS = (REPLICATES, NOT_SPECIFIC)
NOTHING = '<p class="empty">No run of the ladder is recorded yet: <code>bertology run --record</code> keeps them.</p>'
Outcomes = dict[str, dict[str, dict[str, Any]]]  # column -> claim -> the verdict, and the deciding clause's values


def emergence_part(root: Path, rows: Sequence[Row], link: Link) -> str:
    """Bars of the columns' verdicts, how far seeds alone move them, and the claims that change; or what is missing."""
    columns = outcomes(rows, columns_of(root))
    trust = seed_sentence(outcomes(rows, seeds_of(root))) + older_sentence(rows, columns_of(root), LIVE)
    return growth(rows, columns, link, trust)


def real_data_part(root: Path, rows: Sequence[Row], link: Link) -> str:
    """The same of the profile `full`, and how often its verdicts are those of `live`."""
    live, full = (outcomes(rows, columns_of(root), profile) for profile in (LIVE, FULL))
    return growth(rows, full, link, data_sentence(live, full) + older_sentence(rows, columns_of(root), FULL))


def growth(rows: Sequence[Row], columns: Outcomes, link: Link, trust: str) -> str:
    """The columns' verdicts as bars, `trust` (how far to trust a difference), and the claims that change."""
    if len(columns) < 3:
        return NOTHING
    tested = common_claims(columns)
    counts = {label: Counter(found[name]["verdict"] for name in tested) for label, found in columns.items()}
    verdicts = {name: [found[name]["verdict"] for found in columns.values()] for name in tested}
    changing = [row for row in rows if len(set(verdicts.get(row.id, ()))) > 1]
    constant = Counter(found[0] for found in verdicts.values() if len(set(found)) == 1)
    words = ", ".join(f"{word} {constant[word]}" for word in SHARES if constant[word])
    return (
        share_figure(counts, _said(counts, len(tested)))
        + trust
        + staircase(changing, columns, link)
        + f"<p>Alike in every column are the other {constant.total()}{': ' if words else ''}{words}.</p>"
    )


def _said(counts: Mapping[str, Counter[str]], tested: int) -> str:
    """The bars in a sentence."""
    holding = ", ".join(f"{found[REPLICATES]} ({label})" for label, found in counts.items() if label != START)
    return (
        f"Of {tested} claims about what training teaches, so many replicate, specific to training: {holding}. "
        f"Untrained networks meet {counts[START][NOT_SPECIFIC]}."
    )


def columns_of(root: Path) -> dict[str, str]:
    """Label -> model: the lowest rung's checkpoints after step 0, then the rungs; empty without a ladder."""
    rungs = families.known(families.rungs, root)
    if rungs is None:
        return {}
    steps = families.known(families.checkpoints, rungs[0], root) or {}
    found = {f"step {step}": model for step, model in steps.items() if step and model != rungs[0]}
    return found | {name: name for name in rungs}


def seeds_of(root: Path) -> dict[str, str]:
    """Label -> model of the lowest rung's seeds; empty where it has no siblings."""
    rungs = families.known(families.rungs, root)
    siblings = rungs and families.known(families.seeds, rungs[0], root)
    return {name: name for name in siblings or ()}


def outcomes(rows: Sequence[Row], columns: Mapping[str, str], profile: str = LIVE) -> Outcomes:
    """What the columns' recorded runs say of claims about training, after what the first one's control says.

    Columns without a recorded run under `profile` are left out. The control is the untrained twin or something weaker.
    """
    found: Outcomes = {}
    for label, model in columns.items():
        mine = (row for row in rows if row.about_training)
        results = {row.id: result for row in mine if (result := _result_of(row, model, profile))}
        if results:
            found.setdefault(START, {name: _untrained(result) for name, result in results.items()})
            found[label] = {name: _trained(result) for name, result in results.items()}
    return found


def _result_of(row: Row, model: str, profile: str) -> dict[str, Any] | None:
    """The result of a model's recorded run on a claim that was tested with a control."""
    mine = (r for r in row.results if r.get("recorded") and (r.get("model"), r.get("profile")) == (model, profile))
    return next((result for result in mine if result.get("control_verdict") and is_tested(result)), None)


def _trained(result: Mapping[str, Any]) -> dict[str, Any]:
    return {"verdict": verdict_of(dict(result)), "value": result.get("measured")}


def _untrained(result: Mapping[str, Any]) -> dict[str, Any]:
    return {"verdict": control_verdict(result), "value": result.get("control")}


def common_claims(columns: Outcomes) -> set[str]:
    """The claims that every column tested."""
    return set.intersection(*map(set, columns.values()))


def seed_sentence(seeds: Outcomes) -> str:
    """How many verdicts differ between seeds of one recipe: what a difference between columns must exceed."""
    trained = {label: found for label, found in seeds.items() if label != START}
    if len(trained) < 2:
        return ""
    tested = common_claims(trained)
    sets = [{found[name]["verdict"] for found in trained.values()} for name in tested]
    agreed = sum(len(verdicts) == 1 for verdicts in sets)
    opposed = sum(CONTRADICTS in verdicts and bool(verdicts & set(HOLDS)) for verdicts in sets)
    held = sorted(sum(found[name]["verdict"] == REPLICATES for name in tested) for found in trained.values())
    return (
        f"<p>How much of this is luck? {len(trained)} seeds of the lowest rung, trained alike, agree on {agreed} of "
        f"{len(tested)} verdicts; on {opposed} one replicates and another contradicts, and between "
        f"{held[0]} and {held[-1]} replicate. A difference between two columns means something only beyond that.</p>"
    )


def older_sentence(rows: Sequence[Row], columns: Mapping[str, str], profile: str) -> str:
    """How many of the columns' results were judged from recorded intervals alone; empty where none were."""
    found = [result for row in rows for model in columns.values() if (result := _result_of(row, model, profile))]
    older = sum(bool(result.get("intervals_only")) for result in found)
    if not older:
        return ""
    return (
        f"<p>{older:,} of these {len(found):,} results are from before records kept samples: they are judged from the "
        "wider intervals of then, and read <em>underpowered</em> more often than a new run would.</p>"
    )


def data_sentence(live: Outcomes, full: Outcomes) -> str:
    """How many of the models' verdicts on real data are those on generated data, and how many are their opposite."""
    pairs = [
        {live[label][name]["verdict"], verdict["verdict"]}
        for label, found in full.items()
        if label != START and label in live
        for name, verdict in found.items()
        if name in live[label]
    ]
    if not pairs:
        return ""
    same = sum(len(pair) == 1 for pair in pairs)
    opposed = sum(CONTRADICTS in pair and bool(pair & set(HOLDS)) for pair in pairs)
    return (
        f"<p>Of {len(pairs)} verdicts that these columns give on generated data too, {same} are the same there, "
        f"{opposed} the opposite, and {len(pairs) - same - opposed} read otherwise without being opposed.</p>"
    )


def staircase(rows: Sequence[Row], columns: Outcomes, link: Link) -> str:
    """A table, a row a claim and a column a model, those first that hold from early on and to the end."""
    ordered = sorted(rows, key=lambda row: _onset([found[row.id]["verdict"] for found in columns.values()]))
    heads = "".join(f'<th scope="col"><span>{escape(label)}</span></th>' for label in ("Claim", *columns))
    lines = "".join(_line(row, [found[row.id] for found in columns.values()], link) for row in ordered)
    caption = (
        f"The {len(rows)} claims that read differently somewhere, those first that replicate from the earliest column "
        f"to the last: {', '.join(f'{VERDICTS[word][0]} {word}' for word in SHARES)}. Values show on hover."
    )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Verdicts by step and size">'
        f'<table class="plain grammar-map staircase"><caption><span>{caption}</span></caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _onset(verdicts: Sequence[str]) -> tuple[int, int]:
    """The column from which on a claim replicates to the end (past the last where it does not), then how often it is
    contradicted rather than replicated."""
    place = len(verdicts)
    while place and verdicts[place - 1] == REPLICATES:
        place -= 1
    return place, verdicts.count(CONTRADICTS) - verdicts.count(REPLICATES)


def _line(row: Row, found: Sequence[Mapping[str, Any]], link: Link) -> str:
    facts = f'<span class="facts">{CHAPTERS.get(row.notebook, row.notebook)}</span>'
    return f'<tr><th scope="row">{claim_link(row, link)}{facts}</th>{"".join(map(_cell, found))}</tr>'


def _cell(outcome: Mapping[str, Any]) -> Markup:
    word = outcome["verdict"]
    sign, _ = VERDICTS[word]
    return Markup(
        '<td class="outcome outcome-{}" title="{} at {}"><span aria-hidden="true">{}</span>'
        '<span class="visually-hidden">{}</span></td>'
    ).format(slug(word), word, number(outcome["value"]), sign, word)
