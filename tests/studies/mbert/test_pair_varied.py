"""One change at a time: positions that are not shared, sizes that are what they are called, losses that are found."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertology_utils.activations import sentence_vectors
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.mbert import pair_varied, shared_words
from bertology_utils.studies.mbert.pair_varied import BASE, CHANGES, MEASURES, OWN_POSITIONS, TWIN
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.tuning.mlm_training import endless_batches

SEEDS = (7, 8)


@pytest.fixture
def model(small):
    return shared_words.Seed(7).untrained(shared_words.RECIPE)


def test_every_arm_has_a_sample_a_measure_and_a_control_of_its_shape(small, monkeypatch):
    monkeypatch.setattr(pair_varied, "CHANGES", {OWN_POSITIONS: {}})
    found = pair_varied.pair_varied(SEEDS)
    names = {f"{kind}_{name}" for kind in (*MEASURES, "loss") for name in (BASE, OWN_POSITIONS)} | {"majority"}
    assert found.networks == 2
    for side in (found.model, found.twin):
        assert {name: sample.shape for name, sample in side.items()} == dict.fromkeys(names, (2, 1))
    assert np.array_equal(found.model["majority"], found.twin["majority"])
    assert (found.model["loss_base"] < found.twin["loss_base"]).all()


def test_each_change_is_of_one_thing(model):
    """Four narrow layers have the parameters of the base; heads change none."""

    def parameters(**change) -> int:
        fresh = shared_words.Seed(7).untrained(replace(shared_words.RECIPE, **change))
        return sum(p.numel() for p in fresh.model.parameters())

    sizes = {name: parameters(**change) / parameters() for name, change in CHANGES.items()}
    assert abs(sizes["four_narrow_layers"] - 1) < 0.05
    assert sizes["one_head"] == sizes["four_heads"] == sizes[OWN_POSITIONS] == 1
    assert sizes["one_layer"] < 0.75 and sizes["four_layers"] > 1.5
    assert sizes["half_width"] < 0.5 and sizes["double_width"] > 3


def test_the_languages_have_no_position_in_common(model):
    own = shared_words.Seed(7)
    encodings, half = encode_words(model, own.text(TWIN)), model.max_pieces // 2
    english = set(model.tokenizer.convert_tokens_to_ids(sorted({w for words in own.english for w in words})))
    feeds = [feed(model, encodings, 0, 200) for feed in (pair_varied.with_own_positions, endless_batches)]
    used = {True: set(), False: set()}
    for _ in range(8):
        apart, shared = (next(feed) for feed in feeds)
        assert all(torch.equal(apart[key], shared[key]) for key in shared)  # but for the positions
        originals = torch.where(apart["labels"] >= 0, apart["labels"], apart["input_ids"])
        for ids, positions, real in zip(originals, apart["position_ids"], apart["attention_mask"].bool(), strict=True):
            used[bool(english & set(ids[real].tolist()))] |= set(positions[real].tolist())
    assert used[True] and max(used[True]) < half
    assert used[False] == {place + half for place in used[True]}


def test_the_second_half_of_the_positions_is_trained_by_the_twin_alone(small):
    own = shared_words.Seed(7)
    for feed, moved in ((pair_varied.with_own_positions, [True, True]), (endless_batches, [True, False])):
        fresh, trained = (own.untrained(shared_words.RECIPE) for _ in range(2))
        tiny.train_each([trained], [own.text(TWIN)], replace(shared_words.RECIPE, learning_rate=0.1), [7], feed)
        tables = [m.encoder.embeddings.position_embeddings.weight for m in (fresh, trained)]
        halves = (tables[1] - tables[0]).abs().split(fresh.max_pieces // 2)
        assert [bool((part[:3] > 0.05).any()) for part in halves] == moved


def test_a_reader_puts_sentences_where_the_twin_was(model):
    words = TWIN.translate(shared_words.Seed(7).english[0])
    reader, half = pair_varied.of_the_twin(model), model.max_pieces // 2
    batch = model_inputs(model, encode_words(model, [words]))
    positions = torch.arange(batch["input_ids"].shape[1])[None] + half
    with torch.inference_mode():
        shifted = model.encoder(**batch, position_ids=positions).last_hidden_state[:, 1:-1].mean(1)
    assert torch.allclose(sentence_vectors(reader, [words])[-1], shifted, atol=1e-5)
    assert not torch.allclose(sentence_vectors(model, [words])[-1], shifted, atol=1e-3)


def planted(seeds: int = 8, noise: float = 0.02, **points: float) -> Runs:
    """Recorded values in which each seed has a level of its own, and some changes are so many points ahead."""
    rng = np.random.default_rng(seeds)
    level = rng.normal(0.6, 0.1, seeds)

    def sample(name: str) -> np.ndarray:
        return per_seed(level + points.get(name, 0) / 100 + rng.normal(0, noise, seeds))

    side = {f"{kind}_{name}": sample(name) for kind in (*MEASURES, "loss") for name in (BASE, *CHANGES)}
    side["majority"] = per_seed(level / 3)
    return Runs(side, side, networks=seeds)


def clear(found: Runs, kind: str) -> set[str]:
    return {name for name, row in pair_varied.differences(found, kind).items() if row.low > 0 or row.high < 0}


def test_a_loss_and_a_gain_are_found_in_spite_of_what_seeds_differ_by():
    found = planted(own_positions=-20, four_layers=15)
    for kind in MEASURES:
        rows = pair_varied.differences(found, kind)
        assert clear(found, kind) == {"own positions", "four layers"}
        assert rows["own positions"].high < 0 < rows["four layers"].low
    told = pair_varied.told(found)
    assert told.count("Fewer with own positions (-2") == told.count("More with four layers (+1") == 2
    assert "16 comparisons" in told and "Not told apart from the base: one layer, four narrow layers" in told


def test_of_many_tables_without_a_difference_few_have_one_told():
    tables = [planted(seeds) for seeds in range(6, 26)]
    assert sum(any(clear(found, kind) for kind in MEASURES) for found in tables) <= 2
    told = pair_varied.told(planted(9))
    assert told.count("Not told apart from the base: one layer") == 2 and "Fewer" not in told and "More" not in told
