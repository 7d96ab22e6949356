"""The feed of changes: valid Atom, newest first, with identities that stay and texts that stay texts."""

import re
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.files import write_text
from bertology_utils.pages import extension
from bertology_utils.pages.feed import ATOM, CHANGELOG, FILE, feed, read_changes

ROOT = Path(__file__).parents[2]
TWO = "# Changelog\n\n## 0.1\n\n### Old & <b>bold</b> (2026-01-02)\n- `a < b` & <i>c</i>\n\n### New (2026-03-04)\n- d\n"
HOMES = ("", "https://github.com/someone/book", "https://someone.example/book/")


@pytest.fixture
def changelog(tmp_path):
    write_text(tmp_path / CHANGELOG, TWO)
    return tmp_path / CHANGELOG


def atom(path, home=""):
    return ElementTree.fromstring(feed(read_changes(path), "Changes of <A>", "B & C", home).encode())


def texts(element, name):
    return [found.text for found in element.iter(f"{{{ATOM}}}{name}")]


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("path", [None, ROOT / CHANGELOG], ids=["two", "own"])
def test_what_atom_requires_is_there_and_the_newest_comes_first(changelog, path, home):
    root = atom(path or changelog, home)
    assert root.tag == f"{{{ATOM}}}feed" and texts(root, "name") == ["B & C"]
    parts = [root, *root.iter(f"{{{ATOM}}}entry")]
    assert all(part.find(f"{{{ATOM}}}{name}").text for part in parts for name in ("id", "title", "updated"))
    identities, dates = texts(root, "id"), texts(root, "updated")
    assert len(set(identities)) == len(parts) > 2
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", date) and datetime.fromisoformat(date) for date in dates
    )
    assert dates == sorted(dates, reverse=True)
    assert all(identity.startswith(home or "urn:uuid:") for identity in identities)
    links = [link.get("href") for link in root.iter(f"{{{ATOM}}}link")]
    assert links == ([home] * len(parts) if home else [])


def test_text_stays_text(changelog):
    root = atom(changelog)
    assert texts(root, "title") == ["Changes of <A>", "New", "Old & <b>bold</b>"]
    assert "<code>a &lt; b</code> &amp; &lt;i&gt;c&lt;/i&gt;" in texts(root, "content")[1]


@pytest.mark.parametrize("home", HOMES)
def test_an_identity_stays_when_other_sections_come(changelog, home):
    before = texts(atom(changelog, home), "id")
    write_text(changelog, TWO.replace("### Old", "### Newest (2026-05-06)\n- e\n\n### Old").replace("- d", "- mended"))
    after = texts(atom(changelog, home), "id")
    assert set(before) < set(after) and len(after) == len(before) + 1


@pytest.mark.parametrize("heading", ["New", "New (2026-13-01)", "(2026-03-04)"])
def test_a_section_without_a_date_is_told(changelog, heading):
    write_text(changelog, TWO.replace("New (2026-03-04)", heading))
    with pytest.raises(BertologyError, match=re.escape(f"the section '{heading}' has no date")):
        read_changes(changelog)


@pytest.mark.parametrize("text, told", [(None, False), ("# Changelog\n", False), (TWO, True)])
def test_pages_name_the_feed_that_the_build_writes(tmp_path, text, told):
    if text is not None:
        write_text(tmp_path / CHANGELOG, text)
    settings = SimpleNamespace(html_title="A", author="B", html_baseurl=HOMES[2], html_theme_options={})
    html = SimpleNamespace(format="html")
    app = SimpleNamespace(srcdir=tmp_path, outdir=tmp_path / "html", config=settings, builder=html)
    context = {"metatags": "<meta>", "pathto": lambda name, resource: f"../{name}"}
    extension.add_feed_link(app, "claims/one", "page.html", context, None)
    link = '<link rel="alternate" type="application/atom+xml" title="Changes" href="../feed.xml">'
    assert context["metatags"] == "<meta>" + link * told
    extension.write_feed(app, None)
    assert (tmp_path / "html" / FILE).is_file() == told
