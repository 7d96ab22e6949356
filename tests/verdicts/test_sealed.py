"""The log of predictions is a whole chain, and its last entries are what the claims files say."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bertology_utils import cli
from bertology_utils.errors import BertologyError
from bertology_utils.files import digest
from bertology_utils.verdicts import sealed
from bertology_utils.verdicts.cards import AMENDED
from bertology_utils.verdicts.claims import claim_by_id, load_claims, version_of

ROOT = Path(__file__).parents[2]
CLAIM = claim_by_id("sva-in-cloze").model_copy(update={"amended": None})


def test_the_chain_of_the_book_is_whole():
    line = sealed.broken(sealed.read(ROOT / sealed.PATH))
    assert line is None, f"{sealed.PATH} was changed at line {line}: restore it from git."


def test_every_log_that_was_committed_is_a_beginning_of_todays():
    path = ROOT / sealed.PATH
    entries = sealed.read(path)
    rewritten = [c for c in sealed.commits(path) if (old := sealed.committed(path, c)) and entries[: len(old)] != old]
    assert not rewritten, f"{sealed.PATH} does not go on from that of {', '.join(rewritten)}."


def test_every_prediction_of_today_is_sealed():
    changed = sealed.unsealed(sealed.read(ROOT / sealed.PATH), load_claims())
    assert not changed, f"Not sealed: {', '.join(c.id for c in changed)}. Run `bertology seal`."


def test_a_prediction_that_changed_says_when_and_why():
    versions: dict[str, list[dict]] = {}
    for entry in sealed.read(ROOT / sealed.PATH):
        versions.setdefault(entry["claim"], []).append(entry)
    changed = [claim for claim in load_claims() if len(versions.get(claim.id, ())) > 1]
    assert changed and [claim.id for claim in changed if not AMENDED.search(claim.note or "")] == []


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Three versions of one claim, and a way to seal another."""
    path = tmp_path / "predictions.jsonl"

    def seal(**fields):
        monkeypatch.setattr(sealed, "load_claims", lambda: [CLAIM.model_copy(update=fields)])
        return sealed.seal(path)

    for prediction in ("a > 0.5", "a > 0.6", "a > 0.7"):
        seal(prediction=prediction)
    return path, seal


def test_only_what_changed_is_appended(log):
    path, seal = log
    assert seal(prediction="a > 0.7") == [] and len(sealed.read(path)) == 3
    assert seal(prediction="a > 0.7", statement="In other words.") == []
    assert seal(prediction="a > 0.7", failure=True, given="b > 0.5") == [CLAIM.id]
    entries = sealed.read(path)
    assert [entry["prediction"] for entry in entries] == ["a > 0.5", "a > 0.6", "a > 0.7", "a > 0.7"]
    assert entries[-1]["failure"] is True and entries[-1]["given"] == "b > 0.5" and sealed.broken(entries) is None


def test_a_change_without_an_amendment_is_told(log):
    entries, known = sealed.read(log[0]), CLAIM.model_copy(update={"prediction": "a > 0.8"})
    assert sealed.unexplained(entries, [known]) == [CLAIM.id]
    assert sealed.unexplained(entries, [known.model_copy(update={"amended": datetime.now(UTC)})]) == []
    assert sealed.unexplained([], [known]) == []  # a first prediction amends nothing


def test_nothing_is_sealed_outside_of_a_book(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = (ROOT / sealed.PATH).read_bytes()
    assert cli.main(["seal"]) == 1 and "No book here" in capsys.readouterr().err
    assert (ROOT / sealed.PATH).read_bytes() == before


def test_a_version_that_comes_back_is_a_new_entry(log):
    path, seal = log
    assert seal(prediction="a > 0.5") == [CLAIM.id] and len(sealed.read(path)) == 4


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda e: e[1].update(prediction="a > 0.1"), 2),
        (lambda e: e[0].update(date="2020-01-01T00:00:00+00:00"), 1),
        (lambda e: e.pop(1), 2),
        (lambda e: e.pop(0), 1),
        (lambda e: e.insert(1, dict(e[0])), 2),
        (lambda e: e[2].update(given="b > 0.5", version="0" * 64), 3),
    ],
)
def test_what_was_sealed_cannot_be_changed(log, change, line):
    path, seal = log
    entries = sealed.read(path)
    change(entries)
    assert sealed.broken(entries) == line
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    with pytest.raises(BertologyError, match=f"line {line}"):
        seal(prediction="a > 0.9")


def test_a_claim_that_was_never_predicted_needs_no_entry():
    assert sealed.unsealed([], [CLAIM.model_copy(update={"prediction": None})]) == []


def test_a_result_names_the_version_by_what_decides_it():
    assert CLAIM.version == CLAIM.model_copy(update={"statement": "Else."}).version
    for change in ({"prediction": "a > 0.1"}, {"given": "a > 0.1"}, {"failure": True}, {"specific": False}):
        assert CLAIM.version != CLAIM.model_copy(update=change).version, change
    row = {"id": CLAIM.id, "prediction": CLAIM.prediction, "given": CLAIM.given, "specific": CLAIM.specific}
    assert digest(version_of(row)) == CLAIM.version


def rewritten(entries: list[dict]) -> list[dict]:
    """Another bar in the second entry, and all hashes made to fit."""
    found = []
    for place, entry in enumerate(entries):
        version = version_of(entry) | ({"prediction": "a > 0.1"} if place == 1 else {})
        found.append(sealed._entry(found, entry["claim"], version, entry["date"]))
    return found


@pytest.mark.parametrize("change", [lambda entries: entries[:-1], rewritten])
def test_a_log_that_lost_its_end_or_was_written_anew_is_not_sealed(log, tmp_path, change):
    path, seal = log
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for step in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *step], check=True)
    assert sealed.committed(path, *sealed.commits(path)) == sealed.read(path)
    changed = change(sealed.read(path))
    assert sealed.broken(changed) is None
    path.write_text("".join(json.dumps(entry) + "\n" for entry in changed), encoding="utf-8")
    with pytest.raises(BertologyError, match="committed"):
        seal(prediction="a > 0.7")
