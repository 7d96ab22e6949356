"""Scores on parallel treebanks and pairs: what is left out, averages, the record and its reader."""

import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bertology_utils.activations import sentence_vectors
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.grammaticality import record
from bertology_utils.language.ten_languages import LANGUAGES, OTHERS, parallel_corpus
from bertology_utils.provenance import origin
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert import multilingual_scores as scores
from bertology_utils.tuning.two_languages import BilingualRecipe, sentence_retrieval, tiny_specimen

CORPUS = parallel_corpus(12, "test")
PAIRS = {code: [(a.words, b.words) for a, b in zip(CORPUS["en"], CORPUS[code], strict=True)] for code in OTHERS}
MATERIAL = scores.Material(CORPUS, PAIRS, {"ud_pud": "abc", "tatoeba": "def"})
WORDS = sorted({word for rows in CORPUS.values() for row in rows for word in row.words})
SPECIMEN = tiny_specimen(WORDS, replace(BilingualRecipe(), layers=1, width=16, inner=16))


def test_treebanks_are_retrieved_whole_and_tagged_in_the_second_half():
    found = scores.treebank_scores(SPECIMEN, CORPUS)
    sides = (sentence_vectors(SPECIMEN, [row.words for row in CORPUS[code]]) for code in ("en", "fi"))
    assert (found["retrieval"]["fi"] == sentence_retrieval(*sides)).all()
    words = sum(tag != "PUNCT" for row in CORPUS["fi"][6:] for tag in row.upos)
    assert found["zero-shot tagging"]["fi"].shape == (2, words)
    assert found["counting words"]["zh"].shape == (1, 12) and set(found["retrieval"]) == set(OTHERS)


def test_a_sentence_too_long_in_one_language_is_left_out_in_all():
    long = replace(CORPUS["tr"][3], words=CORPUS["tr"][3].words * 20, upos=CORPUS["tr"][3].upos * 20)
    corpus = CORPUS | {"tr": [*CORPUS["tr"][:3], long, *CORPUS["tr"][4:]]}
    assert not scores.is_short(SPECIMEN, long.words)
    assert scores.treebank_scores(SPECIMEN, corpus)["retrieval"]["de"].shape == (2, 11)
    with pytest.raises(BertologyError, match="no two sentences"):
        scores.treebank_scores(SPECIMEN, {code: [rows[0]] for code, rows in CORPUS.items()})


def test_the_record_holds_averages_by_layer_and_languages_at_the_best_one(monkeypatch, tmp_path):
    monkeypatch.setattr(scores, "load", lambda name: SPECIMEN)
    monkeypatch.setattr(scores, "twin", lambda specimen: specimen)
    (rows,) = scores.compare(["tiny"], MATERIAL, origin(tmp_path))
    record(tmp_path / "multilingual.csv", rows)
    path = tmp_path / "multilingual.csv"
    found = scores.recorded("ud_pud", "retrieval", SPECIMEN.name, path)
    assert found["layer"].tolist() == [0, 1] and (found["accuracy"] == found["twin"]).all()
    plain = scores.treebank_scores(SPECIMEN, CORPUS)["retrieval"]
    assert found["accuracy"].tolist() == pytest.approx(
        [100 * np.mean([values[layer].mean() for values in plain.values()]) for layer in (0, 1)], abs=0.01
    )
    languages = [row for row in rows if row["measure"] == "retrieval" and row["data"] == "tatoeba"]
    assert [row["language"] for row in languages] == ["average"] * 2 + [c for c in LANGUAGES if c != "en"]
    assert languages[0]["data_sha256"] == "def" and {"commit", "date", "hardware"} <= set(languages[0])


def test_leads_are_over_the_best_rival_of_the_record(monkeypatch, tmp_path):
    monkeypatch.setattr(scores, "load", lambda name: SPECIMEN)
    monkeypatch.setattr(scores, "twin", lambda specimen: specimen)
    (rows,) = scores.compare(["tiny"], MATERIAL, origin(tmp_path))
    path = tmp_path / "multilingual.csv"
    record(path, rows)
    found = scores.recorded_leads(SPECIMEN.name, path)
    assert found["model"] == found["twin"] and set(found["model"]) == set(OTHERS)
    shares = {r["measure"]: r["accuracy"] / 100 for r in rows if r["language"] == "fi" and r["data"] == "ud_pud"}
    best = max(shares[name] for name in scores.TAG_RIVALS)
    assert found["model"]["fi"] == pytest.approx(shares[scores.TAGGING] - best)
    told = scores.told_leads(Runs({"de": 0.2, "fr": 0.1}, {"de": 0.0, "fr": -0.1}), SPECIMEN.name, path)
    assert "in 1 of 2 languages (German +20, French +10)" in told and "Treebanks" in told
    assert scores.told_leads(Runs({}, {}), "nobody", path).endswith("Nothing is recorded on treebanks.")


