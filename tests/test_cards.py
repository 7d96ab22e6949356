"""The verdict card: everything a verdict rests on is on it, and nothing is told by colour alone."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bertology_utils.verdicts.cards import VERDICTS, Result, plain_card, verdict_card
from bertology_utils.verdicts.predictions import ClauseResult

MODEL = ClauseResult("best > chain + 0.05", 0.742, 0.402, 0.29, 0.25, 0.33, "replicates")
TWIN = ClauseResult("best > chain + 0.05", 0.281, 0.402, -0.171, -0.2, -0.14, "contradicts")
RESULT = Result(
    "syn-trees",
    "Trees are <there> & found.",
    "best > chain + 0.05",
    "replicates",
    [MODEL],
    [TWIN],
    "",
    400,
    3,
    "UUAS",
    "UUAS 82.5",
)
CSS = Path(__file__).parents[1] / "book" / "assets" / "cards.css"


class Structure(HTMLParser):
    """Checks nesting; collects the tags with their attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parse(text):
    structure = Structure()
    structure.feed(text)
    assert structure.open == []
    return structure.tags


def test_card_shows_all_that_the_verdict_rests_on():
    card = verdict_card(RESULT)
    for part in (
        "Trees are &lt;there&gt; &amp; found.",
        "best &gt; chain + 0.05",
        "0.742",
        "0.281",
        "+0.250 to +0.330",
        "-0.200 to -0.140",
        "UUAS 82.5",
        "400 items, 3 seeds",
        'href="../book/ledger.html#row-syn-trees"',
    ):
        assert part in card
    root = parse(card)[0]
    assert root[0] == "section" and root[1]["id"] == "claim-syn-trees" and "verdict-card" in root[1]["class"].split()


def test_card_says_what_its_size_could_have_shown():
    clauses = [replace(MODEL, detectable=0.0571), replace(MODEL, low=0.4, detectable=0.9)]
    card = verdict_card(replace(RESULT, clauses=clauses))
    assert "400 items, 3 seeds: could have shown a difference of 0.057." in card
    assert "could have shown" not in verdict_card(RESULT)


def test_an_exact_value_claims_no_power():
    assert "could have shown" not in verdict_card(replace(RESULT, clauses=[replace(MODEL, detectable=0.0)]))


def test_positive_control_and_an_idle_control_are_shown():
    condition = replace(TWIN, text="skill > 0.6")
    card = verdict_card(replace(RESULT, control_conditions=[condition], control_reason="the positive control failed"))
    assert card.count("given <code>skill &gt; 0.6</code>") == 1
    assert "Of the control: the positive control failed." in card


def test_an_amendment_is_told():
    assert "Amended 2026-11-23" in verdict_card(replace(RESULT, amendment="Amended 2026-11-23: more items."))
    assert "verdict-note" not in verdict_card(RESULT)


def test_amendments_stand_one_by_one_behind_their_last_date():
    told = (
        "Amended 2026-11-23, when results were known: more items. Amended 2026-11-24, when results were known: fewer."
    )
    card = verdict_card(replace(RESULT, amendment=told))
    assert "<summary>Amended 2 times, last on 2026-11-24, when results were known</summary>" in card
    assert "<li>2026-11-23: more items.</li><li>2026-11-24: fewer.</li>" in card


def test_table_is_accessible_and_control_is_named():
    tags = parse(verdict_card(RESULT))
    assert {attributes.get("scope") for tag, attributes in tags if tag == "th"} == {"col", "row"}
    assert not any("style" in attributes for _, attributes in tags)
    assert ">control</th>" in verdict_card(RESULT)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_word_icon_and_style(verdict):
    icon, kind = VERDICTS[verdict]
    card = verdict_card(replace(RESULT, verdict=verdict, reason="no head"))
    assert f"<strong>{verdict}</strong>" in card and icon in card and "(no head)" in card
    assert f".verdict-{kind}" in CSS.read_text(encoding="utf-8")


def test_not_testable_card_needs_no_measurement():
    card = verdict_card(Result("syn-npi", "NPIs.", "", "not testable here", reason="the model has no masked-LM head"))
    assert "<table" not in card and "no masked-LM head" in card
    parse(card)


def test_unknown_verdict_is_a_defect():
    with pytest.raises(ValueError, match="unknown verdict"):
        verdict_card(replace(RESULT, verdict="proved"))


def test_plain_card_names_model_and_control():
    text = plain_card(RESULT)
    assert "model: best > chain + 0.05: +0.290" in text and "control:" in text
