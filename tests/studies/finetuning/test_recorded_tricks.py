"""What the file says of ways to tune: counted as planted, and every claim can go both ways."""

from collections.abc import Mapping

import numpy as np
import pytest

from bertology_utils.absent import Absent, asked
from bertology_utils.models import twin
from bertology_utils.studies.finetuning.conditions import TASKS
from bertology_utils.studies.finetuning.recorded_tricks import Tricks
from bertology_utils.studies.finetuning.study_file import BY_SIZE, PRETRAINED, RANDOM, STAGED, STARTED, TRICKED, Unit
from bertology_utils.studies.finetuning.tricks import (
    ASKED,
    ASKED_LAST,
    AVERAGED,
    CHOICE,
    EARLY,
    LEARNT,
    MISSPELT,
    STARTS,
    TRICKS,
    UNCORRECTED,
)
from bertology_utils.studies.finetuning.tricks import BY_SIZE as SHOWN
from bertology_utils.tuning.comparisons import best_of, stopped_early
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

PLAIN = {"": 0.8, MISSPELT: 0.7, LEARNT: 1.0}  # a score on sentences of each kind


def line(model: str, task: str, seed: int, start: str, arm: str, score: float, values: str = "") -> Unit:
    return Unit(model, task, seed, start, arm, score, 192, values, seconds=1.0, hardware="", date="")


def ways(model: str, own: Mapping[str, Mapping[str, float]], seeds: int = 12) -> list[Unit]:
    """Ways that score like plain tuning, but for what is named; from a random start all score alike."""
    rng = np.random.default_rng(0)
    return [
        line(model, TRICKED, seed, start, f"{task} {way} {kind}".strip(), score + rng.normal(0, 0.01))
        for seed in range(seeds)
        for start in (PRETRAINED, RANDOM[0])[: 1 + (seed < 5)]
        for task in ASKED
        for way in TRICKS
        for kind, score in (PLAIN | (own.get(way, {}) if start == PRETRAINED else {})).items()
    ]


def staged(model: str, own: Mapping[str, float]) -> list[Unit]:
    rng = np.random.default_rng(1)
    arms = {"paraphrase": 0.7, "entailment": 0.95, "topic": 0.95, "paraphrase after entailment": 0.7}
    arms |= {"paraphrase after topic": 0.7, "agreeing number": 0.8, "number": 1.0, "agreeing number after number": 0.8}
    return [
        line(model, STAGED, seed, start, arm, score + rng.normal(0, 0.01))
        for start, said in ((PRETRAINED, own), (RANDOM[0], {}))
        for seed in range(12 if start == PRETRAINED else 5)
        for arm, score in (arms | dict(said)).items()
    ]


def verdict(claim: str, own, control) -> str:
    known = claim_by_id(claim)
    return judge_claim(known, needed(known, own), [needed(known, control)]).verdict


@pytest.mark.parametrize(
    ("claim", "way", "effect", "null", "word"),
    [
        ("mixout-regularization", "mixout", {"": 0.85}, {}, "contradicts"),
        ("deeper-layer-complement", "HIRE", {"": 0.85}, {}, "contradicts"),
        ("sesamebert-all-layers", "SesameBERT", {"": 0.85}, {}, "contradicts"),
        ("freelb-adversarial", "FreeLB", {MISSPELT: 0.75}, {"": 0.9, MISSPELT: 0.75}, "contradicts"),  # merely better
        ("freelb-adversarial", "FreeLB", {"": 0.95, MISSPELT: 0.84}, {"": 0.98, MISSPELT: 0.8}, "contradicts"),
        ("adversarial-regularization", "SMART", {"": 0.85}, {"": 0.5, LEARNT: 0.5}, "contradicts"),  # nothing learnt
    ],
)
def test_a_planted_way_replicates_and_a_trivial_one_does_not(tiny, claim, way, effect, null, word) -> None:
    found = []
    for own in (effect, null):
        recorded = Tricks(ways(tiny.identity, {way: own}), tiny.identity)
        found.append(verdict(claim, recorded.ways(tiny), recorded.ways(twin(tiny, 1))))
    assert found == ["replicates", word]


def test_what_no_misspelling_hurts_tests_no_robustness(tiny) -> None:
    unhurt = {way: {MISSPELT: 0.8} for way in TRICKS}
    recorded = Tricks(ways(tiny.identity, unhurt), tiny.identity)
    samples = recorded.ways(tiny), recorded.ways(twin(tiny, 1))
    assert verdict("freelb-adversarial", *samples) == "cannot do the task"


