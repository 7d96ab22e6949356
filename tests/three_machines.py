"""Runs jobs on a dask scheduler and two workers, each with a network and files of its own, and disturbs the workers.

    sudo python tests/three_machines.py [--seeds 10] [--cut 75] [--chapter embeddings --claim contextual-vs-static]

Needs Linux, root and iproute2: the scheduler (with the run itself) and both workers live in network namespaces that a
bridge joins; each has its own copy of the book, and no worker sees the run's folder, so that results come over the
wire. While the jobs run, one worker is killed with its kernel and begun anew, the other is slowed (stopped half of the
time), then the first one's cable is cut for a while. Every job has to end with a fresh record. Says what the run took
and sent, which the plan in CONTRIBUTING.md counts with.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil

from bertology_utils.project import plan
from bertology_utils.running.freshness import state

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "_executed", "_build", "node_modules", "__pycache__", ".*_cache")
ADDRESS = "tcp://10.77.0.1:8786"
MODELS = ("ladder-1m", "ladder-1m-seed-1", "ladder-1m-seed-2", "ladder-3m", "pocket-minilm")
PYTHON = (sys.executable, "-m")


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def networks(prefix: str) -> Iterator[list[str]]:
    """Three namespaces, 10.77.0.1 to 10.77.0.3, on a bridge that the first one holds."""
    names = [f"{prefix}-{place}" for place in ("scheduler", "one", "two")]
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", names[0], "link", "add", "bridge", "type", "bridge")
        for number, name in enumerate(names[1:], 2):
            ip("-n", name, "link", "add", "cable", "type", "veth", "peer", "name", f"to-{number}", "netns", names[0])
            ip("-n", names[0], "link", "set", f"to-{number}", "master", "bridge", "up")
        for number, (name, device) in enumerate(zip(names, ("bridge", "cable", "cable"), strict=True), 1):
            ip("-n", name, "address", "add", f"10.77.0.{number}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


class Machine:
    """A namespace with a copy of the book, where processes start; `hidden` is a folder that it does not see."""

    def __init__(self, network: str, book: Path, hidden: Path | None = None):
        self.network, self.book, self.hidden = network, book, hidden
        shutil.copytree(ROOT, book, ignore=LEFT_OUT)

    def start(self, *command: str, log: Path) -> subprocess.Popen:
        environment = os.environ | {"PYTHONPATH": str(self.book), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        hide = f"mount -t tmpfs none {self.hidden} && " if self.hidden else ""
        shell = ["ip", "netns", "exec", self.network, "sh", "-c", f'{hide}cd {self.book} && exec "$@"', "sh"]
        with log.open("a") as file:
            return subprocess.Popen([*shell, *command], env=environment, stdout=file, stderr=file)

    def worker(self, log: Path) -> subprocess.Popen:
        return self.start(*PYTHON, "distributed.cli.dask_worker", ADDRESS, "--nthreads", "1", "--no-dashboard",
                          "--memory-limit", "0", log=log)  # fmt: skip


def tree(process: subprocess.Popen) -> list[psutil.Process]:
    parent = psutil.Process(process.pid)
    return [*parent.children(recursive=True), parent]


def send(process: subprocess.Popen, number: int) -> None:
    for one in tree(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            one.send_signal(number)


def slow(process: subprocess.Popen, end: threading.Event) -> None:
    """Half of each second the worker and its kernel stand still."""
    while not end.wait(0.5):
        send(process, signal.SIGSTOP)
        time.sleep(0.5)
        send(process, signal.SIGCONT)


def ended(log: Path) -> int:
    return len(re.findall(r": done in [\d.]+ s", log.read_text())) if log.is_file() else 0


def wait_for(log: Path, jobs: int, run: subprocess.Popen) -> None:
    while ended(log) < jobs and run.poll() is None:
        time.sleep(0.2)


def disturb(run: subprocess.Popen, log: Path, jobs: int, one: Machine, workers: list, folder: Path, cut: float) -> None:
    """Kills the first worker after a fifth of the jobs, slows the second after two, cuts the first's cable at three."""
    wait_for(log, jobs // 5, run)
    send(workers[0], signal.SIGKILL)
    print(f"{ended(log)} done: a worker killed with its kernel", flush=True)
    wait_for(log, jobs // 5 + 5, run)
    workers[0] = one.worker(folder / "worker-one.log")
    print(f"{ended(log)} done: begun anew", flush=True)
    wait_for(log, 2 * jobs // 5, run)
    end = threading.Event()
    slowing = threading.Thread(target=slow, args=(workers[1], end))
    slowing.start()
    print(f"{ended(log)} done: the other one slowed", flush=True)
    wait_for(log, 3 * jobs // 5, run)
    end.set()
    slowing.join()
    ip("-n", one.network, "link", "set", "cable", "down")
    print(f"{ended(log)} done: that at full speed, the first one's cable cut", flush=True)
    time.sleep(cut)
    ip("-n", one.network, "link", "set", "cable", "up")
    print(f"{ended(log)} done: the cable whole", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chapter", default="embeddings")
    parser.add_argument("--claim", default="contextual-vs-static")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--cut", type=float, default=75.0, help="Seconds.")
    options = parser.parse_args()
    models = [name for model in MODELS for name in (model, f"random:{model}")]
    seeds = range(options.seeds)
    with tempfile.TemporaryDirectory() as scratch, networks(f"b{os.getpid()}") as names:
        folder = Path(scratch)
        (folder / "run").mkdir()
        home = Machine(names[0], folder / "run" / "book")
        one, two = (Machine(name, folder / f"worker-{name[-3:]}", folder / "run") for name in names[1:])
        log, scheduler_log = folder / "run.log", folder / "scheduler.log"
        scheduler = home.start(*PYTHON, "distributed.cli.dask_scheduler", "--no-dashboard", log=scheduler_log)
        workers = [machine.worker(folder / f"worker-{name}.log") for machine, name in ((one, "one"), (two, "two"))]
        arguments = ["run", options.chapter, "--claim", options.claim, "--profile", "smoke", "--scheduler", ADDRESS]
        arguments += [word for model in models for word in ("--model", model)]
        arguments += [word for seed in seeds for word in ("--seed", str(seed))]
        started = time.monotonic()
        run = home.start(*PYTHON, "bertology_utils", *arguments, log=log)
        disturb(run, log, len(models) * len(seeds), one, workers, folder, options.cut)
        code, own = run.wait(), psutil.Process(scheduler.pid).cpu_times()
        seconds = time.monotonic() - started
        planned = [replace(job, claims=(options.claim,)) for seed in seeds
                   for job in plan(home.book, [options.chapter], models, "smoke", seed)]  # fmt: skip
        fresh = sum(state(job).fresh for job in planned)
        sizes = [job.record.stat().st_size + job.notebook.stat().st_size for job in planned if job.record.is_file()]
        text = log.read_text()
        print(f"{fresh} of {len(planned)} jobs with a fresh record, exit code {code}, {seconds:.0f} s")
        print(f"begun again: {text.count('started again')}; seconds of a job: {mean_seconds(text):.1f}")
        print(f"a job's results: {sum(sizes) / max(len(sizes), 1):,.0f} bytes")
        print(f"the scheduler: {own.user + own.system:.1f} CPU s")
        print(ip("-n", names[0], "-s", "link", "show", "bridge"))
        for process in (*workers, scheduler):
            send(process, signal.SIGKILL)
        if code or fresh < len(planned):
            print(text[-3000:])
        return int(code != 0 or fresh < len(planned))


def mean_seconds(text: str) -> float:
    found = [float(seconds) for seconds in re.findall(r": done in ([\d.]+) s", text)]
    return sum(found) / max(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
