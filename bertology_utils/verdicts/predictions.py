"""The language of predictions: a formula over the means of named samples. Depends on `statistics`.

`best_layer > chain + 0.05 and best_layer > layer_0` is read once, with Python's own parser restricted to names,
numbers, + - * /, abs(), min(), max(), the comparisons < and >, and `and`. Each comparison is a clause; what is tested
is the difference of its sides in the direction that it claims. Where even a perfect score could not clear a margin, the
margin cannot refute the claim.
"""

import ast
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bertology_utils.errors import BertologyError
from bertology_utils.statistics import as_samples, bootstrap, detectable, percentile_interval

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
FUNCTIONS = {"abs": abs, "min": min, "max": max}
ROUNDING = 1e-9  # equal means, a margin added and taken off again

REPLICATES = "replicates"
NOT_SPECIFIC = "replicates (not specific)"
CONTRADICTS = "contradicts"
INCONCLUSIVE = "inconclusive"
NOT_TESTABLE = "not testable here"
VERDICTS = (REPLICATES, NOT_SPECIFIC, CONTRADICTS, INCONCLUSIVE, NOT_TESTABLE)


class NoRatio(BertologyError):
    """A prediction divides by a value that is zero in the samples or in a resample of them."""


@dataclass(frozen=True)
class Clause:
    """One comparison of a prediction; `left` should exceed `right` (sides are swapped for `<`)."""

    text: str
    left: ast.expr
    right: ast.expr
    flipped: bool

    @property
    def names(self) -> set[str]:
        """The samples that the clause compares."""
        nodes = [node for side in (self.left, self.right) for node in ast.walk(side)]
        return {node.id for node in nodes if isinstance(node, ast.Name)} - set(FUNCTIONS)

    @property
    def margin(self) -> float:
        """By how much the sides must differ: 0.05 in `a > b + 0.05` and `a < b - 0.05`, else 0.

        Negative where the clause allows for a tie instead: -0.05 in `a > b - 0.05` and `a < b + 0.05`.
        """
        match self.right:
            case ast.BinOp(op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=value)):
                return float(value) if isinstance(op, ast.Sub) == self.flipped else -float(value)
        return 0.0

    def out_of_reach(self, samples: Mapping[str, np.ndarray], means: Mapping[str, float]) -> bool:
        """Whether the left side is a share (values from 0 to 1) that could not pass even at the end of its scale."""
        if not isinstance(self.left, ast.Name):
            return False
        values = samples[self.left.id]
        perfect = means | {self.left.id: 0.0 if self.flipped else 1.0}
        return bool(values.min() >= 0 and values.max() <= 1 and self.excess(perfect) < 0)

    def sides(self, means: Mapping[str, float]) -> tuple[float, float]:
        """Values of the sides as written, left then right."""
        return evaluate(self.left, means), evaluate(self.right, means)

    def excess(self, means: Mapping[str, float]) -> float:
        """By how much the claimed larger side exceeds the other one."""
        left, right = self.sides(means)
        return right - left if self.flipped else left - right


@dataclass(frozen=True)
class ClauseResult:
    """A clause after measurement: its sides, the excess in the claimed direction, its interval and verdict.

    Attributes:
        detectable: the smallest true excess that as many items and seeds would have shown with power 0.8; None where
            all values are exact.
        capped: whether the excess is refuted only by a margin that no score could have cleared; then it is undecided.
    """

    text: str
    left: float
    right: float
    difference: float
    low: float
    high: float
    verdict: str
    detectable: float | None = None
    capped: bool = False


