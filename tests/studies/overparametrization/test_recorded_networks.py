"""The file of the study: written once, continued, read by the weights that it began with; readers beside networks."""

from dataclasses import replace

import numpy as np
import pytest

from bertology_utils.absent import Absent, asked
from bertology_utils.files import read_rows
from bertology_utils.models import twin
from bertology_utils.studies.overparametrization import lottery, networks_file, readers
from bertology_utils.studies.overparametrization.networks_file import FULL, NOTHING, Unit
from bertology_utils.studies.overparametrization.recorded_networks import NETWORKS, READERS, Recorded
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import judge_claim, needed

PLAN = lottery.Plan(train=12, held=8, test=12, epochs=1, step=0.25)


def planted(model: str, seeds: int, lead: float = 0.0) -> list[Unit]:
    """Runs whose good networks keep the first heads, and score so much above the others."""
    kept = {FULL: {"importance": "0.9 0.8 0.1 0.2", "heads": "1110", "feed_forward": "11"},
            "s_good": {"heads": "1100", "feed_forward": "10"}, "m_good": {"weights": "0.5 0.4"}}  # fmt: skip
    return [
        Unit(model, task, seed, name, 0.5, 0.6 + 0.01 * seed + lead * name.endswith("good"), hardware="", date="",
             **NOTHING | kept.get(name, {}))
        for task in lottery.TASKS for seed in range(seeds) for name in (FULL, *NETWORKS, *READERS)
    ]  # fmt: skip


@pytest.fixture
def recorded(tiny):
    return Recorded([*planted(tiny.identity, 3, 0.2), *planted(twin(tiny).identity, 3)], tiny.identity)


