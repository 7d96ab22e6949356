"""The ladder of batches: losses are those of the plain definition, a target is where a curve reaches it, and once."""

import numpy as np
import pytest

from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.training import batch_ladder, more_seeds
from bertology_utils.studies.training.batch_ladder import RATES, RUNGS, reached
from bertology_utils.tuning.descent import adamw
from bertology_utils.tuning.mlm_training import mlm_losses
from bertology_utils.tuning.together import Stack
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.formulas import clauses_of, names_of
from bertology_utils.verdicts.judging import judge_claim, needed

ARMS = [f"{name}_{times}" for name in RATES for times in RUNGS]
CLAIM = claim_by_id("batch-32k-lamb")


@pytest.fixture
def small(monkeypatch):
    """Sentences and steps that take a second."""
    for name, value in {"SENTENCES": 200, "HELD_OUT": 20}.items():
        monkeypatch.setattr(more_seeds, name, value)
    for name, value in {
        "MOST": 12,
        "CHECKS": np.array([2, 4, 8, 12]),
        "SMALL": batch_ladder.SMALL | {"steps": 4},
    }.items():
        monkeypatch.setattr(batch_ladder, name, value)
    more_seeds.sentences_of.cache_clear()
    yield
    more_seeds.sentences_of.cache_clear()


def test_losses_are_those_of_each_model(small) -> None:
    models = more_seeds.untrained([3, 4], **batch_ladder.SIZE)
    found = batch_ladder.losses(Stack([model.model for model in models]), batch_ladder.asked(models, [3, 4]))
    plain = [
        mlm_losses(model, more_seeds.words_of(seed)[-20:], seed=7, budget=10**6).mean()
        for model, seed in zip(models, (3, 4), strict=True)
    ]
    assert found == pytest.approx(plain, abs=1e-5)


def test_a_target_is_where_a_curve_first_reaches_it() -> None:
    curve = np.array([[4.0, 4.0], [3.0, 3.9], [3.5, 3.8], [2.0, 3.7]])
    assert reached(curve, [0, 1, 2, 3], [3.5, 3.0]) == pytest.approx([0.5, 3.0])  # the second never does


def test_a_rate_that_moves_nothing_takes_all_steps_and_a_loss_that_is_there_none(small) -> None:
    assert batch_ladder.steps_to([1.0, 1.0], [3, 4], 1, 0.0, adamw) == pytest.approx(np.log2(12))
    assert batch_ladder.steps_to([9.0, 9.0], [3, 4], 1, 0.0, adamw) == pytest.approx(0)


def test_a_target_between_is_reached_between(small) -> None:
    start, end = (batch_ladder.steps_to([loss], [3], 8, 2**-7, adamw)[0] for loss in (5.4, 5.2))
    assert 0 <= start < end < np.log2(12)


def test_every_name_of_the_claim_is_a_value_a_seed(small) -> None:
    found = batch_ladder.ladder([3, 4])
    assert names_of(clauses_of(f"{CLAIM.given} and {CLAIM.prediction}")) <= set(found.model) == set(found.twin)
    assert {values.shape for values in (*found.model.values(), *found.twin.values())} == {(2, 1)}
    assert all(np.array_equal(found.twin[arm], found.model["adamw_1"]) for arm in ARMS)


def test_what_is_told_is_what_steps_times_batches_give() -> None:
    means = {f"{name}_{times}": 10 - np.log2(times) for name in RATES for times in RUNGS} | {
        "lamb_32": 6.0,
        "target": 3.8,
    }
    samples = {name: per_seed([mean] * 3) for name, mean in means.items()}
    runs = Runs(samples, samples, networks=3)
    shown = batch_ladder.figure(runs, CLAIM.id, "Here.")
    assert list(shown.table["AdamW"]) == list(shown.table["half the steps for twice the batch"]) == [10, 9, 7, 5]
    assert "takes 1,024 steps" in batch_ladder.told(runs)
    assert "AdamW 32, which read 1.0 times" in batch_ladder.told(runs)
    assert "LAMB 64, which read 2.0 times" in batch_ladder.told(runs)


@pytest.mark.parametrize(
    ("fewer", "learnt", "verdict"),
    [
        (4.0, 1.5, "replicates"),
        (0.0, 1.5, "contradicts"),  # the batch is larger, the steps are as many
        (2.0, 1.5, "contradicts"),  # a quarter of the steps: most of the larger batch is for nothing
        (4.0, 0.1, "cannot do the task"),  # a target that any net has at once
    ],
)
def test_larger_batches_must_save_more_than_half_of_their_doublings(fewer, learnt, verdict) -> None:
    rng = np.random.default_rng(0)
    means = {"adamw_1": 11.0, "lamb_32": 11.0 - fewer, "target": 5.4 - learnt, "untrained": 5.4}
    trained = {name: per_seed(mean + rng.normal(0, 0.05, 12), 300) for name, mean in means.items()}
    control = trained | {"lamb_32": trained["adamw_1"], "target": trained["untrained"]}
    assert judge_claim(CLAIM, needed(CLAIM, trained), [needed(CLAIM, control)]).verdict == verdict