@dataclass(frozen=True)
class Prediction:
    """A parsed prediction."""

    text: str
    clauses: tuple[Clause, ...]

    @property
    def names(self) -> set[str]:
        return set().union(*(clause.names for clause in self.clauses))

    def judge(self, samples: Mapping[str, object], seed: int = 0) -> tuple[ClauseResult, ...]:
        """Measures every clause on samples: means, bootstrap interval of the excess, verdict of the clause.

        Raises:
            BertologyError: a sample that the prediction names is missing.
            NoRatio: a division by zero.
        """
        missing = self.names - set(samples)
        if missing:
            raise BertologyError(f"The prediction '{self.text}' needs the sample '{sorted(missing)[0]}'.")
        arrays = as_samples({name: samples[name] for name in self.names})
        means = {name: float(array.mean()) for name, array in arrays.items()}
        draws = bootstrap(lambda m: np.array([c.excess(m) for c in self.clauses]), arrays, seed=seed)
        return tuple(self._result(c, arrays, means, draws[:, i]) for i, c in enumerate(self.clauses))

    def _result(
        self, clause: Clause, samples: Mapping[str, np.ndarray], means: Mapping[str, float], draws: np.ndarray
    ) -> ClauseResult:
        excess = clause.excess(means)
        low, high = percentile_interval(draws, excess)
        capped = high < 0 and high + clause.margin > -ROUNDING and clause.out_of_reach(samples, means)
        verdict = REPLICATES if low > 0 else CONTRADICTS if high < 0 and not capped else INCONCLUSIVE
        least = detectable(low, high) if any(samples[name].ndim for name in clause.names) else None
        return ClauseResult(clause.text, *clause.sides(means), excess, low, high, verdict, least, capped)


def parse(text: str) -> Prediction:
    """Reads a prediction.

    Raises:
        BertologyError: anything but comparisons of arithmetic over names and numbers joined by `and`.
    """
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, AttributeError):
        raise BertologyError(f"The prediction '{text}' cannot be read as a formula.") from None
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    return Prediction(text.strip(), tuple(_clause(part, text) for part in parts))


def _clause(node: ast.expr, text: str) -> Clause:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Gt | ast.Lt):
        raise BertologyError(f"The prediction '{text}' must be comparisons with > or <, joined by 'and'.")
    for side in (node.left, node.comparators[0]):
        _check(side, text)
    return Clause(ast.unparse(node), node.left, node.comparators[0], isinstance(node.ops[0], ast.Lt))


def _check(node: ast.expr, text: str) -> None:
    match node:
        case ast.Name() | ast.Constant(value=int() | float()):
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            _check(left, text), _check(right, text)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            for argument in args:
                _check(argument, text)
        case _:
            raise BertologyError(f"The prediction '{text}' holds '{ast.unparse(node)}', which is not arithmetic.")


def evaluate(node: ast.expr, means: Mapping[str, float]) -> float:
    """The value of a checked arithmetic expression at the given means.

    Raises:
        NoRatio: a division by zero.
    """
    match node:
        case ast.Name(id=name):
            return means[name]
        case ast.Constant(value=value):
            return float(value)
        case ast.BinOp(op=ast.Div(), right=right) if evaluate(right, means) == 0:
            raise NoRatio(f"{ast.unparse(node)} is not defined: {ast.unparse(right)} is zero or may be")
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](evaluate(left, means), evaluate(right, means))
        case ast.UnaryOp(operand=operand):
            return -evaluate(operand, means)
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(evaluate(a, means) for a in args))
    raise AssertionError(f"unchecked expression {ast.dump(node)}")


def deciding(intervals: Sequence[tuple[float, float]]) -> int:
    """Which clause stands for all: of those that are refuted (below zero), else of all, the one that reaches lowest."""
    return min(range(len(intervals)), key=lambda i: (intervals[i][1] >= 0, intervals[i][0]))


def overall(clauses: tuple[ClauseResult, ...]) -> str:
    """All clauses hold: replicates. One is refuted: contradicts. Otherwise the data do not decide."""
    verdicts = {clause.verdict for clause in clauses}
    if verdicts == {REPLICATES}:
        return REPLICATES
    return CONTRADICTS if CONTRADICTS in verdicts else INCONCLUSIVE


