"""What a fork runs on a server: workflows call commands that exist, and put no input into a command's text."""

import re
import shlex
from pathlib import Path

import pytest
import typer
import yaml

from bertology_utils.cli import app

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
COMMAND = typer.main.get_command(app)
CALL = re.compile(r"\.venv/bin/bertology (.+)")


def steps(path: Path) -> list[dict]:
    """All steps of a workflow's jobs."""
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def calls(path: Path) -> list[list[str]]:
    """The words of each call of the command, without what the shell does with its output."""
    lines = [line for step in steps(path) for line in CALL.findall(step.get("run", ""))]
    return [shlex.split(re.sub(r"\s*[0-9]?>.*", "", line)) for line in lines]


def known(words: list[str]) -> bool:
    """Whether a command takes these options and as many arguments."""
    command = COMMAND.commands[words[0]]
    context = command.make_context(words[0], list(words[1:]))
    return context.command is command and not context.args


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_call_is_of_a_command_with_these_options(path):
    assert all(map(known, calls(path)))


def test_a_call_that_the_command_does_not_know_is_found():
    with pytest.raises(Exception, match="No such option"):
        known(["run", "--modle", "x"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_input_becomes_text_of_a_command(path):
    assert not [step for step in steps(path) if "${{" in step.get("run", "")]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_rights_are_named_and_jobs_end(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] and all(job["timeout-minutes"] for job in workflow["jobs"].values())


def test_results_are_recorded_where_the_pages_read_them():
    (model,) = (path for path in WORKFLOWS if path.stem == "model")
    assert any({"--record", "--online"} <= set(words) for words in calls(model))
    assert any("git add results/runs" in step.get("run", "") for step in steps(model))
