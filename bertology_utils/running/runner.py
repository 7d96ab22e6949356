"""Runs chapters in parallel as tasks of dask.distributed. Depends on project, freshness, execution and distributed.

A killed worker's task runs again; a failing chapter leaves the others alone; an interrupt ends all children. Progress
travels as scheduler events and results with the outcomes, so that a remote scheduler, whose workers have the same book
at a place of their own, works as a local cluster does.
"""

import contextlib
import logging
import re
import tempfile
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import nbformat
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed, get_worker
from distributed.worker import thread_state
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bertology_utils.errors import BertologyError
from bertology_utils.files import locked, read_json
from bertology_utils.project import Job
from bertology_utils.provenance import commit
from bertology_utils.running.execution import Order, Outcome, Stopped, execute, keep
from bertology_utils.running.freshness import fingerprint, state
from bertology_utils.running.slices import parsed

DEFAULT_WORKERS = 2
ADDRESS = re.compile(r"[a-z]+://[^/]+:\d+")
SETTINGS = {
    "distributed.scheduler.allowed-failures": 2,
    "distributed.worker.memory.terminate": False,  # the memory is the kernel's, which dask does not see
    "distributed.admin.low-level-log-length": 100,
    # dask watches itself a hundred times a second, which takes a sixth of a core from the kernels
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    # workers are other processes, which read their logging from here
    "logging": {name: "critical" for name in ("distributed", "distributed.worker", "distributed.nanny", "tornado")},
}


class Display:
    """Progress for the user: live bars on a terminal, one plain line for each start and end elsewhere."""

    def __init__(self, console: Console, jobs: list[Job]) -> None:
        self.console = console
        self.live = console.is_terminal
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.progress = Progress(*columns, console=console, transient=True)
        self.tasks = {job.label: self.progress.add_task(job.label, start=False, total=None) for job in jobs}
        self.started: dict[str, str] = {}

    def __enter__(self) -> "Display":
        if self.live:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.progress.stop()

    def event(self, event: tuple[float, dict[str, Any]]) -> None:
        """A worker's message: attempt, label, finished cells, all cells."""
        message = event[1]
        label, attempt, task = message["label"], message["attempt"], self.tasks.get(message["label"])
        if task is None:
            return
        if self.started.get(label) != attempt:
            again = " again: its worker ended" if label in self.started else ""
            self.started[label] = attempt
            self.progress.start_task(task)
            if not self.live or again:
                self.print(f"{label}: started{again}")
        self.progress.update(task, completed=message["done"], total=message["total"])

    def end(self, outcome: Outcome) -> None:
        task = self.tasks.get(outcome.job.label)
        if task is not None:
            self.progress.update(task, visible=False)
        self.print(line(outcome))

    def print(self, text: str) -> None:
        self.console.print(escape(text), highlight=False, soft_wrap=True)


def line(outcome: Outcome) -> str:
    """One outcome in words."""
    if outcome.status == "done":
        return f"{outcome.job.label}: done in {outcome.seconds:.1f} s"
    if outcome.status == "fresh":
        return f"{outcome.job.label}: fresh"
    return f"{outcome.job.label}: {outcome.message}"


def task(order: Order, topic: str) -> Outcome:
    """The function that workers run: one chapter, with its progress sent as events."""
    worker, attempt = get_worker(), uuid.uuid4().hex
    key = getattr(thread_state, "key", None)

    def report(done: int, total: int) -> None:
        current = worker.state.tasks.get(key)
        if current is not None and current.state == "cancelled":
            raise Stopped
        worker.log_event(topic, {"label": order.job.label, "attempt": attempt, "done": done, "total": total})

    return execute(order, report)


@contextlib.contextmanager
def connect(workers: int, scheduler: str | None) -> Iterator[Client]:
    """A client of a fresh local cluster, or of the scheduler at the given address."""
    with dask.config.set(SETTINGS), quiet():
        if scheduler:
            if not ADDRESS.fullmatch(scheduler):
                raise BertologyError(f"'{scheduler}' is no address of a dask scheduler, such as tcp://127.0.0.1:8786.")
            try:
                client = Client(scheduler, timeout="10s", set_as_default=False)
            except (OSError, ValueError) as error:
                raise BertologyError(f"No dask scheduler answers at {scheduler}.") from error
            with closing(client):
                yield client
            return
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=None,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
        with closing(cluster), closing(client := Client(cluster, set_as_default=False)):
            yield client