@dataclass(frozen=True)
class Judgement:
    """What samples of one model say of a claim; with a `reason` where its test could not be passed."""

    clauses: tuple[ClauseResult, ...] = ()
    reason: str = ""
    conditions: tuple[ClauseResult, ...] = ()  # those of the positive control

    @property
    def verdict(self) -> str:
        return INCONCLUSIVE if self.reason else overall(self.clauses)

    def as_control(self, failure: bool) -> "Judgement":
        """Of a control: what it does counts though it fails its positive control, unless the claim is of a failure."""
        return self if failure else replace(self, reason="")

    @property
    def deciding(self) -> int | None:
        """The clause whose difference and interval stand for the claim; None without clauses."""
        if not self.clauses:
            return None
        return deciding([(clause.low, clause.high) for clause in self.clauses])


def judge(prediction: Prediction, given: Prediction | None, samples: Mapping[str, object], seed: int = 0) -> Judgement:
    """Judges a prediction on samples, provided that its positive control holds on them and leaves room for it."""
    clauses = prediction.judge(samples, seed)
    conditions = given.judge(samples, seed) if given else ()
    return concluded(clauses, conditions)


def concluded(clauses: tuple[ClauseResult, ...], conditions: tuple[ClauseResult, ...]) -> Judgement:
    """The judgement that measured clauses give behind their positive control."""
    return Judgement(clauses, _unable(conditions) or _out_of_reach(clauses), conditions)


def judge_both(
    prediction: Prediction,
    given: Prediction | None,
    samples: Mapping[str, object],
    control: Mapping[str, object],
    seed: int = 0,
) -> tuple[Judgement, Judgement]:
    """The judgements of the model and of its control; neither is decided where a ratio of either is not defined."""
    try:
        return judge(prediction, given, samples, seed), judge(prediction, given, control, seed)
    except NoRatio as error:
        undecided = Judgement(reason=str(error))
        return undecided, undecided


def _unable(conditions: tuple[ClauseResult, ...]) -> str:
    for clause in conditions:
        if clause.verdict != REPLICATES:
            outcome = "failed" if clause.verdict == CONTRADICTS else "is not decided"
            return f"the positive control {outcome}: {_measured(clause)}"
    return ""


def _out_of_reach(clauses: tuple[ClauseResult, ...]) -> str:
    capped = next((clause for clause in clauses if clause.capped), None)
    if capped and overall(clauses) == INCONCLUSIVE:
        return f"even a perfect score would not pass {_measured(capped)}"
    return ""


def _measured(clause: ClauseResult) -> str:
    excess = f"excess {clause.difference:+z.2f}, 95 % interval {clause.low:+z.2f} to {clause.high:+z.2f}"
    return f"{clause.text} (measured {clause.left:.2f} and {clause.right:.2f}; {excess})"


def verdict(model: Judgement, control: Judgement, specific: bool) -> str:
    """The verdict on a claim; where training should matter, a control that passes too makes it not specific."""
    return NOT_SPECIFIC if specific and model.verdict == control.verdict == REPLICATES else model.verdict


def judged_fields(model: Judgement, control: Judgement) -> dict[str, Any]:
    """The fields of a result that its two judgements fill; `measured` to `ci_high` are of the deciding clause."""
    place = model.deciding
    deciding = None if place is None else model.clauses[place]
    return {
        "measured": deciding and deciding.left,
        "control": deciding and control.clauses[place].left,
        "difference": deciding and deciding.difference,
        "ci_low": deciding and deciding.low,
        "ci_high": deciding and deciding.high,
        "detectable": deciding and deciding.detectable,
        "model_verdict": deciding and model.verdict,
        "control_verdict": deciding and control.verdict,
        "clauses": [vars(c) for c in model.clauses],
        "control_clauses": [vars(c) for c in control.clauses],
        "conditions": [vars(c) for c in model.conditions],
        "control_conditions": [vars(c) for c in control.conditions],
    }
