"""The generated parts of the book as HTML: ledger table, conflict map, run record, systems, headline figure.

Depends on `contents` for what they say and on `bibliography` for the names of studies; pure functions from data to
text, so that they are tested without a build. `link` maps a document such as `notebooks/syntax` to a relative address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from bertology_utils.bibliography import Reference, short_name
from bertology_utils.pages.contents import (
    SPECIFIC,
    UNSPECIFIC,
    VERDICTS,
    Record,
    Row,
    deciding_clause,
    model_and_control,
    outcome,
    recorded_counts,
    verdict_counts,
    verdict_of,
)
from bertology_utils.statistics import ROUNDING, short
from bertology_utils.verdicts.conflicts import KINDS, Conflict

Link = Callable[[str], str]
CHAPTERS = {
    "overview": "Overview",
    "embeddings": "Embeddings",
    "syntax": "Syntax",
    "semantics": "Semantics",
    "world_knowledge": "World knowledge",
    "attention": "Attention",
    "layers": "Layers",
    "training": "Pre-training",
    "finetuning": "Fine-tuning",
    "overparametrization": "Overparametrization",
    "compression": "Compression",
    "mbert": "Multilingual BERT",
    "generalization": "Generalization",
}
_COLUMNS = ("Claim", "Published", "Recorded", "Here (live)", "Control", "Verdict")
_SHARES = (SPECIFIC, "inconclusive", "contradicts")
_SAMPLE = (("n", "item"), ("seeds", "seed"))
_OUTCOME = {
    "both": "Both sides hold up in this run.",
    "first": "This run supports the first side only.",
    "second": "This run supports the second side only.",
    "neither": "This run speaks against both sides.",
    "open": "This run leaves it open.",
}


def slug(text: str) -> str:
    """A class or anchor name: lower case, words joined by hyphens."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def number(value: Any) -> str:
    """A short readable value: three significant digits, a dash for nothing."""
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        return short(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def badge(verdict: str, reason: str | None = None) -> str:
    """A verdict as a coloured label whose words carry the meaning; the reason, where there is one, below it."""
    note = f'<span class="badge-reason">{escape(reason)}</span>' if reason else ""
    return f'<span class="verdict-badge verdict-badge-{slug(verdict)}">{escape(verdict)}</span>{note}'


def folded(text: str, limit: int = 70) -> str:
    """Long text behind a summary, so that a table row stays short."""
    if len(text) <= limit:
        return escape(text)
    head = text[:limit].rsplit(" ", 1)[0]
    return f"<details><summary>{escape(head)} …</summary>{escape(text)}</details>"


def _measure(result: dict[str, Any] | None) -> str:
    """The deciding clause's measured value, then the clause, the interval of its difference, items and seeds."""
    if not result or result.get("measured") is None:
        return "–"
    lines = [f"<code>{escape(deciding_clause(result))}</code>"] if result.get("clauses") else []
    if result.get("ci_low") is not None:
        interval = f"[{number(result['ci_low'])}, {number(result['ci_high'])}]"
        lines.append(f"difference {number(result.get('difference'))} {interval}")
    lines.append(", ".join(_counted(result[key], name) for key, name in _SAMPLE if result.get(key)))
    if (result.get("detectable") or 0) > ROUNDING:
        lines.append(f"could have shown {result['detectable']:.2g}")
    notes = "".join(f'<span class="interval">{line}</span>' for line in lines if line)
    return f"<strong>{number(result['measured'])}</strong>{notes}"


def _counted(count: int, name: str) -> str:
    return f"{number(count)} {name}{'s' * (count != 1)}"


def _recorded(results: Sequence[dict[str, Any]]) -> str:
    """The kept results, one below the other: specimen and profile, value, verdict."""
    lines = [
        f'<div class="recorded"><span class="facts">{escape(str(result["model"]))}, {result["profile"]}</span> '
        f"{_value_of(result)}{badge(verdict_of(result))}</div>"
        for result in results
    ]
    return "".join(lines) or "–"


def recorded_line(results: Sequence[dict[str, Any]]) -> str:
    """What other runs in the repository say of a claim, as one line of its verdict card.

    The clause that decides may be another one in each run; its difference, above zero where it holds, is comparable.
    """
    said = [
        f"<code>{escape(str(result['model']))}</code> ({result['profile']}) <strong>{verdict_of(result)}</strong>"
        + ("" if result.get("difference") is None else f" (difference {number(result['difference'])})")
        for result in results
    ]
    return f'<p class="verdict-recorded">Recorded elsewhere: {"; ".join(said)}.</p>'


def _value_of(result: dict[str, Any]) -> str:
    return "" if result.get("measured") is None else f"<strong>{number(result['measured'])}</strong> "


def claim_link(row: Row, link: Link) -> str:
    """The statement, linked to the cell that tested it where one did."""
    text = escape(row.statement)
    return f'<a href="{link(f"notebooks/{row.notebook}")}#claim-{row.id}">{text}</a>' if row.live else text


def _study_names(row: Row, references: dict[str, Reference]) -> str:
    return (
        ", ".join(escape(short_name(references[key])) for key in row.studies if key in references)
        or "the survey itself"
    )


def _ledger_row(row: Row, references: dict[str, Reference], link: Link) -> str:
    live = row.live or {}
    facts = f"{escape(row.section)} · {row.kind.replace('_', ' ')} · {_study_names(row, references)}"
    cells = (folded(row.published or "–"), _recorded(row.recorded), _measure(row.live), number(live.get("control")),
             badge(row.verdict, live.get("reason")) + _other_runs(row))  # fmt: skip
    body = "".join(_ledger_cell(label, cell) for label, cell in zip(_COLUMNS[1:], cells, strict=True))
    return (
        f'<tr role="row" id="row-{row.id}" data-section="{escape(row.section)}" data-verdict="{row.verdict}" '
        f'data-studies="{" ".join(row.studies)}"><th scope="row" role="rowheader">{claim_link(row, link)}'
        f'<span class="facts">{facts}</span></th>{body}</tr>'
    )


def _ledger_cell(label: str, cell: str) -> str:
    empty = ' class="nothing"' if cell == "–" else ""
    return f'<td role="cell" data-label="{label}"{empty}><div>{cell}</div></td>'


def _other_runs(row: Row) -> str:
    """Results on further models, behind a summary."""
    others = [result for result in row.results if result is not row.live and result not in row.recorded]
    if not others:
        return ""
    runs = "".join(f"<li>{escape(str(r.get('model')))}, {r.get('profile')}: {verdict_of(r)}</li>" for r in others)
    return f"<details><summary>{len(others)} more</summary><ul>{runs}</ul></details>"


def _select(name: str, label: str, options: Iterable[tuple[str, str]]) -> str:
    choices = "".join(f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in options)
    return f'<label>{label} <select name="{name}"><option value="">all</option>{choices}</select></label>'


def ledger_filter(rows: Sequence[Row], references: dict[str, Reference]) -> str:
    """The form above the table; hidden until the script that serves it runs."""
    sections = [(name, name) for name in dict.fromkeys(row.section for row in rows)]
    verdicts = [(name, f"{name} ({count})") for name in VERDICTS if (count := verdict_counts(rows)[name])]
    cited = {key for row in rows for key in row.studies} & set(references)
    studies = sorted(((key, short_name(references[key])) for key in cited), key=lambda pair: pair[1].lower())
    return (
        '<form class="ledger-filter" id="ledger-filter" hidden aria-label="Filter the claims">'
        + _select("section", "Section", sections)
        + _select("verdict", "Verdict", verdicts)
        + _select("study", "Study", studies)
        + '<label>Text <input type="search" name="text" autocomplete="off"></label>'
        '<button type="reset">Show all</button></form>'
        f'<p id="ledger-count" role="status" aria-live="polite">{len(rows)} claims</p>'
    )


def ledger_table(rows: Sequence[Row], references: dict[str, Reference], link: Link) -> str:
    """Every claim as one row; complete without JavaScript, stacked into cards on a phone."""
    heads = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in _COLUMNS)
    body = "\n".join(_ledger_row(row, references, link) for row in rows)
    return (
        f"{ledger_filter(rows, references)}"
        '<table class="ledger" role="table" id="ledger-table" aria-label="The ledger of claims">'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead><tbody role="rowgroup">{body}</tbody></table>'
    )


