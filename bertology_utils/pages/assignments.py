"""A chapter as the source notebook of an nbgrader assignment: answers and tests worth the stars of their exercise.

What a chapter checks itself is a test that students see. What `book/teaching/checks.yaml` adds is hidden from them, for
it computes the answer; nbgrader puts it back when it marks. An exercise with neither is marked by hand. Depends on
`chapter_text`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell
from pydantic import BaseModel, ConfigDict, field_validator

from bertology_utils.errors import BertologyError
from bertology_utils.pages.chapter_text import (
    CHECK,
    PLACEHOLDER,
    Exercise,
    exercises,
    split_check,
    tags,
    title,
    without_outputs,
)

CHECKS = Path("book") / "teaching" / "checks.yaml"
SCHEMA = 3  # of nbgrader's metadata
CONFIG = f"""\
c = get_config()
c.ClearSolutions.code_stub = {{"python": "{PLACEHOLDER}"}}  # an empty copy runs to its end
c.Execute.timeout = 1800  # seconds a cell; some take more than nbgrader's thirty
"""
"""The settings of an nbgrader course that these notebooks need."""


class Check(BaseModel):
    """A hidden test of one exercise: what an answer leaves behind, told to students, and code that fails without it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    exercise: int
    leave: str
    code: str

    @field_validator("code")
    @classmethod
    def _is_python(cls, code: str) -> str:
        try:
            compile(code, "the code", "exec")
        except SyntaxError as error:
            raise ValueError(f"no Python, line {error.lineno}: {error.msg}") from None
        return code


def assignment(notebook: NotebookNode, checks: Sequence[Check] = ()) -> NotebookNode:
    """A copy in which nbgrader finds what to cut out, what to run as a test, and what each is worth.

    Raises BertologyError: a check is of an exercise that the chapter does not have, or that has no solution.
    """
    source = without_outputs(notebook)
    solved = [exercise for exercise in exercises(notebook) if exercise.places]
    if strange := {check.exercise for check in checks} - {exercise.number for exercise in solved}:
        raise BertologyError(f"{CHECKS}: no exercise {min(strange)} with a solution is in “{title(notebook)}”.")
    parts = {place: [cell] for place, cell in enumerate(source.cells)}
    for exercise in solved:
        own = {place: list(_parts(source.cells[place])) for place in exercise.places}
        own[exercise.places[-1]] += [_hidden(check) for check in checks if check.exercise == exercise.number]
        _mark(exercise, [cell for cells in own.values() for cell in cells])
        parts |= own
    source.cells = [cell for place in parts for cell in parts[place]]
    return source


def _parts(cell: NotebookNode) -> Iterator[NotebookNode]:
    """A solution as an answer cell, with its check as a test cell after it."""
    if CHECK in tags(cell):
        yield _role(cell, answer=False)
        return
    solution, check = split_check(cell)
    if cell.cell_type == "code":
        cell.source = f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION"
    yield _role(cell, answer=True)
    if check:
        yield _role(new_code_cell(check), answer=False)


def _hidden(check: Check) -> NotebookNode:
    code = f"### BEGIN HIDDEN TESTS\n{check.code.strip()}\n### END HIDDEN TESTS"
    told = f"# Marked by what you leave: {' '.join(check.leave.split())}"
    return _role(new_code_cell(f"{told}\n{code}"), answer=False)


def _role(cell: NotebookNode, *, answer: bool) -> NotebookNode:
    """Tests are graded, and so are answers in words; answers in code are what the tests are of."""
    graded = not answer or cell.cell_type == "markdown"
    mark = {"schema_version": SCHEMA, "grade": graded, "solution": answer, "locked": not answer, "task": False}
    cell.metadata = from_dict({"nbgrader": mark})
    return cell


def _mark(exercise: Exercise, cells: Sequence[NotebookNode]) -> None:
    """Names the cells of an exercise and divides its points; where nothing is graded, the last answer is, by hand."""
    marks = [cell.metadata.nbgrader for cell in cells]
    if not any(mark.grade for mark in marks):
        marks[-1].grade = True
    graded = [mark for mark in marks if mark.grade]
    for mark in graded:
        mark.points = len(exercise.difficulty or "★") / len(graded)
    for number, (cell, mark) in enumerate(zip(cells, marks, strict=True), start=1):
        name = f"exercise-{exercise.number}-{'answer' if mark.solution else 'check'}-{number}"
        cell["id"] = mark.grade_id = name