@pytest.mark.parametrize(
    ("claim", "own", "word"),
    [
        ("stilts-two-stage", {"paraphrase after entailment": 0.8}, "replicates"),
        ("stilts-two-stage", {}, "contradicts"),
        (
            "stilts-two-stage",
            {"paraphrase after entailment": 0.8, "paraphrase after topic": 0.8},
            "contradicts",
        ),  # any stage would do
        ("tanda-two-stage", {"agreeing number after number": 0.9}, "replicates"),
        ("tanda-two-stage", {"agreeing number after number": 0.8}, "contradicts"),
    ],
)
def test_stages_planted(tiny, claim, own, word) -> None:
    recorded = Tricks(staged(tiny.identity, own), tiny.identity)
    assert verdict(claim, recorded.stages(tiny), recorded.stages(twin(tiny, 1))) == word


# ---------------------------------------------------------------- many starts


def test_the_price_and_the_gain_of_starts_by_hand() -> None:
    early, choice = np.array([3, 2, 1, 0]), np.array([1, 4, 2, 3])
    found = stopped_early(early, choice, np.array([10, 40, 20, 30]), kept=2, whole=3)
    assert found == {"stopped": 40, "blind": pytest.approx((40 * 3 + 30 * 2 + 20) / 6), "whole": 37.5, "best": 40}
    scores = np.random.default_rng(0).random(300)  # of many runs it does not matter that none is drawn twice
    assert stopped_early(scores, scores, scores, 2, 2)["whole"] == pytest.approx(best_of(scores)[1], abs=0.005)


def starts(model: str, foreseen: float) -> list[Unit]:
    """Eight runs whose early scores tell the final ones to a degree."""
    rng, found = np.random.default_rng(2), []
    for seed in range(12):
        for task in TASKS:
            final = rng.normal(0.75, 0.1, STARTS)
            early = foreseen * final + (1 - foreseen) * rng.normal(0.75, 0.1, STARTS)
            for arm, scores in ((EARLY, early), (CHOICE, final), (ASKED_LAST, final)):
                told = " ".join(f"{score:.4f}" for score in scores)
                found.append(line(model, STARTED, seed, PRETRAINED, f"{task} {arm}", scores.mean(), told))
    return found


@pytest.mark.parametrize(("foreseen", "replicates"), [(1.0, True), (0.0, False)])
def test_stopping_early_pays_where_the_end_can_be_foreseen(tiny, foreseen, replicates) -> None:
    recorded = Tricks(starts(tiny.identity, foreseen), tiny.identity)
    own, control = recorded.starts(tiny), recorded.starts(tiny, blind=True)
    assert (verdict("early-stopping-seeds", own, control) == "replicates") == replicates
    assert control["stopped"].mean() < own["whole"].mean() < own["best"].mean()


# ---------------------------------------------------------------- the page


def test_the_figure_is_ordered_by_the_gain_on_few_examples(tiny) -> None:
    recorded = Tricks(ways(tiny.identity, {"mixout": {"": 0.9}, "HIRE": {"": 0.85}}), tiny.identity)
    worth = recorded.worth()
    assert list(worth)[:2] == ["mixout (1.0 ×)", "HIRE (1.0 ×)"] and len(worth) == len(TRICKS) - 1
    assert worth["mixout (1.0 ×)"].mean() == pytest.approx(10, abs=1)


def sized(model: str, own: Mapping[str, float]) -> list[Unit]:
    """Topic on more and more sentences; what `ways` has of the fewest is only there."""
    rng, few = np.random.default_rng(3), {"plain", AVERAGED, UNCORRECTED}
    return [
        line(model, row, seed, PRETRAINED, way, 0.8 + own.get(way, 0) * (size > 12) + rng.normal(0, 0.01))
        for row, size in BY_SIZE.items()
        for seed in range(10)
        for way in (SHOWN if size > 12 else few)
    ]


def test_the_figure_by_size_and_its_sentence_show_what_was_planted(tiny) -> None:
    lines = ways(tiny.identity, {"mixout": {"": 0.9}}) + sized(tiny.identity, {"adapters": 0.1, "SMART": -0.1})
    recorded = Tricks(lines, tiny.identity)
    shown, told = recorded.by_size(), recorded.told_by_size()
    assert tuple(shown) == SHOWN
    assert {len(points) for points in shown.values()} == {len(BY_SIZE)}
    assert [point.seeds for point in shown["plain"]] == [10] * len(BY_SIZE)
    assert shown["adapters"] == pytest.approx([0.8, 0.9, 0.9], abs=0.02)
    assert told["fewest_better"].startswith("mixout ") and told["fewest_better"].count("[") == 1
    assert told["seeds"] == "10, 10, 10" and told["fewest_worse"] == "none"
    assert told["most_better"].startswith("adapters ") and told["most_worse"].startswith("SMART -")


def test_other_weights_are_not_asked(tiny) -> None:
    other = Tricks([*ways("another 123", {}), *staged("another 123", {})], "another 123")
    assert all(isinstance(asked(sample)(tiny), Absent) for sample in (other.ways, other.stages, other.starts))
    assert TRICKED == "tricks on 12"
