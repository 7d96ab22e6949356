"""Samples know what was drawn, and records give them back."""

import json
from itertools import combinations

import numpy as np
import pytest

from bertology_utils.errors import BertologyError
from bertology_utils.samples import as_samples, by_unit, census, is_binary, item_count, packed, per_seed, unpacked


@pytest.mark.parametrize("bad", [np.zeros((2, 2, 2)), [], [np.nan, 1.0], [np.inf]])
def test_samples_without_meaning_are_refused(bad):
    with pytest.raises(BertologyError):
        as_samples({"x": bad})


def test_pairs_of_few_things_are_as_uncertain_as_their_things():
    generator = np.random.default_rng(0)
    pairs = list(combinations(range(16), 2))
    means, spreads = [], []
    for _ in range(200):
        skill = generator.normal(size=16)
        outcomes = [skill[a] + skill[b] for a, b in pairs]
        values = by_unit(outcomes, [(str(a), str(b)) for a, b in pairs])
        assert len(values) == 16 and values.mean() == pytest.approx(np.mean(outcomes))
        means.append(values.mean())
        spreads.append(values.std(ddof=1) / 4)
    assert np.mean(spreads) == pytest.approx(np.std(means), rel=0.15)


def test_unequal_units_keep_the_mean_of_the_items_and_know_their_items():
    values = by_unit([1, 0, 0], ["a", "a", "b"])
    assert values.mean() == pytest.approx(1 / 3) and values.shape == (2,)
    assert item_count(values) == 3 and is_binary(values) and not is_binary(by_unit([0.5, 0, 0], ["a", "a", "b"]))


def test_what_was_computed_from_rights_and_wrongs_is_neither():
    values = by_unit([1, 0, 0], ["a", "a", "b"])
    assert not is_binary(values - values[::-1]) and not is_binary(2 * values) and is_binary(values[:1])


def test_units_of_seeds_are_the_same_units():
    right = np.random.default_rng(0).integers(0, 2, (3, 12)).astype(float)
    values = by_unit(right, list("abcd") * 3)
    rows = [by_unit(row, list("abcd") * 3) for row in right]
    assert values.shape == (3, 4) and np.allclose(values, rows)


def test_a_value_a_seed_is_of_one_unit():
    assert per_seed([1.0, 2.0, 3.0]).shape == (3, 1)
    with pytest.raises(BertologyError):
        per_seed(np.zeros((3, 2)))


def test_a_census_draws_nothing_but_its_seeds():
    heads = np.arange(8.0)
    assert census(heads).shape == () and float(census(heads)) == 3.5 and item_count(census(heads)) == 8
    assert census(np.stack([heads, heads + 1])).tolist() == [[3.5], [4.5]]


SHAPES = {
    "a number": np.asarray(0.25),
    "right or wrong": np.array([1.0, 0.0, 1.0]),
    "of three seeds": np.random.default_rng(0).integers(0, 2, (3, 37)).astype(float),
    "measures": np.random.default_rng(1).normal(5, 0.2, (2, 40)),
    "large ones": np.random.default_rng(2).normal(3e6, 5e5, 40),
    "tiny ones": np.random.default_rng(3).normal(1e-9, 1e-10, 40),
    "constant": np.full(9, 0.3),
    "units": by_unit([1, 0, 0, 1, 1], list("aabbc")),
    "seeds": per_seed([0.1, 0.7]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_record_gives_samples_back(name):
    sample = SHAPES[name]
    again = unpacked(json.loads(json.dumps(packed(sample))))
    assert again.shape == sample.shape and item_count(again) == item_count(sample)
    assert is_binary(again) == is_binary(sample)
    assert again.mean() == pytest.approx(sample.mean(), rel=1e-12)
    assert np.allclose(again, sample, rtol=0, atol=max(1e-3 * np.ptp(sample), 1e-15))


def test_rights_and_wrongs_cost_a_bit_each():
    sample = np.random.default_rng(0).integers(0, 2, (5, 2000)).astype(float)
    assert len(packed(sample)["bits"]) < 1.5 * sample.size / 8


def test_a_mean_of_many_answers_is_no_answer_even_if_all_are_right():
    assert not is_binary(per_seed([1.0, 1.0], 400)) and is_binary(per_seed([1.0, 0.0]))
