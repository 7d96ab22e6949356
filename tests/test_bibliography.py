"""The bibliography: every entry valid, and every cited key there."""

import re
from pathlib import Path

import pytest
from pybtex.database import parse_string

from bertology_utils.bibliography import SOURCE, load_references, short_name
from bertology_utils.errors import BertologyError
from bertology_utils.verdicts.claims import load_claims

ROOT = Path(__file__).parents[1]
VENUES = {"article": "journal", "inproceedings": "booktitle", "book": "publisher", "misc": "note"}
FIELDS = {"author", "title", "year", "volume", "pages", "eprint", "archiveprefix", "citedin", "details"}


def reference(authors):
    return parse_string(f"@misc{{a, author = {{{authors}}}, year = {{2020}}}}", "bibtex").entries["a"]


def test_every_citation_of_the_claims_exists():
    assert {key for claim in load_claims() for key in claim.studies} <= set(load_references())


def test_every_citation_of_pages_and_notebooks_exists():
    pages = [*ROOT.glob("book/**/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    found = {key.strip() for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text) for key in keys.split(",")}
    assert found <= set(load_references())


@pytest.mark.parametrize("key", load_references())
def test_entries_are_whole(key):
    entry = load_references()[key]
    fields = entry.fields
    assert re.fullmatch(r"[a-z]+\d{4}[a-z0-9]*", key) and entry.persons["author"]
    assert 1950 <= int(fields["year"]) <= 2030 and re.fullmatch(r"\d{4}\.\d{4,5}", fields.get("eprint", "0000.0000"))
    assert re.fullmatch(r"\{.{3,}\}", fields["title"])  # braced, so that no style lowers the capitals of a name
    assert {*fields} <= FIELDS | {VENUES[entry.type]} and fields["details"] in ("printed", "supplied")


def test_short_names():
    assert short_name(reference("Jane Doe")) == "Doe 2020"
    assert short_name(reference("Betty van Aken and Ann Poe")) == "van Aken and Poe 2020"
    assert short_name(reference("Ann Poe and others")) == "Poe et al. 2020"


@pytest.mark.parametrize("text", ["@misc{a, year", "@misc{a, year = {2020}}\n" * 2, None])
def test_faulty_repeated_and_absent_entries_are_told(tmp_path, text):
    path = tmp_path / SOURCE.name
    if text:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(BertologyError):
        load_references(path)
