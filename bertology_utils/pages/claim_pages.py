"""A page for each claim, at an address that stays (`claims/<id>.html`): every result of every model, how to run the
test, how to cite it. Depends on `contents` for results; the extension hands Sphinx the pages, which need no source.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pybtex.database import BibliographyData, Entry, Person

from bertology_utils.bibliography import Reference
from bertology_utils.families import is_member
from bertology_utils.pages.contents import Row, control_verdict, deciding_clause, is_trained, verdict_of
from bertology_utils.pages.ledger_table import Link
from bertology_utils.templates import render
from bertology_utils.verdicts.cards import amendments, size_text
from bertology_utils.verdicts.predictions import CONTRADICTS

FOLDER = "claims"
OWN_FIELDS = ("citedin", "details")  # of the bibliography: where the survey cites a work, and what was looked up
Result = Mapping[str, Any]


def address(claim: str) -> str:
    """The page's name as documents have one: `claims/<id>`."""
    return f"{FOLDER}/{claim}"


def claim_pages(
    rows: Sequence[Row], references: Mapping[str, Reference], versions: Mapping[str, Sequence[str]], link: Link
) -> Iterator[tuple[str, str, str]]:
    """(address, title, HTML) of each claim's page.

    `versions` has the dates at which each claim's prediction was sealed, and `link` addresses documents from a page of
    this folder.
    """
    for row in rows:
        claim = row.claim
        body = render(
            "claim.html",
            row=row,
            claim=claim,
            results=ordered(row.results),
            amendments=amendments(claim.amendment),
            versions=versions.get(claim.id, ()),
            studies=[references[key] for key in claim.studies if key in references],
            bibtex=bibtex(row, references),
            in_museum=row.verdict == CONTRADICTS and claim.about_training,
            link=link,
            verdict_of=verdict_of,
            control_verdict=control_verdict,
            clause_of=deciding_clause,
            size_of=size_text,
        )
        yield address(claim.id), claim.id, body


def ordered(results: Sequence[Result]) -> list[Result]:
    """This book's run first, then recorded ones under `full`, other models, the series of sizes, seeds and checkpoints,
    and untrained networks last."""

    def place(result: Result) -> tuple[Any, ...]:
        model = str(result.get("model"))
        kind = (bool(result.get("recorded")), not is_trained(result), is_member(model))
        return (*kind, result.get("profile") != "full", model)

    return sorted(results, key=place)


def bibtex(row: Row, references: Mapping[str, Reference]) -> str:
    """Entries of this page and of the studies behind its claim."""
    date = str((row.live or {}).get("date", ""))
    fields = {
        "title": f"{{BERTology, executed}}: the claim {row.claim.id}",
        "howpublished": f"{address(row.claim.id)}.html",
        "note": f"verdict: {row.verdict}" + (f", run on {date[:10]}" if date else ""),
    }
    if date:
        fields["year"] = date[:4]
    own = Entry("misc", fields=fields, persons={"author": [Person(last="{The BERTology, executed contributors}")]})
    entries = {f"bertology-executed-{row.claim.id}": own}
    entries |= {key: printed(references[key]) for key in row.claim.studies if key in references}
    return BibliographyData(entries).to_string("bibtex").strip()


def printed(reference: Reference) -> Entry:
    """An entry without the fields that this book keeps for itself."""
    fields = {name: text for name, text in reference.fields.items() if name not in OWN_FIELDS}
    return Entry(reference.type, fields=fields, persons=reference.persons)
