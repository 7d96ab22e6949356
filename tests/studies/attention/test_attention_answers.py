"""Question pairs: shared words, where they look, and attributions against plain definitions."""

import numpy as np
import pytest
import torch

from bertology_utils.absent import Absent
from bertology_utils.data import registry
from bertology_utils.data.rows import Labelled
from bertology_utils.instruments.attention import attention_maps
from bertology_utils.studies.attention import answers
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.training import Examples, finetune_seeds

PAIRS = Examples(
    [("who", "saw", "kings", "?"), ("who", "left", "?"), ("who", "slept", "?"), *[("who", "ran", "?")] * 5],
    [1, 0, 1, 0, 0, 1, 0, 1],
    [("queens", "saw", "kings", "."), ("it", "rained", "."), ("they", "slept", "."), *[("we", "sang", ".")] * 5],
)


def test_generated_pairs_are_balanced_and_only_answers_share_content():
    examples = answers.answer_pairs(20, split="test")
    assert sorted(examples.labels) == [0] * 10 + [1] * 10
    for question, sentence, label in zip(examples.sentences, examples.pairs, examples.labels, strict=True):
        assert question[0] == "who" and question[-1] == "?"
        assert (question[1:-1] == sentence[2:-1]) == bool(label)
        assert label or set(question) & set(sentence) <= {"the"}


def test_pairs_of_qnli_keep_their_labels(monkeypatch):
    rows = [Labelled("Who saw the king ?", "entailment", "They saw the king ."),
            Labelled("Who saw the queen ?", "not_entailment", "It rained all day .")] * 3  # fmt: skip
    monkeypatch.setattr(answers, "rows", lambda source, split: {"qnli": rows}[source])
    found = answers.answer_pairs(4, source="qnli")
    assert sorted(found.labels) == [0, 0, 1, 1] and "qnli" in registry.REGISTRY
    assert all((question[3] == "king") == label for question, label in zip(found.sentences, found.labels, strict=True))


def test_shared_words_are_read_off_the_map_by_a_plain_loop(tiny_eager):
    found = answers.shared_masses(tiny_eager, PAIRS)
    assert found["overlap"].shape == (2,)  # only the first and the third pair share a word that is not common
    _, encoding, maps = next(m for m in attention_maps(tiny_eager, PAIRS.sentences, PAIRS.pairs) if m[0] == 2)
    words = [None if w is None else ("who", "slept", "?", "they", "slept", ".")[w] for w in encoding.word_ids]
    mean = maps.mean((0, 1))
    [left, right] = ([i for i, w in enumerate(encoding.word_ids) if w == word] for word in (1, 4))
    assert [words[i] for i in (*left, *right)] == ["slept"] * len(left + right)
    both = [mean[i, right].sum() for i in left] + [mean[i, left].sum() for i in right]
    assert found["overlap"][1] == pytest.approx(float(np.mean(both)), rel=1e-5)


def test_attributions_add_up_to_the_change_of_the_margin(tiny_eager):
    """Completeness of integrated gradients: where one piece alone differs, its share is the whole change."""
    runs, _ = finetune_seeds(tiny_eager, PAIRS, PAIRS, (0,), epochs=1, pool="cls")
    encoding = encode_words(tiny_eager, PAIRS.sentences[:1], PAIRS.pairs[:1])[0]
    inputs, mask = model_inputs(tiny_eager, [encoding]), tiny_eager.tokenizer.mask_token_id
    change = answers._erased(runs[0], inputs, [2], mask)
    found = answers._integrated(runs[0], inputs, [2], mask, steps=64)
    np.testing.assert_allclose(found, change, rtol=0.05, atol=1e-6)


def test_samples_of_a_tuned_model(tiny_eager):
    runs, _ = finetune_seeds(tiny_eager, PAIRS, PAIRS, (0, 1), epochs=1, pool="cls")
    found = answers.answer_samples(tiny_eager, runs, PAIRS, PAIRS)
    assert found["overlap_before"].shape == (2,) and found["separator_after"].shape == (2, 2)
    assert found["tuned"].shape == (2, 8) and not torch.is_tensor(found["majority"])
    ranks = answers.attribution_samples(tiny_eager, runs, PAIRS, items=3, steps=2)
    assert {values.shape for values in ranks.values()} == {(2, 3)}
    assert all(np.abs(values).max() <= 1 for values in ranks.values())


def test_without_a_task_there_are_no_tuned_models(tiny_eager):
    task = answers.question_task(None)
    assert isinstance(task, Absent) and answers.tuned_runs(tiny_eager, task, (0,)) is task
