"""The verdict card: everything a verdict rests on is on it, and nothing is told by colour alone."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bertology_utils.verdicts.cards import VERDICTS, Card, plain_card, size_text, verdict_card
from bertology_utils.verdicts.predictions import ClauseResult, Contrast, Judgement

TEXT = "best > chain by 0.05"
MODEL = ClauseResult(TEXT, 0.742, 0.402, 0.34, 0.3, 0.38, 0.05, "replicates", 0.001, 0.02)
TWIN = ClauseResult(TEXT, 0.281, 0.402, -0.121, -0.15, -0.09, 0.05, "contradicts", 1.0, 0.015)
CARD = Card(
    "syn-trees", "Trees are <there> & found.", "replicates", TEXT, effect="half of what the study found",
    size="400 items, 3 seeds", published="UUAS 82.5", model=Judgement((MODEL,)), twins=Judgement((TWIN,)),
    lead=Contrast(TEXT, 0.461, 0.41, 0.51, 5),
)  # fmt: skip
CSS = Path(__file__).parents[2] / "book" / "assets" / "cards.css"


class Structure(HTMLParser):
    """Checks nesting; collects the tags with their attributes, and the text outside of the fold."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.line = [], [], ""

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.line += "" if "details" in self.open else data


def read(text) -> Structure:
    structure = Structure()
    structure.feed(text)
    assert structure.open == []
    return structure


def test_one_line_has_the_numbers_that_decide():
    line = " ".join(read(verdict_card(CARD)).line.split())
    assert line == (
        "Trees are <there> & found. ✓ replicates: best > chain by 0.05: 0.742 against 0.402, effect +0.34 [+0.300, "
        "+0.380]; leads 5 untrained twins by +0.461 [+0.410, +0.510]."
    )


def test_all_that_the_verdict_rests_on_is_behind_the_fold():
    card = verdict_card(CARD)
    for part in (
        "Trees are &lt;there&gt; &amp; found.",
        "best &gt; chain by 0.05",
        "half of what the study found",
        "0.281",
        "+0.300 to +0.380",
        "-0.150 to -0.090",
        "UUAS 82.5",
        "<dt>Effect there?</dt><dd>yes</dd>",
        "400 items, 3 seeds",
        'href="../book/ledger.html#row-syn-trees"',
    ):
        assert part in card
    root = read(card).tags[0]
    assert root[0] == "section" and root[1]["id"] == "claim-syn-trees" and "verdict-card" in root[1]["class"].split()


def test_a_lead_that_is_not_shown_is_not_claimed():
    card = verdict_card(replace(CARD, lead=Contrast(TEXT, 0.1, -0.2, 0.4, 1)))
    assert "no lead over its untrained twin is shown, +0.1 [-0.200, +0.400]" in card and "leads" not in card


def test_without_a_tested_lead_the_control_has_its_value():
    assert "the control has -0.121" in verdict_card(replace(CARD, lead=None))


@pytest.mark.parametrize(
    ("published", "said"), [(0.34, "as large"), (0.9, "smaller"), (0.1, "larger"), (None, "As large as published?")]
)
def test_an_effect_stands_beside_the_published_one_where_scales_agree(published, said):
    card = verdict_card(replace(CARD, study={} if published is None else {TEXT: published}))
    assert (said in card) == (published is not None)


def test_what_is_open_says_what_would_settle_it():
    clause = replace(MODEL, low=-0.1, verdict="underpowered", needs="about 900 units in place of 400")
    card = verdict_card(replace(CARD, verdict="underpowered", model=Judgement((clause,))))
    assert "<dt>Would settle it</dt><dd>about 900 units in place of 400</dd>" in card
    assert "<dt>Effect there?</dt><dd>not decided</dd>" in card
    assert "Would settle it" not in verdict_card(CARD)


def test_an_absence_has_its_bayes_factor():
    absence = replace(MODEL, text="abs(a - b) < 0.1", left=0.01, right=0.1, error=0.02)
    assert "Bayes factor" in verdict_card(replace(CARD, model=Judgement((absence,))))
    assert "Bayes factor" not in verdict_card(CARD)


def test_positive_control_and_an_idle_control_are_shown():
    condition = replace(TWIN, text="skill > 0.6")
    stopped = Judgement((TWIN,), "the positive control fails", (condition,), "cannot do the task")
    card = verdict_card(replace(CARD, twins=stopped))
    assert card.count("given <code>skill &gt; 0.6</code>") == 1
    assert "<dt>Of the control</dt><dd>the positive control fails</dd>" in card


def test_a_reason_is_a_sentence():
    stopped = Judgement((MODEL,), "the positive control fails: skill > 0.6", (), "cannot do the task")
    card = verdict_card(replace(CARD, verdict="cannot do the task", model=stopped))
    assert "The positive control fails: skill &gt; 0.6." in card


def test_amendments_stand_one_by_one_with_their_dates():
    told = (
        "Amended 2026-11-23, when results were known: more items. Amended 2026-11-24, when results were known: fewer."
    )
    card = verdict_card(replace(CARD, amendment=told))
    assert "<li>2026-11-23: more items.</li><li>2026-11-24: fewer.</li>" in card
    assert "Amended 2026-11-23: more." in verdict_card(replace(CARD, amendment="Amended 2026-11-23: more."))
    assert "verdict-note" not in verdict_card(CARD)


def test_table_is_accessible_and_control_is_named():
    tags = read(verdict_card(CARD)).tags
    assert {attributes.get("scope") for tag, attributes in tags if tag == "th"} == {"col", "row"}
    assert not any("style" in attributes for _, attributes in tags)
    assert ">control</th>" in verdict_card(CARD)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_word_icon_and_style(verdict):
    icon, kind = VERDICTS[verdict]
    card = verdict_card(replace(CARD, verdict=verdict))
    assert f"<strong>{verdict}</strong>" in card and icon in card
    assert f".verdict-{kind}" in CSS.read_text(encoding="utf-8")


def test_no_two_verdicts_share_an_icon():
    assert len({icon for icon, _ in VERDICTS.values()}) == len(VERDICTS) == 7


def test_not_testable_card_needs_no_measurement():
    untested = Card("syn-npi", "NPIs.", "not testable here", model=Judgement(reason="the model has no masked-LM head"))
    card = verdict_card(untested)
    assert "<table" not in card and "The model has no masked-LM head." in card
    read(card)


def test_unknown_verdict_is_a_defect():
    with pytest.raises(ValueError, match="unknown verdict"):
        verdict_card(replace(CARD, verdict="proved"))


def test_plain_card_names_model_and_control():
    text = plain_card(CARD)
    assert "model: best > chain by 0.05: +0.340" in text and "control:" in text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"n": 1200, "units": 40, "seeds": 3}, "1,200 items of 40 units, 3 seeds"),
        ({"n": 60, "units": 60, "seeds": 1}, "60 items"),
        ({"n": 1, "units": 1, "seeds": 5}, "5 seeds"),
        ({"n": 0}, ""),
    ],
)
def test_sizes_are_told_in_words(result, text):
    assert size_text(result) == text
