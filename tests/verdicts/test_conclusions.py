"""A synthesis groups claims by their verdicts and says what to suspect, from the lead over untrained twins."""

import pytest

from bertology_utils.verdicts.claims import load_claims
from bertology_utils.verdicts.conclusions import answer, conclusions, read_themes, suspicion
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, UNDERPOWERED


def result(verdict, lead=None, reason="", needs="", identity="a"):
    """A result whose model leads its untrained twins by an interval."""
    lead = lead and {"low": lead[0], "high": lead[1]}
    return {"id": identity, "verdict": verdict, "reason": reason, "needs": needs, "lead": lead}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (result("replicates"), ""),
        (result("replicates (not specific)"), ""),
        (result("cannot do the task", reason="the positive control fails: a > 0.6"), ""),
        (result("underpowered", needs="about 80 units in place of 16"), "about 80 units"),
        (result("underpowered", reason="even a perfect score would not pass a > b: c"), "even a perfect score"),
        (result("contradicts"), ""),
        (result("contradicts", lead=(-0.1, 0.1)), "suspect the specimen"),
        (result("weaker", lead=(0.1, 0.3)), "towards the prediction"),
        (result("contradicts", lead=(-0.3, -0.1)), "the other way"),
    ],
)
def test_what_to_suspect_follows_from_the_lead_over_twins(given, told):
    assert told in suspicion(given) and bool(told) == bool(suspicion(given))


def test_claims_stand_under_their_theme_by_verdict_and_link_to_their_cards():
    verdicts = {"a": "replicates", "b": "contradicts", "c": "replicates"}
    results = [result(verdict, lead=(-0.1, 0.1), identity=identity) for identity, verdict in verdicts.items()]
    themes = {"Trees": {"b": "no <tree>", "a": "a probe finds trees"}}
    html = conclusions(results, themes, dict.fromkeys("abc", "Stated."))
    trees, rest = html.split("</li>")[:2]
    assert "<strong>Trees.</strong> Replicates: " in trees and "Does not replicate (no better" in trees
    assert '<a href="#claim-a">a probe finds trees</a>' in trees and "no &lt;tree&gt;" in trees
    assert "<strong>Besides.</strong>" in rest and '<a href="#claim-c">Stated</a>' in rest


def test_a_claim_without_a_result_is_left_out():
    assert conclusions([], {"Trees": {"a": "words"}}, {}) == '<ul class="conclusions"></ul>'


def test_the_answer_counts_claims_about_training_and_names_the_surest_and_the_farthest():
    def measured(identity, verdict, effect, lead):
        clauses = [{"effect": effect}]
        return {
            "id": identity, "verdict": verdict, "clauses": clauses, "control_clauses": [{"effect": 0.05}],
            "difference": effect, "ci_low": effect - 0.1, "ci_high": effect + 0.1, "smallest": 0.1,
            "lead": {"value": lead, "low": lead - 0.1, "high": lead + 0.1},
        }  # fmt: skip

    results = [
        measured("a", REPLICATES, 0.5, 0.4), measured("b", REPLICATES, 0.3, 0.2),
        measured("c", CONTRADICTS, -0.4, 0.0), measured("d", UNDERPOWERED, 0.1, 0.0),
        measured("e", REPLICATES, 0.9, 0.9),
    ]  # fmt: skip
    themes = {"One": {"a": "a holds", "b": "b holds", "e": "e is arithmetic"}, "Two": {"c": "c holds", "d": "d holds"}}
    found = answer(results, themes, about={"a", "b", "c", "d"})
    assert found.sentences[0] == (
        "Of 4 claims about what training teaches, 2 replicate and lead their untrained twins, "
        "1 is contradicted here and 1 stays open."
    )
    assert found.sentences[1:] == ("Surest: a holds.", "Farthest from its study, and not so here: c holds.")
    assert found.rows["One"]["a holds"] == pytest.approx((5, 4, 6, 0.5)) and "a holds" in found.replicated


@pytest.mark.parametrize("chapter", sorted({claim.notebook for claim in load_claims()}))
def test_every_claim_of_a_chapter_has_its_words_once(chapter):
    named = [identity for claims in read_themes(chapter).values() for identity in claims]
    tested = {claim.id for claim in load_claims() if claim.notebook == chapter and claim.prediction}
    assert sorted(named) == sorted(set(named)) and tested <= set(named), tested - set(named)
