"""Frozen bottom layers: what is frozen, what is asked, and taggers that can and that cannot transfer."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.language.ten_languages import LANGUAGES, PIVOT, parallel_corpus
from bertology_utils.models import Specimen
from bertology_utils.studies.mbert import frozen_bottom as frozen
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed

TEXTS = [rows for split in ("train", "test") for rows in parallel_corpus(60, split).values()]
TAG_OF = {word: tag for rows in TEXTS for row in rows for word, tag in zip(row.words, row.upos, strict=True)}
RECIPE = BilingualRecipe(layers=4, width=32, inner=32)


def blank(seed: int = 0) -> Specimen:
    return tiny_specimen(sorted(TAG_OF), RECIPE, seed)


def knowing(tag_of) -> Specimen:
    """An untrained network of which the embedding of a word is that of its tag, in all languages."""
    specimen = blank()
    pieces = torch.tensor(specimen.tokenizer.convert_tokens_to_ids(list(TAG_OF)))
    tags = torch.tensor([(*frozen.TAGS, "PUNCT").index(tag_of[word]) for word in TAG_OF])
    with torch.no_grad():
        specimen.model.get_input_embeddings().weight[pieces] = torch.eye(RECIPE.width)[tags]
    return replace(specimen, seed=0)  # no piece moves another's state by much, as in an untrained network


@pytest.fixture
def few(monkeypatch):
    """Experiments of few sentences, whose words `TEXTS` hold."""
    for name, value in {"TAUGHT": 30, "ASKED": 12, "ELSEWHERE": 5, "EPOCHS": 1, "BUDGET": 400}.items():
        monkeypatch.setattr(frozen, name, value)


@pytest.mark.parametrize("arm", frozen.RATES)
def test_an_arm_changes_the_layers_that_it_does_not_freeze_and_no_other(arm) -> None:
    texts = {"taught": frozen.tagged(blank(), parallel_corpus(8)[PIVOT])}
    narrow, texts = frozen.narrowed(blank(), texts)
    tuned = frozen.tune(narrow, texts["taught"], arm, 1e-3, seed=0).encoder
    sides = ([encoder.embeddings, *encoder.encoder.layer] for encoder in (narrow.model, tuned))
    changed = [
        any(not torch.equal(p, q) for p, q in zip(before.parameters(), after.parameters(), strict=True))
        for before, after in zip(*sides, strict=True)
    ]
    below = round(frozen.FROZEN.get(arm, 0) * 4)
    assert changed == ([True] * 3 + [False] * 2 if arm == frozen.TOP else [below == 0] + [n >= below for n in range(4)])


def test_fewer_embeddings_change_nothing_of_what_is_read() -> None:
    specimen = blank()
    texts = {code: frozen.tagged(specimen, rows[:3]) for code, rows in parallel_corpus(3).items()}
    narrow, fewer = frozen.narrowed(specimen, texts)
    assert narrow.encoder.get_input_embeddings().num_embeddings < len(specimen.tokenizer) and set(fewer) == set(texts)
    for code in texts:
        batches = [text.batch(own, range(3)) for own, text in ((specimen, texts[code]), (narrow, fewer[code]))]
        wide, small = (
            words @ own.encoder(**inputs).last_hidden_state
            for own, (inputs, words, _) in zip((specimen, narrow), batches, strict=True)
        )
        assert torch.allclose(wide, small, atol=1e-5)


def test_what_is_asked_holds_no_content_word_that_was_taught_and_seeds_take_turns() -> None:
    content = {"NOUN", "VERB", "ADJ"}

    def words(sentences) -> set[str]:
        pairs = [pair for row in sentences for pair in list(zip(row.words, row.upos, strict=True))[1:]]
        return {word for word, tag in pairs if tag in content}

    (taught, asked), (others, _) = frozen.drawn(0), frozen.drawn(1)
    assert not any(words(taught[code]) & words(asked[code]) for code in LANGUAGES)
    assert not words(taught[PIVOT]) & words(others[PIVOT])
    assert {code: len(rows) for code, rows in asked.items()} == dict.fromkeys(LANGUAGES, 20) | {PIVOT: 48}


def test_tags_carry_over_where_languages_share_them_and_not_where_they_are_dealt_anew() -> None:
    """Planted embeddings of tags, and the same dealt to other words."""
    dealt = dict(zip(TAG_OF, np.random.default_rng(0).permutation(list(TAG_OF.values())), strict=True))
    rates = dict.fromkeys(("none", "half"), 5e-3)
    taught, asked = parallel_corpus(60), {code: rows[:10] for code, rows in parallel_corpus(60, "test").items()}
    shared, wrong = (frozen.compared(knowing(of), taught[PIVOT], asked, 0, rates) for of in (TAG_OF, dealt))
    for arm in rates:
        assert shared[f"across_{arm}"] > 0.8 and shared[f"within_{arm}"] > 0.8
        assert wrong[f"across_{arm}"] < 0.5 and shared[f"loss_{arm}"] < wrong[f"loss_{arm}"]


def test_the_experiment_gives_what_its_claim_asks_for_on_both_sides(few, monkeypatch) -> None:
    monkeypatch.setattr(frozen, "load", lambda name: replace(blank(), name=name))
    monkeypatch.setattr(frozen, "twin", lambda model, seed: blank(seed + 1))
    [measure] = frozen.EXPERIMENTS.values()
    found = measure([0])
    assert set(found.model) == set(found.twin) and found.model["commonest"].shape == (1, 1)
    assert np.array_equal(found.model["letters"], found.twin["letters"])
    assert not np.array_equal(found.model["across_none"], found.twin["across_none"])
    claim = claim_by_id("mbert-freeze-bottom")
    assert needed(claim, found.model) and needed(claim, found.twin)
