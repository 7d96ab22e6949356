"""The language of predictions: comparisons of arithmetic over the means of named samples. Depends on `estimation`.

`best_layer > chain by 0.05 and best_layer > layer_0` is read with Python's own parser restricted to names, numbers,
+ - * /, abs(), min(), max(), median() of three, < and >, and `and`. Each comparison is a clause. `by` names the
smallest effect that would matter; `a > b + 0.05` is another way to write it. Formulas with functions are taken apart
into smooth pieces: the interval of the least of several values follows from theirs, with Bonferroni's correction where
one of several ends would do. The median of three is the largest of the least of each two.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bertology_utils.errors import BertologyError
from bertology_utils.estimation import ALPHA, Estimate, Linear
from bertology_utils.samples import is_binary

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
FUNCTIONS = {"abs": abs, "min": min, "max": max}
OTHER = {"min": "max", "max": "min"}


class NoRatio(BertologyError):
    """A prediction divides by a value that is zero in the samples."""


@dataclass(frozen=True)
class Extreme:
    """The least or the largest of several values; `kind` is "min" or "max"."""

    kind: str
    options: tuple["Piece", ...]

    @property
    def value(self) -> float:
        return FUNCTIONS[self.kind](option.value for option in self.options)


Piece = Linear | Extreme


def piecewise(node: ast.expr, means: Mapping[str, float]) -> Piece:
    """A checked formula near the given means: linear pieces under minima and maxima.

    Raises NoRatio: a division by zero.
    """
    match node:
        case ast.Name(id=name):
            return Linear(means[name], {name: 1.0})
        case ast.Constant(value=value):
            return Linear(float(value))
        case ast.UnaryOp(operand=operand):
            return _combined(ast.Sub, Linear(0.0), piecewise(operand, means))
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(type(op), piecewise(left, means), piecewise(right, means), node)
        case ast.Call(func=ast.Name(id="abs"), args=[inner]):
            piece = piecewise(inner, means)
            return Extreme("max", (piece, _combined(ast.Sub, Linear(0.0), piece, node)))
        case ast.Call(func=ast.Name(id="median"), args=args):
            pairs = combinations([piecewise(argument, means) for argument in args], 2)
            return Extreme("max", tuple(Extreme("min", pair) for pair in pairs))
        case ast.Call(func=ast.Name(id=kind), args=args):
            return Extreme(kind, tuple(piecewise(argument, means) for argument in args))
    raise AssertionError(f"unchecked expression {ast.dump(node)}")


def difference(left: Piece, right: Piece) -> Piece:
    """One formula's pieces less another's."""
    return _combined(ast.Sub, left, right)


def renamed(piece: Piece, prefix: str) -> Piece:
    """The same pieces of samples whose names begin with a prefix."""
    if isinstance(piece, Extreme):
        return Extreme(piece.kind, tuple(renamed(option, prefix) for option in piece.options))
    return Linear(piece.value, {prefix + name: slope for name, slope in piece.slopes.items()})


def _combined(op: type, left: Piece, right: Piece, node: ast.expr | None = None) -> Piece:
    if op is ast.Div:
        if right.value == 0:
            raise NoRatio(f"{ast.unparse(node)} is not defined: {ast.unparse(node.right)} is zero")
        return _lifted(Linear.__truediv__, left, _of_one_sign(right), lambda a, b: (b, -a))
    if op is ast.Mult:
        return _lifted(Linear.__mul__, left, right, lambda a, b: (b, a))
    sign = -1.0 if op is ast.Sub else 1.0
    return _lifted(lambda a, b: a.plus(b, sign), left, right, lambda a, b: (1.0, sign))


def _of_one_sign(divisor: Piece) -> Piece:
    """A divisor without the options beyond zero: between them and the measured one no ratio is defined."""
    if isinstance(divisor, Linear):
        return divisor
    options = tuple(_of_one_sign(option) for option in divisor.options if option.value * divisor.value > 0)
    return options[0] if len(options) == 1 else Extreme(divisor.kind, options)


def _lifted(
    apply: Callable[[Linear, Linear], Linear], left: Piece, right: Piece,
    slopes: Callable[[float, float], tuple[float, float]],
) -> Piece:  # fmt: skip
    """An operation on pieces, done inside their minima and maxima; where it falls, these change places.

    `slopes` gives the signs of its slopes in either operand at their values.
    """
    for i, piece in enumerate((left, right)):
        if isinstance(piece, Extreme):
            kind = piece.kind if slopes(left.value, right.value)[i] >= 0 else OTHER[piece.kind]
            pairs = [(option, right) if i == 0 else (left, option) for option in piece.options]
            return Extreme(kind, tuple(_lifted(apply, *pair, slopes) for pair in pairs))
    return apply(left, right)


@dataclass(frozen=True)
class Bounds:
    """The interval of a piecewise linear formula whose pieces were estimated."""

    piece: Piece
    of: Callable[[Linear], Estimate]

    def low(self, alpha: float = ALPHA) -> float:
        return self._end(self.piece, alpha, "max", lambda estimate, a: estimate.low(a))

    def high(self, alpha: float = ALPHA) -> float:
        return self._end(self.piece, alpha, "min", lambda estimate, a: estimate.high(a))

    def p_above(self, bar: float) -> float:
        """One-sided p of the hypothesis that the truth is at most `bar`."""
        return self._p(self.piece, bar)

    @property
    def active(self) -> Estimate:
        """The estimate of the piece that the measured value lies on."""
        piece = self.piece
        while isinstance(piece, Extreme):
            piece = next(option for option in piece.options if option.value == piece.value)
        return self.of(piece)

    def _end(self, piece: Piece, alpha: float, chosen: str, end: Callable[[Estimate, float], float]) -> float:
        """A bound; where the extreme one of several would do (`chosen`), each gets its share of alpha."""
        if isinstance(piece, Linear):
            return end(self.of(piece), alpha)
        share = alpha / len(piece.options) if piece.kind == chosen else alpha
        return FUNCTIONS[piece.kind](self._end(option, share, chosen, end) for option in piece.options)

    def _p(self, piece: Piece, bar: float) -> float:
        if isinstance(piece, Linear):
            return self.of(piece).p_above(bar)
        ps = [self._p(option, bar) for option in piece.options]
        return max(ps) if piece.kind == "min" else min(1.0, len(ps) * min(ps))


@dataclass(frozen=True)
class Clause:
    """One comparison; `left` should exceed `right` by `smallest` (below it if `flipped`)."""

    text: str
    left: ast.expr
    right: ast.expr
    flipped: bool
    smallest: float = 0.0

    @property
    def names(self) -> set[str]:
        """The samples that the clause compares."""
        nodes = [node for side in (self.left, self.right) for node in ast.walk(side)]
        return {node.id for node in nodes if isinstance(node, ast.Name)} - {*FUNCTIONS, "median"}

    def sides(self, means: Mapping[str, float]) -> tuple[float, float]:
        """Values of the sides as written, left then right, without the smallest effect."""
        return piecewise(self.left, means).value, piecewise(self.right, means).value

    def effect(self, means: Mapping[str, float]) -> Piece:
        """By how much the claimed larger side exceeds the other one, as pieces near the means."""
        left, right = piecewise(self.left, means), piecewise(self.right, means)
        return difference(right, left) if self.flipped else difference(left, right)

    def out_of_reach(self, samples: Mapping[str, np.ndarray], means: Mapping[str, float]) -> bool:
        """Whether the left side is a share of right answers that could not pass even at the end of its scale.

        A cosine or an explained variance has no such end: what it is held against moves with it.
        """
        if not isinstance(self.left, ast.Name) or not is_binary(samples[self.left.id]):
            return False
        perfect = dict(means) | {self.left.id: 0.0 if self.flipped else 1.0}
        return self.effect(perfect).value < self.smallest


def clauses_of(text: str) -> tuple[Clause, ...]:
    """The clauses of a prediction.

    Raises BertologyError: anything but comparisons of arithmetic over names and numbers joined by `and`.
    """
    return tuple(_clause(part.strip(), text) for part in re.split(r"\band\b", str(text)))


def _clause(part: str, text: str) -> Clause:
    comparison, _, by = part.partition(" by ")
    try:
        node = ast.parse(comparison.strip(), mode="eval").body
        named = float(by) if by else 0.0
    except (SyntaxError, ValueError):
        raise BertologyError(f"The prediction '{text}' cannot be read as a formula.") from None
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Gt | ast.Lt):
        raise BertologyError(f"The prediction '{text}' must be comparisons with > or <, joined by 'and'.")
    left, right, flipped = node.left, node.comparators[0], isinstance(node.ops[0], ast.Lt)
    for side in (left, right):
        _check(side, text)
    if not np.isfinite(named) or named < 0:
        raise BertologyError(f"The prediction '{text}' names a smallest effect that is no number from zero on.")
    if not by:
        right, named = _without_margin(right, flipped)
    if not any(isinstance(node, ast.Name) for side in (left, right) for node in ast.walk(side)):
        raise BertologyError(f"The prediction '{text}' compares numbers with each other: name a sample.")
    written = f"{ast.unparse(left)} {'<' if flipped else '>'} {ast.unparse(right)}"
    return Clause(written + (f" by {named:g}" if named else ""), left, right, flipped, named)


def _without_margin(right: ast.expr, flipped: bool) -> tuple[ast.expr, float]:
    """`b + 0.05` or `0.05 + b` as b and 0.05, where that makes the comparison harder; else unchanged."""
    match right:
        case ast.BinOp(left=rest, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=value)):
            if isinstance(op, ast.Sub) == flipped and value > 0 and not isinstance(rest, ast.Constant):
                return rest, float(value)
        case ast.BinOp(left=ast.Constant(value=value), op=ast.Add(), right=rest):
            if not flipped and value > 0 and not isinstance(rest, ast.Constant):
                return rest, float(value)
    return right, 0.0


def _check(node: ast.expr, text: str) -> None:
    match node:
        case ast.Constant(value=bool()):
            raise BertologyError(f"The prediction '{text}' holds '{ast.unparse(node)}', which is not arithmetic.")
        case ast.Name() | ast.Constant(value=int() | float()):
            return
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, OPERATORS):
            _check(left, text), _check(right, text)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand, text)
        case ast.Call(func=ast.Name(id="abs"), args=[argument], keywords=[]):
            _check(argument, text)
        case (
            ast.Call(func=ast.Name(id="min" | "max"), args=[_, _, *_] as args, keywords=[])
            | ast.Call(func=ast.Name(id="median"), args=[_, _, _] as args, keywords=[])
        ):
            for argument in args:
                _check(argument, text)
        case _:
            raise BertologyError(f"The prediction '{text}' holds '{ast.unparse(node)}', which is not arithmetic.")


def names_of(clauses: Sequence[Clause]) -> set[str]:
    return set().union(*(clause.names for clause in clauses))
