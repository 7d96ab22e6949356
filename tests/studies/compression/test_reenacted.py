"""The study of Table 1: units are measured alike, kept one by one, found again, and told as samples and lines."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from bertology_utils.cli import main
from bertology_utils.compression.methods.lesson import Budget, Encoded
from bertology_utils.compression.methods.problems import LONG, problem
from bertology_utils.compression.methods.references import tuned_alone
from bertology_utils.compression.methods.registry import METHODS, method
from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.figures import Figure
from bertology_utils.models import twin
from bertology_utils.studies.compression import live, recorded, reenacted
from bertology_utils.studies.compression.knowledge import KNOWLEDGE, Probed, knowledge
from bertology_utils.studies.compression.recorded import TEACHER, UNTRAINED, UNTRAINED_ON_TEXTS, Recorded
from bertology_utils.studies.compression.reenacted import Classroom, Sizes, Unit, keep, missing
from bertology_utils.studies.compression.speed import times_faster
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import REPLICATES, parse

FEW = Sizes(
    Budget(examples=16, epochs=1, test=8, text_steps=1, pieces=256, text_pieces=128), 10, ("tense", "tagging"), None, {}
)


@pytest.fixture
def room(tiny, monkeypatch):
    monkeypatch.setattr(reenacted, "load", lambda name: tiny)
    return Classroom("tiny", seed=3, sizes=FEW)


@pytest.fixture
def named(tiny, monkeypatch):
    """The tiny specimen by a name that loads it."""
    chosen = dataclasses.replace(tiny, name="tiny")
    monkeypatch.setattr(recorded, "load", lambda name: dataclasses.replace(chosen, name=name))
    caches = (recorded._identity, recorded._pieces)
    for cache in caches:
        cache.cache_clear()
    yield chosen
    for cache in caches:
        cache.cache_clear()


@pytest.fixture
def unit(tiny) -> Unit:
    numbers = dict.fromkeys(("answers", "parameters", "encoder", "bytes", "memory"), 100)
    shares = dict.fromkeys(("faster_1", "faster_32", "seconds", "fact", "number", "meaning", "trees"), 1.0)
    texts = {"model": f"tiny {tiny.sha256[:12]}", "hardware": "a processor", "date": "2026-11-27"}
    return Unit(row=TEACHER, problem="tense", seed=0, score=0.9, teacher=0.9, **numbers, **shares, **texts)


def planted(unit: Unit, scores: dict[str, float], seeds: int = 5, noise: float = 0.01) -> Recorded:
    """Rows with these scores, which differ a little by seed."""
    rng = np.random.default_rng(0)
    return Recorded(
        [
            dataclasses.replace(unit, row=row, seed=seed, score=score + noise * rng.standard_normal())
            for row, score in scores.items()
            for seed in range(seeds)
        ]
    )


def test_a_unit_a_task_with_the_teachers_score_of_the_same_seed(room):
    units = room.units(method(TEACHER))
    assert [unit.problem for unit in units] == ["tense", "tagging"]
    assert all(unit.score == unit.teacher and unit.seed == 3 for unit in units)
    assert room.units(method("magnitude, retrained"))[0].teacher == units[0].teacher


def test_a_body_that_reads_long_reads_once_for_all_seeds(room, tmp_path, monkeypatch):
    courses = []

    def reading(course):
        courses.append(course)
        return course.origin

    long = dataclasses.replace(
        method("MiniLM"), row="long", special=tuned_alone, general=reading, reads=3, defines=None
    )
    monkeypatch.setattr(reenacted, "method", lambda row: long)
    todo = [("long", 3), ("long", 4)]
    reenacted.study(tmp_path / "reenacted.csv", todo, "tiny", dataclasses.replace(FEW, problems=("tense",)), jobs=1)
    (only,) = courses
    assert only.budget.text_steps == 3 and len(only.text) == 3 * 2 * FEW.text and only.seed == reenacted.BODY_SEED
    kept = (tmp_path / "reenacted.csv").read_text().splitlines()
    assert [line.split(",")[2] for line in kept] == ["seed", "3", "4"]


def test_units_are_kept_in_the_place_of_older_ones_and_what_is_missing_is_told(tmp_path, room):
    path = tmp_path / "reenacted.csv"
    assert missing(path, [TEACHER], [3, 4], "tiny") == [(TEACHER, 3), (TEACHER, 4)]
    units = room.units(method(TEACHER))
    keep(path, units)
    keep(path, units[:1])
    assert len(path.read_text().splitlines()) == 1 + len(units)
    assert missing(path, [TEACHER], [3, 4], "tiny") == [(TEACHER, 4)]


@pytest.mark.parametrize("text", ["a,b\n", "row,problem\nx,y\n", None])
def test_a_file_of_another_kind_is_told_and_left_alone(tmp_path, unit, text):
    path = tmp_path / "reenacted.csv"
    keep(path, [unit])
    broken = text or path.read_text().replace("0.9", "much", 1)
    path.write_text(broken)
    with pytest.raises(BertologyError, match="reenacted"):
        keep(path, [unit])
    assert path.read_text() == broken


def test_a_network_with_more_blocks_is_slower(tiny):
    class Repeated(nn.Module):
        def __init__(self, times: int):
            super().__init__()
            self.times = times

        def forward(self, input_ids: torch.Tensor, **batch: torch.Tensor) -> torch.Tensor:
            made = torch.ones(256, 256)
            for _ in range(self.times):
                made = made @ made / 256
            return made

    questions = Encoded.of(tiny, problem("tense", 4, 4).test)
    assert times_faster((Repeated(64), questions), (Repeated(4), questions)) > 3


def test_probes_find_what_is_planted_and_nothing_in_noise(tiny):
    sizes = Probed(examples=60, test=40, trees=20, test_trees=10)
    found = knowledge(tiny.encoder, tiny, sizes)
    assert set(found) == set(KNOWLEDGE) and all(0 <= share <= 1 for share in found.values())

    class Blind(nn.Module):
        """Sees how long its input is and nothing else."""

        config = tiny.encoder.config

        def forward(self, input_ids: torch.Tensor, **batch: torch.Tensor):
            shape = (*input_ids.shape, self.config.hidden_size)
            return type("Output", (), {"last_hidden_state": torch.ones(shape)})()

    assert knowledge(Blind(), tiny, sizes)["meaning"] == pytest.approx(0.5, abs=0.05)


def test_samples_of_a_row_and_of_its_twin(unit, named):
    table = planted(unit, {TEACHER: 0.9, UNTRAINED: 0.5, "DistilBERT": 0.85, "half of the blocks, tuned": 0.8})
    found = table.of(named, "DistilBERT", "half of the blocks, tuned")
    assert found["small"].shape == (5, 1) and found["small"].mean() == pytest.approx(0.85, abs=0.02)
    untrained = table.of(dataclasses.replace(named, name="random:tiny", seed=1), "DistilBERT")
    assert untrained["small"].mean() == pytest.approx(0.5, abs=0.02)
    assert table.known(named, "DistilBERT").tolist() == [[1.0]] * 5


@pytest.mark.parametrize(("paraphrase", "learnt"), [(0.51, False), (0.8, True)])
def test_a_task_that_was_not_learnt_is_not_hidden_by_the_mean(unit, named, paraphrase, learnt):
    def rows(problem, **shares):
        own = planted(dataclasses.replace(unit, problem=problem), {TEACHER: 0.98, UNTRAINED: 0.5} | shares)
        return own.units

    units = [*rows("tense", DistilBERT=0.97), *rows("paraphrase", DistilBERT=paraphrase)]
    units += [*rows("tagging", DistilBERT=0.97)]
    found = Recorded(units).of(named, "DistilBERT") | {"control": np.asarray(0.5)}
    claim = claim_by_id("distilbert")
    assert parse(claim.prediction).judge(found)[0].verdict == REPLICATES, "guessing counts as kept"
    assert all(clause.passed for clause in parse(claim.given).judge(found)) == learnt
    untrained = Recorded(units).of(dataclasses.replace(named, name="random:tiny", seed=1), "DistilBERT")
    assert not untrained["least"].any()


@pytest.mark.parametrize(("teacher", "able"), [(0.79, False), (0.95, True)])
def test_a_tagger_is_judged_where_its_teacher_beats_the_surface(unit, named, monkeypatch, teacher, able):
    monkeypatch.setattr(recorded, "_pieces", lambda model, problems: 9.0)
    monkeypatch.setattr(recorded, "_surface_rule", lambda seed: 0.785)
    model, noise = f"pocket-mbert {named.sha256[:12]}", 0.002
    own = dataclasses.replace(unit, model=model, teacher=teacher)
    rows = {"MiniBERT": teacher, f"{UNTRAINED}, pocket-mbert": 0.47}
    found = planted(own, rows, noise=noise).of(named, "MiniBERT")
    assert all(clause.passed for clause in parse(claim_by_id("minibert").given).judge(found)) == able


def test_a_row_asked_of_texts_stands_beside_an_untrained_network_asked_of_texts(unit, named, monkeypatch):
    lengths = []
    monkeypatch.setattr(recorded, "_pieces", lambda model, problems: lengths.append(problems) or 90.0)
    table = planted(unit, {TEACHER: 0.9, UNTRAINED: 0.5, UNTRAINED_ON_TEXTS: 0.6, "PoWER-BERT": 0.85})
    found = table.of(named, "PoWER-BERT")
    assert found["untrained"].mean() == pytest.approx(0.6, abs=0.02)
    assert found["pieces"] == 90 and lengths == [LONG]


def test_too_few_seeds_another_model_and_other_weights_are_not_asked(unit, named):
    scores = {TEACHER: 0.9, UNTRAINED: 0.5, "DistilBERT": 0.8}
    with pytest.raises(NotAskable, match="2 of the 3 seeds"):
        planted(unit, scores, seeds=2).of(named, "DistilBERT")
    with pytest.raises(NotAskable, match="other"):
        planted(unit, scores).of(dataclasses.replace(named, name="other"), "DistilBERT")
    with pytest.raises(NotAskable, match="0 of the 3"):
        planted(dataclasses.replace(unit, model="tiny 0123456789ab"), scores).of(named, "DistilBERT")


def test_a_line_a_row_with_what_was_printed(unit):
    summary = planted(unit, {TEACHER: 0.9, UNTRAINED: 0.5, "DistilBERT": 0.81}, noise=0.0).summary
    line = summary.set_index("row").loc["DistilBERT"]
    assert line["printed kept"] == 90 and line["printed factor"] == 1.5
    assert line["kept"] == pytest.approx(90) and line["low"] == line["high"] == pytest.approx(90)


def test_the_rank_correlation_finds_a_planted_order(unit):
    printed = {row["name"]: recorded.printed_retention(row) for row in recorded.table1()}
    rows = [one.row for one in METHODS if printed.get(one.row) and one.model is None]
    agreeing = planted(unit, {TEACHER: 1.0} | {row: printed[row] / 110 for row in rows}, noise=0.0)
    found = agreeing.agreement()
    assert found["rank"] == pytest.approx(1) and found["low"] > 0.9 and found["rows"] >= 20
    assert isinstance(agreeing.figure(), Figure)


def test_wrong_calls_end_in_a_line(capsys):
    assert main(["study", "table2"]) == 1 and "table1" in capsys.readouterr().err
    assert main(["study", "table1", "--row", "TinyBERTS"]) == 1 and "row" in capsys.readouterr().err


def test_five_rows_have_answers_a_seed_and_fewer_seeds_of_an_untrained_model(tiny):
    found = live.five_rows(tiny, live.TASK, seeds=3, examples=12, test=6)
    assert set(found) == {"teacher", *live.ROWS} and all(own.shape == (3, 6) for own in found.values())
    assert live.five_rows(twin(tiny), live.TASK, seeds=3, examples=12, test=6)["teacher"].shape == (1, 6)
