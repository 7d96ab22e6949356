"""First weights of translators: arms differ in them alone, and samples have the names of the claim."""

from dataclasses import replace

import pytest

from bertology_utils.studies import small_models
from bertology_utils.studies.mbert import side_by_side as lab
from bertology_utils.studies.mbert import translating
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed


@pytest.fixture
def brief(monkeypatch):
    """An experiment of two steps on few sentences."""
    monkeypatch.setattr(lab, "ASKED", 12)
    monkeypatch.setattr(translating, "RECIPE", replace(translating.RECIPE, steps=2))
    for name, value in {"READ": 30, "PAIRED": 20, "STEPS": 2}.items():
        monkeypatch.setattr(translating, name, value)


def test_sentences_that_are_asked_are_not_read(brief):
    own = translating.draw(0)
    assert (len(own.english), len(own.paired), len(own.asked)) == (30, 20, 12)
    assert len({*own.english, *(words for words, _ in [*own.paired, *own.asked])}) == 62


def test_shuffled_sentences_have_the_same_words(brief):
    english = translating.draw(0).english
    mixed = translating.shuffled(english, seed=0)
    assert list(map(sorted, mixed)) == list(map(sorted, english)) and mixed != english


def test_an_experiment_gives_what_its_claim_names(brief):
    assert "first-weights-of-a-translator" in small_models.EXPERIMENTS
    found = translating.first_weights([0, 1])
    assert set(found.model) == set(found.twin)
    assert {sample.shape for sample in found.model.values()} == {(2, 1)}
    for side in (found.model, found.twin):
        assert needed(claim_by_id("bert-init-nmt"), side)
    assert (found.model["right_random"] == found.twin["right_english"]).all()
