"""Built chapters as PDF, printed by a browser that is there: Chromium or Chrome without a window.

Depends on the built book alone.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bertology_utils.errors import BertologyError

HTML = Path("_build") / "html" / "notebooks"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 120  # for a page


def browser() -> str:
    """The first browser found. Raises BertologyError where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise BertologyError(
            "No Chromium or Chrome is here to print with.\nInstall one, or print the page from any browser."
        )
    return found


def print_chapters(root: Path, chapters: Sequence[str], out: Path) -> Iterator[Path]:
    """Prints each chapter's page into `out/<chapter>.pdf`; a file is whole or not there.

    Raises BertologyError: a chapter is not built, there is no browser, or it fails.
    """
    pages = {chapter: root / HTML / f"{chapter}.html" for chapter in chapters}
    if missing := [chapter for chapter, page in pages.items() if not page.is_file()]:
        raise BertologyError(f"There is no page of {', '.join(missing)}: `bertology build` makes the book.")
    program = browser()
    out.mkdir(parents=True, exist_ok=True)
    for chapter, page in pages.items():
        yield _print(program, page, out / f"{chapter}.pdf")


def _print(program: str, page: Path, target: Path) -> Path:
    flags = ["--headless", "--disable-gpu", "--no-pdf-header-footer", "--virtual-time-budget=10000"]
    flags += ["--no-sandbox"] * (os.geteuid() == 0)  # which Chromium asks of root
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / "page.pdf"
        flags += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}"]
        try:
            subprocess.run([program, *flags, page.resolve().as_uri()], capture_output=True, timeout=SECONDS, check=True)
        except (subprocess.SubprocessError, OSError) as error:
            raise BertologyError(f"{Path(program).name} did not print {page.name}: {error}.") from None
        if not made.is_file():
            raise BertologyError(f"{Path(program).name} printed nothing of {page.name}.")
        made.replace(target)
    return target
