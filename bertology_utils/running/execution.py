"""Executes one chapter in its own kernel: what a worker process does, here or on another machine.

Depends on `project`, `freshness`, papermill and nbclient.

A worker writes nothing into the book. Its kernel records into a folder of its own, and what came of the chapter goes
back with the outcome, which the run alone puts into place (`keep`): whatever ends a worker, nothing half-run is ever
built, and no folder has to be shared.
"""

import errno
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat
import papermill
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, NotebookExecutionManager, papermill_engines
from papermill.exceptions import PapermillExecutionError
from papermill.log import logger as papermill_logger

from bertology_utils.errors import NotAskable, first_line
from bertology_utils.files import json_text, read_json, write_text
from bertology_utils.project import Job, checkpoint_file, find_root, is_untrained, split_model
from bertology_utils.provenance import versions
from bertology_utils.running.freshness import complete, difference, fingerprint
from bertology_utils.running.slices import slice_for

Report = Callable[[int, int], None]
"""Called with the number of finished cells and the number of all cells; may raise to stop the chapter."""

INJECTED = "injected-parameters"
LONGEST_SOCKET_FOLDER = 80  # a Unix socket's path has at most 107 characters, and the name below takes 13


@dataclass(frozen=True)
class Order:
    """A job with what the record has to say about its origin."""

    job: Job
    freshness: dict[str, Any]
    commit: str = "unknown"
    online: bool = False
    scratch: str | None = None  # where kernels on the run's own machine keep their files; the run removes it


LEFT_OUT = "left out"


@dataclass(frozen=True)
class Outcome:
    """How a job ended: `done`, `fresh` (not run), `left out` or `failed`, with the message for the user.

    A chapter is left out whose model lacks what all of it is about, as one without attention has no heads.

    Attributes:
        notebook, record: the texts of both files of a chapter that is done.
        traceback: the full text of a failure.
    """

    job: Job
    status: str
    seconds: float = 0.0
    message: str = ""
    notebook: str = field(default="", repr=False)
    record: str = field(default="", repr=False)
    traceback: str = field(default="", repr=False)


class Stopped(Exception):
    """The run was cancelled while this chapter was executing."""


class OwnKernelManager(AsyncKernelManager):
    """A kernel of the running interpreter, whatever kernel specs are installed or shadow each other."""

    @property
    def kernel_spec(self) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="Python 3", language="python")

    @classmethod
    def in_folder(cls, folder: str) -> "OwnKernelManager":
        """Sockets in a private folder, where they fit: no port to lose in a race, no encryption notice."""
        fits = os.name == "posix" and len(folder) <= LONGEST_SOCKET_FOLDER
        file = os.path.join(folder, "kernel.json")
        return cls(kernel_name="python3", connection_file=file, transport="ipc" if fits else "tcp")


class ReportingManager(NotebookExecutionManager):
    """Papermill's book-keeping of one execution, which also reports each finished cell."""

    def __init__(self, nb: nbformat.NotebookNode, report: Report) -> None:
        super().__init__(nb, progress_bar=False)
        self.report = report
        self.current = 0

    def cell_start(self, cell: nbformat.NotebookNode, cell_index: int | None = None, **settings: Any) -> None:
        self.current = cell_index or 0
        self.report(self.current, len(self.nb.cells))
        super().cell_start(cell, cell_index, **settings)


