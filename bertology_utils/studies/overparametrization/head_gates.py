"""Heads that a penalty closes while a classifier is tuned on, beside those that importance or chance would leave.

Every arm starts from the same tuned classifier and takes as many steps on the same batches. Depends on `subnetworks`
(importance), the gates of `compression.methods.structured` and `training`; the study `small-models` records it.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertology_utils.compression.methods.structured import HardConcrete
from bertology_utils.instruments.heads import gated, head_grid, prune_iteratively
from bertology_utils.models import Specimen, load, twin
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.studies.overparametrization.subnetworks import importance, survivors
from bertology_utils.tuning.classification_tasks import task
from bertology_utils.tuning.descent import descend, trainable
from bertology_utils.tuning.training import (
    Classifier,
    Examples,
    FineTuned,
    batches,
    classification_loss,
    correctness,
    finetune,
)

MODEL, TASK = "pocket-bert", "number"
TRAIN, TEST = 128, 200
EPOCHS, FURTHER = 2, 2  # passes of the first tuning, and of that with gates or with heads closed
PIECES = 128  # of a batch
SHARE = 0.25  # of all heads, which every arm keeps
RATE, HEAD_RATE = 2e-4, 2e-3
GATE_RATE = 1.0  # at which most gates that stay open are fully so after the few steps there are
TEMPERATURE = 0.33  # of the gates, as voita2019analyzing have it
PENALTIES = (0.02, 0.04)  # nats an open gate, around what leaves a quarter on seeds that are not recorded


# ---------------------------------------------------------------- tuning on


def tuned_on(
    run: FineTuned,
    train: Examples,
    seed: int,
    gates: Callable[[], Tensor],
    penalty: Callable[[], Tensor | float] = float,
    also: Sequence[Mapping] = (),
) -> Classifier:
    """A copy of the run's classifier after `FURTHER` more passes, its heads times `gates()` at each step.

    The seed alone draws the batches. gates: (layers, heads); penalty: is added to the mean loss; also: groups of more
    parameters as `descend` takes them.
    """
    model, order = copy.deepcopy(run.classifier), np.random.default_rng(seed)
    plan = [batch for _ in range(FURTHER) for _, batch in batches(run.specimen, train, PIECES, order)]
    parts = ((model.encoder, RATE), (model.head, HEAD_RATE))
    groups = [{"params": trainable(part), "lr": rate} for part, rate in parts if trainable(part)]
    feed = iter(plan)

    def loss() -> Tensor:
        with gated(model, gates()):
            return classification_loss(model, next(feed)).mean() + penalty()

    descend([*groups, *also], loss, len(plan))
    return model


@dataclass(frozen=True)
class Gated:
    """A classifier that was tuned on with its gates; of each gate its log-odds and its value at evaluation."""

    classifier: Classifier
    openness: Tensor  # (layers, heads)
    values: Tensor

    @property
    def open(self) -> float:
        """The share of gates that are not 0."""
        return float((self.values > 0).float().mean())


def with_gates(run: FineTuned, train: Examples, seed: int, penalty: float) -> Gated:
    """Tunes weights and gates together under a penalty on each gate that is expected open (voita2019analyzing)."""
    gates = HardConcrete(*head_grid(run.classifier), temperature=TEMPERATURE)
    own = {"params": [gates.openness], "lr": GATE_RATE, "weight_decay": 0.0}
    each = penalty * gates.openness.numel()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = tuned_on(run, train, seed, gates, lambda: each * gates.share_open(), [own])
    return Gated(model, gates.openness.detach(), gates.eval()().detach())


def swept(run: FineTuned, train: Examples, seed: int) -> Gated:
    """Under the penalty that leaves nearest to the share of gates open, the milder of two as near."""
    tried = [with_gates(run, train, seed, penalty) for penalty in PENALTIES]
    return min(tried, key=lambda made: abs(made.open - SHARE))


# ---------------------------------------------------------------- which heads


def most_important(run: FineTuned, train: Examples) -> Tensor:
    """Booleans (layers, heads): what is left when the least important quarter of all goes, by a new measurement each
    time (michel2019sixteen)."""
    scored = prune_iteratively(
        lambda keep: importance(run, train, keep), lambda keep: np.empty(0), head_grid(run.classifier), SHARE, SHARE
    )
    return scored[-1].keep


def any_heads(grid: tuple[int, int], seed: int) -> Tensor:
    """As many heads, at random: booleans (layers, heads)."""
    return torch.as_tensor(survivors(np.random.default_rng(seed).random(grid), SHARE))


def shared(first: Tensor, second: Tensor) -> dict[str, float]:
    """Of the heads in the first set, the share in the second: overlap; by_layer if each layer's were drawn anew."""
    kept = float(first.sum())
    drawn = (first.sum(1) * second.sum(1)).sum() / first.shape[1]
    return {"overlap": float((first & second).sum()) / kept, "by_layer": float(drawn) / kept}


# ---------------------------------------------------------------- the arms


def measured(specimen: Specimen, seed: int) -> Values:
    """Accuracy with a quarter of the heads, on new words: `gated` as weights and gates were tuned together; `selected`,
    `important` and `random` with the gates' heads and others, tuned with these alone from where the gates began.

    full: with all heads, before; open: the share of gates that are not 0 in the end; and what is `shared` by the
    gates' heads and the most important.
    """
    train, test = task(TASK, TRAIN, seed, "train"), task(TASK, TEST, seed, "test")
    run = finetune(specimen, train, test, seed, epochs=EPOCHS, budget=PIECES)
    made = swept(run, train, seed)
    kept = torch.as_tensor(survivors(made.openness, SHARE))
    sets = {"selected": kept, "important": most_important(run, train), "random": any_heads(kept.shape, seed)}

    def score(classifier: Classifier, gates: Tensor) -> float:
        with gated(classifier, gates):
            return float(correctness(classifier, specimen, test).mean())

    found = {"full": run.accuracy, "gated": score(made.classifier, made.values * kept)}
    for name, heads in sets.items():
        found[name] = score(tuned_on(run, train, seed, heads.float), heads.float())
    return found | {"open": made.open} | shared(kept, sets["important"])


def penalised(seed: int) -> tuple[Values, Values]:
    """`measured` of the pre-trained model and of an untrained one of the seed."""
    specimen = load(MODEL)
    return measured(specimen, seed), measured(twin(specimen, seed), seed)


EXPERIMENTS = {"head-gates": one_by_one(penalised, TEST)}
