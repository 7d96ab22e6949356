"""Entities: who knows the names of a language tells them, who does not fails there; rivals go by places and cues."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.language.ten_languages import LANGUAGES, PIVOT
from bertology_utils.language.ten_languages_entities import ARTICLES, CAPITALS, entity_corpus
from bertology_utils.models import Specimen
from bertology_utils.recorded_arms import of_sides
from bertology_utils.studies.mbert import entities, frozen_bottom
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

BARE = (CAPITALS, ARTICLES)
CODES = ("en", "es", "zh")
TAUGHT, ASKED = ({code: entity_corpus(60, split, without=BARE)[code] for code in CODES} for split in ("train", "test"))


def knowing(*known: str) -> Specimen:
    """An untrained network that embeds a word as its tag in the known languages, and as O in the others."""
    number = {
        word: entities.TAGS.index(tag) if tag in entities.TAGS and code in known else 0
        for part in (TAUGHT, ASKED)
        for code, rows in part.items()
        for row in rows
        for word, tag in zip(row.words, row.upos, strict=True)
    }
    specimen = tiny_specimen(sorted(number), BilingualRecipe(layers=2, width=32, inner=32))
    pieces = torch.tensor(specimen.tokenizer.convert_tokens_to_ids(list(number)))
    with torch.no_grad():
        specimen.model.get_input_embeddings().weight[pieces] = torch.eye(32)[list(number.values())]
    return replace(specimen, seed=0)  # no piece moves another's state by much, as in an untrained network


def test_names_carry_over_to_languages_in_which_the_model_knows_them(monkeypatch):
    monkeypatch.setitem(frozen_bottom.RATES, "none", 5e-3)
    found = entities.told_by_model(knowing("en", "es"), TAUGHT["en"], ASKED, 0)
    assert list(found) == [*CODES] and min(found["en"], found["es"]) > 0.9 and found["zh"] < 0.1


def test_the_score_gives_nothing_for_o_alone_and_counts_words_that_are_wrongly_called_names():
    gold = ["PER", "O", "LOC", "O"]
    assert entities.entity_f1(gold, ["O"] * 4) == 0 and entities.entity_f1(gold, gold) == 1
    assert entities.entity_f1(gold, ["PER", "PER", "LOC", "O"]) == pytest.approx((2 / 3 + 1) / 2)


def test_who_knows_places_tells_all_where_places_tell_and_two_thirds_where_they_do_not():
    """Rows in which every subject and every place is a name, and the corpus, in which half of them are."""

    def of(rows) -> list:
        return [row for row in rows if {"PER", "LOC"} <= set(row.upos)]

    planted = entities.rivals(of(TAUGHT[PIVOT]), {code: of(rows) for code, rows in ASKED.items()})
    assert set(planted["in_the_place"].values()) == {1.0} and planted["cues"]["en"] == planted["cues"]["es"] == 1.0
    half = entities.rivals(TAUGHT[PIVOT], ASKED)
    assert list(half["in_the_place"].values()) == pytest.approx([2 / 3] * 3)
    assert max(half["cues"].values()) < 0.8 and max(half["letters"].values()) < 0.8


def test_articles_and_capitals_give_names_away_and_do_not_where_a_language_has_neither():
    shown, asked = (entity_corpus(80, split) for split in ("train", "test"))
    cues = entities.rivals(shown[PIVOT], asked)["cues"]
    assert (
        min(cues[code] for code in ("en", "fr", "es")) > 0.95 and max(cues[code] for code in ("ar", "hi", "zh")) < 0.7
    )


def test_a_rival_that_reads_letters_tells_names_by_a_letter_of_theirs():
    def marked(rows) -> list:
        return [
            replace(row, words=tuple(w + tag[0].lower() * 3 for w, tag in zip(row.words, row.upos, strict=True)))
            for row in rows
        ]

    found = entities.rivals(marked(TAUGHT[PIVOT]), {code: marked(rows) for code, rows in ASKED.items()})
    assert min(found["letters"][code] for code in ("en", "es")) > 0.95


def test_the_experiment_asks_new_names_of_model_and_twin_and_seeds_take_turns(monkeypatch):
    seen = []
    monkeypatch.setattr(entities, "TAUGHT", 48)
    monkeypatch.setattr(entities, "ASKED", 24)
    monkeypatch.setattr(entities, "load", lambda name: "model")
    monkeypatch.setattr(entities, "twin", lambda model, seed: "twin")

    def answered(side, taught, asked, seed):
        seen.append((side, taught, asked))
        return dict.fromkeys(asked, float(side == "model"))

    monkeypatch.setattr(entities, "told_by_model", answered)
    model, blank = entities.of_seed(0)
    entities.of_seed(1)
    assert {f"{arm}_{code}" for arm in entities.WITHOUT for code in LANGUAGES} == set(blank) < set(model)
    assert model["rival_written_en"] == 1.0 and model["rival_bare_en"] < 0.8

    def names(rows) -> set[str]:
        return {w for row in rows for w, tag in zip(row.words, row.upos, strict=True) if tag in ("PER", "LOC")}

    (_, taught, asked), (_, next_taught, _) = seen[0], seen[4]
    assert len(taught) == entities.TAUGHT and len(asked[PIVOT]) == entities.ASKED
    assert not names(taught) & names(asked[PIVOT]) and not names(taught) & names(next_taught)


@pytest.mark.parametrize(("english", "can"), [(0.6, False), (0.9, True)])
def test_what_carries_over_is_told_only_where_english_was_learnt(english, can):
    """Planted: five languages above their rival and an untrained network; four below the one, and as the other is."""
    rng = np.random.default_rng(0)
    others = [code for code in LANGUAGES if code != PIVOT]

    def shares(level: float) -> float:
        return level + 0.01 * rng.normal()

    def seed() -> tuple[dict, dict]:
        model, blank = {}, {}
        for arm in entities.WITHOUT:
            for code in LANGUAGES:
                own = english if code == PIVOT else 0.9 if others.index(code) < 5 else 0.3
                model |= {f"{arm}_{code}": shares(own), f"rival_{arm}_{code}": shares(0.67)}
                blank[f"{arm}_{code}"] = shares(0.3)
        return model, blank

    runs = of_sides(*zip(*(seed() for _ in range(5)), strict=True), 4)
    said = entities.told(runs)
    assert ("*cannot do the task*" in said) == (not can) and "5 recorded seeds" in said
    assert ("best rival in 5 of them and below it in 4; above the untrained network in 5" in said) == can
    row = entities.score_rows(runs)[0]
    assert row["asked"] == "English" and row["bare: best rival"] in ("66", "67", "68") and len(row) == 7
