"""A record judged again says what judging its samples anew would."""

import json

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.samples import by_unit, census, packed, per_seed
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, judged_again, needed
from bertology_utils.verdicts.ledger import reread
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_SPECIFIC, REPLICATES, UNDERPOWERED, WEAKER

OLD = "best < chain - 0.1 and best > twin"
GIVEN = "planted > 0.9"


def claim(prediction: str, given: str | None = None, **changes):
    fields = {"prediction": prediction, "given": given, "failure": False, "specific": True, "amended": None}
    return claim_by_id("depth-probe").model_copy(update=fields | changes)


def samples(best: float, twin: float, planted: float = 0.97) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    means = {"best": best, "twin": twin, "chain": 0.6, "planted": planted}
    return {name: np.clip(mean + draw.normal(0, 0.1, 400), 0, 1) for name, mean in means.items()}


def recorded(claim, model: dict, twins: list[dict], keep: bool = True) -> dict:
    """What a chapter writes of a claim, through a file and back."""
    used = [needed(claim, own) for own in (model, *twins)]
    tested = judge_claim(claim, used[0], used[1:])
    kept = [{name: packed(array) for name, array in own.items()} for own in used]
    result = {"prediction": claim.full_prediction, "sealed": claim.version, "n": 400, **tested.fields}
    if keep:
        result |= {"samples": kept[0], "control_samples": kept[1:]}
    return json.loads(json.dumps(result))


