"""A record judged again under another margin says what judging its samples anew would."""

import numpy as np
import pytest

from bertology_utils.verdicts.ledger import claim_by_id
from bertology_utils.verdicts.margins import rejudged
from bertology_utils.verdicts.predictions import judge_both, judged_fields, parse, verdict

OLD = "best < chain + 0.1 and best > twin"
GIVEN = "planted > 0.9"


def samples(best: float, twin: float, planted: float = 0.97) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    means = {"best": best, "twin": twin, "chain": 0.6, "planted": planted}
    return {name: np.clip(mean + draw.normal(0, 0.1, 400), 0, 1) for name, mean in means.items()}


def recorded(prediction: str, model: dict, control: dict, *, given: str | None = GIVEN, failure: bool = False) -> dict:
    judged, other = judge_both(parse(prediction), given and parse(given), model, control)
    other = other.as_control(failure)
    full = f"given {given} : {prediction}" if given else prediction
    word = verdict(judged, other, specific=True)
    return {"prediction": full, "n": 400, "verdict": word, "reason": judged.reason, **judged_fields(judged, other)}


def flat(value):
    """Numbers, words and truth values of a nested record, in order."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flat(value[key])]
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("new", ["best < chain + 0.1 and best > twin + 0.05", "best < chain - 0.2 and best > twin"])
@pytest.mark.parametrize("best", [0.32, 0.35, 0.4, 0.7])
@pytest.mark.parametrize("planted", [0.97, 0.5])
@pytest.mark.parametrize("failure", [False, True])
def test_it_is_what_the_samples_say(new, best, planted, failure):
    model, control = samples(best, 0.3, planted), samples(0.3, 0.3, planted)
    again = rejudged(recorded(OLD, model, control, failure=failure), new, GIVEN, failure=failure, specific=True)
    anew = recorded(new, model, control, failure=failure)
    for mine, other in zip(flat(again), flat(anew), strict=True):
        assert mine == (other if isinstance(other, str | bool | None) else pytest.approx(other, abs=1e-9))


def test_a_clause_whose_margin_stays_keeps_its_reason():
    """No score can clear the first clause's margin, before and after the second one's changes."""
    model = samples(0.4, 0.3) | {"share": np.full(400, 0.9), "top": np.full(400, 0.85)}
    old, new = "share > top + 0.3 and best > twin", "share > top + 0.3 and best > twin + 0.05"
    again = rejudged(recorded(old, model, model, given=None), new, None, failure=False, specific=True)
    anew = recorded(new, model, model, given=None)
    assert anew["reason"].startswith("even a perfect score")
    assert (again["verdict"], again["reason"]) == (anew["verdict"], anew["reason"])


def test_a_lead_below_the_new_margin_no_longer_counts():
    result = recorded(OLD, samples(0.33, 0.3), samples(0.3, 0.3))
    assert result["verdict"] == "replicates"
    again = rejudged(result, "best < chain + 0.1 and best > twin + 0.05", GIVEN, failure=False, specific=True)
    assert again["verdict"] == "contradicts" and again["prediction"].startswith("given planted > 0.9 : best < chain")


@pytest.mark.parametrize(
    "new",
    ["best > twin", "best < chain + 0.1 and best > layer_0", "best < chain + 0.1 and best < twin", "best > chain"],
)
def test_more_than_a_margin_needs_a_new_run(new):
    result = recorded(OLD, samples(0.4, 0.3), samples(0.3, 0.3))
    assert rejudged(result, new, GIVEN, failure=False, specific=True) is None


def test_another_condition_needs_a_new_run():
    result = recorded(OLD, samples(0.4, 0.3), samples(0.3, 0.3))
    new = "best < chain + 0.1 and best > twin + 0.05"
    assert rejudged(result, new, "planted > 0.8", failure=False, specific=True) is None
    assert rejudged(result, new, None, failure=False, specific=True) is None


def test_a_margin_out_of_reach_needs_a_new_run():
    result = recorded("best > twin", samples(0.97, 0.98), samples(0.9, 0.98), given=None)
    assert rejudged(result, "best > twin + 0.3", None, failure=False, specific=True) is None


def test_a_claim_reads_older_records_under_its_margin():
    claim = claim_by_id("depth-probe")
    old = claim.prediction.replace("twin + 0.05", "twin")
    values = {"position": np.full(400, 0.3), "twin": np.full(400, 0.5)}
    model = values | {"best_layer": np.random.default_rng(0).normal(0.53, 0.05, 400)}
    result = recorded(old, model, values | {"best_layer": np.full(400, 0.5)}, given=None)
    assert result["verdict"] == "replicates" and not claim.covers(result | {"date": "2026-11-25T00:00:00+00:00"})
    again = claim.reread(result)
    assert again["verdict"] == "contradicts" and claim.covers(again | {"date": "2026-11-25T00:00:00+00:00"})
