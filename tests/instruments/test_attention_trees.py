"""Selection on development sentences, baselines by their definitions, and a planted head that is found."""

import numpy as np
import pytest

from bertology_utils.data import material
from bertology_utils.instruments import attention_trees as syntax_trees
from bertology_utils.instruments import trees
from bertology_utils.instruments.attention_trees import AttentionTrees, LayerScores


@pytest.fixture(scope="module")
def bank():
    return material.treebank(30, 12, seed=1)


def test_development_and_test_share_no_content_word_with_training(bank):
    def content(sentences):
        tags = ("NOUN", "VERB", "ADJ", "PROPN")
        return {w for s in sentences for w, tag in zip(s.words, s.upos, strict=True) if tag in tags}

    assert not content(bank.train) & content(bank.development + bank.test)
    assert len(bank.development) == len(bank.test) == 12 and bank.development != bank.test


def test_the_layer_is_chosen_on_development_scores_alone():
    scores = LayerScores(np.array([0.1, 0.5, 0.3]), np.arange(3)[:, None, None] * np.ones((3, 2, 4)))
    assert scores.best == 1 and (scores.best_test == 1).all()
    assert set(scores.over(np.zeros(4), "chain")) == {"best_layer", "layer_0", "chain"}


def test_the_chain_is_scored_as_the_plain_definition_does(bank):
    plain = [
        trees.uuas(trees.linear_chain_distances(len(s.words)), s.heads, [t != "PUNCT" for t in s.upos])
        for s in bank.test
    ]
    assert np.allclose(syntax_trees.chain_scores(bank.test)["uuas"], plain)


def test_planted_trees_are_read_and_noise_is_not(bank):
    planted, noise = (syntax_trees.planted_trees(bank, share) for share in (0.5, 0.0))
    for name in ("undirected", "directed"):
        assert planted[name].shape == (len(bank.test),) and planted[name].mean() > 0.9 > 0.5 > noise[name].mean()


def test_position_baseline_finds_roots_that_always_stand_in_one_place():
    sentences = [s for s in material.treebank(400, 1).train if s.heads[2] == -1]
    assert syntax_trees.position_scores(sentences, sentences)["root"].mean() == 1


def test_sweeps_have_one_score_a_layer_seed_and_sentence(tiny, bank):
    vectors = syntax_trees.bank_vectors(tiny, bank)
    distances = syntax_trees.distance_sweep(vectors, bank, rank=4, epochs=1)
    depths = syntax_trees.depth_sweep(vectors, bank, rank=4, epochs=1, seeds=2)
    assert distances["micro"].test.shape == distances["dspr"].test.shape == (3, 3, 1)
    assert distances["uuas"].test.shape == (3, 3, 12) and depths["root"].test.shape == (3, 2, 12)
    ranks = syntax_trees.rank_sweep(vectors, bank, 1, (2, 4), epochs=1)
    assert ranks.shape == (2, 12) and ((ranks >= 0) & (ranks <= 1)).all()


def test_attention_trees_of_a_model(tiny_eager, bank):
    found = syntax_trees.attention_trees(tiny_eager, bank)
    np.testing.assert_array_equal(syntax_trees.best_head_on(tiny_eager, found, bank.test), found.best_test)
    assert found.test.shape == (2, 4, 12) and found.best_test.shape == (12,)
    assert all(m.shape == (2, 4, len(s.words), len(s.words)) for m, s in zip(found.test_maps, bank.test, strict=True))


def test_a_planted_head_is_found_in_either_direction(bank):
    rng = np.random.default_rng(0)

    def maps(sentences):
        found = [rng.random((2, 3, len(s.words), len(s.words))) for s in sentences]
        for noise, s in zip(found, sentences, strict=True):
            for word, head in enumerate(s.heads):
                if head >= 0:
                    noise[1, 2, head, word] = 2.0  # heads look at their dependents
        return found

    parts = [maps(part) for part in (bank.development, bank.test)]
    scores = [
        np.stack(
            [trees.uuas(-np.maximum(m, m.swapaxes(-1, -2)), s.heads) for m, s in zip(found, part, strict=True)], -1
        )
        for found, part in zip(parts, (bank.development, bank.test), strict=True)
    ]
    planted = AttentionTrees(*scores, *parts)
    assert planted.best == (1, 2) and planted.best_test.min() == 1
    assert syntax_trees.directed_trees(planted, bank, candidates=3).min() == 1


def test_marks_take_no_part_in_the_trees_of_heads(bank):
    sentence = next(s for s in bank.test if "PUNCT" in s.upos)
    (keep,) = syntax_trees.punctuation_mask([sentence])
    weights = np.eye(len(sentence.heads))[np.maximum(sentence.heads, 0)]
    weights[:, keep.index(False)] = weights[keep.index(False)] = 2.0  # every word looks at the mark, and it at all
    assert (
        trees.undirected_score(syntax_trees._tree_without_punctuation(weights, sentence, keep), sentence.heads, keep)
        == 1
    )


def test_a_model_has_no_lead_over_itself(tiny_eager, bank):
    lead = syntax_trees.method_rivalry(tiny_eager, tiny_eager, bank, candidates=2)
    assert set(lead) == {"ahead", "behind"} and not any(values.any() for values in lead.values())


def test_the_way_that_favours_us_is_chosen_on_development_sentences(tiny_eager, bank, monkeypatch):
    ours = {"undirected": (np.zeros(3), np.ones(2)), "directed": (np.ones(3), np.zeros(2))}
    rival = {way: (np.zeros(3), np.full(2, 0.5)) for way in ours}
    answers = iter((ours, rival))
    monkeypatch.setattr(syntax_trees, "_both_ways", lambda *_: next(answers))
    lead = syntax_trees.method_rivalry(tiny_eager, tiny_eager, bank)
    assert (lead["ahead"] == -0.5).all() and (lead["behind"] == 0.5).all()


def test_the_prettiest_sentence_is_chosen_in_each_stretch():
    scores = np.arange(60.0) % 20
    found = syntax_trees.prettiest(scores, 20)
    assert found["best_sentence"].tolist() == [19, 19, 19] and found["mean_sentence"].tolist() == [9.5, 9.5, 9.5]
    assert len(syntax_trees.prettiest(scores[:9])["best_sentence"]) == 3