@contextlib.contextmanager
def closing(one: Client | LocalCluster) -> Iterator[None]:
    """Closes it at the end; what a slow machine does not close in time ends with the process, and results are here."""
    try:
        yield
    finally:
        with contextlib.suppress(TimeoutError):
            one.close()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the cluster's own log, which tells of every killed worker at length, from the user's screen."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def only_run(root: Path) -> contextlib.AbstractContextManager[None]:
    """Refuse a second run in the same folder: both would write the same files."""
    return locked(root / "_executed" / ".lock", "Another `bertology run` is executing this book; wait for it to end.")


def expected_seconds(job: Job) -> float:
    """How long the job took last time; unknown ones count as longest, so that they start first."""
    record = read_json(job.record)
    run = record.get("run", {}) if isinstance(record, dict) else {}
    return run.get("seconds", float("inf"))


def failure(job: Job, future: Future) -> Outcome:
    """The outcome of a task that did not return one."""
    error = future.exception()
    if isinstance(error, KilledWorker):
        return Outcome(job, "failed", 0.0, "its worker process was killed three times, perhaps for want of memory.")
    return Outcome(job, "failed", 0.0, f"{type(error).__name__}: {error}")


def collect(client: Client, orders: Iterable[Order], display: Display) -> Iterator[Outcome]:
    """Give each free worker the next order and each outcome as it comes; an interrupt cancels what runs.

    Never more orders than workers: dask would queue the others behind a running chapter while another worker idles, and
    a killed worker would count against those that only waited.
    """
    topic = f"bertology-{uuid.uuid4().hex}"
    client.subscribe_topic(topic, display.event)
    waiting, running, jobs = deque(orders), as_completed(loop=client.loop), {}

    def fill() -> None:
        while waiting and running.count() < max(1, sum(client.nthreads().values())):
            order = waiting.popleft()
            future = client.submit(task, order, topic, key=f"{order.job.chapter}-{uuid.uuid4().hex}", pure=False)
            jobs[future] = order.job
            running.add(future)

    try:
        fill()
        for future in running:
            job = jobs.pop(future)
            fill()
            yield future.result() if future.status == "finished" else failure(job, future)
    except BaseException:
        client.cancel(list(jobs))
        raise


def run_jobs(
    jobs: Iterable[Job],
    *,
    workers: int = DEFAULT_WORKERS,
    scheduler: str | None = None,
    force: bool = False,
    online: bool = False,
    console: Console | None = None,
    first: Callable[[list[Job]], None] | None = None,
) -> list[Outcome]:
    """Execute the jobs that are not fresh; returns one outcome a job, in the order in which they ended.

    first: is called with these jobs before anything starts, and may refuse them.

    Raises `BertologyError` where another run holds the folder or the scheduler does not answer.
    """
    jobs, console = list(jobs), console or Console()
    fresh = [] if force else [job for job in jobs if state(job).fresh]
    outcomes = [Outcome(job, "fresh") for job in fresh]
    stale = sorted((job for job in jobs if job not in fresh), key=expected_seconds, reverse=True)
    if fresh:
        console.print(f"{len(fresh)} of {len(jobs)} fresh, not run again", highlight=False)
    if not stale:
        return outcomes
    require_python(stale)
    if first is not None:
        first(stale)
    with only_run(stale[0].root), scratch_folder(scheduler) as scratch:
        origin = commit(stale[0].root)
        orders = [Order(job, fingerprint(job), origin, online, scratch) for job in stale]
        with connect(min(workers, len(orders)), scheduler) as client, Display(console, stale) as display:
            if not client.nthreads():
                display.print(f"The scheduler {scheduler} has no worker yet; the run waits for one.")
            for outcome in collect(client, orders, display):
                keep(outcome)
                display.end(outcome)
                outcomes.append(replace(outcome, notebook="", record=""))
    return outcomes


def require_python(jobs: Iterable[Job]) -> None:
    """Raises `BertologyError` where a cell of a job's notebook is no Python, before an earlier one costs minutes."""
    for source in dict.fromkeys(job.source for job in jobs):
        try:
            parsed(nbformat.read(source, as_version=4))
        except BertologyError as error:
            raise BertologyError(f"{source.name}: {error}") from None
        except Exception:  # whatever else is wrong with a notebook is told of its chapter alone, when it is run
            continue


@contextlib.contextmanager
def scratch_folder(scheduler: str | None) -> Iterator[str | None]:
    """A folder for the kernels' files, which killed kernels leave behind; None on other people's machines."""
    if scheduler:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="bertology-", ignore_cleanup_errors=True) as folder:
        yield folder
