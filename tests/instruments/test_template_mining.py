"""Templates come from sentences with both words of a pair, and are kept by the model's own hits."""

import numpy as np

from bertology_utils.instruments import template_mining as mining
from bertology_utils.instruments.cloze import MASK

PAIRS = [("dog", "animal"), ("apple", "fruit")]


def test_a_template_needs_both_words_once_and_counts_its_pairs():
    sentences = ["a dog is an animal", "a apple is an fruit", "the dog and the dog and an animal", "no dog here"]
    found = mining.mine([s.split() for s in sentences], PAIRS)
    assert found == {("a", "{first}", "is", "an", "{second}"): 2}


def test_hits_ask_with_the_first_word_at_the_mask(tiny, monkeypatch):
    asked = []

    class Scores:
        log_probabilities = np.array([[0.0, -1.0], [0.0, -1.0]])

    def score(specimen, sentences, places, words):
        asked.extend(zip(sentences, places, strict=True))
        return Scores

    monkeypatch.setattr(mining, "word_log_probability", score)
    hits = mining.template_hits(tiny, ("{first}", "is", "{second}"), PAIRS, ("animal", "fruit"))
    assert hits.tolist() == [True, False]
    assert asked == [(("dog", "is", MASK), 2), (("apple", "is", MASK), 2)]


def test_the_best_templates_are_those_with_most_hits(tiny, monkeypatch):
    shares = {("x",): 0.2, ("y",): 0.9, ("z",): 0.5}
    monkeypatch.setattr(mining, "template_hits", lambda s, template, p, c: np.array([shares[template]]))
    assert mining.best_templates(tiny, list(shares), PAIRS, (), keep=2) == [("y",), ("z",)]


def test_a_real_specimen_can_be_asked(tiny):
    template = ("the", "{first}", "is", "{second}")
    assert mining.template_hits(tiny, template, [("dog", "big")], ("big", "red")).shape == (1,)
