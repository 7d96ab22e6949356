"""The built book in a headless browser; skipped, with the reason, where something it needs is missing.

`npm install` in `tests/book/browser` brings the packages (playwright-core and axe-core) into a git-ignored folder.
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
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str | None:
    """What the check lacks, None where it can run."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not any(map(shutil.which, BROWSERS)):
        return "no chromium is installed"
    if not (FOLDER / "node_modules" / "playwright-core").is_dir():
        return "run `npm install` in tests/book/browser first"
    return None if (HTML / "book" / "ledger.html").is_file() else "the book is not built: run `make book` first"


@pytest.fixture(scope="module")
def report() -> dict:
    reason = missing()
    if reason:
        pytest.skip(reason)
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    command = ["node", str(ROOT / "tests/book/browser/check.mjs"), str(HTML), str(ROOT / "_build/screenshots"), browser]
    environment = os.environ | {"BROWSER_MODULES": str(FOLDER)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_every_page_was_opened(report):
    built = [path for folder in ("book", "notebooks") for path in (HTML / folder).glob("*.html")]
    assert report["pages"] == len(built)


KINDS = (
    "outside",
    "console",
    "failed",
    "axe",
    "fragments",
    "sideways",
    "ledger",
    "explorers",
    "folds",
    "tables",
    "file",
)


@pytest.mark.parametrize("kind", KINDS)
def test_no_problem_of_this_kind(report, kind):
    assert report["problems"][kind] == []
