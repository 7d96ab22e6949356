"""Where recorded numbers come from: commit, versions, hardware class and date. Depends on nothing of the package.

Chapters' records, tables of scores and benchmarks name their origin through this module alone.
"""

import contextlib
import importlib.metadata
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

RECORDS = ":(top,exclude)results/runs"
RECORDED_PACKAGES = ("torch", "transformers", "jupyter-book")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide numbers and pages, without importing them."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in RECORDED_PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def commit(root: Path) -> str:
    """The commit of the sources, `-dirty` where tracked files differ from it, `unknown` outside git.

    Recorded runs are outputs: those that a long recording has already written do not make the next one dirty.
    """
    git = ["git", "-C", str(root)]
    try:
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        status = [*git, "status", "--porcelain", "--untracked-files=no", "--", ":/", RECORDS]
        changed = subprocess.run(status, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("-dirty" if changed else "")


def hardware() -> str:
    """The class of machine, such as "x86_64 (AVX512), 2 cores, 1 thread", with the accelerator where torch sees one."""
    import torch

    threads = torch.get_num_threads()
    instructions = torch.backends.cpu.get_cpu_capability()  # the best that torch uses
    device = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{platform.machine()} ({instructions}), {os.cpu_count()} cores, {threads} thread{'s' * (threads > 1)}{device}"
    )


def origin(root: Path) -> dict[str, str]:
    """What stands beside every recorded number: commit, date (UTC, to the second), versions and hardware class."""
    return {
        "commit": commit(root),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": ", ".join(f"{package} {version}" for package, version in versions().items()),
        "hardware": hardware(),
    }
