"""Shapes at equal cost: the cost is what it says, and a shape is called worse only where its seeds say so."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.training import equal_cost, more_seeds
from bertology_utils.studies.training.equal_cost import BASE, LAYERS, LONGER, SHAPES
from bertology_utils.tuning.two_languages import BilingualRecipe


def by_hand(shape: BilingualRecipe) -> int:
    """Weights and biases of the layers alone."""
    w, inner = shape.width, shape.inner
    return shape.layers * (4 * (w * w + w) + 2 * w * inner + inner + w + 4 * w)


@pytest.mark.parametrize("arms", equal_cost.ARMS.values(), ids=list(equal_cost.ARMS))
def test_all_shapes_take_as_many_operations_to_a_hundredth(arms) -> None:
    spent = {name: equal_cost.cost(recipe)[0] for name, recipe in arms.items()}
    assert max(spent.values()) < 1.01 * min(spent.values())
    deep = arms["layers_4"]
    assert spent["layers_4"] == 6 * by_hand(deep) * deep.steps * BASE.budget
    assert equal_cost.cost(replace(arms["layers_2"], layers=4))[0] > 1.9 * spent["layers_2"]


def test_arms_differ_in_their_shape_and_rate_and_nothing_else() -> None:
    free = {"layers", "width", "inner", "heads", "learning_rate"}
    assert all({k for k in asdict(BASE) if asdict(BASE)[k] != asdict(own)[k]} <= free for own in SHAPES.values())
    assert {own.steps for own in LONGER.values()} == {4 * BASE.steps}
    shapes = {name: replace(own, steps=BASE.steps, learning_rate=0) for name, own in LONGER.items()}
    assert shapes == {name: replace(own, learning_rate=0) for name, own in LAYERS.items()}
    assert replace(SHAPES["layers_2"], learning_rate=BASE.learning_rate) == BASE


def planted(**means: float) -> dict[str, np.ndarray]:
    """Losses of ten seeds that differ much more between seeds than between shapes."""
    rng = np.random.default_rng(0)
    luck = rng.normal(0, 0.3, 10)
    return {name: per_seed(4 + mean + luck + rng.normal(0, 0.02, 10), 300) for name, mean in means.items()}


def test_a_shape_that_every_seed_calls_worse_is_clear_and_others_are_not() -> None:
    found = equal_cost.above_best(planted(a=0.0, b=0.2, c=0.0), comparisons=3)
    best = next(iter(found))
    assert {name for name, dot in found.items() if dot.clear} == {"b"} and best != "b"
    assert found[best].values.tolist() == [0.0] * 10 and not found[best].clear
    assert found["b"].low < 0.2 < found["b"].high


def test_shapes_that_are_alike_are_hardly_ever_told_apart() -> None:
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(100):
        alike = {str(place): per_seed(rng.normal(4, 0.1, 10), 300) for place in range(7)}
        wrong += any(dot.clear for dot in equal_cost.above_best(alike, 21).values())
    assert wrong <= 5


@pytest.fixture
def few_sentences(monkeypatch):
    monkeypatch.setattr(more_seeds, "SENTENCES", 300)
    monkeypatch.setattr(more_seeds, "HELD_OUT", 20)
    more_seeds.sentences_of.cache_clear()
    yield
    more_seeds.sentences_of.cache_clear()


def test_each_shape_has_a_value_a_seed_beside_its_own_untrained_nets(few_sentences) -> None:
    found = equal_cost.losses({name: replace(recipe, steps=5) for name, recipe in SHAPES.items()}, [3, 4])
    assert {own.shape for side in (found.model, found.twin) for own in side.values()} == {(2, 1)}
    assert len({float(own.mean()) for name, own in found.twin.items() if name in LAYERS}) == len(LAYERS)
    assert found.model["layers_1"].mean() < found.twin["layers_1"].mean()


def test_what_is_told_and_drawn_is_what_was_planted() -> None:
    short, long = dict.fromkeys(SHAPES, 0.1), dict.fromkeys(LAYERS, 0.3)
    short["layers_1"], long["layers_8"] = 0.0, 0.0
    read = {
        steps: Runs(planted(**means), planted(**dict.fromkeys(means, 1.0)), networks=10)
        for steps, means in ((90, short), (360, long))
    }
    first, second = equal_cost.told(read).split(" After ")
    assert "*88 wide: 1 layer, 2 heads* with" in first and "*32 wide: 8 layers, 2 heads* with" in second
    assert "All 27 pairs" in second and "Not told apart: none" in first
    figure = equal_cost.figure(read, "A caption.")
    assert len(figure.table) == len(SHAPES)
    assert "18.47 to 18.55 billion" in figure.caption
