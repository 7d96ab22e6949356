"""Gates under a penalty: an essential head stays open and useless ones close; all arms keep as many heads."""

from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
import torch

from bertology_utils.compression.prune import head_masks
from bertology_utils.instruments.heads import gated
from bertology_utils.studies import small_models
from bertology_utils.studies.overparametrization import head_gates as gates
from bertology_utils.tuning.training import Examples, finetune, predict
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import parse

ESSENTIAL = (0, 2)
LABELLED = Examples([["the", "dog"], ["a", "cats"]] * 64, [0, 1] * 64)


@pytest.fixture(scope="module")
def planted(tiny):
    """A classifier that reads [CLS], into which one head alone can bring what tells the classes apart."""
    only = torch.zeros(2, 4, dtype=bool)
    only[ESSENTIAL] = True
    masks = head_masks(tiny.encoder, only)
    options = {"epochs": 12, "learning_rate": 3e-3, "budget": 128, "pool": "cls", "masks": masks}
    run = finetune(tiny, LABELLED, LABELLED, **options)
    assert run.accuracy == 1
    run.classifier.requires_grad_(False)  # weights stay, so that no other head learns to help
    return run


def test_an_essential_head_stays_open_and_useless_ones_close(planted, monkeypatch) -> None:
    monkeypatch.setattr(gates, "FURTHER", 6)
    made = gates.with_gates(planted, LABELLED, 0, 0.05)
    assert (made.values > 0).nonzero().tolist() == [list(ESSENTIAL)] and made.open == 1 / 8
    with gated(made.classifier, made.values):
        assert (predict(made.classifier, planted.specimen, LABELLED).argmax(1) == LABELLED.labels).all()


def test_without_a_penalty_gates_stay_open_and_a_strong_one_closes_all(planted) -> None:
    assert gates.with_gates(planted, LABELLED, 0, 0.0).values.min() > 0.5
    assert gates.with_gates(planted, LABELLED, 0, 100.0).open == 0


def test_the_sweep_takes_what_leaves_nearest_to_the_share(planted, monkeypatch) -> None:
    monkeypatch.setattr(gates, "PENALTIES", (0.0, 100.0))
    assert gates.swept(planted, LABELLED, 0).open == 0  # all or none: none is nearer to a quarter
    monkeypatch.setattr(gates, "SHARE", 0.75)
    assert gates.swept(planted, LABELLED, 0).open == 1


def test_open_gates_are_plain_tuning(tiny, monkeypatch) -> None:
    """With every gate at 1 the weights become those of tuning on without gates, and they do move."""
    run = finetune(tiny, LABELLED, LABELLED, epochs=1)
    monkeypatch.setattr(gates, "gated", lambda model, values: nullcontext())
    plain = gates.tuned_on(run, LABELLED, 1, lambda: None)
    monkeypatch.undo()
    opened = gates.tuned_on(run, LABELLED, 1, lambda: torch.ones(2, 4))
    before, *both = (predict(model, run.specimen, LABELLED) for model in (run.classifier, plain, opened))
    assert np.allclose(*both, atol=1e-6) and not np.allclose(before, both[0], atol=1e-3)


def test_overlap_and_what_layers_alone_would_give() -> None:
    first = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0]], dtype=bool)
    second = torch.tensor([[1, 0, 0, 0], [1, 0, 0, 0]], dtype=bool)
    assert gates.shared(first, second) == {"overlap": 0.5, "by_layer": 0.25}
    drawn = [gates.any_heads((4, 4), seed) for seed in range(300)]
    assert {int(heads.sum()) for heads in drawn} == {4}
    found = [gates.shared(a, b) for a, b in pairwise(drawn)]
    assert all(np.mean([own[name] for own in found]) == pytest.approx(0.25, abs=0.03) for name in found[0])


def test_the_experiment_gives_what_the_claim_names(tiny, monkeypatch) -> None:
    monkeypatch.setattr(gates, "TRAIN", 12)
    monkeypatch.setattr(gates, "TEST", 10)
    found = gates.measured(tiny, 1)
    claim = claim_by_id("regularized-head-gates")
    assert parse(claim.prediction).names | parse(claim.given).names <= set(found)
    assert all(0 <= value <= 1 for value in found.values()) and "head-gates" in small_models.EXPERIMENTS
    assert gates.most_important(finetune(tiny, LABELLED, LABELLED, epochs=1), LABELLED).sum() == 2
