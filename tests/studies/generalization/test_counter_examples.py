"""Doses of counter-examples and ways that train: what is planted is found, one telling word is not enough."""

from types import SimpleNamespace

import numpy as np
import pytest

from bertology_utils.absent import Absent
from bertology_utils.models import twin
from bertology_utils.recorded_arms import lines, of_sides
from bertology_utils.studies.generalization import counter_examples
from bertology_utils.studies.generalization.planted import mixed_lessons, pair_sets
from bertology_utils.tuning.shortcuts import overlap_heuristic
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed
from bertology_utils.verdicts.predictions import parse

OPEN, FAIL, MET = "open-small-generalization", "generalization-architectures-fail", "siamese-variants"


def test_a_dose_takes_the_place_of_ordinary_lessons() -> None:
    for dose, few in zip(counter_examples.DOSES, (0, 4, 12, 40, 120), strict=True):
        lessons = mixed_lessons(400, 7, dose / 100, 7 + counter_examples.OTHER)
        broken = ~overlap_heuristic(lessons)
        assert len(lessons) == 400 and broken.sum() == few / 2 and not broken[: 400 - few].any()
        assert not set(lessons.sentences[: 400 - few]) & set(lessons.sentences[400 - few :])


@pytest.mark.parametrize(("learns", "after"), [(True, 1.0), (False, 0.5)])
def test_a_reader_that_learns_from_counter_examples_is_told_from_one_that_does_not(monkeypatch, learns, after) -> None:
    """Planted: overlap, unless one in twelve of the lessons or more breaks it."""

    def tune(specimen, sets, seeds, epochs, **changes):
        sees = learns and (~overlap_heuristic(sets.lessons)).mean() > 1 / 24
        scores = {name: overlap_heuristic(getattr(sets, name)) | sees for name in ("in_domain", "challenge")}
        return {name: own[None] for name, own in scores.items()}

    monkeypatch.setattr(counter_examples.readers, "tune", tune)
    found = counter_examples.doses(None, pair_sets(200, 60, 0), 0)
    assert [found[f"challenge_{dose}"] for dose in counter_examples.DOSES] == [0.5, 0.5, 0.5, after, after]
    assert {found[f"in_domain_{dose}"] for dose in counter_examples.DOSES} == {1.0}
    assert found["swap_0"] == 0.5 and found["swap_30"] == after


def test_a_seed_gives_one_value_a_sample(tiny, monkeypatch) -> None:
    for name, value in {"LESSONS": 20, "TEST": 12, "EPOCHS": 1, "load": lambda name: tiny}.items():
        monkeypatch.setattr(counter_examples, name, value)
    for experiment, samples in ((counter_examples.DOSED, 25 + 10), (counter_examples.TRAINED, 4 + 4)):
        found = lines(experiment, [0], counter_examples.EXPERIMENTS[experiment])
        assert len(found) == samples and all(0 <= line.value <= 1 for line in found)


def recorded(**means: float):
    """Runs of six seeds with these means; what is not named is right on ordinary pairs and guesses on the challenge."""
    rng = np.random.default_rng(0)
    base = {f"{kind}_{dose}": 0.5 for kind in ("swap", "subsequence", "clause") for dose in counter_examples.DOSES}
    base |= {f"in_domain_{dose}": 0.95 for dose in counter_examples.DOSES}
    sides = [[{k: v + rng.normal(0, 0.01) for k, v in own.items()} for _ in range(6)] for own in (base | means, base)]
    return of_sides(*sides, 200)


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ({"swap_30": 0.7, "subsequence_30": 0.9}, "replicates"),
        ({"clause_30": 1.0}, "contradicts"),  # one word tells
        ({"swap_30": 0.56, "subsequence_30": 0.56}, "weaker"),
        ({"swap_30": 0.9, "subsequence_30": 0.9, "in_domain_30": 0.6}, "cannot do the task"),  # another rule instead
    ],
)
def test_planted_gains(means, verdict) -> None:
    runs, claim = counter_examples.judged(recorded(**means)), claim_by_id(OPEN)
    own, *controls = (needed(claim, side) for side in (runs.model, *runs.controls))
    assert judge_claim(claim, own, controls).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "change", "verdict"),
    [
        (FAIL, {}, "replicates"),
        (FAIL, {"adapters": 0.8}, "contradicts"),  # one that works is enough
        (FAIL, {"trained_siamese": 0.8}, "contradicts"),
        (FAIL, {"adapters_in_domain": 0.5}, "cannot do the task"),  # it fails, for it learnt nothing
        (MET, {"trained_siamese": 0.8}, "replicates"),
        (MET, {"trained_siamese": 0.97}, "contradicts"),
    ],
)
def test_planted_ways(claim, change, verdict) -> None:
    rng, own = np.random.default_rng(0), claim_by_id(claim)
    names = own.parsed_prediction.names | parse(own.given).names
    of_model = {name: 0.95 if name.endswith(("in_domain", "cross")) else 0.5 for name in names} | change
    sides = [
        {name: mean + rng.normal(0, 0.01, (6, 1)) for name, mean in means.items()}
        for means in (of_model, dict.fromkeys(of_model, 0.5))
    ]
    own_samples, control = (needed(own, side) for side in sides)
    assert judge_claim(own, own_samples, [control]).verdict.startswith(verdict)


def test_what_the_chapter_reads(tiny, monkeypatch) -> None:
    known = recorded(swap_30=0.8)
    monkeypatch.setattr(counter_examples.recorded_arms, "read", lambda experiment: known)
    assert counter_examples.read(SimpleNamespace(name=counter_examples.MODEL), "any") is known
    figure = counter_examples.figure(known, "By dose.")
    assert list(figure.table["% counter-examples"]) == list(counter_examples.DOSES)
    assert figure.table["challenge, swap"].iloc[-1] == pytest.approx(0.8, abs=0.02)
    for other in (tiny, twin(tiny)):
        absent = counter_examples.read(other, "any")
        assert isinstance(absent, Absent) and counter_examples.figure(absent, "") is None
        assert isinstance(counter_examples.judged(absent), Absent)
        assert isinstance(counter_examples.trained_ways(other), Absent)
