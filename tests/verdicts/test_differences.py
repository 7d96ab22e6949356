"""`bertology diff`: two runs are compared claim by claim, and a verdict that turned is a failure."""

import json

import pytest

from bertology_utils.cli import main


def planted(folder, **claims):
    """A folder with one chapter's record, of claims with (verdict, effect); intervals reach 0.1 to both sides."""
    folder.mkdir()
    results = [
        {"id": name, "verdict": verdict, "difference": x, "ci_low": x and x - 0.1, "ci_high": x and x + 0.1}
        for name, (verdict, x) in claims.items()
    ]
    (folder / "syntax.json").write_text(json.dumps({"chapter": "syntax", "results": results}))
    return str(folder)


def test_equal_runs_and_numbers_within_rounding_pass(tmp_path, capsys):
    first = planted(tmp_path / "a", trees=("replicates", 0.3), absent=("not testable here", None))
    second = planted(tmp_path / "b", trees=("replicates", 0.30005), absent=("not testable here", None))
    assert main(["diff", first, second]) == 0
    assert capsys.readouterr().out == "0 of 2 claims differ, 0 of them in their verdict.\n"


def test_a_number_that_moved_is_listed_and_a_verdict_that_turned_fails(tmp_path, capsys):
    first = planted(tmp_path / "a", trees=("replicates", 0.3), order=("weaker", 0.1))
    moved = planted(tmp_path / "b", trees=("replicates", 0.4), order=("weaker", 0.1))
    assert main(["diff", first, moved]) == 0
    assert "trees\treplicates\t+0.3\t+0.2 to +0.4\treplicates\t+0.4\t+0.3 to +0.5" in capsys.readouterr().out
    turned = planted(tmp_path / "c", trees=("contradicts", 0.3))
    assert main(["diff", first, turned]) == 1
    shown = capsys.readouterr()
    assert "order\tweaker\t+0.1\t+0 to +0.2\tnot there\t\t" in shown.out
    assert shown.err == "2 of 2 claims differ, 2 of them in their verdict.\n"


@pytest.mark.parametrize("content", [None, "", '{"results": [{"id": "x"}]}', "[1]"])
def test_a_bad_folder_is_told_in_one_line(tmp_path, capsys, content):
    good, bad = planted(tmp_path / "good", trees=("replicates", 0.3)), tmp_path / "bad"
    if content is not None:
        bad.mkdir()
        if content:
            (bad / "syntax.json").write_text(content)
    assert main(["diff", good, str(bad)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
