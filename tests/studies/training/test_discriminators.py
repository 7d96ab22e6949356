"""A discriminator's questions: what is planted in scores, words or vectors is found, and what is not is not."""

import numpy as np
import pytest
import torch

from bertology_utils.studies import small_models
from bertology_utils.studies.training import discriminators
from bertology_utils.tuning.tiny_pretraining import small_language

SENTENCES = [s for s in small_language(260, 3, drawn=True) if len(s.words) <= discriminators.LONGEST]


def test_an_arm_gives_every_sample(monkeypatch) -> None:
    for size, value in (("PIECES", 500), ("READ", 300), ("NEW", 80), ("KNOWN", 150)):
        monkeypatch.setattr(discriminators, size, value)
    found = small_models.EXPERIMENTS["replaced-words"]([1])
    assert found.model.keys() == found.twin.keys() and len(found.model) == 26
    assert all(sample.shape == (1, 1) and 0 <= sample[0, 0] <= 1 for sample in found.model.values())
    assert found.model["f1_word"] == found.twin["f1_word"], "both sides are asked in the same draws"


def test_detection_is_precision_and_recall_at_as_many_words_as_were_replaced() -> None:
    replaced = np.array([True, False, False, True, False])
    assert discriminators.detection(np.array([9.0, 1, 2, 8, 3]), replaced) == 1
    assert discriminators.detection(np.array([1.0, 9, 8, 7, 0]), replaced) == 0
    assert discriminators.detection(np.array([9.0, 8, 0, 7, 0]), replaced) == 0.5
    assert discriminators.detection(np.zeros(5), replaced) == pytest.approx(0.4), "all alike: the share replaced"


def test_who_knows_words_alone_finds_those_that_are_always_replacements() -> None:
    true = [("the", "dog", "ran")] * 4 + [("a", "cat", "sat")] * 4
    false = [("the", "moon", "ran")] * 4 + true[4:]
    assert discriminators.rivals((false, true), (false, true)) == {
        "accuracy_majority": 1 - 4 / 24, "accuracy_word": 1.0, "f1_word": 1.0,
    }  # fmt: skip
    swapped = [("cat", "dog", "ran")] * 4 + [("a", "cat", "dog")] * 4
    alike = discriminators.rivals((swapped, true), (swapped, true))
    assert alike["f1_word"] < 0.75, "a word that is as often right as wrong does not tell"


def test_wrong_words_are_wrong_in_one_way() -> None:
    made = discriminators.wrong_words(SENTENCES, np.random.default_rng(0))
    tags = {}
    for s in SENTENCES:
        for word, tag, number in zip(s.words, s.upos, s.number, strict=True):
            tags.setdefault(word, set()).add((tag, number if tag == "NOUN" else None))
    assert [pair.good for pair in made["noun"]] == [pair.good for pair in made["class"]]
    for kind, pairs in made.items():
        assert pairs and all(pair.differing() == (pair.focus,) for pair in pairs), kind
    for pair in made["noun"]:
        assert tags[pair.good[pair.focus]] & tags[pair.bad[pair.focus]], "another noun of the same number"
    assert all({tag for tag, _ in tags[p.bad[p.focus]]} & {"VERB", "ADJ"} for p in made["class"])


@pytest.mark.parametrize(("knows", "share"), [(1, 1.0), (-1, 0.0), (0, 0.5)])
def test_a_wrong_word_is_noticed_where_it_is_the_more_suspicious(knows, share, monkeypatch) -> None:
    pairs = discriminators.wrong_words(SENTENCES, np.random.default_rng(0))["class"]
    right = {pair.good for pair in pairs}
    monkeypatch.setattr(
        discriminators, "suspicion", lambda _, told: [np.full(len(s), 0.0 if s in right else knows) for s in told]
    )
    assert discriminators.noticed(None, pairs) == share


@pytest.mark.parametrize("planted", [True, False])
def test_probes_find_in_new_words_what_is_planted(planted, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    codes = {tag: torch.as_tensor(rng.normal(size=16), dtype=torch.float32) for tag in discriminators.TAGS}

    def vectors(_, told):
        """Of each word noise, beside the code of its class where that is planted."""
        noise = [torch.as_tensor(rng.normal(size=(len(s), 16)), dtype=torch.float32) for s in told]
        by_words = {s.words: s.upos for s in SENTENCES}
        known = [torch.stack([codes.get(tag, torch.zeros(16)) for tag in by_words[s]]) for s in told]
        return [(own + 3 * code * planted)[None].repeat(2, 1, 1) for own, code in zip(noise, known, strict=True)]

    monkeypatch.setattr(discriminators, "word_vectors", vectors)
    texts = SENTENCES[:160], SENTENCES[160:]
    found = discriminators._probes(None, texts, [discriminators.probed(part) for part in texts], "own", 0)
    assert found["tag_own_1"] > 0.9 if planted else found["tag_own_1"] < found["tag_majority"] + 0.1


def test_no_word_of_the_test_was_learnt_from() -> None:
    for items in discriminators.probed(SENTENCES).values():
        learnt, asked = discriminators.new_words(items, items, 0)
        assert learnt and asked and not {word for *_, word in learnt} & {word for *_, word in asked}
        assert len(learnt) + len(asked) == len(items)
    for (i, at), number, lemma in discriminators.probed(SENTENCES)["number"]:
        own = SENTENCES[i]
        assert own.number[at] is None and number == own.features["subject_number"]
        assert lemma == own.lemmas[own.features["subject"]]
