"""Where does more text stop to help? Tasks on which every kept step of the lowest rung is tuned, beside its loss.

The study `small-models` records it. Depends on `families` (which steps were kept), `tuning.training`,
`tuning.classification_tasks` (the tasks of the chapter on fine-tuning) and `figures`.
"""

from collections.abc import Mapping
from functools import cache
from itertools import pairwise

import numpy as np

from bertology_utils import families
from bertology_utils.figures import Figure, curve
from bertology_utils.models import Specimen, load, twin
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.runs import Runs
from bertology_utils.statistics import Measurement, mean_interval
from bertology_utils.tuning.classification_tasks import task
from bertology_utils.tuning.mlm_training import mlm_losses
from bertology_utils.tuning.training import Examples, finetune

TASKS = ("topic", "tense")
LOSS = "loss"
MEASURES = (*TASKS, LOSS)
TRAIN, TEST, EPOCHS, BUDGET = 160, 320, 3, 128  # sentences, passes and pieces of a batch, as recorded there
RATE = 1e-3  # five times that of there: of both, the better one for so narrow a net on other seeds
FIRST_SEED = 3000  # as there
Parts = Mapping[str, tuple[Examples, Examples]]


@cache
def members() -> dict[str, str]:
    """What is tuned: the lowest rung of the ladder at its kept steps, and its seeds at the end, by name."""
    rung = families.rungs()[0]
    steps = {str(step): name for step, name in families.checkpoints(rung).items()}
    return steps | {f"seed_{place}": name for place, name in enumerate(families.seeds(rung)[1:], start=1)}


def measured(specimen: Specimen, parts: Parts, seed: int) -> Values:
    """Accuracy on each task after tuning, and nats a masked piece of all test sentences before."""
    how = {"epochs": EPOCHS, "budget": BUDGET, "learning_rate": RATE}
    scores = {name: finetune(specimen, *own, seed, **how).accuracy for name, own in parts.items()}
    asked = [words for _, test in parts.values() for words in test.sentences]
    return scores | {LOSS: float(mlm_losses(specimen, asked, seed).mean())}


def of_seed(seed: int) -> tuple[Values, Values]:
    """`measured` of each member, "topic_400", ...; the control has an untrained net of the seed's own for all."""
    own = FIRST_SEED + seed
    parts = {name: (task(name, TRAIN, own), task(name, TEST, own, "test")) for name in TASKS}
    loaded = {place: load(name) for place, name in members().items()}
    found = {place: measured(specimen, parts, own) for place, specimen in loaded.items()}
    blank = dict.fromkeys(found, measured(twin(loaded["0"], own), parts, own))
    return _named(found), _named(blank)


def _named(found: Mapping[str, Values]) -> Values:
    return {f"{name}_{place}": value for place, own in found.items() for name, value in own.items()}


EXPERIMENTS = {"text-against-score": one_by_one(of_seed, TEST)}


def steps() -> list[int]:
    """The kept steps, the untrained start first."""
    return list(families.checkpoints(families.rungs()[0]))


def pieces() -> dict[int, int]:
    """Pieces that were read by a step, from what was evaluated then."""
    return {0: 0} | {line["step"]: line["tokens"] for line in families.evaluations(families.rungs()[0])}


def gain(runs: Runs, measure: str, before: int, after: int, comparisons: int) -> Measurement:
    """What the text between two steps adds to a score, or takes from the loss, paired over seeds.

    comparisons: of how many such gains, whose intervals hold together, this is one.
    """
    earlier, later = (runs.model[f"{measure}_{step}"] for step in (before, after))
    return mean_interval(earlier - later if measure == LOSS else later - earlier, comparisons=comparisons)


def clear_doublings(runs: Runs) -> dict[str, list[int]]:
    """The steps up to which a doubling of the text clearly helped, by measure, all of them judged together."""
    doublings = list(pairwise(steps()[1:]))
    count = len(MEASURES) * len(doublings)
    return {name: [b for a, b in doublings if gain(runs, name, a, b, count).low > 0] for name in MEASURES}


def moved(runs: Runs, measure: str) -> float:
    """The range of a score at the end over pre-trainings with several seeds."""
    ends = [str(steps()[-1]), *(place for place in members() if place.startswith("seed"))]
    return float(np.ptp([runs.model[f"{measure}_{place}"].mean() for place in ends]))


def figure(runs: Runs, caption: str) -> Figure:
    """Scores over the pieces read, and how much of the whole fall of the loss is done, with intervals over seeds."""
    _, *read = steps()
    lines = {name: np.stack([runs.model[f"{name}_{step}"][:, 0] for step in read]) for name in MEASURES}
    start, end = (runs.model[f"{LOSS}_{step}"][:, 0] for step in (0, read[-1]))
    named = {"share of the loss's fall": (start - lines.pop(LOSS)) / (start - end).mean()}
    counted = pieces()
    return curve(
        [counted[step] / 1e3 for step in read], lines | named, logx=True, xlabel="thousand pieces read",
        ylabel="accuracy", controls=tuple(named), caption=caption,
        baselines={f"{name}, nothing read": runs.model[f"{name}_0"].mean() for name in TASKS},
    )  # fmt: skip


def told(runs: Runs) -> str:
    """What all text and its last doubling add, which doublings help, and what other seeds of pre-training change."""
    before, after = steps()[-2:]
    losses = {line["step"]: line["mlm_loss"] for line in families.evaluations(families.rungs()[0])}
    ends = ((name, *(runs.model[f"{name}_{step}"].mean() for step in (0, after))) for name in TASKS)
    ways = [f"{name} from {start:.1%} to {end:.1%}" for name, start, end in ends]
    last = {name: gain(runs, name, before, after, len(MEASURES)) for name in MEASURES}
    numbers = {name: (last[name].value, last[name].low, last[name].high) for name in TASKS}
    points = ((name, *(round(100 * end, 1) + 0.0 for end in own)) for name, own in numbers.items())  # no -0.0
    added = " and ".join(f"{value:+.1f} points [{low:+.1f}, {high:+.1f}] ({name})" for name, value, low, high in points)
    helped = [f"{name}: {', '.join(map(str, own)) or 'none'}" for name, own in clear_doublings(runs).items()]
    return (
        f"All the text takes {' and '.join(ways)}. Its last doubling, from {pieces()[before] / 1e6:.1f} to "
        f"{pieces()[after] / 1e6:.1f} million pieces, adds {added}; the loss on the same sentences falls by "
        f"{last[LOSS].value:.2f} nats [{last[LOSS].low:.2f}, {last[LOSS].high:.2f}] ({runs.networks} seeds, paired; "
        f"these intervals hold together), that on held-out real text by {losses[before] - losses[after]:.2f}. Of "
        f"{len(steps()) - 2} doublings, all judged together, those clearly help that lead to step {'; '.join(helped)}. "
        f"Pre-trainings with other seeds end up to "
        f"{' and '.join(f'{100 * moved(runs, name):.1f} points ({name})' for name in TASKS)} apart."
    )
