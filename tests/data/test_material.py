"""Real sets in the place of generated material, on tiny files in the sets' own formats, written here."""

import json
from pathlib import Path

import numpy as np
import pytest

from bertology_utils.chapter import Chapter
from bertology_utils.data import ambiguous_order as ambiguous
from bertology_utils.data import material, semantic_sets
from bertology_utils.data import registry as data
from bertology_utils.data.propbank import read_propbank
from bertology_utils.errors import BertologyError
from bertology_utils.instruments import attention_trees as syntax_trees
from bertology_utils.language.grammar import generate
from bertology_utils.studies.layers import tasks
from bertology_utils.studies.syntax import probing as syntax_probes

OWL = """# sent_id = owl-{i}
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\t{noun}s\t{noun}\tNOUN\tNNS\tNumber=Plur\t4\tnsubj\t_\t_
3\thad\thave\tAUX\tVBD\tTense=Past\t4\taux\t_\t_
4\tslept\tsleep\tVERB\tVBN\tTense=Past\t0\troot\t_\t_
5\tnear\tnear\tADP\tIN\t_\t6\tcase\t_\t_
6\tParis\tParis\tPROPN\tNNP\tNumber=Sing\t4\tobl\t_\t_
7\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

"""
# rejected by every part: too short, a web address, nothing but punctuation below the root
REJECTED = """1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_

1\tSee\tsee\tVERB\tVB\t_\t0\troot\t_\t_
2\thttp://www.example.org/owls\tx\tX\tADD\t_\t1\tobj\t_\t_
3\tnow\tnow\tADV\tRB\t_\t1\tadvmod\t_\t_
4\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_

1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
2\t!\t!\tPUNCT\t.\t_\t1\tpunct\t_\t_
3\t!\t!\tPUNCT\t.\t_\t1\tpunct\t_\t_
4\t!\t!\tPUNCT\t.\t_\t1\tpunct\t_\t_

"""
BRACKETS = """# sent_id = owl-{i}
1\tThe\tDT\t(TOP(S(NP*\t-\t-\t(ARG0*\t
2\t{noun}s\tNNS\t*)\t-\t-\t*)
3\thad\tVBD\t(VP*\t-\t-\t*
4\tslept\tVBN\t(VP*\tsleep\tsleep.01\t(V*)
5\tnear\tIN\t(PP*\t-\t-\t(ARGM-LOC*
6\tParis\tNNP\t(NP*))))\t-\t-\t*)
7\t.\t.\t*))\t-\t-\t*

"""
NOUNS = ["owl", "cat", "dog", "bear", "horse", "lion", "sheep", "wolf"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    trees = "".join(OWL.format(i=i, noun=NOUNS[i % 8]) for i in range(24)) + REJECTED
    brackets = "".join(BRACKETS.format(i=i, noun=NOUNS[i % 8]) for i in range(20))
    treebank, merged = tmp_path / "ud_english_ewt", tmp_path / "spans" / "ewt_propbank_constituency"
    for part, name in (("train.part00", "train"), ("dev", "dev"), ("test", "test")):
        write(treebank / f"en_ewt-ud-{part}.conllu", trees)
        write(merged / f"ewt_{name}.tsv", brackets)
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(data.ORDER_VARIABLE, raising=False)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_embedded_material_is_the_grammar_s():
    assert material.sentences(5, 3, "test") == generate(5, seed=3, split="test")
    assert material.sentences(5, 3, "validation") == generate(5, seed=3, split="test")
    bank, unseen = material.treebank(6, 2, seed=4), generate(4, seed=4, split="test")
    assert (bank.train, bank.development, bank.test) == (generate(6, seed=4), unseen[:2], unseen[2:])
    assert all(bank.scored("train"))
    assert material.same_words(4, 2, 1) == (generate(4, seed=1), generate(2, seed=1001))


def test_real_sentences_have_the_grammar_s_form_and_fit_every_model(folder):
    (sentence, *others) = material.sentences(100, source="ud_english_ewt")
    assert len(others) == 23, "the rejected ones are still there"
    assert sentence.chunks == ("B-NP", "I-NP", "B-VP", "I-VP", "B-PP", "B-NP", "O")
    assert sentence.number[1] == "plural" and sentence.tense[2] == "past" and sentence.heads == (1, 3, 3, -1, 5, 3, 3)
    assert (sentence.features["subject"], sentence.features["focus"], sentence.features["depth"]) == (1, 2, 2)


def test_a_seed_draws_the_same_sentences_and_parts_never_overlap(folder):
    first, again, other = (material.sentences(8, seed, source="ud_english_ewt") for seed in (0, 0, 1))
    assert first == again != other
    left, right = material.same_words(20, 10, source="ewt_propbank")
    assert len(left) == 13 and len(right) == 7 and not {id(s) for s in left} & {id(s) for s in right}


def test_brackets_become_ancestors_and_arguments(folder):
    row = next(read_propbank(folder / "spans/ewt_propbank_constituency", "test"))
    assert row.ancestors[0] == ("NP", "S", "TOP") and row.ancestors[5] == ("NP", "PP", "VP")
    assert row.ancestors[6] == ("S", "TOP", "TOP")
    (predicate,) = row.predicates
    assert predicate.index == 3 and predicate.arguments == (("ARG0", 0, 2), ("V", 3, 4), ("ARGM-LOC", 4, 6))
    sentences = material.sentences(100, source="ewt_propbank")
    assert len(sentences) == 20 and sentences[0].ancestors == row.ancestors
    assert sentences[0].roles == (None, "ARG0", None, None, None, None, None)


def test_faults_in_brackets_are_told_with_their_line(folder):
    path = folder / "spans/ewt_propbank_constituency/ewt_test.tsv"
    path.write_text("1\tThe\tDT\t(S(NP*)\t-\t-\n", encoding="utf-8")
    with pytest.raises(BertologyError, match=r"ewt_test\.tsv:2: brackets"):
        list(read_propbank(path.parent, "test"))
    path.write_text("1\tThe\tDT\n", encoding="utf-8")
    with pytest.raises(BertologyError, match=r"ewt_test\.tsv:1: 3 columns"):
        list(read_propbank(path.parent, "test"))


def test_probes_of_words_train_and_test_on_different_content_words(folder):
    bank = material.treebank(24, 24, source="ud_english_ewt")
    lemmas = {part: np.array([lemma for s in getattr(bank, part) for lemma in s.lemmas]) for part in ("train", "test")}
    used = {part: set(lemmas[part][bank.scored(part)]) for part in lemmas}
    assert used["train"] & used["test"] == {"the", "have", "near", "."}
    assert used["train"] | used["test"] == set(lemmas["train"])
    assert {lemma for lemma in NOUNS if material.is_held_out(lemma)} == used["test"] & set(NOUNS) != set()


def test_experiments_run_on_real_sentences(folder, tiny, tiny_eager):
    bank = material.treebank(8, 4, source="ewt_propbank")
    scores = syntax_probes.label_sweep(tiny, bank, ("upos", "parent"), steps=3, epochs=1)
    items = bank.scored("test").sum()
    guesses = syntax_probes.ancestor_baselines(bank, "parent", scores["upos"].read)
    assert scores["parent"].test.shape[-1] == items == guesses["by_tag"].shape[-1]
    assert not np.isnan(syntax_trees.chain_scores(bank.test)["uuas"]).any()
    assert not np.isnan(syntax_trees.attention_trees(tiny_eager, bank).test).any()
    control = syntax_probes.control_sweep(tiny, 8, layers=[1], source="ewt_propbank", steps=3, epochs=1)
    assert control["task"].shape == control["control"].shape


def test_an_absent_set_and_an_unknown_source_are_told(folder, monkeypatch, tmp_path):
    with pytest.raises(BertologyError, match="ud_english_gum"):
        material.sentences(3, source="ud_english_gun")
    monkeypatch.delenv(data.FOLDER_VARIABLE)
    with pytest.raises(BertologyError, match="Set BERTOLOGY_DATA to a folder that holds ud_english_ewt"):
        material.sentences(3, source="ud_english_ewt")


def test_the_record_names_the_data_of_each_claim(folder, tiny, tiny_twin, tmp_path):
    chapter = Chapter("syntax", tiny.name, "full", 0, str(tmp_path / "syntax.json"))
    chapter.__dict__.update(specimen=tiny, twin=tiny_twin)
    assert chapter.source(full="ewt_propbank") == "ewt_propbank"
    assert Chapter("syntax", tiny.name, "live", 0, None).source(full="ewt_propbank") == "embedded"
    values = {"right_branching": np.full(30, 0.4)}
    chapter.test("dataset-ptb-stanford", values, values, data="ewt_propbank")
    chapter.not_testable("sva-in-cloze", "a reason")
    chapter.close()
    record = json.loads(chapter.record_path.read_text(encoding="utf-8"))
    assert [result["data"] for result in record["results"]] == ["ud_english_ewt + ewt_propbank", "embedded"]
    assert record["data_sets"].keys() == {"ud_english_ewt", "ewt_propbank"}
    first = record["data_sets"]["ud_english_ewt"]
    assert first["licence"] == "CC BY-SA 4.0" and first["sha256"] == data.identity("ud_english_ewt")["sha256"]
    (folder / "ud_english_ewt" / "en_ewt-ud-dev.conllu").write_text("", encoding="utf-8")
    assert first["sha256"] != data.identity("ud_english_ewt")["sha256"]


IOB = """# sent_id = owl-{i}
1\tThe\tO\t-\t-
2\t{noun}s\tO\t-\t-
3\thad\tO\t-\t-
4\tslept\tO\t-\t-
5\tnear\tO\t-\t-
6\tParis\tB-LOC\t-\t-
7\t.\tB-O\t-\t-

"""


def test_names_join_the_other_layers_of_annotation_and_sentences_without_one_are_left_out(folder):
    names = "".join(IOB.format(i=i, noun=NOUNS[i % 8]) for i in range(10))
    for part in ("train", "dev", "test"):
        write(folder / f"spans/uner/UNER_English-EWT/en_ewt-ud-{part}.iob2", names)
    bank = material.train_and_test(99, 99, source="ewt_all")
    assert len(bank.train) == len(bank.test) == 10 and bank.development == []
    assert bank.test[0].entities == (None,) * 5 + ("LOC", None) and bank.test[0].roles[1] == "ARG0"
    kept = [semantic_sets.entity_items(9, split, source="ewt_all") for split in ("train", "test")]
    assert sorted(map(len, kept)) == [0, 9]
    assert {(item.words[item.place], item.label) for item in kept[0] + kept[1]} == {("Paris", "LOC")}
    roles = [i.lemma for split in ("train", "test") for i in semantic_sets.role_items(9, split, source="ewt_all")]
    assert set(roles) == set(NOUNS)
    assert material.sources("ewt_all + embedded") == ("ud_english_ewt", "ewt_propbank", "uner_ewt", "embedded")


def test_word_tasks_and_sentence_tasks_on_a_treebank(folder):
    bank = material.treebank(24, 24, source="ewt_propbank")
    task = tasks.word_task("pos", bank, 500)
    for part in ("train", "test"):
        sentences, items = getattr(bank, part), getattr(task, part)
        assert items.labels == [sentences[i].upos[w] for i, w in items.items]
        lemmas = {sentences[i].lemmas[w] for i, w in items.items} & set(NOUNS)
        assert lemmas and all(material.is_held_out(lemma) == (part == "test") for lemma in lemmas)
    task = tasks.sentence_task("bigram shift", 24, 24, source="ud_english_ewt")
    assert len(task.train.items) == len(task.test.items) == 24 and sum(task.train.labels) == 12


def test_open_sesame_points_at_its_target(folder):
    for name, train, unseen in (
        ("aux", "our dogs can move\t2\n", "the cat that will eat can run\t5\n"),
        ("sbjn", "my ant will move\t1\n", "my queen bee will move\t2\n"),
    ):
        write(folder / f"agreement/lin_open_sesame/data_{name}/{name}.train", train)
        write(folder / f"agreement/lin_open_sesame/data_{name}/{name}.gen", unseen)
    (known,) = ambiguous.pointed_sentences(9, False, source="open_sesame")
    assert known.words[known.target] == "can"
    (unseen,) = ambiguous.pointed_sentences(9, True, task="subject", source="open_sesame")
    assert unseen.words[unseen.target] == "bee"
    generated = ambiguous.ambiguous_sentences(3, True, 5, "test", "subject")
    pointed = ambiguous.pointed_sentences(3, True, 5, "test", "subject")
    assert [(p.words, p.target) for p in pointed] == [(s.words, s.features["target"]) for s in generated]
