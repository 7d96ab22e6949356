"""Does it follow? No rule of words, overlap or length tells; who knows tells; a failure in English stays one."""

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from bertology_utils.language.lexicon import SPLITS
from bertology_utils.language.ten_languages import LANGUAGES
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.mbert import following


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("split", SPLITS)
def test_words_overlap_and_lengths_are_the_same_for_both_answers(split, code) -> None:
    asked = following.pairs(following.drawn(30, split, 0), code)
    rows = list(zip(asked.sentences, asked.pairs, asked.labels, strict=True))
    for measure in (
        lambda first, second: [*first, *(f"second {word}" for word in second)],
        lambda first, second: [(len(first), len(second))],
        lambda first, second: [len({w.lower() for w in first} & {w.lower() for w in second})],
        lambda first, second: [sum(pair in list(pairwise(first)) for pair in pairwise(second))],
    ):
        counts = [Counter(x for a, b, label in rows if label == wanted for x in measure(a, b)) for wanted in (0, 1)]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("split", SPLITS)
def test_who_knows_the_grammar_tells_all_in_english(split) -> None:
    asked = following.pairs(following.drawn(30, split, 0), "en")
    for first, second, label in zip(asked.sentences, asked.pairs, asked.labels, strict=True):
        person, adjective = second[1], second[3]
        assert label == (first[first.index(person) - 1] == adjective)


def test_no_content_word_that_is_asked_was_taught() -> None:
    words = [
        {w for told in following.drawn(80, split, 0) for m in told for w in (m.subject, m.subject_adjective, m.verb)}
        for split in SPLITS
    ]
    assert not words[0] & words[1]


def test_who_knows_scores_one_and_who_answers_always_alike_one_half(monkeypatch) -> None:
    """Planted answers in place of tuned models, on both sides and in every language."""

    def measured(answer) -> dict[str, float]:
        def right(asked) -> np.ndarray:
            return np.array([answer(label) == label for label in asked.labels])

        monkeypatch.setattr(following, "load", lambda name: None)
        monkeypatch.setattr(following, "twin", lambda model, seed: None)
        monkeypatch.setattr(following, "correctness", lambda classifier, specimen, asked: right(asked))
        monkeypatch.setattr(
            following,
            "finetune",
            lambda specimen, taught, asked, seed, **how: SimpleNamespace(
                accuracy=float(right(asked).mean()), classifier=None
            ),
        )
        model, twin = following.of_seed(1)
        assert set(twin) == {"within_few", "across_few"} < set(model)
        return model

    assert set(measured(lambda label: label).values()) == {1.0}
    assert set(measured(lambda label: 1).values()) == {0.5}


@pytest.mark.parametrize(("english", "can"), [(0.5, False), (0.9, True)])
def test_what_carries_over_is_told_only_where_english_was_learnt(english, can) -> None:
    side = {name: per_seed([share] * 2, 4) for name, share in {"within_few": 0.5, "across_few": 0.5}.items()}
    many = {"within_many": per_seed([english] * 2, 4), "across_many": per_seed([0.7] * 2, 4)}
    told = following.told(Runs(side | many, side, networks=2))
    assert ("*cannot do the task*" in told) == (not can) and ("70%" in told) == can
    assert "after 160 pairs" in told and "after 480" in told
