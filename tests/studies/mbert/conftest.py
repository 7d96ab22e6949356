"""The pair of a small English and its twin, read for two steps."""

from dataclasses import replace

import pytest

from bertology_utils.studies.mbert import shared_words


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(shared_words, "READ", 40)
    monkeypatch.setattr(shared_words, "ASKED", 8)
    monkeypatch.setattr(shared_words, "TAGGED", 30)
    monkeypatch.setattr(shared_words, "RECIPE", replace(shared_words.RECIPE, steps=2))
