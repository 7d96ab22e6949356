"""Minimal pairs by paradigm: judgements and averages against their plain definitions, and what is recorded."""

import copy
import csv
import dataclasses
import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from bertology_utils import cli
from bertology_utils.data import registry as data
from bertology_utils.data.suites import Item, Passage, likelier
from bertology_utils.errors import BertologyError
from bertology_utils.instruments import grammaticality
from bertology_utils.instruments.cloze import pseudo_log_likelihood, word_scores
from bertology_utils.instruments.grammaticality import (
    AVERAGE,
    judgements,
    load_suite,
    record,
    records,
    score,
    summarise,
)
from bertology_utils.language.pairs import MinimalPair, agreement_pairs
from bertology_utils.pretraining.card import add_grammar
from bertology_utils.provenance import origin

PAIRS = {"agreement": agreement_pairs(6, seed=1), "nonsense": agreement_pairs(4, nonsense=True, seed=1)}


@pytest.fixture
def zorro(tmp_path, monkeypatch):
    """A local set of two paradigms of 3 and 2 pairs; odd lines are the ungrammatical ones."""
    folder = tmp_path / "data" / "agreement" / "zorro" / "sentences" / "babyberta"
    folder.mkdir(parents=True)
    lines = ["the dogs runs .", "the dogs run .", "the cat sleep .", "the cat sleeps .", "a dogs run .", "a dog runs ."]
    (folder / "verbs.txt").write_text("\n".join(lines) + "\n")
    (folder / "nouns.txt").write_text("\n".join(lines[:4]) + "\n")
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path / "data"))
    return folder


def test_the_better_sentence_wins_and_a_tie_is_half(tiny):
    pairs = [*PAIRS["agreement"], MinimalPair(("the", "dog"), ("the", "dog"), 1, "tie")]
    plain = [float(np.greater(*pseudo_log_likelihood(tiny, [pair.good, pair.bad], "original"))) for pair in pairs[:-1]]
    assert judgements(tiny, pairs).tolist() == [*plain, 0.5]


def test_the_average_is_over_paradigms_not_over_pairs():
    judged = {"one": np.array([1.0] * 30), "two": np.array([1.0, 0.0, 0.5, 0.0])}
    scores = summarise(judged)
    assert list(scores) == [AVERAGE, "one", "two"] and scores[AVERAGE].n == 34
    assert np.isclose(scores[AVERAGE].value, (1 + 0.375) / 2)
    assert scores[AVERAGE].low < scores[AVERAGE].value < scores[AVERAGE].high
    assert scores["one"].value == 1 and scores["one"].low > 0.85


def test_the_interval_of_the_average_is_that_of_independent_pairs():
    rng = np.random.default_rng(0)
    judged = {f"paradigm {i}": (rng.random(400) < 0.7).astype(float) for i in range(20)}
    average = summarise(judged)[AVERAGE]
    spread = np.sqrt(sum(values.var() / 400 for values in judged.values())) / 20
    assert np.isclose((average.high - average.low) / 2, 1.96 * spread, rtol=0.1)


def test_pairs_are_drawn_by_seed_and_each_at_most_once(zorro):
    suite = load_suite()
    assert {name: len(pairs) for name, pairs in suite.paradigms.items()} == {"nouns": 2, "verbs": 3}
    assert suite.paradigms["verbs"][0].good == ("the", "dogs", "run", ".") and suite.seed is None
    drawn = [load_suite(pairs=2, seed=seed).paradigms["verbs"] for seed in range(6)]
    assert all(len(set(pairs)) == 2 for pairs in drawn) and len({tuple(pairs) for pairs in drawn}) > 1
    assert load_suite(pairs=2, seed=3).paradigms == load_suite(pairs=2, seed=3).paradigms


