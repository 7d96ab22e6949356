import numpy as np
import pytest

from bertology_utils.compression.methods.problems import (
    JOINED,
    LONG,
    OF_TEXTS,
    Problem,
    Questions,
    problem,
    questions,
    surface_rule,
)


def parts_of(words: tuple, size: int) -> list[tuple]:
    """A text as sentences again."""
    ends = [place + 1 for place, word in enumerate(words) if word in ".?"]
    assert len(ends) == size
    return [words[low:high] for low, high in zip([0, *ends], ends, strict=False)]


def test_a_text_has_sentences_of_one_answer():
    texts = questions("tense of texts", 11, seed=2)
    short = questions("tense", 12 * JOINED["tense"], seed=2)
    answers = dict(zip(short.sentences, short.labels, strict=True))
    assert list(texts.labels) == [0, 1] * 5 + [0] and texts.pairs is None
    for words, label in zip(texts.sentences, texts.labels, strict=True):
        assert {answers[part] for part in parts_of(words, JOINED["tense"])} == {label}


def test_texts_are_problems_with_as_many_classes_as_their_sentences():
    for name in LONG:
        made, short = problem(name, 3, 2, seed=1), problem(name.removesuffix(OF_TEXTS), 3, 2, seed=1)
        assert (made.classes, made.paired) == (short.classes, short.paired)
        assert (len(made.train.sentences), len(made.test.sentences)) == (3, 2)
        words = [np.concatenate([list(w) for w in q.sentences]).tolist() for q in (made.train, made.test)]
        assert problem(name, 3, 2, seed=1) == made and words[0] != words[1]


def test_the_surface_tells_endings_and_nothing_of_what_it_does_not_see():
    rng = np.random.default_rng(0)
    stems = ["".join(rng.choice(list("bdfgkl"), 4)) for _ in range(400)]
    label = rng.integers(0, 2, 400).tolist()

    def asked(words):
        parts = (slice(200), slice(200, 400))
        return Problem("words", *(Questions([(w,) for w in words[p]], [[own] for own in label[p]]) for p in parts), 2)

    assert surface_rule(asked([stem + ("a", "o")[own] for stem, own in zip(stems, label, strict=True)])) == 1
    assert surface_rule(asked(stems)) == pytest.approx(0.5, abs=0.15)
