"""Verdicts over steps, sizes and seeds: the same claims in every column, and the order in which they come to hold."""

import re

import pytest
from family_toys import make_family
from ledger_toys import claim

from bertology_utils.families import is_member
from bertology_utils.pages import contents, emergence

HOLDS, OPEN, FAILS, ALIKE = "replicates", "underpowered", "contradicts", "replicates (not specific)"
RUNS = ("ladder-2m@5", "ladder-2m@40", "ladder-2m", "ladder-10m")
SEEDS = ("ladder-2m", "ladder-2m-seed-1")


def link(document):
    return f"../{document}.html"


def result(model, verdict, control=OPEN, **changes):
    verdicts = {"verdict": verdict, "model_verdict": verdict, "control_verdict": control}
    return {"model": model, "profile": "live", "recorded": True, "measured": 0.75, "control": 0.5} | verdicts | changes


def rows_of(**verdicts):
    """Claims with one verdict a run of RUNS."""
    entries = [
        {"id": name, "results": [result(*pair) for pair in zip(RUNS, found, strict=False)]}
        for name, found in verdicts.items()
    ]
    return contents.rows_of(entries, [claim(name) for name in verdicts])


@pytest.fixture
def family(tmp_path):
    return make_family(tmp_path)


def test_columns_are_the_lowest_rungs_steps_and_then_the_rungs(family):
    columns = {"step 5": RUNS[0], "step 40": RUNS[1], RUNS[2]: RUNS[2], RUNS[3]: RUNS[3]}
    assert list(emergence.columns_of(family).items()) == list(columns.items())
    assert tuple(emergence.seeds_of(family)) == SEEDS


def test_a_project_without_a_ladder_or_runs_says_what_is_missing(tmp_path, family):
    assert "bertology run --record" in emergence.emergence_part(tmp_path / "none", rows_of(one=[HOLDS] * 4), link)
    assert "bertology run --record" in emergence.emergence_part(family, rows_of(), link)


def test_every_column_counts_the_same_claims(family):
    rows = rows_of(same=[HOLDS] * 4, late=[OPEN, OPEN, HOLDS, HOLDS], few=[HOLDS])
    part = emergence.emergence_part(family, rows, link)
    said = "Of 2 claims about what training teaches, so many replicate, specific to training: 1 (step 5), 1 (step 40)"
    assert said in part and "&lt;few&gt;" not in part
    assert part.count('class="outcome outcome-') == 2 * 5  # beside the runs the control of the first


def test_claims_of_architecture_are_left_out(family):
    entries = [{"id": "one", "results": [result(model, HOLDS) for model in RUNS]}]
    rows = contents.rows_of(entries, [claim("one", specific=False)])
    assert emergence.outcomes(rows, emergence.columns_of(family)).empty


def test_only_specific_replications_count_and_untrained_networks_have_none(family):
    entries = [{"id": "one", "results": [result(model, ALIKE, control=HOLDS) for model in RUNS]}]
    part = emergence.emergence_part(family, contents.rows_of(entries, [claim("one")]), link)
    assert "specific to training: 0 (step 5), 0 (step 40)" in part and "Untrained networks meet 1." in part
    assert 'outcome-replicates"' not in part


def test_claims_that_hold_earlier_stand_higher(family):
    found = {"last": [FAILS, OPEN, OPEN, HOLDS], "second": [OPEN, HOLDS, HOLDS, HOLDS]}
    rows = rows_of(**found, first=[HOLDS] * 4, lost=[HOLDS, OPEN, OPEN, OPEN])
    table = emergence.emergence_part(family, rows, link).split("<table")[1]
    assert re.findall(r"&lt;(\w+)&gt;", table) == ["first", "second", "last", "lost"]


def test_what_never_changes_is_counted_and_not_listed(family):
    part = emergence.emergence_part(family, rows_of(never=[OPEN] * 4, late=[OPEN, OPEN, OPEN, HOLDS]), link)
    assert "&lt;never&gt;" not in part
    assert "Alike in every column are the other 1: underpowered 1." in part


def test_seeds_say_how_much_of_a_difference_is_luck():
    entries = [
        {"id": "agreed", "results": [result(SEEDS[0], HOLDS), result(SEEDS[1], HOLDS)]},
        {"id": "opposed", "results": [result(SEEDS[0], HOLDS), result(SEEDS[1], FAILS)]},
        {"id": "open", "results": [result(SEEDS[0], OPEN), result(SEEDS[1], FAILS)]},
    ]
    rows = contents.rows_of(entries, [claim(entry["id"]) for entry in entries])
    sentence = emergence.seed_sentence(emergence.outcomes(rows, {name: name for name in SEEDS}))
    assert "2 seeds of the lowest rung, trained alike, agree on 1 of 3" in sentence
    assert "on 1 one replicates and another contradicts, and between 1 and 2 replicate" in sentence
    assert emergence.seed_sentence(emergence.outcomes(rows, {SEEDS[0]: SEEDS[0]})) == ""


def test_real_data_have_a_figure_of_their_own_beside_what_generated_data_say(family):
    real = {"same": [HOLDS] * 4, "turned": [FAILS] * 4, "lost": [OPEN] * 4}
    entries = [
        {
            "id": name,
            "results": [result(model, HOLDS) for model in RUNS]
            + [result(model, verdict, profile="full") for model, verdict in zip(RUNS, verdicts, strict=True)],
        }
        for name, verdicts in real.items()
    ]
    rows = contents.rows_of(entries, [claim(name) for name in real])
    part = emergence.real_data_part(family, rows, link)
    assert "specific to training: 1 (step 5)" in part
    part = " ".join(part.split())
    assert "Of 12 verdicts that these columns give on generated data too, 4 are the same there, 4 the opposite" in part
    assert "and 4 read otherwise without being opposed" in part
    assert "specific to training: 3 (step 5)" in emergence.emergence_part(family, rows, link)


def test_without_runs_on_real_data_the_page_says_what_is_missing(family):
    assert "bertology run --record" in emergence.real_data_part(family, rows_of(one=[HOLDS] * 4), link)


def test_members_of_a_series_are_not_shown_one_by_one():
    names = ("ladder-1m", "ladder-1m-seed-2", "ladder-1m@400", "pocket-bert@100")
    assert all(map(is_member, names)) and not any(map(is_member, ("pocket-bert", "minilm", "./mine-3m")))
    (row,) = rows_of(one=[HOLDS] * 4)
    assert row.recorded == ()


def test_results_from_recorded_intervals_are_counted(family):
    entries = [{"id": "one", "results": [result(model, HOLDS, intervals_only=model == RUNS[0]) for model in RUNS]}]
    part = emergence.emergence_part(family, contents.rows_of(entries, [claim("one")]), link)
    assert "1 of these 4 results are from before records kept samples" in part
    assert "before records" not in emergence.emergence_part(family, rows_of(one=[HOLDS] * 4), link)
