"""Five questions a chapter, with every option explained, as a section before its exercises.

Questions are data of the book (`book/quizzes/<chapter>.yaml`), read when a page is made. The page needs no script:
radio buttons, a box to tick, and style sheets do it. Depends on files and templates.
"""

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, model_validator

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_yaml
from bertology_utils.templates import render

FOLDER = Path("book") / "quizzes"
EXERCISES = re.compile(r"^## Exercises\b")
LEAST = 5
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Option(BaseModel):
    """One answer, whether it is the right one, and why it is or is not."""

    model_config = ConfigDict(extra="forbid", strict=True)
    text: Text
    why: Text
    right: bool = False


class Question(BaseModel):
    """A question with three or four options, of which one is right."""

    model_config = ConfigDict(extra="forbid", strict=True)
    question: Text
    options: Annotated[list[Option], Field(min_length=3, max_length=4)]

    @model_validator(mode="after")
    def _one_is_right(self) -> "Question":
        if (right := sum(option.right for option in self.options)) != 1:
            raise ValueError(f"one option must be right, not {right}")
        return self


QUIZ = TypeAdapter(Annotated[list[Question], Field(min_length=LEAST)])


def read_quiz(path: Path) -> list[Question]:
    """The questions of a file.

    Raises BertologyError: the file is missing or no YAML, or not five questions or more of the form above; the line
    says which.
    """
    try:
        return QUIZ.validate_python(read_yaml(path))
    except ValidationError as error:
        first = error.errors()[0]
        place = " ".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
        where = f"question {place}: " if place else ""
        raise BertologyError(f"{path.name}: {where}{first['msg'].removeprefix('Value error, ')}.") from None


def with_quiz(notebook: dict[str, Any], path: Path) -> dict[str, Any]:
    """The notebook with the questions of a file before its exercises, or at its end; as it is without such a file."""
    if path.is_file():
        cells = notebook["cells"]
        texts = ["".join(cell["source"]) if cell["cell_type"] == "markdown" else "" for cell in cells]
        place = next((i for i, text in enumerate(texts) if EXERCISES.match(text)), len(cells))
        source = render("quiz.md", questions=read_quiz(path))
        cells.insert(place, {"cell_type": "markdown", "id": "chapter-quiz", "metadata": {}, "source": source})
    return notebook
