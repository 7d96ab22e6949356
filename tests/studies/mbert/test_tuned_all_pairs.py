"""Who helps whom when tuned: planted languages that share tags help each other, and no other does."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.language.ten_languages import LANGUAGES, parallel_corpus
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.mbert import all_pairs, frozen_bottom, tuned_all_pairs
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

CODES = ("en", "es", "zh")
TAUGHT, ASKED = ({code: parallel_corpus(60, split)[code] for code in CODES} for split in ("train", "test"))


def knowing(odd: str = "") -> Specimen:
    """An untrained network that embeds a word as its tag, in the `odd` language as the tag with the next number."""
    shift = {code: int(code == odd) for code in CODES}
    tags = (*frozen_bottom.TAGS, "PUNCT")
    rows = [(code, row) for part in (TAUGHT, ASKED) for code in CODES for row in part[code]]
    number = {
        word: (tags.index(tag) + shift[code]) % len(tags)
        for code, row in rows
        for word, tag in zip(row.words, row.upos, strict=True)
    }
    specimen = tiny_specimen(sorted(number), BilingualRecipe(layers=2, width=32, inner=32))
    pieces = torch.tensor(specimen.tokenizer.convert_tokens_to_ids(list(number)))
    with torch.no_grad():
        specimen.model.get_input_embeddings().weight[pieces] = torch.eye(32)[list(number.values())]
    return specimen


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setitem(frozen_bottom.RATES, "none", 5e-3)


def test_languages_that_share_tags_help_each_other_and_one_with_tags_of_its_own_is_not_helped(quick) -> None:
    found = tuned_all_pairs.leads(knowing("zh"), {"en": TAUGHT["en"], "zh": TAUGHT["zh"]}, ASKED, 0)
    assert list(found) == [f"{teacher}_{asked}" for teacher in ("en", "zh") for asked in CODES]
    assert min(found["en_en"], found["en_es"], found["zh_zh"]) > 0.3
    assert max(found["en_zh"], found["zh_en"], found["zh_es"]) < 0.05


def test_an_untrained_network_helps_nobody_by_much(quick) -> None:
    blank = replace(knowing(), model=tiny_specimen(sorted(knowing().tokenizer.get_vocab()), BilingualRecipe()).model)
    assert tuned_all_pairs.leads(blank, {"en": TAUGHT["en"]}, {"es": ASKED["es"]}, 0)["en_es"] < 0.2


def test_what_is_asked_are_content_words_alone_and_the_commonest_is_taken_off(monkeypatch) -> None:
    """Who is always right leads by what the commonest tag lacks."""
    specimen = knowing()
    text = frozen_bottom.tagged(specimen, ASKED["en"], all_pairs.CONTENT)
    asked = [tag for row in ASKED["en"] for tag in row.upos if tag in all_pairs.CONTENT]
    assert sum(int((labels >= 0).sum()) for labels in text.labels) == len(asked)
    monkeypatch.setattr(frozen_bottom, "tune", lambda *_: None)
    monkeypatch.setattr(frozen_bottom, "ask", lambda *_: (1.0, 0.0))
    [lead] = tuned_all_pairs.leads(specimen, {"es": TAUGHT["es"]}, {"en": ASKED["en"]}, 0).values()
    assert lead == pytest.approx(1 - max(map(asked.count, set(asked))) / len(asked))


def test_samples_become_maps_and_maps_that_agree_are_found() -> None:
    rng = np.random.default_rng(0)
    planted, noise = rng.normal(size=(2, 10, 10))

    def samples(matrix) -> dict:
        places = {code: place for place, code in enumerate(LANGUAGES)}
        return {
            f"{a}_{b}": per_seed([matrix[i, j] - 1, matrix[i, j] + 1], 4)
            for a, i in places.items()
            for b, j in places.items()
        }

    maps = tuned_all_pairs.maps(Runs(samples(planted), samples(noise), networks=2))
    assert np.allclose(maps.model, planted) and np.allclose(maps.twin, noise)
    alike = planted + 0.2 * rng.normal(size=(10, 10))
    beside = tuned_all_pairs.beside(maps, Runs(alike, planted, (planted,)))
    assert beside["model"].rho > 0.8 and beside["model"].p < 0.01 and beside["untrained"].p > 0.05
    of_blanks = tuned_all_pairs.beside(replace(maps, twin=planted), Runs(alike, planted))
    assert of_blanks["untrained"].rho > 0.99 and of_blanks["gain"].p > 0.05  # all that agrees is the untrained share
