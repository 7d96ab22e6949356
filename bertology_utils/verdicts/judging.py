"""A claim judged on what was measured, now or when it was recorded. Depends on `leads`, `predictions` and `samples`.

A record keeps the samples that its claim was judged on, so that another estimator or another bar judges them again
without measuring. Records from before 2026-11-26 hold intervals only: their clauses are moved to the bars of today
where the same two sides are compared, and their intervals stay the wider ones of then.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import stats

from bertology_utils.errors import BertologyError
from bertology_utils.estimation import proportion_interval
from bertology_utils.samples import unpacked
from bertology_utils.verdicts.claims import Claim
from bertology_utils.verdicts.formulas import Clause, clauses_of
from bertology_utils.verdicts.leads import Contrast, contrast, stacked
from bertology_utils.verdicts.predictions import (
    NOT_SPECIFIC,
    REACH,
    REPLICATES,
    ClauseResult,
    Judgement,
    Prediction,
    concluded,
    judge,
    outcome,
    parse,
)

FEWEST = 3  # twins of which each may stand in the model's place


@dataclass(frozen=True)
class Tested:
    """A claim's verdict on one model, the judgements of the model and of its untrained twins, and the model's lead.

    `in_place` are the verdicts on the twins, each in the model's place beside the others, where there are two of them,
    which tell how much untrained networks differ.
    """

    verdict: str
    model: Judgement
    twins: Judgement
    lead: Contrast | None = None
    in_place: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, Any]:
        """What a result holds of it."""
        said = {"verdict": self.verdict, "reason": self.model.reason, "twins_in_place": list(self.in_place)}
        return said | judged_fields(self.model, self.twins, self.lead)


def needed(claim: Claim, samples: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The samples that a claim's prediction and its positive control name.

    Raises BertologyError: one of them is missing.
    """
    prediction, given = _predictions(claim)
    return prediction.arrays(samples) | (given.arrays(samples) if given else {})


def judge_claim(claim: Claim, samples: Mapping[str, Any], twins: Sequence[Mapping[str, Any]]) -> Tested:
    """Judges a claim on the samples of a model and of its untrained twins (or of another control)."""
    tested = _judged(claim, samples, twins)
    if not claim.specific or len(twins) < FEWEST:
        return tested
    others = ([*twins[:place], *twins[place + 1 :]] for place in range(len(twins)))
    verdicts = (_in_place(claim, own, rest) for own, rest in zip(twins, others, strict=True))
    return replace(tested, in_place=tuple(verdicts))