def test_rules_without_grammar_see_length_frequency_and_place_and_no_more(tiny, monkeypatch):
    frequency = {"often": -1.0, "seldom": -4.0}
    ids = {word: tiny.tokenizer.convert_tokens_to_ids(word) for word in ("the", "dog", "runs")}
    known = np.full(tiny.vocabulary_size, -3.0)
    known[ids["the"]] = frequency["often"]
    monkeypatch.setattr(grammaticality, "piece_log_frequencies", lambda specimen: known)
    pairs = [
        MinimalPair(("dog", "runs"), ("the", "dog", "runs"), 0, "shorter, rarer on average"),
        MinimalPair(("the", "runs"), ("dog", "runs"), 0, "more frequent"),
        MinimalPair(("dog", "the"), ("the", "dog"), 0, "the same words"),
    ]
    judged = grammaticality.baselines(tiny, pairs)
    assert judged["length"].tolist() == [1, 0.5, 0.5]
    assert judged["frequency"].tolist() == [0, 1, 0.5] and judged["unigram"].tolist() == [1, 1, 0.5]
    assert judged["blind"][2] != 0.5, "a place is something to go by"
    half = {rule: np.array([0.0, 1.0]) for rule in grammaticality.RULES}
    assert grammaticality.best_rule(half | {"length": np.array([0.0, 0.0])}) == 0.5
    assert grammaticality.best_rule(half | {"frequency": np.array([1.0, 1.0])}) == 1


def test_blind_scores_are_those_of_a_sentence_of_masks(tiny):
    mask = tiny.tokenizer.mask_token
    sentence = ("the", "dog", "runs")
    ids = [tiny.tokenizer.convert_tokens_to_ids(word) for word in sentence]
    with torch.no_grad():
        logits = tiny.model(**tiny.tokenizer(" ".join([mask] * 3), return_tensors="pt")).prediction_logits[0, 1:-1]
    plain = logits.log_softmax(-1)[range(3), ids].sum().item()
    passages = [Passage(("dog",), 0, 1), Passage(sentence, 0, 3)]
    assert np.isclose(grammaticality.blind_scores(tiny, passages)[1], plain, atol=1e-4)


def test_a_passage_is_scored_within_its_context_by_every_measure(tiny):
    words = ("the", "dog", "sees", "unbelievable", "cats")
    item = Item("span", (Passage(words, 3, 5), Passage(words[2:], 1, 3)), likelier)
    scores = [word_scores(tiny, [words], variant)[0] for variant in ("original", "within_word_l2r")]
    assert np.allclose(grammaticality.passage_scores(tiny, item.passages)[0], scores[0][3:].sum(), atol=1e-5)
    pieces = grammaticality.pieces_of(tiny, item.passages)
    assert tiny.tokenizer.convert_ids_to_tokens(pieces[0]) == tiny.tokenizer.tokenize("unbelievable cats")
    turned = Item("span", item.passages[::-1], likelier)
    judged = grammaticality.judgements_by_measure(tiny, [item, turned])
    assert set(judged) == {"sum", *grammaticality.MEASURES}
    assert all(values.sum() == 1 for values in judged.values())


def test_measures_differ_where_sentences_differ_in_length(tiny, monkeypatch):
    item = Item("length", (Passage(("a", "dog", "runs"), 0, 3), Passage(("dogs", "run"), 0, 2)), likelier)
    monkeypatch.setattr(grammaticality, "passage_scores", lambda *_: np.array([-6.0, -5.0]))
    judged = grammaticality.judgements_by_measure(tiny, [item])
    assert (judged["sum"], judged["per_word"]) == ([0.0], [1.0])


def test_nothing_is_cut_what_is_too_long_is_left_out_and_counted(tiny):
    long = MinimalPair(("the", *["dog"] * tiny.max_pieces), ("a", "dog"), 0, "agreement")
    whole = grammaticality.Suite({"agreement": [*PAIRS["agreement"], long], "alone": [long]}, "mine", "0" * 64, None)
    kept = grammaticality.fitted(tiny, whole)
    assert {name: len(items) for name, items in kept.paradigms.items()} == {"agreement": 6}
    judged = {"agreement": grammaticality.judgements_by_measure(tiny, kept.paradigms["agreement"])}
    shares = grammaticality.measure_shares(judged, whole, kept)
    assert (shares["agreement"]["left_out"], shares[AVERAGE]["left_out"]) == (1, 2)
    with pytest.raises(BertologyError, match="No paradigm"):
        grammaticality.fitted(tiny, dataclasses.replace(whole, paradigms={"alone": [long]}))


