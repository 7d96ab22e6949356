"""The specimens' page: every model and paradigm is shown, at the place that its score says, with words beside signs."""

import json
import re
import shutil

import pandas as pd
import pytest
import yaml
from family_toys import make_family

from bertology_utils.files import write_csv, write_json
from bertology_utils.pages import specimens
from bertology_utils.project import find_root
from bertology_utils.running.checking import check_file

NAMES = ("average", "agreement_subject_verb-in_simple_question", "irregular-verb")


def row(model, paradigm, accuracy, twin=50.0):
    values = {"accuracy": accuracy, "accuracy_low": accuracy - 2, "accuracy_high": accuracy + 2,
              "twin": twin, "twin_low": twin - 2, "twin_high": twin + 2}  # fmt: skip
    return {"model": model, "paradigm": paradigm, "pairs": 100} | values


def scored(*rows):
    return pd.DataFrame(rows).set_index(specimens.KEYS)


@pytest.fixture
def scores():
    small = [row("small", name, accuracy) for name, accuracy in zip(NAMES, (70, 60, 80), strict=True)]
    return scored(*small, *(row("large", name, 90) for name in NAMES))


def test_a_mark_stands_where_its_score_says(scores):
    plot = specimens.paradigm_plot(scores, ["small", "large"])
    x = [float(value) for value in re.findall(r'<circle class="mark-0" cx="([\d.]+)"', plot)]
    places = [360 + 265 * share / 100 for share in (70, 80, 60)]
    assert x == pytest.approx(places, abs=0.1)  # the average first, then by the first model's score
    assert plot.count('<rect class="mark-1"') == 3 and plot.count('class="ring"') == 3


def test_the_plot_says_in_words_what_it_shows(scores):
    plot = specimens.paradigm_plot(scores, ["small", "large"])
    label = re.search(r'role="img" aria-label="([^"]+)"', plot)[1]
    assert "small 70.0 % on average" in label and "large 90.0 %" in label and "twin of small 50.0 %" in label
    assert "agreement subject verb: in simple question" in plot


def test_models_without_scores_are_left_out_and_no_scores_are_said(tmp_path, scores):
    root = make_family(tmp_path)
    shown = pd.concat([scores, scored(*(row("pocket", name, 40) for name in NAMES))])
    (root / "results").mkdir()
    shown.to_csv(root / specimens.SCORES)
    assert "mark-0" in (page := specimens.grammar_part(root)) and "mark-1" not in page
    assert "bertology score" in specimens.paradigm_plot(scores[:0], [])
    assert specimens.paradigm_table(scores[:0], []) == ""


def test_the_table_has_every_number_with_its_interval(scores):
    table = specimens.paradigm_table(scores, ["small", "large"])
    assert table.count("<tr>") == 1 + len(NAMES) and "60.0 [58, 62]" in table


def test_every_embedded_model_has_a_line_in_its_family(tmp_path, scores):
    make_family(tmp_path)
    read = {"books": {"words": 2e6, "times": 0.25}, "news": {"words": 1.5e6, "times": 3.0}}
    with open(tmp_path / "models" / "ladder-2m" / "evaluations.jsonl", "a") as log:
        log.write(json.dumps({"step": 100, "mlm_loss": 4.0, "amounts": read}) + "\n")
    table = specimens.model_table(tmp_path, pd.concat([scores, scored(row("ladder-2m", "average", 55))]))
    for text in ("Specimens", "Sizes: ladder", "Seeds of ladder-2m", "2 × 8 × 4", "4.00 nats", "@0, @5, @40",
                 "55.0 % (twin 50.0 %)", "3.5 million, texts 0.2 to 3.0 times over"):  # fmt: skip
        assert text in table
    assert table.count("<table") == 3 and table.count("<tr>") == 3 + 4


def test_at_most_four_models_share_the_plot(scores):
    many = scored(*(row(f"model-{i}", name, 50 + i) for i in range(6) for name in NAMES))
    plot = specimens.paradigm_plot(many, [f"model-{i}" for i in range(6)])
    assert 'class="mark-3"' in plot and "<polygon" in plot and "model-4" not in plot


