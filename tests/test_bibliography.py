"""The bibliography: every entry valid, every cited key there, BibTeX that the bibliography's own parser reads back."""

import re
from pathlib import Path

import pytest
import yaml
from pybtex.database import parse_string

from bertology_utils.bibliography import (
    Reference,
    bibtex,
    bibtex_entry,
    load_references,
    missing_keys,
    short_name,
    write_bibtex,
)  # fmt: skip
from bertology_utils.errors import BertologyError
from bertology_utils.verdicts.claims import load_claims

ROOT = Path(__file__).parents[1]


def reference(**changes):
    return Reference(**{"key": "doe2020what", "kind": "article", "authors": ("Jane Doe",), "year": 2020,
                        "title": "What & why", "cited_in": "talk", "details": "printed", **changes})  # fmt: skip


def test_every_citation_of_the_claims_exists():
    cited = {key for claim in load_claims() for key in claim.studies}
    assert missing_keys(cited, load_references()) == []
    assert missing_keys({"nobody2020nothing"}, load_references()) == ["nobody2020nothing"]


def test_every_citation_of_pages_and_notebooks_exists():
    pages = [*ROOT.glob("book/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    found = {key.strip() for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text) for key in keys.split(",")}
    assert missing_keys(found, load_references()) == []


def test_bibtex_is_read_back_with_all_entries_and_names():
    references = load_references()
    parsed = parse_string(bibtex(references), "bibtex").entries
    assert list(parsed) == list(references)
    assert all(len(parsed[key].persons["author"]) == len(references[key].authors) for key in references)


def test_capitals_and_special_characters_survive():
    entry = bibtex_entry(reference())
    assert r"{{What \& why}}" in entry


def test_short_names():
    assert short_name(reference()) == "Doe 2020"
    assert short_name(reference(authors=("Betty van Aken", "Ann Poe"))) == "van Aken and Poe 2020"
    assert short_name(reference(authors=("Ann Poe", "others"))) == "Poe et al. 2020"


def test_a_file_is_written_only_when_it_differs(tmp_path):
    path = tmp_path / "references.bib"
    assert write_bibtex(path)
    assert not write_bibtex(path)


@pytest.mark.parametrize("rows", [[{"key": "x"}], [reference().model_dump(mode="json")] * 2])
def test_faulty_and_repeated_entries_are_told(tmp_path, rows):
    path = tmp_path / "references.yaml"
    path.write_text(yaml.safe_dump(rows), encoding="utf-8")
    with pytest.raises(BertologyError):
        load_references(path)
