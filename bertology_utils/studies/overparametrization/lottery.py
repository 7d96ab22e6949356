"""The sub-networks of prasanna2020bert: found by pruning a tuned classifier step by step, drawn, and tuned again.

Depends on `compression.prune` (masks) and `training`. m-pruning takes single weights, the smallest first; s-pruning
takes attention heads and feed-forward parts whole, the least important first. Both stop before the score on held-out
sentences falls below a share of the whole model's.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertology_utils.compression.prune import (
    Masks,
    bad_masks,
    head_masks,
    magnitude_masks,
    pruned,
    random_masks,
)
from bertology_utils.errors import unknown
from bertology_utils.instruments.blocks import feed_forward_outputs, gated_feed_forward
from bertology_utils.instruments.heads import drop_lowest, gated, head_grid, normalise_by_layer
from bertology_utils.models import Specimen
from bertology_utils.tuning.classification_tasks import GRADED, examples
from bertology_utils.tuning.training import (
    Examples,
    FineTuned,
    batches,
    classification_loss,
    finetune,
    predict,
    task_score,
)

TASKS = ("number", "agreeing number", "tense", "paraphrase", GRADED)
FIRST_SEED = 1000  # of the recorded runs: the first ones served to choose the plan
LONGEST = 40  # steps: about a seventieth of the weights is left then
Parts = dict[str, Tensor]  # what is left: heads (layers, heads) and feed_forward (1, layers), booleans


@dataclass(frozen=True)
class Plan:
    """Examples of a task to train, to prune on and to score, passes over them, and when pruning stops.

    least: the share of the whole model's score on the sentences that pruning is held to; step: the share of all heads,
    or of the weights that are left, that each step takes; drawn: the share of the parts that the three networks of
    whole parts have, whose good and bad one would hardly differ where pruning stops early.
    """

    train: int = 320
    held: int = 160
    test: int = 400
    epochs: int = 3
    least: float = 0.9
    step: float = 0.1
    drawn: float = 0.5


@dataclass(frozen=True)
class Found:
    """What one run on one task gives.

    Attributes:
        full: the score of the whole model.
        pruned, retrained: the scores of six sub-networks, as they are and after another tuning from the beginning.
        importance: of each head in the whole model, (layers, heads).
        stopped: the heads and feed-forward parts that s-pruning leaves when it stops.
        good: those that the good network of whole parts has.
        weights: the share of each matrix that m-pruning leaves, (matrices,).
    """

    full: float
    pruned: Mapping[str, float]
    retrained: Mapping[str, float]
    importance: Tensor
    stopped: Parts
    good: Parts
    weights: np.ndarray


def known_task(name: str) -> str:
    """The name itself. Raises BertologyError for a task that the study has not."""
    if name not in TASKS:
        raise unknown("task of the study", name, TASKS)
    return name


def drawn(name: str, seed: int, plan: Plan) -> tuple[Examples, Examples, Examples]:
    """To train, to prune on and to test: pruning is held to sentences of the training words, scores are of others."""
    train = examples(name, plan.train, 2 * seed, "train")
    held = examples(name, plan.held, 2 * seed + 1, "train")
    return train, held, examples(name, plan.test, seed, "test")


def run(specimen: Specimen, name: str, seed: int, plan: Plan) -> Found:
    """One task with one seed, which draws its sentences, their order, the new layer and the random networks."""
    train, held, test = drawn(name, seed, plan)
    options = {"epochs": plan.epochs, "budget": 256, "pool": "pair" if train.pairs else "mean"}
    tuned = finetune(specimen, train, test, seed, **options)
    scores, weights = part_importance(tuned, held, whole(tuned)), m_pruned(tuned, held, plan)
    *_, good = s_steps(tuned, held, plan, plan.drawn)
    masks = six(tuned, good, weights, seed)
    again = {kind: finetune(specimen, train, test, seed, masks=kept, **options) for kind, kept in masks.items()}
    return Found(
        full=task_score(tuned.probabilities, test),
        pruned={kind: score_with(tuned, test, kept) for kind, kept in masks.items()},
        retrained={kind: task_score(one.probabilities, test) for kind, one in again.items()},
        importance=scores["heads"],
        stopped=s_pruned(tuned, held, plan),
        good=good,
        weights=np.array([float(mask.float().mean()) for mask in weights.values()]),
    )


# ---------------------------------------------------------------- whole parts


def whole(run: FineTuned) -> Parts:
    """All heads and feed-forward parts of a run's encoder."""
    layers, heads = head_grid(run.classifier)
    return {"heads": torch.ones(layers, heads, dtype=bool), "feed_forward": torch.ones(1, layers, dtype=bool)}


