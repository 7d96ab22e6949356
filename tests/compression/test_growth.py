"""Growth: members read the same items, gains follow their definitions, a planted outlier is seen to emerge."""

import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bertology_utils.absent import Absent
from bertology_utils.compression import growth
from bertology_utils.compression.scorecard import count, prune_everywhere
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.cloze import word_log_probability
from bertology_utils.language.short_pairs import FRAMES
from bertology_utils.models import add_checkpoint, load
from bertology_utils.tuning.mlm_training import mlm_losses
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import judge, parse

SENTENCES = [("the", "dog", "sleeps", "."), ("the", "cat", "saw", "the", "dog", ".")]


def test_members_are_measured_on_the_same_items_as_each_alone(tiny, tiny_folder):
    constructions = growth.constructions(3)
    twin = f"random:{tiny_folder}"
    found = growth.measure([str(tiny_folder), twin], SENTENCES, constructions)
    assert np.array_equal(found.losses, np.stack([mlm_losses(load(n), SENTENCES) for n in (str(tiny_folder), twin)]))
    assert set(found.judged) == set(constructions) and found.pairs.shape[0] == 2
    assert all(len(pairs) == 3 for pairs in constructions.values())


def made(losses, **judged) -> growth.Growth:
    names = tuple("abc"[: len(losses)])
    return growth.Growth(names, np.array(losses, dtype=float), {k: np.array(v) for k, v in judged.items()})


def test_the_least_gain_is_of_the_step_that_saves_least():
    found = made([[5, 5], [4, 3], [4, 2.5]], one=[[0], [0], [1]])
    assert found.least_gain().tolist() == [0, 0.5]


def test_a_construction_counts_by_its_pairs_of_models():
    rising, falling, even = [[0, 0], [0, 1], [1, 1]], [[1, 1], [0, 1], [0, 0]], [[1, 0], [0, 1], [1, 0]]
    found = made([[1], [1], [1]], rising=rising, falling=falling, even=even)
    assert found.larger_better() == {"rising": 1, "falling": 0}, "what tells no model apart says nothing"
    late = made([[1], [1], [1]], late=[[0, 0], [1, 1], [1, 1]])
    assert late.larger_better() == {"late": 1}, "models at the ceiling are no exception"
    assert isinstance(made([[1], [1], [1]], even=even).larger_better_samples(), Absent)


def test_known_constructions_are_above_chance_with_their_interval():
    found = made([[1]], sure=[[1] * 20], guess=[[1] * 11 + [0] * 9])
    assert found.known() == ["sure"]


def test_the_two_largest_are_the_last_two_and_their_units_are_word_forms():
    found = growth.Growth(
        ("a", "b", "c"),
        np.zeros((3, 1)),
        {"agreement": np.array([[0, 0], [0, 1], [1, 1]])},
        {"agreement": ("is", "was")},
        {"agreement": np.array([[0, 0], [0, 0], [0, 1]])},
    )
    pair = found.two_largest()
    assert pair["smaller"].mean() == 0.5 and pair["larger"].mean() == 1 and len(pair["larger"]) == 2
    assert pair["alone"].mean() == 0.5
    assert found.knowledge == "a above chance in 0; b above chance in 0; c above chance in 0"


def subjects(monkeypatch, rates):
    """What `subjects_found` gives where models find the subject at these rates, by layer."""

    def scores(model, train, test, seed, seeds):
        generator = np.random.default_rng(sum(map(ord, model)))
        return np.stack([generator.random((seeds, test)) < rate for rate in rates[model]]).astype(float)

    monkeypatch.setattr(growth, "load", lambda name: name)
    monkeypatch.setattr(growth, "subject_scores", scores)
    roles = {"smaller": "small", "larger": "large"}
    return growth.subjects_found(roles, 60, 600, seeds=4)


@pytest.mark.parametrize(
    ("small", "large", "verdict"),
    [(0.7, 0.5, "replicates"), (0.6, 0.6, None), (0.5, 0.7, "contradicts"), (0.25, 0.25, "cannot do the task")],
)
def test_the_smaller_model_is_better_where_it_was_planted(monkeypatch, small, large, verdict):
    found = subjects(monkeypatch, {"small": [0.2, small, 0.2], "large": [0.2, 0.2, large]})
    assert found["smaller"].mean() == pytest.approx(small, abs=0.03)  # at its best layer
    assert 0.2 < found["any_noun"].mean() < 0.3 and found["larger"].shape == (4, len(found["any_noun"]))
    claim = claim_by_id("large-worse-subject")
    judged = judge(claim.parsed_prediction, parse(claim.given), found).verdict
    assert judged == verdict if verdict else judged != "replicates"


