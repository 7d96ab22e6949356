"""Other names: sentences with their versions, and flips as samples of what was swapped."""

import numpy as np
import pytest

from bertology_utils.studies.semantics.name_swaps import Classes, NameSwaps


@pytest.fixture(scope="module")
def outcomes(tiny) -> NameSwaps:
    return NameSwaps.drawn(tiny, sizes=(8, 8), swaps=2, seed=0)


def test_nouns_stand_for_names(outcomes):
    assert all(
        outcomes.stand_ins[name] == noun for i in outcomes.test for name, noun in zip(i.names, i.nouns, strict=True)
    )
    assert outcomes.example.count(" for ") == 3
    assert outcomes.has_known_verb.sum() == 4


def test_classes_are_read_for_every_seed_and_swap(outcomes, tiny):
    found = outcomes.classes(tiny, seeds=[0, 1], epochs=1)
    assert found.correct.shape == (2, 8) and found.names.shape == found.nouns.shape == (2, 8, 2)


def test_flips_are_shares_of_what_is_swapped(outcomes):
    names = np.zeros((2, 8, 2), dtype=bool)
    names[0, :, 0] = True  # one of two swaps flips every sentence of one seed
    samples = outcomes.samples(Classes(np.ones((2, 8)), names, np.zeros((2, 8, 2))))
    means = {name: values.mean() for name, values in samples.items()}
    assert means == pytest.approx(
        {"accuracy": 1, "some_name_flips": 0.5, "name_flips": 0.25, "noun_flips": 0, "seed_flips": 0}
    )
