"""What an executed chapter becomes on its page: the answer first, telling without code, recorded results on its cards,
figures as light as the eye allows.

The notebook in the repository keeps all of its code; only the copy that the page is made of changes. Depends on
`contents` for the recorded results.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bertology_utils.pages.contents import Row, verdict_of
from bertology_utils.templates import render

CHAPTER = "chapter"
TELLING = {"say", "test", "settle", "conclude", "not_testable", "close"}
ANSWER = '<section class="chapter-answer"'
CARD = re.compile(r'<section class="verdict-card [^>]*id="claim-([^"]+)"')
FOOT = '<p class="verdict-foot">'
HIDDEN = "remove-input"
DRAWN = re.compile(r' d="[^"]*"')
TOO_FINE = re.compile(r"(\.\d\d)\d+")
CIRCLE = re.compile(r"M [-\d. ]+\n(?:C [-\d. ]+\n){8}z")  # as matplotlib draws one; a hatching of dots has thousands
PARAMETERS = {"parameters", "injected-parameters"}  # the page ends with a line that says them
Notebook = dict[str, Any]


def as_page(notebook: Notebook, rows: Mapping[str, Row]) -> Notebook:
    """The executed notebook as its page shows it."""
    return lightened(stamped(laid_out(with_recorded(notebook, rows))))


def laid_out(notebook: Notebook) -> Notebook:
    """The notebook with its answer below its title, and without the code of cells that only tell or judge."""
    cells = notebook["cells"]
    for cell in cells:
        tags = cell["metadata"].setdefault("tags", [])
        if cell["cell_type"] == "code" and (PARAMETERS & set(tags) or only_tells("".join(cell["source"]))):
            tags.append(HIDDEN)
    answers = [output for cell in cells for output in _taken_out(cell)]
    if answers:
        place = next((i for i, cell in enumerate(cells) if cell["cell_type"] == "markdown"), 0) + 1
        source = "# what this chapter finds"  # a cell without code would be left out, with its outputs
        cell = {"cell_type": "code", "execution_count": None, "id": "chapter-answer", "outputs": answers}
        cells.insert(place, cell | {"source": source, "metadata": {"tags": [HIDDEN]}})
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
    found = [output for output in outputs if ANSWER in _html(output)]
    cell.update({"outputs": [output for output in outputs if output not in found]} if found else {})
    return found


def _html(output: Mapping[str, Any]) -> str:
    return "".join(output.get("data", {}).get("text/html", ""))


def with_recorded(notebook: Notebook, rows: Mapping[str, Row]) -> Notebook:
    """The notebook with a link to the claim's own page on its verdict card, and with its recorded results above."""
    for output in (output for cell in notebook["cells"] for output in cell.get("outputs", [])):
        if card := CARD.search(_html(output)):
            kept = rows[card[1]].elsewhere
            own_page = render("claim_link.html", claim=card[1])
            foot = f"{recorded_line(kept) if kept else ''}{FOOT}{own_page} "
            output["data"]["text/html"] = _html(output).replace(FOOT, foot)
    return notebook


def recorded_line(results: Sequence[Mapping[str, Any]]) -> str:
    """What other runs in the repository say of a claim, as one line of its verdict card.

    The clause that decides may be another one in each run; its effect, above zero where it is there, is comparable.
    """
    return render("recorded.html", results=results, verdict_of=verdict_of)


def stamped(notebook: Notebook) -> Notebook:
    """The notebook with a line at its end that says when, on what and from which commit it was run, and with one below
    its introduction that says how long it takes to read, and took to run."""
    run = notebook.get("metadata", {}).get("bertology")
    prose = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    if run and prose:
        words = sum(len("".join(cell["source"]).split()) for cell in prose)
        minutes = render("minutes.md", words=words, seconds=run.get("seconds"))
        prose[0]["source"] = "".join(prose[0]["source"]) + f"\n\n{minutes}"
    if run:
        cell = {"cell_type": "markdown", "id": "run-stamp", "metadata": {}, "source": render("run_stamp.md", run=run)}
        notebook["cells"].append(cell)
    return notebook


def lightened(notebook: Notebook) -> Notebook:
    """The notebook with the paths of its drawings cut to hundredths of a point, and circles drawn as arcs."""
    for output in (output for cell in notebook["cells"] for output in cell.get("outputs", [])):
        if "<svg" in (html := _html(output)):
            output["data"]["text/html"] = DRAWN.sub(_lighter, html)
    return notebook


def _lighter(path: re.Match[str]) -> str:
    return TOO_FINE.sub(r"\1", CIRCLE.sub(_as_arc, path[0]))


def _as_arc(circle: re.Match[str]) -> str:
    """A circle that eight curves draw as one arc that nearly closes; what is none stays as it is."""
    x, y, *curves = map(float, re.findall(r"-?[\d.]+", circle[0]))
    opposite = curves[22:24]  # where the fourth curve ends
    if abs(opposite[0] - x) > 0.001:
        return circle[0]
    radius = abs(y - opposite[1]) / 2
    return f"M {x:g} {y:g}a{radius:g} {radius:g} 0 1 {y > opposite[1]:d} .01 0z"
