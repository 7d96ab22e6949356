"""The sealed log of predictions: every version of every prediction, with its date, in a chain of hashes. Depends on
`ledger`.

Each line of `results/predictions.jsonl` holds one version of one claim's test and the sha256 of the line's content
behind that of the line before: no version can be changed, taken out or put in later without all hashes after it. That
these were not all written anew, git tells: each log that was committed is a beginning of today's.
`bertology seal` appends what changed in the claims files. Versions from before the log was begun (2026-11-26) were read
once from the repository's history, with the dates of their commits; these lines say so (`source`).
"""

import json
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bertology_utils.errors import BertologyError
from bertology_utils.files import digest, write_text
from bertology_utils.verdicts.claims import Claim, load_claims, version_of

PATH = Path("results") / "predictions.jsonl"


def read(path: Path) -> list[dict[str, Any]]:
    """The entries of a log, none where there is no file.

    Raises BertologyError: a line is no entry.
    """
    if not path.is_file():
        return []
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except ValueError:
        raise BertologyError(f"{path} holds a line that is no entry. Restore it from git.") from None


def committed(path: Path, commit: str = "HEAD") -> list[dict[str, Any]]:
    """The entries of a log as git has it; none where there is no git or no such file in it."""
    try:
        return [json.loads(line) for line in _git(path.parent, "show", f"{commit}:./{path.name}").splitlines()]
    except (OSError, subprocess.CalledProcessError):
        return []


def commits(path: Path) -> list[str]:
    """The commits of this line of history that changed a log, the newest first; none where there is no git."""
    try:
        return _git(path.parent, "log", "--first-parent", "--format=%H", "--", path.name).split()
    except (OSError, subprocess.CalledProcessError):
        return []


def broken(entries: Iterable[Mapping[str, Any]]) -> int | None:
    """The first line (from 1) that does not follow from the one before; None of a whole chain."""
    before = ""
    for line, entry in enumerate(entries, 1):
        if _chained(before, entry) != entry.get("sha256") or digest(version_of(entry)) != entry.get("version"):
            return line
        before = entry["sha256"]
    return None


def unsealed(entries: Iterable[Mapping[str, Any]], claims: Iterable[Claim]) -> list[Claim]:
    """The claims whose last entry is not what their file says; those without a prediction need none."""
    last = {entry["claim"]: entry["version"] for entry in entries}
    return [c for c in claims if c.version != last.get(c.id) and (c.prediction or c.id in last)]


def unexplained(entries: Iterable[Mapping[str, Any]], claims: Iterable[Claim]) -> list[str]:
    """The claims whose test is another than their last entry's while the time of their amendment is the same."""
    last = {entry["claim"]: entry for entry in entries}
    changed = [claim for claim in unsealed(last.values(), claims) if claim.id in last]
    return [c.id for c in changed if version_of(c.model_dump())["amended"] == last[c.id].get("amended")]


def seal(path: Path) -> list[str]:
    """Appends what changed in the claims files; returns the ids of the claims.

    Raises BertologyError: the chain is broken, or does not begin with what was committed of it.
    """
    entries, before = read(path), committed(path)
    if line := broken(entries):
        raise BertologyError(f"{path}: the chain breaks at line {line}. Restore it from git.")
    if entries[: len(before)] != before:
        raise BertologyError(f"{path} lacks entries that were committed, or has others. Restore it from git.")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    changed = unsealed(entries, load_claims())
    for claim in changed:
        entries.append(_entry(entries, claim.id, version_of(claim.model_dump()), now))
    if changed:
        write_text(path, "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries))
    return [claim.id for claim in changed]


def _entry(before: list[dict], claim: str, version: Mapping[str, Any], date: str) -> dict[str, Any]:
    entry = {"claim": claim, **version, "date": date, "version": digest(version)}
    return entry | {"sha256": _chained(before[-1]["sha256"] if before else "", entry)}


def _chained(before: str, entry: Mapping[str, Any]) -> str:
    return digest([before, {name: value for name, value in entry.items() if name != "sha256"}])


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True).stdout
