"""Words written into a blank: where they stand, whether a known text is written again, and how they are judged."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.instruments.cloze import word_scores
from bertology_utils.studies.mbert import generation
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, judge

TEXTS = generation.texts(6)
SPECIMEN = tiny_specimen(
    sorted({w for words in TEXTS for w in words}), replace(BilingualRecipe(), layers=1, width=16, inner=16)
)


def test_a_blank_of_four_words_stands_in_the_middle():
    assert len(TEXTS) == 6 and generation.blank_of("abcdefghi") == range(2, 6)
    for words, salad in zip(TEXTS, generation.scrambled(TEXTS), strict=True):
        blank = generation.blank_of(words)
        assert len(words) == len(salad) and [salad[i] for i in blank] == [words[i] for i in reversed(blank)]
        assert all(a == b for i, (a, b) in enumerate(zip(words, salad, strict=True)) if i not in blank)


def test_the_words_outside_the_blank_stay():
    for words, text in zip(TEXTS, generation.written(SPECIMEN, TEXTS), strict=True):
        assert [w for i, w in enumerate(words) if i not in generation.blank_of(words)] == [
            w for i, w in enumerate(text) if i not in generation.blank_of(words)
        ]
        assert all(text[i].isalpha() for i in generation.blank_of(words))


@pytest.mark.parametrize("certain", [True, False])
def test_a_model_that_knows_the_text_recovers_it_and_one_that_does_not_hardly(monkeypatch, certain):
    ids = SPECIMEN.tokenizer.convert_tokens_to_ids

    def distributions(specimen, texts, places):
        rows = torch.zeros(len(texts), specimen.vocabulary_size)
        if certain:
            for row, words, place in zip(rows, TEXTS, places, strict=True):
                row[ids(words[place])] = 50
        return rows

    monkeypatch.setattr(generation, "_distributions", distributions)
    found = generation.recovered(generation.written(SPECIMEN, TEXTS), TEXTS)
    assert found.mean() == 1 if certain else found.mean() < 0.5


def test_fluency_is_the_mean_score_of_the_words_in_the_blank():
    expected = [
        np.mean([scores[i] for i in generation.blank_of(words)])
        for words, scores in zip(TEXTS, word_scores(SPECIMEN, TEXTS), strict=True)
    ]
    assert generation.fluency(SPECIMEN, TEXTS) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("right", "verdict"), [(0.1, CONTRADICTS), (0.3, REPLICATES)])
def test_a_judge_alone_does_not_decide(right, verdict):
    """Planted: a judge prefers one model, which writes as few right words as the other one, or more."""
    noise = np.random.default_rng(0).normal(0, 0.1, 4000)
    samples = {"monolingual": noise - 3, "multilingual": noise - 4, "order_worth": noise + 2}
    for name, share in {"recovered_monolingual": right, "recovered_multilingual": 0.1}.items():
        samples[name] = (np.arange(4000) % 10 < 10 * share).astype(float)
    assert judge(claim_by_id("mbert-weak-generation").parsed_prediction, None, samples).verdict == verdict
