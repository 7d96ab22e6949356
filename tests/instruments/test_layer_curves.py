"""Curves over layers: bands, expected layers by items, planted peaks and drops."""

import numpy as np
import pytest

from bertology_utils.instruments import layer_curves as curves
from bertology_utils.instruments.probes import expected_layer
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, judge, parse


def hits(rates, seeds=3, items=400, seed=0):
    generator = np.random.default_rng(seed)
    return np.stack([(generator.random((seeds, items)) < rate).astype(float) for rate in rates])


def test_bands_cover_every_block_once_and_leave_the_embeddings_out():
    for layers in (3, 6, 8, 12):
        together = np.concatenate(list(curves.band_of(layers).values()))
        assert sorted(together) == list(range(1, layers + 1))


def test_two_blocks_have_the_embeddings_as_their_low_band():
    assert {name: chosen.tolist() for name, chosen in curves.band_of(2).items()} == {
        "low": [0], "middle": [1], "high": [2],
    }  # fmt: skip


def test_only_a_curve_with_a_peak_is_prominent():
    flat, peaked = curves.prominence_samples(hits([0.7] * 7)), curves.prominence_samples(hits([0.5] * 3 + [0.8] * 2))
    assert abs(flat["best"].mean() - flat["mean"].mean()) < 0.03
    assert peaked["best"].mean() > peaked["mean"].mean() + 0.1


