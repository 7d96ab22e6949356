"""The sentence generator: gold annotation that holds together, splits without overlap, and enough variety."""

import time
from collections import deque
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import spearmanr

from bertology_utils.data.ambiguous_order import ambiguous_sentences
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.trees import tree_depths, tree_distances
from bertology_utils.language.grammar import KINDS, generate
from bertology_utils.language.lexicon import FUNCTION_WORDS, load_lexicon

CONTENT = {"NOUN", "VERB", "ADJ", "ADV", "PROPN"}


@pytest.fixture(scope="module")
def sentences():
    return generate(2000, seed=3)


def breadth_first_distances(heads):
    """The plain definition of tree distance."""
    n = len(heads)
    neighbours = [[j for j in range(n) if heads[i] == j or heads[j] == i] for i in range(n)]
    out = np.full((n, n), -1)
    for start in range(n):
        out[start, start] = 0
        queue = deque([start])
        while queue:
            i = queue.popleft()
            for j in neighbours[i]:
                if out[start, j] < 0:
                    out[start, j] = out[start, i] + 1
                    queue.append(j)
    return out


def test_every_sentence_is_one_tree(sentences):
    for sentence in sentences:
        assert sentence.heads.count(-1) == 1 and sentence.deprels.count("root") == 1
        assert sentence.deprels[sentence.heads.index(-1)] == "root"
        assert "dep" not in sentence.deprels
        assert (breadth_first_distances(sentence.heads) >= 0).all(), "not connected"
        assert len(sentence.arcs()) == len(sentence.words) - 1
        annotations = (
            sentence.upos,
            sentence.heads,
            sentence.deprels,
            sentence.number,
            sentence.tense,
            sentence.roles,
            sentence.entities,
            sentence.chunks,
            sentence.ancestors,
            sentence.lemmas,
        )
        assert {len(layer) for layer in annotations} == {len(sentence.words)}


def test_fast_distances_and_depths_equal_the_plain_ones(sentences):
    for sentence in sentences[:200]:
        plain = breadth_first_distances(sentence.heads)
        assert np.array_equal(tree_distances(sentence.heads), plain)
        assert np.array_equal(tree_depths(sentence.heads), plain[sentence.features["root"]])
        assert tree_depths(sentence.heads).max() == sentence.features["depth"]


def test_length_case_and_final_punctuation(sentences):
    for sentence in sentences:
        assert 4 <= len(sentence.words) <= 20
        assert sentence.words[-1] in ".?" and sentence.upos[-1] == "PUNCT"
        assert str(sentence) == str(sentence).lower()


def test_subject_and_verb_agree(sentences):
    """Every finite form that shows number has the number of its subject, coordinated subjects being plural."""
    checked = 0
    for sentence in sentences:
        for head, subject, label in sentence.arcs():
            if not label.startswith("nsubj"):
                continue
            joined = any(h == subject and kind == "conj" for h, _, kind in sentence.arcs())
            expected = "plural" if joined else sentence.number[subject]
            finite = [i for i, h in enumerate(sentence.heads) if h == head and sentence.upos[i] == "AUX"] + [head]
            shown = [sentence.number[i] for i in finite if sentence.upos[i] in ("AUX", "VERB") and sentence.number[i]]
            assert all(number == expected for number in shown), str(sentence)
            checked += len(shown)
    assert checked > 1000


def test_forms_are_those_of_the_number(sentences):
    """The number label can be seen on the word: nouns and present forms are looked up in the lexicon."""
    lexicon = load_lexicon("train")
    nouns = {noun.singular: noun for group in lexicon.nouns.values() for noun in group}
    third = {verb.base: verb.third for group in lexicon.verbs.values() for verb in group}
    for sentence in sentences:
        for word, tag, lemma, number, tense in zip(
            sentence.words, sentence.upos, sentence.lemmas, sentence.number, sentence.tense, strict=True
        ):
            if tag == "NOUN":
                assert word == nouns[lemma].form(number)
            elif tag == "VERB" and tense == "present" and number == "plural":
                assert word == lemma
            elif tag == "VERB" and tense == "present" and word != lemma:
                assert word == third[lemma] and number == "singular"


def test_features_describe_the_main_clause(sentences):
    for sentence in sentences:
        features = sentence.features
        focus, subject, root = features["focus"], features["subject"], features["root"]
        assert sentence.heads[subject] == root and sentence.deprels[subject].startswith("nsubj")
        assert sentence.tense[focus] in ("present", "past") and (focus == root or sentence.upos[focus] == "AUX")
        between = range(min(focus, subject) + 1, max(focus, subject))
        assert features["intervening"] == sum(sentence.upos[i] in ("NOUN", "PROPN") for i in between)
        assert 0 <= features["attractors"] <= features["intervening"]


