"""The laboratory of twins: what is read and asked, that arms differ in one thing, and what is counted."""

import numpy as np
import pytest
import torch

from bertology_utils.runs import Runs
from bertology_utils.studies.mbert import crosslingual, twin_languages
from bertology_utils.studies.mbert.crosslingual import with_fresh_embeddings
from bertology_utils.studies.mbert.twin_languages import Laboratory
from bertology_utils.tuning.two_languages import TwinLanguage

LAB = Laboratory(read_size=60, asked_size=12, more_size=20, steps=2, seeds=2)
TWIN = TwinLanguage()


def test_what_is_asked_was_never_read():
    assert [len(LAB.read), len(LAB.asked), len(LAB.language)] == [60, 12, 92]
    assert not set(LAB.english) & set(LAB.held_out)
    assert LAB.words == sorted({word for words in LAB.english for word in words})


def test_pairs_are_shown_with_their_overlap():
    pairs = {"no_overlap": TWIN, "some_overlap": LAB.twins(sharing=0.4), "inverted": TwinLanguage(inverted=True)}
    none, some, inverted = LAB.translations(pairs)
    assert none["pair"] == "no overlap" and none["overlap"] == 0 < some["overlap"] < 1
    words = none["English"].split()
    assert none["twin"].split() == [f"⟨{word}⟩" for word in words] == inverted["twin"].split()[::-1]


def test_trained_models_are_others_than_the_untrained_and_than_each_other():
    both, alone = LAB.train(TWIN), LAB.train_english()
    assert len(both) == len(alone) == len(LAB.untrained) == 2
    tables = [models[0].model.get_input_embeddings().weight for models in (both, alone, LAB.untrained)]
    assert len(both[0].tokenizer) == len(alone[0].tokenizer)
    assert not any(torch.equal(a, b) for a, b in ((tables[0], tables[1]), (tables[1], tables[2])))


def test_new_embeddings_leave_the_body_as_it_is():
    fresh = [with_fresh_embeddings(model, seed) for seed, model in enumerate(LAB.untrained)]
    (learnt, *_) = LAB.train_embeddings(fresh, TWIN)
    bodies = (model.encoder.encoder.parameters() for model in (fresh[0], learnt))
    assert all(torch.equal(a, b) for a, b in zip(*bodies, strict=True))
    before, after = (model.model.get_input_embeddings().weight for model in (fresh[0], learnt))
    assert not torch.equal(before, after)


def test_measures_have_a_row_a_seed():
    models = LAB.untrained
    assert {name: found.shape for name, found in LAB.losses(models, TWIN).items()} == {
        "English": (2, 12), "twin": (2, 12),
    }  # fmt: skip
    assert LAB.retrieval(models, TWIN).shape == (2, 6)
    assert LAB.counting(TWIN) == pytest.approx([1 / 12] * 12)
    assert LAB.counting(LAB.twins(sharing=1.0)).mean() > 0.5
    assert len(LAB.agreement(models)) == 2


def test_tags_are_asked_in_the_twin_and_read_by_whom_one_wants():
    task = LAB.tagging(read=30, asked=4)
    scores = task.scores(LAB.untrained, TWIN)
    words = sum(len(sentence.words) for sentence in LAB.asked[:4])
    assert scores.shape == (2, 3, words)
    own = crosslingual.zero_shot_tagging(LAB.untrained[1], LAB.read[:30], LAB.asked[:4], TWIN)
    assert (scores[1] == own).all()
    swapped = task.scores(LAB.untrained[:1], TWIN, [with_fresh_embeddings(LAB.untrained[0])])
    assert swapped.shape == (1, 3, words) and (swapped != scores[:1]).any()


def test_the_best_layer_is_chosen_for_each_seed():
    task = LAB.tagging(read=30, asked=4)
    scores = np.random.default_rng(0).random((2, 3, len(task.commonest)))
    best = task.best(scores)
    assert best.mean(1) == pytest.approx([crosslingual.selected(own).mean() for own in scores])
    assert best.items == task.guessed().items == len(task.commonest) // 2


def test_each_model_has_shared_words_of_its_own():
    pair = LAB.twins(sharing=0.4)
    first, second = (language.shared for language in pair)
    assert len(first) == len(second) and first != second
    alone = [LAB.counting(language) for language in pair]
    assert np.array_equal(LAB.counting(pair), alone) and not np.array_equal(*alone)
    assert LAB.train(pair)[0].tokenizer.get_vocab() == LAB.train(TWIN)[0].tokenizer.get_vocab()
    swapped = [np.array_equal(*(LAB.retrieval(LAB.untrained, own) for own in (pair, pair[::-1])))]
    assert swapped == [False]


def test_bars_are_trained_beside_untrained():
    figure = twin_languages.bars(Runs({"some_overlap": 0.5}, {"some_overlap": 0.2}), "some_overlap")
    assert figure.table[["group", "name"]].values.tolist() == [
        ["some overlap", "trained"],
        ["some overlap", "untrained"],
    ]
