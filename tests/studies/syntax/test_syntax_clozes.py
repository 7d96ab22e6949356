"""Choosing is crossed with scoring, items are well formed, and the experiments name what predictions need."""

from collections import Counter

import numpy as np
import pytest

from bertology_utils.data import material
from bertology_utils.instruments import cloze
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.language.listed_pairs import classified_things
from bertology_utils.language.pairs import Cloze
from bertology_utils.language.perturbations import Perturbed
from bertology_utils.studies.syntax import clozes


def test_templates_are_chosen_on_the_other_half(tiny, monkeypatch):
    def hits(specimen, template, known, classes):
        place = clozes.CLASS_TEMPLATES.index(template)
        halves.append(tuple(classes))
        # template 1 is right on half of the classes: whoever chose and scored on the same half would find it perfect
        return np.full(len(known), float(place == 1 + halves.index(tuple(classes)) // 10))

    halves = []
    monkeypatch.setattr(clozes, "_hits", hits)
    found = clozes.template_spread(tiny)
    assert found["best_template"].mean() == 0 and found["table"].shape[0] == 10
    assert not set(halves[0]) & set(halves[-1]), "each half is asked among its own classes"


def test_a_template_that_always_works_is_the_best_one(tiny, monkeypatch):
    monkeypatch.setattr(
        clozes, "_hits", lambda s, template, known, c: np.full(len(known), float("kind of" in template))
    )
    found = clozes.template_spread(tiny)
    assert found["best_template"].mean() == 1 and found["worst_template"].mean() == 0


def test_a_word_is_as_often_expected_as_it_is_the_worse_one():
    stories = clozes.pragmatic_clozes()
    assert len(stories) >= 200 and all(story.words[story.focus] == cloze.MASK for story in stories)
    assert Counter(story.true for story in stories) == Counter(story.false for story in stories)
    assert all(story.true != story.false for story in stories)


def test_every_experiment_gives_the_samples_of_its_prediction(tiny):
    negation = clozes.negation(tiny)
    right, wrong, unchanged = (negation[name] for name in ("affirmative", "negated", "unchanged"))
    assert right.shape == wrong.shape == unchanged.shape and len(right) < len(negation["unigram"])
    suite = clozes.psycholinguistic_suite(tiny, 8)
    roles = suite.pop("role_sensitivity")
    assert len(suite) == 7
    for name in ("negation", "pragmatic"):
        assert len(suite.pop(f"{name}_sensitivity")) < len(suite[f"{name}_unigram"])
    assert all(np.isin(v, (0, 1)).all() for v in suite.values())
    assert len(roles) < 8, "frames of one event are one unit"


def test_damage_is_measured_against_the_intact_input(tiny):
    damaged = clozes.damaged_inputs(tiny, 20)
    assert all(np.isin(values, (0, 1)).all() for values in damaged.values())
    removed = clozes.removed_arguments(tiny, 6)
    for name in ("argument", "adjunct", "random_context"):
        assert removed[name].shape == (6,) and (removed[name] >= -1e-6).all()


def test_what_only_a_figure_shows_is_done_to_the_first_sentences(tiny, monkeypatch):
    whole = clozes.damaged_inputs(tiny, 20)
    monkeypatch.setattr(clozes, "SHOWN", 7)
    brief = clozes.damaged_inputs(tiny, 20)
    np.testing.assert_array_equal(brief["last_two_kept"], whole["last_two_kept"][:7])
    np.testing.assert_array_equal(brief["half"], whole["half"])
    assert len(brief["pairs_shuffled"]) == 7 and len(brief["shuffled"]) == len(whole["shuffled"])


def test_competence_compares_the_true_word_with_and_without_its_context(tiny):
    items = [(("the", "cat", "sleeps"), 1), (("a", "dog", "runs"), 2), (("the", "unheardofword", "sleeps"), 1)]
    texts, places = zip(*items, strict=True)
    noise = [("runs", "cat", "dog"), ("the", "sleeps", "runs"), ("a", "unheardofword", "a")]
    rows, scores = [], []
    for sentences in (texts, noise):
        rows.append(clozes._distributions(tiny, list(map(Perturbed, sentences, places))))
        targets = [[words[place]] for words, place in items]
        scores.append(cloze.word_log_probability(tiny, sentences, places, targets))
    better = scores[0].log_probabilities[:, 0] > scores[1].log_probabilities[:, 0]
    np.testing.assert_array_equal(clozes._competence(tiny, items, *rows), better[scores[0].covered])


def test_real_sentences_are_damaged_in_the_same_way(tiny, monkeypatch):
    tree = Sentence(
        words=("Old", "dogs", "slept", "well", "in", "gardens", "!", "!"),
        upos=("ADJ", "NOUN", "VERB", "ADV", "ADP", "NOUN", "PUNCT", "PUNCT"),
        heads=(1, 2, -1, 2, 5, 2, 2, 2),
        deprels=("amod", "nsubj", "root", "advmod", "case", "obl", "punct", "punct"),
        **dict.fromkeys(("number", "tense", "roles", "entities", "chunks", "ancestors", "lemmas"), ()),
    )
    asked = []

    def sentences(n, seed=0, split="train", source="embedded"):
        asked.append((split, source))
        return [tree] * 4

    monkeypatch.setattr(material, "sentences", sentences)
    assert clozes._last_word(tree) == 5
    assert clozes.damaged_inputs(tiny, 4, source="some_treebank")["half"].shape == (4,)
    assert clozes.removed_arguments(tiny, 3, source="some_treebank")["argument"].shape == (3,)
    assert asked == [("test", "some_treebank"), ("train", "some_treebank")]


def test_the_article_before_the_blank_is_the_same_for_every_class(tiny, monkeypatch):
    asked = []
    monkeypatch.setattr(cloze, "single_piece", lambda specimen, form: 1)
    monkeypatch.setattr(
        cloze, "fill_in", lambda specimen, sentences, classes, k: asked.append((sentences, classes)) or sentences
    )
    monkeypatch.setattr(cloze, "hits_at", lambda specimen, completions, answers: np.ones(len(answers)))
    table = clozes.template_spread(tiny)["table"]
    assert table.shape[1] >= 25 and not [name for _, classes in asked for name in classes if name[0] in "aeiou"]
    assert {words[words.index("[MASK]") - 1] for sentences, _ in asked for words in sentences} == {
        "a",
        "of",
        "another",
        "this",
    }


def test_templates_are_named_by_one_of_their_facts(tiny):
    found = clozes.by_template({"table": np.eye(10)})
    assert found["a robin is a [MASK] ."][0] == 1 and len(found) == 10


def test_margins_are_read_from_what_stands_in_the_blank(tiny):
    items = [
        Cloze(("a", "cat", "is", "[MASK]"), 3, "small", "old", "x"),
        Cloze(("a", "[MASK]"), 1, "cat", "xyzzyx", "x"),
    ]
    scores = cloze.word_log_probability(
        tiny, [c.words for c in items], [c.focus for c in items], [(c.true, c.false) for c in items]
    )
    found = clozes._margins(tiny, items)
    values = scores.log_probabilities
    assert np.allclose(found, np.where(scores.covered, values[:, 0] - values[:, 1], np.nan), equal_nan=True, atol=1e-5)


@pytest.mark.parametrize("knows", [True, False])
@pytest.mark.parametrize("heeds", [True, False])
def test_negation_is_seen_through_how_usual_classes_are(tiny, monkeypatch, knows, heeds):
    """A model that likes some classes far more than others: does it know the class, and does it heed `not`?"""
    usual = np.random.default_rng(0).normal(0, 8, 400)
    names = {kind: place for place, kind in enumerate(sorted({kind for _, kind, _ in classified_things()}))}

    def margins(specimen, items, distributions=None):
        known = [(1 if knows else -1) * (-1 if "not" in item.words and not heeds else 1) for item in items]
        return np.array([usual[names[item.true]] - usual[names[item.false]] for item in items]) + known

    monkeypatch.setattr(clozes, "_margins", margins)
    found = clozes.negation(tiny)
    assert found["affirmative"].mean() == float(knows) and found["unchanged"].mean() == float(not heeds)
