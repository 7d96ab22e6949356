"""Five methods on the same pairs: shapes, ranges, and the order that their definitions force."""

import numpy as np
import pytest
import torch

from bertology_utils.studies.syntax import polarity_methods


@pytest.fixture(scope="module")
def found(tiny):
    return polarity_methods.five_methods(tiny, 24, 12, steps=10, epochs=1)


def test_each_condition_has_five_methods(found):
    assert set(found) == {"licensor", "scope"}
    for samples in found.values():
        assert list(samples) == ["acceptability", "absolute pair", "gradient pair", "feature probe", "cloze"]
        assert all(set(np.unique(values)) <= {0.0, 1.0} for values in samples.values())


def test_an_absolute_pair_needs_both_of_its_sentences(found):
    for samples in found.values():
        good, bad = samples["acceptability"].reshape(2, -1)
        np.testing.assert_array_equal(samples["absolute pair"], good * bad)
        assert (samples["gradient pair"] >= samples["absolute pair"]).all()


def test_a_readout_that_sees_the_licensor_wins_by_every_trained_method(tiny, monkeypatch):
    def marked(specimen, pairs):
        return torch.eye(2)[:, None].expand(2, len(pairs), 2)

    monkeypatch.setattr(polarity_methods, "_vectors", marked)
    assert all(found.mean() == 1 for found in polarity_methods.feature_probes(tiny, 24, 12, steps=100).values())
    samples = polarity_methods.five_methods(tiny, 24, 12, steps=100, epochs=2)["licensor"]
    assert all(values.mean() == 1 for name, values in samples.items() if name != "cloze")


def test_feature_probes_of_sentences_that_are_all_alike_are_right_half_the_time(tiny, monkeypatch):
    monkeypatch.setattr(polarity_methods, "_vectors", lambda specimen, pairs: torch.ones(2, len(pairs), 3))
    found = polarity_methods.feature_probes(tiny, 24, 12, steps=20)
    assert set(found) == {"npi", "scope_probe"} and all(samples.tolist() == [0.5] * 12 for samples in found.values())


def test_feature_probes_are_asked_in_the_structure_that_they_did_not_learn(tiny, monkeypatch):
    def only_the_template(specimen, pairs):
        conjoined = torch.tensor([pair.condition["structure"] == "conjoined" for pair in pairs])
        good = torch.stack([torch.ones(len(pairs)), -torch.ones(len(pairs))])
        return torch.where(conjoined, -good, good)[..., None]

    monkeypatch.setattr(polarity_methods, "_vectors", only_the_template)
    found = polarity_methods.feature_probes(tiny, 24, 12, steps=100)
    assert all(samples.tolist() == [0.0] * 12 for samples in found.values())


def test_methods_are_ranked_by_their_means_and_compared_between_conditions():
    found = {
        "licensor": {"cloze": np.array([1.0, 1.0]), "feature probe": np.array([0.0, 1.0])},
        "scope": {"cloze": np.array([0.0, 1.0]), "feature probe": np.array([1.0, 1.0])},
    }
    assert polarity_methods.kindest_and_hardest(found["licensor"]) == ("cloze", "feature probe")
    assert polarity_methods.leads_of_licensors(found) == {"cloze": 0.5, "feature probe": -0.5}


def test_clozes_ask_for_licensors_and_scope(tiny):
    found = polarity_methods.cloze_choices(tiny, 8)
    assert set(found) == {"licensor", "scope", "licensor_rule", "scope_rule"} and found["scope_rule"] >= 0.5
