"""A small network like BART: what it reads and writes; a planted dimension is found in the half that has it."""

import numpy as np
import pandas as pd
import pytest
import torch

from bertology_utils.compression.outliers import output_norms
from bertology_utils.studies import small_models
from bertology_utils.studies.overparametrization import text_infilling as infilling

IDS = list(range(infilling.WORDS, infilling.WORDS + 12))


def test_a_seed_gives_every_sample(monkeypatch) -> None:
    for size, value in (("READ", 60), ("NEW", 20), ("STEPS", 2), ("BATCH", 4)):
        monkeypatch.setattr(infilling, size, value)
    found = small_models.EXPERIMENTS["like-bart"]([1])
    assert found.model.keys() == found.twin.keys() and all(sample.shape == (1, 1) for sample in found.model.values())
    for half in infilling.HALVES:
        assert found.twin[f"dimensions_{half}"] == 0, "all scales of an untrained network are equal"
    scan = pd.DataFrame([["m", 8, 4, 1, 0.0]], columns=["model", "layers", "width", "outlier dimensions", "by chance"])
    table = infilling.below(scan, found)
    assert table["model"].tolist() == ["m", "like BART, encoder (1 seeds)", "like BART, decoder (1 seeds)"]
    assert table["layers"].tolist() == [8, infilling.LAYERS, infilling.LAYERS] and not table.isna().any(axis=None)


def test_spans_become_single_masks_and_all_is_written() -> None:
    rng = np.random.default_rng(0)
    drawn = [infilling.blotted(IDS, rng) for _ in range(400)]
    for own in drawn:
        left = [i for i in own if i != infilling.MASK]
        assert infilling.MASK in own and left == [i for i in IDS if i in left], "the others stay in order"
    hidden = 1 - np.mean([sum(i != infilling.MASK for i in own) for own in drawn]) / len(IDS)
    assert infilling.HIDDEN - 0.05 < hidden < infilling.HIDDEN + 0.2
    whole = infilling.batch([IDS, IDS[:5]], rng)["labels"].tolist()
    assert whole[0] == [*IDS, infilling.END] and whole[1][:7] == [*IDS[:5], infilling.END, infilling.PAD]


@pytest.mark.parametrize("half", infilling.HALVES)
def test_a_planted_dimension_is_found_in_its_half_alone(half) -> None:
    model = infilling.untrained(infilling.WORDS + len(IDS), 0)
    with torch.no_grad():
        for norm in output_norms(getattr(model.model, half)):
            norm.weight[5] = 9.0
    found = infilling.measured(model, infilling.batch([IDS] * 3, np.random.default_rng(0)), 0)
    assert {name: found[f"dimensions_{name}"] for name in infilling.HALVES} == {
        name: int(name == half) for name in infilling.HALVES
    }
    assert found[f"off_{half}"] != found["loss"], "the dimension is turned off"
    again = infilling.measured(model, infilling.batch([IDS] * 3, np.random.default_rng(0)), 0)
    assert again == found, "and on again"