def test_band_samples_are_the_means_of_their_layers():
    scores = hits([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    found = curves.band_samples(scores, "x_")
    np.testing.assert_allclose(found["x_middle"], (scores[3] + scores[4]) / 2)
    np.testing.assert_array_equal(found["x_last"], scores[6])


def test_expected_layer_from_items_equals_the_definition():
    scores = hits([0.3, 0.5, 0.6, 0.9, 0.9])
    found = curves.expected_layer_samples(scores, "pos")
    ratio = found["pos_moment"].mean() / found["pos_gain"].mean()
    assert ratio == pytest.approx(expected_layer(scores.mean((1, 2))))


def test_selected_layer_is_scored_on_the_other_items():
    scores = np.zeros((3, 1, 10))
    scores[1, :, ::2] = 1  # good on the even items only: luck that must not count
    found = curves.best_layer_samples(scores, {"any": [0, 1, 2]})["any"]
    assert found.shape == (1, 10) and found.mean() == 0
    scores[2] = 1
    both_ways = curves.best_layer_samples(scores, {"any": [0, 1, 2]})["any"]
    assert both_ways[:, ::2].all() and not both_ways[:, 1::2].any()  # the odd items choose for the even ones


def test_a_planted_drop_is_found_in_its_window():
    scores = hits([0.9, 0.9, 0.9, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4])
    found = curves.drop_samples(scores, 0.2, 0.5)
    assert found["drop_window"].mean() > 0.4 > 0.1 > found["drop_elsewhere"].mean()


def test_peaks_follow_a_planted_peak_and_ties_are_averaged():
    assert curves.peak_layers(hits([0.2, 0.2, 0.9, 0.2, 0.2])).mean() == 2
    assert curves.peak_layers(np.ones((5, 1, 12))).tolist() == [2] * 6


def test_gradual_and_sudden_gains_differ():
    sudden, gradual = hits([0.2, 0.9, 0.9, 0.9, 0.9]), hits([0.2, 0.38, 0.55, 0.72, 0.9])
    assert curves.layers_to_share(gradual).mean() > curves.layers_to_share(sudden).mean() + 1
    assert curves.layers_to_share(hits([0.5] * 5) * 0).tolist() == [0] * 6


def test_items_set_right_are_missed_by_half_of_the_seeds_below_and_found_by_the_other_above():
    middle, last = [[0, 0, 1], [0, 1, 1]], [[1, 1, 0], [1, 1, 0]]  # (seeds, items)
    found = curves.set_right_samples(np.array([middle, middle, last], float))
    assert found["set_right"].tolist() == [[1, 0.5, 0]] and found["same_depth"].tolist() == [[0, 0.25, 0]]
    with pytest.raises(ValueError, match="at least one"):
        curves.set_right_samples(np.ones((3, 1, 4)))


def test_single_seeds_that_set_items_right_widen_the_interval():
    rng = np.random.default_rng(1)

    def samples() -> np.ndarray:
        skill = rng.normal(0.6, 0.1, (7, 1))  # probes of other sentences differ by more than their items tell
        return curves.set_right_samples((rng.random((3, 7, 500)) < skill).astype(float))["set_right"]

    drawn = [samples() for _ in range(60)]
    assert drawn[0].shape == (7, 500)
    spread = np.std([values.mean() for values in drawn])
    seen = np.mean([values.mean(1).std(ddof=1) / 7**0.5 for values in drawn])
    over_items = np.mean([values.mean(0).std() / 500**0.5 for values in drawn])
    assert seen == pytest.approx(spread, rel=0.35) and over_items < 0.75 * spread


@pytest.mark.parametrize(("late", "expected"), [(0.1, REPLICATES), (0, CONTRADICTS)])
def test_hard_items_that_are_set_right_are_told_from_probes_that_disagree(late, expected):
    generator = np.random.default_rng(4)
    hard = generator.random(3000) < late  # known to no probe but at the top, where all the others are as before
    noise = generator.random((4, 3000)) < 0.7
    below, above = np.where(hard, 0.0, noise), np.where(hard, 1.0, generator.random((4, 3000)) < 0.7)
    samples = curves.set_right_samples(np.stack([below, below, above]))
    assert judge(claim_by_id("hard-examples-late").parsed_prediction, None, samples).verdict == expected


def test_only_tasks_above_their_majority_are_read():
    scores = {"read": hits([0.5, 0.8, 0.6]), "unread": hits([0.7] * 3), "lost": hits([0.5] * 3)}
    majority = {"read": np.tile([1, 1, 0, 0], 100), "unread": np.tile([1, 1, 1, 1, 1, 1, 1, 0, 0, 0], 40)}
    majority["lost"] = majority["unread"]
    assert curves.read_above(scores, majority, list(scores)) == ["read"]
    assert curves.read_above(scores, majority, ["unread", "lost"]) == ["unread", "lost"]
    found = curves.read_samples(scores, majority, ["read"], "x")
    assert found["x_read"].shape == (3, 200) and found["x_majority"].mean() == 0.5
    assert found["x_read"].mean() == pytest.approx(0.8, abs=0.05)


def test_entropy_of_a_mix_runs_from_zero_to_one():
    np.testing.assert_allclose(curves.mix_entropy(np.array([[0.25] * 4, [1, 0, 0, 0]])), [1, 0], atol=1e-9)


def test_a_peak_at_the_top_is_seen_where_it_is_planted():
    found = curves.top_samples([hits([0.2, 0.9, 0.4, 0.4, 0.4])])
    assert found["at_top"].mean() == 0 and found["planted_top"].mean() == 1
    assert found["peak"].mean() > found["last"].mean() + 0.3


def test_a_planted_lead_at_the_top_is_seen_on_as_few_items_as_a_live_run_has():
    claim = claim_by_id("senteval-semantics-not-at-top")
    readable = {"semantic_read": hits([0.8])[0], "semantic_majority": np.tile([0.0, 1.0], 200)}
    planted = [
        judge(
            parse(claim.given),
            None,
            readable | curves.top_samples([hits([0.6] * 9, items=320, seed=5 * s + t) for t in range(5)]),
        )
        for s in range(4)
    ]
    assert [one.verdict for one in planted] == [REPLICATES] * 4


@pytest.mark.parametrize(
    ("rates", "expected"), [([0.5] * 6 + [0.8] * 2 + [0.6], REPLICATES), ([0.5] * 8 + [0.8], CONTRADICTS)]
)
def test_the_objection_to_the_top_can_come_out_either_way(rates, expected):
    claim = claim_by_id("senteval-semantics-not-at-top")
    tasks = {str(seed): hits(rates, items=320, seed=seed) for seed in range(5)}
    guesses = dict.fromkeys(tasks, np.tile([0.0, 0.0, 1.0, 1.0], 80))
    samples = curves.top_samples(list(tasks.values())) | curves.read_samples(tasks, guesses, list(tasks), "semantic")
    assert judge(claim.parsed_prediction, parse(claim.given), samples).verdict == expected


@pytest.mark.parametrize(
    ("places", "expected"), [((1, 4, 7), REPLICATES), ((7, 4, 1), CONTRADICTS), ((4, 4, 4), CONTRADICTS)]
)
def test_three_bands_can_come_out_either_way(places, expected):
    sides = {"surface": ("a", "b"), "syntactic": ("c", "d", "e"), "semantic": ("f", "g", "h", "i", "j")}
    peaks = {
        task: curves.peak_layers(
            hits([0.8 if layer == place else 0.55 for layer in range(9)], items=320, seed=seed), 10
        )
        / 8
        for place, tasks in zip(places, sides.values(), strict=True)
        for seed, task in enumerate(tasks)
    }
    of_peaks = claim_by_id("surface-syntax-semantics-order").parsed_prediction.clauses[:2]
    prediction = parse(" and ".join(clause.text for clause in of_peaks))
    assert judge(prediction, None, curves.side_means(peaks, sides)).verdict == expected


def test_every_task_has_a_peak_of_its_own():
    low, high = [0.9, 0.3, 0.3, 0.3], [0.3, 0.3, 0.9, 0.3]
    found = curves.top_samples([hits(low), hits(high)])
    assert found["peak"].mean() == pytest.approx(0.9, abs=0.05)  # the mean curve reaches 0.6 only
    assert found["peak"].shape == found["last"].shape == (3, 400)


def test_side_means_average_tasks_and_keep_the_units():
    values = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([3.0, 4.0, 5.0]), "c": np.zeros(3)}
    found = curves.side_means(values, {"both": ("a", "b"), "one": ("c",)})
    assert {side: x.tolist() for side, x in found.items()} == {"both": [2, 3, 4], "one": [0, 0, 0]}


def test_the_upper_share_is_the_weight_of_the_upper_third():
    shares = np.full((2, 7), 1 / 7)
    np.testing.assert_allclose(curves.upper_share(shares), len(curves.band_of(6)["high"]) / 7)
    assert curves.upper_share(np.eye(7))[[0, -1]].tolist() == [0, 1]


def falling(places, size=0.02, layers=8, items=4000):
    """Eight tasks whose probes agree but for noise; `places` are the layers to which single ones fall by `size`."""
    generator, found = np.random.default_rng(3), []
    for place in [*places, *[None] * (8 - len(places))]:
        rates = np.minimum(0.6 + 0.1 * np.arange(layers + 1), 0.9)
        rates[place or layers + 1 :] -= size
        right = generator.random(items) < rates[:, None, None]
        found.append((right ^ (generator.random((layers + 1, 7, items)) < 0.005)).astype(float))
    return found


@pytest.mark.parametrize(
    ("places", "verdict"),
    [
        ([8, 8, 7, 7, 8], REPLICATES),
        ([5, 4, 5, 4, 5], CONTRADICTS),  # falls, and not at the end
        ([8, 8, 7, 5, 4], REPLICATES),  # three of five at the end
        ([8, 8, 7, 7], None),  # four of eight tasks
        ([], None),  # noise alone, of which the worst step is always a fall
    ],
)
def test_a_loss_counts_if_five_of_eight_tasks_have_one_late(places, verdict):
    found = curves.loss_samples(falling(places), 5)
    judged = judge(claim_by_id("layers-lower-probe-scores").parsed_prediction, None, found).verdict
    assert judged == verdict if verdict else judged != REPLICATES
    assert found["least"].shape == found["late"].shape == (7, 8)


def test_noise_is_no_loss_though_the_worst_of_its_steps_is():
    noise = falling([])
    worst = np.mean([-np.diff(own.mean((1, 2))).min() for own in noise])
    assert worst > 0.0002 > curves.loss_samples(noise, 5)["least"].mean()
