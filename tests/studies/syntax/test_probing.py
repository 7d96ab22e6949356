"""Labels and items mean what they say; experiments give one score an item; shortcuts are closed."""

from collections import Counter

import numpy as np
import pytest

from bertology_utils.data.material import treebank
from bertology_utils.data.rows import Pointed
from bertology_utils.language.grammar import generate
from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.language.pairs import STRUCTURES, agreement_pairs
from bertology_utils.runs import Runs
from bertology_utils.samples import by_unit
from bertology_utils.studies.syntax import probing as syntax_probes
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, parse

FAST = {"steps": 5, "epochs": 1}


def test_labels_follow_the_words():
    sentences = generate(20)
    for task in syntax_probes.LABELS:
        assert len(syntax_probes.word_labels(sentences, task)) == sum(len(s.words) for s in sentences)
    assert syntax_probes.word_labels(sentences, "grandparent")[0] == sentences[0].ancestors[0][1]


def test_the_syntactic_question_is_about_the_subject_and_no_bag_of_words_answers_it():
    words, labels = syntax_probes.two_questions(400, seed=2)
    forms = {n.singular: "singular" for kind in load_lexicon("train").nouns.values() for n in kind}
    forms |= {n.plural: "plural" for kind in load_lexicon("train").nouns.values() for n in kind if n.plural}
    bags = [Counter(), Counter()]
    for sentence, plural in zip(words, labels["syntactic"], strict=True):
        numbers = [forms[w] for w in sentence if w in forms]
        assert numbers[0] == ("plural" if plural else "singular") and numbers[0] != numbers[-1]
        bags[plural].update(w for w in sentence if w in forms)
    common = set(bags[0]) & set(bags[1])
    assert len(common) > 0.5 * len(set(bags[0]) | set(bags[1]))
    assert abs(np.corrcoef(labels["lexical"], labels["syntactic"])[0, 1]) < 1e-9


def test_the_attractor_is_where_subject_attention_looks_for_it(tiny_eager):
    nouns = {f for kind in load_lexicon("test").nouns.values() for n in kind for f in (n.singular, n.plural) if f}
    for structure in STRUCTURES:
        for pair in agreement_pairs(20, 1, structure, split="test"):
            attractor = pair.focus - (2 if pair.condition["structure"] == "object_relative" else 1)
            assert pair.good[attractor] in nouns and pair.good[pair.condition["subject"]] in nouns
            assert attractor != pair.condition["subject"]
    looks = syntax_probes.subject_attention(tiny_eager, agreement_pairs(6, 1, split="test"))
    assert looks.shape == (2, 4, 6)


def test_sweeps_give_one_score_an_item(tiny):
    bank = treebank(20, 8)
    items = sum(len(s.words) for s in bank.test)
    scores = syntax_probes.label_sweep(tiny, bank, ("upos", "parent"), every=2, **FAST)
    assert scores["upos"].test.shape == (2, 3, items)
    guesses = syntax_probes.ancestor_baselines(bank, "parent", scores["upos"].read)
    assert guesses["by_tag"].shape == (3, items) and guesses["by_tag"].mean() < guesses["by_gold_tag"].mean()
    assert guesses["gold"].mean() > guesses["by_gold_tag"].mean() > guesses["majority"].mean()
    gold = np.array(syntax_probes.scored_labels(bank, "test", "upos"))[None]
    known = syntax_probes.ancestor_baselines(bank, "parent", gold)
    np.testing.assert_array_equal(known["by_tag"][0], known["by_gold_tag"])
    np.testing.assert_array_equal(scores["upos"].read == gold, scores["upos"].best_test == 1)
    hierarchy = syntax_probes.hierarchy_sweep(tiny, 12, 5, **FAST)
    assert hierarchy.test.shape == (3, 3, 10)
    one = syntax_probes.hierarchy_sweep(tiny, 12, 5, **FAST, seeds=1, seed=4)  # of the same sentences
    assert one.test.shape == (3, 1, 10) and not np.array_equal(one.test, hierarchy.test[:, :1])
    assert syntax_probes.window_rule(tiny, 12, 5, **FAST).shape == (3, 10)
    control = syntax_probes.control_sweep(tiny, 30, layers=[1], **FAST)
    assert control["task"].shape == control["control"].shape == (1, 3, len(control["words"]))
    selectivity = by_unit(control["task"][0], control["words"])
    assert selectivity.shape == (3, len(set(control["words"])))
    np.testing.assert_allclose(selectivity.mean(), control["task"].mean())


