"""The ladder of a recipe: a change a rung, equal pieces, masks that stay or not, and pairs that are true or dealt."""

from dataclasses import asdict
from itertools import islice, pairwise

import numpy as np
import pytest
import torch

from bertology_utils.studies.training import rungs
from bertology_utils.studies.training.rungs import Arm
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.formulas import clauses_of, names_of
from bertology_utils.verdicts.judging import judge_claim, needed

LADDER = ("baseline", *rungs.CHANGES)
CLAIM = claim_by_id("roberta")


def pieces(arm: Arm) -> int:
    return arm.recipe.steps * arm.recipe.budget


def test_a_rung_changes_one_thing_and_the_net_never() -> None:
    arms = rungs.rungs()
    for one, other in pairwise(arms[name] for name in LADDER):
        assert len(asdict(one).items() - asdict(other).items()) == 1
    assert (
        len({(arm.recipe.layers, arm.recipe.width, arm.recipe.heads, arm.recipe.inner) for arm in arms.values()}) == 1
    )


def test_the_old_recipe_reads_as_many_pieces_as_the_last_rung() -> None:
    arms = rungs.rungs()
    assert len({pieces(arms[name]) for name in LADDER[:4]}) == 1
    assert pieces(arms["long_baseline"]) == pieces(arms["long_baseline_more_text"]) == pieces(arms["larger_batches"])
    assert {key for key, value in asdict(arms["long_baseline"]).items() if value != asdict(Arm())[key]} == {"longer"}


def masks_seen(arm: Arm) -> int:
    """How many masked pairs no two of which are alike are read in some epochs."""
    (model,) = rungs.untrained([3])
    batches = [batch for batch, _ in islice(rungs.feed(model, arm, 3), 60)]
    return len({(*ids, *labels) for one in batches for ids, labels in _rows(one)})


def _rows(batch: dict[str, torch.Tensor]) -> zip:
    return zip(batch["input_ids"].tolist(), batch["labels"].tolist(), strict=True)


def test_masks_stay_or_are_drawn_anew() -> None:
    fixed, dynamic = (masks_seen(Arm(tales=2, copies=1, fixed_masks=fixed)) for fixed in (True, False))
    assert fixed <= 2 * (rungs.ACTS - 1) and dynamic > 5 * fixed


@pytest.mark.parametrize(("asked", "share"), [(True, 0.5), (False, 1.0)])
def test_pairs_are_true_or_half_of_them_dealt(asked, share) -> None:
    (model,) = rungs.untrained([3])
    classes = torch.cat([own for _, own in islice(rungs.feed(model, Arm(next_sentence=asked), 3), 120)])
    assert classes.float().mean().item() == pytest.approx(share, abs=0.06)


def test_no_new_sentence_is_read() -> None:
    own = rungs.text(3)
    assert not {sentence for tale in own.told for sentence in tale} & set(own.asked)


def test_every_name_of_the_claim_is_a_sample_and_a_net_that_learns_beats_frequencies(monkeypatch) -> None:
    monkeypatch.setattr(rungs, "STEPS", 3)
    found = rungs.ladder([3, 4])
    assert names_of(clauses_of(f"{CLAIM.given} and {CLAIM.prediction}")) <= set(found.model)
    assert {values.shape for values in (*found.model.values(), *found.twin.values())} == {(2, 1)}
    assert np.ptp([found.twin[name].mean() for name in LADDER]) == 0
    monkeypatch.setattr(rungs, "STEPS", 120)
    (model,) = rungs.train(Arm(tales=rungs.MANY, fixed_masks=False, next_sentence=False, larger=4), [3])
    own = rungs.text(3)
    assert rungs.tiny.held_out_losses([model], own.asked).mean() < rungs.by_frequency(own) - 0.1


@pytest.mark.parametrize(("long", "verdict"), [(3.0, "replicates"), (2.0, "contradicts")])
def test_a_recipe_that_is_minutes_alone_is_told(long, verdict) -> None:
    """A ladder that falls on every rung counts only if the old recipe, as long, does not come as far."""
    rng = np.random.default_rng(0)
    means = dict(zip(LADDER, (3.2, 3.1, 3.0, 2.8, 2.4, 2.0), strict=True)) | {"frequencies": 3.9, "long_baseline": long}
    trained = {name: mean + rng.normal(0, 0.03, (24, 1)) for name, mean in means.items()}
    start = 4.0 + rng.normal(0, 0.03, (24, 1))
    blank = dict.fromkeys(LADDER, start) | {"frequencies": trained["frequencies"], "long_baseline": start}
    assert judge_claim(CLAIM, needed(CLAIM, trained), [needed(CLAIM, blank)]).verdict == verdict
