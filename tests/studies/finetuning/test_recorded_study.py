"""The file of the study: written once, continued, read by its own weights; every claim of it can go both ways."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from bertology_utils.absent import Absent, asked
from bertology_utils.errors import BertologyError
from bertology_utils.files import read_rows
from bertology_utils.models import twin
from bertology_utils.studies.finetuning import study_file
from bertology_utils.studies.finetuning.conditions import adapter_size, added
from bertology_utils.studies.finetuning.recorded import LEAST, Recorded
from bertology_utils.studies.finetuning.study_file import (
    ADAPTERS,
    ARMS,
    BAG,
    CHANCE,
    GRID,
    LUCK,
    MOVED,
    PRETRAINED,
    RANDOM,
    SERVED,
    TASKS,
    WAYS,
    Plan,
    Unit,
    known_row,
)
from bertology_utils.tuning.classification_tasks import GRADED
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

PLAN = Plan(train=12, test=10, epochs=1, heads=3, few=8, asked=10, crossed=2)
NULL = {"tuned": 0.75, "frozen": 0.75, "cls": 0.75, "untrained": 0.5}
Scores = Mapping[str, float]


def line(model: str, task: str, seed: int, start: str, arm: str, score: float, values: str = "") -> Unit:
    return Unit(model, task, seed, start, arm, score, 100, values, seconds=0.0, hardware="", date="")


def arms(model: str, pretrained: Scores, random: Scores, seeds: int = 8, head: float = 0.02) -> list[Unit]:
    """Seeds with these scores but for noise; untrained heads lie `head` off chance."""
    rng = np.random.default_rng(0)
    found = []
    for seed in range(seeds):
        for task in TASKS:
            for start in (PRETRAINED, *RANDOM):
                own = NULL | dict(pretrained if start == PRETRAINED else random)
                heads = f"{0.5 + head} {0.5 - head}"
                found += [
                    line(model, task, seed, start, arm, own[arm] + rng.normal(0, 0.004), heads * (arm == "untrained"))
                    for arm in ARMS
                ]
            found.append(line(model, task, seed, "", BAG, 0.6))
    return found


def grids(model: str, start: float, order: float, seeds: int = 12) -> list[Unit]:
    """Accuracies of 4 starts and orders whose true deviations are these, in points; items add one point."""
    rng = np.random.default_rng(1)
    found = []
    for seed in range(seeds):
        points = 75 + rng.normal(0, start, (4, 1)) + rng.normal(0, order, 4) + rng.normal(0, 1, (4, 4))
        values = " ".join(f"{value:.4f}" for value in points.ravel() / 100)
        found.append(line(model, LUCK, seed, PRETRAINED, GRID, 0.75, values))
        found.append(line(model, LUCK, seed, PRETRAINED, CHANCE, 1.0, "1.0 1.0 1.0"))
    return found


def sides(recorded: Recorded, tiny) -> list[dict[str, np.ndarray]]:
    return [recorded.conditions(specimen) for specimen in (tiny, *(twin(tiny, seed) for seed in range(3)))]


# ---------------------------------------------------------------- measuring


def test_a_unit_is_written_once_and_not_measured_again(tiny, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(study_file, "load", lambda name: tiny)
    path = tmp_path / "finetuning.csv"
    todo = study_file.missing(path, ["voice", LUCK], [0, 1], tiny.name)
    assert todo == [("voice", 0), (LUCK, 0), ("voice", 1), (LUCK, 1)]
    study_file.study(path, todo[:2], tiny.name, PLAN, jobs=1)
    assert study_file.missing(path, ["voice", LUCK], [0, 1], tiny.name) == [("voice", 1), (LUCK, 1)]
    lines = read_rows(path, Unit)
    measured = {(unit.start, unit.arm) for unit in lines if unit.task == "voice"}
    assert measured == {(start, arm) for start in (PRETRAINED, *RANDOM) for arm in ARMS} | {("", BAG)}
    assert "voice, seed 0: pre-trained tuned" in capsys.readouterr().out
    study_file.keep(path, [replace(lines[0], score=0.25)])
    assert len(read_rows(path, Unit)) == len(lines) and read_rows(path, Unit)[0].score == 0.25
    assert study_file.missing(path, ["voice"], [0], tiny.name) == []


def test_other_weights_are_measured_themselves(tiny, tmp_path, monkeypatch) -> None:
    path = tmp_path / "finetuning.csv"
    study_file.keep(path, arms("another 123", {}, {}, seeds=1))
    monkeypatch.setattr(study_file, "load", lambda name: tiny)
    assert study_file.missing(path, ["voice"], [0], tiny.name) == [("voice", 0)]


@pytest.mark.parametrize("name", ["voice", LUCK, GRADED])
def test_seeds_draw_sentences_of_their_own(name) -> None:
    first, again, other = (study_file.drawn(name, seed, PLAN) for seed in (0, 0, 1))
    for own, same, differs in zip(first, again, other, strict=True):
        assert list(own.sentences) == list(same.sentences) != list(differs.sentences)
    words = [{word for sentence in part.sentences for word in sentence} for part in first]
    assert not any(len(word) > 5 for word in words[0] & words[1] - {"behind", "around"})  # but for function words


def test_seeds_draw_random_starts_of_their_own(tiny) -> None:
    found = [study_file.starts(tiny, "voice", seed) for seed in (0, 1)]
    assert all(list(own) == [PRETRAINED, *RANDOM] and own[PRETRAINED] is tiny for own in found)
    assert len({own[start].identity for own in found for start in RANDOM}) == 6
    assert list(study_file.starts(tiny, GRADED, 0)) == [PRETRAINED, RANDOM[0]]


def test_grids_cross_heads_and_orders_of_their_own(tiny, monkeypatch) -> None:
    asked_for = []
    monkeypatch.setattr(study_file.comparisons, "seed_grid", lambda *given, **how: asked_for.append(given[-1]))
    for seed in (0, 1):
        study_file.crossed(tiny, seed, PLAN)
    assert len(asked_for[0]) == 2 and not set(asked_for[0]) & set(asked_for[1])


def test_grades_are_scored_by_their_correlation(tiny) -> None:
    found = study_file.units(tiny, GRADED, 0, PLAN)
    assert {unit.arm for unit in found} == set(ARMS) and all(-1 <= unit.score <= 1 for unit in found)
    assert [len(unit.numbers) for unit in found if unit.arm == "untrained"] == [3, 3]


def test_one_body_serves_all_tasks_and_random_starts_in_the_first_seeds_alone(tiny) -> None:
    plan = replace(PLAN, passes=1, controls=1)
    pretrained = {(PRETRAINED, f"{task} {way}") for task in SERVED for way in WAYS}
    controls = {(RANDOM[0], arm) for _, arm in pretrained}
    measured = [study_file.units(tiny, ADAPTERS, seed, plan) for seed in (0, 1)]
    assert {(unit.start, unit.arm) for unit in measured[0]} == pretrained | controls
    assert {(unit.start, unit.arm) for unit in measured[1]} == pretrained


def test_moved_layers_are_told_from_the_embeddings_on(tiny) -> None:
    whole, alone = (study_file.units(tiny, MOVED, seed, replace(PLAN, controls=1)) for seed in (0, 1))
    assert [unit.start for unit in whole] == [PRETRAINED, RANDOM[0]] and [unit.start for unit in alone] == [PRETRAINED]
    assert all(len(unit.numbers) == tiny.layers + 1 and unit.items == PLAN.asked for unit in whole)
    train, test = study_file.drawn(MOVED, 0, PLAN)
    assert (len(train), len(test)) == (PLAN.train, PLAN.asked)


# ---------------------------------------------------------------- bad files


@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        (lambda text: text.replace("0.7500", "three", 1), "row 2: could not convert"),
        (lambda text: text.replace("0.7500 ", "", 1), "row 2: a grid of as many starts as orders has no 3 values"),
        (lambda text: text.replace("arm", "limb", 1), "another table: it has no column 'arm'"),
    ],
)
def test_a_bad_file_is_told(tmp_path, spoilt, says) -> None:
    path = tmp_path / "finetuning.csv"
    study_file.keep(path, [line("a 1", LUCK, 0, PRETRAINED, GRID, 0.75, " ".join(["0.7500"] * 4))])
    path.write_text(spoilt(path.read_text()))
    with pytest.raises(BertologyError, match=says):
        study_file.missing(path, ["voice"], [0], "pocket-bert")


def test_a_missing_file_is_told(tiny, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("bertology_utils.studies.finetuning.recorded.find_root", lambda: tmp_path)
    with pytest.raises(BertologyError, match="bertology study finetuning"):
        Recorded.read(tiny)
    with pytest.raises(BertologyError, match="row of the study"):
        known_row("voices")


# ---------------------------------------------------------------- reading


def test_a_value_a_seed_and_the_mean_over_tasks(tiny) -> None:
    recorded = Recorded(arms(tiny.identity, {"tuned": 0.9}, {}), tiny.identity)
    found = recorded.conditions(tiny)
    assert found["tuned"].shape == (8, 1) and found["tuned"].items == 300 and found["voice_tuned"].items == 100
    by_task = np.mean([found[f"{task}_tuned"] for task in TASKS], 0)
    assert np.allclose(found["tuned"], by_task) and found["tuned"].mean() == pytest.approx(0.9, abs=0.01)
    assert found["distance"].mean() == pytest.approx(0.02)
    assert np.allclose(found["gain"], found["tuned"] - found["random"])


def test_a_twin_stands_where_a_random_start_was(tiny) -> None:
    units = [
        replace(unit, score=0.6 + 0.1 * RANDOM.index(unit.start)) if unit.start in RANDOM else unit
        for unit in arms(tiny.identity, {}, {})
    ]
    recorded = Recorded(units, tiny.identity)
    own, *twins = sides(recorded, tiny)
    assert own["random"].mean() == pytest.approx(0.7)
    assert [side["tuned"].mean() for side in twins] == pytest.approx([0.6, 0.7, 0.8])
    assert [side["random"].mean() for side in twins] == pytest.approx([0.75, 0.7, 0.65])


def test_weights_without_three_seeds_are_not_asked(tiny) -> None:
    few = Recorded([*arms(tiny.identity, {}, {}, LEAST - 1), *grids(tiny.identity, 0, 0, LEAST - 1)], tiny.identity)
    other = Recorded(arms("another 123", {}, {}), "another 123")
    assert all(isinstance(asked(sample)(tiny), Absent) for sample in (few.conditions, few.luck, other.conditions))
    assert isinstance(asked(other.conditions)(twin(tiny)), Absent)


def test_a_page_is_about_the_specimen_or_the_first_model_of_the_file(tiny, monkeypatch) -> None:
    units = [*arms(tiny.identity, {}, {}), *grids(tiny.identity, 2, 1)]
    monkeypatch.setattr("bertology_utils.studies.finetuning.recorded.read_study", lambda *_: units)
    monkeypatch.setattr("bertology_utils.studies.finetuning.recorded.find_root", lambda: study_file.PATH)
    for specimen in (tiny, replace(tiny, name="another"), twin(tiny)):
        recorded = Recorded.read(specimen)
        assert recorded.named == tiny.identity and recorded.who == f"{tiny.name}, 8 seeds, of tasks of pairs 0"
    assert list(recorded.by_task()) == list(TASKS) and len(recorded.by_task()["voice"]) == 6
    assert recorded.spreads()["other starts"]["found"].shape == (12, 1)


def test_components_of_a_grid_are_those_planted(tiny) -> None:
    found = Recorded(grids(tiny.identity, 3, 1, 200), tiny.identity).components()
    assert [found[name] for name in ("start", "order", "both")] == pytest.approx([9 / 11, 1 / 11, 1 / 11], abs=0.05)
    assert found["grids"] == 200 and found["runs"] == 3200


# ---------------------------------------------------------------- claims

BETTER, WORSE = {"tuned": 0.95, "frozen": 0.85}, {"tuned": 0.6, "frozen": 0.6}


@pytest.mark.parametrize(
    ("claim", "effect", "null"),
    [
        ("pretraining-gain-all-tasks", (BETTER, WORSE), ({}, {})),
        ("works-without-pretraining", (BETTER, {"tuned": 0.9}), (BETTER, {"tuned": 0.5})),
        ("random-init-competitive", (BETTER, {"tuned": 0.9}), (BETTER, {"tuned": 0.45})),
        ("pretrain-finetune-random-table", (BETTER, {"tuned": 0.7}), ({}, {"tuned": 0.75})),
        ("finetune-beats-feature-extraction", (BETTER, {"tuned": 0.6, "frozen": 0.65}), ({}, {})),
    ],
)
def test_a_planted_effect_replicates_and_none_does_not(tiny, claim, effect, null) -> None:
    verdicts = []
    for pretrained, random in (effect, null):
        runs = sides(Recorded(arms(tiny.identity, pretrained, random), tiny.identity), tiny)
        own, *twins = [needed(claim_by_id(claim), side) for side in runs]
        verdicts.append(judge_claim(claim_by_id(claim), own, twins).verdict)
    assert verdicts[0].startswith("replicates") and not verdicts[1].startswith("replicates")


@pytest.mark.parametrize(("head", "replicates"), [(0.02, True), (0.3, False)])
def test_untrained_heads_near_chance_and_far_from_it(tiny, head, replicates) -> None:
    claim = claim_by_id("pretrained-frozen-near-chance")
    runs = sides(Recorded(arms(tiny.identity, {}, {}, head=head), tiny.identity), tiny)
    own, *twins = [needed(claim, side) for side in runs]
    assert judge_claim(claim, own, twins).verdict.startswith("replicates") == replicates


def bodies(model: str, adapter: Mapping[str, float], full: float, seeds: int = 8) -> list[Unit]:
    """One body with adapters and tuned copies; adapters of the tasks named score otherwise than the copies."""
    rng = np.random.default_rng(2)
    return [
        line(model, ADAPTERS, seed, start, f"{task} {way}", score + rng.normal(0, 0.004))
        for seed in range(seeds)
        for start, whole in ((PRETRAINED, full), (RANDOM[0], 0.55))
        for task in SERVED
        for way, score in zip(WAYS, (adapter.get(task, whole), whole), strict=True)
    ]


def test_a_body_with_adapters_is_counted_by_hand(tiny) -> None:
    encoder, size = tiny.encoder, adapter_size(tiny)
    body = sum(p.numel() for p in encoder.parameters())
    norms = sum(p.numel() for name, p in encoder.named_parameters() if ".layer." in name and "LayerNorm" in name)
    adapters = tiny.layers * 2 * (2 * tiny.width * size + size + tiny.width)
    heads = [2 * (tiny.width * times) + 2 for times in (1, 4)]  # of a sentence, and of a pair
    expected = (body - norms + 2 * (norms + adapters) + sum(heads)) / (2 * body + sum(heads))
    share = (2 * (norms + adapters) + sum(heads)) / (2 * body + sum(heads))
    assert added(tiny, ("voice", "paraphrase")) == pytest.approx({"stored": expected, "share": share})


@pytest.mark.parametrize(
    ("adapter", "full", "share", "verdict"),
    [
        ({}, 0.95, 0.3, "replicates"),  # nothing is lost
        (dict.fromkeys(SERVED, 0.85), 0.95, 0.3, "contradicts"),  # cheap and worse
        ({}, 0.95, 0.6, "contradicts"),  # as good, and not cheap
        ({}, 0.55, 0.3, "cannot do the task"),  # nothing was learnt that could be lost
    ],
)
def test_adapters_are_cheaper_at_a_stated_loss(tiny, monkeypatch, adapter, full, share, verdict) -> None:
    monkeypatch.setattr("bertology_utils.studies.finetuning.recorded.added", lambda *_: {"stored": share})
    claim = claim_by_id("adapters-multitask")
    recorded = Recorded(bodies(tiny.identity, adapter, full), tiny.identity)
    own, control = (needed(claim, recorded.served(specimen)) for specimen in (tiny, twin(tiny, 1)))
    assert own["full"].items == 400 and control["full"].mean() == pytest.approx(0.55, abs=0.01)
    assert judge_claim(claim, own, [control]).verdict == verdict


@pytest.mark.parametrize(
    ("adapter", "frozen", "share", "verdict"),
    [
        (0.95, 0.8, 0.03, "replicates"),
        (0.9, 0.8, 0.03, "contradicts"),  # something is lost
        (0.95, 0.8, 0.1, "contradicts"),  # as good, and not small
        (0.95, 0.95, 0.03, "cannot do the task"),  # adapters that do nothing would match as well
    ],
)
def test_adapters_approximate_tuning_that_frozen_vectors_do_not(
    tiny, monkeypatch, adapter, frozen, share, verdict
) -> None:
    monkeypatch.setattr("bertology_utils.studies.finetuning.recorded.added", lambda *_: {"share": share})
    claim = claim_by_id("adapters-houlsby")
    lines = bodies(tiny.identity, dict.fromkeys(SERVED, adapter), 0.95)
    recorded = Recorded([*lines, *arms(tiny.identity, {"frozen": frozen}, {"frozen": 0.5})], tiny.identity)
    own, control = (needed(claim, recorded.approximated(specimen)) for specimen in (tiny, twin(tiny, 1)))
    assert own["full"].items == 300 and control["frozen"].mean() == pytest.approx(0.5, abs=0.01)
    assert judge_claim(claim, own, [control]).verdict == verdict


@pytest.mark.parametrize(
    ("thirds", "score", "verdict"),
    [
        ((0.1, 0.2, 0.3), 0.9, "replicates"),
        ((0.1, 0.1, 0.3), 0.9, "contradicts"),  # the top alone
        ((0.1, 0.2, 0.3), 0.5, "cannot do the task"),
    ],
)
def test_thirds_of_the_depth_are_moved_as_planted(tiny, thirds, score, verdict) -> None:
    rng, claim = np.random.default_rng(3), claim_by_id("mbert-finetune-top-and-middle")
    units = []
    for seed in range(8):
        for start, moved in ((PRETRAINED, thirds), (RANDOM[0], (0.1, 0.1, 0.1))):
            layers = [0.05, *np.repeat(moved, 2) + rng.normal(0, 0.005, 6)]
            units.append(
                line(tiny.identity, MOVED, seed, start, MOVED, score, " ".join(f"{own:.4f}" for own in layers))
            )
    recorded = Recorded(units, tiny.identity)
    own, control = (needed(claim, recorded.thirds(specimen)) for specimen in (tiny, twin(tiny, 1)))
    assert own["middle"].mean() == pytest.approx(thirds[1], abs=0.01) and control["top"].mean() < 0.12
    assert judge_claim(claim, own, [control]).verdict == verdict


@pytest.mark.parametrize("claim", ["seed-variance-glue", "initialization-effect", "variation-underreported"])
@pytest.mark.parametrize(("deviation", "replicates"), [(4, True), (0, False)])
def test_planted_luck_replicates_and_none_does_not(tiny, claim, deviation, replicates) -> None:
    recorded = Recorded(grids(tiny.identity, deviation, deviation), tiny.identity)
    own, control = (needed(claim_by_id(claim), recorded.luck(tiny, repeated)) for repeated in (False, True))
    assert judge_claim(claim_by_id(claim), own, [control]).verdict.startswith("replicates") == replicates
