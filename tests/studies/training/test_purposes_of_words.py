"""The order of words and the edges of spans: what is planted is found, and what is not is not."""

import numpy as np
import pytest
import torch

from bertology_utils.studies import small_models
from bertology_utils.studies.training import purposes_of_words as purposes
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed

CLAIMS = {"word-order": "structbert-ngram-reordering", "span-edges": "span-boundary-objective"}


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_finds_its_samples(name, monkeypatch) -> None:
    for size, value in (("PIECES", 1500), ("READ", 120), ("NEW", 60)):
        monkeypatch.setattr(purposes, size, value)
    found = small_models.EXPERIMENTS[name]([1])
    for side in (found.model, found.twin):
        assert all(sample.shape == (1, 1) for sample in needed(claim_by_id(CLAIMS[name]), side).values())


def test_sentences_that_are_asked_were_not_read(monkeypatch) -> None:
    monkeypatch.setattr(purposes, "READ", 200)
    read, asked, words = purposes._text(0)
    assert not set(read) & set(asked) and {word for sentence in asked for word in sentence} <= set(words)


@pytest.mark.parametrize(("knows", "share"), [(1, 1.0), (-1, 0.0), (0, 0.5)])
def test_the_right_order_is_the_likelier_one(knows, share, monkeypatch) -> None:
    _, good, _ = purposes._text(0)
    bad, places = [words[::-1] for words in good], np.zeros(len(good), dtype=int)

    def planted(specimen, sentences, hidden):
        return np.full(hidden.shape, -float(knows) if sentences is good else 0.0)

    monkeypatch.setattr(purposes, "losses", planted)
    assert purposes.in_order(None, good, bad, places) == share


@pytest.mark.parametrize(("planted", "low", "high"), [(True, 0.95, 1.0), (False, 0.0, 0.35)])
def test_a_probe_reads_the_middle_word_where_an_edge_holds_it(planted, low, high, monkeypatch) -> None:
    read, asked, words = purposes._text(0)
    rng = np.random.default_rng(0)
    parts = [purposes._spans(part, rng) for part in (purposes._askable(read), asked)]
    codes = torch.as_tensor(rng.normal(size=(len(words), 32)), dtype=torch.float32)

    def vectors(specimen, sentences):
        """Each word's vector is that of the word two places on, which is what the word before a span must know."""
        ids = [torch.tensor([words.index(word) for word in (*own[2:], *own[:2])]) for own in sentences]
        return [codes[i][None] if planted else torch.randn(1, len(i), 32) for i in ids]

    monkeypatch.setattr(purposes, "word_vectors", vectors)
    torch.manual_seed(0)
    assert low <= purposes.at_edges(None, *parts, 0) <= high
    for sentences, starts in parts:
        assert all(at >= 1 and at + purposes.SPAN < len(own) for own, at in zip(sentences, starts, strict=True))
