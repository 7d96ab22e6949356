"""Labels and items mean what they say; experiments give one score an item; shortcuts are closed."""

from collections import Counter

import numpy as np

from bertology_utils.data.material import treebank
from bertology_utils.language.grammar import generate
from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.language.pairs import STRUCTURES, agreement_pairs
from bertology_utils.studies import syntax_probes

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
    guesses = syntax_probes.ancestor_baselines(bank, "parent")
    assert guesses["by_tag"].shape == (items,) and guesses["by_tag"].mean() > guesses["majority"].mean()
    assert guesses["gold"].mean() > guesses["by_tag"].mean()
    hierarchy = syntax_probes.hierarchy_sweep(tiny, 12, 5, **FAST)
    assert hierarchy.test.shape == (3, 3, 10)
    control = syntax_probes.control_sweep(tiny, 30, layers=[1], **FAST)
    assert control["task"].shape == control["control"].shape and len(control["task"]) == 1


def test_order_dependence_and_three_tools(tiny_eager):
    found = syntax_probes.order_dependence(tiny_eager, 16, 8, **FAST)
    assert len(found) == 8 and {v.shape for v in found.values()} == {(3, 8)}
    tools = syntax_probes.three_tools(tiny_eager, 16, 8)
    assert tools["probe"].ndim == 2 and tools["cloze"].shape == tools["attention"].shape == tools["probe"][0].shape