def _side(row: Row, name: str, references: dict[str, Reference], link: Link) -> str:
    live = row.live or {}
    measured = f'{_measure(live)}<span class="interval">control {number(live.get("control"))}</span>'
    shown = f'<div class="measured">{measured}</div>' if live.get("measured") is not None else ""
    return (
        f'<div class="side"><p class="side-name">{name}</p><p>{claim_link(row, link)}</p>'
        f'<p class="facts">{_study_names(row, references)}</p>{badge(row.verdict, live.get("reason"))}{shown}</div>'
    )


def _within(row: Row) -> str:
    """The sentence for a claim on which studies disagree within one entry."""
    return {
        "replicates": "This run supports the claim as stated.",
        "contradicts": "This run speaks against the claim as stated.",
    }.get(row.verdict, "This run leaves it open.")


def conflict_card(conflict: Conflict, rows: dict[str, Row], references: dict[str, Reference], link: Link) -> str:
    """Both sides next to each other and, below, what the verdicts amount to."""
    sides = [rows[name] for name in conflict.pair]
    names = ("First side", "Second side") if len(sides) > 1 else ("One entry, two studies",)
    result = outcome(*(side.verdict for side in sides)) if len(sides) > 1 else "open"
    text = _OUTCOME[result] if len(sides) > 1 else _within(sides[0])
    if UNSPECIFIC in (side.verdict for side in sides):
        text += " Where a verdict says “not specific”, the untrained twin passes too."
    columns = "".join(_side(side, name, references, link) for side, name in zip(sides, names, strict=True))
    about = f'<p class="about"><span class="kind">{conflict.kind}</span> {escape(conflict.about)}</p>'
    return (
        f'<div class="conflict outcome-{result}">{about}<div class="sides">{columns}</div>'
        f'<p class="outcome">{text}</p>{_axis(conflict, sides, link)}</div>'
    )