def test_subjects_are_asked_of_both_models(tiny_folder):
    names = {"smaller": str(tiny_folder), "larger": f"random:{tiny_folder}"}
    found = growth.subjects_found(names, 12, 8, seeds=2, steps=2)
    assert found["smaller"].shape == found["larger"].shape == (2, len(found["any_noun"]))


def test_models_of_equal_count_are_the_dense_one_and_the_pruned_one(tiny_folder):
    found = growth.equal_count(str(tiny_folder), str(tiny_folder), SENTENCES, f"random:{tiny_folder}")
    assert np.array_equal(found["dense_small"], found["pruned_large"])  # a factor of one prunes nothing
    model = load(str(tiny_folder)).model
    zeros = sum(int((p == 0).sum()) for p in prune_everywhere(model, 2).parameters() if p.dim() == 2)
    assert abs(zeros / count(model) - 0.5) < 0.01


@pytest.fixture
def emerging(tiny_folder, tmp_path):
    """A finished model in whose two layers dimension 5 stands out, and steps at which it did in none, one, two."""
    folder = tmp_path / "emerging"
    shutil.copytree(tiny_folder, folder)
    whole = load_file(folder / "model.safetensors")
    keys = [f"bert.encoder.layer.{layer}.output.LayerNorm.weight" for layer in range(2)]

    def planted(layers: int) -> dict:
        weights = {key: value.clone() for key, value in whole.items()}
        for key in keys[:layers]:
            weights[key][5] = 9.0
        return weights

    for step, layers in ((0, 0), (10, 1), (60, 2)):
        save_file(planted(layers), tmp_path / "part.safetensors")
        add_checkpoint(folder, step, tmp_path / "part.safetensors")
    save_file(planted(2), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "checksums.json").unlink()
    return {step: f"{folder}@{step}" for step in (0, 10, 60)} | {100: str(folder)}


def test_a_planted_dimension_is_seen_to_emerge(emerging):
    rise = growth.emergence(emerging)
    assert rise.dimensions == (5,)
    assert rise.places.tolist() == [[False, False], [True, False], [True, True], [True, True]]
    assert rise.steps[rise.early] == 10 and rise.counts.tolist() == [0, 1, 1, 1]
    assert rise.strongest[0] == 0 < rise.strongest[1] < rise.strongest[2] == rise.strongest[3]


def test_a_model_without_outliers_has_no_places_and_late_checkpoints_are_refused(tiny_folder):
    rise = growth.emergence({100: str(tiny_folder)})
    assert rise.dimensions == () and rise.places.shape == (1, 0)
    with pytest.raises(BertologyError, match="first fifth"):
        _ = rise.early


def test_pairs_come_from_the_test_split():
    torch.manual_seed(0)
    first, again = growth.constructions(2), growth.constructions(2)
    assert first == again and len(first) == 9


def test_a_battery_has_constructions_that_differ():
    kinds = growth.battery(2)
    sentences = [tuple(pair.good for pair in pairs) for pairs in kinds.values()]
    assert len(kinds) == len(set(sentences)) == 22 + len(FRAMES) and {len(pairs) for pairs in sentences} == {2, 20}
    assert sorted({growth.phenomenon(kind) for kind in kinds}) == sorted([
        "agreement", "agreement, nonsense", "agreement, other number", "agreement, same number", "determiner",
        *(f"polarity item, {condition}" for condition in ("licensor", "npi", "scope")),
        "reflexive, gender", "reflexive, number", *FRAMES,
    ])  # fmt: skip


def test_constructions_of_one_phenomenon_are_one_unit():
    rising, falling = [[0, 0], [1, 1]], [[1, 1], [0, 0]]
    names = (
        "agreement, pp, 1 of the other number",
        "agreement, relative, 2 of the other number",
        "reflexive, gender, 0",
    )
    found = made([[1], [1]], **dict(zip(names, (rising, rising, falling), strict=True)))
    samples = found.larger_better_samples()
    assert samples.shape == (2,) and samples.mean() == pytest.approx(2 / 3)


def test_what_the_more_usual_word_would_get_stands_beside_what_sentences_tell(tiny_folder):
    asked = {"agreement": growth.constructions(3)["agreement"]}
    found = growth.measure([str(tiny_folder)] * 2, SENTENCES, asked)
    specimen = load(str(tiny_folder))
    for pair, right in zip(asked["agreement"], found.alone["agreement"][0], strict=True):
        good, bad = (masked_log_probability(specimen, side[pair.focus]) for side in (pair.good, pair.bad))
        assert right == (good > bad)
    assert found.guesses == found.alone["agreement"][-1].mean() == found.two_largest()["alone"].mean()


def masked_log_probability(specimen, word):
    return float(word_log_probability(specimen, [("x", ".")], [0], [[word]]).log_probabilities[0, 0])
