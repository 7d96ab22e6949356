"""Experiments on numbers: what is read inside and outside of a range, and of sums."""

import numpy as np
import pytest
import torch

from bertology_utils.language.semantic_tasks import decimals, integers
from bertology_utils.studies.semantics import number_measures
from bertology_utils.studies.semantics.number_measures import Extrapolation
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, parse


def on_a_line(specimen, values) -> torch.Tensor:
    """Vectors that hold a number as it is."""
    return torch.tensor([[[float(value), 1.0] for value in values]])


@pytest.fixture
def perfect(monkeypatch):
    monkeypatch.setattr(number_measures, "number_vectors", on_a_line)


def test_vectors_and_digits_are_read_alike(perfect):
    found = number_measures.numeracy(None, {"integers": integers(0, 1000, 400)})
    assert set(found) == {"integers", "integers_digits"}
    assert found["integers"].mean() > 0.99 and found["integers_digits"].mean() > 0.9


def test_a_line_is_read_outside_of_its_range_too(perfect):
    beyond = Extrapolation(integers(100, 500, 100), integers(500, 900, 50))
    errors = beyond.errors(None)
    assert {name: len(values) for name, values in errors.items()} == {
        "inside": 30, "outside": 50, "planted": 50, "spread": 30
    }  # fmt: skip
    roots = number_measures.root_mean_squares(errors)
    assert roots["inside"] < roots["outside"] < roots["spread"]
    drawn = beyond.figure(None)
    assert "Wallace" in drawn.caption and len(drawn.table) == 80


def test_sums_of_numbers_on_a_line_are_read(perfect):
    pairs = np.random.default_rng(0).integers(0, 50, (60, 2))
    outside = np.random.default_rng(1).integers(50, 100, (20, 2))
    found = number_measures.sum_errors(None, pairs[:40], pairs[40:], outside)
    assert found["inside"] < 1 and found["outside"] < 10


@pytest.mark.parametrize("rounded", [True, False])
def test_what_is_lost_behind_the_point_is_seen(monkeypatch, rounded):
    """Vectors of digits by their place; `rounded` ones have nothing behind the point."""

    def digits(specimen, values):
        texts = [str(round(value) if rounded else value).replace("0.", "").ljust(4, "0") for value in values]
        return number_measures.digit_one_hots(texts)

    monkeypatch.setattr(number_measures, "number_vectors", digits)
    whole = [number for number in integers(1000, 10_000, 900) if number % 10]
    found = number_measures.numeracy(None, {"integers": whole, "decimals": decimals(whole)})
    clause, _ = parse(claim_by_id("numbers-float-poor").prediction).judge(found)
    assert found["integers"].mean() > 0.9 and clause.verdict == (REPLICATES if rounded else CONTRADICTS)
