"""What the Markdown of a chapter holds: its title, sections, exercises, question, goals and open questions.

An exercise is a heading `Exercise n: title`; its solutions are the cells tagged `solution` below it, and what checks an
answer is the end of such a cell from `# Check` on, or a cell tagged `check`. Depends on `bibliography` for the names of
studies and on `project` for those of chapters.
"""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from nbformat import NotebookNode
from pydantic import BaseModel, TypeAdapter, ValidationError

from bertology_utils.bibliography import load_references, short_name
from bertology_utils.errors import BertologyError, first_fault, unknown
from bertology_utils.files import read_yaml
from bertology_utils.project import chapters

SOLUTION = "solution"
CHECK = "check"
PLACEHOLDER = "# Your answer"
CHECK_LINE = re.compile(r"^# Check\b", re.MULTILINE)
HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
EXERCISE = re.compile(r"^#{2,6}\s+Exercise\s+(\d+)\s*[:.–-]?\s*(.*)$")
ITEM = re.compile(r"^(?:-|\d+\.)\s+(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
CITATION = re.compile(r"\{cite(:\w+)?\}`([^`]+)`")
QUESTION = "**The question.**"
GOALS = "**What you will learn**"
OPEN = "## Open questions"
Entry = TypeVar("Entry", bound=BaseModel)


@dataclass
class Exercise:
    """One exercise of a chapter with its solution cells; `minutes` and `difficulty` are None where it states none.

    `places` has where in the notebook its solutions and the cells tagged `check` are.
    """

    number: int
    title: str
    text: str
    difficulty: str | None = None
    minutes: int | None = None
    solutions: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


def tags(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


def without_outputs(notebook: NotebookNode) -> NotebookNode:
    """A copy as it was before any run."""
    bare = copy.deepcopy(notebook)
    for cell in bare.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    bare.metadata.pop("bertology", None)
    return bare


def split_check(cell: NotebookNode) -> tuple[str, str]:
    """The solution that a code cell holds, and the check at its end, empty without one."""
    found = CHECK_LINE.search(cell.source) if cell.cell_type == "code" else None
    return (cell.source[: found.start()].rstrip(), cell.source[found.start() :]) if found else (cell.source, "")


def read_by_chapter(root: Path, path: Path, kind: type[Entry]) -> Mapping[str, Sequence[Entry]]:
    """What the file `path` of the book adds to its chapters: lists of one kind of entry; none without the file.

    Raises BertologyError: the place that is wrong, or a chapter that the book does not have.
    """
    if not (root / path).is_file():
        return {}
    try:
        found = TypeAdapter(dict[str, list[kind]]).validate_python(read_yaml(root / path) or {})
    except ValidationError as error:
        raise BertologyError(f"{path}: {', '.join(first_fault(error))}") from None
    known = chapters(root)
    if strange := [name for name in found if name not in known]:
        raise BertologyError(f"{path}: {unknown('chapter', strange[0], known)}")
    return found


def sections(source: str) -> Iterator[str]:
    """A Markdown text cut before each of its headings; lines inside fenced code are no headings."""
    part: list[str] = []
    fenced = False
    for line in source.splitlines():
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        if HEADING.match(line) and not fenced and any(map(str.strip, part)):
            yield "\n".join(part).strip("\n")
            part = []
        part.append(line)
    if any(map(str.strip, part)):
        yield "\n".join(part).strip("\n")


def title(notebook: NotebookNode) -> str:
    """The chapter's first heading of the first level."""
    for cell in notebook.cells:
        found = re.search(r"^# (.+)$", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else None
        if found:
            return found.group(1).strip()
    return "Untitled chapter"


def exercises(notebook: NotebookNode) -> list[Exercise]:
    """The exercises in their order: headings `Exercise n: title`, each with the solutions that follow it."""
    found: list[Exercise] = []
    current: Exercise | None = None
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and SOLUTION not in tags(cell):
            for part in sections(cell.source):
                heading, _, text = part.partition("\n")
                matched = EXERCISE.match(heading)
                if matched:
                    current = _exercise(int(matched.group(1)), matched.group(2), text.strip())
                    found.append(current)
                elif HEADING.match(heading):
                    current = None
                elif current is not None:
                    current.text = f"{current.text}\n\n{part}".strip()
        elif tags(cell) & {SOLUTION, CHECK} and current is not None:
            current.solutions += [cell.source] * (SOLUTION in tags(cell))
            current.places.append(place)
    return found


def _exercise(number: int, heading: str, text: str) -> Exercise:
    """Difficulty and minutes may stand in the heading or in the text below it."""
    stated = f"{heading}\n{text}"
    stars, minutes = re.search(r"★+", stated), re.search(r"(\d+)\s*min", stated)
    name = re.sub(r"\s*[(—–,·-]*\s*★.*$|\s*\(?\d+\s*min.*$", "", heading).strip(" (,·")
    return Exercise(number, name, text, stars and stars.group(), int(minutes.group(1)) if minutes else None)


def question(notebook: NotebookNode) -> str:
    """The paragraph that begins `**The question.**`; the title where the chapter has none, as most titles ask."""
    return plain(_after(notebook, QUESTION)) or plain(title(notebook))


def goals(notebook: NotebookNode) -> list[str]:
    """The items of the list below `**What you will learn**`."""
    return _items(_after(notebook, GOALS))


def open_questions(notebook: NotebookNode) -> list[str]:
    """The items of the section of this name."""
    texts = (part for cell in notebook.cells if cell.cell_type == "markdown" for part in sections(cell.source))
    return [item for part in texts if part.startswith(OPEN) for item in _items(part)]


def with_names(notebook: NotebookNode) -> NotebookNode:
    """A copy that stands outside of the book: its Markdown names studies instead of citing them."""
    named = copy.deepcopy(notebook)
    for cell in named.cells:
        if cell.cell_type == "markdown":
            cell.source = CITATION.sub(_named, cell.source)
    return named


def plain(text: str) -> str:
    """Markdown that stands outside of the book: one line, studies by name, links as their text."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", CITATION.sub(_named, text))
    return " ".join(text.split())


def _named(citation: re.Match[str]) -> str:
    known = load_references()
    keys = [key.strip() for key in citation[2].split(",")]
    names = "; ".join(short_name(known[key]) if key in known else key for key in keys)
    return names if citation[1] == ":t" else f"({names})"


def _after(notebook: NotebookNode, mark: str) -> str:
    """The paragraph or list that a mark in bold begins; empty without one."""
    found = (cell.source.partition(mark)[2] for cell in notebook.cells if cell.cell_type == "markdown")
    return next(filter(None, found), "").strip().partition("\n\n")[0]


def _items(text: str) -> list[str]:
    return [plain(item) for item in ITEM.findall(text)]