def test_contrasts_are_the_ways_in_which_words_differ():
    pairs = [MinimalPair(("only", x, "ever"), ("even", x, "ever"), 0, "") for x in ("i", "you")]
    assert grammaticality.contrasts(pairs) == 1
    pairs += [MinimalPair(("a", "b"), ("b", "a"), 0, ""), MinimalPair(("c", "d"), ("d", "c"), 0, "")]
    assert grammaticality.contrasts(pairs) == 2, "an order of words is no word"


def test_an_untrained_network_that_likes_a_word_is_always_right_or_always_wrong(tiny, tiny_twin):
    pairs = [MinimalPair(("the", noun, "runs"), ("the", noun, "run"), 2, "") for noun in ("dog", "cat", "boy")]
    shares = grammaticality.rule_shares(tiny, tiny_twin, {"verbs": pairs})
    assert shares["verbs"]["twin_unigram"] in (0, 1) and shares["verbs"]["contrasts"] == 1
    assert shares[AVERAGE]["best_rule"] == shares["verbs"]["best_rule"] >= 0.5


def test_a_model_without_a_head_is_told(tiny):
    from dataclasses import replace

    with pytest.raises(BertologyError, match="no masked-language-model head"):
        score(replace(tiny, has_mlm_head=False), PAIRS.items())


def test_records_name_their_origin_and_replace_those_of_the_same_model(tiny, tiny_twin, tmp_path):
    suite = grammaticality.Suite(PAIRS, "grammar", "0" * 64, 0)
    ours, theirs = score(tiny, PAIRS.items()), score(tiny_twin, PAIRS.items())
    path = tmp_path / "results" / "scores.csv"
    rules = grammaticality.rule_shares(tiny, tiny_twin, PAIRS)
    rows = records(tiny, ours, theirs, suite, origin(tmp_path), rules)
    record(path, rows)
    record(path, records(tiny_twin, theirs, ours, suite, origin(tmp_path), rules))
    record(path, rows)
    with path.open() as file:
        stored = list(csv.DictReader(file))
    assert [row["model"] for row in stored] == [tiny_twin.name] * 3 + [tiny.name] * 3
    first = stored[3]
    assert first["paradigm"] == AVERAGE and float(first["accuracy"]) == round(100 * ours[AVERAGE].value, 2)
    assert float(first["twin"]) == round(100 * theirs[AVERAGE].value, 2) and first["model_sha256"] == tiny.sha256
    assert first["commit"] == "unknown" and "torch" in first["versions"] and first["date"]
    assert {path.name for path in path.parent.iterdir()} == {"scores.csv", ".scores.csv.lock"}


