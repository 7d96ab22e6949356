"""One exam for every recipe: its scores, their factor, and samples over seeds."""

import numpy as np
import pytest

from bertology_utils.compression.distill import student_of
from bertology_utils.compression.prune import magnitude_masks
from bertology_utils.compression.quantize import quantise_weights
from bertology_utils.language.grammar import generate
from bertology_utils.language.pairs import agreement_pairs
from bertology_utils.models import twin
from bertology_utils.samples import item_count
from bertology_utils.studies.compression.exam import Exam, over_seeds


@pytest.fixture(scope="module")
def exam() -> Exam:
    """With verbs that the tiny vocabulary has."""
    return Exam([sentence.words for sentence in generate(5)], agreement_pairs(8))


def test_an_exam_has_as_many_items_as_asked():
    drawn = Exam.drawn(sentences=3, pairs=4, seed=0)
    assert (len(drawn.sentences), len(drawn.pairs)) == (3, 4)


def test_scores_are_of_sentences_and_verbs(exam, tiny):
    scores = exam.scores(tiny, tiny.model)
    assert scores["loss"].shape == (5,) and scores["factor"] == 1
    assert len(scores["agreement"]) <= item_count(scores["agreement"]) <= 8


def test_grammar_is_left_out_unless_asked_and_asked_less_of_an_untrained_model(exam, tiny):
    assert set(exam.scores(tiny, tiny.model, agreement=False)) == {"factor", "loss"}
    untrained = twin(tiny)
    assert item_count(exam.scores(untrained, untrained.model)["agreement"]) == 2


def test_a_quantised_model_tells_its_factor_and_a_student_has_fewer_parameters(exam, tiny):
    made = quantise_weights(tiny.model, 8)
    assert exam.scores(tiny, made)["factor"] == made.factor > 2
    assert exam.scores(tiny, student_of(tiny, 1).model)["factor"] > 1


def test_masks_hold_only_while_the_exam_is_taken(exam, tiny):
    whole = exam.scores(tiny, tiny.model)["loss"]
    assert not np.allclose(exam.masked(tiny, magnitude_masks(tiny.model, 0.9))["loss"], whole)
    assert (exam.scores(tiny, tiny.model)["loss"] == whole).all()


def test_seeds_are_stacked_and_keep_their_items(exam, tiny):
    one = exam.scores(tiny, tiny.model)
    both = over_seeds([one, one])
    assert both["loss"].shape == (2, 5) and both["factor"] == one["factor"]
    assert both["agreement"].shape == (2, len(one["agreement"]))
    assert item_count(both["agreement"]) == item_count(one["agreement"])
