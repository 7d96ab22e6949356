"""The page on verdicts before and after more reading: what is counted, and what kind of change is which."""

from datetime import UTC, datetime

import pytest
from ledger_toys import claim, result

from bertology_utils.errors import BertologyError
from bertology_utils.files import write_text
from bertology_utils.pages import contents, more_reading

THEN = "2026-11-27T11:37:03+00:00"
HOLDS, OPEN, FAILS, ALIKE = "replicates", "underpowered", "contradicts", "replicates (not specific)"


def rows_of(**now):
    """Claims with a live verdict; None: not run."""
    entries = [{"id": name, "results": [live(verdict)] if verdict else []} for name, verdict in now.items()]
    return contents.rows_of(entries, [claim(name) for name in now])


def live(verdict):
    return result(verdict) | {"model": "pocket-bert", "profile": "live"}


def part_of(folder, rows, **before):
    lines = [f"{name},{verdict},{claim(name).full_prediction},{THEN},0.1,0.05,0.15" for name, verdict in before.items()]
    heads = "claim,verdict,prediction,date,difference,ci_low,ci_high"
    write_text(folder / more_reading.BEFORE, "\n".join([heads, *lines, ""]))
    return more_reading.more_reading_part(folder, rows, lambda document: f"../{document}.html")


def test_claims_that_both_could_be_asked_are_counted_and_the_turned_ones_listed(tmp_path):
    rows = rows_of(same=HOLDS, turned=HOLDS, closed=FAILS, opened=OPEN, never=None, later=HOLDS)
    part = part_of(tmp_path, rows, same=HOLDS, turned=FAILS, closed=OPEN, opened=ALIKE, never=HOLDS, later="not run")
    assert "Of 4 claims that both weights could be asked, 1 have the same verdict, 3 another one" in part
    for name, listed in {"same": False, "turned": True, "closed": True, "opened": True, "later": False}.items():
        assert (f"&lt;{name}&gt;" in part) == listed
    assert "effect +0.1" in part and "effect +0.3" in part and "<turned>" not in part


@pytest.mark.parametrize(
    "old, new, kind",
    [
        (HOLDS, FAILS, "opposed"),
        (FAILS, ALIKE, "opposed"),
        (OPEN, FAILS, "closed"),
        ("weaker", "cannot do the task", "opened"),
        ("cannot do the task", OPEN, "otherwise"),
        (FAILS, "weaker", "otherwise"),
    ],
)
def test_a_change_is_of_one_kind(old, new, kind):
    (row,) = rows_of(one=new)
    assert list(more_reading.turned([(row, {"verdict": old})])) == [kind]


def test_claims_that_were_amended_in_between_are_left_out(tmp_path):
    rows = rows_of(one=HOLDS, other=FAILS)
    (later,) = contents.rows_of(
        [{"id": "changed", "results": [live(HOLDS)]}],
        [claim("changed", amended=datetime(2026, 11, 27, 15, tzinfo=UTC))],
    )
    part = part_of(tmp_path, [*rows, later], one=HOLDS, other=HOLDS, changed=FAILS)
    assert "Of 2 claims" in part and "1 more were amended in between" in part and "&lt;changed&gt;" not in part


def test_what_was_measured_of_both_is_a_table(tmp_path):
    assert more_reading.weights_part(tmp_path) == ""
    write_text(tmp_path / more_reading.MEASURED, "model,measure,before,now\ntoy,loss,3,2\n")
    assert "<td>loss</td><td>3</td><td>2</td>" in more_reading.weights_part(tmp_path)


def test_before_anything_ran_the_page_is_empty_and_a_wrong_table_is_told(tmp_path):
    assert part_of(tmp_path, rows_of(one=None), one=HOLDS) == ""
    assert more_reading.more_reading_part(tmp_path / "elsewhere", rows_of(one=HOLDS), str) == ""
    write_text(tmp_path / more_reading.BEFORE, "verdict\nreplicates\n")
    with pytest.raises(BertologyError, match="claim"):
        more_reading.more_reading_part(tmp_path, rows_of(one=HOLDS), str)
