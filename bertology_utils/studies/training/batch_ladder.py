"""How many steps larger batches take to be as good as small ones: a ladder of batches, with AdamW and with LAMB.

Where all rungs read equally many pieces the large ones make few steps, and what they lose says as much of these; here
each goes on until it is as good. The study `small-models` records it. Depends on `more_seeds` and `tuning.together`.
"""

from collections.abc import Sequence

import numpy as np
import torch

from bertology_utils.figures import Figure, curve
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.training import more_seeds
from bertology_utils.studies.training.laboratory import captioned
from bertology_utils.text import encode_words
from bertology_utils.tuning.descent import Optimiser, adamw, descent
from bertology_utils.tuning.lamb import Lamb
from bertology_utils.tuning.mlm_training import endless_batches, masked_batches
from bertology_utils.tuning.together import Packed, Stack, clip_each, pack

SIZE, BATCH = {"width": 32, "inner": 64}, 64  # of the nets, and pieces of the smallest batch
SMALL = {"budget": BATCH, "steps": 1280, "learning_rate": 2**-9}  # whose end is the target; its rate falls
OPTIMISERS: dict[str, Optimiser] = {"adamw": adamw, "lamb": Lamb}
RUNGS = (1, 2, 8, 32)  # times the pieces of the smallest batch
MARGIN = 0.05  # nats above the end of the small batch, with a falling rate, that are as good
WARM, MOST = 20, 6000  # steps
CHECKS = np.unique(np.geomspace(4, MOST, 65).astype(int))  # steps after which the held-out loss is taken
HALVED = "half the steps for twice the batch"
LABELS = {"adamw": "AdamW", "lamb": "LAMB"}
# by rung, of the fewest steps on other seeds; powers of two
RATES = {"adamw": (2**-10, 2**-9, 2**-8, 2**-7), "lamb": (2**-7, 2**-7, 2**-6, 2**-5)}


def asked(models: Sequence[Specimen], seeds: Sequence[int]) -> Packed:
    """The held-out sentences of each seed under one mask each."""
    held_out = [more_seeds.words_of(seed)[-more_seeds.HELD_OUT :] for seed in seeds]
    one = [masked_batches(model, own, seed=7, budget=10**6) for model, own in zip(models, held_out, strict=True)]
    return pack([batch for ((_, batch),) in one])


@torch.no_grad()
def losses(stack: Stack, batch: Packed) -> np.ndarray:
    """Nats a masked word: (models,)."""
    return stack.masked_losses(stack.hidden(batch), batch).double().numpy()


def steps_to(
    targets: Sequence[float], seeds: Sequence[int], times: int, rate: float, optimiser_of: Optimiser
) -> np.ndarray:
    """Doublings of one step until each seed's held-out loss is at its target, at a rate that stays: (seeds,).

    Interpolated between `CHECKS`; what gets there later than after `MOST` steps counts as `MOST`.
    """
    models, budget = more_seeds.untrained(seeds, **SIZE), BATCH * times
    texts = zip(models, more_seeds.texts_of(seeds), seeds, strict=True)
    feeds = [endless_batches(model, encode_words(model, text), seed, budget) for model, text, seed in texts]
    stack, held_out = Stack([model.model for model in models]), asked(models, seeds)

    def of_batch() -> torch.Tensor:
        batch = pack([next(feed) for feed in feeds])
        return stack.masked_losses(stack.hidden(batch), batch)

    groups = [{"params": [*stack.weights.values()], "lr": rate}]
    moving = descent(groups, of_batch, lambda step: min((step + 1) / WARM, 1), clip_each, optimiser_of)
    curve = [losses(stack, held_out)]
    for step, _ in enumerate(moving, start=1):
        if step in CHECKS:
            curve.append(losses(stack, held_out))
        if step == MOST or (np.min(curve, axis=0) <= targets).all():
            break
    return reached(np.stack(curve), np.log2([1, *CHECKS[: len(curve) - 1]]), targets)


def reached(curve: np.ndarray, at: Sequence[float], targets: Sequence[float]) -> np.ndarray:
    """Where losses (points, models) are first at their targets, interpolated; the last point where never: (models,)."""
    lowest = np.minimum.accumulate(curve).T
    return np.array([np.interp(-target, -own, at) for target, own in zip(targets, lowest, strict=True)])


def ladder(seeds: Sequence[int]) -> Runs:
    """`steps_to` the loss of the small batch by optimiser and rung, `adamw_1`, ..., `lamb_32` (you2019large).

    `target` and `untrained` are losses in nats. The control has the smallest batch with AdamW in the place of all, and
    untrained nets at the target.
    """
    small = more_seeds.pretrained(more_seeds.texts_of(seeds), seeds, **SIZE, **SMALL)
    blank = more_seeds.untrained(seeds, **SIZE)
    end, start = (losses(Stack([model.model for model in own]), asked(own, seeds)) for own in (small, blank))
    found = {
        f"{name}_{times}": steps_to(end + MARGIN, seeds, times, rate, OPTIMISERS[name])
        for name, rates in RATES.items()
        for times, rate in zip(RUNGS, rates, strict=True)
    }
    control = dict.fromkeys(found, found["adamw_1"]) | {"target": start, "untrained": start}
    sides = (found | {"target": end + MARGIN, "untrained": start}, control)
    return Runs(*({name: per_seed(values, more_seeds.HELD_OUT) for name, values in own.items()} for own in sides))


def figure(runs: Runs, claim: str, caption: str) -> Figure:
    """Doublings of one step by pieces in a batch, beside steps that fall as the batch grows."""
    lines = {label: _steps(runs, name) for name, label in LABELS.items()}
    first = lines[LABELS["adamw"]][0].mean()
    lines[HALVED] = first - np.log2(RUNGS)
    return curve(
        [BATCH * times for times in RUNGS], lines, logx=True, xlabel="pieces in a batch",
        ylabel="steps (doublings of one)", controls=(HALVED,), caption=captioned(caption, claim),
    )  # fmt: skip


def _steps(runs: Runs, name: str) -> np.ndarray:
    """Doublings of one step: (rungs, seeds)."""
    return np.stack([runs.model[f"{name}_{times}"][:, 0] for times in RUNGS])


def told(runs: Runs) -> str:
    """Steps, and pieces beside those of the smallest batch with AdamW, of the largest batch."""
    small = _steps(runs, "adamw")[0]
    parts = []
    for name, label in LABELS.items():
        steps = _steps(runs, name)[-1]
        more = 2 ** (steps + np.log2(RUNGS[-1]) - small).mean()
        parts.append(f"with {label} {2 ** steps.mean():,.0f}, which read {more:.1f} times as many pieces")
    return (
        f"To {runs.model['target'].mean():.2f} nats the smallest batch with AdamW takes {2 ** small.mean():,.0f} "
        f"steps; one {RUNGS[-1]} times as large takes {', '.join(parts)} (geometric means, {runs.networks} seeds)."
    )


EXPERIMENTS = {"batches-to-a-loss": ladder}
