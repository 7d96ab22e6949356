"""Recorded runs: kept with their provenance, shown beside live ones, dropped when the prediction has changed."""

import json
import re
import subprocess
from datetime import UTC, datetime

import pytest
from ledger_toys import claim
from notebook_project import add_notebook, make_project

from bertology_utils import cli
from bertology_utils.errors import BertologyError
from bertology_utils.pages import contents, layout, ledger_table
from bertology_utils.project import Job
from bertology_utils.provenance import commit
from bertology_utils.running.freshness import fingerprint
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.ledger import collect_records, drop_uncovered
from bertology_utils.verdicts.recorded import keep, recorded_paths

CLAIM = claim_by_id("depth-probe")


def record(model, profile="live", prediction=CLAIM.full_prediction, **changes):
    result = {"id": CLAIM.id, "prediction": prediction, "model": model, "profile": profile, "measured": 0.123456789,
              "verdict": "replicates"}  # fmt: skip
    return {"results": [result | changes], "run": {"commit": "abc", "when": "2026", "freshness": {"hash": "x"}}}


@pytest.fixture
def root(tmp_path):
    root = make_project(tmp_path)
    add_notebook(root, "syntax", "1 + 1")
    return root


def executed(root, content, **facts):
    job = Job(root, "syntax", **facts)
    job.folder.mkdir(parents=True, exist_ok=True)
    job.record.write_text(json.dumps(content), encoding="utf-8")
    return job


def test_a_kept_record_has_provenance_and_readable_numbers_but_no_list_of_files(root):
    (path,) = keep([executed(root, record("pocket-minilm"), model="pocket-minilm")])
    assert path == root / "results/runs/live/pocket-minilm/syntax.json" and recorded_paths(root) == [path]
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["run"] == {"commit": "abc", "when": "2026"}
    assert kept["results"][0]["measured"] == 0.123457


def test_what_is_not_worth_keeping_is_refused(root):
    with pytest.raises(BertologyError, match="smoke"):
        keep([executed(root, record("pocket-bert"), profile="smoke")])
    with pytest.raises(BertologyError, match="no record"):
        keep([Job(root, "syntax", "pocket-minilm")])


def test_keeping_a_record_makes_no_chapter_stale(root):
    job = executed(root, record("pocket-bert"))
    before = fingerprint(job)["hash"]
    keep([job])
    assert fingerprint(job)["hash"] == before


def collected(tmp_path, own, kept):
    paths = []
    for place, content in enumerate([*own, *kept]):
        paths.append(tmp_path / f"{place}.json")
        paths[-1].write_text(json.dumps(content), encoding="utf-8")
    rows = collect_records(paths[: len(own)], paths[len(own) :])
    return next(row["results"] for row in rows if row["id"] == CLAIM.id)


