"""Reruns: where they lie, what is kept of them, and flips counted by hand."""

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from ledger_toys import Balance, claim
from markupsafe import escape
from notebook_project import add_notebook, make_project

from bertology_utils import cli
from bertology_utils.data import material
from bertology_utils.errors import BertologyError
from bertology_utils.files import read_json, read_rows
from bertology_utils.pages import build, contents
from bertology_utils.pages.run_record import SPEED, data_table, interval_table, rerun_table, speed_table, twin_table
from bertology_utils.project import Job, find_root, plan
from bertology_utils.running import runner
from bertology_utils.running.execution import Outcome
from bertology_utils.tuning.training import run_seeds
from bertology_utils.verdicts import reruns
from bertology_utils.verdicts.predictions import ClauseResult
from bertology_utils.verdicts.recorded import recorded_path


def runs(claim: str, *words: str) -> list[reruns.Verdict]:
    return [
        reruns.Verdict("syntax", claim, "pocket-bert", "live", seed, word, "abc", "2027-01-02")
        for seed, word in enumerate(words, 1)
    ]


def test_flips_are_counted_against_the_majority_of_each_claim():
    verdicts = runs("a", "replicates", "replicates", "contradicts", "underpowered", "replicates")
    verdicts += runs("b", *["underpowered"] * 5)
    verdicts += runs("c", "replicates", "replicates (not specific)", "underpowered", "contradicts", "contradicts")
    assert reruns.flips(verdicts) == reruns.Flips(claims=3, seeds=5, verdicts=15, flipped=5, opposed=3)
    assert reruns.flips([]) == reruns.Flips(0, 0, 0, 0, 0)


def test_a_seed_draws_other_sentences_of_the_same_split():
    def nouns(sentences):
        return {w for s in sentences for w, tag in zip(s.words, s.upos, strict=True) if tag == "NOUN"}

    first, second = (material.treebank(20, 12, seed=seed) for seed in (1, 2))
    assert [s.words for s in first.test] != [s.words for s in second.test]
    assert not nouns(first.train + second.train) & nouns(first.test + second.test)


def test_no_two_reruns_train_with_one_seed():
    places = [place for seed in range(6) for place in run_seeds(seed)]
    assert places[:3] == [0, 1, 2] and len(set(places)) == len(places) == 18


def test_a_rerun_lies_beside_the_run_that_pages_show(tmp_path):
    shown, other = Job(tmp_path, "syntax"), Job(tmp_path, "syntax", seed=3)
    assert other.folder == shown.folder / "seed-3" and other.label == f"{shown.label} · seed 3"
    assert recorded_path(other) == recorded_path(shown)
    other.folder.mkdir(parents=True)
    other.record.write_text("{}")
    assert build.record_paths(tmp_path) == []


def pretend_run(jobs, **_):
    """Leave the records of a chapter whose one verdict depends on the seed."""
    for job in jobs:
        words = {"a": "replicates" if job.seed < 2 else "contradicts", "b": "not testable here"}
        results = [{"id": name, "model": job.model, "verdict": word} for name, word in words.items()]
        job.folder.mkdir(parents=True)
        job.record.write_text(json.dumps({"results": results, "run": {"commit": "abc", "when": "2026-01-02T03:04"}}))
    return [Outcome(job, "done") for job in jobs]


