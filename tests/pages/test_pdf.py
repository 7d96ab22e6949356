"""Chapters as PDF: a browser prints the built page; what is missing is told and nothing is half-written."""

import os

import pytest

from bertology_utils import cli
from bertology_utils.errors import BertologyError
from bertology_utils.pages import pdf

PRINTS = """for word in "$@"; do case "$word" in --print-to-pdf=*) printf '%s' "%PDF" > "${word#*=}";; esac; done"""


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A project with one built page, and a way to put a browser of one line in the place of all others."""
    page = tmp_path / pdf.HTML / "syntax.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>trees")

    def install(line: str) -> None:
        program = tmp_path / "bin" / "chromium"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(pdf, "BROWSERS", ("chromium",))
    monkeypatch.setattr(pdf.shutil, "which", lambda name: next(map(str, tmp_path.glob(f"bin/{name}")), None))
    return tmp_path, install


def test_a_chapter_is_printed_whole(built):
    root, install = built
    install(PRINTS)
    (made,) = pdf.print_chapters(root, ["syntax"], root / "out")
    assert made.read_text() == "%PDF" and [path.name for path in made.parent.iterdir()] == ["syntax.pdf"]


@pytest.mark.parametrize(("line", "said"), [("exit 3", "did not print syntax.html"), ("exit 0", "printed nothing of")])
def test_a_browser_that_fails_leaves_nothing(built, line, said):
    root, install = built
    install(line)
    with pytest.raises(BertologyError, match=said):
        list(pdf.print_chapters(root, ["syntax"], root / "out"))
    assert list((root / "out").iterdir()) == []


def test_no_browser_and_no_page_are_told(built):
    root, _ = built
    with pytest.raises(BertologyError, match="No Chromium or Chrome"):
        list(pdf.print_chapters(root, ["syntax"], root / "out"))
    with pytest.raises(BertologyError, match="no page of attention: `bertology build`"):
        list(pdf.print_chapters(root, ["attention"], root / "out"))
    assert not (root / "out").exists()


def test_an_unknown_chapter_is_told(capsys):
    assert cli.main(["pdf", "sintax"]) == 1 and "syntax" in capsys.readouterr().err