def _axis(conflict: Conflict, sides: Sequence[Row], link: Link) -> str:
    """Why the studies could differ, and the figure that puts both on one axis, once its chapter has run."""
    axis = conflict.axis
    if axis is None or not any(side.live for side in sides if side.notebook == axis.notebook):
        return ""
    address = f"{link(f'notebooks/{axis.notebook}')}#conflict-{axis.name}"
    return f'<p class="differ">{escape(axis.differ)} <a href="{address}">Both sides on one axis</a></p>'


def conflict_map(
    conflicts: Sequence[Conflict], rows: dict[str, Row], references: dict[str, Reference], link: Link
) -> str:
    """The conflicts of one theme, opposed conclusions first."""
    ordered = sorted(conflicts, key=lambda conflict: KINDS.index(conflict.kind))
    return "".join(conflict_card(conflict, rows, references, link) for conflict in ordered)


def simple_table(label: str, heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A small table whose first column is the row's header; cells are HTML already. Scrolls sideways where it must."""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{line[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in line[1:]) + "</tr>"
        for line in lines
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table class="plain">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def conflict_summary(conflicts: Sequence[Conflict], rows: dict[str, Row], titles: dict[str, str]) -> str:
    """The map's overview: per theme, how many conflicts there are and which way this run points."""
    lines = []
    for theme, title in titles.items():
        mine = [conflict for conflict in conflicts if conflict.theme == theme]
        counts = Counter(outcome(*(rows[n].verdict for n in c.pair)) if len(c.pair) > 1 else "open" for c in mine)
        one = counts["first"] + counts["second"]
        lines.append(
            (
                f'<a href="#{slug(title)}">{escape(title)}</a>',
                *map(str, (len(mine), one, counts["both"], counts["neither"], counts["open"])),
            )
        )
    return simple_table("Conflicts by theme", ("Theme", "Conflicts", "One side", "Both", "Neither", "Open"), lines)


def run_record(records: Sequence[Record], rows: Sequence[Row], link: Link) -> str:
    """One line an executed chapter, then the versions that ran."""
    if not records:
        return '<p class="empty">No chapter has been executed yet: <code>make book</code> runs them all.</p>'
    order = list(CHAPTERS)
    records = sorted(
        records,
        key=lambda record: (
            record.profile,
            record.model,
            order.index(record.chapter) if record.chapter in order else 99,
        ),
    )
    lines = [_record_line(record, rows, link) for record in records]
    seconds = sum(float(record.facts.get("seconds") or 0) for record in records)
    table = simple_table(
        "Executed chapters",
        ("Chapter", "Model", "Profile", "Seconds", "Finished", "Commit", "Replicates", "Contradicts", "Other"),
        lines,
    )
    versions = {name: str(v) for record in records for name, v in (record.facts.get("versions") or {}).items()}
    tail = (
        simple_table("Versions", ("Package", "Version"), [(escape(k), escape(v)) for k, v in sorted(versions.items())])
        if versions
        else ""
    )
    return f"<p>{len(records)} executed chapters, {seconds:,.0f} seconds of computing in all.</p>{table}{tail}"


def _record_line(record: Record, rows: Sequence[Row], link: Link) -> tuple[str, ...]:
    facts = record.facts
    mine = Counter(
        verdict_of(r)
        for row in rows
        if row.notebook == record.chapter
        for r in row.results
        if r.get("model") == record.model and r.get("profile") == record.profile
    )
    good, bad = mine[SPECIFIC] + mine[UNSPECIFIC], mine["contradicts"]
    name = f'<a href="{link(f"notebooks/{record.chapter}")}">{CHAPTERS.get(record.chapter, record.chapter)}</a>'
    date = str(facts.get("when") or "–")[:16].replace("T", " ")
    return (
        name,
        escape(record.model),
        escape(record.profile),
        number(facts.get("seconds")),
        escape(date),
        f"<code>{escape(str(facts.get('commit') or '–')[:7])}</code>",
        str(good),
        str(bad),
        str(sum(mine.values()) - good - bad),
    )


def systems_table(systems: Sequence[dict[str, Any]], rows: dict[str, Row], link: Link) -> str:
    """Every system and method that the survey names, with the chapter that treats it."""
    lines = []
    for system in systems:
        row = rows.get(system["claim"])
        place = (
            f'<a href="{link(f"notebooks/{row.notebook}")}">{CHAPTERS.get(row.notebook, row.notebook)}</a>'
            if row
            else "–"
        )
        claim = f'<a href="{link("book/ledger")}#row-{row.id}">{badge(row.verdict)}</a>' if row else "–"
        lines.append((escape(system["name"]), escape(system["type"]), escape(system["section"]), place, claim))
    return simple_table("Systems and methods", ("Name", "Type", "Section", "Chapter", "Its claim here"), lines)


def headline(rows: Sequence[Row], link: Link) -> str:
    """The index page's numbers and the figure of the model against its untrained twin."""
    counts = verdict_counts(rows)
    tested = sum(counts[verdict] for verdict in (SPECIFIC, UNSPECIFIC, "contradicts", "inconclusive"))
    if not tested:
        return f'<p class="empty">{len(rows)} claims wait for a run: <code>make book</code> tests them.</p>'
    replicate = counts[SPECIFIC] + counts[UNSPECIFIC]
    numbers = (
        (tested, "claims tested in this run"),
        (replicate, "replicate"),
        (counts["contradicts"], "contradict the claim at this scale"),
        (counts["inconclusive"], "stay undecided"),
    )
    tiles = "".join(f'<div class="tile"><span class="big">{value}</span> {text}</div>' for value, text in numbers)
    more = f'<p><a href="{link("book/ledger")}">See all {len(rows)} claims</a></p>'
    return f'<div class="tiles">{tiles}</div>{twin_figure(rows)}{recorded_summary(rows)}{more}'


def recorded_summary(rows: Sequence[Row]) -> str:
    """A table of the recorded runs: how the verdicts of each are spread; nothing where none is recorded."""
    lines = []
    for (model, profile), counts in sorted(
        recorded_counts(rows).items(), key=lambda item: (item[0][1] == "full", item)
    ):
        tested = sum(counts.values()) - counts["not testable here"]
        good, bad = counts[SPECIFIC] + counts[UNSPECIFIC], counts["contradicts"]
        data = "real" if profile == "full" else "generated"
        lines.append((f"<code>{escape(model)}</code>", data, *map(str, (tested, good, bad, tested - good - bad))))
    heads = ("Recorded beside it", "Data", "Tested", "Replicate", "Contradict", "Undecided")
    return simple_table("Recorded runs", heads, lines) if lines else ""


def twin_figure(rows: Sequence[Row]) -> str:
    """Inline SVG: how often the predictions hold for the trained model and for its untrained control."""
    model, control = model_and_control(rows)
    total = sum(model.values())
    if not total:
        return ""
    said = (
        f"Of {total} predictions about what training teaches, {model[SPECIFIC]} hold for the trained model and "
        f"{control[SPECIFIC]} for the same network with random weights."
    )
    return share_figure({"Trained": model, "Untrained": control}, said)


def share_figure(found: Mapping[str, Counter[str]], said: str, pitch: int = 46) -> str:
    """Inline SVG: a bar for each label with the shares that hold, stay undecided and fail; `said` says it in words.

    pitch: units from one bar to the next; the figure is 640 wide.
    """
    bars = "".join(_bar(*item, 6 + pitch * place, pitch - 10) for place, item in enumerate(found.items()))
    key = "".join(f'<span class="key key-{name}">{name}</span> ' for name in _SHARES)
    size = f"0 0 640 {pitch * len(found) + 4}"
    return (
        f'<figure class="twin"><svg viewBox="{size}" role="img" aria-label="{escape(said)}">{bars}</svg>'
        f"<figcaption><p>{key}</p><p>{escape(said)}</p></figcaption></figure>"
    )


def _bar(label: str, counts: Counter[str], y: int, height: int) -> str:
    """One bar of three shares with its label and counts; 530 units stand for all predictions."""
    x, base = 104.0, y + height // 2 + 7
    parts = [f'<text class="label" x="0" y="{base}">{escape(label)}</text>']
    for name in _SHARES:
        width = 530 * counts[name] / sum(counts.values())
        parts.append(f'<rect class="share share-{name}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"/>')
        if width > 26:  # a narrower share has no room for its number
            parts.append(f'<text class="count" x="{x + 8:.1f}" y="{base}">{counts[name]}</text>')
        x += width
    return "".join(parts)
