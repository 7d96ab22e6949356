"""Conflicts: regions are intervals, outcomes follow from how the run's intervals lie in them, and figures tell both."""

import json
import re
from math import inf
from pathlib import Path

import numpy as np
import pytest
import yaml
from ledger_toys import claim

from bertology_utils.bibliography import load_references
from bertology_utils.chapter import Chapter, Runs
from bertology_utils.errors import BertologyError
from bertology_utils.figures.regions import Band, regions
from bertology_utils.pages import axes as axes_page
from bertology_utils.pages import conflict_pages, contents
from bertology_utils.statistics import Measurement
from bertology_utils.verdicts import conflicts
from bertology_utils.verdicts.claims import claim_by_id, load_claims
from bertology_utils.verdicts.conflicts import (
    Axis,
    Evidence,
    Region,
    Settled,
    axes,
    favoured,
    load_conflicts,
    read_settled,
    samples_to_keep,
    settled,
)
from bertology_utils.verdicts.predictions import parse

ROOT = Path(__file__).parents[2]
AXIS = {
    "name": "place",
    "notebook": "layers",
    "scale": "place in the stack",
    "rows": {"tags": "place / layers"},
    "sides": [
        {"label": "Low", "region": "< 0.33", "because": "x"},
        {"label": "High", "region": "> 0.67", "because": "y"},
    ],
    "differ": "They look elsewhere.",
}


def at(value: float, low: float, high: float) -> Measurement:
    return Measurement(value, low, high, n=9)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("> 0.5", 0.5, inf), ("< -0.4", -inf, -0.4), ("-0.02 to 0.02", -0.02, 0.02), ("< 1", -inf, 1.0)],
)
def test_a_region_is_read(text, low, high):
    assert (Region.of(text).low, Region.of(text).high) == (low, high)


@pytest.mark.parametrize("text", ["0.5", ">= 0.5", "0.5 to 0.2", "about 1", "> x"])
def test_a_region_that_cannot_be_read(text):
    with pytest.raises(ValueError, match="must read"):
        Region.of(text)


@pytest.mark.parametrize(
    ("text", "low", "high", "fit"),
    [
        ("> 0.5", 0.5, 0.7, "inside"),
        ("> 0.5", 0.4, 0.6, "overlapping"),
        ("> 0.5", 0.1, 0.49, "outside"),
        ("0.2 to 0.4", 0.1, 0.5, "overlapping"),  # the interval holds the region
        ("0.2 to 0.4", 0.25, 0.35, "inside"),
        ("0.2 to 0.4", 0.41, 0.6, "outside"),
        ("< 0.4", -3.0, 0.4, "inside"),
    ],
)
def test_the_interval_is_inside_overlapping_or_outside(text, low, high, fit):
    assert Region.of(text).fit(at((low + high) / 2, low, high)) == fit


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("inside", "outside", "first"),
        ("outside", "inside", "second"),
        ("inside", "inside", "both"),
        ("outside", "outside", "neither"),
        ("inside", "overlapping", "undecided"),
        ("overlapping", "outside", "undecided"),
        ("overlapping", "overlapping", "undecided"),
    ],
)
def test_the_outcome_follows_from_the_fits(first, second, outcome):
    assert favoured(first, second) == outcome


def test_a_side_is_judged_on_its_own_row_or_on_all():
    sides = [AXIS["sides"][0] | {"row": "tags"}, AXIS["sides"][1]]
    axis = Axis(**AXIS | {"rows": {"tags": "a", "chunks": "b"}, "sides": sides})
    rows = {"tags": at(0.1, 0.0, 0.2), "chunks": at(0.9, 0.8, 1.0)}
    low, high = axis.sides
    assert low.fit(rows) == "inside"
    assert high.fit(rows) == "outside"
    assert high.fit({"tags": at(0.7, 0.6, 0.8), "chunks": rows["chunks"]}) == "overlapping"


def test_evidence_is_the_formula_of_the_means_with_its_interval():
    places = np.random.default_rng(0).normal(2.0, 0.5, 400)
    (m,) = Axis(**AXIS).evidence({"place": places, "layers": 4}).rows.values()
    assert m.value == pytest.approx(places.mean() / 4)
    spread = places.std() / 20 / 4
    assert (m.low, m.high) == pytest.approx((m.value - 1.96 * spread, m.value + 1.96 * spread), abs=0.3 * spread)


def test_without_its_positive_control_a_run_cannot_tell():
    axis = Axis(**AXIS | {"given": "right > 0.6"})
    samples = {"place": np.full(20, 0.5), "layers": 4.0, "right": np.zeros(20)}
    found = settled(axis, samples, [samples])
    assert found.outcome == "unable" and "cannot tell" in found.sentence
    assert axis.names == {"place", "layers", "right"}
    assert axis.evidence(samples | {"right": np.ones(20)}).able


def lies(model, twin, differs=True):
    """A run on the toy axis whose model and twin have these intervals."""
    rows = [Evidence({"tags": at(*measured)}) for measured in (model, twin)]
    return Settled(Axis(**AXIS), *rows, differs)


LOW, HIGH, WIDE = (0.1, 0.05, 0.2), (0.9, 0.8, 1.0), (0.5, 0.1, 0.9)


@pytest.mark.parametrize(
    ("run", "outcome", "told"),
    [
        (lies(LOW, HIGH), "first", "supports “Low” over “High”: tags 0.10 [0.05, 0.20]."),
        (lies(HIGH, WIDE), "second", "supports “High” over “Low”"),
        (lies(HIGH, HIGH), "unspecific", "lies with “High” and not with “Low”, but shows no difference"),
        (lies(HIGH, WIDE, differs=False), "unspecific", "neither is supported"),
        (lies(WIDE, WIDE), "undecided", "leaves it undecided"),
    ],
)
def test_a_side_is_supported_only_if_the_other_is_refuted_and_training_is_why(run, outcome, told):
    assert run.outcome == outcome and told in run.sentence


def test_a_twin_that_fails_the_positive_control_has_no_say():
    run = Settled(Axis(**AXIS), Evidence({"tags": at(*HIGH)}), Evidence({"tags": at(*HIGH)}, able=False), True)
    assert run.outcome == "second"


def drawn(mean, seed):
    return {"place": np.random.default_rng(seed).normal(mean, 0.2, 60), "layers": 4.0}


def test_the_difference_to_untrained_twins_is_tested():
    axis, twins = Axis(**AXIS), [drawn(2.0, seed) for seed in (1, 2, 3)]
    assert settled(axis, drawn(3.6, 0), twins).outcome == "second"
    assert not settled(axis, drawn(2.0, 0), twins).differs


def record(path, monkeypatch, model="pocket-bert", profile="live"):
    """A record with the toy axis in it."""
    axis = Axis(**AXIS)
    monkeypatch.setattr(conflicts, "axes", lambda: {"place": axis})
    entry = samples_to_keep(axis, [drawn(3.6, 0) | {"more": 1.0}, drawn(2.0, 1)], {"BERT": 0.5})
    run = {"run": {"model": model, "profile": profile}, "axes": {"place": entry, "gone": {}}}
    path.write_text(json.dumps(run), encoding="utf-8")
    return path


def test_records_say_again_what_they_said_on_an_axis(tmp_path, monkeypatch):
    old = tmp_path / "old.json"
    old.write_text(json.dumps({"run": {"model": "pocket-bert", "profile": "live"}, "results": []}))
    paths = [record(tmp_path / "a.json", monkeypatch), record(tmp_path / "b.json", monkeypatch), old]
    (found,) = read_settled(paths)
    once = settled(Axis(**AXIS), drawn(3.6, 0), [drawn(2.0, 1)])
    assert found["outcome"] == "second" and found["published"] == {"BERT": 0.5}
    assert found["rows"]["tags"] == pytest.approx([once.model.rows["tags"].value, once.model.rows["tags"].low,
                                                   once.model.rows["tags"].high], rel=1e-3)  # fmt: skip


def broken(tmp_path: Path, **changes) -> Path:
    path = tmp_path / "conflicts.yaml"
    row = {"pair": ["a", "b"], "kind": "tension", "theme": "layers", "about": "?", "axis": AXIS | changes}
    path.write_text(yaml.safe_dump([row]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": {"tags": "place >"}}, "cannot be read"),
        ({"given": "place"}, "must be comparisons"),
        ({"sides": [AXIS["sides"][0] | {"row": "roles"}, AXIS["sides"][1]]}, "unknown row 'roles'"),
        ({"sides": [AXIS["sides"][0] | {"region": "0.5"}, AXIS["sides"][1]]}, "must read"),
        ({"unit": "points"}, "Extra inputs"),
    ],
)
def test_a_wrong_axis_is_told_with_its_conflict(tmp_path, changes, message):
    with pytest.raises(BertologyError, match=message) as caught:
        load_conflicts(broken(tmp_path, **changes))
    assert "conflicts.yaml: ['a', 'b']" in str(caught.value)


def test_an_unknown_axis_names_the_nearest():
    with pytest.raises(BertologyError, match="chunking"):
        conflicts.axis_by_name("chunkin")


def test_every_axis_is_settled_in_its_chapter_once():
    claims = {claim.id for claim in load_claims()}
    for axis in axes().values():
        cells = json.loads((ROOT / f"notebooks/{axis.notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
        code = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        assert len(re.findall(rf'chapter\.settle\(\s*"{axis.name}"', code)) == 1, axis.name
    assert {name for conflict in load_conflicts() if conflict.axis for name in conflict.pair} <= claims


def test_names_of_axes_are_unique():
    names = [conflict.axis.name for conflict in load_conflicts() if conflict.axis]
    assert len(names) == len(set(names))


def band(text: str) -> Band:
    region = Region.of(text)
    return Band(f"the study of {text}", text, region.low, region.high)


def figure(twin: float = 0.3, **options):
    rows = {"tags": at(0.5, 0.4, 0.6)}
    untrained = {"tags": at(twin, twin - 0.1, twin + 0.1)}
    return regions((band("< 0.2"), band("0.4 to 0.7")), rows, untrained, scale="place", **options)


def test_the_figure_tells_regions_run_and_twin_in_words():
    drawn = figure(points={"each layer": [0.1, 0.9]}, published={"BERT-base": 0.15})
    for words in ("predicts < 0.2", "predicts 0.4 to 0.7", "0.50 (0.40 to 0.60)", "0.30 (0.20", "BERT-base: 0.15"):
        assert words in drawn.alt
    labels = [label.get_text() for label in drawn.figure.axes[0].get_yticklabels()]
    assert labels[1:-1] == ["this run", "untrained twin", "each layer", "published:\nBERT-base"]
    assert drawn._repr_html_().count("<pattern") == 2  # hatching tells the regions apart without colour


def test_the_axis_holds_everything_but_a_far_twin():
    low, high = figure(twin=40.0, points={"each layer": [-1.0, 2.0]}).figure.axes[0].get_xlim()
    assert -2 < low < -1 and 2 < high < 3


def test_regions_reach_as_far_as_they_say():
    axes_ = figure().figure.axes[0]
    first, second = (bar for bar in axes_.patches if bar.get_hatch())
    assert first.get_x() == axes_.get_xlim()[0]
    assert first.get_x() + first.get_width() == pytest.approx(0.2)
    assert (second.get_x(), second.get_width()) == pytest.approx((0.4, 0.3))


def test_a_chapter_settles_a_conflict(tiny, tiny_twin, monkeypatch):
    chapter = Chapter("layers", tiny.name, "smoke", 0, None)
    shown = []
    monkeypatch.setattr("bertology_utils.chapter.display", shown.append)
    bands = {"chunk_middle": 0.8, "chunk_low": 0.5, "nmi_middle": 0.4, "nmi_low": 0.3}
    model = {name: np.full(30, value) for name, value in bands.items()}
    chapter.settle("chunking", Runs(model, model | {"chunk_middle": np.full(30, 0.2)}))
    (html,) = (one.data for one in shown)
    assert 'id="conflict-chunking"' in html and "<svg" in html
    assert (
        "This run supports “Liu et al.: middle layers” over “Jawahar et al.: lower layers”: probe of words 0.30" in html
    )


def chunking_card(results, entries=()):
    conflict = next(c for c in load_conflicts() if c.axis and c.axis.name == "chunking")
    rows = {name: contents.Row(claim_by_id(name), tuple(results)) for name in conflict.pair}
    return conflict_pages.conflict_card(conflict, rows, load_references(), lambda name: f"../{name}.html", entries)


RAN = {"model": "pocket-bert", "profile": "live", "verdict": "replicates"}


def test_the_synthesis_card_links_to_the_figure_once_the_chapter_ran():
    assert 'href="../notebooks/layers.html#conflict-chunking"' in chunking_card([RAN])
    assert "#conflict-" not in chunking_card([])


def entry(model="pocket-bert", profile="live", outcome="first"):
    rows = {"probe of words": [0.3, 0.2, 0.4], "clusters of spans": [0.1, -0.1, 0.3]}
    twins = {name: [0.0, -0.1, 0.1] for name in rows}
    return {"axis": "chunking", "model": model, "profile": profile, "rows": rows, "twins": twins,
            "outcome": outcome, "published": {"BERT <base>": 0.25}}  # fmt: skip


def test_a_card_has_every_run_on_the_axis_and_the_studies_own_values():
    entries = [entry("ladder-1m"), entry("pocket-minilm", "full"), entry()]
    html = chunking_card([RAN], entries)
    names = re.findall(r'<tr><th scope="row">([^<]+)<', html)
    own, other, member = "pocket-bert, generated data", "pocket-minilm, real data", "ladder-1m, generated data"
    assert names == [own, other, member] * 2 + ["published: BERT &lt;base&gt;"]
    assert "0.3 [0.200, 0.400] (0)" in html


def test_verdicts_of_other_runs_stand_behind_a_fold_with_what_the_older_ones_are():
    older = RAN | {"model": "pocket-minilm", "recorded": True, "intervals_only": True, "verdict": "contradicts"}
    html = chunking_card([RAN, older])
    assert "What other runs say of both claims" in html and "1 run were recorded" not in html
    assert "pocket-minilm, generated data" in html and "Judged from" in html
    assert "What other runs say" not in chunking_card([RAN])


def test_a_track_places_values_by_per_cent_and_keeps_far_ones_at_its_ends():
    track = axes_page.Track(-1.0, 1.0)
    assert (track.place(0.0), track.place(9.0), track.place(-inf)) == (50.0, 100.0, 0.0)
    assert track.span(-inf, 0.5) == (0.0, 75.0)


def test_the_picture_of_all_axes_opens_the_synthesis():
    text = (ROOT / "book/synthesis.md").read_text(encoding="utf-8")
    assert text.split("```")[1] == "{bertology-conflicts} axes\n"
    html = axes_page.overview(load_conflicts(), [entry()], lambda name: f"../{name}.html")
    assert html.count('<td class="track-cell">') == len(axes()) and html.count("not run yet") == len(axes()) - 1
    assert "for “Liu et al.: middle layers”" in html and "&lt;" in html


def row_of(name, verdict):
    result = {"model": "pocket-bert", "profile": "live", "verdict": verdict, "q": 0.01}
    return contents.Row(claim(name, statement=f"Statement {name}."), (result,))


def rows_of(**verdicts):
    return {name: row_of(name, verdict) for name, verdict in verdicts.items()}


def conflict(*pair):
    return conflicts.Conflict(pair=pair, kind="tension", theme="layers", about=f"{pair[0]} or {pair[-1]}?")


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("replicates", "contradicts", "Of 1 conflict this run settles 1. Remember: “a or b?” Statement a."),
        ("contradicts", "contradicts", "settles none; in 1 neither side holds."),
        ("replicates", "replicates", "settles none; in 1 both sides hold."),
        ("underpowered", "replicates", "nearest to a decision is “a or b?” Statement b. The rival view reads “underp"),
        ("underpowered", "underpowered", "2 of the 2 sides read “underpowered”."),
    ],
)
def test_a_theme_ends_in_what_a_reader_remembers(first, second, told):
    assert told in conflict_pages.remembered([conflict("a", "b")], rows_of(a=first, b=second))


def test_an_axis_is_remembered_where_verdicts_settle_nothing():
    chunking = next(c for c in load_conflicts() if c.axis and c.axis.name == "chunking")
    rows = rows_of(**dict.fromkeys(chunking.pair, "underpowered"))
    told = conflict_pages.remembered([chunking], rows, [entry()])
    assert "on one axis, “Are phrases" in told and "for “Liu et al.: middle layers”." in told


@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        (("underpowered", "cannot do the task"), "The first side and the second side are not decided."),
        (("replicates", "underpowered"), "The second side is not decided."),
        (("replicates (not specific)", "contradicts"), "no lead over untrained networks"),
        (("weaker", "contradicts"), "smaller than would matter"),
        (("not run", "contradicts"), "not tested"),
    ],
)
def test_an_open_conflict_says_why(verdicts, told):
    assert told in conflict_pages.why_open(verdicts)


def test_formulas_of_rows_are_those_of_predictions():
    for axis in axes().values():
        for formula in axis.rows.values():
            assert parse(f"{formula} > 0").names
