"""The laboratory and what stands on it, with nets of two steps: arms, controls, pairs, facts and batches."""

import numpy as np
import pytest
import torch

from bertology_utils.absent import Absent
from bertology_utils.activations import sentence_vectors
from bertology_utils.compression.growth import Emergence as Rise
from bertology_utils.compression.growth import Growth
from bertology_utils.estimation import Linear, estimate
from bertology_utils.language.facts import invented_people
from bertology_utils.language.lexicon import first_words
from bertology_utils.pretraining import objectives
from bertology_utils.samples import by_unit
from bertology_utils.studies.training import budgets, laboratory, ladder, masks, sentence_pairs, stability
from bertology_utils.tuning.tiny_pretraining import pair_examples, small_language, stories
from bertology_utils.tuning.training import Examples


@pytest.fixture(scope="module")
def lab():
    return laboratory.Laboratory(small_language(300), held_out_size=40, steps=2, seeds=2)


def test_an_arm_that_changes_nothing_is_the_base(lab):
    assert lab.train() is lab.base and lab.train(steps=lab.steps) is lab.base
    assert not set(lab.corpus) & set(lab.unseen) and len(lab.corpus) == 260 and len(lab.unseen) == 40
    assert lab.train(lab.corpus[:50]) is not lab.base


def test_every_arm_stands_beside_the_same_untrained_models(lab):
    runs = lab.compare(base=lab.base, again=laboratory.Runs(lab.untrained_losses, lab.untrained_losses))
    words = set(first_words(lab.unseen, "nouns")) | set(first_words(lab.unseen, "verbs"))
    assert runs.model["base"].shape == (2, len(words)) and runs.model["untrained"] is runs.twin["untrained"]
    assert np.array_equal(runs.twin["base"], runs.model["again"])
    both = laboratory.Runs.together(runs, laboratory.Runs({"other": 1.0}, {"other": 2.0}))
    assert set(both.model) == {"base", "again", "untrained", "other"} and both.twin["other"] == 2.0
    assert laboratory.spread(runs, "base", "again") == pytest.approx(
        abs(runs.model["base"].mean() - runs.model["again"].mean())
    )


def test_figures_have_a_bar_or_line_an_arm_and_tell_what_the_study_showed(lab):
    runs = lab.compare(few_sentences=lab.base, all=lab.base)
    shown = laboratory.bars(runs, "few_sentences", "all", claim="layers-over-heads", caption="Here.")
    assert list(shown.table["name"]) == ["few sentences", "all", "untrained"] and shown.caption.startswith("Here. ")
    lines = laboratory.curve([1, 2], runs, some_arm=("few_sentences", "all"))
    assert list(lines.table["some arm"]) == pytest.approx([float(runs.model["all"].mean())] * 2, rel=1e-5)
    assert len(laboratory.width_curve(runs, few_sentences=16, all=64).table) == 2


def test_static_arms_and_pairs_train_as_many_models(lab):
    assert len(lab.train_static(lab.corpus[:20], copies=2, seeds=1)) == 1
    documents = stories(lab.read, 20)
    arms = {
        "with_nsp": lab.train_pairs(documents, next_sentence=True), "without_nsp": lab.base,
        "untrained": lab.untrained,
    }  # fmt: skip
    order = sentence_pairs.order_task(lab, 8, 6, np.random.default_rng(0))
    tuned = sentence_pairs.tuned(arms, {"order": order, "number": lab.number_task(8)})
    samples = tuned.samples
    assert samples.model["with_nsp"].shape == (2, len(set(tuned.nouns)))
    assert len(tuned.nouns) == sum(len(part) for part in (order[1], lab.number_task(8)[1]))
    assert np.array_equal(samples.twin["with_nsp"], samples.model["untrained"])
    assert list(tuned.figure("removing-nsp", "").table["name"][:3]) == ["with nsp", "without nsp", "untrained"]


def test_heads_are_crossed_on_both_tasks(tiny):
    pairs = sentence_pairs.nsp_and_order(train=12, test=10, seed=0, rng=np.random.default_rng(0))
    crossed = sentence_pairs.cross_evaluate(tiny, pairs)
    assert set(crossed) == {f"{a}_on_{b}" for a in ("nsp", "sop") for b in ("nsp", "sop")}
    nouns = {task: set(laboratory.nouns_of(pair_examples(of["test"]))) for task, of in pairs.items()}
    assert all(values.shape == (sentence_pairs.HEADS, len(nouns[name[-3:]])) for name, values in crossed.items())
    texts = [sentence_pairs._texts(pair) for pair in pairs["sop"]["test"]]
    first, second = zip(*texts, strict=True)
    expected = sentence_vectors(tiny, first, pool="cls", pairs=second)[-1]
    torch.testing.assert_close(sentence_pairs._cls(tiny, texts), expected, atol=1e-5, rtol=1e-4)


def test_facts_are_stored_by_depth_and_guessed_by_untrained_models(lab):
    people = invented_people(4, congruent=False)
    facts = budgets.stored(lab, people, layers=(1, 2))
    assert set(facts.model) == {"facts_1_layer", "facts_2_layers", "guesses"}
    assert facts.model["facts_1_layer"].shape == (2, 4) and facts.twin["facts_2_layers"] is facts.model["guesses"]