class ReportingEngine(NBClientEngine):
    """Papermill's engine with this project's kernel, environment and progress reports."""

    @classmethod
    def execute_notebook(
        cls,
        nb: nbformat.NotebookNode,
        kernel_name: str,
        *,
        report: Report,
        environment: dict[str, str],
        scratch: str | None = None,
        **_: Any,
    ) -> nbformat.NotebookNode:
        manager = ReportingManager(nb, report)
        manager.notebook_start()
        try:
            cls.run_cells(manager, environment, scratch)
        finally:
            manager.notebook_complete()
        return manager.nb

    @classmethod
    def run_cells(cls, manager: ReportingManager, environment: dict[str, str], scratch: str | None) -> None:
        """Execute all cells in a fresh kernel, whose own complaints are shown only where it dies."""
        with (
            tempfile.TemporaryDirectory(prefix="kernel-", dir=scratch, ignore_cleanup_errors=True) as folder,
            open(os.path.join(folder, "stderr"), "w+", errors="replace") as stderr,
        ):
            kernel = OwnKernelManager.in_folder(folder)
            settings = {"startup_timeout": 120, "timeout": None, "log": papermill_logger}
            try:
                client = PapermillNotebookClient(manager, km=kernel, **settings)
                client.execute(env=environment, stderr=stderr, cleanup_kc=True)
            except DeadKernelError as error:
                where = cell_name(manager.nb, manager.current)
                raise RuntimeError(f"{where} failed: the kernel died, perhaps for want of memory.") from error
            except RuntimeError as error:
                stderr.seek(0)
                last = (stderr.read().strip().splitlines() or [""])[-1]
                raise RuntimeError(f"{first_line(str(error))} {last}".strip()) from error


papermill_engines.register("bertology", ReportingEngine)


def environment(root: Path, online: bool = False) -> dict[str, str]:
    """Environment of a kernel: one thread, no network unless asked for, and the package importable from anywhere."""
    settings = {
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        # glibc gives large blocks back at once and faults them in again; keeping them saves a fifth of a run.
        "MALLOC_TRIM_THRESHOLD_": "2000000000",
        "MALLOC_MMAP_THRESHOLD_": "2000000000",
        "MALLOC_TOP_PAD_": "200000000",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")])),
        "HF_HUB_OFFLINE": "0" if online else "1",  # said either way: where it is not set, chapters stay offline
    }
    return dict(os.environ) | settings


def cell_name(nb: nbformat.NotebookNode, index: int) -> str:
    """`cell 3 of 7`, counted as in the source notebook, where papermill's own cell does not exist."""
    own = [INJECTED in cell.metadata.get("tags", []) for cell in nb.cells]
    return f"cell {index + 1 - sum(own[:index])} of {len(own) - sum(own)}"


def describe(error: Exception, source: nbformat.NotebookNode | None = None) -> str:
    """One or two lines about what stopped a chapter."""
    if isinstance(error, PapermillExecutionError):
        # papermill counts its own cell, which follows the one tagged "parameters"
        cells = source.cells if source else []
        tagged = [i for i, cell in enumerate(cells) if "parameters" in cell.metadata.get("tags", [])]
        number = error.cell_index + (0 if tagged and error.cell_index > tagged[0] else 1)
        return (
            f"cell {number} of {len(cells)} failed: {error.ename}: {first_line(error.evalue)}\n"
            f"    in: {first_line(error.source)}"
        )
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "no space left on the device; nothing of this chapter was kept."
    text = first_line(str(error))
    return text if isinstance(error, RuntimeError) and text else f"{type(error).__name__}: {text}"


def model_sha256(order: Order) -> str | None:
    """The hash of the weights that the chapter ran on, None where they are not files here or are drawn at random."""
    hashes = order.freshness.get("models", {}).get(order.job.model, {})
    return None if is_untrained(order.job.model) else hashes.get(checkpoint_file(split_model(order.job.model)[2]))


def provenance(order: Order, seconds: float) -> dict[str, Any]:
    """The `run` entry of a chapter's record."""
    return {
        "chapter": order.job.chapter,
        "model": order.job.model,
        "model_sha256": model_sha256(order),
        "profile": order.job.profile,
        "seed": order.job.seed,
        "when": datetime.now(UTC).isoformat(timespec="microseconds"),
        "seconds": round(seconds, 2),
        "versions": versions(),
        "commit": order.commit,
        "online": order.online,
        "freshness": order.freshness,
    }


