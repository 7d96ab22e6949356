"""The runner: what is run again, what a failure leaves, and what survives a kill."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from notebook_project import WRITE_RECORD, add_notebook, already_checked, make_project
from rich.console import Console

from bertology_utils.cli.chapters import run_through
from bertology_utils.errors import BertologyError
from bertology_utils.project import Job, model_slug, plan
from bertology_utils.running import runner
from bertology_utils.running.execution import Order, Outcome, describe, environment, execute, keep
from bertology_utils.running.freshness import fingerprint, state
from bertology_utils.running.runner import only_run, run_jobs

PACKAGE_ROOT = Path(__file__).resolve().parents[2]


def run(root: Path, **settings) -> tuple[dict[str, Outcome], str]:
    text = io.StringIO()
    outcomes = run_jobs(plan(root), console=Console(file=text, width=200), **settings)
    return {outcome.job.chapter: outcome for outcome in outcomes}, text.getvalue()


def parts(root: Path) -> list[Path]:
    return list((root / "_executed").rglob("*.part"))


def test_a_failing_chapter_leaves_the_others_alone_and_only_what_changed_runs_again(tmp_path):
    root = make_project(tmp_path)
    add_notebook(root, "syntax", "import os\nos.environ['HF_HUB_OFFLINE'], os.environ['OMP_NUM_THREADS']", WRITE_RECORD)
    failing = add_notebook(root, "layers", "1 + 1", "raise ValueError('the reason')")
    outcomes, text = run(root)
    assert {name: outcome.status for name, outcome in outcomes.items()} == {"syntax": "done", "layers": "failed"}
    assert "layers" in text and "cell 3 of 3" in text and "ValueError: the reason" in text
    syntax, layers = Job(root, "syntax"), Job(root, "layers")
    assert not parts(root) and not layers.notebook.exists() and not layers.record.exists()
    assert "the reason" in layers.traceback.read_text()

    executed, record = json.loads(syntax.notebook.read_text()), json.loads(syntax.record.read_text())
    assert "('1', '1')" in json.dumps(executed) and str(root) not in json.dumps(executed)
    assert executed["metadata"]["bertology"]["when"] == record["run"]["when"]
    assert record["results"] == [{"id": "pocket-bert"}] and {"versions", "commit", "seconds"} <= set(record["run"])

    failing.write_text(failing.read_text().replace("raise ValueError('the reason')", "2 + 2"))
    outcomes, _ = run(root)
    assert {name: outcome.status for name, outcome in outcomes.items()} == {"syntax": "fresh", "layers": "done"}
    assert not layers.traceback.exists()


def test_a_chapter_whose_model_lacks_what_it_is_about_is_left_out_and_says_why(tmp_path):
    root = make_project(tmp_path)
    fails = "from bertology_utils.errors import NotAskable\nraise NotAskable('it has no heads')"
    add_notebook(root, "syntax", fails, WRITE_RECORD)
    outcomes, text = run(root)
    assert outcomes["syntax"].status == "left out" and "left out: it has no heads" in text
    assert not (job := Job(root, "syntax")).record.exists() and not job.traceback.exists()
    assert run_through([job], [*outcomes.values()]) == []


def test_no_worker_idles_while_a_chapter_waits(monkeypatch):
    def nap(order, topic):
        began = time.time()
        time.sleep(order.seconds)
        return began, time.time()

    monkeypatch.setattr(runner, "task", nap)
    naps = [SimpleNamespace(job=SimpleNamespace(chapter=f"c{i}"), seconds=s) for i, s in enumerate((4, 1, 4, 4, 1, 1))]
    with runner.connect(2, None) as client:
        spans = list(runner.collect(client, naps, SimpleNamespace(event=print)))
    starts, ends = (sorted(times) for times in zip(*spans, strict=True))
    assert len(spans) == len(naps)
    assert all(start - end < 1.2 for start, end in zip(starts[2:], ends, strict=False))


def test_what_does_not_close_in_time_takes_nothing_from_the_results(monkeypatch):
    def slow(cluster):
        close(cluster)
        raise TimeoutError

    close = runner.LocalCluster.close
    monkeypatch.setattr(runner.LocalCluster, "close", slow)
    with runner.connect(1, None) as client:
        assert client.submit(len, "three").result() == 5
    with pytest.raises(TimeoutError), runner.connect(1, None):
        raise TimeoutError  # of the run itself


def test_a_killed_worker_runs_its_chapter_again(tmp_path):
    root = make_project(tmp_path)
    # the first attempt kills the worker, which is the kernel's parent
    kill = "import os, pathlib, signal\nseen = pathlib.Path('seen')\nif not seen.exists():\n    seen.touch()\n"
    add_notebook(root, "syntax", kill + "    os.kill(os.getppid(), signal.SIGKILL)\n    import time; time.sleep(30)")
    outcomes, text = run(root, workers=1)
    assert outcomes["syntax"].status == "done", outcomes["syntax"].message
    assert "started again" in text and not parts(root)


def elsewhere(root: Path, folder: Path, monkeypatch) -> Order:
    """The order for a chapter as a worker gets it whose book is a copy in `folder`, where it runs."""
    shutil.copytree(root, folder / "copy")
    monkeypatch.chdir(folder / "copy")
    job = Job(root, "syntax")
    order = Order(job, fingerprint(job))
    root.rename(folder / "hidden")
    return order


def test_a_worker_with_a_book_of_its_own_sends_its_results_home(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    root = make_project(tmp_path / "home")
    add_notebook(root, "syntax", "'said'", WRITE_RECORD)
    outcome = execute(elsewhere(root, tmp_path, monkeypatch))
    assert outcome.status == "done" and not list(tmp_path.rglob("_executed")), outcome.message
    assert "'said'" in outcome.notebook and str(tmp_path) not in outcome.notebook
    (tmp_path / "hidden").rename(root)
    keep(outcome)
    assert state(outcome.job).fresh and json.loads(outcome.record)["results"] == [{"id": "pocket-bert"}]


def test_a_worker_with_another_book_is_told(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    root = make_project(tmp_path / "home")
    path = add_notebook(root, "syntax", "1 + 1")
    order = elsewhere(root, tmp_path, monkeypatch)
    add_notebook(tmp_path / "copy", path.stem, "1 + 2")
    outcome = execute(order)
    assert outcome.status == "failed" and "is another: notebook changed" in outcome.message


def test_a_dead_kernel_is_told_in_one_line_and_leaves_what_was_there(tmp_path):
    root = make_project(tmp_path)
    add_notebook(root, "syntax", "1 + 1", WRITE_RECORD)
    run(root)
    before = Job(root, "syntax").record.read_bytes()
    add_notebook(root, "syntax", WRITE_RECORD, "import os\nos.kill(os.getpid(), 9)")
    outcomes, _ = run(root, workers=1)
    assert outcomes["syntax"].message == "cell 3 of 3 failed: the kernel died, perhaps for want of memory."
    assert Job(root, "syntax").record.read_bytes() == before and not parts(root)


def test_an_interrupt_ends_all_children_and_leaves_nothing_half_written(tmp_path):
    root = already_checked(make_project(tmp_path))
    slow = "import os, pathlib, time\npathlib.Path(RECORD).write_text('half')\n"
    add_notebook(root, "syntax", slow + "pathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(60)")
    command = [sys.executable, "-m", "bertology_utils", "run", "--root", str(root)]
    variables = os.environ | {"PYTHONPATH": str(PACKAGE_ROOT)}
    process = subprocess.Popen(
        command, env=variables, start_new_session=True, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    )
    pid_file = root / "notebooks" / "pid"
    wait_for(lambda: pid_file.exists() and pid_file.read_text())
    os.killpg(process.pid, signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and "Traceback" not in errors
    wait_for(lambda: not alive(int(pid_file.read_text())))
    assert not parts(root) and not Job(root, "syntax").notebook.exists()


def heed_interrupts() -> None:
    """Undoes what a shell does to the commands that it runs in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def wait_for(condition, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").is_dir() else True


def test_a_second_run_in_the_same_folder_is_refused(tmp_path):
    with only_run(tmp_path), pytest.raises(BertologyError, match="Another"), only_run(tmp_path):
        pass


def test_unknown_names_are_told_with_the_nearest(tmp_path):
    root = make_project(tmp_path)
    add_notebook(root, "syntax")
    for wrong in (
        {"names": ["sintax"]},
        {"models": ["pocket-brt"]},
        {"models": ["random:pocket-brt"]},
        {"profile": "lve"},
    ):
        with pytest.raises(BertologyError, match=r"Did you mean (syntax|pocket-bert|live)"):
            plan(root, **wrong)


def test_folders_of_models_cannot_collide():
    names = ["pocket-bert", "random:pocket-bert", "org/name", "pocket-bert@500", "/one/model", "/two/model"]
    slugs = [model_slug(name) for name in names]
    assert len(set(slugs)) == len(slugs) and not any("/" in slug or ":" in slug for slug in slugs)


def test_a_full_disk_is_one_line_and_the_network_is_asked_for(tmp_path, monkeypatch):
    assert describe(OSError(28, "No space left on device")).count("\n") == 0
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert [environment(tmp_path, online)["HF_HUB_OFFLINE"] for online in (False, True)] == ["1", "0"]


def test_a_cell_that_is_no_python_is_told_before_anything_runs(tmp_path):
    root = make_project(tmp_path)
    add_notebook(root, "syntax", WRITE_RECORD)
    add_notebook(root, "layers", "1 + 1", "b = (")
    with pytest.raises(BertologyError, match=r"layers.ipynb: cell 3 is no Python"):
        run(root)
    assert not (root / "_executed" / "live").exists()
