"""Kills commands at random moments and looks what the next call makes of it.

    python tests/interruptions.py [--moments 50] [COMMAND ...]

Each of `run`, `build`, `pretrain`, `score` and `compare` is called once undisturbed, which gives its result and its
time. Then it is killed (SIGKILL) at a random moment of that time and called again, in a fresh folder each time. Every
other time its children are killed with it, else they are left to notice. `run` and `build` work on a book whose
chapters have run and were changed since, so that stale results lie about.

After the kill nothing that counts as done may be half done or stale; the next call has to end well, keep what was done
as it is, give the result of the undisturbed call, and leave no part file and no process.

The libraries are loaded once: commands are forks of this process, so that moments fall into their work.
"""

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

import nbformat
import psutil
from nbformat.v4 import new_markdown_cell
from notebook_project import WRITE_RECORD, add_notebook, already_checked, make_project
from pretraining_toys import config_file, write_corpus

from bertology_utils.files import read_csv, read_json
from bertology_utils.project import Job
from bertology_utils.running.freshness import state

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ("syntax", "layers")
OWN_TIME = ("date", "seconds", "commit")  # columns that may differ from run to run
ROW_NAMES = ("config", "seed", "model", "paradigm")
PATIENCE = 30.0  # seconds, for orphans to notice that their parent is gone


@dataclass(frozen=True)
class Case:
    """A command, the folder that it works on, and what of its work counts.

    Attributes:
        prepare: fills an empty folder.
        done: what counts as done at any moment, by name; all of it is the result.
        own_time: drops from a value what differs from run to run.
    """

    prepare: Callable[[Path], None]
    arguments: Callable[[Path], list[str]]
    done: Callable[[Path], dict[str, object]]
    own_time: Callable[[object], object] = lambda value: value

    def result(self, folder: Path) -> dict[str, object]:
        return {name: self.own_time(value) for name, value in self.done(folder).items()}


# --- books ----------------------------------------------------------------------------------------------------------


def write_chapters(folder: Path, said: str) -> None:
    for chapter in CHAPTERS:
        path = add_notebook(folder, chapter, f"print('{said}')", WRITE_RECORD.replace("MODEL", f"MODEL + '{said}'"))
        notebook = nbformat.read(path, as_version=4)
        notebook.cells.insert(0, new_markdown_cell(f"# About {chapter}", id="title"))
        nbformat.write(notebook, path)


def changed_book(folder: Path) -> None:
    """A book whose chapters have run and were changed since."""
    already_checked(make_project(folder))
    write_chapters(folder, "old")
    command(["run", "--root", str(folder)], folder)
    write_chapters(folder, "new")


def rebuilt_book(folder: Path) -> None:
    """A book that was built before its chapters were changed and run again."""
    already_checked(make_project(folder))
    shutil.copytree(ROOT / "book" / "assets", folder / "book" / "assets")
    shutil.copy(ROOT / "_config.yml", folder)
    (folder / "bertology_utils").mkdir()
    shutil.copy(ROOT / "bertology_utils" / "references.bib", folder / "bertology_utils")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: notebooks/syntax\nchapters:\n  - file: notebooks/layers\n")
    for said in ("old", "new"):
        write_chapters(folder, said)
        command(["run", "--root", str(folder)], folder)
        if said == "old":
            command(["build", "--root", str(folder)], folder)


def chapters_done(folder: Path) -> dict[str, object]:
    """Fresh chapters: what was printed and recorded, and when."""
    jobs = (Job(folder, chapter) for chapter in CHAPTERS)
    return {
        job.chapter: (read_json(job.record)["results"], outputs(job.notebook), read_json(job.record)["run"]["when"])
        for job in jobs
        if state(job).fresh
    }


def outputs(notebook: Path) -> list[str]:
    cells = nbformat.read(notebook, 4).cells
    return [output["text"] for cell in cells for output in cell.get("outputs", ()) if output.output_type == "stream"]


def pages_done(folder: Path) -> dict[str, object]:
    """The checksums of the pages, once the build says that they are the book's."""
    from bertology_utils.pages.build import is_built

    if not is_built(folder):
        return {}
    pages = (folder / "_build" / "html").rglob("*.html")
    return {page.name: hashlib.sha256(page.read_bytes()).hexdigest() for page in pages}


# --- models ---------------------------------------------------------------------------------------------------------


def recipe(folder: Path) -> None:
    write_corpus(folder / "toy.txt")
    phases = [{"steps": 60, "length": 32, "mixture": {"toy": 1.0}}]
    config_file(folder, phases=phases, cooldown=20, keep_steps=[0, 15, 30])


def recipes(folder: Path) -> None:
    recipe(folder)
    shutil.copy(folder / "toy.yaml", folder / "other.yaml")


def suite(folder: Path) -> None:
    pairs = "".join(f"{'a ' * n}dog runs .\t{'a ' * n}dog run .\n" for n in range(1, 12))
    (folder / "pairs.tsv").write_text(pairs)


def training_done(folder: Path) -> dict[str, object]:
    """What was evaluated up to the checkpoint, and the weights of models that are in place."""
    run = folder / "work" / "toy"
    log = run / "evaluations.jsonl"
    step = step_of(run / "checkpoint.pt")
    lines = log.read_text().splitlines() if log.is_file() else []
    records = (record for record in map(evaluation, lines) if record and record["step"] <= step)
    found = {f"step {record['step']}, {len(record)} facts": record["mlm_loss"] for record in records}
    models = run.glob("*[0-9l]/model.safetensors")  # step-15, final; a part file has another ending
    return found | {path.parent.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in models}