def test_the_command_runs_each_seed_once_and_keeps_the_verdicts(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runner, "run_jobs", pretend_run)
    root = make_project(tmp_path)
    add_notebook(root, "syntax", "1 + 1")
    assert cli.main(["rerun", "--seeds", "3", "--jobs", "1", "--root", str(root)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "syntax\t1\t3\t1/3\t1"
    kept = read_rows(root / reruns.PATH, reruns.Verdict)
    assert [(v.claim, v.seed, v.verdict) for v in kept] == [
        ("a", 1, "replicates"), ("a", 2, "contradicts"), ("a", 3, "contradicts")]  # fmt: skip
    assert not Job(root, "syntax").record.exists()


def test_later_runs_replace_earlier_ones_and_nothing_else(tmp_path):
    path = tmp_path / "results" / "reruns.csv"
    reruns.write(path, runs("a", "replicates", "contradicts"))
    reruns.write(path, runs("a", "replicates", "replicates")[1:])
    assert read_rows(path, reruns.Verdict) == runs("a", "replicates", "replicates")


def test_reruns_from_before_an_amendment_do_not_count():
    (one,) = runs("a", "replicates")
    before, after = replace(one, date="2027-01-02"), replace(one, date="2027-01-02T09:00:00+00:00")
    other = replace(before, claim="b")
    amended = {"a": datetime(2027, 1, 2, 8, tzinfo=UTC), "b": None}
    assert reruns.current([before, after, other], amended) == [after, other]
    assert reruns.current([replace(other, date="2026-11-26T04:52:00+00:00")], amended) == []  # other words then
    checks = [reruns.IntervalCheck("syntax", claim, "x > 0", "pocket-bert", "live", 5, 1.0, 1.0) for claim in "ab"]
    assert reruns.current_checks(checks, reruns.current([before, other], amended)) == checks[1:]


def leave_records(root, differences, half=0.196):
    """One job a difference: a clause with an interval of `half` to each side, one without any, one that stays."""
    jobs = [Job(root, "syntax", seed=seed) for seed in range(1, len(differences) + 1)]
    for job, difference in zip(jobs, differences, strict=True):
        clause = {"text": "x > 0", "effect": difference, "low": difference - half, "high": difference + half}
        exact = {"text": "y > 0", "effect": difference, "low": difference, "high": difference}
        fixed = {"text": "z > 0", "effect": 1.0, "low": 0.9, "high": 1.1}
        results = [{"id": "a", "model": job.model, "verdict": "replicates", "clauses": [clause, exact, fixed]}]
        job.folder.mkdir(parents=True)
        job.record.write_text(json.dumps({"results": results, "run": {"commit": "abc", "when": "2026-01-02"}}))
    return jobs


def test_the_spread_over_reruns_is_set_beside_what_intervals_imply(tmp_path):
    differences = np.random.default_rng(0).normal(0, 0.3, size=400)
    (check,) = reruns.checks_of(leave_records(tmp_path, differences))
    assert (check.clause, check.seeds) == ("x > 0", 400) and check.error == pytest.approx(0.1, rel=1e-3)
    assert check.spread == pytest.approx(differences.std(ddof=1))
    assert reruns.typical_spread([check]) == pytest.approx(3, rel=0.1)

    path = tmp_path / "results" / "interval_checks.csv"
    reruns.write_checks(path, [check, replace(check, chapter="layers")])
    reruns.write_checks(path, [replace(check, spread=0.1)])
    kept = read_rows(path, reruns.IntervalCheck)
    assert [(c.chapter, c.spread) for c in kept] == [("layers", check.spread), ("syntax", 0.1)]
    html = interval_table(kept)
    assert Balance(html).open == [] and "1 (50.0%)" in html and "0 (0.0%)" in html and interval_table([]) == ""


def test_few_reruns_leave_some_spreads_far_off_by_chance(tmp_path):
    generator = np.random.default_rng(1)
    checks = [
        reruns.IntervalCheck("syntax", "a", "x > 0", "m", "live", 5, float(generator.normal(size=5).std(ddof=1)), 1.0)
        for _ in range(2000)
    ]
    far = np.mean([check.spread > 1.5 for check in checks])
    assert reruns.typical_spread(checks) == pytest.approx(1, abs=0.05)
    assert f"{far:.0%}" in ("5%", "6%", "7%") and "<td>6.1%</td>" in interval_table(checks)


@pytest.mark.parametrize("effect", [0.3, 0.5])
def test_an_effect_at_its_bar_flips_as_often_as_its_interval_says(effect):
    at_bar = ClauseResult("x > 0", 0, 0, effect, effect - 0.0196, effect + 0.0196, effect, "", error=0.01)
    noise = np.random.default_rng(1).standard_normal((4000, 5))
    words = np.digitize(noise, [-1.96, 1.96])  # below its bar, at it, beyond it
    plain = np.mean([5 - max(Counter(row).values()) for row in words])
    assert reruns.expected_flips([[at_bar]], seeds=5, draws=2000) == pytest.approx(plain, abs=0.04)
    assert reruns.expected_flips([[replace(at_bar, smallest=0.1)]], seeds=5) == 0


def test_smoke_runs_and_missing_records_are_refused(tmp_path, capsys):
    root = make_project(tmp_path)
    add_notebook(root, "syntax", "1 + 1")
    assert cli.main(["rerun", "--profile", "smoke", "--root", str(root)]) == 1
    assert "--out" in capsys.readouterr().err
    with pytest.raises(BertologyError, match="no record"):
        reruns.verdicts_of(plan(root))


def test_the_run_record_shows_shares(tmp_path):
    found = runs("a", "replicates", "replicates", "contradicts", "underpowered")
    still = runs("b", "replicates", "replicates", "replicates", "replicates")
    moved = reruns.IntervalCheck("syntax", "a", "x > 0", found[0].model, found[0].profile, 4, 1.0, 1.0)
    html = rerun_table([*found, *still], [moved], [])
    assert Balance(html).open == [] and "2 (25.0%)" in html and "2 (50.0%)" in html and "1 (12.5%)" in html
    assert rerun_table([], [], []) == "" == twin_table([])

    words = {"a": "replicates", "b": "underpowered", "c": "replicates", "d": "not testable here"}
    found = [
        {"id": name, "results": [{"model": "random:pocket-bert", "profile": "live", "verdict": word}]}
        for name, word in words.items()
    ]
    (tmp_path / "ledger.json").write_text(json.dumps(found), encoding="utf-8")
    claims = [claim(name, specific=name != "a") for name in words]
    html = twin_table(contents.load_rows(tmp_path / "ledger.json", claims))
    assert Balance(html).open == [] and "2 (66.7%)" in html and "1 (50.0%)" in html


def test_real_data_keep_decide_undo_or_turn_a_verdict(tmp_path):
    pairs = {
        "same": ("replicates", "replicates (not specific)"),
        "decided": ("underpowered", "contradicts"),
        "undone": ("contradicts", "underpowered"),
        "turned": ("replicates", "contradicts"),
        "untested": ("not testable here", "replicates"),
    }
    live, full = {"model": "m", "profile": "live"}, {"model": "m", "profile": "full", "recorded": True}
    found = [
        {"id": name, "results": [live | {"verdict": here}, full | {"verdict": there}, full | {"model": "n"}]}
        for name, (here, there) in pairs.items()
    ]
    (tmp_path / "ledger.json").write_text(json.dumps(found), encoding="utf-8")
    html = data_table(contents.load_rows(tmp_path / "ledger.json", [claim(name) for name in pairs]))
    assert Balance(html).open == [] and "<td>4</td>" + 4 * "<td>1 (25.0%)</td>" in html
    assert data_table([]) == ""


def test_a_second_model_is_compared_with_its_own_live_run():
    kept = {"recorded": True}
    runs = [("m", "live", "replicates", {}), ("m", "full", "replicates", kept), ("n", "live", "contradicts", kept),
            ("n", "full", "replicates", kept)]  # fmt: skip
    results = [{"model": m, "profile": p, "verdict": v} | extra for m, p, v, extra in runs]
    html = data_table(contents.rows_of([{"id": "a", "results": results}], [claim("a")]))
    zero, one = "<td>0 (0.0%)</td>", "<td>1 (100.0%)</td>"
    assert f"<td>m</td><td>1</td>{one}{3 * zero}" in html and f"<td>n</td><td>1</td>{3 * zero}{one}" in html


def test_the_recorded_benchmarks_stand_beside_the_plain_ways():
    ways = [{"way": "by hand", "cost": 2.0, "ratio": 1.0, "low": 1.0, "high": 1.0}]
    ways.append({"way": "at once", "cost": 0.5, "ratio": 4.0, "low": 3.0, "high": 5.0})
    entry = {"what": "a < b", "quantity": "seconds", "speeds": ways, "judged": "at once", "bar": 3.0}
    html = speed_table([entry | {"equal": True, "verdict": "reached"}])
    told = ("a &lt; b", "by hand", "2 seconds", "0.5 seconds", "4 (3 to 5)", "3, reached", "yes")
    assert all(f">{text}<" in html for text in told)
    assert speed_table([]) == ""
    recorded = read_json(find_root() / SPEED)  # entries from before a field was added lack it
    assert all(str(escape(entry["what"])) in speed_table(recorded) for entry in recorded if not entry.get("items"))


def test_claims_that_were_run_again_alone_replace_their_own_verdicts(tmp_path):
    old = [reruns.Verdict("syntax", claim, "m", "live", 1, "replicates", "abc", "2026-01-01") for claim in ("a", "b")]
    reruns.write(tmp_path / "reruns.csv", old)
    reruns.write(tmp_path / "reruns.csv", [replace(old[0], verdict="contradicts")], alone=True)
    assert [(v.claim, v.verdict) for v in read_rows(tmp_path / "reruns.csv", reruns.Verdict)] == [
        ("a", "contradicts"),
        ("b", "replicates"),
    ]
