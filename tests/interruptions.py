"""Kills commands at random moments and looks whether the next call completes what they left.

    python tests/interruptions.py [--moments 50] [COMMAND ...]

Each of `run`, `build`, `pretrain`, `score` and `compare` is called once undisturbed, which gives its result and its
time; then it is killed (SIGKILL, with all its children) at a random moment of that time and called again, in a fresh
folder each time. The second call has to end well, with the result of the undisturbed one, and leave no part file.
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from notebook_project import WRITE_RECORD, add_notebook, make_project
from pretraining_toys import config_file, write_corpus

from bertology_utils.files import read_csv, read_json

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ("syntax", "layers", "attention")
PARTS = ("*.part", "*.part.*", "*.old.part")
OWN_TIME = ("date", "seconds", "when", "tokens_per_second")


@dataclass(frozen=True)
class Case:
    """A command, the folder that it works on, and what its result is.

    Attributes:
        prepare: fills an empty folder.
        arguments, again: of the first call, and of the one after the interruption.
        result: what both have to agree about.
    """

    prepare: Callable[[Path], None]
    arguments: Callable[[Path], list[str]]
    result: Callable[[Path], object]
    again: tuple[str, ...] = ()


def book(folder: Path) -> None:
    make_project(folder)
    for chapter in CHAPTERS:
        add_notebook(folder, chapter, "import time; time.sleep(0.5)", WRITE_RECORD)


def executed_book(folder: Path) -> None:
    """A book whose chapters have run, for `build`."""
    book(folder)
    shutil.copytree(ROOT / "book", folder / "book")
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, folder)
    toc = ["format: jb-book", "root: notebooks/syntax", "chapters:"]
    (folder / "_toc.yml").write_text(
        "\n".join([*toc, *(f"  - file: notebooks/{name}" for name in CHAPTERS[1:])]) + "\n"
    )
    call(["run", "--root", str(folder)], folder).wait()


def corpus(folder: Path) -> None:
    write_corpus(folder / "toy.txt")
    config_file(folder, phases=[{"steps": 60, "length": 32, "mixture": {"toy": 1.0}}], cooldown=20)


def suite(folder: Path) -> None:
    pairs = "".join(f"{'a ' * n}dog runs .\t{'a ' * n}dog run .\n" for n in range(1, 40))
    (folder / "pairs.tsv").write_text(pairs)


def records(folder: Path) -> object:
    paths = sorted(folder.glob("_executed/**/*.json"))
    return [(path.name, (read_json(path) or {}).get("results")) for path in paths if path.name[:-5] in CHAPTERS]


def pages(folder: Path) -> object:
    return sorted(path.name for path in folder.rglob("_build/html/notebooks/*.html"))


def weights(folder: Path) -> object:
    found = sorted(folder.rglob("model.safetensors"))
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in found]


def table(folder: Path) -> object:
    rows = read_csv(folder / "table.csv")
    return [{key: value for key, value in row.items() if key not in OWN_TIME} for row in rows]


CASES = {
    "run": Case(book, lambda folder: ["run", "--root", str(folder)], records),
    "build": Case(executed_book, lambda folder: ["build", "--root", str(folder)], pages),
    "pretrain": Case(corpus, lambda folder: ["pretrain", str(folder / "toy.yaml")], weights, ("--resume",)),
    "score": Case(
        suite,
        lambda folder: ["score", "ladder-1m", "--suite", str(folder / "pairs.tsv"), "--out", str(folder / "table.csv"),
                        "--root", str(ROOT)],
        table,
    ),
    "compare": Case(
        corpus,
        lambda folder: ["compare", str(folder / "toy.yaml"), "--tokens", "1500", "--out", str(folder / "table.csv")],
        table,
    ),
}  # fmt: skip


def call(arguments: list[str], folder: Path) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    log = (folder / "log.txt").open("a")
    command = [sys.executable, "-m", "bertology_utils", *arguments]
    return subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)


def kill(process: subprocess.Popen) -> None:
    """The process and all that it started, at once."""
    parent = psutil.Process(process.pid)
    for one in [*parent.children(recursive=True), parent]:
        try:
            os.kill(one.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def undisturbed(case: Case, folder: Path) -> tuple[object, float]:
    """The result, and the seconds that it took."""
    case.prepare(folder)
    started = time.monotonic()
    if call(case.arguments(folder), folder).wait():
        raise SystemExit(f"failed undisturbed:\n{(folder / 'log.txt').read_text()[-800:]}")
    return case.result(folder), time.monotonic() - started


def faults(case: Case, folder: Path, expected: object, moment: float) -> Iterator[str]:
    """What is wrong after a kill at a moment (seconds) and a second call."""
    case.prepare(folder)
    process = call(case.arguments(folder), folder)
    try:
        process.wait(moment)
        return  # it was done before
    except subprocess.TimeoutExpired:
        kill(process)
    started = folder / "work" / "toy" / "checkpoint.pt"
    again = case.again if started.exists() else ()
    if call([*case.arguments(folder), *again], folder).wait():
        yield f"the second call failed: {(folder / 'log.txt').read_text().strip()[-300:]}"
    elif case.result(folder) != expected:
        yield "another result than undisturbed"
    left = [path.name for pattern in PARTS for path in folder.rglob(pattern)]
    if left:
        yield f"left behind: {', '.join(left[:3])}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=", ".join(CASES))
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, wrong = random.Random(options.seed), 0
    for name in options.commands or CASES:
        with tempfile.TemporaryDirectory() as scratch:
            expected, seconds = undisturbed(CASES[name], new(scratch, "undisturbed"))
            for number in range(options.moments):
                moment, folder = rng.uniform(0, seconds), new(scratch, str(number))
                for fault in faults(CASES[name], folder, expected, moment):
                    wrong += 1
                    print(f"{name}, killed after {moment:.2f} of {seconds:.2f} s: {fault}", flush=True)
                shutil.rmtree(folder, ignore_errors=True)
            print(f"{name}: {options.moments} moments in {seconds:.1f} s", flush=True)
    print(f"{wrong} faults")
    return int(wrong > 0)


def new(scratch: str, name: str) -> Path:
    folder = Path(scratch) / name
    folder.mkdir()
    return folder


if __name__ == "__main__":
    sys.exit(main())
