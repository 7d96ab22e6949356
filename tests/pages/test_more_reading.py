"""The page on verdicts before and after more reading: what is counted, and what kind of change is which."""

import pytest
from ledger_toys import claim, result

from bertology_utils.errors import BertologyError
from bertology_utils.files import write_text
from bertology_utils.pages import contents, more_reading

HOLDS, OPEN, FAILS, ALIKE = "replicates", "underpowered", "contradicts", "replicates (not specific)"


def rows_of(**now):
    """Claims with a live verdict; None: not run."""
    entries = [{"id": name, "results": [live(verdict)] if verdict else []} for name, verdict in now.items()]
    return contents.rows_of(entries, [claim(name) for name in now])


def live(verdict):
    return result(verdict) | {"model": "pocket-bert", "profile": "live"}


def part_of(folder, rows, **before):
    lines = [f"{name},{verdict},0.1,0.05,0.15" for name, verdict in before.items()]
    write_text(folder / more_reading.BEFORE, "\n".join(["claim,verdict,difference,ci_low,ci_high", *lines, ""]))
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


def test_before_anything_ran_the_page_is_empty_and_a_wrong_table_is_told(tmp_path):
    assert part_of(tmp_path, rows_of(one=None), one=HOLDS) == ""
    assert more_reading.more_reading_part(tmp_path / "elsewhere", rows_of(one=HOLDS), str) == ""
    write_text(tmp_path / more_reading.BEFORE, "verdict\nreplicates\n")
    with pytest.raises(BertologyError, match="claim"):
        more_reading.more_reading_part(tmp_path, rows_of(one=HOLDS), str)