def test_chunks_and_ancestors_are_well_formed(sentences):
    for sentence in sentences:
        previous = "O"
        for tag, above in zip(sentence.chunks, sentence.ancestors, strict=True):
            assert not tag.startswith("I-") or previous[2:] == tag[2:]
            assert len(above) == 3 and set(above) <= {"NP", "VP", "PP", "ADJP", "S", "SBAR", "SQ", "TOP"}
            previous = tag
    labels = {label for sentence in sentences for label in sentence.chunks}
    assert labels == {"O", "B-NP", "I-NP", "B-VP", "I-VP", "B-PP"}


def test_every_construction_occurs(sentences):
    deprels = {label for sentence in sentences for label in sentence.deprels}
    assert deprels >= {
        "nsubj",
        "nsubj:pass",
        "obj",
        "iobj",
        "det",
        "amod",
        "advmod",
        "obl",
        "obl:agent",
        "case",
        "nmod",
        "nmod:poss",
        "acl:relcl",
        "ccomp",
        "xcomp",
        "mark",
        "aux",
        "aux:pass",
        "cop",
        "conj",
        "cc",
        "advcl",
        "punct",
        "root",
        "nummod",
    }
    roles = {role for sentence in sentences for role in sentence.roles}
    assert roles >= {"agent", "patient", "recipient", "location", "instrument", "experiencer", "theme"}
    assert {entity for sentence in sentences for entity in sentence.entities} == {None, "PERSON", "CITY", "COUNTRY"}


def test_tree_and_linear_distance_come_apart(sentences):
    correlations, hits, arcs = [], 0, 0
    for sentence in sentences[:600]:
        distances = tree_distances(sentence.heads)
        i, j = np.triu_indices(len(distances), 1)
        correlations.append(spearmanr(distances[i, j], j - i).statistic)
        kept = [k for k, tag in enumerate(sentence.upos) if tag != "PUNCT"]
        chain = set(pairwise(kept))
        gold = [tuple(sorted(arc[:2])) for arc in sentence.arcs() if arc[2] != "punct"]
        hits, arcs = hits + sum(arc in chain for arc in gold), arcs + len(gold)
    assert np.mean(correlations) < 0.75
    assert 0.25 < hits / arcs < 0.6


def test_splits_share_no_content_word():
    train, test = load_lexicon("train"), load_lexicon("test")
    assert not train.forms() & test.forms()
    assert min(len(train.forms()), len(test.forms())) >= 400
    assert len(train.lemmas() | test.lemmas()) >= 500
    function = set(FUNCTION_WORDS)
    assert not (train.forms() | test.forms()) & function

    def content(split):
        tagged = [pair for s in generate(400, 1, split) for pair in zip(s.words, s.upos, strict=True)]
        return {word for word, tag in tagged if tag in CONTENT}

    assert not content("train") & content("test")
    assert content("train") | content("test") <= load_lexicon("train").forms() | load_lexicon("test").forms()


def seconds_of_a_thousand(seed):
    start = time.process_time()
    generate(1000, seed=seed)
    return time.process_time() - start


def test_deterministic_varied_and_fast(sentences):
    assert sentences == generate(2000, seed=3)
    assert generate(20, seed=4) != generate(20, seed=3)
    assert len({sentence.words for sentence in sentences}) > 0.95 * len(sentences)
    assert min(map(seconds_of_a_thousand, range(4))) < 0.5, "10,000 sentences must take less than 5 s"


def test_kinds():
    assert all(s.features["clauses"] == 1 for s in generate(200, kind="simple"))
    deep = generate(200, kind="deep")
    assert all(s.features["clauses"] > 1 or s.features["depth"] >= 4 for s in deep)
    assert {s.features["attractors"] for s in generate(2000, kind="deep")} >= {0, 1, 2}
    for wrong in ({"kind": "odd"}, {"split": "dev"}):
        with pytest.raises(BertologyError):
            generate(1, **wrong)
    assert set(KINDS) == {"simple", "deep", "mixed"}


@pytest.mark.parametrize("task", ["auxiliary", "subject"])
@pytest.mark.parametrize("disambiguating", [False, True])
def test_linear_and_hierarchical_rule_agree_only_in_ambiguous_sentences(task, disambiguating):
    tags = ("AUX",) if task == "auxiliary" else ("NOUN", "PROPN")
    for sentence in ambiguous_sentences(100, disambiguating, task=task):
        target, competitor = sentence.features["target"], sentence.features["competitor"]
        assert (target != competitor) == disambiguating
        assert competitor == min(i for i, tag in enumerate(sentence.upos) if tag in tags)
        assert sentence.upos[target] in tags and sentence.heads[target] == sentence.features["root"]
