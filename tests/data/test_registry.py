"""The registry and the readers, on tiny files in the original formats, written here."""

import gzip
import json

import pytest

from bertology_utils.data import readers
from bertology_utils.data import registry as data
from bertology_utils.data.rows import Labelled
from bertology_utils.errors import BertologyError

FILES = {
    "agreement/zorro/sentences/babyberta/number.txt": (
        "the owls sleeps .\nthe owl sleeps .\nthe cats runs .\nthe cat runs .\n"
    ),
    "agreement/marvin_linzen_text/simple.txt": "True\tthe owl sleeps\nFalse\tthe owl sleep\n",
    "agreement/marvin_linzen_text/LICENSE_NOTE.txt": "licence\n",
    "agreement/gulordava/linzen_testset/subj_agr_filtered.text": "the owls of the wood sleep here . <eos>\n",
    "agreement/gulordava/linzen_testset/subj_agr_filtered.eval": "5\n",
    "agreement/gulordava/linzen_testset/subj_agr_filtered.gold": "5\tsleep\tsleeps\t1\n",
    "agreement/gulordava/agreement/English/generated.text": "the owl of woods reads here <eos>\n",
    "agreement/gulordava/agreement/English/generated.eval": "4\n",
    "agreement/gulordava/agreement/English/generated.gold": (
        "P\t1\t7\t4\tVERB\tF\tsleeps\tsleep\tsleep\t2\tNOUN\tthe owl of woods\n"
    ),
    "agreement/warstadt_npi/splits/acceptability_minimal_pairs.tsv": "NPI-only\tOwls ever nap."
    "\tOwls often nap.\t0\tenv=only_licensor=0_scope=1_npi_present=1-0\n"
    "NPI-only\tOnly owls ever nap.\tThe owls ever nap.\t1\tenv=only_licensor=1-0_scope=1_npi_present=1\n",
    "cloze/ettinger_lm_diagnostics/datasets/CPRAG-102/CPRAG-102.tsv": (
        "item\tcontext_s1\tcontext_s2\texpected\twithin_category\tbetween_category\tconstraint\n0\tIt "
        "was dark.\tHe lit a\tlamp\ttorch\tdog\tH\n"
    ),
    "cloze/ettinger_lm_diagnostics/datasets/ROLE-88/ROLE-88.tsv": (
        "item\tcontext\texpected\texp_cloze\ttarget\n1-a\twhich cat the dog had \tchased|seen\t0.5\tchased\n"
    ),
    "cloze/ettinger_lm_diagnostics/datasets/NEG-136/NEG-136-SIMP.tsv": (
        "item\tcontext_aff\tcontext_neg\ttarget_aff\ttarget_neg\n0\tA wasp is (a|an)\tA wasp is not "
        "(a|an)\tinsect\ttree\n"
    ),
    "cloze/ettinger_lm_diagnostics/datasets/NEG-136/NEG-136-NAT.tsv": (
        "item\tcontext_aff\tcontext_neg\ttarget_aff\ttarget_neg\tlicensing\n0\tIce is\tIce isn't\tcold\thot\tY\n"
    ),
    "semantics/coarsewsd20/CoarseWSD-20/bank/classes_map.txt": json.dumps({"0": "bank_river", "1": "bank_money"}),
    "semantics/coarsewsd20/CoarseWSD-20/bank/test.data.txt": "1\tthe bank lends .\n3\ton the steep bank\n",
    "semantics/coarsewsd20/CoarseWSD-20/bank/test.gold.txt": "1\n0\n",
    "semantics/wic/dev/dev.data.txt": "hook\tV\t0-1\tHook a fish .\tHe hooked it .\n",
    "semantics/wic/dev/dev.gold.txt": "T\n",
    "spans/semeval2010_task8/keys/TEST_FILE_FULL.TXT": (
        '8001\t"The <e1>storm</e1> caused a long <e2>power cut</e2>."\nCause-Effect(e1,e2)\nComment: none\n\n'
    ),
    "world/lama_probe_raw/relations.jsonl": json.dumps({"relation": "P36", "template": "The capital of [X] is [Y] ."}),
    "world/lama_probe_raw/TREx/P36.jsonl": json.dumps({"sub_label": "Peru", "obj_label": "Lima"}),
    "glue/SST-2/dev.tsv": 'sentence\tlabel\na "quoted charm . \t1\n',
    "glue/subsets_prompt/glue_pretrain/MNLI/dev.json": json.dumps(
        {"0": {"text_a": "a", "text_b": "b", "label": "neutral"}}
    ),
    "glue/MRPC_original/msr_paraphrase_test.txt": (
        '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tHe "ran" .\tShe said he ran .\n'
    ),
    "glue/STS-B_QQP/STS-B/original/sts-dev.tsv": (
        'main-news\theadlines\t2015\t0001\t4.750\tA "b .\tC d .\nmain-news\tx\t2012\t2\t0.000\te\tf\tsource\tother\n'
    ),
    "glue/CoLA/raw/in_domain_dev.tsv": 'gj04\t0\t*\tThe sailors rode the breeze clear .\nbc01\t1\t\tHe "ran .\n',
    "glue/HANS/hans_small.tsv": (
        "gold_label\tsentence1\tsentence2\tpairID\theuristic\tsubcase\ttemplate\nentailment\ta\tb\te0\t"
        "subsequence\tx\tt\n"
    ),
    "multilingual_eval/tatoeba_laser/tatoeba.deu-eng.deu": "Die Eule.\nDer Hund.\n",
    "multilingual_eval/tatoeba_laser/tatoeba.deu-eng.eng": "The owl.\nThe dog.\n",
    "ud_pud/UD_German-PUD/de_pud-ud-test.conllu": "1\tEule\teule\tNOUN\t_\t_\t0\troot\t_\t_\n",
    "ud_english_ewt/train_rebuilt/en_ewt-ud-train.part00.conllu": "1\tOwl\towl\tNOUN\t_\t_\t0\troot\t_\t_\n",
    "ud_english_ewt/train_rebuilt/en_ewt-ud-train.part01.conllu": "1\tDog\tdog\tNOUN\t_\t_\t0\troot\t_\t_\n",
}