def tidy(nb: nbformat.NotebookNode, folder: str, run: dict[str, Any]) -> None:
    """Drop papermill's metadata, hide its cell on the page, name no folder of this machine, and note the run."""
    for cell in nb.cells:
        cell.metadata.pop("papermill", None)
        if INJECTED in cell.metadata.get("tags", []):
            cell.metadata["tags"] = [INJECTED, "remove-cell"]
            cell.source = cell.source.replace(f"{folder}{os.sep}", "")
    nb.metadata.pop("papermill", None)
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nb.metadata["bertology"] = {key: value for key, value in run.items() if key != "freshness"}


def keep(outcome: Outcome) -> None:
    """Puts what came of a chapter into the book, the record last: it carries the freshness hash.

    Raises BertologyError where it cannot be written; what was there before a failure stays.
    """
    job = outcome.job
    if outcome.status == "done":
        write_text(job.notebook, outcome.notebook)
        write_text(job.record, outcome.record)
        job.traceback.unlink(missing_ok=True)
    elif outcome.traceback:
        write_text(job.traceback, outcome.traceback)


def full_text(error: Exception) -> str:
    """The whole text of an error, without colours."""
    text = "\n".join(error.traceback) if isinstance(error, PapermillExecutionError) else str(error)
    return re.sub(r"\x1b\[[0-9;]*m", "", text) + "\n"


def here(order: Order) -> Order:
    """The order for the book on this machine: that of the run's path, else of the working folder or the package.

    Raises RuntimeError where it is another book than the run's, whose results would not be what they are called.
    """
    job = order.job if order.job.source.is_file() else replace(order.job, root=find_root())
    own = fingerprint(job)
    if own["hash"] != order.freshness["hash"]:
        raise RuntimeError(f"the book on the worker {platform.node()} is another: {difference(order.freshness, own)}.")
    return replace(order, job=job)


def execute(order: Order, report: Report = lambda done, total: None) -> Outcome:
    """Run one chapter; every failure is an `Outcome`, so that only a killed process makes its task run again."""
    started, source = time.monotonic(), None
    try:
        order_here = order if order.scratch else here(order)
        source = nbformat.read(order_here.job.source, as_version=4)
        if order.job.claims:
            source = slice_for(source, order.job.claims)
        report(0, len(source.cells))
        with tempfile.TemporaryDirectory(prefix="record-", dir=order.scratch, ignore_cleanup_errors=True) as folder:
            notebook, record = run_chapter(order_here, source, folder, report)
    except Exception as error:  # whatever a notebook can raise is the user's to see, not the scheduler's
        if isinstance(error, PapermillExecutionError) and error.ename == NotAskable.__name__:
            return Outcome(order.job, LEFT_OUT, time.monotonic() - started, f"left out: {first_line(error.evalue)}")
        text = "" if isinstance(error, Stopped) else full_text(error)
        return Outcome(order.job, "failed", time.monotonic() - started, describe(error, source), traceback=text)
    return Outcome(order.job, "done", time.monotonic() - started, notebook=notebook, record=record)


def run_chapter(order: Order, source: nbformat.NotebookNode, folder: str, report: Report) -> tuple[str, str]:
    """The texts of the executed notebook and of its record, which the kernel writes into a folder of its own."""
    job, file, started = order.job, Path(folder) / f"{order.job.chapter}.json", time.monotonic()
    nb = papermill.execute_notebook(
        source,
        None,  # papermill would write half-run notebooks
        parameters={"MODEL": job.model, "PROFILE": job.profile, "SEED": job.seed, "RECORD": str(file)},
        engine_name="bertology",
        kernel_name="python3",
        language="python",
        cwd=job.source.parent,
        report=report,
        environment=environment(job.root, order.online),
        scratch=order.scratch,
    )
    order = replace(order, freshness=complete(order.freshness, job.root))
    run = provenance(order, time.monotonic() - started)
    tidy(nb, folder, run)
    content = read_json(file)
    record = content if isinstance(content, dict) else {"results": content or []}
    return nbformat.writes(nb) + "\n", json_text(record | {"run": run})
