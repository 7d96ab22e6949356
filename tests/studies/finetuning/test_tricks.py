"""Ways to tune, as the study runs them."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from bertology_utils.studies.finetuning import study_file, tricks
from bertology_utils.tuning.classification_tasks import examples
from bertology_utils.tuning.training import finetune


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(tricks, "SEEN", 4)
    monkeypatch.setattr(tricks, "FIRST_STAGE", 4)
    monkeypatch.setattr(tricks, "SECOND_STAGE", 4)


def test_plain_is_plain_and_no_two_ways_train_the_same(tiny):
    train, test = examples("voice", 8), examples("voice", 8, split="test")
    ways = (*tricks.TRICKS, tricks.UNCORRECTED)
    made = {name: finetune(tiny, train, test, **tricks.options(name, tiny)) for name in ways}
    assert np.array_equal(made["plain"].probabilities, finetune(tiny, train, test).probabilities)
    for one, other in itertools.combinations(made, 2):
        assert not np.allclose(made[one].probabilities, made[other].probabilities, atol=1e-6), (one, other)


def test_every_way_is_asked_of_every_task_in_three_forms(tiny, quick, monkeypatch):
    monkeypatch.setattr(tricks, "ASKED", ("voice", "paraphrase"))
    found = dict(tricks.tricks(tiny, 0, 4, 6))
    assert len(found) == 2 * 3 * len(tricks.TRICKS) and all(0 <= score <= 1 for score in found.values())
    assert {"paraphrase SMART", "voice plain misspelt", "voice HIRE training"} <= set(found)


def test_larger_sizes_have_the_smaller_ones_examples_and_as_many_steps(tiny, quick, monkeypatch):
    seen = [examples(tricks.SIZED, size, 3) for size in tricks.SIZES]
    sets = [{tuple(words) for words in own.sentences} for own in seen]
    assert sets[0] <= sets[1] <= sets[-1]
    assert len({tricks.SEEN // size * size for size in tricks.SIZES}) == 1
    monkeypatch.setattr(tricks, "SIZES", (4, 8))
    few, many = (dict(tricks.by_size(tiny, 0, size, 6)) for size in (4, 8))
    assert set(many) == set(tricks.BY_SIZE) and set(few) == set(tricks.BY_SIZE) - set(tricks.TRICKS) | {"plain"}


@pytest.mark.parametrize(("apart", "gain"), [(True, 1 / 3), (False, 0)])
def test_an_average_gains_where_runs_err_apart(tiny, monkeypatch, apart, gain):
    asked = examples(tricks.SIZED, 12, 0, "test")
    truth = np.eye(2)[list(asked.labels)]

    def tuned(specimen, train, test, seed, **how):
        wrong = np.arange(12) % 3 == (seed // 1000 % 3 if apart else 0)
        return SimpleNamespace(probabilities=np.where(wrong[:, None], 0.6 - 0.2 * truth, truth))

    monkeypatch.setattr(tricks, "_tuned", tuned)
    found = dict(tricks.by_size(tiny, 0, tricks.SIZES[0], 12))
    assert found[tricks.AVERAGED] - found["plain"] == pytest.approx(gain)


def test_a_second_stage_begins_with_what_the_first_one_left(tiny, quick, monkeypatch):
    began = []
    inner = tricks.finetune
    monkeypatch.setattr(
        tricks, "finetune", lambda specimen, *own, **how: began.append(specimen) or inner(specimen, *own, **how)
    )
    found = dict(tricks.stages(tiny, 0, 6))
    assert {
        "paraphrase",
        "paraphrase after entailment",
        "paraphrase after topic",
        "agreeing number after number",
    } <= set(found)
    assert [own is tiny for own in began] == [True, True, False, True, False, True, True, False]


def test_every_start_is_scored_early_and_at_its_end(tiny, quick, monkeypatch):
    monkeypatch.setattr(tricks, "SEEN", 24)
    monkeypatch.setattr(tricks, "SEEN_EARLY", 12)
    monkeypatch.setattr(tricks, "STARTS", 2)
    found = tricks.many_starts(tiny, "voice", 3, 6)
    assert {name: len(scores) for name, scores in found.items()} == {"early": 2, "development": 2, "test": 2}
    train, asked = examples("voice", tricks.FEW, 3), examples("voice", 12, 3, "test")
    alone = finetune(tiny, train, asked, 7, epochs=3, budget=128)  # a look disturbs no run; start 7 is seed 3's second
    assert found["test"][1] == alone.correct[6:].mean() and found["development"][1] == alone.correct[:6].mean()


def test_one_word_is_misspelt_and_its_ends_stay():
    given = examples("topic", 30)
    wrong = tricks.misspelt(given, 1)
    assert list(wrong.labels) == list(given.labels)
    for right, other in zip(given.sentences, wrong.sentences, strict=True):
        (one, changed), *more = [pair for pair in zip(right, other, strict=True) if pair[0] != pair[1]]
        assert not more and sorted(one) == sorted(changed) and (one[0], one[-1]) == (changed[0], changed[-1])
    assert tricks.misspelt(given, 1).sentences == wrong.sentences != tricks.misspelt(given, 2).sentences


def test_rows_of_the_study_have_a_control_in_the_first_seeds(tiny, quick, monkeypatch):
    monkeypatch.setattr(tricks, "ASKED", ("voice",))
    plan = study_file.Plan(test=6, controls=1)
    for row in (study_file.STAGED, "tricks on 12"):
        with_control, alone = (study_file.units(tiny, row, seed, plan) for seed in (0, 1))
        assert {unit.start for unit in with_control} == {"pre-trained", "random 1"} and len(with_control) == 2 * len(
            alone
        )
