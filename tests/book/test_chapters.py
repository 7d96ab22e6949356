"""Every chapter really runs: on the embedded model, through the runner, two at a time.

In the `smoke` profile, whose results go to `_executed/smoke/`, so that a chapter whose sources are unchanged is not run
again; or, where the whole book has just run live, that is looked at and nothing is run.
"""

import json
import re
from pathlib import Path

import nbformat
import pytest
from rich.console import Console

from bertology_utils.files import read_json
from bertology_utils.project import CHAPTERS, DEFAULT_MODEL, Job, chapters, model_folder, plan
from bertology_utils.running.execution import Order, Outcome, execute
from bertology_utils.running.freshness import fingerprint, state
from bertology_utils.running.runner import run_jobs
from bertology_utils.verdicts.claims import claims_file, read_claims
from bertology_utils.verdicts.predictions import NOT_TESTABLE, VERDICTS

ROOT = Path(__file__).resolve().parents[2]
FEWEST_VERDICTS = 2
FEWEST_SEEDS = 5  # from which intervals cover as they should; of one network there is one
NOT_ASKED = re.compile("can be asked|as single pieces|as one piece|is too long|that this module knows")
REPEATED = ("embeddings", "world_knowledge")  # an encoder with probes, and clozes


@pytest.fixture(scope="session")
def outcomes(pytestconfig) -> dict[str, Outcome]:
    """How each chapter ended; its progress is printed even where pytest captures output, for it takes minutes."""
    if not chapters(ROOT) or model_folder(ROOT, DEFAULT_MODEL) is None:
        return {}
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        live = plan(ROOT, profile="live")
        jobs = live if all(state(job).fresh for job in live) else plan(ROOT, profile="smoke")
        print(f"\nchapters in the {jobs[0].profile} profile:", flush=True)
        ended = run_jobs(jobs, workers=2, console=Console(force_terminal=False))
    return {outcome.job.chapter: outcome for outcome in ended}


@pytest.fixture(params=CHAPTERS)
def job(request, outcomes) -> Job:
    """One chapter's run that ended well."""
    if request.param not in outcomes:
        pytest.skip(f"notebooks/{request.param}.ipynb or the model {DEFAULT_MODEL} is not there")
    outcome = outcomes[request.param]
    assert outcome.status in ("done", "fresh"), outcome.message
    return outcome.job


def test_the_chapter_runs_to_its_end_and_gives_verdicts(job):
    executed = nbformat.read(job.notebook, as_version=4)
    cells = [cell for cell in executed.cells if cell.cell_type == "code" and cell.source.strip()]
    assert all(cell.execution_count for cell in cells), "a cell was not executed"
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]

    record = read_json(job.record)
    claims = {claim.id for claim in read_claims(claims_file(job.chapter))}
    results = record["results"]
    assert {result["id"] for result in results} <= claims
    assert {result["verdict"] for result in results} <= set(VERDICTS)
    tested = [result for result in results if result["verdict"] != NOT_TESTABLE]
    assert len(tested) >= FEWEST_VERDICTS
    assert all(result["reason"] for result in results if result["verdict"] == NOT_TESTABLE)
    lost = [r for r in results if r["verdict"] == NOT_TESTABLE and NOT_ASKED.search(r["reason"])]
    assert not lost, "the book's own specimen can be asked all that it is asked"
    measured = [result for result in tested if result["ci_low"] is not None]
    assert all(result["ci_low"] <= result["difference"] <= result["ci_high"] for result in measured)
    assert all("is not defined" in result["reason"] for result in tested if result not in measured)  # one by nothing
    few = [r["id"] for r in measured if 1 < r["seeds"] < FEWEST_SEEDS]
    assert not few or job.profile != "live", "two to four seeds cannot say how much seeds differ"
    assert record["run"]["profile"] == job.profile and record["run"]["model"] == DEFAULT_MODEL


@pytest.mark.parametrize("chapter", REPEATED)
def test_two_runs_on_one_machine_give_the_same_record_bit_for_bit(chapter):
    job = Job(ROOT, chapter, profile="smoke")
    first = job.record.read_text(encoding="utf-8") if state(job).fresh else run_again(job)
    assert measured(first) == measured(run_again(job))


def run_again(job: Job) -> str:
    """The record of a run that leaves nothing in the book."""
    outcome = execute(Order(job, fingerprint(job)))
    assert outcome.status == "done", outcome.message
    return outcome.record


def measured(record: str) -> dict:
    """A record with every digit of it, without times."""
    return {name: part for name, part in json.loads(record).items() if name not in ("run", "seconds")}


def test_the_chapter_says_nothing_on_stderr_and_asks_for_nothing_outside(job):
    """A warning in a reader's page is a defect; so is a figure that would fetch a script."""
    executed = nbformat.read(job.notebook, as_version=4)
    outputs = [output for cell in executed.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    shown = [str(output.get("data", {}).get("text/html", "")) for output in outputs]
    assert not [html for html in shown if 'src="http' in html or "widget-view" in html]
