"""The chapters as they lie in git: no outputs, short cells, claims that exist, exercises with solutions.

These rules need no run; `test_chapters.py` executes the same notebooks.
"""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path
from statistics import median

import nbformat
import pytest

from bertology_utils.bibliography import load_references
from bertology_utils.pages.teach import exercises, tags
from bertology_utils.project import CHAPTERS
from bertology_utils.running.freshness import notebook_code
from bertology_utils.verdicts.claims import claims_file, read_claims

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = 'MODEL = "pocket-bert"\nPROFILE = "live"\nSEED = 0\nRECORD = None'
LONGEST_CELL, MEDIAN_CELL, ALL_CELLS, WIDEST_CELL = (
    15,
    6,
    5000,
    86,
)  # lines, and letters that a page shows on a laptop without breaking a line
RECORDING = {"test", "not_testable"}


@cache
def notebook(chapter: str) -> nbformat.NotebookNode:
    path = ROOT / "notebooks" / f"{chapter}.ipynb"
    if not path.is_file():
        pytest.skip(f"notebooks/{chapter}.ipynb is not written yet")
    return nbformat.read(path, as_version=4)


def code_cells(chapter: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook(chapter).cells if cell.cell_type == "code"]


def named_claims(chapter: str) -> list[tuple[str, str]]:
    """Every (method, claim id) that the notebook's code names literally."""
    cells = [{"type": cell.cell_type, "source": cell.source} for cell in notebook(chapter).cells]
    found = []
    for node in ast.walk(ast.parse(notebook_code(cells))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RECORDING:
            found += [(node.func.attr, a.value) for a in node.args[:1] if isinstance(a, ast.Constant)]
    return found


@pytest.fixture(params=CHAPTERS, scope="module")
def chapter(request) -> str:
    notebook(request.param)
    return request.param


def test_nothing_that_a_run_leaves_is_stored(chapter):
    for number, cell in enumerate(code_cells(chapter)):
        assert not cell.outputs and cell.execution_count is None, f"code cell {number} of {chapter} holds an output"
    assert not {"widgets", "papermill", "bertology"} & set(notebook(chapter).metadata)
    assert nbformat.validate(notebook(chapter)) is None


def test_cells_are_short_and_narrow(chapter):
    long = {cell.source.splitlines()[0]: cell.source.count("\n") + 1 for cell in code_cells(chapter)}
    assert {first: lines for first, lines in long.items() if lines > LONGEST_CELL} == {}
    assert median(cell.source.count("\n") + 1 for cell in code_cells(chapter)) <= MEDIAN_CELL
    wide = [line for cell in code_cells(chapter) for line in cell.source.splitlines() if len(line) > WIDEST_CELL]
    assert wide == []


def test_all_chapters_together_hold_little_code():
    lines = [cell.source.count("\n") + 1 for chapter in CHAPTERS for cell in code_cells(chapter)]
    assert sum(lines) <= ALL_CELLS


def test_every_chapter_opens_and_closes_alike(chapter):
    cells = code_cells(chapter)
    tagged = [cell.source.strip() for cell in cells if "parameters" in tags(cell)]
    assert tagged == [PARAMETERS] and cells[0].source.strip() == PARAMETERS
    opened = [cell.source for cell in cells if "open_chapter(" in cell.source]
    assert len(opened) == 1 and f'"{chapter}"' in opened[0]
    assert notebook(chapter).cells[-1].source.strip() == "chapter.close()"


def test_claims_are_those_of_the_chapter_and_have_predictions(chapter):
    claims = {claim.id: claim for claim in read_claims(claims_file(chapter))}
    named = named_claims(chapter)
    assert [identity for _, identity in named if identity not in claims] == []
    tested = {identity for method, identity in named if method == "test"}
    assert [identity for identity in sorted(tested) if claims[identity].prediction is None] == []
    code = "\n".join(cell.source for cell in code_cells(chapter))  # some chapters name their claims in a table
    assert len({node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)} & set(claims)) >= 2


def test_three_to_five_exercises_each_with_difficulty_minutes_and_solution(chapter):
    found = exercises(notebook(chapter))
    assert 3 <= len(found) <= 5
    assert [e.number for e in found] == list(range(1, len(found) + 1))
    faults = [e.title for e in found if not (e.solutions and e.minutes and e.difficulty in ("★", "★★", "★★★"))]
    assert faults == []
    solutions = [cell for cell in notebook(chapter).cells if "solution" in tags(cell)]
    assert sum(len(e.solutions) for e in found) == len(solutions), "a solution stands outside the exercises"


def unsolved_names(notebook) -> set[str]:
    """Names that only solutions define and other cells use: a student's notebook would fail there."""
    defined: set[str] = set()
    solved: set[str] = set()
    missing: set[str] = set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        names = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name)]
        stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        if "solution" in tags(cell):
            solved |= stored
        else:
            missing |= {node.id for node in names if isinstance(node.ctx, ast.Load)} & (solved - defined - stored)
            defined |= stored
    return missing


def test_a_student_without_solutions_can_run_the_rest(chapter):
    assert unsolved_names(notebook(chapter)) == set()


def test_headings_and_goals_are_there(chapter):
    text = "\n".join(cell.source for cell in notebook(chapter).cells if cell.cell_type == "markdown")
    lines = text.splitlines()
    assert sum(line.startswith("# ") for line in lines) == 1
    for needed in ("What you will learn", "## Exercises", "## What we saw", "## Open questions"):
        assert needed in text, f"{chapter} has no '{needed}'"


def test_citations_are_known(chapter):
    text = "\n".join(cell.source for cell in notebook(chapter).cells if cell.cell_type == "markdown")
    cited = {key.strip() for group in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text) for key in group.split(",")}
    assert cited - set(load_references()) == set()


def test_no_metric_is_defined_in_a_notebook(chapter):
    """A closure that hands sentences to an instrument is fine; a loop of sums and means is a metric."""
    heavy = {"softmax", "log_softmax", "svd", "eig", "eigh", "spearmanr", "pearsonr", "LogisticRegression"}
    used = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for cell in code_cells(chapter)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    assert used & heavy == set(), "this belongs into the package, with a test"


def test_git_holds_the_stripped_notebook(chapter):
    shown = subprocess.run(
        ["git", "-C", str(ROOT), "show", f"HEAD:notebooks/{chapter}.ipynb"], capture_output=True, text=True
    )
    if shown.returncode:
        pytest.skip("not committed yet, or not a git checkout")
    assert '"output_type"' not in shown.stdout
