"""The word-substitution attack: it finds a planted weakness, changes no answer, and must beat chance."""

from types import SimpleNamespace

import numpy as np
import pytest

from bertology_utils.language.lexicon import load_lexicon, noun_forms
from bertology_utils.studies.generalization import attack
from bertology_utils.tokenizing import pieces_of
from bertology_utils.tuning.classification_tasks import task
from bertology_utils.tuning.shortcuts import number_sentences, word_classes
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

SENTENCES = number_sentences(60, biased=True, split="test")
KNOWN = set(SENTENCES.sentences)
CLASSES = word_classes(load_lexicon("test"))
WEAKNESS = CLASSES["act"][3]
READERS = {
    "weak": lambda words: 0.4 if WEAKNESS in words else 0.9,
    "sound": lambda words: 0.9,
    "brittle": lambda words: 0.9 if words in KNOWN else 0.1,  # any other word turns it
    "guessing": lambda words: (0.9, 0.1)[sum(map(len, words)) % 2],
}


@pytest.fixture
def planted(tiny, monkeypatch):
    """A reader that is as sure of the right answer as is told."""

    def attacked(name: str) -> dict[str, np.ndarray]:
        monkeypatch.setattr(attack, "exchangeable", lambda _: CLASSES.values())
        monkeypatch.setattr(attack, "sureness", lambda _, sentences, labels: np.array([*map(READERS[name], sentences)]))
        runs = [attack.attack(SimpleNamespace(specimen=tiny), SENTENCES, np.random.default_rng(s)) for s in range(5)]
        return {sample: np.stack([own[sample] for own in runs]) for sample in runs[0]}

    return attacked


@pytest.mark.parametrize(
    ("reader", "verdict"),
    [
        ("weak", "replicates"),
        ("sound", "contradicts"),
        ("brittle", "contradicts"),  # chance would do
        ("guessing", "cannot do the task"),
    ],
)
def test_planted_readers(planted, reader, verdict) -> None:
    claim, found = claim_by_id("adversarial-synonyms"), planted(reader)
    control = {name: np.zeros((5, 60)) + np.arange(60) % 2 for name in found}
    assert judge_claim(claim, needed(claim, found), [needed(claim, control)]).verdict == verdict


def test_a_weakness_is_found_by_one_word_and_rarely_by_chance(planted) -> None:
    found, hidden = planted("weak"), sum(WEAKNESS in words for words in SENTENCES.sentences) / 60
    assert found["accuracy"].mean() == 1 - hidden and found["attacked"].mean() == 0 and found["random"].mean() > 0.8
    assert found["changed"].mean() == pytest.approx(
        np.mean([1 / len(words) for words in SENTENCES.sentences]), abs=0.01
    )


def test_substitutes_are_of_the_same_class_and_form_nearest_first(tiny) -> None:
    near, table = attack.neighbours(tiny), tiny.encoder.get_input_embeddings().weight.detach().numpy()
    kind = {form: noun.kind for own in load_lexicon("test").nouns.values() for noun in own for form in noun_forms(noun)}
    assert all(kind[other] == kind[word] for word in kind for other in near[word])  # food stays food
    assert not {"pear", "cheese", "eat"} & set(near["pears"])
    vectors = [table[pieces_of(tiny.tokenizer, [word])].mean(0) for word in ("soldier", *near["soldier"])]
    cosines = [own @ vectors[0] / np.linalg.norm(own) for own in vectors]
    assert len(cosines) > 10 and cosines == sorted(cosines, reverse=True)


def test_a_tuned_reader_is_attacked(tiny) -> None:
    lessons, victims = (task("topic", 8, 0, split) for split in ("train", "test"))
    found = attack.attacked(tiny, lessons, victims, seeds=[0, 1])
    assert {name: own.shape for name, own in found.items()} == {
        "accuracy": (2, 8), "attacked": (2, 8), "random": (2, 8), "changed": (2, 1),
    }  # fmt: skip
    assert (found["attacked"] <= found["accuracy"]).all()
