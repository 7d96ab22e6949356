"""Decides whether an executed chapter still says what its sources would say. Depends on project only.

A chapter is fresh when the hash of everything that can change its output is unchanged: the notebook's cells, the
parameters, the package files that it can reach by import, the package's data files, the model files, the identity of
the data, and the pinned requirements. Modification times are never looked at, except for the user's own data folder,
whose files may be too large to read.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from modulefinder import ModuleFinder
from pathlib import Path

from bertology_utils.errors import BertologyError
from bertology_utils.files import digest, read_json
from bertology_utils.project import (
    CHAPTERS,
    FOLDER_VARIABLE,
    ORDER_VARIABLE,
    Job,
    embedded_models,
    hub_folder,
    model_folder,
)

PACKAGE = "bertology_utils"
DATA_SUFFIXES = {".bib", ".yaml", ".yml", ".csv", ".json", ".txt", ".css", ".js", ".html"}
OF_A_ROOM = ("claims.yaml", "themes.yaml")  # what no other chapter reads
DATA_VARIABLES = (FOLDER_VARIABLE, ORDER_VARIABLE)
NOT_THE_MODEL = {".md", ".part", ".log"}


@dataclass(frozen=True)
class State:
    """Whether a job is `fresh`, `stale` or `missing`, and why."""

    status: str
    reason: str = ""

    @property
    def fresh(self) -> bool:
        return self.status == "fresh"


@lru_cache(maxsize=4096)
def _file_hash(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_hash(path: Path) -> str:
    """sha256 of a file; read once a process for as long as size and time stay the same."""
    status = path.stat()
    return _file_hash(path, status.st_size, status.st_mtime_ns)


def notebook_cells(path: Path) -> list[dict]:
    """What of a notebook decides its output: type, source and tags of the cells, not stored outputs or counters.

    Raises `BertologyError` where the file is no notebook.
    """
    try:
        return [
            {
                "type": cell["cell_type"],
                "source": "".join(cell["source"]),
                "tags": sorted(cell.get("metadata", {}).get("tags", [])),
            }
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BertologyError(f"{path.parent.name}/{path.name} is not a notebook that can be read.") from None


def notebook_code(cells: list[dict]) -> str:
    """The notebook's Python as one module; lines of shell and magic commands are left out."""
    lines = "\n".join(cell["source"] for cell in cells if cell["type"] == "code").splitlines()
    return "\n".join("pass" if re.match(r"[%!]", line) else line for line in lines)


def reachable_files(root: Path, code: str) -> list[Path]:
    """Package files reachable by import from `code`, transitively, sorted; other packages are not followed."""
    listing = ((path, path.stat().st_mtime_ns) for path in sorted((root / PACKAGE).rglob("*.py")))
    return list(_reachable_files(root, code, tuple(listing)))


@lru_cache(maxsize=64)
def _reachable_files(root: Path, code: str, listing: tuple[tuple[Path, int], ...]) -> tuple[Path, ...]:
    """The same, found once a process for as long as no file of the package changes."""
    finder = ModuleFinder(path=[str(root)])
    finder.scan_code(compile(code, "notebook", "exec"), finder.add_module("notebook"))
    files = (Path(module.__file__) for module in finder.modules.values() if module.__file__)
    return tuple(sorted(path for path in files if path.is_relative_to(root / PACKAGE)))


def package_data(root: Path, chapter: str) -> list[Path]:
    """The package's data files, without the claims and themes of other chapters and what pages alone are made of."""
    others = set(CHAPTERS) - {chapter}
    files = [path for path in (root / PACKAGE).rglob("*") if path.suffix in DATA_SUFFIXES and path.is_file()]
    used = (path for path in files if "pages" not in path.relative_to(root).parts)
    return sorted(path for path in used if not (path.name in OF_A_ROOM and path.parent.name in others))


def model_hashes(root: Path, model: str) -> dict[str, str]:
    """Hash of each file of a model; the revision from the local cache for a model of the hub, empty if not there."""
    folder = model_folder(root, model)
    if folder is not None:
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in NOT_THE_MODEL]
        return {str(path.relative_to(folder)): file_hash(path) for path in files if path.name != "checksums.json"}
    revision = hub_folder(model) / "refs" / "main"
    return {"revision": revision.read_text().strip()} if revision.is_file() else {}