def test_records_are_outputs_and_make_no_commit_dirty(root):
    recorded = keep([executed(root, record("pocket-minilm"), model="pocket-minilm")])[0]
    for call in (["init"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-m", "all"]):
        subprocess.run(["git", "-C", str(root), *call], check=True, capture_output=True)
    recorded.write_text("{}", encoding="utf-8")
    assert not commit(root).endswith("-dirty")
    (root / "notebooks" / "syntax.ipynb").write_text("{}", encoding="utf-8")
    assert commit(root / "notebooks").endswith("-dirty")


def test_a_run_of_this_machine_displaces_the_recorded_one_of_the_same_kind(tmp_path):
    found = collected(tmp_path, [record("a")], [record("a"), record("b"), record("a", "full")])
    assert [(r["model"], r["profile"], r["recorded"]) for r in found] == [
        ("a", "live", False), ("b", "live", True), ("a", "full", True),
    ]  # fmt: skip


def test_a_second_model_judged_in_several_runs_counts_once(tmp_path):
    first, again = record("second"), record("second", measured=0.5)
    found = collected(tmp_path, [first, again], [record("second")])
    assert [(r["model"], r["measured"], r["recorded"]) for r in found] == [("second", 0.123456789, False)]


def test_a_result_judged_by_another_prediction_is_not_shown(tmp_path):
    assert collected(tmp_path, [], [record("a", prediction="model > 2")]) == []


def row(*results):
    return contents.Row(claim("one"), results)


def test_a_result_from_before_the_measure_was_amended_is_not_shown():
    amended = CLAIM.model_copy(update={"amended": datetime(2026, 11, 23, 12, tzinfo=UTC)})
    times = ("2026-11-23T11:59:00.5+00:00", "2026-11-23T12:01:00.5+00:00")
    result = {"prediction": CLAIM.full_prediction}
    assert [amended.covers(result | {"date": time}) for time in times] == [False, True]
    assert CLAIM.covers(result | {"date": times[0]}) and not amended.covers({"prediction": "a > b", "date": times[1]})


def test_the_full_profile_comes_first_and_twins_are_left_to_the_details():
    runs = (("pocket-minilm", "live"), ("random:pocket-bert", "live"), ("pocket-bert", "full"))
    common = {"recorded": True, "verdict": "replicates", "date": "1"}
    kept = [{"model": model, "profile": profile, **common} for model, profile in runs]
    assert [result["profile"] for result in row(*kept).recorded] == ["full", "live"]
    assert row(*kept).live is None


def test_the_card_of_a_claim_tells_its_recorded_results():
    card = '<section class="verdict-card verdict-replicates" id="claim-one"><p class="verdict-foot">end</p></section>'
    notebook = {"cells": [{"outputs": [{"data": {"text/html": [card]}}]}]}
    kept = {"model": "pocket-minilm", "profile": "live", "recorded": True, "verdict": "contradicts"}
    kept |= {"difference": -0.25}
    layout.with_recorded(notebook, {"one": row(kept)})
    text = notebook["cells"][0]["outputs"][0]["data"]["text/html"]
    assert layout.recorded_line([kept]) in text
    assert "pocket-minilm" in text and "contradicts" in text and "effect -0.25" in text


def test_the_index_tells_how_the_recorded_verdicts_are_spread():
    kept = {"model": "pocket-minilm", "profile": "live", "recorded": True}
    rows = [row(kept | {"verdict": verdict}) for verdict in ("replicates", "contradicts", "not testable here")]
    ran = contents.Row(claim("two"), ({**kept, "recorded": False, "verdict": "replicates"},))
    text = ledger_table.headline([*rows, ran], str)
    cells = re.findall("<td>(.*?)</td>", text.partition("pocket-minilm")[2])
    assert cells == ["generated", "1 of 2", "1", "0", "0 of 0"] and "<table" not in ledger_table.headline([], str)


@pytest.mark.parametrize(("argument", "word"), [("--profile=smoke", "smoke"), ("--seed=3", "seed 0")])
def test_what_cannot_be_recorded_is_told_before_anything_runs(root, capsys, argument, word):
    assert cli.main(["run", "syntax", argument, "--record", "--root", str(root)]) == 1
    assert word in capsys.readouterr().err and not (root / "_executed").exists()


def test_results_of_an_earlier_test_are_dropped_with_records_that_hold_no_other(tmp_path):
    paths = [tmp_path / f"{name}.json" for name in ("current", "mixed", "outdated")]
    current, outdated = record("pocket-minilm"), record("pocket-minilm", prediction="a > b")
    mixed = current | {"results": [*outdated["results"], *current["results"]]}
    for path, content in zip(paths, (current, mixed, outdated), strict=True):
        content["run"] |= {"when": "2027-01-01T00:00:00+00:00"}
        path.write_text(json.dumps(content), encoding="utf-8")
    before = paths[0].read_bytes()
    assert drop_uncovered(paths) == 2 and not paths[2].exists()
    assert paths[0].read_bytes() == before and json.loads(paths[1].read_text(encoding="utf-8")) == current
    assert drop_uncovered(paths[:2]) == 0
