"""Tasks of ERNIE 2.0: classes that no word tells alone, controls that tell nothing, probes that find what is taught."""

import numpy as np
import pytest
import torch
from ledger_toys import planted_verdict

from bertology_utils.studies.training import document_tasks as tasks
from bertology_utils.studies.training.tales import World, world
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.judging import needed

CLAIMS = {"token-tasks": "ernie2-token-tasks", "distance-and-order": "ernie2-segment-tasks"}
BASE = {
    "ernie2-token-tasks": {"untrained": 4.0, "recurs_taught": 0.9, "capital_taught": 0.9},
    "ernie2-segment-tasks": {"untrained": 4.0, "distance_taught": 0.9, "order_taught": 0.9},
}


@pytest.fixture(scope="module")
def own() -> World:
    return world(np.random.default_rng(0))


def test_no_word_tells_what_recurs_and_the_verb_does(own) -> None:
    text = tasks.segments(own, 3000, np.random.default_rng(0))
    told = [(words[piece - 1], label) for words, piece, label in tasks.items(text, "recurs")]
    for noun in own.nouns.ravel():
        assert np.mean([label for word, label in told if word == noun]) == pytest.approx(0.5, abs=0.15)
    for words, of in text:
        first, last = sorted(of["recurs"])
        act = int(np.argwhere(own.verbs == words[first])[0, 0])
        assert last == first + 2 and of["recurs"][first] == act % 2 != of["recurs"][last]
        assert of["capital"][first] == max(act // 2, first == 1) and of["capital"][last] == 1 - act // 2


def test_nouns_that_are_asked_in_the_end_were_never_asked_before() -> None:
    lesson = tasks._of_tokens(np.random.default_rng(1))
    for task, parts in lesson.asked.items():
        known, new = ({words[piece - 1] for words, piece, _ in part} for part in parts)
        taught = {words[piece - 1] for words, piece, _ in tasks.items(lesson.arms["taught"], task)}
        assert known <= taught and not new & taught
    assert not {one.words for one in lesson.arms["masks"]} & {words for words, _, _ in lesson.asked["recurs"][1]}


def test_arms_read_alike_and_shuffled_classes_are_the_same_in_number() -> None:
    for lesson in (tasks._of_tokens(np.random.default_rng(1)), tasks._of_segments(np.random.default_rng(1))):
        texts = {arm: [one.words for one in text] for arm, text in lesson.arms.items()}
        in_order = texts.pop("in_order", texts["masks"])  # neighbours only, but as many
        assert all(text == texts["masks"] for text in texts.values()) and len(in_order) == len(texts["masks"])
        for task in lesson.asked:
            taught, mixed = (tasks.items(lesson.arms[arm], task) for arm in ("taught", "shuffled"))
            assert [item[:2] for item in taught] == [item[:2] for item in mixed]
            labels, dealt = (np.array([item[-1] for item in part]) for part in (taught, mixed))
            assert np.array_equal(np.sort(labels), np.sort(dealt))
            assert np.mean(labels == dealt) == pytest.approx(
                np.sum(np.bincount(labels) ** 2) / len(labels) ** 2, abs=0.06
            )
            assert not tasks.items(lesson.arms["masks"], task)


def test_next_or_random_is_asked_of_no_other_pair() -> None:
    lesson = tasks._of_segments(np.random.default_rng(1))
    assert {label for *_, label in tasks.items(lesson.arms["next"], "distance")} == {0, 2}
    assert not tasks.items(lesson.arms["next"], "order")


def test_a_probe_finds_what_is_planted_and_nothing_else(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    parts = tasks._of_tokens(rng).asked["recurs"]

    def vectors(planted, items):
        noise = torch.as_tensor(rng.normal(size=(len(items), 8)), dtype=torch.float32)
        return noise + 8 * planted * torch.tensor([label for *_, label in items])[:, None]

    monkeypatch.setattr(tasks, "_vectors", vectors)
    found, nothing = tasks.read_off([True, False], parts, 0)
    assert found > 0.95 and 0.4 < nothing < 0.6


def test_losses_are_means_over_what_each_model_is_asked() -> None:
    scores, ignored = torch.randn(3, 4, 2), tasks.IGNORED
    classes = [torch.tensor(own) for own in ([1, ignored, 0, ignored], [ignored, 1, ignored], [ignored] * 4)]
    found = tasks.task_losses(scores, classes)
    odds = -scores.log_softmax(-1)
    assert torch.allclose(found, torch.stack([(odds[0, 0, 1] + odds[0, 2, 0]) / 2, odds[1, 1, 1], torch.tensor(0.0)]))


def test_each_arm_is_fed_the_classes_of_its_own_tasks() -> None:
    lesson = tasks._of_segments(np.random.default_rng(1))
    batches = next(tasks._feed(tasks.tiny_specimen(lesson.words, tasks.RECIPE, 0), lesson, 0, ["distance", "order"]))
    asked = [(classes != tasks.IGNORED).flatten(1).any(1).tolist() for _, classes in batches]
    assert asked == [[False, False], [False, False], [True, False], [True, True], [True, True]]
    for batch, classes in batches:
        assert classes.shape == (2, int(batch["attention_mask"].sum())) and len(batch["input_ids"]) == tasks.BATCH


@pytest.mark.parametrize("row", CLAIMS)
def test_every_claim_finds_its_samples(row, monkeypatch) -> None:
    sizes = {"STEPS": {"tokens": 2, "segments": 2}, "READ": 60, "ASKED": 40, "PROBED": 60}
    for name, value in sizes.items():
        monkeypatch.setattr(tasks, name, value)
    runs = tasks.EXPERIMENTS[row]([1])
    assert set(runs.model) == set(runs.twin)
    for side in (runs.model, runs.twin):
        assert {sample.shape for sample in needed(claim_by_id(CLAIMS[row]), side).values()} == {(1, 1)}


@pytest.mark.parametrize("claim", BASE)
def test_planted_tasks(claim) -> None:
    effect = {"loss_masks": 2.0, "loss_taught": 2.0}
    planted = (effect, effect | {"loss_taught": 2.5}, effect | {"loss_masks": 3.9})
    verdicts = [planted_verdict(claim, _means(claim, own), 0.0, noise=0.005) for own in planted]
    assert verdicts == ["replicates", "contradicts", "cannot do the task"]


def _means(claim: str, own: dict[str, float]) -> dict[str, float]:
    tasks_of = ("recurs", "capital") if "token" in claim else ("distance", "order")
    controls = {f"{task}_{arm}": 0.5 for task in tasks_of for arm in ("masks", "in_order", "next", "shuffled")}
    return controls | BASE[claim] | own
