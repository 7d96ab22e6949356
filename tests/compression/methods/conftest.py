"""One small course for all methods: two tasks of few examples, with teachers that were tuned for two steps."""

import pytest

from bertology_utils.compression.methods.lesson import Budget, Encoded, course, lesson
from bertology_utils.compression.methods.problems import problem
from bertology_utils.language.grammar import generate

FEW = Budget(examples=24, epochs=1, test=12, text_steps=2, pieces=256, text_pieces=256)


@pytest.fixture(scope="session")
def small_course(tiny):
    text = [sentence.words for split in ("train", "test") for sentence in generate(30, 7, split)]
    return course(tiny, text, seed=0, budget=FEW)


@pytest.fixture(scope="session")
def pair_lesson(small_course):
    """A lesson of pairs of sentences."""
    return lesson(small_course, problem("entailment", FEW.examples, FEW.test))


@pytest.fixture(scope="session")
def word_lesson(small_course):
    """A lesson that asks for the part of speech of single words."""
    return lesson(small_course, problem("tagging", FEW.examples, FEW.test))


@pytest.fixture
def network(pair_lesson):
    """A copy of the teacher of pairs, to be changed."""
    return pair_lesson.copy_of_teacher()


@pytest.fixture(scope="session")
def batch(pair_lesson):
    """Three of its test examples."""
    return Encoded.of(pair_lesson.origin, pair_lesson.problem.test).batch([0, 1, 2])
