"""Labels, small tables and the generated parts of the run record, the glossary and the index page, as HTML.

Depends on `contents` and `tallies` for what they say and on `bibliography` for the names of studies; pure functions
from data to text, so that they are tested without a build. `link` maps a document such as `notebooks/syntax` to a
relative address. Texts without markup are escaped; tables take markup as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from bertology_utils.bibliography import Reference, short_name
from bertology_utils.pages import tallies
from bertology_utils.pages.contents import SHARES, Record, Row, verdict_of
from bertology_utils.pages.templates import render
from bertology_utils.statistics import short, short_ends
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_SPECIFIC, REPLICATES

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


def counted(count: int, name: str) -> str:
    """`1 seed`, `2 seeds`."""
    return f"{number(count)} {name}{'s' * (count != 1)}"


def with_interval(value: float, low: float, high: float) -> str:
    """`+0.3 [+0.1, +0.5]`."""
    return f"{short(value, '+')} [{', '.join(short_ends(low, high, '+'))}]"


def short_share(value: float) -> str:
    """A p or q to two digits; what is below a thousandth is said to be so."""
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def badge(verdict: str, reason: str | None = None) -> Markup:
    """A verdict as a coloured label whose words carry the meaning; the reason, where there is one, below it."""
    note = Markup('<span class="badge-reason">{}</span>').format(reason) if reason else ""
    return Markup('<span class="verdict-badge verdict-badge-{}">{}</span>{}').format(slug(verdict), verdict, note)


def folded(text: str, limit: int = 70) -> Markup | str:
    """Long text behind a summary, so that a table row stays short."""
    if len(text) <= limit:
        return text
    head = text[:limit].rsplit(" ", 1)[0]
    return Markup("<details><summary>{} …</summary>{}</details>").format(head, text)


def recorded_line(results: Sequence[Mapping[str, Any]]) -> Markup:
    """What other runs in the repository say of a claim, as one line of its verdict card.

    The clause that decides may be another one in each run; its effect, above zero where it is there, is comparable.
    """
    return Markup('<p class="verdict-recorded">Recorded elsewhere: {}.</p>').format(
        Markup("; ").join(map(_recorded_result, results))
    )


def _recorded_result(result: Mapping[str, Any]) -> Markup:
    notes = [] if result.get("difference") is None else [f"effect {short(result['difference'], '+')}"]
    notes += ["from older, wider intervals"] if result.get("intervals_only") else []
    return Markup("<code>{}</code> ({}) <strong>{}</strong>{}").format(
        result["model"], result["profile"], verdict_of(dict(result)), f" ({', '.join(notes)})" if notes else ""
    )


def claim_link(row: Row, link: Link) -> Markup:
    """The statement, linked to the cell that tested it where one did."""
    if not row.live:
        return Markup.escape(row.statement)
    return Markup('<a href="{}#claim-{}">{}</a>').format(link(f"notebooks/{row.notebook}"), row.id, row.statement)


def study_names(row: Row, references: Mapping[str, Reference]) -> str:
    """The studies behind a claim in a few words."""
    names = [short_name(references[key]) for key in row.studies if key in references]
    return ", ".join(names) or "the survey itself"


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
    good, bad = mine[REPLICATES], mine[CONTRADICTS]
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


def headline(rows: Sequence[Row], link: Link) -> Markup:
    """The index page's numbers: claims about training, then those of instruments and arithmetic, then other runs."""
    training, unamended, checks = tallies.tallies(rows)
    if not training.tested + checks.tested:
        return Markup('<p class="empty">{} claims wait for a run: <code>make book</code> tests them.</p>').format(
            len(rows)
        )
    return render(
        "headline.html",
        training=training,
        unamended=unamended,
        checks=checks,
        errors=tallies.errors([row for row in rows if row.about_training]),
        figure=Markup(twin_figure(training, tallies.twin_tally(rows))),
        recorded=recorded_summary(rows),
        ledger=link("book/ledger"),
        guide=link("book/how_to_read"),
        claims=len(rows),
    )


def recorded_summary(rows: Sequence[Row]) -> Markup:
    """A table of the recorded runs: how the verdicts of each on claims about training are spread."""
    lines = []
    for (model, profile), chosen in tallies.by_run(rows).items():
        training, _, checks = tallies.tallies(rows, chosen)
        data = "real" if profile == "full" else "generated"
        good = f"{training.replicate} of {training.tested}"
        counts = (training.counts[CONTRADICTS], training.open, f"{checks.replicate} of {checks.tested}")
        lines.append((f"<code>{escape(model)}</code>", data, good, *map(str, counts)))
    heads = ("Recorded beside it", "Data", "Replicate", "Contradict", "Open", "Instruments and arithmetic")
    return Markup(simple_table("Recorded runs", heads, lines) if lines else "")


def twin_figure(model: tallies.Tally, twins: tallies.Tally) -> str:
    """Bars: verdicts on the claims about training, of the trained model and of its untrained control."""
    if not model.tested:
        return ""
    said = (
        f"Of {model.tested} claims about what training teaches, {model.replicate} replicate specifically. Of "
        f"{twins.tested} that untrained networks were judged on too, these meet {twins.counts[NOT_SPECIFIC]}, "
        "and training is not why."
    )
    return share_figure({"Trained": model.counts, "Untrained": twins.counts}, said)


def share_figure(found: Mapping[str, Counter[str]], said: str) -> str:
    """A bar for each label with the shares of its verdicts; `said` says it in words."""
    bars = [{"label": label, "parts": list(_shares(counts))} for label, counts in found.items()]
    present = [(slug(word), word) for word in SHARES if any(counts[word] for counts in found.values())]
    return str(render("shares.html", bars=bars, said=said, key=present))


def _shares(counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """The shares of a bar in per cent of its width."""
    for word in (word for word in SHARES if counts[word]):
        yield {"kind": slug(word), "width": round(100 * counts[word] / counts.total(), 2), "count": counts[word]}
