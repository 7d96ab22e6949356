"""Hidden tests of exercises: each names what the solution alone leaves, lets the solution pass, and no empty answer."""

import ast
import re
from functools import cache
from pathlib import Path

import nbformat
import pytest
from notebook_project import PARAMETERS

from bertology_utils.pages.assignments import CHECKS, Check, assignment
from bertology_utils.pages.chapter_text import read_by_chapter
from bertology_utils.running import slices

ROOT = Path(__file__).resolve().parents[2]
EACH = [
    pytest.param(chapter, check, id=f"{chapter}-{check.exercise}")
    for chapter, checks in read_by_chapter(ROOT, CHECKS, Check).items()
    for check in checks
]


@cache
def code_cells(chapter: str, check: Check) -> list[nbformat.NotebookNode]:
    """The code of the assignment with this check alone."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)
    return [cell for cell in assignment(notebook, [check]).cells if cell.cell_type == "code"]


def kind(cell: nbformat.NotebookNode, check: Check) -> str | None:
    name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
    found = re.fullmatch(rf"exercise-{check.exercise}-(answer|check)-\d+", name)
    return found and found[1]


def names(code: str, context: type) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and type(node.ctx) is context}


@pytest.mark.parametrize(("chapter", "check"), EACH)
def test_what_is_asked_for_is_what_the_solution_alone_leaves(chapter, check):
    asked = set(re.findall(r"`(\w+)`", check.leave))
    stored = {place: set[str]() for place in ("answer", "check", None)}
    for cell in code_cells(chapter, check):
        stored[kind(cell, check)] |= names(cell.source, ast.Store)
    assert asked <= stored["answer"] - stored[None]
    assert names(check.code, ast.Load) & (stored["answer"] - stored[None] - stored["check"]) == asked


@pytest.mark.parametrize(("chapter", "check"), EACH)
def test_the_solution_passes_and_an_empty_answer_does_not(chapter, check):
    cells = code_cells(chapter, check)
    (test,) = (place for place, cell in enumerate(cells) if kind(cell, check) == "check")
    needed = sorted(slices.needed_cells([ast.parse(cell.source) for cell in cells], {test}) - {test})
    found: dict[str, object] = {}
    for place in needed:
        source = cells[place].source
        exec(source if source != PARAMETERS else source.replace("live", "smoke"), found)
    empty = {name: value for name, value in found.items() if name not in re.findall(r"`(\w+)`", check.leave)}
    exec(cells[test].source, found)
    with pytest.raises(NameError):
        exec(cells[test].source, empty)
