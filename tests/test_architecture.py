"""The package's parts know only what is to their left in `ORDER`: imports go one way. All code has one style."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from bertology_utils.project import CHAPTERS

PACKAGE = Path(__file__).parents[1] / "bertology_utils"
FOUNDATIONS = (
    "errors",
    "absent",
    "files",
    "bibliography",
    "samples",
    "variances",
    "estimation",
    "statistics",
    "templates",
    "provenance",
    "by_seed",
    "project",
    "families",
    "rows",
    "anatomy",
    "tokenizing",
    "weights",
    "models",
    "text",
    "activations",
)
ORDER = (
    *FOUNDATIONS,
    "figures",
    "language",
    "data",
    "pretraining",
    "instruments",
    "tuning",
    "compression",
    "verdicts",
    "runs",
    "recorded_arms",
    "studies",
    "chapter",
    "running",
    "pages",
    "bench",
    "cli",
    "__main__",
)


def name_of(path: Path) -> str:
    """The dotted name of a module's file; a package is its `__init__`."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """`bertology_utils.data.rows` belongs to `data`."""
    return module.split(".")[1]


def modules_imported(path: Path) -> set[str]:
    """Dotted modules of the package that a file imports when it runs; imports for type checkers do not count."""
    here = ("bertology_utils", *path.relative_to(PACKAGE).parts[:-1])
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checked = {id(inner) for node in ast.walk(tree) if is_type_checking(node) for inner in ast.walk(node)}
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in checked:
            continue
        above = here[: len(here) - node.level + 1] if node.level else ()
        base = ".".join([*above, *filter(None, [node.module])])
        if base == "bertology_utils":
            found |= {f"{base}.{alias.name}" for alias in node.names if not alias.name.startswith("__version")}
        elif base.startswith("bertology_utils."):
            found.add(base)
    return found


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def test_every_part_has_its_place():
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert modules | {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ORDER)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_part_knows_only_what_is_to_its_left(path):
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    right = [m for m in modules_imported(path) if own != "__init__" and ORDER.index(part_of(m)) > ORDER.index(own)]
    assert not right


def test_no_modules_import_each_other_in_a_circle():
    graph = {name_of(path): modules_imported(path) for path in PACKAGE.rglob("*.py")}
    graph = {name: {m for m in found if m in graph and m != name} for name, found in graph.items()}
    assert list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("room", sorted(path.parent for path in PACKAGE.glob("studies/*/__init__.py")), ids=str)
def test_a_room_knows_no_other_room(room):
    """What several chapters use lies outside of `studies`."""
    found = {module for path in room.glob("*.py") for module in modules_imported(path)}
    others = [m for m in found if m.startswith("bertology_utils.studies.") and m.split(".")[2] != room.name]
    assert others == []


def test_every_chapter_has_its_room_and_tests_lie_as_the_package_does():
    assert {path.parent.name for path in PACKAGE.glob("studies/*/claims.yaml")} == set(CHAPTERS)
    tests = PACKAGE.parent / "tests"
    folders = {path.parent.relative_to(tests).as_posix() for path in tests.rglob("test_*.py")} - {".", "book"}
    assert [folder for folder in sorted(folders) if not (PACKAGE / folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("command", [("check",), ("format", "--check")], ids=" ".join)
def test_ruff_finds_nothing(command):
    found = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "--no-cache", "."], cwd=PACKAGE.parent, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout
