"""The comparison of objectives: simultaneous intervals, headings of the survey, the figure, and the empty state."""

import numpy as np
import pytest
from scipy import stats

from bertology_utils.absent import Absent
from bertology_utils.errors import BertologyError
from bertology_utils.figures.dots import _reach
from bertology_utils.files import read_csv, write_csv
from bertology_utils.pretraining.compare import RESULTS
from bertology_utils.studies.training import comparison
from bertology_utils.studies.training.live_comparison import train_comparison

LOSSES = {"nano": (4.0, 4.1, 4.05), "spans": (3.7, 3.8, 3.76), "streams": (4.01, 4.1, 4.07), "odd": (9.0, 9.2, 9.1)}


def table(**zorro):
    return [
        {"config": config, "study": "liu2019roberta", "objectives": "masked-tokens", "seed": str(seed), "budget": "600",
         "steps": "9", "tokens": "601", "parameters": "1000000", "seconds": "1", "held_out_loss": str(loss),
         **({"zorro": str(0.6 + 0.01 * seed)} if zorro else {})}
        for config, losses in LOSSES.items() for seed, loss in enumerate(losses)
    ]  # fmt: skip


def test_differences_from_the_base_have_simultaneous_intervals():
    found = comparison.differences(table())
    spans = found["spans"]
    assert spans.values == pytest.approx(np.array(LOSSES["spans"]) - 4.05) and spans.spread == pytest.approx(0.1)
    pooled = np.sqrt(np.mean([np.var(losses, ddof=1) for losses in LOSSES.values()]))
    alone = stats.t.ppf(0.975, 8) * pooled * np.sqrt(2 / 3)
    assert alone < (spans.high - spans.low) / 2 < 1.5 * alone, "three at once are judged more strictly than one alone"
    assert [name for name, d in found.items() if d.exceeds] == ["spans", "odd"]


def test_fewer_seeds_widen_the_interval():
    def width(seeds):
        rows = [row for row in table() if row["config"] != "spans" or int(row["seed"]) < seeds]
        spans = comparison.differences(rows)["spans"]
        assert len(spans.values) == seeds
        return spans.high - spans.low

    assert width(1) > width(2) > width(3)
    uneven = [row for row in table() if row["config"] != "spans" or row["seed"] == "0"]
    assert "4 recipes × 1 to 3 seeds" in comparison.trust(uneven)


def test_recipes_without_effect_are_seldom_clear_though_each_alone_would_often_be():
    rng = np.random.default_rng(0)
    together = alone = 0
    for _ in range(30):
        scores = {name: rng.normal(size=3) for name in ("nano", *"abcdefgh")}
        rows = [{"config": c, "budget": 1, "held_out_loss": x} for c, values in scores.items() for x in values]
        together += any(d.exceeds for d in comparison.differences(rows).values())
        alone += any(stats.ttest_ind(scores[name], scores["nano"]).pvalue < 0.05 for name in "abcdefgh")
    assert together <= 4 < alone


def test_rows_are_sorted_as_the_survey_sorts_the_proposals():
    assert comparison.by_axis(["streams", "odd", "spans"]) == {
        "What to mask": ["spans"], "Where to mask": ["streams"], "Other": ["odd"],
    }  # fmt: skip


def test_every_recipe_of_the_project_has_a_heading():
    from bertology_utils.models import ROOT

    names = {path.stem for path in (ROOT / "configs" / "pretraining" / "compare").glob("*.yaml")} - {comparison.BASE}
    assert names == {name for members in comparison.AXES.values() for name in members}


def test_the_words_name_what_is_clear():
    told = comparison.told(comparison.differences(table()))
    assert "2 of 3 variants differ" in told and "spans (-0.297)" in told and "worse: odd (+5.050)" in told
    alike = [row for row in table() if row["config"] in ("nano", "streams")]
    assert comparison.told(comparison.differences(alike)).startswith("None of 1 variants differs")
    assert "streams" not in told and "4 recipes × 3 seeds" in comparison.trust(table())


def test_live_and_recorded_are_told_side_by_side():
    live = [row for row in table() if row["config"] in ("nano", "streams")]
    assert comparison.side_by_side(live, table()) == "In both tables: streams +0.010 live, +0.010 recorded."


def test_the_figure_has_a_panel_a_measure_and_a_row_a_variant():
    figure = comparison.comparison_figure(table(zorro=True))
    assert len(figure.figure.axes) == 2 and list(figure.table["variant"]) == ["spans", "streams", "odd"]
    assert "2 of 3 rows are clear of zero: spans -0.297, odd +5.05" in figure.alt
    assert len(comparison.comparison_figure(table()).figure.axes) == 1


def test_a_discriminator_is_not_ranked_by_the_loss_of_its_generator():
    rows = [{"config": name, "seed": seed, "budget": 1, "held_out_loss": loss + seed / 10, "objectives": objective,
             "parameters": 1, "tokens": 1}
            for name, objective, loss in (("nano", "masked-tokens", 5.0), ("spans", "masked-tokens", 5.1),
                                          ("replaced-tokens", "masked-tokens + replaced-tokens", 6.4))
            for seed in (0, 1)]  # fmt: skip
    assert set(comparison.differences(rows)) == {"spans"}
    assert "Not ranked: replaced-tokens" in comparison.trust(rows)


def test_a_model_that_cannot_be_asked_has_no_row_in_that_panel():
    rows = [row | ({"zorro": ""} if row["config"] == "odd" else {}) for row in table(zorro=True)]
    assert comparison.measures(rows) == ["held_out_loss", "zorro"]
    assert list(comparison.differences(rows, "zorro")) == ["spans", "streams"]
    assert comparison.differences(rows, "zorro")["spans"].values == pytest.approx([-1, 0, 1])
    assert comparison.comparison_figure(rows).table.iloc[-1].isna().sum() == 3


def test_a_row_far_outside_does_not_squeeze_the_others():
    dots = {name: comparison.Dots(np.array([mean, mean]), mean, mean, mean, True) for name, mean in
            (("a", 0.1), ("b", -0.2), ("far", 5.0))}  # fmt: skip
    assert _reach(dots) == pytest.approx(1.05 * 0.2)


def test_no_table_no_base_and_mixed_budgets(tmp_path):
    assert read_csv(tmp_path / "none.csv") == [] and comparison.measures([]) == []
    with pytest.raises(BertologyError, match="two seeds of its base"):
        comparison.differences([row for row in table() if row["config"] != "nano"])
    with pytest.raises(BertologyError, match="mixes budgets"):
        comparison.differences([*table(), table()[0] | {"budget": "700"}])


def test_the_live_comparison_gives_rows_like_the_recorded_table(tmp_path):
    words = ["the", "a", "dog", "cat", "bird", "tree", "sees", "likes", "finds", "old", "red", "small"]
    rng = np.random.default_rng(0)
    documents = [[[*rng.choice(words, 5), "."] for _ in range(2)] for _ in range(240)]
    objectives = {"nano": {"objectives": {"masked-tokens": 1}}, "next-sentence": {}}
    rows = train_comparison(documents, 400, (0, 1), objectives)
    assert [(row["config"], row["seed"]) for row in rows] == [(c, s) for c in objectives for s in (0, 1)]
    assert rows[2]["objectives"] == "masked-tokens + next-sentence" and RESULTS.name == "pretraining_objectives.csv"
    write_csv(tmp_path / "table.csv", rows, rows[0])
    assert set(comparison.differences(read_csv(tmp_path / "table.csv"))) == {"next-sentence"}


def test_a_report_says_what_differs_or_that_nothing_is_recorded():
    live = [row for row in table() if row["config"] in ("nano", "streams")]
    told = comparison.report(live, table(zorro=True))
    assert told.count("variants differ") == 1 + told.count("in Zorro") == 2 and "In both tables: streams" in told
    missing = Absent("no table")
    assert "not recorded yet" in comparison.report(live, missing) and comparison.comparison_figure(missing) is None
    assert isinstance(comparison.recorded(), list | Absent)