def test_how_far_a_model_is_stands_in_one_sentence(tmp_path):
    path, curves = tmp_path / "multilingual.csv", tmp_path / "curves.csv"
    same = {"model": "m", "data": "ud_pud", "measure": "centred retrieval", "layer": 1}
    rows = [same | {"language": code, "accuracy": share} for code, share in (("fr", 52.0), ("de", 31.0))]
    pd.DataFrame(rows).to_csv(path, index=False)
    losses = [
        {"model": "m", "pieces": 1e6 * read, "held_out_loss": loss}
        for read, loss in ((1, 9), (20, 5), (40, 4), (80, 3), (100, 2))
    ]
    pd.DataFrame(losses).to_csv(curves, index=False)
    told = scores.told_reach("m", path, curves)
    assert "French 52%, German 31%. Half are found in 1 of 2 languages." in told
    assert "ended at 2.00 nats a masked piece, after 100 million pieces; from 20 to 80 million each doubling" in told
    assert "took 1.00 nats off" in told
    assert scores.told_reach("nobody", path, curves) == "Nothing is recorded of `nobody` on treebanks."
    assert scores.told_reach("m", path, tmp_path / "none.csv").endswith("2 languages.")
    counted = [
        same | {"measure": "counting words", "language": code, "accuracy": share}
        for code, share in (("fr", 60), ("de", 9))
    ]
    pd.DataFrame(rows + counted).to_csv(path, index=False)
    told = scores.told_reach("m", path, tmp_path / "none.csv")
    assert told.endswith("Counting words in common finds more in 1 of 2 (French 60% against 52%).")


def test_nothing_recorded_is_an_empty_table(tmp_path):
    assert len(scores.recorded("ud_pud", "retrieval", "nobody", tmp_path / "none.csv")) == 0


def test_generated_sentences_stand_beside_the_record(monkeypatch, tmp_path):
    monkeypatch.setattr(scores, "load", lambda name: SPECIMEN)
    monkeypatch.setattr(scores, "twin", lambda specimen: specimen)
    path = tmp_path / "multilingual.csv"
    for rows in scores.compare(["tiny"], MATERIAL, origin(tmp_path)):
        record(path, rows)
    generated = Runs({"de": np.array([[0.0, 1], [1, 1]])}, {"de": np.zeros((2, 2))})
    lines = scores.beside_real_text(generated, "retrieval", SPECIMEN.name, path=path).table
    assert lines["generated"].tolist() == [0.5, 1] and lines["generated, twin"].tolist() == [0, 0]
    assert (lines["real text"] == lines["real text, twin"]).all()
    counting = scores.treebank_scores(SPECIMEN, CORPUS)["counting words"].values()
    assert lines["counting words, real text"].tolist() == pytest.approx([np.mean([*counting])] * 2, abs=1e-4)
    tags = scores.beside_real_text(generated, "zero-shot tagging", SPECIMEN.name, path=path).table
    assert {f"{name}, real text" for name in scores.TAG_RIVALS} < set(tags.columns)
    said = scores.beside_real_text(generated, "retrieval", "nobody", path=path)
    assert said.data == "No scores of retrieval on real text are recorded for `nobody`."


def test_news_is_read_under_the_profile_that_has_it(data_folder, tmp_path):
    assert "full" in scores.in_news(Runs(SPECIMEN, SPECIMEN), "embedded").data
    (tmp_path / "multilingual_eval/ntrex128").mkdir(parents=True)
    for code, rows in CORPUS.items():
        text = "".join(f"{' '.join(row.words)}\n" for row in rows)
        (tmp_path / f"multilingual_eval/ntrex128/{code}.txt.gz").write_bytes(gzip.compress(text.encode()))
    table = scores.in_news(Runs(SPECIMEN, SPECIMEN), "ntrex128").table
    assert set(table["group"]) == {LANGUAGES[code].name for code in OTHERS}
    bars = table.set_index(["group", "name"]).iloc[:, 0]["Spanish"]
    assert bars["model"] == bars["twin"]
    assert bars["counting words"] == pytest.approx(scores.pair_scores(SPECIMEN, PAIRS)["counting words"]["es"].mean())
