"""Builds the static book from executed chapters. Depends on project, freshness, ledger and jupyter-book's command.

Nothing is executed here: a chapter that is missing or stale is refused, the fresh records become `ledger.json` and
`ledger.csv`, and the book is built with warnings as errors. The Sphinx extension `page` takes both from `_executed/`.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from bertology_utils.errors import BertologyError
from bertology_utils.files import locked, read_json, write_json
from bertology_utils.pages.icons import keep_used_icons
from bertology_utils.project import Job, plan
from bertology_utils.running.freshness import digest, file_hash, state
from bertology_utils.verdicts.recorded import recorded_paths

NOT_SOURCES = {"_build", "_executed", "models", "tests", "node_modules", "__pycache__"}
PAGE_SUFFIXES = {".ipynb", ".json"}
LARGEST_SOURCE = 20_000_000  # bytes; nothing that a page shows is larger
SHOWN_WARNINGS = 20
STAMP = Path("_build") / "bertology.json"
AXES = "axes.json"  # what the records say on the axes of conflicts, beside the ledger
COMMAND = [sys.executable, "-c", "import sys; from jupyter_book.cli.main import main; sys.exit(main())"]


def record_paths(root: Path) -> list[Path]:
    """The records that the ledger may show: of every model and profile except `smoke`, and only while fresh."""
    return [path for path in sorted((root / "_executed").glob("*/*/*.json")) if is_shown(root, path)]


def all_results(root: Path) -> list[dict]:
    """Every claim with its results, of fresh runs here and of the records kept in the repository."""
    from bertology_utils.verdicts.ledger import collect_records

    return collect_records(record_paths(root), recorded_paths(root))


def is_shown(root: Path, path: Path) -> bool:
    """Whether a record is of a real profile and still says what its sources would say."""
    record = read_json(path)
    run = record.get("run", {}) if isinstance(record, dict) else {}
    if run.get("profile") in (None, "smoke"):
        return False
    job = Job(root, run["chapter"], run["model"], run["profile"], run["seed"])
    return job.source.is_file() and state(job).fresh


def require_fresh(jobs: Iterable[Job]) -> None:
    """Raise `BertologyError` with the reasons where a chapter is missing or stale."""
    states = {job: state(job) for job in jobs}
    faults = [f"{job.chapter} is {found.status} ({found.reason})" for job, found in states.items() if not found.fresh]
    if faults:
        more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise BertologyError(f"The book is not ready: {'; '.join(faults[:3])}{more}.\nRun `bertology run` first.")


def source_files(root: Path) -> list[Path]:
    """Everything that a page can show: files outside caches and hidden folders, and the executed chapters."""
    found = [path for path in root.iterdir() if path.is_file() and not path.name.startswith(".")]
    for folder in root.iterdir():
        hidden = folder.name.startswith(".") or folder.name.endswith(".egg-info") or (folder / "pyvenv.cfg").exists()
        if folder.is_dir() and folder.name not in NOT_SOURCES and not hidden:
            found += [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    found += [path for path in (root / "_executed").rglob("*") if path.suffix in PAGE_SUFFIXES]
    return sorted(path for path in found if path.stat().st_size <= LARGEST_SOURCE)


def sources(root: Path) -> dict[str, str]:
    """What the stamp of a good build says: the hash of everything that a page can show."""
    return {"hash": digest({str(path.relative_to(root)): file_hash(path) for path in source_files(root)})}


def is_built(root: Path) -> bool:
    """Whether the pages that are there are those of the sources as they are now."""
    return read_json(root / STAMP) == sources(root) and (root / "_build" / "html" / "index.html").is_file()


def jupyter_book(root: Path) -> None:
    """Run jupyter-book without network and with warnings as errors; its log is kept under `_build/`, its warnings are
    shown on failure."""
    command = [*COMMAND, "build", ".", "-W", "-n", "--keep-going", "--all"]
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": path, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    result = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, errors="replace")
    text = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout + result.stderr)
    log = root / "_build" / "build.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(text, encoding="utf-8")
    if result.returncode == 0:
        return keep_used_icons(root / "_build" / "html")
    lines = [line.replace(f"{root}{os.sep}", "") for line in text.splitlines()]
    warnings = [line for line in lines if re.search(r"\b(WARNING|ERROR|CRITICAL)\b|[Ee]xception|Error:", line)]
    shown = list(dict.fromkeys(warnings))[:SHOWN_WARNINGS] or lines[-3:]
    raise BertologyError("\n".join([*shown, f"The build failed; its log is in {log.relative_to(root)}."]))


def build(root: Path, force: bool = False) -> bool:
    """Build the book into `_build/html`; returns False where nothing had changed since the last good build.

    Raises `BertologyError` where a chapter is missing or stale, where the build warns, or where another one runs.
    """
    with locked(root / "_build" / ".lock", "Another `bertology build` is building this book; wait for it to end."):
        return _build(root, force)


def _build(root: Path, force: bool) -> bool:
    from bertology_utils.verdicts.conflicts import read_settled
    from bertology_utils.verdicts.ledger import write_ledger

    require_fresh(plan(root))
    results = all_results(root)
    write_ledger(results, root / "_executed")
    write_json(root / "_executed" / AXES, read_settled([*record_paths(root), *recorded_paths(root)]))
    stamp = root / STAMP
    if not force and is_built(root):
        return False
    current = sources(root)
    stamp.unlink(missing_ok=True)
    jupyter_book(root)
    write_ledger(results, root / "_build" / "html" / "book")  # beside the page, for scripts
    write_json(stamp, current)
    return True