def models_of(job: Job, cells: list[dict], files: list[Path]) -> list[str]:
    """The job's model and the embedded models that its notebook or its instruments name.

    The registry itself (`models.py`) names every model and so says nothing about what a chapter uses. A chapter that
    looks through the families reads any of them.
    """
    if any(path.name == "families.py" for path in files):
        return sorted({job.model, *embedded_models(job.root)})
    texts = [cell["source"] for cell in cells]
    texts += [path.read_text(encoding="utf-8") for path in files if path.name != "models.py"]
    named = [name for name in embedded_models(job.root) if any(name in text for text in texts)]
    return sorted({job.model, *named})


def data_identity(profile: str) -> dict[str, object]:
    """The user's data settings, and name, size and time of each file of the data folder.

    Nothing where they decide nothing: all but `full` read the embedded sets, unless another source comes first.
    """
    settings = {name: os.environ[name] for name in DATA_VARIABLES if os.environ.get(name)}
    if not settings or (profile != "full" and ORDER_VARIABLE not in settings):
        return {}
    folder = Path(settings.get(FOLDER_VARIABLE, ""))
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if settings.get(FOLDER_VARIABLE) else []
    listing = [(str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return {"settings": settings, "files": digest(listing)}


def recorded_results(root: Path, cells: list[dict], files: list[Path]) -> list[Path]:
    """Data files in `results/` that the notebook or the package files it reaches name.

    Recorded runs below it are left out, the build alone reads them.
    """
    found = [path for path in (root / "results").glob("*") if path.suffix in DATA_SUFFIXES]
    texts = [cell["source"] for cell in cells] + [path.read_text(encoding="utf-8") for path in files]
    return sorted(path for path in found if any(path.name in text for text in texts))


def fingerprint(job: Job) -> dict[str, object]:
    """Everything that decides a chapter's output, by kind, plus `hash` over the whole."""
    cells = notebook_cells(job.source)
    try:
        files = reachable_files(job.root, notebook_code(cells))
    except SyntaxError:  # the run itself will name the faulty cell; until then every package file counts
        files = sorted((job.root / PACKAGE).rglob("*.py"))
    package = [*files, *package_data(job.root, job.chapter), *recorded_results(job.root, cells, files)]
    requirements = job.root / "requirements.txt"
    parts: dict[str, object] = {
        "notebook": digest(cells),
        "parameters": {"MODEL": job.model, "PROFILE": job.profile, "SEED": job.seed},
        "files": {str(path.relative_to(job.root)): file_hash(path) for path in package},
        "models": {name: model_hashes(job.root, name) for name in models_of(job, cells, files)},
        "data": data_identity(job.profile),
        "requirements": file_hash(requirements) if requirements.is_file() else "",
    }
    return {"hash": digest(parts), **parts}


def complete(old: dict[str, object], root: Path) -> dict[str, object]:
    """The fingerprint with the models that were not here when the run began and that the run has fetched."""
    models = {name: hashes or model_hashes(root, name) for name, hashes in old["models"].items()}
    parts = {name: part for name, part in old.items() if name != "hash"} | {"models": models}
    return {"hash": digest(parts), **parts}


def difference(old: dict, new: dict) -> str:
    """Which parts of two fingerprints differ, in a few words."""
    names = []
    for part in ("notebook", "parameters", "files", "models", "data", "requirements"):
        before, after = old.get(part), new.get(part)
        if before == after:
            continue
        if part in ("files", "models") and isinstance(before, dict):
            names += [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
        else:
            names.append(part)
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{shown} changed" if names else "its record is of another version"


def state(job: Job) -> State:
    """Compare a job's executed notebook and record with its sources as they are now."""
    record = read_json(job.record)
    if not job.notebook.is_file() or not isinstance(record, dict):
        return State("missing", "never executed" if not job.notebook.is_file() else "its record is missing")
    run = record.get("run", {})
    metadata = (read_json(job.notebook) or {}).get("metadata", {}).get("bertology", {})
    if metadata.get("when") != run.get("when"):  # the process ended between the two moves
        return State("stale", "notebook and record are of two runs")
    old, new = run.get("freshness", {}), fingerprint(job)
    return State("fresh") if old.get("hash") == new["hash"] else State("stale", difference(old, new))
