"""The export for nbgrader: its metadata are nbgrader's, its points the stars, and a copy is worth what it answers."""

import re

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_project import add_notebook, make_project

from bertology_utils import cli
from bertology_utils.errors import BertologyError
from bertology_utils.files import write_text
from bertology_utils.pages.assignments import CHECKS, Check, assignment
from bertology_utils.pages.teach import read_chapter, teach

SECRET = "answer = 40 + 2"
HIDDEN = Check(exercise=3, leave="the product in `product`", code="assert product == 2 * 21")


def chapter() -> nbformat.NotebookNode:
    counted = new_code_cell(f"{SECRET}\n# Check: counted\nassert answer == 42", metadata={"tags": ["solution"]})
    counted.outputs, counted.execution_count = [new_output("stream", text="42")], 3
    solved = {"tags": ["solution", "hide-cell"]}
    cells = [
        new_markdown_cell("# Do heads count?\n\n## Exercises\n\n### Exercise 1: Count\n★★ · 5 minutes."),
        counted,
        new_code_cell("assert answer % 2 == 0", metadata={"tags": ["check"]}),
        new_markdown_cell("### Exercise 2: Say why\n★ · 5 minutes."),
        new_markdown_cell("Because it is.", metadata=solved),
        new_markdown_cell("### Exercise 3: Multiply\n★★★ · 5 minutes."),
        new_code_cell("factors = 6, 7", metadata=solved),
        new_code_cell("product = factors[0] * factors[1]", metadata=solved),
        new_markdown_cell("## What we saw"),
        new_code_cell("'the end'"),
    ]
    return new_notebook(cells=cells)


def graded(notebook) -> dict:
    return {mark.grade_id: mark for cell in notebook.cells if (mark := cell.metadata.get("nbgrader"))}


def released(source: str) -> str:
    """What nbgrader leaves of a cell for students."""
    return re.sub(r"### BEGIN (SOLUTION|HIDDEN TESTS)\n.*?\n### END \1", "# Your answer", source, flags=re.DOTALL)


def points(source, answers: dict[str, str]) -> float:
    """Of a copy with these answers, marked as nbgrader marks: a test that does not fail gives its points."""
    for cell in source.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = answers.get(cell.metadata.nbgrader.grade_id, released(cell.source))
    NotebookClient(source, allow_errors=True, kernel_name="python3").execute()
    tests = (cell for cell in source.cells if cell.metadata.get("nbgrader", {}).get("locked"))
    return sum(
        cell.metadata.nbgrader.points
        for cell in tests
        if not any(output.output_type == "error" for output in cell.outputs)
    )


RIGHT = {"exercise-1-answer-1": "answer = 42", "exercise-3-answer-2": "product = 42"}
WRONG = {"exercise-1-answer-1": "answer = 41", "exercise-3-answer-2": "product = 43"}


@pytest.mark.parametrize(("answers", "worth"), [(RIGHT, 5), (WRONG, 0), ({}, 0), (dict([*RIGHT.items()][:1]), 2)])
def test_a_copy_is_worth_what_it_answers(answers, worth):
    assert points(assignment(chapter(), [HIDDEN]), answers) == worth


def test_each_exercise_is_worth_its_stars_and_what_no_test_marks_is_marked_by_hand():
    with_check, without = graded(assignment(chapter(), [HIDDEN])), graded(assignment(chapter()))
    worth = {name: mark.points for name, mark in with_check.items() if mark.grade}
    assert worth == {
        "exercise-1-check-2": 1,
        "exercise-1-check-3": 1,
        "exercise-2-answer-1": 1,
        "exercise-3-check-3": 3,
    }
    assert without["exercise-3-answer-2"].points == 3 and not without["exercise-3-answer-1"].grade


def test_students_get_no_solution_and_no_hidden_test():
    notebook = chapter()
    source = assignment(notebook, [HIDDEN])
    assert nbformat.validate(source) is None and source == assignment(notebook, [HIDDEN])
    code = "\n".join(released(cell.source) for cell in source.cells if cell.cell_type == "code")
    assert not any(text in code for text in (SECRET, "factors", "2 * 21"))
    assert all(text in code for text in ("# Check: counted\nassert answer == 42", HIDDEN.leave))


def test_nbgrader_takes_the_metadata():
    validators = pytest.importorskip("nbgrader.nbgraderformat", reason="nbgrader is not installed")
    for checks in ([], [HIDDEN]):
        validators.MetadataValidator().validate_nb(assignment(chapter(), checks))


def test_the_command_writes_a_course_and_tells_of_mistakes(tmp_path, capsys):
    root, out = make_project(tmp_path), tmp_path / "out"
    nbformat.write(chapter(), root / "notebooks" / "attention.ipynb")
    add_notebook(root, "syntax", "1 + 1")
    write_text(root / CHECKS, "attention: [{exercise: 3, leave: '`product`', code: assert product == 42}]")
    list(teach(root, out=out))
    student = read_chapter(out / "student" / "attention.ipynb")
    assert [cell.source for cell in student.cells if "`product`" in cell.source] == [
        "# Your answer\n# It leaves `product`"
    ]
    settings = out / "nbgrader" / "nbgrader_config.py"
    source = read_chapter(out / "nbgrader" / "source" / "attention" / "attention.ipynb")
    assert "exercise-3-check-3" in graded(source) and "# Your answer" in settings.read_text("utf-8")
    assert graded(read_chapter(out / "nbgrader" / "source" / "syntax" / "syntax.ipynb")) == {}
    write_text(settings, "# a teacher's own")
    assert list(teach(root, out=out)) and settings.read_text("utf-8") == "# a teacher's own"
    write_text(root / CHECKS, "attention: [{exercise: 3, leave: product}]")
    assert cli.main(["teach", "--root", str(root)]) == 1 and "attention.0.code" in capsys.readouterr().err
    write_text(root / CHECKS, "attention: [{exercise: 3, leave: '`product`', code: 'assert (product'}]")
    assert cli.main(["teach", "--root", str(root)]) == 1 and "no Python, line 1" in capsys.readouterr().err
    with pytest.raises(BertologyError, match="no exercise 4 with a solution is in “Do heads count"):
        assignment(chapter(), [HIDDEN.model_copy(update={"exercise": 4})])
