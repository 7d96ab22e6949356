"""Real sets in the recorded study: each seed draws its own, the benchmark's scores, planted leads and none."""

import json

import numpy as np
import pytest

from bertology_utils.absent import Absent, asked
from bertology_utils.data import registry
from bertology_utils.errors import BertologyError
from bertology_utils.studies.finetuning import real_tasks, study_file
from bertology_utils.studies.finetuning.recorded_real import ARMS, SEEDS, Real
from bertology_utils.studies.finetuning.study_file import BAG, MAJORITY, PRETRAINED, RANDOM, Plan, Unit, known_row
from bertology_utils.tuning.training import Examples

PLAN = Plan(test=8, epochs=1, heads=2, real=12)


@pytest.fixture(autouse=True)
def folder(data_folder):
    for part, word in (("train", "dog"), ("dev", "cat")):
        pairs = {
            i: {"text_a": f"A {word} {i // 2} runs .", "text_b": f"It {i} moves .", "label": ("yes", "no")[i % 2]}
            for i in range(40)
        }
        pairs["long"] = {"text_a": "on " * 60, "text_b": "It moves .", "label": "no"}
        for name in ("RTE", "QNLI"):
            data_folder(f"glue/subsets_prompt/glue_pretrain/{name}/{part}.json", json.dumps(pairs))
    for part in ("train", "test"):
        lines = [f"news\tx\t2012\t{i}\t{i % 50 / 10}\tA {part} {i} runs .\tIt {i} runs ." for i in range(60)]
        data_folder(f"glue/STS-B_QQP/STS-B/original/sts-{part}.tsv", "\n".join(lines) + "\n")
    for part in ("train", "dev"):
        lines = [f"book\t{int(i % 3 > 0)}\t*\tThe {part} {i} runs ." for i in range(40)]
        data_folder(f"glue/CoLA/raw/in_domain_{part}.tsv", "\n".join(lines) + "\n")


@pytest.mark.parametrize("name", ["rte", "qnli", "stsb", "cola"])
def test_a_seed_draws_examples_of_its_own_and_tests_on_none_of_them(name) -> None:
    (train, test), again, other = (real_tasks.real_examples(name, 12, 8, seed) for seed in (0, 0, 1))
    assert (train, test) == again and train != other[0] and (len(train), len(test)) == (12, 8)
    assert not set(map(tuple, train.sentences)) & set(map(tuple, test.sentences))
    assert max(map(len, (*train.sentences, *test.sentences))) < 40
    assert train.graded == (name == "stsb") and (train.pairs is None) == (name == "cola")
    labels = {*train.labels, *test.labels}
    assert any(label % 1 for label in labels) if train.graded else labels == {0, 1}


def test_too_few_and_none_are_told(tmp_path, monkeypatch) -> None:
    with pytest.raises(BertologyError, match="'cola' has 40 \\+ 8 short examples of 41"):
        real_tasks.real_examples("cola", 41, 8)
    monkeypatch.delenv(registry.FOLDER_VARIABLE)
    with pytest.raises(BertologyError, match=f"'rte' is not here. Set {registry.FOLDER_VARIABLE}"):
        real_tasks.real_examples("rte", 12, 8)


def test_cola_has_the_correlation_of_the_benchmark_and_one_answer_has_none() -> None:
    test = Examples([["a"]] * 4, [1, 1, 1, 0])
    predicted = np.eye(2)[[1, 1, 0, 0]]
    assert real_tasks.glue_score("cola", predicted, test) == pytest.approx(2 / 12**0.5)  # (2 1 - 0 1) / root of 2 2 3 1
    assert real_tasks.glue_score("mrpc", predicted, test) == 0.75
    usual = real_tasks.majority(test, test)
    assert [real_tasks.glue_score(name, usual, test) for name in ("cola", "mrpc")] == [0, 0.75]
    grades = Examples([["a"]] * 3, [0.4, 2.6, 4.0], graded=True)
    assert real_tasks.majority(grades, grades).ravel() == pytest.approx([7 / 3] * 3)
    assert real_tasks.glue_score("stsb", np.array([[0.4], [2.6], [4.0]]), grades) == pytest.approx(1)


@pytest.mark.parametrize("name", ["stsb", "cola", "rte"])
def test_a_set_is_a_row_that_is_asked_for_by_name(tiny, name) -> None:
    assert known_row(name) == name and name not in study_file.ROWS
    found = study_file.units(tiny, name, 0, PLAN)
    places = [(PRETRAINED, "tuned"), (RANDOM[0], "tuned"), (PRETRAINED, "frozen"), ("", BAG), ("", MAJORITY)]
    assert [(unit.start, unit.arm) for unit in found] == places and {unit.items for unit in found} == {PLAN.test}
    assert all(-1 <= unit.score <= 1 for unit in found)


def lines(model: str, row: str, tuned: float, random: float, bag: float, seeds: int = SEEDS) -> list[Unit]:
    """Scores of seeds, with noise that is not shared; that of one answer is always 0."""
    rng, score = np.random.default_rng(0), dict(zip(ARMS, (tuned, random, 0.5, bag, 0.0), strict=True))
    found = [(words, seed, score[words]) for words in ARMS for seed in range(seeds)]
    noisy = [(words, seed, mean and mean + rng.normal(0, 0.01)) for words, seed, mean in found]
    return [Unit(model, row, seed, *ARMS[words], own, 320, "", 0.0, "", "") for words, seed, own in noisy]


def test_planted_leads_are_told_and_none_is_not() -> None:
    units = [*lines("m 1", "sst2", 0.8, 0.6, 0.6), *lines("m 1", "cola", 0.6, 0.6, 0.6)]
    units += [*lines("m 1", "rte", 0.7, 0.55, 0.8), *lines("m 1", "mrpc", 0.9, 0.5, 0.5, seeds=SEEDS - 1)]
    read = Real(units, "m 1")
    assert list(read.by_set()) == ["SST-2", "CoLA", "RTE"]
    assert read.by_set()["SST-2"]["one answer"] == 0 and read.by_set()["SST-2"]["bag of words"].shape == (SEEDS, 1)
    told = read.told()
    assert [told[word].split()[0] for word in ("both", "one", "neither")] == ["SST-2", "RTE", "CoLA"]
    assert read.published() == pytest.approx({"SST-2": 0.92, "RTE": 0.646})
    assert isinstance(asked(Real(units, "another 2").told)(), Absent)
