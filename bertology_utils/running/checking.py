"""A model's check, kept by the checksum of its weights beside the results: the first step of every run.

Depends on `freshness`; what is not kept yet is made by `instruments.error_budget`, which is imported only then.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from bertology_utils.errors import BertologyError
from bertology_utils.files import locked, read_json, write_json
from bertology_utils.project import model_slug
from bertology_utils.running.freshness import digest, file_hash, model_hashes, reachable_files

HOME = Path(__file__).parents[2]  # where the package lies, and the models that it loads by name
MAKER = "bertology_utils.instruments.error_budget"


def checked(root: Path, model: str, before: Callable[[], None] = lambda: None) -> list[dict[str, Any]]:
    """The check of a model, the fields of each `Part`; made anew where its files, the package or the pinned
    requirements changed.

    before: is called where it is made, before anything heavy is imported.

    Raises BertologyError where the model cannot be loaded.
    """
    kept, key = read_json(check_file(root, model)), _key(model)
    if key and isinstance(kept, dict) and kept.get("key") == key:
        return kept["parts"]
    before()
    from bertology_utils.instruments.error_budget import error_budget

    parts = [asdict(part) for part in error_budget(model)]
    keep(root, model, parts)
    return parts


def keep(root: Path, model: str, parts: list[dict[str, Any]]) -> None:
    """Stores what a check found; a later one of the same files is not made, one at the same time waits."""
    file = check_file(root, model)
    with locked(file.with_suffix(".lock")):
        write_json(file, {"key": _key(model), "parts": parts})


def check_file(root: Path, model: str) -> Path:
    """Where the check of a model is kept."""
    return root / "_executed" / "checks" / f"{model_slug(model)}.json"


def _key(model: str) -> str:
    """Empty for a model whose files are not known, which is checked every time."""
    hashes = model_hashes(HOME, model)
    return digest([model, hashes, _code()]) if hashes else ""


@cache
def _code() -> dict[str, str]:
    """Hashes of what makes a check."""
    files = [*reachable_files(HOME, f"import {MAKER}"), HOME / "requirements.txt"]
    return {str(path.relative_to(HOME)): file_hash(path) for path in files if path.is_file()}


def lacking(root: Path, models: Iterable[str], before: Callable[[], None] = lambda: None) -> list[str]:
    """A line for each thing that a model lacks, whose claims a run leaves out.

    Raises BertologyError for the first model that cannot be loaded or that fails a part.
    """
    lines = []
    for model in dict.fromkeys(models):
        for part in checked(root, model, before):
            said = f"{part['part']}: {part['found']}"
            if part["holds"]:
                continue
            if not part["lacking"]:
                raise BertologyError(
                    f"'{model}' fails its check: {said} (bar {part['bar']}).\nThe whole table: bertology check {model}"
                )
            lines.append(f"{model}: {said}. Claims that require it are left out.")
    return lines
