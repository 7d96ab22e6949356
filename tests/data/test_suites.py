"""The suites that people have, by the format of each: what is scored, how it is judged, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertology_utils.data.suites import Formula, Passage, read_suite
from bertology_utils.errors import BertologyError

EWOK = {"Domain": "agents", "Context1": "Ann likes it", "Context2": "Ann hates it",
        "Target1": "she smiles", "Target2": "she frowns"}  # fmt: skip
COMPS = {"prefix_acceptable": "a dog", "prefix_unacceptable": "a pen", "property_phrase": "can bark."}
SYNTAXGYM = {
    "meta": {"name": "number"},
    "predictions": [{"type": "formula", "formula": "(2;%bad%) > (2;%good%)"}],
    "items": [
        {
            "item_number": 1,
            "conditions": [
                {"condition_name": name, "regions": [{"region_number": 2, "content": f"{verb} now"},
                                                     {"region_number": 1, "content": "The dogs"}]}
                for name, verb in (("good", "run"), ("bad", "runs"))
            ],
        }
    ],
}  # fmt: skip


def write(tmp_path, name, text):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def words(item):
    return [" ".join(passage.words[passage.start : passage.end]) for passage in item.passages]


@pytest.mark.parametrize(
    ("name", "text", "paradigm"),
    [
        ("p.jsonl", json.dumps({"sentence_good": "a b", "sentence_bad": "b a", "UID": "order"}), "order"),
        ("p.tsv", "lang\tsen\twrong_sen\tphenomenon\nen\ta b\tb a\tSV-#\n", "SV-#"),
        ("p.txt", "b a\na b\n", "p"),
        ("p.tsv", "a b\tb a\n", "p"),
        ("p.csv", '"a b","b a"\n', "p"),
        ("p.csv", "good,bad\na b,b a\n", "p"),
        ("p.csv", "bad,good\nb a,a b\n", "p"),
        ("p.csv", "\ufeffgood,bad\na b,b a\n", "p"),
        ("p.csv", "Good, Bad\na b,b a\n", "p"),
        ("p.txt", "b\u2028a\na\x85b\n", "p"),
        ("p.jsonl", '{"sentence_good": "a\u2028b", "sentence_bad": "b a", "UID": "a\\tb\\n\\u0000"}\r\n', "a b"),
    ],
)
def test_two_sentences_in_every_format(tmp_path, name, text, paradigm):
    (item,) = read_suite(write(tmp_path, name, text))
    assert (item.paradigm, words(item)) == (paradigm, ["a b", "b a"])
    assert [item.judge(scores) for scores in ([-1, -2], [-2, -1], [-1, -1])] == [1, 0, 0.5]


def test_a_property_is_scored_behind_two_concepts(tmp_path):
    (item,) = read_suite(write(tmp_path, "comps.jsonl", json.dumps(COMPS)))
    assert words(item) == ["can bark."] * 2
    assert item.passages[0] == Passage(("a", "dog", "can", "bark."), 2, 4)


def test_two_targets_are_each_compared_over_two_contexts(tmp_path):
    (item,) = read_suite(write(tmp_path, "ewok.jsonl", json.dumps(EWOK)))
    assert item.paradigm == "agents" and words(item) == ["she smiles"] * 2 + ["she frowns"] * 2
    contexts = [" ".join(passage.words[: passage.start]) for passage in item.passages]
    assert contexts == ["Ann likes it", "Ann hates it", "Ann hates it", "Ann likes it"]
    assert item.judge([-1, -2, -1, -2]) == 1 and item.judge([-1, -2, -2, -1]) == 0.5


def test_regions_are_compared_by_surprisal(tmp_path):
    (item,) = read_suite(write(tmp_path, "sg.json", json.dumps(SYNTAXGYM)))
    assert item.paradigm == "number" and words(item) == ["runs now", "run now"]
    assert item.judge([-9, -1]) == 1 and item.judge([-1, -9]) == 0 and item.judge([-1, -1]) == 0.5


@pytest.mark.parametrize(
    ("formula", "surprisals", "right"),
    [
        ("[(1;%a%) + (2;%a%)] < (*;%b%)", {"1a": 1, "2a": 2, "*b": 4}, 1),
        ("(1;%a%) - (2;%a%) > (1;%b%) - (2;%b%)", {"1a": 5, "2a": 1, "1b": 4, "2b": 1}, 1),
        ("(1;%a%) > (1;%b%) & (2;%a%) > (2;%b%)", {"1a": 5, "2a": 1, "1b": 4, "2b": 2}, 0),
        ("((1;%a%) > (1;%b%)) | ((2;%a%) > (2;%b%))", {"1a": 5, "2a": 1, "1b": 4, "2b": 2}, 1),
        ("(1;%a%) = (1;%b%)", {"1a": 2, "1b": 2}, 1),
    ],
)
def test_predictions_are_sums_and_comparisons(tmp_path, formula, surprisals, right):
    rule = Formula(formula, tmp_path)
    assert rule.judge([-surprisals[region + condition] for region, condition in rule.regions]) == right


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("p.jsonl", '{"sentence_good": "a", "sentence_bad": 3}', "'sentence_bad' is no text"),
        ("p.jsonl", "{broken", ":1: no json"),
        ("p.jsonl", '{"text": "a"}', "no item of"),
        ("p.jsonl", "", "no items"),
        ("p.json", "[]", "no suite of SyntaxGym"),
        ("p.json", json.dumps(SYNTAXGYM | {"predictions": [{"formula": "__import__('os')"}]}), "cannot be read"),
        ("p.json", json.dumps(SYNTAXGYM | {"predictions": [{"formula": "(7;%bad%) > (2;%good%)"}]}), "no region 7"),
        ("p.json", json.dumps(SYNTAXGYM | {"predictions": [{"formula": "(2;%ugly%) > 0"}]}), "no condition 'ugly'"),
        ("p.json", json.dumps(SYNTAXGYM | {"predictions": [{"formula": "3 > 2"}]}), "about no region"),
        ("p.json", json.dumps(SYNTAXGYM | {"predictions": [{"formula": 3}]}), "no suite of SyntaxGym"),
        ("p.json", json.dumps(SYNTAXGYM).replace('"The dogs"', "5"), "no suite of SyntaxGym"),
        ("p.json", "[" * 100_000, "no suite of SyntaxGym"),
        ("p.jsonl", "[" * 100_000, ":1: no json"),
        ("p.jsonl", r'{"sentence_good": "a \ud800", "sentence_bad": "b"}', ":1: no json"),
        ("p.jsonl", json.dumps(EWOK | {"Target1": " "}), ":1: what is to be scored is empty"),
        ("p.jsonl", json.dumps(COMPS | {"property_phrase": ""}), ":1: what is to be scored is empty"),
        ("p.csv", "good,bad\n" + "a " * 100_000 + ",b\n", "is no table"),
        ("p.txt", "one\ntwo\nthree\n", "3 sentences"),
        ("p.tsv", "a\tb\tc\n", "neither two columns"),
        ("p.tsv", "sen\twrong_sen\nonly one\n", ":2: 1 columns"),
        ("p.csv", "a b, \n", "a sentence is empty"),
        ("p.xlsx", "", "is no suite"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(tmp_path, name, text, told):
    with pytest.raises(BertologyError) as caught:
        read_suite(write(tmp_path, name, text))
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_a_folder_is_all_of_its_files(tmp_path):
    write(tmp_path, "LICENSE.txt", "All rights to whom they belong.\n")
    write(tmp_path, "en/._one.txt", "what one kind of archive adds to each file")
    write(tmp_path, "en/one.txt", "b\na\n")
    write(tmp_path, "en/two.tsv", "a\tb\n")
    assert [item.paradigm for item in read_suite(tmp_path)] == ["one", "two"]
    with pytest.raises(BertologyError, match="has no file that ends in"):
        read_suite(write(tmp_path, "empty/LICENSE.txt", "").parent)
    with pytest.raises(BertologyError, match="cannot be read"):
        read_suite(tmp_path / "absent.txt")


@given(text=st.text(max_size=200), name=st.sampled_from(["p.jsonl", "p.json", "p.tsv", "p.csv", "p.txt"]))
def test_any_text_is_read_or_refused(tmp_path_factory, text, name):
    path = tmp_path_factory.mktemp("suite") / name
    path.write_text(text, encoding="utf-8", newline="")
    try:
        assert read_suite(path)
    except BertologyError as error:
        assert str(error).count("\n") <= 1


@given(text=st.text(alphabet="()[]<>=&|+-*;%ab12 .", max_size=60))
def test_any_prediction_is_read_or_refused(tmp_path_factory, text):
    try:
        rule = Formula(text, tmp_path_factory.getbasetemp())
    except BertologyError:
        return
    assert 0 <= rule.judge([-1.0] * len(rule.regions)) <= 1
