"""The bibliography: `references.yaml` is the source, `book/references.bib` is generated from it.

Depends on pydantic, PyYAML and `errors`; knows nothing of models or pages. A citation key is author, year and first
word of the title, as in `tenney2019bert`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_yaml

SOURCE = Path(__file__).with_name("references.yaml")
_VENUE_FIELD = {"article": "journal", "inproceedings": "booktitle", "book": "publisher", "misc": "note"}
_SPECIAL = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$"}


class Reference(BaseModel):
    """One work; `kind` is its BibTeX entry type and `details` says whether the survey prints its title."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str = Field(pattern=r"^[a-z]+\d{4}[a-z0-9]*$")
    kind: Literal["article", "inproceedings", "book", "misc"]
    authors: tuple[str, ...] = Field(min_length=1)
    year: int = Field(ge=1950, le=2030)
    title: str = Field(min_length=3)
    venue: str | None = None
    volume: str | None = None
    pages: str | None = None
    arxiv: str | None = Field(default=None, pattern=r"^\d{4}\.\d{4,5}$")
    cited_in: str
    details: Literal["printed", "supplied"]


@cache
def load_references(path: Path = SOURCE) -> dict[str, Reference]:
    """Every work by its citation key, in the order of the file; `BertologyError` on a faulty or repeated entry."""
    references: dict[str, Reference] = {}
    for row in read_yaml(path):
        try:
            reference = Reference.model_validate(row)
        except ValidationError as error:
            raise BertologyError(f"{path.name}: entry {row.get('key', row)!r} is not valid.\n{error}") from error
        if reference.key in references:
            raise BertologyError(f"{path.name}: the key {reference.key!r} occurs twice.")
        references[reference.key] = reference
    return references


def missing_keys(cited: Iterable[str], references: dict[str, Reference]) -> list[str]:
    """The cited keys that no reference has, sorted."""
    return sorted(set(cited) - set(references))


def short_name(reference: Reference) -> str:
    """The way a table names a study: `Tenney et al. 2019`."""
    surnames = [_surname(author) for author in reference.authors]
    if len(surnames) > 2 or surnames[-1] == "others":
        return f"{surnames[0]} et al. {reference.year}"
    return f"{' and '.join(surnames)} {reference.year}"


def _surname(author: str) -> str:
    """The family name, with its particle: `Betty van Aken` -> `van Aken`."""
    parts = author.split()
    start = next((i for i, part in enumerate(parts) if i and part in {"van", "von", "de", "der"}), len(parts) - 1)
    return " ".join(parts[start:])


def bibtex_entry(reference: Reference) -> str:
    """One BibTeX entry; the title is braced twice so that no style lowers the capitals of a model's name."""
    fields = {
        "author": " and ".join(reference.authors),
        "title": f"{{{reference.title}}}",
        "year": str(reference.year),
        _VENUE_FIELD[reference.kind]: reference.venue,
        "volume": reference.volume,
        "pages": reference.pages and reference.pages.replace("-", "--"),
        "eprint": reference.arxiv,
        "archiveprefix": "arXiv" if reference.arxiv else None,
    }
    lines = [f"  {name} = {{{_escape(value)}}}" for name, value in fields.items() if value]
    return f"@{reference.kind}{{{reference.key},\n" + ",\n".join(lines) + "\n}\n"


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)


def bibtex(references: dict[str, Reference]) -> str:
    """The whole BibTeX file."""
    head = "% Generated from bertology_utils/references.yaml by bertology_utils.bibliography; edit that file.\n\n"
    return head + "\n".join(bibtex_entry(reference) for reference in references.values())


def write_bibtex(path: Path, references: dict[str, Reference] | None = None) -> bool:
    """Writes the BibTeX file where it differs, and says whether it did (an untouched file keeps pages fresh)."""
    text = bibtex(references or load_references())
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.write_text(text, encoding="utf-8")
    return True


if __name__ == "__main__":
    write_bibtex(Path(__file__).parents[1] / "book" / "references.bib")