@pytest.fixture
def folder(tmp_path, data_folder):
    for name, text in FILES.items():
        data_folder(name, text)
    return tmp_path


def rows(name, split="test"):
    return data.load(name, split).rows


def test_zorro_puts_the_ungrammatical_sentence_first(folder):
    first, second = rows("zorro")
    assert first.good == ("the", "owl", "sleeps", ".") and first.bad[1] == "owls" and first.focus == 1
    assert rows("zorro:number") == [first, second]


def test_marvin_linzen_pairs_lines_and_reports_a_broken_pair(folder):
    (pair,) = rows("marvin_linzen:simple")
    assert (pair.good[pair.focus], pair.bad[pair.focus]) == ("sleeps", "sleep")
    (folder / "agreement/marvin_linzen_text/simple.txt").write_text("False\ta\nTrue\tb\n")
    with pytest.raises(BertologyError, match=r"simple\.txt:1"):
        rows("marvin_linzen:simple")


def test_gulordava_replaces_the_verb_by_its_two_forms(folder):
    (pair,) = rows("gulordava")
    assert pair.good == ("the", "owl", "of", "woods", "sleeps", "here") and pair.bad[4] == "sleep" and pair.focus == 4
    assert pair.condition == {"sentence": 7, "construction": "P 1"}
    (natural,) = rows("gulordava:linzen")
    assert natural.bad[5] == "sleeps" and natural.condition == {"attractors": 1}


def test_warstadt_label_says_which_sentence_is_good(folder):
    first, second = rows("warstadt_npi")
    assert first.good[1] == "often" and second.good[0] == "Only"
    assert first.condition["npi_present"] == "1-0"


def test_ettinger_contexts(folder):
    cprag, role, affirmative, negative, *_ = rows("ettinger")
    assert (cprag.context, cprag.alternatives, cprag.condition) == (
        "It was dark. He lit a",
        ("torch", "dog"),
        "cprag H",
    )
    assert role.expected == ("chased", "seen")
    assert (affirmative.context, affirmative.expected) == ("A wasp is an", ("insect",))
    assert (negative.context, negative.expected) == ("A wasp is not an", ("tree",))


def test_senses_and_relations(folder):
    for sense in rows("coarsewsd20:bank"):
        assert sense.words[sense.index] == "bank"
    assert [sense.sense for sense in rows("coarsewsd20")] == ["bank_money", "bank_river"]
    (pair,) = rows("wic", "dev")
    assert pair.same and pair.words_b[pair.index_b] == "hooked" and pair.upos == "VERB"
    (relation,) = rows("semeval2010_task8")
    assert relation.words[slice(*relation.span_b)] == ("power", "cut") and relation.words[slice(*relation.span_a)] == (
        "storm",
    )
    assert relation.label == "Cause-Effect(e1,e2)"


