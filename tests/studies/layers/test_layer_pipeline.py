"""The pipeline's samples: planted curves rise where they were told to, and groups of tasks keep those that are read."""

import numpy as np
import pytest

from bertology_utils.data.material import train_and_test
from bertology_utils.runs import Runs
from bertology_utils.studies.layers import chunks, pipeline, scores, spread, tasks
from bertology_utils.studies.layers.sentence_groups import KINDS, SentenceGroups
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import REPLICATES, WEAKER, parse

LAYERS, SEEDS = 6, 2


@pytest.fixture(scope="module")
def word_tasks():
    return tasks.word_tasks(train_and_test(30, 30), (60, 60), (20, 20))


def rising_at(layer, items):
    """Scores (layers + 1, seeds, items): nothing below the layer, everything from it on."""
    found = np.zeros((LAYERS + 1, SEEDS, items))
    found[layer:] = 1
    return found


@pytest.fixture(scope="module")
def mixes(word_tasks):
    places = {"pos": 1, "dep": 2, "ner": 3, "role": 4, "coref": 5}
    even = np.full((SEEDS, LAYERS + 1), 1 / (LAYERS + 1))
    five = pipeline.five_tasks(word_tasks)
    return {name: (rising_at(layer, len(five[name].test.items)), even) for name, layer in places.items()}


def test_word_tasks_are_all_there_with_coreference(word_tasks):
    assert list(word_tasks) == [*tasks.WORD_TASKS, "coreference"]
    assert list(pipeline.five_tasks(word_tasks)) == list(pipeline.PUBLISHED)


def test_the_expected_layer_is_where_the_planted_score_rises(word_tasks, mixes):
    found = pipeline.moments(mixes, pipeline.five_tasks(word_tasks))
    assert found["layers"] == LAYERS
    expected = [found[f"{name}_moment"].mean() / found[f"{name}_gain"].mean() for name in mixes]
    assert expected == pytest.approx([1, 2, 3, 4, 5])
    rows = pipeline.expected_layers(Runs(mixes, mixes), Runs(found, found))
    assert [row["expected layer"] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[0]["published expected layer, base"] == 1.76 and rows[0]["centre of gravity"] == LAYERS / 2


def stacked(mixes, deeper):
    """The mixes as a stack of more layers would give them: each layer's part done in `deeper` of them."""
    return {
        name: (np.concatenate([scores[:1], np.repeat(scores[1:], deeper, axis=0)]), shares)
        for name, (scores, shares) in mixes.items()
    }


def test_a_planted_stretch_is_found_and_its_absence_too(word_tasks, mixes):
    five = pipeline.five_tasks(word_tasks)

    def ratio(deep):
        found = pipeline.stretched(mixes, deep, five)
        places = [found[f"{stack}_moment"].mean() / found[f"{stack}_gain"].mean() for stack in ("shallow", "deep")]
        return places[1] / places[0], found["same_order"].mean()

    twice, order = ratio(stacked(mixes, 2))
    assert twice == pytest.approx(5 / 3) and order == 1  # a step in layer 3 of 6 comes in layer 5 of 12
    idle = {name: (np.concatenate([s, np.repeat(s[-1:], LAYERS, axis=0)]), w) for name, (s, w) in mixes.items()}
    assert ratio(idle) == (pytest.approx(1), 1)


def test_a_task_without_gain_has_no_place(word_tasks, mixes):
    five = pipeline.five_tasks(word_tasks)
    flat = {**mixes, "coref": (np.ones_like(mixes["coref"][0]), mixes["coref"][1])}
    assert list(pipeline.gained([mixes, mixes], five)) == list(five)
    assert list(pipeline.gained([mixes, flat], five)) == [name for name in five if name != "coref"]


def test_the_order_of_tasks_in_two_stacks(word_tasks, mixes):
    turned = {
        name: (rising_at(LAYERS - place, scores.shape[-1]), shares)
        for place, (name, (scores, shares)) in enumerate(mixes.items(), start=1)
    }
    found = pipeline.stretched(mixes, turned, pipeline.five_tasks(word_tasks))
    assert found["same_order"].shape == (SEEDS, 1) and not found["same_order"].any()


def test_the_mean_curve_is_that_of_the_five(mixes):
    found = pipeline.curves(mixes)
    assert found["mean"] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1, 1])
    assert found["pos"].shape == (LAYERS + 1, mixes["pos"][0].shape[-1])


def test_gradualness_is_told_in_parts_of_the_depth(word_tasks, mixes):
    found = pipeline.gradualness(mixes, pipeline.five_tasks(word_tasks))
    assert found["syntactic"].mean() == pytest.approx(1.5 / LAYERS)
    assert found["semantic"].mean() == pytest.approx(4 / LAYERS) and found["gain"].mean() == pytest.approx(1)


def test_what_rises_in_the_upper_half_alone_was_set_right(word_tasks, mixes):
    found = pipeline.set_right(mixes, pipeline.five_tasks(word_tasks))
    assert found["set_right"].mean() == pytest.approx(1) and found["same_depth"].mean() == pytest.approx(0)


def test_shares_are_summed_up_by_side_and_by_third():
    even = np.full((3, LAYERS + 1), 1 / (LAYERS + 1))
    top = np.eye(LAYERS + 1)[[LAYERS] * 3]
    words = {name: even if name in pipeline.SIDES["semantic"] else top for name in pipeline.PUBLISHED}
    found = spread.entropies(words)
    assert found["semantic"].shape == (3, 1)
    assert found["semantic"].mean() == pytest.approx(1) and found["syntactic"].mean() == pytest.approx(0)
    parts = spread.upper_parts(words, {"tense": top})
    assert parts["upper_words"] == pytest.approx([spread.even_part(LAYERS)] * 3)
    assert parts["upper_sentences"].tolist() == [1, 1, 1]