def growth_scores():
    models = {"ladder-2m@0": 50, "ladder-2m@5": 52, "ladder-2m@40": 55, "ladder-2m": 60, "ladder-2m-seed-1": 58,
              "ladder-10m": 70}  # fmt: skip
    return scored(*(row(model, name, value) for model, value in models.items() for name in NAMES))


def test_growth_is_drawn_over_size_and_steps_with_seeds_as_a_band(tmp_path):
    root, table = make_family(tmp_path), growth_scores()
    size = specimens.size_curve(root, ["ladder-2m", "ladder-10m"], table)
    assert size.table["trained"].tolist() == [60, 70] and "ladder-2m, range over 2 seeds: 58 to 60" in size.alt
    steps = specimens.step_curve(root, "ladder-2m", table)
    assert steps.table["step"].tolist() == [5, 40, 100] and "untrained, step 0: 50" in steps.alt


def test_the_map_is_a_table_of_every_member_and_paradigm(tmp_path):
    page = specimens.growth_part(make_family(tmp_path), growth_scores())
    cells = re.findall(r'<td style="--depth: (\d+)%" title="([^"]+)">(\d+)</td>', page)
    assert len(cells) == 6 * len(NAMES) and ("10", "70.0 %, interval 68 to 72; untrained twin 50.0 %", "70") in cells
    assert re.findall(r'<th scope="col"><code>([^<]+)', page)[0] == "ladder-2m@0"


def test_no_ladder_is_silent_and_no_scores_are_said(tmp_path):
    assert specimens.growth_part(tmp_path, growth_scores()[:0]) == ""
    assert "bertology score" in specimens.growth_part(make_family(tmp_path), growth_scores()[:0])


def test_scores_are_read_from_the_file_that_the_command_writes(tmp_path):
    assert specimens.read_scores(tmp_path / "none.csv").empty
    path = tmp_path / "scores.csv"
    path.write_text("model,paradigm,accuracy\na,average,70\n", encoding="utf-8")
    assert specimens.read_scores(path).loc["a", "average"].to_dict() == {"accuracy": 70}


def test_checks_are_a_line_a_model_and_a_fault_is_marked(tmp_path):
    root = make_family(tmp_path)
    assert specimens.checks_part(root) == ""
    for name, layers, holds in (("pocket", 2, True), ("ladder-2m", 3, False)):
        part = {"part": f"rows of {layers} x 4 attention maps, off one", "found": "1e-07", "bar": "", "holds": holds}
        write_json(check_file(root, name), {"key": "k", "parts": [part]})
    table = specimens.checks_part(root)
    assert table.count("<tr>") == 3 and table.count("rows of attention maps, off one") == 1
    assert re.search(r"pocket</th><td>1e-07</td>", table) and re.search(r"ladder-2m</th><td>1e-07 ✗</td>", table)


def test_recipes_are_a_line_each_the_lowest_loss_first(tmp_path):
    assert specimens.recipes_part(tmp_path) == ""
    losses = (("a", 6.0), ("b", 5.2), ("b", 5.26), (specimens.BASE, 5.2), (specimens.BASE, 5.3), (specimens.BASE, 5.25))
    (tmp_path / specimens.RECIPES).parent.mkdir()
    write_csv(tmp_path / specimens.RECIPES, [
        {"config": name, "held_out_loss": loss} for name, loss in losses
    ], ["config", "held_out_loss"])  # fmt: skip
    path = tmp_path / specimens.RECIPE
    path.parent.mkdir(parents=True)
    shutil.copy(find_root() / "configs" / "pretraining" / "pocket-bert.yaml", path.parent)
    about = {"a": "as it was", "b": "<b>", specimens.BASE: "as the others"}
    variants = {name: {"about": words} for name, words in about.items()}
    path.write_text(yaml.safe_dump({"extends": "pocket-bert.yaml", "name": "recipe", "variants": variants}))
    figure = specimens.recipes_part(tmp_path)
    assert "&lt;b&gt;" in figure and "<b>:" not in figure
    assert "1 of 2 rows are clear of zero: as it was: 6.00 +0.75" in figure  # seeds of the base differ by as much
    rows = figure[figure.index("<table") :]
    assert rows.index("5.23") < rows.index("as it was") and "beside 5.25" in rows
