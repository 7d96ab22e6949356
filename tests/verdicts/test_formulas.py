"""Formulas are what Python says they are, their slopes those of small steps, their bounds those of their parts."""

import ast
import math

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.estimation import ALPHA, Linear, estimate
from bertology_utils.verdicts.formulas import Bounds, Extreme, NoRatio, clauses_of, difference, piecewise

FORMULAS = (
    "a - b",
    "-max(a, b)",
    "abs(a - b) - c",
    "min(a, b, c) - max(d, a)",
    "a / max(b, c)",
    "max(a, b) / min(c, d)",
    "a * min(b, c)",
    "max(a, b) * min(c, d)",
    "-abs(a) / abs(b)",
    "(a - b) / (c - d)",
    "min(a, max(b, c)) * -2 + d / 4",
    "abs(min(a, b) - max(c, d))",
)


def built(text: str, means: dict[str, float]):
    return piecewise(ast.parse(text, mode="eval").body, means)


def plain(text: str, means: dict[str, float]) -> float:
    return eval(text, {"__builtins__": {}, "min": min, "max": max, "abs": abs}, means)


def active(piece) -> Linear:
    while isinstance(piece, Extreme):
        piece = next(option for option in piece.options if option.value == piece.value)
    return piece


@pytest.mark.parametrize("text", FORMULAS)
def test_values_and_slopes_are_those_of_plain_arithmetic(text):
    rng = np.random.default_rng(0)
    for _ in range(60):
        means = dict(zip("abcd", map(float, rng.normal(size=4)), strict=True))
        piece = built(text, means)
        assert piece.value == pytest.approx(plain(text, means))
        slopes = active(piece).slopes
        for name in "abcd":
            step = 1e-7
            moved = plain(text, means | {name: means[name] + step}) - plain(text, means | {name: means[name] - step})
            assert slopes.get(name, 0.0) == pytest.approx(moved / (2 * step), rel=1e-3, abs=1e-3)


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(1)
    return {name: rng.normal(mean, 1, 50) for name, mean in zip("abcd", (0.1, 0.2, 0.0, 3.0), strict=True)}


def bounds(text, arrays):
    means = {name: float(array.mean()) for name, array in arrays.items()}
    return Bounds(built(text, means), lambda linear: estimate(linear, arrays))


def test_the_least_is_surely_above_what_each_is_above(arrays):
    least, parts = bounds("min(a, b, c)", arrays), [bounds(name, arrays) for name in "abc"]
    assert least.low() == min(part.low() for part in parts)
    assert least.high() == min(part.high(ALPHA / 3) for part in parts)
    assert least.p_above(-0.3) == max(part.p_above(-0.3) for part in parts)


def test_the_largest_mirrors_the_least(arrays):
    largest, least = bounds("max(a, b)", arrays), bounds("min(-a, -b)", arrays)
    assert (largest.low(), largest.high()) == pytest.approx((-least.high(), -least.low()))


def test_far_options_do_not_matter_but_for_their_share(arrays):
    largest, alone = bounds("max(a, d)", arrays), bounds("d", arrays)
    assert largest.high() == alone.high() and largest.low() == alone.low(ALPHA / 2) < alone.low()


def test_two_of_three_is_their_median(arrays):
    short = bounds("median(a, b, min(c, d))", arrays)
    long = bounds("max(min(a, b), min(a, min(c, d)), min(b, min(c, d)))", arrays)
    assert (short.low(), short.high()) == (long.low(), long.high())
    assert built("median(a, b, c)", {"a": 3.0, "b": 1.0, "c": 2.0}).value == 2


def test_an_absence_is_shown_by_two_one_sided_tests(arrays):
    absence, both = bounds("abs(a - b)", arrays), bounds("a - b", arrays)
    assert absence.high() == pytest.approx(max(both.high(), -both.low()))


@pytest.mark.parametrize(("text", "truth"), [("abs(a - b)", 0.0), ("max(a, b, c)", 0.0), ("min(a, b)", 0.0)])
def test_extremes_of_equal_things_cover(text, truth):
    rng = np.random.default_rng(0)
    found = [bounds(text, {name: rng.normal(size=30) for name in "abc"}) for _ in range(500)]
    assert np.mean([b.low() <= truth + 1e-12 for b in found]) > 0.955
    assert np.mean([b.high() >= truth - 1e-12 for b in found]) > 0.955


def test_a_ratio_without_denominator_is_not_defined():
    with pytest.raises(NoRatio, match="b is zero"):
        built("a / b", {"a": 1.0, "b": 0.0})


@pytest.mark.parametrize(
    ("text", "smallest", "right"),
    [
        ("a > b by 0.05", 0.05, "b"),
        ("a > b + 0.05", 0.05, "b"),
        ("a > 0.05 + b", 0.05, "b"),
        ("a < 0.05 + b", 0.0, "0.05 + b"),
        ("a < b - 0.05", 0.05, "b"),
        ("a > b - 0.05", 0.0, "b - 0.05"),
        ("a < b + 0.05", 0.0, "b + 0.05"),
        ("a > 0.5", 0.0, "0.5"),
        ("a > 0.5 by 0.1", 0.1, "0.5"),
        ("a > 0.5 + 0.1", 0.0, "0.5 + 0.1"),
    ],
)
def test_what_would_matter_is_named_apart_from_the_sides(text, smallest, right):
    (clause,) = clauses_of(text)
    assert clause.smallest == smallest and ast.unparse(clause.right) == right
    assert clauses_of(clause.text) == (clause,) or clauses_of(clause.text)[0].text == clause.text


def test_a_smallest_effect_counts_in_the_claimed_direction():
    more, less = clauses_of("a > b by 0.1 and a < b by 0.1")
    means = {"a": 3.0, "b": 1.0}
    assert more.effect(means).value == 2 and less.effect(means).value == -2


def test_differences_of_extremes_keep_their_kinds():
    piece = difference(built("min(a, b)", {"a": 1.0, "b": 2.0}), built("max(a, b)", {"a": 1.0, "b": 2.0}))
    assert piece.value == -1 and math.isclose(active(piece).slopes["a"], 1)


@pytest.mark.parametrize(
    "text",
    [
        "a", "a >", "a == b", "a > b or b > a", "open('x') > 1", "a > b > c", "a.b > 1", "a > 'x'", "a ** 2 > 1",
        "a > b by -0.1", "a > b by c", "max(a) > 1", "min(*a) > b",
    ],
)  # fmt: skip
def test_malformed_predictions_are_refused(text):
    with pytest.raises(BertologyError):
        clauses_of(text)
