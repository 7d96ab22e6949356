"""A page shows its chapter's answer first and telling without code; the notebook itself keeps both."""

import numpy as np
import pytest

from bertology_utils.pages.layout import HIDDEN, laid_out, lightened, only_tells, stamped


def cell(source, kind="code", outputs=()):
    extra = {"outputs": list(outputs), "execution_count": 1} if kind == "code" else {}
    return {"cell_type": kind, "source": source, "metadata": {}, "id": source[:4]} | extra


@pytest.mark.parametrize(
    ("source", "telling"),
    [
        ("chapter.say('a')\nchapter.test('b', c)", True),
        ("chapter.close()", True),
        ("from a import b\n\nchapter.say(b)", True),
        ("from a import b", False),
        ("x = 1\nchapter.say('a')", False),
        ("chapter.measure(f)", False),
        ("figures.bars({})", False),
        ("%matplotlib inline", False),
        ("", False),
    ],
)
def test_cells_that_do_nothing_but_tell_are_known(source, telling):
    assert only_tells(source) is telling


def test_the_answer_moves_below_the_title():
    answer = {"data": {"text/html": ['<section class="chapter-answer">Yes.</section>']}}
    rest = {"data": {"text/html": "<ul></ul>"}}
    cells = [cell("# Title", "markdown"), cell("x = 1"), cell("chapter.conclude({})", outputs=[rest, answer])]
    title, first, code, end = laid_out({"cells": cells})["cells"]
    assert (title["source"], first["outputs"], code["source"]) == ("# Title", [answer], "x = 1")
    assert end["outputs"] == [rest] and HIDDEN in end["metadata"]["tags"] and code["metadata"]["tags"] == []
    assert first["source"], "a page leaves out a cell without code"


def test_parameters_are_not_shown():
    given = cell("MODEL = 1") | {"metadata": {"tags": ["parameters"]}}
    assert HIDDEN in laid_out({"cells": [given]})["cells"][0]["metadata"]["tags"]


def test_a_chapter_without_an_answer_stays_in_its_order():
    cells = [cell("# Title", "markdown"), cell("x = 1")]
    assert [c["source"] for c in laid_out({"cells": list(cells)})["cells"]] == ["# Title", "x = 1"]


def test_minutes_of_reading_and_running_are_computed():
    run = {"model": "m", "profile": "live", "seconds": 90.0}
    cells = [cell("# Title", "markdown"), cell("x = 1"), cell("word " * 1000, "markdown")]
    opening, _, _, end = stamped({"cells": cells, "metadata": {"bertology": run}})["cells"]
    assert "reading 5, running 1.5" in opening["source"] and opening["source"].startswith("# Title\n\n")
    assert "90 seconds" in end["source"] and stamped({"cells": [], "metadata": {}})["cells"] == []


def test_drawings_lose_what_no_eye_sees_and_words_keep_their_numbers():
    html = '<svg aria-label="0.9771"><path id="a" d="M 1.23456 20 \nL 3.5 -0.0091"/></svg>0.12345'
    notebook = {"cells": [cell("draw()", outputs=[{"data": {"text/html": html}}])]}
    (after,) = lightened(notebook)["cells"][0]["outputs"]
    assert after["data"]["text/html"] == html.replace("1.23456", "1.23").replace("-0.0091", "-0.00")


def test_circles_become_arcs_through_their_lowest_and_highest_points():
    rim = [(3 + 0.3 * np.sin(a), 72 + 0.3 * np.cos(a)) for a in np.linspace(0, 2 * np.pi, 9)]
    curves = "".join("C 0 0 0 0 {:.6f} {:.6f} \n".format(*end) for end in rim[1:])
    html = f'<svg><path d="M 3 72.3 \n{curves}z"/><path d="M 3 72.3 \n{curves.replace("3.000000", "4")}z"/></svg>'
    notebook = {"cells": [cell("draw()", outputs=[{"data": {"text/html": html}}])]}
    (after,) = lightened(notebook)["cells"][0]["outputs"]
    assert '<svg><path d="M 3 72.3a0.3 0.3 0 1 1 .01 0z"/><path d="M 3 72.3 \nC' in after["data"]["text/html"]