def test_a_run_is_written_once_and_not_measured_again(tiny, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(networks_file, "load", lambda name: tiny)
    path = tmp_path / "subnetworks.csv"
    todo = networks_file.missing(path, ["number"], [0, 1], tiny.name)
    assert todo == [("number", 0), ("number", 1)]
    networks_file.study(path, todo[:1], tiny.name, PLAN, jobs=1)
    assert networks_file.missing(path, ["number"], [0, 1], tiny.name) == [("number", 1)]
    lines = read_rows(path, Unit)
    assert {unit.network for unit in lines} == {FULL, *NETWORKS, *READERS} and "seed 0" in capsys.readouterr().out
    assert lines[0].heads.count("1") <= 8 and len(networks_file.numbers(lines[0].importance)) == 8
    networks_file.keep(path, [replace(lines[0], retrained=0.25)])
    assert len(read_rows(path, Unit)) == len(lines)


def test_means_are_over_tasks_and_one_value_a_seed(recorded, tiny) -> None:
    scores = recorded.scores(tiny)
    assert np.ravel(scores["s_good"]) == pytest.approx([0.8, 0.81, 0.82])
    assert np.ravel(scores["random_init"]) == pytest.approx([0.6, 0.61, 0.62])
    assert set(recorded.graded(tiny)) == {f"graded_{name}" for name in scores}


@pytest.mark.parametrize(
    ("claim", "sample", "leads"),
    [
        ("m-pruning-ordering", Recorded.scores, {FULL: 0.3, "m_good": 0.3, "m_random": 0.1}),
        ("s-pruning-ordering", Recorded.scores, {FULL: 0.3, "s_good": 0.1, "s_random": 0.1}),
        ("lottery-all-tickets-win", Recorded.scores, {FULL: 0.3, "s_random": 0.25, "s_bad": 0.25}),
        ("bad-s-subnets-not-bad", Recorded.scores, {FULL: 0.3, "s_bad": 0.2, "contextual": 0.2}),
        ("regression-tasks-m-vs-s", Recorded.graded, {FULL: 0.3, "s_bad": 0.3}),
    ],
)
def test_a_planted_effect_replicates_and_none_is_refuted(tiny, claim, sample, leads) -> None:
    rng, verdicts = np.random.default_rng(0), []

    def runs_of(specimen, leads: dict[str, float]) -> list[Unit]:
        shifted = lambda unit: 0.6 + leads.get(unit.network, 0) + rng.normal(0, 0.002)  # noqa: E731 - one line, used once
        return [replace(unit, retrained=shifted(unit)) for unit in planted(specimen.identity, 6)]

    for own in (leads, {FULL: 0.3}):
        runs = Recorded([*runs_of(tiny, own), *runs_of(twin(tiny), {FULL: -0.1})], tiny.identity)
        sides = [needed(claim_by_id(claim), sample(runs, specimen)) for specimen in (tiny, twin(tiny))]
        verdicts.append(judge_claim(claim_by_id(claim), sides[0], sides[1:]).verdict)
    assert verdicts == ["replicates", "contradicts"]


def test_weights_without_three_seeds_are_not_asked(tiny) -> None:
    few = Recorded(planted(tiny.identity, 2), tiny.identity)
    assert isinstance(asked(few.scores)(tiny), Absent)
    alone = Recorded(planted(tiny.identity, 3), tiny.identity)  # no runs of the twin
    assert isinstance(asked(alone.scores)(tiny), Absent)


def test_equal_survivors_agree_fully(recorded, tiny) -> None:
    found = recorded.stability(tiny)
    assert [found[name].mean() for name in ("kappa", "share_sd", "reliability")] == pytest.approx([1, 0, 1])
    overlap = recorded.overlap(tiny, "number", "tense")
    assert overlap["between_tasks"].mean() == overlap["between_seeds"].mean() == pytest.approx(1)


@pytest.mark.parametrize(
    ("noise", "spread", "unstable", "maps"),
    [
        (0.9, 0.005, "replicates", "replicates"),  # runs agree somewhat on heads, and on shares
        (1000.0, 0.005, "cannot do the task", "cannot do the task"),  # any heads, as many a run
        (0.9, 0.5, "replicates", "contradicts"),  # shares that no matrix keeps from run to run
        (0.2, 0.005, "contradicts", "contradicts"),  # runs agree on heads
    ],
)
def test_heads_dealt_at_random_replicate_nothing(tiny, noise, spread, unstable, maps) -> None:
    rng = np.random.default_rng(0)
    favoured = np.arange(32) % 2 == 0

    def line(unit: Unit) -> Unit:
        scores, shares = favoured + rng.normal(0, noise, 32), favoured / 4 + rng.normal(0.4, spread, 32)
        kept = networks_file._bits({"heads": scores >= np.median(scores)})
        return replace(
            unit, **{"s_good": kept, "m_good": {"weights": networks_file._text(shares)}}.get(unit.network, {})
        )

    samples = Recorded([line(unit) for unit in planted(tiny.identity, 20)], tiny.identity).stability(tiny)
    claims = map(claim_by_id, ("s-pruning-unstable", "good-subnetwork-qnli-maps"))
    found = [judge_claim(claim, needed(claim, samples), [needed(claim, samples)]).model.verdict for claim in claims]
    assert found == [unstable, maps]


def test_each_task_has_a_permutation_null(recorded) -> None:
    table = recorded.kappas()
    assert list(table["task"]) == list(lottery.TASKS) and (table["kappa"] == 1).all()
    assert (table["any heads"] < 0.2).all() and (table["any heads"] < table["97.5 % of deals under"]).all()


def test_a_page_is_about_the_specimen_or_the_first_model_of_the_file(recorded, tiny, monkeypatch) -> None:
    assert recorded.who == f"{tiny.name}, 3 seeds, 5 tasks"
    assert recorded.survival().tolist() == [[1, 1], [0, 0]]
    assert recorded.left() == {"heads": 0.75, "parts": 1.0, "weights": pytest.approx(0.45)}
    assert recorded.by_task().shape == (len(NETWORKS) + len(READERS) + 1, len(lottery.TASKS))
    assert set(recorded.bars()["s-good"]) == {"pruned", "retrained"} and recorded.references()["recurrent"] > 0.5
    units = "bertology_utils.studies.overparametrization.recorded_networks.read_study"
    monkeypatch.setattr(units, lambda *_: recorded.units)
    assert Recorded.read(replace(tiny, name="another")).named == tiny.identity


def test_survivors_are_held_against_all_heads(recorded, tiny, monkeypatch) -> None:
    codes = np.array([[[5, 0], [5, 0]], [[5, 5], [0, 0]]])  # of two inputs; 5 has no simple pattern
    monkeypatch.setattr("bertology_utils.studies.overparametrization.recorded_networks.map_patterns", lambda *_: codes)
    found = recorded.patterns(tiny, [])
    assert found["heads"].tolist() == [0.5, 0.5]
    assert found["survivors"].tolist() == [[0.5, 1.0]] * 3  # the first two heads, in every seed


@pytest.mark.parametrize("task", ["number", lottery.GRADED])
def test_readers_learn_the_same_examples(tiny, task) -> None:
    train, _, test = lottery.drawn(task, 0, PLAN)
    found = readers.scores(tiny, train, test, 0)
    assert list(found) == list(READERS) and found == readers.scores(tiny, train, test, 0)
    assert found["majority"] == (0.0 if task == lottery.GRADED else 0.5)


def test_a_recurrent_reader_of_layers_trains_no_layer(tiny) -> None:
    body = readers.Contextual(tiny.encoder, 4)
    assert not any("encoder" in name for name, _ in body.named_parameters()) and body.mix.shape == (tiny.layers + 1,)
