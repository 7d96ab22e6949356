"""How an executed chapter is laid out on its page: the answer first, and telling without code. Depends on nothing.

The notebook in the repository keeps all of its code; only the copy that the page is made of changes.
"""

from __future__ import annotations

import ast
from typing import Any

CHAPTER = "chapter"
TELLING = {"say", "test", "settle", "conclude", "not_testable", "close"}
ANSWER = '<section class="chapter-answer"'
HIDDEN = "remove-input"
PARAMETERS = {"parameters", "injected-parameters"}  # the page ends with a line that says them


def laid_out(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with its answer below its title, and without the code of cells that only tell or judge."""
    cells = notebook["cells"]
    for cell in cells:
        tags = cell["metadata"].setdefault("tags", [])
        if cell["cell_type"] == "code" and (PARAMETERS & set(tags) or only_tells("".join(cell["source"]))):
            tags.append(HIDDEN)
    answers = [output for cell in cells for output in _taken_out(cell)]
    if answers:
        place = next((i for i, cell in enumerate(cells) if cell["cell_type"] == "markdown"), 0) + 1
        cells.insert(place, _cell_of(answers))
    return notebook


def only_tells(source: str) -> bool:
    """Whether a cell does nothing but call what tells and judges: `chapter.say`, `chapter.test` and their like, and
    import what these are told."""
    try:
        statements = [node for node in ast.parse(source).body if not isinstance(node, ast.ImportFrom)]
    except SyntaxError:  # a magic command
        return False
    return bool(statements) and all(_tells(statement) for statement in statements)


def _tells(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            return name == CHAPTER and method in TELLING
    return False


def _taken_out(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs of a cell that are the chapter's answer, which it loses."""
    outputs = cell.get("outputs", [])
    found = [output for output in outputs if ANSWER in "".join(output.get("data", {}).get("text/html", ""))]
    cell.update({"outputs": [output for output in outputs if output not in found]} if found else {})
    return found


def _cell_of(outputs: list[dict[str, Any]]) -> dict[str, Any]:
    source = "# what this chapter finds"  # a cell without code would be left out, with its outputs
    cell = {"cell_type": "code", "execution_count": None, "id": "chapter-answer", "outputs": outputs, "source": source}
    return cell | {"metadata": {"tags": [HIDDEN]}}