def _in_place(claim: Claim, twin: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """The verdict on a twin in the model's place. By how much it leads the others is asked of none that fails alone:
    most fail the prediction itself, and of a hundred twins all leads together take minutes."""
    alone = judge(*_predictions(claim), twin).verdict
    return _judged(claim, twin, others).verdict if alone == REPLICATES else alone


def _judged(claim: Claim, samples: Mapping[str, Any], twins: Sequence[Mapping[str, Any]]) -> Tested:
    prediction, given = _predictions(claim)
    model = judge(prediction, given, samples)
    control = without_say(judge(prediction, given, stacked(twins)), claim.failure)
    ability = given if claim.failure else None
    lead = contrast(prediction, ability, samples, twins) if claim.specific else None
    return Tested(verdict(model, control, lead, claim.specific), model, control, lead)


def verdict(model: Judgement, twins: Judgement, lead: Contrast | None, specific: bool) -> str:
    """The verdict on a claim. One about what training teaches replicates only if the twins do not, and the model leads
    them by a tested difference."""
    if not specific or model.verdict != REPLICATES:
        return model.verdict
    shown = lead is not None and lead.shown and twins.verdict != REPLICATES
    return REPLICATES if shown else NOT_SPECIFIC


def without_say(control: Judgement, failure: bool) -> Judgement:
    """Of a control: what it does counts though it fails its positive control, unless the claim is of a failure."""
    return control if failure or not control.clauses else replace(control, reason="", stopped="")


def judged_fields(model: Judgement, twins: Judgement, lead: Contrast | None = None) -> dict[str, Any]:
    """The fields of a result that its judgements fill; `measured` to `ci_high` are of the deciding clause."""
    place = model.deciding
    clause = None if place is None else model.clauses[place]
    return {
        "measured": clause and clause.left,
        "control": twins.clauses[place].left if clause and twins.clauses else None,
        "difference": clause and clause.effect,
        "ci_low": clause and clause.low,
        "ci_high": clause and clause.high,
        "smallest": clause and clause.smallest,
        "p": clause and model.p,
        "needs": next((c.needs for c in model.conditions if not c.passed), clause and clause.needs),
        "model_verdict": clause and model.verdict,
        "control_verdict": clause and twins.verdict,
        "lead": lead and asdict(lead),
        "clauses": [asdict(c) for c in model.clauses],
        "control_clauses": [asdict(c) for c in twins.clauses],
        "conditions": [asdict(c) for c in model.conditions],
        "control_conditions": [asdict(c) for c in twins.conditions],
    }


def _predictions(claim: Claim) -> tuple[Prediction, Prediction | None]:
    return claim.parsed_prediction, parse(claim.given) if claim.given else None


def judged_again(claim: Claim, result: Mapping[str, Any]) -> dict[str, Any] | None:
    """A recorded result under the claim's prediction of today; None where the record cannot tell."""
    if not (result.get("clauses") or result.get("samples")):
        return dict(result)
    try:
        tested = _from_samples(claim, result) if result.get("samples") else _from_intervals(claim, result)
    except BertologyError:
        return None
    now = {"prediction": claim.full_prediction, "sealed": claim.version}
    return tested and dict(result) | now | tested.fields


def _from_samples(claim: Claim, result: Mapping[str, Any]) -> Tested:
    kept = [result["samples"], *result["control_samples"]]
    model, *twins = [{name: unpacked(sample) for name, sample in own.items()} for own in kept]
    return judge_claim(claim, needed(claim, model), [needed(claim, twin) for twin in twins])


def _from_intervals(claim: Claim, result: Mapping[str, Any]) -> Tested | None:
    """By the recorded intervals alone, which do not know of clauses that were not compared then."""
    prediction, given = _predictions(claim)
    judged = []
    for side in ("", "control_"):
        clauses = [_moved(clause, result, f"{side}clauses") for clause in prediction.clauses]
        conditions = [_moved(clause, result, f"{side}conditions") for clause in (given.clauses if given else ())]
        if None in clauses or None in conditions:
            return None
        judged.append(concluded(tuple(clauses), tuple(conditions)))
    model, twins = judged[0], without_say(judged[1], claim.failure)
    lead = _lead(model, judged[1], claim.failure) if claim.specific else None
    return Tested(verdict(model, twins, lead, claim.specific), model, twins, lead)


def _moved(clause: Clause, result: Mapping[str, Any], part: str) -> ClauseResult | None:
    """A clause under the bar of today, from the recorded clause that compares the same sides but for a number."""
    for kept in result.get(part, ()):
        (was,) = clauses_of(kept["text"])
        effect = kept.get("effect", kept.get("difference"))
        old_bar, new_bar = _number(was.right), _number(clause.right)
        same = ast.dump(was.right) == ast.dump(clause.right) or None not in (old_bar, new_bar)
        if was.flipped != clause.flipped or ast.dump(was.left) != ast.dump(clause.left) or not same:
            continue
        step = 0.0 if old_bar is None else (old_bar - new_bar) * (-1 if clause.flipped else 1)
        step += 0.0 if "effect" in kept else was.smallest  # it was taken off
        low, high = kept["low"] + step, kept["high"] + step
        if new_bar is not None and kept["left"] in (0, 1) and high - low and not clause.flipped:
            low = min(low, proportion_interval(int(kept["left"] * result["n"]), result["n"])[0] - new_bar)
        right = kept["right"] if new_bar is None else new_bar
        if new_bar is None and "effect" not in kept:
            right -= was.smallest * (-1 if clause.flipped else 1)
        return _clause_result(clause, kept["left"], right, effect + step, low, high)
    return None


def _clause_result(clause: Clause, left: float, right: float, effect: float, low: float, high: float) -> ClauseResult:
    error = (high - low) / (2 * REACH)
    p = float(stats.norm.sf((effect - clause.smallest) / error)) if error else float(effect <= clause.smallest)
    word = outcome(low, high, clause.smallest)
    return ClauseResult(clause.text, left, right, effect, low, high, clause.smallest, word, p, error)


def _number(node: ast.expr) -> float | None:
    """The value of a side that is a number."""
    return float(node.value) if isinstance(node, ast.Constant) else None


def _lead(model: Judgement, twins: Judgement, failure: bool) -> Contrast | None:
    """The model's lead over its twin as if they had been measured on different items; see `predictions.contrast`."""

    def leads(part: str) -> list[Contrast]:
        found = []
        for mine, theirs in zip(getattr(model, part), getattr(twins, part), strict=True):
            value, half = mine.effect - theirs.effect, REACH * float(np.hypot(mine.error, theirs.error))
            found.append((mine.smallest, Contrast(mine.text, value, value - half, value + half, 1)))
        named = [lead for smallest, lead in found if smallest]
        return named or [lead for _, lead in found]

    sure = attrgetter("sureness")
    return max([min(leads("clauses"), key=sure), *(leads("conditions") if failure else ())], key=sure)