def step_of(checkpoint: Path) -> int:
    from bertology_utils.pretraining.checkpoints import read

    return read(checkpoint)["step"] if checkpoint.is_file() else -1


def evaluation(line: str) -> dict | None:
    """A line of the log, None for half of one."""
    with contextlib.suppress(ValueError):
        return json.loads(line)
    return None


def rows_done(folder: Path) -> dict[str, object]:
    rows = read_csv(folder / "table.csv")
    return {" ".join(row[name] for name in ROW_NAMES if name in row): row for row in rows}


def scores_done(folder: Path) -> dict[str, object]:
    """Without their times, since models are scored anew each time."""
    return {name: without_time(row) for name, row in rows_done(folder).items()}


def without_time(row: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in row.items() if key not in OWN_TIME}


def command_line(*arguments: str) -> Callable[[Path], list[str]]:
    """A command line; `{}` is the folder."""
    return lambda folder: [argument.format(folder) for argument in arguments]


CASES = {
    "run": Case(changed_book, command_line("run", "--root", "{}"), chapters_done, lambda found: found[:2]),
    "build": Case(rebuilt_book, command_line("build", "--root", "{}"), pages_done),
    "pretrain": Case(recipe, command_line("pretrain", "{}/toy.yaml", "--resume"), training_done),
    "score": Case(
        suite,
        command_line("score", "ladder-1m", "ladder-1m-seed-1", "--suite", "{}/pairs.tsv", "--out", "{}/table.csv"),
        scores_done,
    ),
    "compare": Case(
        recipes,
        command_line(
            "compare", "{}/toy.yaml", "{}/other.yaml", "--tokens", "1500", "--seeds", "2", "--out", "{}/table.csv"
        ),
        rows_done,
        without_time,
    ),
}


# --- processes ------------------------------------------------------------------------------------------------------


def start(arguments: list[str], folder: Path) -> multiprocessing.Process:
    process = multiprocessing.get_context("fork").Process(target=called, args=(arguments, folder))
    process.start()
    return process


def called(arguments: list[str], folder: Path) -> None:
    """In the fork: the command line, with its output in a file."""
    from bertology_utils.cli import main

    log = os.open(folder / "log.txt", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.exit(main(arguments))


def command(arguments: list[str], folder: Path) -> None:
    process = start(arguments, folder)
    process.join()
    if process.exitcode:
        raise SystemExit(f"failed undisturbed, code {process.exitcode}:\n{(folder / 'log.txt').read_text()[-800:]}")


def load_libraries() -> None:
    """What commands import, for their forks to share."""
    import bertology_utils.instruments.grammaticality
    import bertology_utils.pages.build
    import bertology_utils.pretraining.compare
    import bertology_utils.running.runner  # noqa: F401


def kill(process: multiprocessing.Process, with_children: bool) -> list[psutil.Process]:
    """Kills a process, and all that it started or not; returns its children."""
    children = psutil.Process(process.pid).children(recursive=True)
    for one in [process, *(children if with_children else ())]:
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            os.kill(one.pid, signal.SIGKILL)
    process.join()
    return children


# --- the trial ------------------------------------------------------------------------------------------------------


def faults(case: Case, folder: Path, expected: dict[str, object], moment: float, with_children: bool) -> Iterator[str]:
    """What is wrong after a kill at a moment (seconds) and a second call."""
    process = start(case.arguments(folder), folder)
    process.join(moment)
    children = kill(process, with_children) if process.is_alive() else []
    done = case.done(folder)
    if any(case.own_time(value) != expected.get(name) for name, value in done.items()):
        yield "what counts as done is not the undisturbed result"
    again = start(case.arguments(folder), folder)
    again.join()
    after = case.done(folder)
    if again.exitcode:
        yield f"the second call ended with code {again.exitcode}: {(folder / 'log.txt').read_text().strip()[-300:]}"
    elif {name: case.own_time(value) for name, value in after.items()} != expected:
        yield "another result than undisturbed"
    elif lost := [name for name, value in done.items() if after[name] != value]:
        yield f"done twice: {', '.join(lost)}"
    _, alive = psutil.wait_procs(children, PATIENCE)
    if alive:
        yield f"still running: {' '.join(alive[0].cmdline())[:80]}"
        for one in alive:
            one.kill()
    if left := [path.name for path in folder.rglob("*.part*")]:
        yield f"left behind: {', '.join(left[:3])}"


def trial(name: str, moments: int, rng: random.Random, scratch: Path) -> int:
    """The number of faults of a command."""
    case, wrong = CASES[name], 0
    template, place = scratch / "prepared", scratch / "folder"  # always one place: some results name it
    place.mkdir()
    case.prepare(place)
    place.replace(template)
    shutil.copytree(template, place)
    started = time.monotonic()
    command(case.arguments(place), place)
    seconds, expected = time.monotonic() - started, case.result(place)
    for number in range(moments):
        shutil.rmtree(place)
        shutil.copytree(template, place)
        moment = rng.uniform(0, seconds)
        for fault in faults(case, place, expected, moment, with_children=number % 2 == 0):
            wrong += 1
            print(f"{name}, killed after {moment:.2f} of {seconds:.2f} s: {fault}", flush=True)
    print(f"{name}: {moments} moments in {seconds:.1f} s, {wrong} faults", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=", ".join(CASES))
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    load_libraries()
    rng, wrong = random.Random(options.seed), 0
    for name in options.commands or CASES:
        with tempfile.TemporaryDirectory() as scratch:
            wrong += trial(name, options.moments, rng, Path(scratch))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
