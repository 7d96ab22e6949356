"""Layers, width and heads at equal cost: which shape is best if all take as many operations for as many pieces?

Around the shape of `more_seeds`, in its language and with its seeds. The study `small-models` records it. Depends on
`more_seeds`, `compression.accounting` (what a shape costs) and `figures.dots`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from math import comb

from bertology_utils import recorded_arms
from bertology_utils.compression.accounting import count_parameters, training_operations
from bertology_utils.figures import Figure
from bertology_utils.figures.dots import Dots, dots
from bertology_utils.runs import Runs
from bertology_utils.samples import UnitSamples
from bertology_utils.statistics import mean_interval
from bertology_utils.studies.training import more_seeds
from bertology_utils.tuning.two_languages import BilingualRecipe, padded, tiny_specimen

BASE = more_seeds.RECIPE
# layers about twice as wide inside, as fits the cost; each with the best of four rates on three other seeds
LAYERS = {
    "layers_1": replace(BASE, layers=1, width=88, inner=199),
    "layers_2": replace(BASE, learning_rate=8e-3),
    "layers_4": replace(BASE, layers=4, width=44, inner=97),
    "layers_8": replace(BASE, layers=8, width=32, inner=61),
}
SHAPES = LAYERS | {f"heads_{n}": replace(LAYERS["layers_2"], heads=n) for n in (1, 4, 8)}
# the best of two or three rates on two other seeds, the same again but for one
LONGER = {name: replace(recipe, steps=4 * BASE.steps) for name, recipe in LAYERS.items()}
LONGER["layers_2"] = replace(LONGER["layers_2"], learning_rate=2e-3)
ARMS = {"shapes-at-equal-cost": SHAPES, "shapes-read-longer": LONGER}


def worded(recipe: BilingualRecipe) -> str:
    """A shape in words."""
    layers, heads = ("s"[: n > 1] for n in (recipe.layers, recipe.heads))
    return f"{recipe.width} wide: {recipe.layers} layer{layers}, {recipe.heads} head{heads}"


def cost(recipe: BilingualRecipe) -> tuple[float, int]:
    """Operations of a training, as usual those of the layers alone, and all parameters."""
    size = count_parameters(tiny_specimen(padded([], more_seeds.WORDS), recipe).encoder)
    return training_operations(size.encoder, recipe.steps * recipe.budget), size.all


def losses(arms: Mapping[str, BilingualRecipe], seeds: Sequence[int]) -> Runs:
    """Held-out losses of each arm, (seeds, 1), beside those of untrained nets of its shape."""
    texts, trained, control = more_seeds.texts_of(seeds), {}, {}
    for name, recipe in arms.items():
        trained[name] = more_seeds.losses_of(more_seeds.pretrained(texts, seeds, **asdict(recipe)), seeds)
        control[name] = more_seeds.losses_of(more_seeds.untrained(seeds, **asdict(recipe)), seeds)
    return Runs(trained, control, networks=len(seeds))


EXPERIMENTS = {name: partial(losses, arms) for name, arms in ARMS.items()}


def above_best(samples: Mapping[str, UnitSamples], comparisons: int) -> dict[str, Dots]:
    """What each shape loses against the one with the lowest mean, seed by seed; the best comes first.

    comparisons: how many intervals hold together; as chance may choose the best, all pairs count.
    """
    best, *_ = ordered = sorted(samples, key=lambda name: samples[name].mean())
    lost = {name: samples[name] - samples[best] for name in ordered}
    means = {name: mean_interval(own, comparisons=comparisons) for name, own in lost.items()}
    return {name: Dots(lost[name][:, 0], m.value, m.low, m.high, m.low > 0) for name, m in means.items()}


def recorded() -> dict[int, Runs]:
    """Steps -> what is recorded of them."""
    return {next(iter(arms.values())).steps: recorded_arms.read(name) for name, arms in ARMS.items()}


def pairs(read: Mapping[int, Runs]) -> int:
    """How many pairs of shapes there are, each after as many steps."""
    return sum(comb(len(runs.model), 2) for runs in read.values())


def figure(read: Mapping[int, Runs], caption: str) -> Figure:
    """Dots: what each shape loses against the best after few steps and after many, with the parameters of each."""
    costs = {name: cost(recipe) for name, recipe in SHAPES.items()}
    rows = {name: f"{worded(recipe)} ({costs[name][1] / 1e3:.0f}k)" for name, recipe in SHAPES.items()}
    panels = {
        f"nats above the best, {steps} steps": {
            rows[name]: dot for name, dot in above_best(runs.model, pairs(read)).items()
        }
        for steps, runs in read.items()
    }
    low, *_, high = sorted(operations / 1e9 for operations, _ in costs.values())
    spent = (
        f"{min(read)} steps take {low:.2f} to {high:.2f} billion operations in the layers; in brackets all parameters."
    )
    groups = {"Layers": [rows[name] for name in LAYERS], "Heads": [rows[name] for name in SHAPES if name not in LAYERS]}
    return dots(groups, panels, caption=f"{caption} {spent}")


def told(read: Mapping[int, Runs]) -> str:
    """The best shape after few steps and after many, which are clearly worse, and which are not told from it."""
    said = []
    for steps, runs in read.items():
        found = above_best(runs.model, pairs(read))
        best, *others = found
        clear = {worded(SHAPES[name]): found[name] for name in others if found[name].clear}
        worse = [f"{shape} by {dot.mean:.2f} [{dot.low:.2f}, {dot.high:.2f}]" for shape, dot in clear.items()]
        like = [worded(SHAPES[name]) for name in others if not found[name].clear]
        said.append(
            f"After {steps} steps the best of {len(found)} shapes is *{worded(SHAPES[best])}* with "
            f"{runs.model[best].mean():.2f} nats (untrained {runs.twin[best].mean():.2f}; {runs.networks} seeds). "
            f"Clearly worse, seed by seed: {'; '.join(worse) or 'none'}. Not told apart: {'; '.join(like) or 'none'}."
        )
    return " ".join([*said, f"All {pairs(read)} pairs of shapes are judged together."])
