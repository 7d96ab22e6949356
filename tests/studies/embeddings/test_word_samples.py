"""The chapter's named samples of words' vectors: what they say of planted vectors."""

import numpy as np
import pytest

from bertology_utils.instruments.geometry import contextuality, random_pair_similarity, unit
from bertology_utils.studies.embeddings import bert_base, word_geometry, word_neighbours
from bertology_utils.studies.embeddings.input_slots import SlotCosines


@pytest.fixture(scope="module")
def groups():
    """Four words of six occurrences, three layers; ever nearer to one direction with depth."""
    rng = np.random.default_rng(0)
    depth = np.arange(3.0)[:, None, None]
    return {word: rng.normal(size=(3, 6, 8)) + depth for word in ("the", "dog", "bread", "king")}


def test_the_published_lines_are_those_of_the_stored_results():
    assert bert_base.same_word()[0] == 0.954 and len(bert_base.within_sentence()) == 13
    assert bert_base.adjusted()[-1] == pytest.approx(0.278)
    assert bert_base.share_left() == pytest.approx(0.278 / 0.849)
    assert bert_base.different_words().argmax() == 11


def test_likeness_by_kind_of_word_and_its_gap(groups):
    sentences = [list(groups)] * 6
    vectors = [np.stack([own[:, i] for own in groups.values()], axis=1) for i in range(6)]
    context = contextuality(sentences, vectors)
    raw, gap = word_geometry.raw_likeness(context), word_geometry.gaps(context)
    assert raw["function_words"].shape == (3, 1) and raw["content_words"].shape == (3, 3)
    assert np.allclose(raw["first_layer"], raw["late_layer"]), "of three layers both are the middle one"
    assert np.allclose(gap["first_gap"], gap["same_word"][0] - gap["different_words"][0])
    assert gap["share_left"][0] == 1 and gap["smallest_gap"].shape == (2,)
    assert word_geometry.fall(context.adjusted)["top"].shape == (4,)


def test_a_cone_that_is_a_shift_goes_with_the_mean(groups):
    cone = word_geometry.cone(groups)
    assert cone["last_layer"].mean() > 0.5 > cone["first_layer"].mean()
    assert abs(cone["last_layer_mean_removed"].mean()) < 0.1


def test_sampled_pairs_scatter_around_all_pairs(groups):
    units = [unit(own[-1]) for own in groups.values()]
    sampled = word_geometry.pair_estimates(units, pairs=400, samples=20)
    assert sampled.shape == (20,) and sampled.std() > 0
    assert sampled.mean() == pytest.approx(random_pair_similarity(units), abs=0.05)


def test_one_direction_and_the_rest_make_a_whole(groups):
    shares = word_geometry.static_shares(groups)
    assert shares["one_direction"] + shares["rest"] == 1
    assert shares["random"] + shares["beyond"] == pytest.approx(shares["one_direction"])
    assert shares["lowest"] == shares["as_defined"].mean(1).min() and shares["centred"].shape == (3, 4)


def test_neighbours_in_four_spaces_and_their_overlap(groups):
    rows = word_neighbours.in_four_spaces(groups, asked=("queen", "dog"), k=2)
    assert [row["vectors"] for row in rows] == ["embeddings", "middle", "last", "all layers"]
    assert all("dog" not in row["neighbours of dog"] and row["neighbours of dog"].count(",") == 1 for row in rows)
    assert "neighbours of the" in word_neighbours.in_four_spaces(groups, asked=("queen",), k=2)[0]
    rng = np.random.default_rng(1)
    many = {str(i): np.repeat(rng.normal(size=(2, 1, 8)), 4, axis=1) for i in range(14)}
    overlaps = word_neighbours.layer_overlaps(many)
    assert (overlaps["halves"] == 1).all() and np.allclose(overlaps["of_ten"], 10 * overlaps["overlap"])


def test_drift_names_every_factor():
    cosines = SlotCosines(*(np.full((3, 2), value) for value in (0.9, 0.8, 0.7, 0.95, 0.6)))
    drift = cosines.drift()
    assert drift["last_segment"] == pytest.approx([0.1, 0.1]) and drift["only_position"].shape == (3, 2)
    assert drift["last_partner"] == pytest.approx([0.3, 0.3]) and drift["slot_cost"] == pytest.approx([0.35, 0.35])
