"""The sense test and the kinds of nouns: planted vectors are found, and a cure changes what it should."""

import numpy as np
import pytest

from bertology_utils.studies.embeddings.noun_kinds import NounKinds, ranked
from bertology_utils.studies.embeddings.sense_test import SenseTest


@pytest.fixture(scope="module")
def senses():
    return SenseTest.drawn(3, seed=0)


def planted(senses, noise: float):
    """Two layers: noise alone, and one direction a sense below a strong direction that means nothing."""
    rng = np.random.default_rng(0)
    names = sorted({(item.lemma, item.sense) for item in senses.train})
    directions = dict(zip(names, np.eye(len(names)), strict=True))
    pair = []
    for items in (senses.train, senses.test):
        meant = np.array([directions[item.lemma, item.sense] for item in items])
        loud = noise * np.outer(rng.normal(size=len(items)), np.ones(len(names)))
        pair.append(np.stack([rng.normal(size=meant.shape), meant + loud]))
    return pair


def test_planted_senses_are_found_at_the_chosen_layer(senses):
    answers = senses.answers(planted(senses, 0.0))
    assert answers["layer"] == 1 and (answers["best_layer"] == 1).all() and answers["silhouette"].mean() > 0.9
    assert answers["by_layer"].shape == (2, len({item.lemma for item in senses.test}))


def test_taking_off_a_loud_direction_helps(senses):
    vectors = planted(senses, 30.0)
    cures = senses.cured(vectors, {"layer": 1, "best_layer": senses.right(*vectors)[1]}, top=1, draws=2)
    assert cures["without_top"].mean() > cures["before"].mean() + 0.2
    assert cures["without_random"].shape == cures["before"].shape


def test_contexts_are_told_and_drawn(senses, tiny):
    first = senses.train[0]
    assert " ".join(first.words) in senses.sentence and f"{len(senses.test)} test contexts" in senses.sentence
    vectors = senses.vectors(tiny)
    assert [own.shape[1] for own in vectors] == [len(senses.train), len(senses.test)]
    figure = senses.picture(first.lemma, vectors, 1)
    assert len(figure.table) == sum(item.lemma == first.lemma for item in senses.train)
    assert senses.static_bag(tiny).shape == (len({item.lemma for item in senses.test}),)


def test_no_noun_is_alone_with_its_kind(tiny):
    found = NounKinds.generated(sentences=120, seed=0)
    kinds = {lemma: kind for lemma, kind in zip(found.lemmas, found.kinds, strict=True)}
    assert all(list(kinds.values()).count(kind) > 1 for kind in kinds.values()) and found.nouns == len(kinds)
    scores = found.distilled(tiny)
    assert scores["by_layer"].shape == (3, found.nouns) and (scores["by_layer"][1] == scores["middle_layer"]).all()
    perfect = np.array([[float(kind == other) for other in sorted(set(found.kinds))] for kind in found.kinds])
    assert found.agreement(perfect).mean() == 1 and found.ranking(perfect).mean() == 1


def test_learnt_vectors_are_asked_the_same(tiny):
    found = NounKinds.generated(sentences=120, seed=0)

    def learn(sentences, steps, seed):
        words = sorted({word for sentence in sentences for word in sentence})
        return words, np.random.default_rng(seed).normal(size=(len(words), steps))

    assert found.learnt(learn, steps=4).shape == (found.nouns,)
    assert ranked({"a": np.array([0.2]), "b": np.array([0.5])}) == "b 50%, a 20%"