def part_importance(run: FineTuned, held: Examples, kept: Parts) -> dict[str, Tensor]:
    """Mean size of the slope of an example's loss at each part's gate, (layers, heads) and (1, layers).

    Heads are normalised within their layer, as michel2019sixteen do before they rank over layers.
    """
    sums = {name: torch.zeros(open.shape) for name, open in kept.items()}
    for rows, batch in batches(run.specimen, held):
        gates = {
            name: open.float().expand(len(rows), *open.shape).clone().requires_grad_() for name, open in kept.items()
        }
        encoder = run.classifier.encoder
        with gated(run.classifier, gates["heads"]), gated_feed_forward(encoder, gates["feed_forward"][:, 0]):
            loss = classification_loss(run.classifier, batch).sum()
        for name, slope in zip(gates, torch.autograd.grad(loss, list(gates.values())), strict=True):
            sums[name] += slope.abs().sum(0)
    means = {name: total / len(held) for name, total in sums.items()}
    return means | {"heads": normalise_by_layer(means["heads"])}


def s_steps(run: FineTuned, held: Examples, plan: Plan, down_to: float = 0.0) -> Iterator[Parts]:
    """All parts, then without a tenth of all heads and one feed-forward part more at each step.

    down_to: the share of the heads, and of the feed-forward parts, that is left in the end.
    """
    kept = whole(run)
    last = {name: round(down_to * open.numel()) for name, open in kept.items()}
    step = {"heads": max(1, round(plan.step * kept["heads"].numel())), "feed_forward": 1}
    yield kept
    while any(int(open.sum()) > last[name] for name, open in kept.items()):
        scores = part_importance(run, held, kept)
        counts = {name: min(step[name], int(open.sum()) - last[name]) for name, open in kept.items()}
        kept = {name: drop_lowest(scores[name], kept[name], count) for name, count in counts.items()}
        yield kept


def s_pruned(run: FineTuned, held: Examples, plan: Plan) -> Parts:
    """What `s_steps` leaves when it stops."""
    return _last_good(run, held, plan, ((kept, part_masks(run, kept)) for kept in s_steps(run, held, plan)))


def part_masks(run: FineTuned, kept: Parts) -> Masks:
    """Masks that close heads and feed-forward parts, whose bias goes too: the same as gates of 0."""
    encoder = run.specimen.encoder
    names = {id(parameter): name for name, parameter in encoder.named_parameters()}
    masks = head_masks(encoder, kept["heads"])
    for linear, open in zip(feed_forward_outputs(encoder), kept["feed_forward"][0], strict=True):
        masks |= {names[id(p)]: torch.full_like(p, bool(open), dtype=bool) for p in (linear.weight, linear.bias)}
    return masks


# ---------------------------------------------------------------- single weights


def m_pruned(run: FineTuned, held: Examples, plan: Plan) -> Masks:
    """Takes a tenth of the weights that are left a step, the smallest; what is left when it stops."""
    shares = ((1 - plan.step) ** step for step in range(LONGEST))
    masks = (magnitude_masks(run.specimen.encoder, 1 - share) for share in shares)
    return _last_good(run, held, plan, ((kept, kept) for kept in masks))


def _last_good(run: FineTuned, held: Examples, plan: Plan, steps: Iterable[tuple[Parts, Masks]]) -> Parts:
    """The last of smaller and smaller networks, the first of them whole, before too much of the score is gone."""
    enough, good = plan.least * score_with(run, held, {}), None
    for kept, masks in steps:
        if good is not None and score_with(run, held, masks) < enough:
            break
        good = kept
    return good


def score_with(run: FineTuned, asked: Examples, masks: Mapping[str, Tensor]) -> float:
    """The task's score of the tuned classifier with masks applied and no further tuning."""
    with pruned(run.classifier.encoder, masks):
        return task_score(predict(run.classifier, run.specimen, asked), asked)


# ---------------------------------------------------------------- the six


def six(run: FineTuned, parts: Parts, weights: Masks, seed: int) -> dict[str, Masks]:
    """Good, random and bad, of whole parts (`s_`) and of weights (`m_`): as many of each kind in all three."""
    made = {"s_good": parts, "s_random": random_parts(parts, seed), "s_bad": bad_parts(parts, seed)}
    return {name: part_masks(run, kept) for name, kept in made.items()} | {
        "m_good": weights,
        "m_random": random_masks(weights, seed),
        "m_bad": bad_masks(weights, seed),
    }


def random_parts(parts: Parts, seed: int) -> Parts:
    """As many heads and feed-forward parts, at random."""
    return {name: random_masks({name: kept}, seed)[name] for name, kept in parts.items()}


def bad_parts(parts: Parts, seed: int) -> Parts:
    """As many heads and feed-forward parts, the pruned ones first."""
    return {name: bad_masks({name: kept}, seed)[name] for name, kept in parts.items()}
