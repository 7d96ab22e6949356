"""As many? One sentence, a word in common or a bag say nothing in English; who knows number tells, elsewhere too."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.language.lexicon import SPLITS
from bertology_utils.language.ten_languages import sentence
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.mbert import as_many
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

CODES = ("en", "es", "fi")
TAUGHT, ASKED = (as_many.drawn(n, split, 0) for n, split in zip((60, 24), SPLITS, strict=True))


def forms(meaning, code: str, plural: bool) -> list[str]:
    return [token.form for token in sentence(meaning, code, plural)]


def content(meaning) -> set[str]:
    return {meaning.subject, meaning.verb, meaning.place}


def knowing(*known: str) -> Specimen:
    """An untrained network that embeds the words of one and those of several apart in the known languages."""
    number: dict[str, int] = {}
    for meaning in (*TAUGHT, *ASKED):
        for code in CODES:
            one, several = (set(forms(meaning, code, plural)) for plural in (False, True))
            number |= dict.fromkeys(one & several, 0)
            for n, own in ((1, one - several), (2, several - one)):
                number |= dict.fromkeys(own, n if code in known else 0)
    specimen = tiny_specimen(sorted(number), BilingualRecipe(layers=2, width=32, inner=32))
    pieces = torch.tensor(specimen.tokenizer.convert_tokens_to_ids(list(number)))
    with torch.no_grad():
        specimen.model.get_input_embeddings().weight[pieces] = torch.eye(32)[list(number.values())]
    return replace(specimen, seed=0)


@pytest.mark.parametrize("split", SPLITS)
def test_either_sentence_and_its_words_are_the_same_for_both_answers(split) -> None:
    meanings = as_many.drawn(40, split, 0)
    first, second, label = (of.tolist() for of in as_many.pairs(meanings))
    assert len(label) > 400
    for side in (first, second):
        counts = [Counter(x for x, own in zip(side, label, strict=True) if own == wanted) for wanted in (0, 1)]
        assert counts[0] == counts[1]
    for a, b, own in zip(first, second, label, strict=True):
        assert a // 2 < 20 <= b // 2 and not content(meanings[a // 2]) & content(meanings[b // 2])
        assert own == (a % 2 == b % 2)


def test_words_in_common_say_nothing_in_english_and_articles_do_in_french() -> None:
    meanings = as_many.drawn(40, "test", 0)
    assert as_many.by_words_in_common(meanings, "en") == 0.5 < as_many.by_words_in_common(meanings, "fr") < 0.8


def test_no_content_word_that_is_asked_was_taught() -> None:
    assert not set.union(*map(content, TAUGHT)) & set.union(*map(content, ASKED))


@pytest.mark.parametrize(("known", "told"), [(("en", "es"), {"en": 1, "es": 1, "fi": 0.5}), ((), {"en": 0.5})])
def test_it_carries_over_to_languages_whose_number_the_model_knows(monkeypatch, known, told) -> None:
    monkeypatch.setattr(as_many, "RATE", 2e-3)
    monkeypatch.setattr(as_many, "HEAD_RATE", 2e-2)
    specimen = knowing(*known)
    reader = as_many.tune(specimen, as_many.told(specimen, TAUGHT, "en"), 0)
    found = {code: as_many.asked(reader, specimen, as_many.told(specimen, ASKED, code)) for code in told}
    assert found == pytest.approx(told, abs=0.12)


def test_the_logits_of_pairs_are_those_of_their_means_read_alone(tiny) -> None:
    text = as_many.told(tiny, ASKED[:4], "en")
    reader = as_many.Siamese(tiny.encoder, 0).eval()
    with torch.no_grad():
        logits, _ = reader(tiny, text, range(4))
        means = []
        for encoding in text.encodings:
            pieces = torch.tensor([encoding.input_ids])
            states = reader.encoder(input_ids=pieces).last_hidden_state[0]
            words = [w for w in encoding.word_ids if w is not None]
            by_word = [
                states[[p for p, own in enumerate(encoding.word_ids) if own == word]].mean(0)
                for word in dict.fromkeys(words)
            ]
            means.append(torch.stack(by_word).mean(0))
        first, second, _ = as_many.pairs(ASKED[:4])
        for row, (a, b) in enumerate(zip(first, second, strict=True)):
            u, v = means[a], means[b]
            plain = reader.head(torch.cat([u, v, (u - v).abs(), u * v]))
            assert torch.allclose(logits[row], plain, atol=1e-5)


def runs(english: float, elsewhere: float, rival: float = 0.5) -> Runs:
    """Three seeds in which each language is told so well by its own teacher, and so by the others."""

    def sample(share: float):
        return per_seed([share - 0.01, share, share + 0.01], 40)

    codes = as_many.WITH_PLURAL
    model = {f"{a}_{b}": sample(english if a == b else elsewhere) for a in codes for b in codes}
    model |= {f"{who}_{code}": sample(rival) for who in as_many.RIVALS for code in codes}
    return Runs(model, {f"{a}_{b}": sample(0.5) for a in as_many.BESIDE for b in codes}, networks=3)


@pytest.mark.parametrize(
    ("shares", "helped", "can"), [((0.9, 0.8), 30, True), ((0.9, 0.5), 0, True), ((0.6, 0.8), 0, False)]
)
def test_pairs_help_that_are_above_the_best_rival_where_both_languages_are_learnt(shares, helped, can) -> None:
    found = runs(*shares)
    assert len(as_many.helped(found)) == helped and ("*cannot do the task*" in as_many.told_transfer(found)) == (
        not can
    )


def test_a_rival_that_tells_as_much_forbids_every_word_of_transfer() -> None:
    assert "*cannot do the task*" in as_many.told_transfer(runs(0.9, 0.9, rival=0.85))
    rows = as_many.share_rows(runs(0.9, 0.8))
    assert len(rows) == 11 and rows[0]["English"] == "90" and rows[0]["German"] == "80" and rows[-1]["Finnish"] == "50"
    assert np.mean(as_many.of_rivals(runs(0.9, 0.9, rival=0.85), "en")) == pytest.approx(0.85)


def test_an_untrained_network_taught_in_a_language_is_no_rival_there_of_teachers_of_others() -> None:
    found = runs(0.99, 0.8)
    known = Runs(found.model, found.twin | {"fr_fr": found.twin["fr_fr"] + 0.48}, networks=3)
    assert as_many.learnt(known, "fr") and ("es", "fr") in as_many.helped(known)
    in_english = Runs(found.model, found.twin | {"en_en": found.twin["en_en"] + 0.48}, networks=3)
    assert not as_many.learnt(in_english, "en") and ("es", "en") not in as_many.helped(in_english)
