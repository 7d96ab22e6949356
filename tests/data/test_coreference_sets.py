"""Pronouns and their antecedents from GUM, on documents in its format, written here."""

import pytest

from bertology_utils.data import registry as data
from bertology_utils.data.coreference_sets import coreferences
from bertology_utils.errors import BertologyError
from bertology_utils.language import coreference
from bertology_utils.studies.attention.anaphora import antecedent_attentions, antecedent_hits
from bertology_utils.studies.layers import tasks

# word, tag, number, head (from 1), brackets of the mentions
WOMEN = """The DET _ 2 (person-1
women NOUN Plur 4 person-1)
had AUX _ 4 _
seen VERB _ 0 _
the DET _ 6 (animal-2
owl NOUN Sing 4 animal-2)
of ADP _ 8 _
Paris PROPN Sing 6 (place-3-Paris)
. PUNCT _ 4 _"""
THEY = """They PRON Plur 2 (person-1)
fed VERB _ 0 _
it PRON Sing 2 (animal-2)
. PUNCT _ 2 _"""
NESTED = """The DET _ 2 (person-4
king NOUN Sing 6 _
of ADP _ 4 _
Rome PROPN Sing 2 (place-5)person-4)
once ADV _ 6 _
lost VERB _ 0 _
his PRON Sing 8 (object-6(person-4)
crown NOUN Sing 6 object-6)
. PUNCT _ 6 _"""


def conllu(name, sentences):
    blocks = []
    for i, sentence in enumerate(sentences):
        rows = [line.split() for line in sentence.splitlines()]
        lines = [
            f"{k}\t{word}\t{word.lower()}\t{tag}\t_\t{'_' if number == '_' else f'Number={number}'}\t{head}\tdep\t_\t_"
            for k, (word, tag, number, head, _) in enumerate(rows, 1)
        ]
        blocks.append("\n".join([f"# newdoc id = {name}"] * (i == 0) + [f"# sent_id = {name}-{i}", *lines]))
    return "\n\n".join(blocks) + "\n\n"


def brackets(sentences):
    rows = [line.split() for sentence in sentences for line in sentence.splitlines()]
    return "# begin document x\n" + "".join(f"{i}\t{row[0]}\t{row[4]}\n" for i, row in enumerate(rows))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    documents = {"GUM_a_one": (WOMEN, THEY), "GUM_b_two": (NESTED, THEY), "GUM_c_three": (WOMEN, THEY)}
    gum = tmp_path / "ud_english_gum"
    files = {f"by_document/dep/{name}.conllu": conllu(name, parts) for name, parts in documents.items()}
    files |= {f"coref/coref/gum/conll/{name}.conll": brackets(parts) for name, parts in documents.items()}
    files |= {f"en_gum-ud-{part}.conllu": files[f"by_document/dep/{name}.conllu"]
              for part, name in (("dev", "GUM_b_two"), ("test", "GUM_c_three"))}  # fmt: skip
    for name, text in files.items():
        (gum / name).parent.mkdir(parents=True, exist_ok=True)
        (gum / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(data.ORDER_VARIABLE, raising=False)
    return gum


def told(items):
    return sorted([item.words[i] for i in (item.pronoun, item.antecedent, item.rival)] for item in items)


def test_a_pronoun_has_the_nearest_mention_of_its_entity_and_of_another_one(folder):
    items = coreferences(9, source="gum_coref")
    assert told(items) == [["They", "women", "Paris"], ["it", "owl", "Paris"]]
    assert {item.words[0] for item in items} == {"The"}, "the sentence before is read too"
    they = next(item for item in items if item.words[item.pronoun] == "They")
    assert they.pronoun == 9 and they.plural == (True, False)


def test_a_mention_inside_the_antecedent_is_no_rival_and_development_documents_are_for_tests(folder):
    assert told(coreferences(9, split="test", source="gum_coref")) == told(coreferences(9, source="gum_coref"))
    spans = [row.mentions for row in data.load("gum_coref", "validation")]
    assert spans[0] == ((3, 4, "5"), (0, 4, "4"), (6, 7, "4"), (6, 8, "6"))


def test_generated_pronouns_are_those_of_the_grammar():
    assert coreferences(4, 2, "test") == coreference.coreferences(4, 2, "test")


def test_rules_take_the_annotated_number_and_refuse_people_for_it(folder):
    items = coreferences(9, source="gum_coref")
    assert dict(zip((i.words[i.pronoun] for i in items), coreference.rule_hits(items), strict=True)) == {
        "They": 1.0,  # Paris is no plural
        "it": 0.0,  # Paris is nearer, and no less an "it"
    }


def test_experiments_run_on_gum(folder, tiny_eager):
    items = coreferences(9, source="gum_coref")
    hits = antecedent_hits(antecedent_attentions(tiny_eager, items))
    assert hits.shape == (2, tiny_eager.layers, tiny_eager.heads)
    part = tasks.coreference_task(9, 9, source="gum_coref").train
    assert part.labels == ["same", "other"] * 2 and len(part.items) == 4


def test_other_words_in_the_layer_are_told(folder):
    path = folder / "coref/coref/gum/conll/GUM_a_one.conll"
    path.write_text(path.read_text().replace("women", "men"))
    with pytest.raises(BertologyError, match="GUM_a_one: the coreference layer and the treebank"):
        coreferences(9, source="gum_coref")
    path.unlink()
    with pytest.raises(BertologyError, match=r"no GUM_a_one\.conll"):
        coreferences(9, source="gum_coref")
