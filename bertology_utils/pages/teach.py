"""Teaching material from the chapters themselves: student notebooks, slides, keys, notes, and an nbgrader course.

Depends on `chapter_text`, `assignments`, `colab` and `instructor_notes`.

Nothing is written twice: exercises are cells of the chapter, and a solution is the cell tagged `solution` below its
exercise. What is removed from the student's notebook is exactly what the grading key shows.
"""

import copy
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from bertology_utils.errors import BertologyError
from bertology_utils.files import write_text
from bertology_utils.pages import assignments
from bertology_utils.pages.chapter_text import (
    HEADING,
    PLACEHOLDER,
    SOLUTION,
    Exercise,
    exercises,
    read_by_chapter,
    sections,
    split_check,
    tags,
    title,
    with_names,
    without_outputs,
)
from bertology_utils.pages.colab import setup_cell
from bertology_utils.pages.instructor_notes import instructor_notes, read_misreadings
from bertology_utils.project import Job, chosen_chapters
from bertology_utils.templates import render

NOT_SHOWN = {"parameters", "injected-parameters", "remove-cell", SOLUTION}
CLOSING = "chapter.close()"
WIDTH = re.compile(r"(?<=width:100%;)max-width:\d+px")  # of a figure on a page
FILLS = "max-height:560px"  # of the 700 that reveal.js gives a slide


def student_version(
    notebook: NotebookNode, setup: str | None = None, checks: Sequence[assignments.Check] = ()
) -> NotebookNode:
    """A copy without solutions and outputs; a place for the answer, and the check if there is one, stand instead.

    The first place of an exercise with a hidden test says what its answer leaves. The code `setup` comes first.
    """
    student = without_outputs(notebook)
    for cell in student.cells:
        if SOLUTION in tags(cell):
            cell.metadata["tags"] = ["answer"]
            cell.source = _placeholder(cell)
    first = {exercise.number: exercise.places[0] for exercise in exercises(notebook) if exercise.places}
    for check in checks:
        place = student.cells[first[check.exercise]]
        place.source = place.source.replace(PLACEHOLDER, f"{PLACEHOLDER}\n# It leaves {check.leave}", 1)
    if setup:
        student.cells.insert(0, new_code_cell(setup, id="setup"))
    return student


def _placeholder(cell: NotebookNode) -> str:
    if cell.cell_type == "markdown":
        return "*Your answer*"
    _, check = split_check(cell)
    return f"{PLACEHOLDER}\n\n\n{check}" if check else PLACEHOLDER


def slides(notebook: NotebookNode) -> NotebookNode:
    """A copy with one reveal.js slide for each heading, below which the section's text and cells go on.

    Parameters, solutions and the closing cell are skipped; outputs stay, where there are any, and figures fill a slide.
    """
    deck = copy.deepcopy(notebook)
    deck.cells = [part for cell in deck.cells for part in _split(cell)]
    for cell in deck.cells:
        for output in cell.get("outputs", []):
            if html := output.get("data", {}).get("text/html"):
                output["data"]["text/html"] = WIDTH.sub(FILLS, html)
        begins = cell.cell_type == "markdown" and HEADING.match(cell.source.partition("\n")[0])
        hidden = tags(cell) & NOT_SHOWN or cell.source.strip() == CLOSING
        cell.metadata["slideshow"] = {"slide_type": "skip" if hidden else "slide" if begins else "-"}
    deck.metadata["celltoolbar"] = "Slideshow"
    return deck


def _split(cell: NotebookNode) -> list[NotebookNode]:
    """The cell, cut before each heading that it holds."""
    if cell.cell_type != "markdown":
        return [cell]
    parts = []
    for index, text in enumerate(sections(cell.source)):
        part = copy.deepcopy(cell)
        part["id"] = cell.get("id", "cell") if index == 0 else f"{cell.get('id', 'cell')[:60]}-{index}"
        part.source = text
        parts.append(part)
    return parts


def grading_key(chapter: str, notebook: NotebookNode) -> str:
    """A Markdown page: a table of the exercises, then each with its question and its solution."""
    return render("grading_key.md", chapter=chapter, title=title(notebook), exercises=exercises(notebook)) + "\n"


def read_chapter(path: Path) -> NotebookNode:
    """A notebook of the book.

    Raises BertologyError: the file is no notebook.
    """
    try:
        return nbformat.read(path, as_version=4)
    except (ValueError, KeyError, AttributeError, nbformat.ValidationError, nbformat.reader.NotJSONError):
        raise BertologyError(f"{path} is not a notebook that can be read.") from None


def executed(root: Path, chapter: str) -> NotebookNode | None:
    """The chapter as it was last run under the default profile and model, where it still says what its source says."""
    from bertology_utils.running.freshness import state

    job = Job(root, chapter)
    return read_chapter(job.notebook) if state(job).fresh else None


def teach(root: Path, names: list[str] | None = None, out: Path | None = None) -> Iterator[tuple[str, list[Exercise]]]:
    """Writes the material of the given chapters, all by default, and yields each chapter with its exercises.

    Slides show figures and verdicts where the chapter has been run; student notebooks never do.

    Raises BertologyError: an unknown chapter, no chapter at all, a broken notebook, a broken list of misreadings or
    checks.
    """
    wanted = chosen_chapters(root, names)
    folder = out or root / "_build" / "teaching"
    misreadings, setup = read_misreadings(root), setup_cell(root)
    checks = read_by_chapter(root, assignments.CHECKS, assignments.Check)
    course = folder / "nbgrader"
    if not (settings := course / "nbgrader_config.py").exists():  # a teacher's own stay
        write_text(settings, assignments.CONFIG)
    for name in wanted:
        source = with_names(read_chapter(root / "notebooks" / f"{name}.ipynb"))
        assignment = assignments.assignment(source, own := checks.get(name, ()))
        write_text(folder / "student" / f"{name}.ipynb", nbformat.writes(student_version(source, setup, own)))
        write_text(
            folder / "slides" / f"{name}.ipynb", nbformat.writes(slides(with_names(executed(root, name) or source)))
        )
        write_text(folder / "grading-key" / f"{name}.md", grading_key(name, source))
        notes = instructor_notes(name, source, misreadings.get(name, ()))
        write_text(folder / "instructor-notes" / f"{name}.md", notes)
        write_text(course / "source" / name / f"{name}.ipynb", nbformat.writes(assignment))
        yield name, exercises(source)
