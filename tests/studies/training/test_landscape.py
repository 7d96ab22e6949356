"""The loss around ends: planted basins and valleys have their width, the plane is the study's, and a hill is a hill."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.samples import per_seed
from bertology_utils.studies.training import landscape, more_seeds
from bertology_utils.studies.training.landscape import FAR, RISE, Ends, barrier, basin_width, norm
from bertology_utils.tuning.tiny_pretraining import TINY, small_language
from bertology_utils.tuning.training import item_losses
from bertology_utils.tuning.two_languages import tiny_specimen
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.formulas import clauses_of, names_of
from bertology_utils.verdicts.judging import judge_claim, needed

CLAIM = claim_by_id("pretraining-wider-optima")
KINDS = ("width", "valley", "gap", "fit")


@pytest.fixture(scope="module")
def ends():
    language = small_language(120)
    words = sorted({word for sentence in language for word in sentence.words})
    start = tiny_specimen(words, replace(TINY, width=16, inner=32))
    return Ends.of(start, language[:40], language[-20:], seed=0, epochs=2)


def test_basin_width_of_a_parabola() -> None:
    alphas = np.linspace(0, 2, 201)
    assert basin_width(alphas**2, alphas, 0.5) == pytest.approx(0.5**0.5, abs=0.01)
    assert basin_width(0.01 * alphas, alphas) == 2.0
    assert basin_width(4 * alphas**2, alphas) < basin_width(alphas**2, alphas)


def test_directions_are_as_long_as_the_rows() -> None:
    state = {"weight": torch.randn(5, 7) * torch.arange(1, 6).unsqueeze(1), "bias": torch.randn(5)}
    direction = landscape.filter_normalised(state, torch.Generator().manual_seed(0))
    assert torch.allclose(direction["weight"].norm(dim=1), state["weight"].norm(dim=1), rtol=1e-4)
    assert not direction["bias"].any()


def test_a_hill_on_the_way_is_a_barrier_and_a_slope_is_none() -> None:
    assert barrier([0.7, 0.9, 0.1]) == pytest.approx(0.2) and barrier([0.7, 0.4, 0.1]) == 0


def test_the_plane_has_the_start_the_end_and_the_other_end_as_far_away(ends) -> None:
    way, aside = ends.axes
    assert norm(aside) == pytest.approx(norm(way), rel=1e-4) and norm(way) > 0
    start, end = (float(item_losses(own, ends.run.specimen, ends.train).mean()) for own in _two(ends))
    surface = ends.surface([0, 1], [0, 0.5])
    assert surface[0] == pytest.approx([start, end], abs=1e-5)
    by_hand = copy.deepcopy(ends.run.classifier)
    by_hand.load_state_dict(
        {k: v + way[k] + 0.5 * aside[k] if v.is_floating_point() else v for k, v in ends.run.start.items()}
    )
    expected = item_losses(by_hand, ends.run.specimen, ends.train).mean()
    assert surface[1, 1] == pytest.approx(float(expected), abs=1e-5)


def _two(ends: Ends) -> list:
    start = copy.deepcopy(ends.run.classifier)
    start.load_state_dict(ends.run.start)
    return [start, ends.run.classifier]


@pytest.mark.parametrize("steep", [1.0, 4.0])
def test_a_planted_valley_is_as_wide_as_it_is(ends, steep) -> None:
    """Loss grows with the square of the distance from the end, in ways, whatever the direction."""
    planted, scale = Ends(ends.run, ends.other, ends.train, ends.test), norm(ends.axes[0])

    def loss(classifier) -> np.ndarray:
        away = {name: value - ends.end[name] for name, value in classifier.state_dict().items()}
        return np.array([steep * (norm(away) / scale) ** 2])

    planted.__dict__["loss"] = loss
    found = planted.measured(0)
    half_angle = (
        sum(float((a * b).sum()) for a, b in zip(*(axis.values() for axis in ends.axes), strict=True)) / scale**2
    )
    turns = np.arange(landscape.RAYS) * 2 * np.pi / landscape.RAYS
    lengths = np.sqrt(1 + half_angle * np.sin(2 * turns))  # of rays, as the axes are not at right angles
    assert found["valley"] == pytest.approx(np.mean((RISE / steep) ** 0.5 / lengths), abs=0.12)
    assert found["barrier"] == 0 and found["path_0"] == pytest.approx(steep, rel=1e-3) and found["width"] < FAR[-1]


def test_every_name_of_the_claim_is_a_value_a_seed(monkeypatch) -> None:
    monkeypatch.setattr(more_seeds, "RECIPE", replace(more_seeds.RECIPE, steps=2, width=16, inner=32))
    monkeypatch.setattr(more_seeds, "SENTENCES", 150)
    monkeypatch.setattr(more_seeds, "HELD_OUT", 20)
    monkeypatch.setattr(landscape, "EPOCHS", 1)
    monkeypatch.setattr(landscape, "READ", 20)
    more_seeds.sentences_of.cache_clear()
    found = landscape.landscapes([3, 4])
    more_seeds.sentences_of.cache_clear()
    assert names_of(clauses_of(f"{CLAIM.given} and {CLAIM.prediction}")) <= set(found.model)
    assert {values.shape for values in (*found.model.values(), *found.twin.values())} == {(2, 1)}
    assert all(np.array_equal(found.twin[f"{kind}_pretrained"], found.model[f"{kind}_scratch"]) for kind in KINDS)
    assert landscape.way(found, "scratch").shape == (len(landscape.WAY), 2)


@pytest.mark.parametrize(
    ("width", "valley", "gap", "verdict"),
    [
        (0.5, 0.5, 0.3, "replicates"),
        (0.0, 0.0, 0.0, "contradicts"),  # no difference
        (-0.5, 0.5, 0.3, "contradicts"),  # wide on the plane alone, whose unit is each start's own way
        (0.5, -0.5, 0.3, "contradicts"),
    ],
)
def test_wide_is_what_is_wide_in_both_ways(width, valley, gap, verdict) -> None:
    rng = np.random.default_rng(0)
    lead = {"width": width, "valley": valley, "gap": -gap, "fit": 0.0}
    base = {kind: 1.0 + rng.normal(0, 0.05 * (kind != "fit"), 24) for kind in KINDS}
    noise = {kind: rng.normal(0, 0.05 * (kind != "fit"), 24) for kind in KINDS}
    scratch = {f"{kind}_scratch": per_seed(base[kind], 100) for kind in KINDS}
    trained = scratch | {f"{kind}_pretrained": per_seed(base[kind] + lead[kind] + noise[kind], 100) for kind in KINDS}
    control = scratch | {f"{kind}_pretrained": scratch[f"{kind}_scratch"] for kind in KINDS}
    assert judge_claim(CLAIM, needed(CLAIM, trained), [needed(CLAIM, control)]).verdict == verdict
