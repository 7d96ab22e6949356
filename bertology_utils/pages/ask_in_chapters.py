"""Panels of *Ask BERT* inside chapters, each below the test of a claim, as `book/ask_in_chapters.yaml` says.

Depends on `ask` for the panels and their first answers.
"""

from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from bertology_utils.errors import BertologyError, first_fault
from bertology_utils.files import read_yaml
from bertology_utils.pages import ask
from bertology_utils.templates import render

PATH = Path("book") / "ask_in_chapters.yaml"


class ChapterPanel(BaseModel):
    """A panel with a question of its own, below the test of a claim."""

    model_config = ConfigDict(extra="forbid", strict=True)
    after: str
    panel: str
    lead: str
    question: dict[str, str]

    @model_validator(mode="after")
    def _is_a_question(self) -> Self:
        if self.panel not in ask.QUESTIONS:
            raise ValueError(f"unknown panel {self.panel!r}; known: {', '.join(ask.QUESTIONS)}")
        if set(self.question) != set(wanted := ask.QUESTIONS[self.panel]):
            raise ValueError(f"the panel {self.panel!r} asks for {', '.join(wanted)}")
        return self


PANELS_OF = TypeAdapter(dict[str, ChapterPanel])


def chapter_panels(root: Path) -> dict[str, ChapterPanel]:
    """The panels that chapters have, by chapter; none without their file.

    Raises BertologyError: the file is no YAML or names no such panel or question; the line says which.
    """
    try:
        return PANELS_OF.validate_python(read_yaml(root / PATH)) if (root / PATH).is_file() else {}
    except ValidationError as error:
        raise BertologyError(f"{PATH.name}: {': '.join(first_fault(error))}.") from None


def chapter_part(chapter: str, root: Path, *_: object) -> str:
    """The panel of a chapter; empty where it has none."""
    own = chapter_panels(root).get(chapter)
    return ask.ask_part("notice", root) + ask.panel(own.panel, root, own.question) if own else ""


def with_panel(notebook: dict[str, Any], chapter: str, root: Path) -> dict[str, Any]:
    """The notebook with the chapter's panel below the cell that tests its claim.

    Raises BertologyError: the chapter tests no such claim.
    """
    if own := chapter_panels(root).get(chapter):
        cells, tested = notebook["cells"], f'chapter.test("{own.after}"'
        place = next((i for i, cell in enumerate(cells) if tested in "".join(cell["source"])), None)
        if place is None:
            raise BertologyError(f"{PATH.name}: the chapter {chapter} tests no claim {own.after!r}.")
        source = render("ask_in_chapter.md", lead=own.lead, chapter=chapter)
        cells.insert(place + 1, {"cell_type": "markdown", "id": "chapter-panel", "metadata": {}, "source": source})
    return notebook