def test_labelled_texts_facts_and_translations(folder):
    assert rows("sst2", "validation")[0].text == 'a "quoted charm .'
    assert rows("mnli", "validation")[0].text_b == "b" and rows("hans:subsequence")[0].group == "subsequence/x"
    assert rows("mrpc") == [Labelled('He "ran" .', "1", "She said he ran .")]
    graded = rows("stsb", "validation")
    assert graded[0] == Labelled('A "b .', "4.750", "C d .", "main-news") and (graded[1].text, graded[1].text_b) == (
        "e",
        "f",
    )
    assert [(row.label, row.group) for row in rows("cola", "validation")] == [("0", "gj04"), ("1", "bc01")]
    assert rows("lama:P36")[0].object == "Lima"
    assert rows("tatoeba:de")[1].english == rows("tatoeba:deu")[1].english == "The dog."


def test_compressed_news_is_parallel_line_by_line(folder):
    news = folder / "multilingual_eval/ntrex128"
    news.mkdir(parents=True)
    for code, text in {
        "en": "The owl.\nThe dog.\n",
        "de": "Die Eule.\nDer Hund.\n",
        "fr": "Le hibou.\nLe chien.\n",
    }.items():
        (news / f"{code}.txt.gz").write_bytes(gzip.compress(text.encode()))
    (_, second) = rows("ntrex128:de")
    assert (second.text, second.english, second.language, second.line) == ("Der Hund.", "The dog.", "de", 1)
    assert [row.language for row in rows("ntrex128")] == ["de", "de", "fr", "fr"]
    with pytest.raises(BertologyError, match="language in ntrex128"):
        rows("ntrex128:xx")
    (news / "de.txt.gz").write_bytes(gzip.compress(b"Die Eule.\n"))
    with pytest.raises(BertologyError, match="not in its original format"):
        rows("ntrex128:de")


def test_treebanks(folder):
    assert rows("ud_pud:de")[0].language == "de"
    assert [tree.words[0] for tree in rows("ud_english_ewt", "train")] == ["Owl", "Dog"]
    with pytest.raises(BertologyError, match="language"):
        rows("ud_pud:xx")


def test_unknown_names_are_told_with_the_nearest(folder):
    with pytest.raises(BertologyError, match="zorro"):
        data.load("zoro")
    with pytest.raises(BertologyError, match="no split 'train'"):
        data.load("zorro", "train")
    with pytest.raises(BertologyError, match="no parts"):
        data.load("wic:bank", "test")


def test_missing_folder_is_a_clear_message(folder, monkeypatch, tmp_path):
    monkeypatch.delenv(data.FOLDER_VARIABLE)
    with pytest.raises(BertologyError, match=f"Set {data.FOLDER_VARIABLE} to a folder that holds agreement/zorro"):
        data.load("zorro")
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(BertologyError, match="not a folder"):
        data.load("zorro")


def test_order_of_sources_is_the_users(folder, monkeypatch):
    monkeypatch.setitem(
        data.REGISTRY,
        "zorro",
        data.DataSet(
            "zorro",
            "MinimalPair",
            "MIT",
            "2",
            ("test",),
            embedded=lambda split: ["mine"],
            folder="agreement/zorro",
            reader=readers.read_zorro,
        ),
    )
    assert data.load("zorro").source == "embedded"
    monkeypatch.setenv(data.ORDER_VARIABLE, "local, embedded")
    assert data.load("zorro").source == "local"
    assert "hub" not in data.DEFAULT_SOURCES  # nothing is fetched from the network unless it is asked for
    monkeypatch.setenv(data.ORDER_VARIABLE, "web")
    with pytest.raises(BertologyError, match="source"):
        data.load("zorro")


def test_identity_of_rows_and_the_listing(folder):
    assert data.load("zorro").sha256 == data.load("zorro").sha256 != data.load("marvin_linzen").sha256
    listed = {row["name"].split(":")[0]: row for row in data.describe()}
    assert listed["zorro"]["here"] == "local" and listed["sst2"]["sources"] == "local hub"
    assert all(row["licence"] and row["size"] for row in listed.values())


def test_embedded_grammar_is_annotated():
    loaded = data.load("grammar", "test")
    assert loaded and loaded.source == "embedded"
    assert all(len(row.words) == len(row.heads) for row in loaded)