def flat(value):
    """Numbers, words and truth values of a nested record, in order."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flat(value[key])]
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, list) else [value]


def assert_alike(mine: dict, other: dict, rel: float = 2e-3) -> None:
    for a, b in zip(flat(mine), flat(other), strict=True):
        assert a == (b if isinstance(b, str | bool | None) else pytest.approx(b, rel=rel, abs=1e-4))


RNG = np.random.default_rng(5)
UNITS = np.arange(60) % 15
KINDS = {
    "items": lambda mean: (RNG.random(60) < mean).astype(float),
    "perfect items": lambda mean: np.full(60, np.round(mean)),
    "seeds and items": lambda mean: (RNG.random((3, 60)) < mean).astype(float),
    "units": lambda mean: by_unit((RNG.random(60) < mean).astype(float), UNITS),
    "seeds and units": lambda mean: by_unit((RNG.random((3, 60)) < mean).astype(float), UNITS),
    "seeds": lambda mean: per_seed(mean + RNG.normal(0, 0.05, 4)),
    "census": lambda mean: census(RNG.normal(mean, 0.2, 12)),
    "census of seeds": lambda mean: census(RNG.normal(mean, 0.2, (3, 12))),
    "a number": lambda mean: np.asarray(mean),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("twins", [1, 3])
def test_samples_that_were_kept_are_judged_as_they_were(kind, twins):
    draw, own = KINDS[kind], claim("a > b by 0.1 and a > 0.4", "b > 0.2")
    result = recorded(own, {"a": draw(0.9), "b": draw(0.5)}, [{"a": draw(0.5), "b": draw(0.5)} for _ in range(twins)])
    again = judged_again(own, result)
    assert set(again) == set(result)
    assert_alike({k: v for k, v in again.items() if "samples" not in k},
                 {k: v for k, v in result.items() if "samples" not in k})  # fmt: skip


@pytest.mark.parametrize("best", [0.32, 0.35, 0.45, 0.7])
@pytest.mark.parametrize("planted", [0.97, 0.5])
@pytest.mark.parametrize("failure", [False, True])
@pytest.mark.parametrize("keep", [False, True])
def test_under_another_bar_it_is_what_the_samples_say(best, planted, failure, keep):
    before, now = (claim(text, GIVEN, failure=failure) for text in (OLD, "best < chain - 0.2 and best > twin by 0.05"))
    model, twin = samples(best, 0.3, planted), samples(0.3, 0.3, planted)
    again = judged_again(now, recorded(before, model, [twin], keep))
    anew = recorded(now, model, [twin], keep)
    assert again["prediction"] == now.full_prediction and again["model_verdict"] == anew["model_verdict"]
    for name in ("clauses", "control_clauses", "conditions", "control_conditions"):
        columns = ("text", "left", "right", "effect", "low", "high", "smallest", "verdict")
        assert_alike(*([{c: clause[c] for c in columns} for clause in side[name]] for side in (again, anew)))


class TestRecordsOfIntervals:
    """Records of before hold differences from which the margin was taken off, and no samples."""

    def old(self, text: str, difference: float, half: float, left: float, right: float) -> dict:
        clause = {"text": text, "left": left, "right": right, "difference": difference, "low": difference - half,
                  "high": difference + half, "verdict": "inconclusive", "detectable": 0.1}  # fmt: skip
        worse = clause | {key: clause[key] - 0.5 for key in ("difference", "low", "high", "left")}
        return {"prediction": text, "n": 400, "verdict": "inconclusive", "reason": "", "clauses": [clause],
                "control_clauses": [worse], "conditions": [], "control_conditions": []}  # fmt: skip

    def test_a_margin_of_then_is_a_smallest_effect_now(self):
        again = judged_again(claim("a > b by 0.1"), self.old("a > b + 0.1", 0.2, 0.05, 0.9, 0.7))
        (found,) = again["clauses"]
        assert (found["effect"], found["low"], found["smallest"]) == pytest.approx((0.3, 0.25, 0.1))
        assert again["verdict"] == REPLICATES and found["right"] == pytest.approx(0.6)

    def test_a_margin_of_less_than_and_another_one_now(self):
        again = judged_again(claim("a < b by 0.3"), self.old("a < b - 0.1", 0.1, 0.05, 0.2, 0.3))
        (found,) = again["clauses"]
        assert found["effect"] == pytest.approx(0.2) and again["verdict"] == WEAKER
        assert found["right"] == pytest.approx(0.4)

    def test_a_bar_moves(self):
        old = self.old("a > 0.5", 0.2, 0.1, 0.7, 0.5)
        found = [judged_again(claim(f"a > {bar}", specific=False), old)["verdict"] for bar in (0.5, 0.65, 0.9)]
        assert found == [REPLICATES, UNDERPOWERED, CONTRADICTS]

    def test_a_perfect_score_of_then_is_no_surer_than_wilsons(self):
        old = self.old("a > 0.5", 0.5, 0.01, 1.0, 0.5) | {"n": 20}
        (found,) = judged_again(claim("a > 0.5"), old)["clauses"]
        assert found["low"] == pytest.approx(0.8389 - 0.5, abs=1e-3)

    def test_a_lead_is_tested_as_if_on_other_items(self):
        old = self.old("a > 0.5", 0.2, 0.1, 0.7, 0.5)
        again = judged_again(claim("a > 0.5"), old)
        assert again["lead"]["value"] == pytest.approx(0.5) and again["lead"]["low"] == pytest.approx(
            0.5 - 0.1 * 2**0.5
        )
        near = old | {"control_clauses": [old["clauses"][0] | {"low": -0.05, "difference": 0.1}]}
        assert judged_again(claim("a > 0.5"), near)["verdict"] == NOT_SPECIFIC

    @pytest.mark.parametrize("new", ["a > c", "a < b by 0.1", "a > b by 0.1 and a > c", "b > a"])
    def test_what_was_not_compared_needs_a_new_run(self, new):
        assert judged_again(claim(new), self.old("a > b + 0.1", 0.2, 0.05, 0.9, 0.7)) is None

    def test_a_condition_that_was_not_measured_needs_a_new_run(self):
        assert judged_again(claim("a > b", GIVEN), self.old("a > b", 0.2, 0.05, 0.9, 0.7)) is None

    def test_a_result_without_clauses_stays(self):
        result = {"verdict": "not testable here", "clauses": [], "reason": "no head"}
        assert judged_again(claim("a > b"), result) == result


def test_each_twin_is_judged_in_the_models_place_beside_the_others():
    asked = claim("best > chain by 0.1")
    alike = [samples(0.8, 0.5) for _ in range(3)]
    assert judge_claim(asked, samples(0.9, 0.5), alike).in_place == (NOT_SPECIFIC,) * 3
    odd = [samples(0.9, 0.5), *(samples(best, 0.5) for best in (0.3, 0.31, 0.3))]
    assert judge_claim(asked, samples(0.9, 0.5), odd).in_place == (REPLICATES, *[CONTRADICTS] * 3)
    assert judge_claim(asked, samples(0.9, 0.5), alike[:2]).in_place == ()
    assert judge_claim(asked.model_copy(update={"specific": False}), samples(0.9, 0.5), alike).in_place == ()


@pytest.mark.parametrize("failure", [False, True])
@pytest.mark.parametrize("given", [None, GIVEN])
def test_in_place_a_twin_gets_the_verdict_that_it_would_get_as_a_model(given, failure):
    asked = claim("best > chain by 0.1", given).model_copy(update={"failure": failure})
    twins = [samples(best, 0.5) for best in (0.9, 0.3, 0.62, 0.55, 0.9)]
    every = [judge_claim(asked, own, [*twins[:i], *twins[i + 1 :]]).verdict for i, own in enumerate(twins)]
    assert judge_claim(asked, samples(0.9, 0.5), twins).in_place == tuple(every) and len(set(every)) > 1


def of(left: float | np.ndarray, right: float | np.ndarray = 0.5, n: int = 400) -> dict[str, np.ndarray]:
    """Rights and wrongs of two arms, `n` items each with exactly these shares, or the samples themselves."""
    sides = {"a": left, "b": right}
    return {name: x if isinstance(x, np.ndarray) else (np.arange(n) < x * n).astype(float) for name, x in sides.items()}


CHANCE = [of(0.5 + 0.01 * i) for i in range(-2, 3)]


@pytest.mark.parametrize(
    ("model", "twins", "word"),
    [
        (of(0.9), CHANCE, REPLICATES),
        (of(0.5, n=4000), CHANCE, CONTRADICTS),
        (of(0.3), CHANCE, CONTRADICTS),
        (of(0.6), CHANCE, UNDERPOWERED),  # at the bar
        (of(0.53, n=20000), CHANCE, WEAKER),
        (of(1.0, 1.0), CHANCE, UNDERPOWERED),  # at the ceiling there is no room for the effect
        (of(1.0, n=1), CHANCE, UNDERPOWERED),
        (of(per_seed([0.9]), per_seed([0.2])), CHANCE, UNDERPOWERED),
        (of(0.8), [of(0.95)], NOT_SPECIFIC),  # the twin is better
        (of(0.8), [of(p) for p in (0.1, 0.3, 0.5, 0.7, 0.95)], NOT_SPECIFIC),  # twins differ by more
        (of(np.asarray(0.8), np.asarray(0.5)), [of(np.asarray(0.5), np.asarray(0.5))], NOT_SPECIFIC),  # one exact twin
    ],
)
def test_planted_samples_get_the_word_that_they_deserve(model, twins, word):
    assert judge_claim(claim("a > b by 0.1"), model, twins).verdict == word


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_is_refused(bad):
    with pytest.raises(BertologyError, match="not a number"):
        judge_claim(claim("a > b by 0.1"), of(np.array([0.5, bad]), np.ones(2)), CHANCE)


def test_samples_that_are_missing_need_a_new_run():
    result = recorded(claim("a > 0.5"), {"a": np.ones(9)}, [{"a": np.zeros(9)}])
    assert judged_again(claim("a > b"), result) is None


def test_a_claim_rereads_a_record_under_its_prediction_of_today():
    before, now = claim("a > 0.5"), claim("a > 0.95")
    result = recorded(before, {"a": np.ones(40)}, [{"a": np.zeros(40)}]) | {"date": "2026-11-25T00:00:00+00:00"}
    assert result["verdict"] == REPLICATES and not now.covers(result)
    again = reread(now, result)
    assert again["verdict"] == UNDERPOWERED and now.covers(again)
    assert reread(claim("a > b"), result)["prediction"] is None
