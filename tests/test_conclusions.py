"""A synthesis groups claims by their verdicts and says what to suspect, from the clauses alone."""

import pytest

from bertology_utils.verdicts.conclusions import conclusions, suspicion


def result(verdict, model=(-0.2, -0.1), control=(-0.2, -0.1), reason="", identity="a"):
    """A result whose only clause has these intervals for the model and for its control."""
    clauses, controls = ([{"low": low, "high": high}] for low, high in (model, control))
    return {"id": identity, "verdict": verdict, "reason": reason, "clauses": clauses, "control_clauses": controls}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (result("replicates"), ""),
        (result("replicates (not specific)"), ""),
        (result("inconclusive", reason="the positive control failed: a > 0.6"), "positive control does not hold"),
        (result("inconclusive", reason="even a perfect score would not pass a > b + 0.1"), "even a perfect score"),
        (result("inconclusive"), "both answers"),
        (result("contradicts"), "suspect the specimen"),
        (result("contradicts", control=(-0.5, -0.3)), "towards the prediction"),
        (result("contradicts", control=(0.0, 0.1)), "the other way"),
    ],
)
def test_what_to_suspect_follows_from_model_and_control(given, told):
    assert told in suspicion(given) and bool(told) == bool(suspicion(given))


def test_the_clause_that_failed_most_decides():
    mixed = result("contradicts", control=(0.0, 0.1))
    mixed["clauses"].insert(0, {"low": 0.3, "high": 0.4})
    mixed["control_clauses"].insert(0, {"low": -0.4, "high": -0.3})
    assert "the other way" in suspicion(mixed)


def test_claims_stand_under_their_theme_by_verdict_and_link_to_their_cards():
    verdicts = {"a": "replicates", "b": "contradicts", "c": "replicates"}
    results = [result(verdict, identity=identity) for identity, verdict in verdicts.items()]
    themes = {"Trees": {"b": "no <tree>", "a": "a probe finds trees"}}
    html = conclusions(results, themes, dict.fromkeys("abc", "Stated."))
    trees, rest = html.split("</li>")[:2]
    assert "<strong>Trees.</strong> Replicates: " in trees and "Does not replicate (no better" in trees
    assert '<a href="#claim-a">a probe finds trees</a>' in trees and "no &lt;tree&gt;" in trees
    assert "<strong>Besides.</strong>" in rest and '<a href="#claim-c">Stated</a>' in rest


def test_a_claim_without_a_result_is_left_out():
    assert conclusions([], {"Trees": {"a": "words"}}, {}) == '<ul class="conclusions"></ul>'
