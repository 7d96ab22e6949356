"""Records judged again where a prediction changed its margins alone. Depends on `predictions`.

A margin moves the measured excess of a clause and both ends of its interval by as much, so that a record need not be
measured again when `a > b` becomes `a > b + 0.05`: its own intervals tell the new verdict exactly.
"""

import ast
from collections.abc import Mapping
from typing import Any

from bertology_utils.verdicts.predictions import (
    CONTRADICTS,
    INCONCLUSIVE,
    REPLICATES,
    ROUNDING,
    Clause,
    ClauseResult,
    Judgement,
    concluded,
    judged_fields,
    parse,
    verdict,
)


def rejudged(
    result: Mapping[str, Any], prediction: str, given: str | None, *, failure: bool, specific: bool
) -> dict[str, Any] | None:
    """A recorded result under another prediction, None where the two differ in more than margins.

    Args:
        result: as a chapter records it, with the clauses and conditions of model and control.
        prediction, given, failure, specific: of the claim as it is now.

    None also where the record cannot tell: it holds no clauses, or a share that could not clear the new margin.
    """
    condition, _, old = result["prediction"].rpartition(" : ")
    moves = _moves(old, prediction)
    if moves is None or condition != (f"given {given}" if given else "") or not result["clauses"]:
        return None
    sides = [_moved_judgement(result, side, moves) for side in ("", "control_")]
    if None in sides:
        return None
    model, control = sides[0], sides[1].as_control(failure)
    word = verdict(model, control, specific)
    full = result["prediction"].removesuffix(old) + prediction
    return {**result, "prediction": full, "verdict": word, "reason": model.reason, **judged_fields(model, control)}


def _moves(old: str, new: str) -> list[tuple[Clause, float]] | None:
    """The clauses of `new`, each with the change of its margin; None where anything else is different."""
    before, after = parse(old).clauses, parse(new).clauses
    if list(map(_without_margin, before)) != list(map(_without_margin, after)):
        return None
    return [(clause, clause.margin - was.margin) for was, clause in zip(before, after, strict=True)]


def _without_margin(clause: Clause) -> tuple[str, str, bool]:
    right = clause.right.left if clause.margin else clause.right
    return ast.dump(clause.left), ast.dump(right), clause.flipped


def _moved_judgement(result: Mapping[str, Any], side: str, moves: list[tuple[Clause, float]]) -> Judgement | None:
    """The model's judgement, or with side "control_" the control's."""
    pairs = zip(moves, result[f"{side}clauses"], strict=True)
    clauses = tuple(_moved(ClauseResult(**measured), clause, step) for (clause, step), measured in pairs)
    conditions = tuple(ClauseResult(**measured) for measured in result.get(f"{side}conditions", ()))
    return None if None in clauses else concluded(clauses, conditions)


def _moved(measured: ClauseResult, clause: Clause, step: float) -> ClauseResult | None:
    """A clause under its new margin; None where a share may be refuted by the margin alone, which its values decide."""
    if not step:
        return measured
    low, high = measured.low - step, measured.high - step
    right = measured.right + (-step if clause.flipped else step)
    if high < 0 and high + clause.margin > -ROUNDING and not 0 <= right <= 1:
        return None
    word = REPLICATES if low > 0 else CONTRADICTS if high < 0 else INCONCLUSIVE
    return ClauseResult(
        clause.text, measured.left, right, measured.difference - step, low, high, word, measured.detectable
    )
