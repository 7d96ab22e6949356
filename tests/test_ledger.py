"""The claims are valid, mistakes in them are told, and records join into the ledger."""

import json

import pytest
import yaml

from bertology_utils.errors import BertologyError
from bertology_utils.verdicts.ledger import (
    CLAIMS_FOLDER,
    citation_keys,
    claim_by_id,
    collect_records,
    load_claims,
    published_text,
    read_claims,
    validate,
    write_ledger,
)  # fmt: skip

RESULT = {"id": "sva-in-cloze", "model": "m", "verdict": "replicates", "measured": 0.9, "clauses": []}
RESULT |= {"detectable": 0.06}


def test_all_claims_are_valid():
    claims = load_claims()
    assert len(claims) == 348
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
        validate([claim], citation_keys())


def test_a_claim_that_stands_twice_is_refused():
    claim = claim_by_id("sva-in-cloze").model_copy(update={"contested_with": ()})
    with pytest.raises(BertologyError, match="twice"):
        validate([claim, claim], citation_keys())


@pytest.mark.parametrize(
    "field, value", [("prediction", "a >> b"), ("notebook", "nowhere"), ("kind", "rumour"), ("colour", "red")]
)
def test_malformed_claims_name_claim_and_field(tmp_path, field, value):
    row = yaml.safe_load((CLAIMS_FOLDER / "syntax.yaml").read_text(encoding="utf-8"))[0] | {field: value}
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([row]), encoding="utf-8")
    with pytest.raises(BertologyError, match=f"{row['id']}.*{field}"):
        read_claims(path)


def test_records_join_into_all_claims(tmp_path):
    record = tmp_path / "syntax.json"
    record.write_text(json.dumps({"results": [RESULT], "run": {"commit": "abc", "when": "2026"}}), encoding="utf-8")
    rows = collect_records([record])
    assert len(rows) == 348
    (found,) = [row for row in rows if row["results"]]
    assert found["id"] == "sva-in-cloze" and found["results"][0]["commit"] == "abc"
    assert found["results"][0]["detectable"] == 0.06
    write_ledger(rows, tmp_path)
    assert json.loads((tmp_path / "ledger.json").read_text(encoding="utf-8")) == rows
    assert len((tmp_path / "ledger.csv").read_text(encoding="utf-8").splitlines()) == 349


def test_published_figures_are_told_in_words():
    told = published_text({"BERT-base": {"heads_per_layer": 12}, "on_mobile": ["3.5x", 2]})
    assert told == "BERT-base: heads per layer 12; on mobile: 3.5x, 2" and published_text(None) == ""


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b"[]", b"{}", b'{"results": 3}', b'{"results": [{}]}'])
def test_a_file_that_is_no_record_is_told_by_its_name(tmp_path, content):
    path = tmp_path / "layers.json"
    path.write_bytes(content)
    with pytest.raises(BertologyError, match=r"layers\.json is no record"):
        collect_records([], [path])
