"""Whoever adds something as CONTRIBUTING.md shows it has added it: its blocks are applied to a copy of the project."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WAYS = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##)", TEXT[TEXT.index("## Ways in") :], flags=re.DOTALL | re.MULTILINE))
MOST_LINES = 60  # of all that a way in shows; none of its parts has more than 40


def blocks(way: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```", WAYS[way], flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project without what a run leaves; models are linked, except for what is added."""
    root = tmp_path_factory.mktemp("project")
    for name in ("bertology_utils", "notebooks", "tests", "results"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "runs", "node_modules"))
    for name in ("_toc.yml", "_config.yml", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    (root / "models").mkdir()
    for model in (ROOT / "models").iterdir():
        (root / "models" / model.name).symlink_to(model)
    return root


def shell(root: Path, command: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(root), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment["OMP_NUM_THREADS"] = "1"
    command = command.replace("bertology ", f"{sys.executable} -m bertology_utils ")
    done = subprocess.run(
        ["bash", "-e", "-c", command], cwd=root, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def follow(root: Path, kind: str, block: str) -> str:
    """Does what the first line of a block says with the rest of it; a shell block is run."""
    if kind == "shell":
        return shell(root, block)
    what, _, rest = block.partition("\n")
    if what == "# run":
        return shell(root, f"python - <<'END'\n{rest}\nEND")
    if found := re.fullmatch(r"# new file (\S+)", what):
        (root / found[1]).parent.mkdir(parents=True, exist_ok=True)
        (root / found[1]).write_text(rest, encoding="utf-8")
    elif found := re.fullmatch(r"# append to (\S+)", what):
        path = root / found[1]
        path.write_text(f"{path.read_text(encoding='utf-8').rstrip()}\n\n\n{rest}", encoding="utf-8")
    elif found := re.fullmatch(r"# below `(.+)` in (\S+)", what):
        path = root / found[2]
        before, line, after = path.read_text(encoding="utf-8").partition(found[1] + "\n")
        assert line, f"{found[2]} has no line '{found[1]}'"
        path.write_text(before + line + rest + after, encoding="utf-8")
    elif found := re.fullmatch(r"# cell of (\S+)", what):
        notebook = nbformat.read(root / found[1], as_version=4)
        notebook.cells.insert(-1, nbformat.v4.new_code_cell(rest))
        nbformat.write(notebook, root / found[1])
    else:
        raise AssertionError(f"CONTRIBUTING.md shows a block without a place: {what}")
    return ""


@pytest.mark.parametrize("way", WAYS)
def test_a_way_in_is_short(way):
    lines = [block.count("\n") for _, block in blocks(way)]
    assert max(lines) <= 40 and sum(lines) <= MOST_LINES


def test_what_is_added_as_shown_is_there(project):
    """All ways in, in their order, on one copy: the claim uses the instrument, the specimen runs the claim."""
    said = {way: "".join(follow(project, *block) for block in blocks(way)) for way in WAYS}
    results = {
        path.parts[-3]: json.loads(path.read_text(encoding="utf-8"))["results"]
        for path in project.glob("_executed/smoke/*/claims/*.json")
    }
    assert {r["id"] for found in results.values() for r in found} == {"forwards-before-backwards"}
    assert set(results) == {"pocket-bert", "my-bert"}
    assert "forwards-before-backwards" in said["A claim"] and "public domain" in said["A data set"]
    assert "my-bert" in said["A specimen"] and "[100%]" in said["A compression method"]
    assert "wider, 2 seeds" in said["An experiment of tiny models"]
    assert (project / "_executed/smoke/pocket-bert/sayings.json").is_file()
    tested = [sys.executable, "-m", "pytest", "-q", "tests/instruments/test_reversal.py"]
    tested += [f"tests/verdicts/test_{name}.py" for name in ("ledger", "sealed")]
    environment = os.environ | {"PYTHONPATH": str(project)}
    done = subprocess.run(tested, cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