def test_both_measures_of_chunks_are_told_by_band(word_tasks):
    probes = {name: rising_at(3, len(word_tasks[name].test.items)) for name in chunks.PROBED}
    clusters = rising_at(0, 9)
    bands = chunks.in_bands(probes, clusters, word_tasks)
    assert bands["chunk_low"].mean() == pytest.approx(0) and bands["chunk_high"].mean() == pytest.approx(1)
    assert bands["nmi_low"].shape == (SEEDS, 9)
    above = chunks.above_low(probes, clusters, bands)
    assert above["each layer, probe"] == pytest.approx([0, 0, 0, 1, 1, 1, 1])
    assert above["each layer, clusters"] == pytest.approx(np.zeros(LAYERS + 1))


@pytest.fixture(scope="module")
def ten():
    return tasks.sentence_tasks(40, 40)


def test_tasks_that_are_not_read_are_left_out_unless_none_is(ten):
    items = {name: len(task.test.items) for name, task in ten.items()}
    read = {name: rising_at(LAYERS if name == "tense" else 3, n) for name, n in items.items()}
    read["odd word"] = np.zeros_like(read["odd word"])
    groups = SentenceGroups.read_by(read, ten)
    assert "odd word" not in groups.names["semantic"] and "Left out: odd word." in groups.sentence()
    unread = SentenceGroups.read_by({name: np.zeros_like(values) for name, values in read.items()}, ten)
    assert [name for kind in KINDS for name in unread.names[kind]] == list(tasks.GROUPS)
    assert "Left out: none." in unread.sentence()


def test_groups_tell_where_their_tasks_peak(ten):
    items = {name: len(task.test.items) for name, task in ten.items()}
    peaks = {"surface": 1, "syntactic": 3, "semantic": LAYERS}
    found = {}
    for name, kind in tasks.GROUPS.items():
        found[name] = np.zeros((LAYERS + 1, SEEDS, items[name]))
        found[name][peaks[kind]] = 1
    groups = SentenceGroups.read_by(found, ten)
    assert {kind: values.mean() * LAYERS for kind, values in groups.peaks(found).items()} == pytest.approx(peaks)
    assert set(groups.read(found, "semantic")) == {"semantic_read", "semantic_majority"}
    assert len(groups.read(found)) == 6 and set(groups.means(found)) == set(KINDS)
    semantic = groups.semantic_tasks(found)
    assert semantic["best_at_top"] == semantic["tasks"] == 5 and semantic["their_mean"].shape[0] == LAYERS + 1
    assert groups.top_leads(found, {"top": [LAYERS], "middle": [3]}) == [1] * 5
    assert set(groups.guesses()) == {f"majority, {kind}" for kind in KINDS}


@pytest.mark.parametrize(("lead", "expected"), [(0.001, WEAKER), (0.2, REPLICATES)])
def test_flat_curves_have_no_order_of_bands(ten, lead, expected):
    """Groups whose peaks stand in order by a hair, and groups that are read best in their thirds."""
    peaks = {"surface": 1, "syntactic": 3, "semantic": LAYERS}
    rng, scores = np.random.default_rng(0), {}
    for name, kind in tasks.GROUPS.items():
        items = rng.random((1, SEEDS, len(ten[name].test.items)))  # hard or easy at all layers alike
        scores[name] = items.repeat(LAYERS + 1, 0)
        scores[name][peaks[kind]] += lead
    groups = SentenceGroups.read_by(scores, ten)
    samples = groups.peaks(scores) | groups.heights(scores)
    clauses = parse(claim_by_id("surface-syntax-semantics-order").prediction).judge(samples)
    assert [clause.verdict for clause in clauses[:2]] == [REPLICATES] * 2
    assert {clause.verdict for clause in clauses[2:]} == {expected}


def test_a_summary_says_where_tasks_are_read_best_and_what_the_first_block_adds():
    found = {"pos": rising_at(1, 4), "chunk": rising_at(2, 4)}
    assert scores.best_places(found, ("pos", "chunk")) == "pos at layer 1 of 6, chunk at layer 2 of 6"
    assert scores.gains(found, ("pos", "chunk")) == {"first_block": 0.5, "above": 0.5}
    assert scores.over_seeds(found)["pos"].shape == (LAYERS + 1, 4)
    np.testing.assert_array_equal(scores.over_seeds(found["pos"]), found["pos"].mean(1))


def test_agreement_is_told_over_the_nouns_that_items_share():
    nouns = scores.agreement_subjects(40)
    found = scores.over_subjects({"x": rising_at(0, len(nouns))[0]}, 40)["x"]
    assert found.shape == (SEEDS, len(set(nouns))) and found.items == len(nouns)


def test_a_roll_back_costs_what_is_lost_of_the_tuned_accuracy():
    right = np.ones((3, 4))
    tuning = {"tuned": right, "restored_bottom": right * 0.75, "restored_top": right * 0.5, "majority": right[0] * 0.5}
    found = scores.rolled_back(None, tuning)
    assert (found["lower_half"], found["upper_half"]) == (0.25, 0.5)
    assert found["tuned"].shape == found["majority"].shape == (4,)
    with pytest.raises(KeyError):
        scores.rolled_back(None, {"tuned": right, "majority": right[0]})
