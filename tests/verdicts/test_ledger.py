"""The claims are valid, mistakes in them are told, and records join into the ledger."""

import json

import pytest
import yaml

from bertology_utils.bibliography import load_references
from bertology_utils.errors import BertologyError
from bertology_utils.verdicts.claims import (
    claim_by_id,
    claims_file,
    load_claims,
    published_text,
    read_claims,
    validate,
)
from bertology_utils.verdicts.ledger import collect_records, write_ledger  # fmt: skip

RESULT = {"id": "sva-in-cloze", "model": "m", "verdict": "replicates", "measured": 0.9, "clauses": [], "p": 0.01}


def test_all_claims_are_valid():
    claims = load_claims()
    assert len(claims) > 300
    assert all(claim.pattern for claim in claims if claim.kind in ("empirical", "contested"))


def test_contradictions_are_symmetric():
    by_id = {claim.id: claim for claim in load_claims()}
    lonely = [(c.id, o) for c in by_id.values() for o in c.contested_with if c.id not in by_id[o].contested_with]
    assert lonely == []


def test_an_unknown_claim_names_the_nearest():
    with pytest.raises(BertologyError, match="sva-in-cloze"):
        claim_by_id("sva-in-close")


def test_an_unknown_citation_is_refused():
    claim = claim_by_id("sva-in-cloze").model_copy(update={"studies": ("goldberg2019asessing",), "contested_with": ()})
    with pytest.raises(BertologyError, match="goldberg2019assessing"):
        validate([claim], load_references())


def test_a_claim_that_stands_twice_is_refused():
    claim = claim_by_id("sva-in-cloze").model_copy(update={"contested_with": ()})
    with pytest.raises(BertologyError, match="twice"):
        validate([claim, claim], load_references())


@pytest.mark.parametrize(
    "field, value", [("prediction", "a >> b"), ("notebook", "nowhere"), ("kind", "rumour"), ("colour", "red")]
)
def test_malformed_claims_name_claim_and_field(tmp_path, field, value):
    row = yaml.safe_load(claims_file("syntax").read_text(encoding="utf-8"))[0] | {field: value}
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([row]), encoding="utf-8")
    with pytest.raises(BertologyError, match=f"{row['id']}.*{field}"):
        read_claims(path)


def test_records_join_into_all_claims(tmp_path):
    record = tmp_path / "syntax.json"
    record.write_text(json.dumps({"results": [RESULT], "run": {"commit": "abc", "when": "2026"}}), encoding="utf-8")
    rows = collect_records([record])
    assert len(rows) == len(load_claims())
    (found,) = [row for row in rows if row["results"]]
    assert found["id"] == "sva-in-cloze" and found["results"][0]["commit"] == "abc"
    assert found["results"][0]["measured"] == 0.9 and found["results"][0]["q"] == 0.01
    assert found["checks"] is None and found["specific"] is True
    write_ledger(rows, tmp_path)
    assert json.loads((tmp_path / "ledger.json").read_text(encoding="utf-8")) == rows
    assert len((tmp_path / "ledger.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(rows)


def results_of(tmp_path, **ps):
    """The ledger's q of one record whose claims have these p."""
    record = tmp_path / "record.json"
    rows = [RESULT | {"id": name.replace("_", "-"), "p": p} for name, p in ps.items()]
    record.write_text(json.dumps({"results": rows, "run": {}}), encoding="utf-8")
    return {row["id"]: row["results"][0].get("q") for row in collect_records([record]) if row["results"]}


def test_false_discovery_rates_are_benjamini_and_hochbergs(tmp_path):
    found = results_of(tmp_path, sva_in_cloze=0.01, depth_probe=0.04, semantic_role_mlm=0.03, no_plan=None)
    assert found == {"sva-in-cloze": 0.03, "depth-probe": 0.04, "semantic-role-mlm": 0.04}


def test_false_discovery_rates_are_those_of_one_model_and_profile(tmp_path):
    record = tmp_path / "record.json"
    rows = [RESULT | {"p": 0.01}, RESULT | {"p": 0.5, "model": "other"}, RESULT | {"id": "depth-probe", "p": 0.02}]
    record.write_text(json.dumps({"results": rows, "run": {}}), encoding="utf-8")
    results = [result for row in collect_records([record]) for result in row["results"]]
    assert sorted((r["model"], r["q"]) for r in results) == [("m", 0.02), ("m", 0.02), ("other", 0.5)]


def test_the_study_speaks_where_scales_agree():
    claim = claim_by_id("sva-in-cloze").model_copy(
        update={"prediction": "a > b by 0.1 and a < 0.99 and c > b", "study": {"a": 0.9, "b": 0.5}}
    )
    assert claim.study_effects == pytest.approx({"a > b by 0.1": 0.4, "a < 0.99": 0.09})


def test_an_amendment_is_what_the_note_says_of_it():
    claim = claim_by_id("sva-in-cloze")
    amended = claim.model_copy(update={"note": "Hard. Amended 2026-11-23: more items."})
    assert amended.amendment == "Amended 2026-11-23: more items."
    assert claim.model_copy(update={"note": "Hard."}).amendment == ""


def test_a_claim_of_failure_needs_a_gate(tmp_path):
    row = yaml.safe_load(claims_file("syntax").read_text(encoding="utf-8"))[0]
    row = {key: value for key, value in row.items() if key != "given"} | {"failure": True}
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([row]), encoding="utf-8")
    with pytest.raises(BertologyError, match="positive control"):
        read_claims(path)


def test_published_figures_are_told_in_words():
    told = published_text({"BERT-base": {"heads_per_layer": 12}, "on_mobile": ["3.5x", 2]})
    assert told == "BERT-base: heads per layer 12; on mobile: 3.5x, 2" and published_text(None) == ""


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b"[]", b"{}", b'{"results": 3}', b'{"results": [{}]}'])
def test_a_file_that_is_no_record_is_told_by_its_name(tmp_path, content):
    path = tmp_path / "layers.json"
    path.write_bytes(content)
    with pytest.raises(BertologyError, match=r"layers\.json is no record"):
        collect_records([], [path])
