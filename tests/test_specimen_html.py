"""The specimens' page: every model and paradigm is shown, at the place that its score says, with words beside signs."""

import json
import re

import pytest

from bertology_utils import specimen_html

NAMES = ("average", "agreement_subject_verb-in_simple_question", "irregular-verb")


def row(model, paradigm, accuracy, twin=50.0):
    values = {"accuracy": accuracy, "accuracy_low": accuracy - 2, "accuracy_high": accuracy + 2,
              "twin": twin, "twin_low": twin - 2, "twin_high": twin + 2}  # fmt: skip
    return {"model": model, "paradigm": paradigm} | {key: str(value) for key, value in values.items()}


@pytest.fixture
def scores():
    small = [row("small", name, accuracy) for name, accuracy in zip(NAMES, (70, 60, 80), strict=True)]
    return small + [row("large", name, 90) for name in NAMES]


def test_a_mark_stands_where_its_score_says(scores):
    plot = specimen_html.paradigm_plot(scores, ["small", "large"])
    x = [float(value) for value in re.findall(r'<circle class="mark-0" cx="([\d.]+)"', plot)]
    places = [specimen_html._LEFT + specimen_html._WIDTH * share / 100 for share in (70, 80, 60)]
    assert x == pytest.approx(places, abs=0.1)  # the average first, then by the first model's score
    assert plot.count('<rect class="mark-1"') == 3 and plot.count('class="ring"') == 3


def test_the_plot_says_in_words_what_it_shows(scores):
    plot = specimen_html.paradigm_plot(scores, ["small", "large"])
    label = re.search(r'role="img" aria-label="([^"]+)"', plot)[1]
    assert "small 70.0 % on average" in label and "large 90.0 %" in label and "twin of small 50.0 %" in label
    assert "agreement subject verb: in simple question" in plot


def test_models_without_scores_are_left_out_and_no_scores_are_said(scores):
    assert "mark-1" not in specimen_html.paradigm_plot(scores, ["small", "other"])
    assert "bertology score" in specimen_html.paradigm_plot([], ["small"])
    assert specimen_html.paradigm_table([], ["small"]) == ""


def test_the_table_has_every_number_with_its_interval(scores):
    table = specimen_html.paradigm_table(scores, ["small", "large"])
    assert table.count("<tr>") == 1 + len(NAMES) and "60.0 [58, 62]" in table


def test_every_embedded_model_has_a_line(tmp_path, scores):
    folder = tmp_path / "small"
    folder.mkdir()
    config = {"num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 4, "vocab_size": 1234}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"0" * 2_000_000)
    table = specimen_html.model_table(tmp_path, scores)
    for text in ("small", "2 × 16 × 4", "1,234", "2 MB", "70.0 % (twin 50.0 %)"):
        assert text in table


def test_scores_are_read_from_the_file_that_the_command_writes(tmp_path):
    assert specimen_html.read_scores(tmp_path / "none.csv") == []
    path = tmp_path / "scores.csv"
    path.write_text("model,paradigm,accuracy\na,average,70\n", encoding="utf-8")
    assert specimen_html.read_scores(path) == [{"model": "a", "paradigm": "average", "accuracy": "70"}]