def test_samples_of_a_sweep_are_those_of_the_claims(tiny):
    bank = treebank(20, 8)
    scores = syntax_probes.label_sweep(tiny, bank, every=2, **FAST)
    types = len(set(syntax_probes.scored_labels(bank, "test", "words")))
    words = syntax_probes.word_samples(scores, bank)
    assert set(words) == {"pos", "pos_layer_0", "chunk", "chunk_layer_0", "deprel", "deprel_layer_0"}
    assert all(values.shape == (3, types) for values in words.values())
    assert {name: values.shape for name, values in syntax_probes.word_lines(scores).items()} == {
        "pos": (2,), "chunk": (2,), "deprel": (2,)
    }  # fmt: skip
    levels = syntax_probes.ancestor_samples(scores, bank)
    probe, guess = levels["grandparent"].mean(), levels["grandparent_by_tag"].mean()
    assert levels["grandparent_gain"] == pytest.approx((probe - guess) / (1 - guess))
    table = syntax_probes.ancestor_bars(Runs(levels, levels), "A caption.").table
    assert list(table["name"][:5]) == ["model", "twin", "from the tag read", "from the gold tag", "majority"]
    assert table["group"].nunique() == 3


@pytest.mark.parametrize("telling", [True, False])
def test_the_window_rule_finds_a_target_that_the_word_before_gives_away(tiny, monkeypatch, telling):
    def pointed(n, disambiguating, seed, split, task, source):
        rng = np.random.default_rng(n)
        found = []
        for place in rng.integers(1, 6, n):
            words = ["dog"] * 7
            words[place - 1 if telling else rng.integers(7)] = "the"
            found.append(Pointed(tuple(words), int(place)))
        return found

    monkeypatch.setattr(syntax_probes, "pointed_sentences", pointed)
    found = syntax_probes.window_rule(tiny, 60, 20, steps=100).mean()
    assert found > 0.9 if telling else found < 0.6


def test_rules_of_place_find_subjects_only_where_these_stand_on_one_side():
    behind = agreement_pairs(30, 1, split="test")
    assert syntax_probes.position_rules(behind).mean(1).max() == 1
    mixed = syntax_probes.distracted_pairs(60, 0, "test")
    assert syntax_probes.position_rules(mixed).mean(1).max() < 0.6
    for pair in mixed[1::2]:
        assert syntax_probes.attractor_place(pair) < pair.good.index(",") < pair.condition["subject"] < pair.focus


def test_order_dependence_and_three_tools(tiny_eager):
    found = syntax_probes.order_dependence(tiny_eager, 16, 8, **FAST)
    assert len(found) == 8 and {v.shape for v in found.values()} == {(3, 8)}
    assert syntax_probes.order_dependence(tiny_eager, 16, 8, **FAST, seeds=1)["lexical_intact_intact"].shape == (1, 8)
    tools = syntax_probes.three_tools(tiny_eager, 16, 8)
    assert tools["probe"].ndim == 2 and tools["cloze"].shape == tools["attention"].shape == tools["probe"][0].shape


@pytest.mark.parametrize(("gains", "expected"), [((0.9, 0.7, 0.4), REPLICATES), ((0.5, 0.8, 0.5), CONTRADICTS)])
def test_labels_are_lost_with_height_only_where_the_highest_is_read_worst(gains, expected):
    rng, samples = np.random.default_rng(0), {}
    for level, gain in zip(syntax_probes.ANCESTORS, gains, strict=True):
        samples |= {level: rng.random((3, 9000)) < 0.5 + 0.5 * gain, f"{level}_by_tag": rng.random((3, 9000)) < 0.5}
    clauses = parse(claim_by_id("distant-parent-labels-lost").prediction).judge(samples)
    assert min(clause.verdict for clause in clauses) == expected