def test_records_keep_the_columns_of_other_rows(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("model,paradigm,accuracy,note\nmine,p,55,precious\n")
    record(path, [{"model": "yours", "paradigm": "p", "accuracy": 60}])
    assert path.read_text() == "model,paradigm,accuracy,note\nmine,p,55,precious\nyours,p,60,\n"
    path.write_text("model,colour\nmine,blue\n")
    with pytest.raises(BertologyError, match="another table"):
        record(path, [{"model": "yours", "paradigm": "p", "accuracy": 60}])


def test_shares_and_their_intervals_end_at_0_and_1():
    found = grammaticality.summarise({"p": np.array([1, 0.5])})
    assert all(0 <= share.low <= share.value <= share.high <= 1 for share in found.values())


def test_empty_regions_and_comparisons_with_numbers_are_judged(tiny):
    items = [
        Item("p", (Passage(("the", "dog"), 0, 0), Passage(("the", "dog"), 0, 1)), likelier),
        Item("p", (Passage(("the", "dog"), 0, 1),), lambda scores: float(scores[0] < 3)),
    ]
    judged = grammaticality.judgements_by_measure(tiny, items)
    assert all(values.tolist() == [1, 1] for values in judged.values())
    assert grammaticality.contrasts(items) == 1


def test_no_paradigm_takes_the_place_of_the_average(tmp_path):
    (tmp_path / "average.tsv").write_text("a b\ta c\n")
    with pytest.raises(BertologyError, match="called 'average'"):
        grammaticality.load_suite(tmp_path)


def test_models_share_a_twin_only_if_they_share_a_tokenizer(tiny, monkeypatch):
    suite, asked = grammaticality.Suite(PAIRS, "grammar", "0" * 64, 0), []
    other = copy.deepcopy(tiny.tokenizer)
    other.add_tokens(["zebra"])
    models = {"a": tiny, "b": tiny, "c": dataclasses.replace(tiny, tokenizer=other)}
    monkeypatch.setattr(grammaticality, "load", models.get)
    monkeypatch.setattr(grammaticality, "twin", lambda specimen: dataclasses.replace(specimen, name="twin"))
    known = score(tiny, PAIRS.items())
    monkeypatch.setattr(grammaticality, "score", lambda specimen, pairs: asked.append(specimen.name) or known)
    assert len(list(grammaticality.compare(models, suite, {}))) == 3
    assert asked == ["twin"] * 2


def test_the_command_prints_and_records(zorro, tiny_folder, tmp_path, capsys):
    out = tmp_path / "zorro.csv"
    assert cli.main(["score", str(tiny_folder), "--pairs", "2", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "average" in printed and "verbs" in printed and len(out.read_text().splitlines()) == 4


def test_the_command_reads_a_suite_and_draws_it(tiny_folder, tmp_path, capsys):
    suite, picture = tmp_path / "mine.tsv", tmp_path / "mine.svg"
    suite.write_text("the dogs run .\tthe dogs runs .\nthe cat sleeps .\tthe cat sleep .\n")
    assert cli.main(["score", str(tiny_folder), "--suite", str(suite), "--picture", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "per word" in printed and "mine" in printed and "<svg" in picture.read_text()
    assert cli.main(["score", str(tiny_folder), "--suite", str(suite), "--picture", str(tmp_path / "x.gif")]) == 1
    assert cli.main(["score", str(tiny_folder), "--suite", str(suite), "--steps"]) == 1
    assert "has no stored steps" in capsys.readouterr().err


def test_names_break_neither_table_nor_picture_and_a_model_is_scored_once(tiny_folder, tmp_path, capsys):
    suite, picture = tmp_path / "mine.jsonl", tmp_path / "absent" / "mine.svg"
    row = {"sentence_good": "the dogs run", "sentence_bad": "the dogs runs", "UID": "$\\x$ [/b]\t<b>\n\x1b"}
    suite.write_text(f"{json.dumps(row)}\n" * 2)
    assert cli.main(["score", *[str(tiny_folder)] * 2, "--suite", str(suite), "--picture", str(picture)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[2].split("\t")[1] == "$\\x$ [/b] <b>"
    assert ElementTree.parse(picture)


def test_the_command_writes_into_the_card(zorro, tiny_folder, tmp_path, capsys):
    model = Path(shutil.copytree(tiny_folder, tmp_path / "tiny"))
    (model / "README.md").unlink(missing_ok=True)
    assert cli.main(["score", str(model), "--pairs", "2", "--card"]) == 1
    assert "has no card" in capsys.readouterr().err
    card = "# tiny\n\n## Grammar (Zorro, 1 pairs a paradigm, in per cent)\n\nold\n\n## Intended use\n"
    (model / "README.md").write_text(card)
    assert cli.main(["score", str(model), "--pairs", "2", "--card"]) == 0
    card = (model / "README.md").read_text()
    assert card.count("## Grammar") == 1 and "old" not in card
    assert re.search(r"\| average \| \d+\.\d \[\d+\.\d, \d+\.\d\] \| \d+\.\d \|", card)
    assert card.index("## Grammar") < card.index("## Intended use")


def test_the_card_names_a_paradigm_as_the_pages_do(tmp_path):
    (tmp_path / "README.md").write_text("# tiny\n\n## Intended use\n")
    row = {"paradigm": "filler-gap-wh_question_object", "pairs": 200, "data": "zorro", "accuracy": 90.5}
    add_grammar(tmp_path, [row | {"accuracy_low": 85.61, "accuracy_high": 93.84, "twin": 17.5}])
    card = (tmp_path / "README.md").read_text()
    assert "## Grammar (Zorro, 200 pairs a paradigm, in per cent)" in card
    assert "| filler gap: wh question object | 90.5 [85.6, 93.8] | 17.5 |" in card


def test_the_command_without_data_is_told(tiny_folder, monkeypatch, capsys):
    monkeypatch.delenv(data.FOLDER_VARIABLE, raising=False)
    assert cli.main(["score", str(tiny_folder)]) == 1
    assert "BERTOLOGY_DATA" in capsys.readouterr().err
