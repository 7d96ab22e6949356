"""Panels in chapters stand below the test of their claim; a wrong one is told in a line."""

import json
import re
from pathlib import Path

import pytest
from markupsafe import escape

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_json, write_text
from bertology_utils.pages import ask_in_chapters as panels

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("chapter", panels.chapter_panels(ROOT))
def test_a_chapters_panel_stands_below_the_test_of_its_claim(chapter):
    own, notebook = panels.chapter_panels(ROOT)[chapter], read_json(ROOT / "notebooks" / f"{chapter}.ipynb")
    cells = panels.with_panel(notebook, chapter, ROOT)["cells"]
    place = next(i for i, cell in enumerate(cells) if cell.get("id") == "chapter-panel")
    assert f'chapter.test("{own.after}"' in "".join(cells[place - 1]["source"]) and own.lead in cells[place]["source"]
    html = panels.chapter_part(chapter, ROOT)
    assert f'data-ask="{own.panel}"' in html and html.count("ask-notice") == 1
    assert all(escape(text) in html for text in own.question.values())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"panel": "fil"}, "syntax: unknown panel 'fil'"),
        ({"question": {"text": "One [MASK]."}}, "syntax: the panel 'sentences' asks for first, second"),
        ({"after": "no-such-claim"}, "tests no claim 'no-such-claim'"),
        ({"more": 1}, "syntax.more"),
    ],
)
def test_a_wrong_panel_is_told_in_a_line(tmp_path, change, said):
    own = panels.chapter_panels(ROOT)["syntax"].model_dump() | change
    write_text(tmp_path / panels.PATH, json.dumps({"syntax": own}))
    with pytest.raises(BertologyError, match=re.escape(said)):
        panels.with_panel(read_json(ROOT / "notebooks" / "syntax.ipynb"), "syntax", tmp_path)


def test_neighbours_are_asked_of_a_word_of_the_sentence(tmp_path):
    own = panels.chapter_panels(ROOT)["embeddings"].model_dump() | {"question": {"text": "A bank.", "word": "tree"}}
    write_text(tmp_path / panels.PATH, json.dumps({"embeddings": own}))
    with pytest.raises(BertologyError, match="has no word 'tree'"):
        panels.chapter_part("embeddings", tmp_path)
