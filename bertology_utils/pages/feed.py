"""The changes of the book as an Atom feed, `feed.xml`: an entry for each section of the changelog, which has its date.

A section is a heading `### What changed (2026-11-27)` below the heading of its release. Depends on `files` and
`templates`.
"""

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from markdown_it import MarkdownIt

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_text
from bertology_utils.templates import slug

CHANGELOG = Path("CHANGELOG.md")
FILE = "feed.xml"
ATOM = "http://www.w3.org/2005/Atom"
HEADING = re.compile(r"^(##|###) (.+)\n", re.MULTILINE)
DATED = re.compile(r"(.+) \((\d{4}-\d\d-\d\d)\)")


class Change(NamedTuple):
    """A section of the changelog; `name` is its title with that of its release, as an address can hold them."""

    name: str
    title: str
    day: date
    text: str


def read_changes(path: Path) -> list[Change]:
    """The sections of a changelog, newest first; those of one day in their order there.

    Raises BertologyError: a section has no date, or the file cannot be read.
    """
    _, *parts = HEADING.split(read_text(path))
    found, release = [], ""
    for level, heading, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if level == "##":
            release = heading
        else:
            title, day = _dated(path, heading)
            found.append(Change(slug(f"{release} {title}"), title, day, text.strip()))
    return sorted(found, key=lambda change: change.day, reverse=True)


def _dated(path: Path, heading: str) -> tuple[str, date]:
    try:
        title, day = DATED.fullmatch(heading.strip()).groups()
        return title, date.fromisoformat(day)
    except (AttributeError, ValueError):
        raise BertologyError(
            f"{path.name}: the section '{heading.strip()}' has no date, as in '### A title (2026-11-27)'."
        ) from None


def feed(changes: Sequence[Change], title: str, author: str, home: str = "") -> str:
    """The feed as XML, of one change at least; `home` is the address of the book or of its repository, if known."""
    root = Element("feed", xmlns=ATOM)
    _add(root, title=title, id=_identity(home, ""), updated=_moment(changes[0]))
    _add(SubElement(root, "author"), name=author)
    for change in changes:
        entry = SubElement(root, "entry")
        _add(entry, title=change.title, id=_identity(home, change.name), updated=_moment(change))
        content = SubElement(entry, "content", type="html")
        content.text = MarkdownIt("js-default").render(change.text)  # which lets no HTML through
    for element in (root, *root.iter("entry")) if home else ():
        SubElement(element, "link", rel="alternate", href=home)
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(element: Element, **texts: str) -> None:
    for name, text in texts.items():
        SubElement(element, name).text = text


def _identity(home: str, name: str) -> str:
    """What a reader's program knows an entry by: it depends on address and title alone."""
    if home:
        return f"{home.rstrip('/')}/{FILE}" + (f"#{name}" if name else "")
    return uuid5(NAMESPACE_URL, f"bertology-executed/{name}").urn


def _moment(change: Change) -> str:
    return f"{change.day}T00:00:00Z"
