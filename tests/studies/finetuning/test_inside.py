"""Adapters taken out and layers read: planted effects are found, and what did nothing costs nothing."""

import copy

import numpy as np
import pytest
import torch

from bertology_utils.absent import Absent, asked
from bertology_utils.errors import NotAskable
from bertology_utils.studies.finetuning import inside, study_file
from bertology_utils.studies.finetuning.recorded_inside import Inside
from bertology_utils.studies.finetuning.study_file import LAYERS_READ, PRETRAINED, SIZED_ADAPTERS, Unit
from bertology_utils.tuning.regimens import add_adapters, without_adapters
from bertology_utils.tuning.training import Classifier, Examples, encoder_features

TEST = Examples([["the", "cat"], ["a", "dog", "ran"]], [0, 1])


def adapted(specimen, block: int) -> Classifier:
    """A classifier whose adapters say something in one block (1..L) alone."""
    torch.manual_seed(0)
    classifier = Classifier(copy.deepcopy(specimen.encoder), 2)
    for place, adapter in enumerate(add_adapters(classifier.encoder, 4)):
        torch.nn.init.normal_(adapter.up.weight, std=float(place // 2 == block - 1))
    return classifier.eval()


def test_an_adapter_that_is_taken_out_says_nothing_and_comes_back(tiny) -> None:
    classifier, bare = adapted(tiny, 2), Classifier(tiny.encoder, 2).eval()
    whole, plain = (encoder_features(own, tiny, TEST) for own in (classifier, bare))
    assert not torch.allclose(whole, plain, atol=1e-3)
    for blocks, wanted in (([2], plain), ([1], whole), ([], whole)):
        with without_adapters(classifier.encoder, blocks):
            assert torch.allclose(encoder_features(classifier, tiny, TEST), wanted, atol=1e-5), blocks
    assert torch.equal(encoder_features(classifier, tiny, TEST), whole)


def test_removal_costs_where_the_planted_adapter_is(tiny, monkeypatch) -> None:
    monkeypatch.setattr(inside, "predict", lambda classifier, *_: encoder_features(classifier, tiny, TEST).numpy())
    monkeypatch.setattr(inside, "task_score", lambda predicted, _: float(predicted[0, 0]))
    below = inside.removal(adapted(tiny, 2), tiny, TEST, [1, 2])
    above = inside.removal(adapted(tiny, 2), tiny, TEST, [2, 1])
    assert below[0] == pytest.approx(below[1], abs=1e-4) and below[1] != pytest.approx(below[2], abs=1e-4)
    assert above[0] != pytest.approx(above[1], abs=1e-4) and above[1] == pytest.approx(above[2], abs=1e-4)


def test_every_size_is_trained_and_one_taken_out(tiny) -> None:
    train = Examples([["the", "cat"], ["a", "dog"]] * 2, [0, 1] * 2)
    found = {arm: (scores, values) for arm, scores, values in inside.adapter_sizes(tiny, train, TEST, 0, 1)}
    assert list(found) == ["size 1", "size 4", "size 16", inside.BELOW, inside.BLINDLY, "size 64", inside.FULL]
    shares = [found[f"size {size}"][1][0] for size in inside.SIZES] + [found[inside.FULL][1][0]]
    assert shares == sorted(shares) and shares[-1] == 1
    below, blindly = found[inside.BELOW][1], found[inside.BLINDLY][1]
    assert len(below) == tiny.layers + 1 and (below[0], below[-1]) == (blindly[0], blindly[-1])


# ---------------------------------------------------------------- layers


def test_a_probe_reads_what_a_layer_holds_and_no_other() -> None:
    rng = np.random.default_rng(0)
    labels = [[*rng.choice(["NOUN", "VERB"], 200), None] for _ in range(2)]
    labels[1][0] = "never seen"
    parts = []
    for own in labels:
        held = torch.tensor([[float(label == "NOUN")] for label in own])
        noise = torch.from_numpy(rng.normal(size=(2, len(own), 6))).float()
        noise[1, :, :1] += 10 * held
        parts.append(noise)
    blind, reading = inside.readable(parts, labels)
    assert reading > 0.95 and abs(blind - 0.5) < 0.12


def test_layers_are_read_before_and_after(tiny) -> None:
    train = Examples([["the", "cat"], ["a", "dog"]] * 2, [0, 1] * 2)
    texts = tuple(study_file.generate(12, seed=seed, split="test", kind="simple") for seed in (0, 1))
    found = {arm: values for arm, _, values in inside.layers_read(tiny, train, texts, 0, 1)}
    assert len(found) == 4 + 3 * len(inside.READ) and {len(own) for own in found.values()} == {tiny.layers + 1}
    assert found["CKA tuned"].min() > found["CKA permuted"].max() and found["CKA tuned"].max() <= 1 + 1e-9


def units(model: str, row: str, arms: dict[str, list[float]], seeds: int = 4) -> list[Unit]:
    return [
        Unit(model, row, seed, PRETRAINED, arm, values[0], 10, " ".join(map(str, values)), 0.0, "", "")
        for arm, values in arms.items()
        for seed in range(seeds)
    ]


def test_what_the_file_says_is_what_was_planted(tiny) -> None:
    held = {f"{kind} {when}": [0.9, 0.8] for kind in inside.READ for when in ("before", "tuned", "wrong labels")}
    lines = units("m 1", LAYERS_READ, held | {"noun tuned": [0.9, 0.3]})
    lines += units("m 1", SIZED_ADAPTERS, {f"size {size}": [0.1 * place] for place, size in enumerate(inside.SIZES, 1)})
    lines += units("m 1", SIZED_ADAPTERS, {inside.FULL: [0.9]})
    read = Inside(lines, "m 1")
    told = read.told_read()
    assert [told[name].value for name in ("noun", "noun_misled", "tag")] == pytest.approx([-50, 0, 0])
    assert read.read_by_layer("noun")["noun, after"].shape == (2, 4)
    assert list(read.sizes())[::2] == ["size 1 (10.0 %)", "size 16 (30.0 %)", "full (90.0 %)"]
    with pytest.raises(NotAskable):
        read.told_removed()
    lines += units("m 1", SIZED_ADAPTERS, {inside.BELOW: [1.0, 1.0, 0.6], inside.BLINDLY: [1.0, 0.8, 0.6]})
    costs = {name: cost.value for name, cost in Inside(lines, "m 1").told_removed().items()}
    assert costs == pytest.approx({"lower_half": 0, "any_half": 20, "all": 40})
    assert isinstance(asked(Inside(lines, "another 2").alike)(), Absent)
