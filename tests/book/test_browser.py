"""The built book in a headless browser; skipped, with the reason, where something it needs is missing.

`npm install` in `tests/book/browser` brings the packages (puppeteer-core, axe-core and a screen reader) into a
git-ignored folder.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
FOLDER = Path(os.environ.get("BROWSER_MODULES", Path(__file__).parent / "browser"))
HEAVY = 1_500_000  # bytes
ENGINES = {
    "chrome": ("chromium", "chromium-browser", "google-chrome"),
    "firefox": ("firefox-esr", "firefox"),
}


def executable(engine: str) -> str | None:
    """The path of the first program of this engine that is installed, None without one."""
    return next(filter(None, map(shutil.which, ENGINES[engine])), None)


def missing(engine: str) -> str | None:
    """What a check in this engine lacks, None where it can run."""
    if shutil.which("node") is None:
        return "node is not installed"
    if executable(engine) is None:
        return f"no {ENGINES[engine][0]} is installed"
    if not (FOLDER / "node_modules" / "puppeteer-core").is_dir():
        return "run `npm install` in tests/book/browser first"
    return None if (HTML / "book" / "ledger.html").is_file() else "the book is not built: run `make book` first"


def checked(script: str, folder: Path, engine: str) -> dict:
    """What a script of `tests/book/browser` prints of the built book, with a folder that it needs."""
    command = ["node", str(ROOT / "tests/book/browser" / script), str(HTML), str(folder), engine, executable(engine)]
    environment = os.environ | {"BROWSER_MODULES": str(FOLDER)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def report() -> dict:
    if reason := missing("chrome"):
        pytest.skip(reason)
    return checked("check.mjs", ROOT / "_build/screenshots", "chrome")


def test_no_page_is_heavy():
    if not HTML.is_dir():
        pytest.skip("the book is not built: run `make book` first")
    heavy = {path.name: path.stat().st_size for path in HTML.rglob("*.html") if path.stat().st_size > HEAVY}
    assert heavy == {}


def test_every_page_was_opened(report):
    built = [path for folder in ("book", "notebooks") for path in (HTML / folder).rglob("*.html")]
    assert report["pages"] == len(built)


KINDS = (
    "outside",
    "console",
    "failed",
    "axe",
    "fragments",
    "sideways",
    "paper",
    "ledger",
    "explorers",
    "folds",
    "tables",
    "slides",
    "file",
)


@pytest.mark.parametrize("kind", KINDS)
def test_no_problem_of_this_kind(report, kind):
    assert report["problems"][kind] == []