def test_batch_sizes_are_judged_on_the_sentences_on_which_no_rate_was_tried(lab):
    compared = budgets.batch_sizes(lab, large={}, small={"budget": 256, "steps": 3})
    assert {name: recipe.steps for name, recipe in compared.recipes.items()} == {"large": 2, "small": 3}
    assert np.array_equal(compared.samples.twin["small_batch"], lab.losses(lab.untrained, slice(1, None, 2)))
    assert compared.samples.model["longer_batch"].shape == compared.samples.model["small_batch"].shape
    assert set(compared.samples.model) == set(compared.samples.twin)
    assert compared.sentence().startswith("At equal pieces: 2 steps of 512")


def test_heads_on_cls_know_the_majority(tiny):
    parts = stability.number_parts(train=20, test=20, seed=0)
    found = stability.heads_on_cls(tiny, parts, seeds=3)
    nouns = set(laboratory.nouns_of(parts["test"]))
    assert found["raw"].shape == (3, len(nouns)) and found["spread_raw"].shape == (3, 1)
    assert 0.5 <= found["majority"] <= 1


def test_a_noun_that_sentences_share_makes_their_interval_wider():
    """Planted: each noun is known or not, with other verbs each time; the null is sentences that differ by luck."""
    nouns = ["king", "dogs", "apple", "river"] * 50
    sentences = [(noun, verb, ".") for noun, verb in zip(nouns, ["laughed", "sees"] * 100, strict=True)]
    examples = Examples(sentences, [0] * 200)
    planted = np.array([float(noun in ("king", "apple")) for noun in nouns])
    lucky = np.random.default_rng(0).permutation(planted)
    errors = [
        estimate(Linear(0.5, {"x": 1.0}), {"x": by_unit(values, laboratory.nouns_of(examples))}).error
        for values in (planted, lucky)
    ]
    assert errors[0] > 4 * errors[1]
    assert laboratory.of_words(planted, sentences).mean() == pytest.approx(0.5)


def test_a_pair_is_about_the_noun_that_both_have():
    pairs = Examples([("the", "king", "saw", "a", "dog")], [1], [("the", "dogs", "and", "a", "dog", "ran")])
    assert laboratory.nouns_of(pairs) == ["dog"]
    assert first_words([("tom", "laughs"), ("the", "dogs", "laughed")], "nouns") == ["tom", "dog"]


def test_masks_are_shown_word_by_word():
    words, mask = ("a", "b", "c"), np.array([False, True, True])
    shown = masks.shown(words, {"mine": mask}).table
    assert shown.iloc[0].tolist() == ["mine", "a", "▢", "▢"]
    rows = masks.shown_boundaries(words, mask).table
    assert rows.iloc[1].tolist() == ["c", "a", "[SEP]", 2] and len(objectives.span_boundaries(mask)) == 2


def growth_of(names, losses, right=1):
    losses = np.array(losses, dtype=float)
    right = {"agreement": np.full((len(losses), 20), right)}
    return Growth(tuple(names), losses, right, alone=right)


def test_a_course_is_compared_with_its_untrained_step():
    way = ladder.Course("rung", {0: "rung@0", 30: "rung@30", 100: "rung"}, growth_of("abc", [[3, 3], [2, 2], [1, 1]]))
    assert way.third == 30 and way.samples.model["third_of_steps"].tolist() == [2, 2]
    assert way.samples.twin["all_steps"].tolist() == [3, 3]
    assert way.sentence() == "`rung` ends above chance in 1 of 1 constructions: agreement; untrained in 1."
    assert len(way.loss_figure("").table) == len(way.grammar_figure("").table) == 2


def test_a_model_without_outlier_dimensions_cannot_say_when_they_emerge():
    steps, none = (0, 1, 100), np.zeros((3, 0), bool)
    never = ladder.Emergence("rung", Rise(steps, (), none, np.ones(3), np.zeros(3, int)))
    assert isinstance(never.samples, Absent) and "nothing to emerge" in never.samples.reason
    assert "`rung`: none" in never.sentence()
    places = np.array([[False, False], [True, False], [True, True]])
    known = ladder.Emergence("rung", Rise(steps, (7,), places, np.ones(3), np.array([0, 1, 1])))
    assert float(known.samples.model["early"]) == 0.5 and float(known.samples.twin["early"]) == 0
    assert known.sentence().endswith("So many at each step: 0 at 0, 1 at 1, 1 at 100.")


def test_the_ladder_is_measured_against_the_spread_of_its_seeds():
    sizes = ladder.Sizes(
        growth_of("ab", [[3, 3], [2, 2.5]]), growth_of("ab", [[4, 4], [4, 4]]), growth_of("ac", [[3, 3], [3.5, 3.5]])
    )
    assert sizes.samples.model["least_gain"].tolist() == [1, 0.5] and sizes.samples.twin["seed_spread"] == 0.5
    assert sizes.sentence() == "Above chance in grammar: `a` in 1, `b` in 1 of 1 constructions."
