"""The verdict card: everything a verdict rests on is on it, and nothing is told by colour alone."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from ledger_toys import claim

from bertology_utils.verdicts.cards import LOOKS, answer_card, conflict_card, size_text, verdict_card
from bertology_utils.verdicts.predictions import VERDICTS, ClauseResult, Judgement

TEXT = "best > chain by 0.05"
MODEL = ClauseResult(TEXT, 0.742, 0.402, 0.34, 0.3, 0.38, 0.05, "replicates", 0.001, 0.02)
TWIN = ClauseResult(TEXT, 0.281, 0.402, -0.121, -0.15, -0.09, 0.05, "contradicts", 1.0, 0.015)
CLAIM = claim(
    "syn-trees", statement="Trees are <there> & found.", prediction=TEXT, effect="half of what the study found",
    published="UUAS 82.5",
)  # fmt: skip
JUDGED, UNTRAINED = Judgement((MODEL,)), Judgement((TWIN,))
LEAD = {"text": TEXT, "value": 0.461, "low": 0.41, "high": 0.51, "twins": 5}
RESULT = {"verdict": "replicates", "n": 400, "units": 1, "seeds": 3, "lead": LEAD}


def card(verdict="replicates", model=JUDGED, twins=UNTRAINED, lead=LEAD, **changes):
    """The card of the claim with changes, and of a result."""
    return verdict_card(CLAIM.model_copy(update=changes), RESULT | {"verdict": verdict, "lead": lead}, model, twins)


def test_a_smoke_run_is_no_verdict_and_says_so():
    smoke = verdict_card(CLAIM, RESULT | {"profile": "smoke"}, JUDGED, UNTRAINED)
    assert "replicates (smoke)" in smoke and "means nothing" in smoke
    assert "smoke" not in card()


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
    structure.feed(str(text))
    assert structure.open == []
    return structure


def test_one_line_has_the_numbers_that_decide():
    line = " ".join(read(card()).line.split())
    assert line == (
        "Trees are <there> & found. ✓ replicates: best > chain by 0.05: 0.742 against 0.402, effect +0.34 [+0.300, "
        "+0.380]; leads 5 untrained twins by +0.461 [+0.410, +0.510]."
    )


def test_all_that_the_verdict_rests_on_is_behind_the_fold():
    page = card()
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
        assert part in page
    root = read(page).tags[0]
    assert root[0] == "section" and root[1]["id"] == "claim-syn-trees" and "verdict-card" in root[1]["class"].split()


def test_a_lead_that_is_not_shown_is_not_claimed():
    page = card(lead={"text": TEXT, "value": 0.1, "low": -0.2, "high": 0.4, "twins": 1})
    assert "no lead over its untrained twin is shown, +0.1 [-0.200, +0.400]" in page and "leads" not in page


def test_without_a_tested_lead_the_control_has_its_value():
    assert "the control has -0.121" in card(lead=None)


@pytest.mark.parametrize(
    ("published", "said"), [(0.34, "as large"), (0.9, "smaller"), (0.1, "larger"), (None, "As large as published?")]
)
def test_an_effect_stands_beside_the_published_one_where_scales_agree(published, said):
    page = card(study=None if published is None else {"best": published + 0.4, "chain": 0.4})
    assert (said in page) == (published is not None)


def test_what_is_open_says_what_would_settle_it():
    clause = replace(MODEL, low=-0.1, verdict="underpowered", needs="about 900 units in place of 400")
    page = card("underpowered", Judgement((clause,)))
    assert "<dt>Would settle it</dt><dd>about 900 units in place of 400</dd>" in page
    assert "<dt>Effect there?</dt><dd>not decided</dd>" in page
    assert "Would settle it" not in card()


def test_an_absence_has_its_bayes_factor():
    absence = replace(MODEL, text="abs(a - b) < 0.1", left=0.01, right=0.1, error=0.02)
    assert "Bayes factor" in card(model=Judgement((absence,)))
    assert "Bayes factor" not in card()


def test_positive_control_and_an_idle_control_are_shown():
    condition = replace(TWIN, text="skill > 0.6")
    stopped = Judgement((TWIN,), "the positive control fails", (condition,), "cannot do the task")
    page = card(twins=stopped)
    assert page.count("given <code>skill &gt; 0.6</code>") == 1
    assert "<dt>Of the control</dt><dd>the positive control fails</dd>" in page


def test_a_reason_is_a_sentence():
    stopped = Judgement((MODEL,), "the positive control fails: skill > 0.6", (), "cannot do the task")
    assert "The positive control fails: skill &gt; 0.6." in card("cannot do the task", stopped)


def test_amendments_stand_one_by_one_with_their_dates():
    told = (
        "Amended 2026-11-23, when results were known: more items. Amended 2026-11-24, when results were known: fewer."
    )
    page = card(note=told)
    assert "<li>2026-11-23: more items.</li><li>2026-11-24: fewer.</li>" in page
    assert "Amended 2026-11-23: more." in card(note="Amended 2026-11-23: more.")
    assert "verdict-note" not in card()


def test_table_is_accessible_and_control_is_named():
    tags = read(card()).tags
    assert {attributes.get("scope") for tag, attributes in tags if tag == "th"} == {"col", "row"}
    assert not any("style" in attributes for _, attributes in tags)
    assert ">control</th>" in card()


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_word_icon_and_style(verdict):
    icon, kind = LOOKS[verdict]["icon"], LOOKS[verdict]["kind"]
    page = card(verdict)
    assert f"<strong>{verdict}</strong>" in page and icon in page
    assert f".verdict-{kind}" in CSS.read_text(encoding="utf-8")


def test_no_two_verdicts_share_an_icon():
    assert len({look["icon"] for look in LOOKS.values()}) == len(VERDICTS) == 7


def test_not_testable_card_needs_no_measurement():
    page = card("not testable here", Judgement(reason="the model has no masked-LM head"), Judgement(), lead=None)
    assert "<table" not in page and "The model has no masked-LM head." in page
    read(page)


def test_unknown_verdict_is_a_defect():
    with pytest.raises(ValueError, match="unknown verdict"):
        card("proved")


def test_a_check_says_what_it_checks_in_place_of_the_statement():
    assert "Checked here: the size." in card(checks="the size.") and "Trees are" not in card(checks="the size.")


def test_conflicts_and_answers_take_figures_as_they_are_and_escape_words():
    page = conflict_card("chunking", "<svg></svg>", "This run <wins>", "because & so")
    assert 'id="conflict-chunking"' in page and "<svg></svg>" in page and "This run &lt;wins&gt;" in page
    page = answer_card(["One < two.", "Three."], "<svg></svg>")
    assert "<p>One &lt; two. Three.</p><svg></svg>" in page


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
