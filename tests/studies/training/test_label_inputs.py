"""Labels at the input: sentences that betray nothing, what is filled in, and labels with and without a meaning."""

from dataclasses import replace

import numpy as np
import pytest
from ledger_toys import planted_verdict

from bertology_utils.studies.training import label_inputs as inputs
from bertology_utils.text import encode_words, of_segments
from bertology_utils.tuning.two_languages import tiny_specimen
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed

CLAIM = "conditional-mlm"


@pytest.fixture(scope="module")
def world() -> inputs.World:
    return inputs.World.dealt(np.random.default_rng(0))


@pytest.fixture(scope="module")
def runs():
    return inputs.augmented([9000])


def planted_tuning(monkeypatch, phrases=inputs.World.phrases):
    """A brief arm alone, in the steps of which labels are heard, on text of `phrases`."""
    monkeypatch.setattr(inputs, "ARMS", {"conditional": replace(inputs.TUNING, steps=60)})
    monkeypatch.setattr(inputs.World, "phrases", phrases)
    return inputs.augmented([9000]).model


def test_where_the_adjective_is_hidden_words_tell_nothing(world) -> None:
    text, asked = inputs._drawn(world, np.random.default_rng(0))
    neutral = {*world.nouns, *world.verbs}
    assert not neutral & {*world.classes.ravel(), *world.signs.ravel()}
    for part in ("few", "new", "known"):
        for words, label in zip(asked[part], inputs.labels_of(asked[part]), strict=True):
            assert words[inputs.GAP] in world.classes[label]
            assert {words[1], words[3], words[5]} <= neutral and len(words) == inputs.WORDS
    told = {words[inputs.GAP] for words in asked["few"]}
    assert told == {words[inputs.GAP] for words in asked["known"]} == {*world.classes[:, inputs.TOLD].ravel()}
    assert not told & {words[inputs.GAP] for words in asked["new"]}
    assert {*world.classes.ravel()} <= {word for words in text for word in words}


def test_arms_see_labels_or_none() -> None:
    sentences = range(10)
    assert not inputs.segments("plain", sentences).any() and not inputs.segments("pretrained", sentences).any()
    assert (inputs.segments("conditional", sentences) == inputs.labels_of(sentences)).all()
    specimen = tiny_specimen(inputs.VOCABULARY, inputs.PRETRAINING)
    told = of_segments(encode_words(specimen, [("the", "who"), ("was",)]), np.array([1, 0]))
    assert [one.segment_ids for one in told] == [[1] * 4, [0] * 3]


def test_so_many_words_are_filled_in_and_the_same_in_all_arms(world) -> None:
    specimen = tiny_specimen(inputs.VOCABULARY, inputs.PRETRAINING)
    before = world.sentences(40, np.random.default_rng(0))
    ways = [inputs.filled(specimen, before, np.full(40, kind), seed=3) for kind in (0, 0, 1)]
    changed = [np.array(own) != np.array(before) for own in ways]
    assert ways[0] == ways[1] != ways[2]
    assert changed[0].sum() > 100 and all((own.sum(1) <= inputs.HIDDEN).all() for own in changed)
    assert (changed[0] | changed[2]).sum(1).max() == inputs.HIDDEN


def test_labels_are_heard_and_dealt_ones_mean_nothing(runs) -> None:
    found = {name: float(sample.mean()) for name, sample in runs.model.items()}
    assert found["partner"] > 0.8 and found["encoder"] > 0.9
    assert found["agrees_conditional"] > 0.8 and found["new_conditional"] > 0.65
    assert all(abs(found[f"agrees_{arm}"] - 0.5) < 0.2 for arm in ("pretrained", "plain", "shuffled"))
    assert abs(float(runs.twin["new_conditional"].mean()) - 0.5) < 0.1
    for side in (runs.model, runs.twin):
        assert {v.shape for v in needed(claim_by_id(CLAIM), side).values()} == {(1, 1)}


def test_labels_mean_nothing_to_words_of_which_text_told_nothing(monkeypatch) -> None:
    def loose(self, count, rng):
        signs, adjectives = (rng.choice(own.ravel(), count) for own in (self.signs, self.classes))
        return [("who", str(sign), "was", str(own)) for sign, own in zip(signs, adjectives, strict=True)]

    found = planted_tuning(monkeypatch, loose)
    assert abs(float(found["new_conditional"].mean()) - 0.5) < 0.1
    assert abs(float(found["accuracy_conditional"].mean()) - 0.5) < 0.15


def test_what_is_put_right_is_of_its_class_and_teaches_it(world, runs) -> None:
    wrong = world.sentences(40, np.random.default_rng(0))[1:]  # each now counts as of the other class
    for words, label in zip(inputs._put_right(world, wrong), inputs.labels_of(wrong), strict=True):
        assert words[inputs.GAP] in world.classes[label]
    scores = {arm: float(runs.model[f"accuracy_{arm}"].mean()) for arm in ("alone", "right")}
    assert scores["right"] > scores["alone"] + 0.1


def test_planted_verdicts() -> None:
    chance = dict.fromkeys(
        ["agrees_conditional", "agrees_plain", "agrees_shuffled", "partner", "known_alone"]
        + [f"accuracy_{arm}" for arm in ("alone", "plain", "conditional")], 0.5,
    )  # fmt: skip
    learnt = chance | {"partner": 0.9, "known_alone": 0.9}
    effect = learnt | {"agrees_conditional": 0.9, "accuracy_conditional": 0.7}
    verdicts = [planted_verdict(CLAIM, means, 0.5) for means in (effect, learnt, chance)]
    assert verdicts == ["replicates", "contradicts", "cannot do the task"]
