"""The treebank reader: what it keeps, and that every fault is told with file and line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertology_utils.data.conllu import read_conllu
from bertology_utils.errors import BertologyError


def row(identity, form, head, deprel="dep", upos="X", features="_"):
    return "\t".join([identity, form, form.lower(), upos, "_", features, str(head), deprel, "_", "_"])


def write(tmp_path, *lines):
    path = tmp_path / "tiny.conllu"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_heads_are_zero_based_and_features_are_read(tmp_path):
    path = write(
        tmp_path,
        "# sent_id = s1",
        "# text = Owls sleep",
        row("1", "Owls", 2, "nsubj", "NOUN", "Case=Nom|Number=Plur"),
        row("2", "sleep", 0, "root", "VERB", "Tense=Pres"),
    )
    (tree,) = read_conllu(path, "en")
    assert (tree.words, tree.heads, tree.deprels) == (("Owls", "sleep"), (1, -1), ("nsubj", "root"))
    assert tree.number == ("Plur", None) and tree.tense == (None, "Pres")
    assert (tree.identity, tree.text, tree.language) == ("s1", "Owls sleep", "en")


def test_multiword_ranges_and_empty_nodes_do_not_count_as_words(tmp_path):
    path = write(
        tmp_path,
        row("1-2", "don't", "_"),
        row("1", "do", 3),
        row("2", "n't", 3),
        row("3", "go", 0, "root"),
        row("3.1", "there", "_"),
        row("4", "now", 3),
    )
    (tree,) = read_conllu(path)
    assert tree.words == ("do", "n't", "go", "now")
    assert tree.heads == (2, 2, -1, 2)
    assert tree.multiword == ((0, 1, "don't"),)


def test_several_sentences_without_a_final_empty_line(tmp_path):
    path = write(tmp_path, row("1", "a", 0), "", "", "# only a comment", "", row("1", "b", 0))
    assert [tree.words for tree in read_conllu(path)] == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("lines", "line", "fault"),
    [
        ([row("1", "a", 2), row("2", "b", 3), row("3", "c", 2), row("4", "d", 0)], 2, "cycle"),
        ([row("1", "a", 0), row("2", "b", 1)[:-2]], 2, "9 columns"),
        ([row("1", "a", 0), row("2", "b", 0)], 2, "2 roots"),
        ([row("1", "a", 1)], 1, "no root"),
        ([row("1", "a", 0), row("2", "b", 7)], 2, "out of range"),
        ([row("1", "a", 0), row("3", "b", 1)], 2, "word id"),
        ([row("1", "a", "_")], 1, "not a number"),
        ([row("1", "a", "²")], 1, "not a number"),
        ([row("1", "a", "٣")], 1, "not a number"),
        ([row("1-9", "ab", "_"), row("1", "a", 0), row("2", "b", 1)], 1, "ends after the sentence's 2 words"),
        ([row("2-3", "bc", "_"), row("1", "a", 0)], 1, "stands before word 1"),
        ([row("1-3", "a", "_"), row("1", "a", 0), row("2-3", "b", "_")], 3, "within another"),
        ([row("1-²", "a", "_"), row("1", "a", 0)], 1, "not first-last"),
        ([row("1", "", 0)], 1, "the word is empty"),
        ([row("1", "a", 0).replace("\ta\t", "\t \t", 1)], 1, "the word is empty"),
    ],
)
def test_faults_name_file_and_line(tmp_path, lines, line, fault):
    path = write(tmp_path, row("1", "fine", 0), "", *lines)  # the faulty sentence begins on line 3
    with pytest.raises(BertologyError, match=rf"tiny\.conllu:{line + 2}: .*{fault}"):
        list(read_conllu(path))


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    path = tmp_path / "tiny.conllu"
    path.write_text("\ufeff" + row("1", "a", 0) + "\n", encoding="utf-8")
    assert [tree.words for tree in read_conllu(path)] == [("a",)]


PIECES = (
    "1",
    "2",
    "3",
    "1-2",
    "2-4",
    "1.1",
    "0",
    "_",
    "",
    "a",
    "²",
    "# x = y",
    "root",
    "A=B|C",
    "\t",
    "\n",
    "\n\n",
    " ",
)


@given(text=st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text(max_size=100))
def test_any_text_is_a_treebank_or_refused_with_its_line(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("conllu") / "any.conllu"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        trees = list(read_conllu(path))
    except BertologyError as error:
        assert "any.conllu:" in str(error)
        return
    assert all(sum(head < 0 for head in tree.heads) == 1 and all(tree.words) for tree in trees)


@pytest.mark.parametrize("line", ["1.1\tgone" + "\t_" * 8, "1\tdogs\t_\tNOUN\t_\t_\t" + "9" * 5000 + "\troot\t_\t_"])
def test_nodes_without_words_and_endless_numbers_are_refused(tmp_path, line):
    path = tmp_path / "odd.conllu"
    path.write_text(line + "\n\n", encoding="utf-8")
    with pytest.raises(BertologyError, match=r"odd.conllu:1: (no words|head)"):
        list(read_conllu(path))


def test_what_is_no_file_is_a_clear_error(tmp_path):
    with pytest.raises(BertologyError, match="cannot be read"):
        list(read_conllu(tmp_path))
    with pytest.raises(BertologyError, match="no treebank file"):
        list(read_conllu(tmp_path / "absent.conllu"))
