"""Tiny projects for the tests of runner, freshness and command line: notebooks of trivial cells, no torch."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from bertology_utils.running.checking import keep

PARAMETERS = 'MODEL = "pocket-bert"\nPROFILE = "live"\nSEED = 0\nRECORD = None'
WRITE_RECORD = 'import json, pathlib\npathlib.Path(RECORD).write_text(json.dumps({"results": [{"id": MODEL}]}))'


def make_project(root: Path) -> Path:
    """A book's folder with one embedded model that is never loaded."""
    (root / "notebooks").mkdir()
    (root / "_toc.yml").write_text("format: jb-book\n")
    (root / "requirements.txt").write_text("papermill\n")
    model = root / "models" / "pocket-bert"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_text("weights")
    return root


def already_checked(root: Path) -> Path:
    """The same, whose model a run does not check any more."""
    keep(root, "pocket-bert", [])
    return root


def add_notebook(root: Path, chapter: str, *cells: str) -> Path:
    parameters = new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})
    path = root / "notebooks" / f"{chapter}.ipynb"
    nbformat.write(new_notebook(cells=[parameters, *map(new_code_cell, cells)]), path)
    return path
