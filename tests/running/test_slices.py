"""Claims run alone: the cells that they need, and their place in a chapter's record."""

import builtins
import json

import nbformat
import pytest
from notebook_project import add_notebook, make_project
from typer.testing import CliRunner

from bertology_utils.cli import app
from bertology_utils.errors import BertologyError
from bertology_utils.project import Job, chapters, find_root
from bertology_utils.running import slices
from bertology_utils.running.slices import slice_for
from bertology_utils.verdicts.claims import TESTED_KINDS, load_claims
from bertology_utils.verdicts.ledger import collect_records
from bertology_utils.verdicts.recorded import keep

ROOT = find_root()


def notebook(*sources):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def sliced(claim, *sources):
    return [cell.source for cell in slice_for(notebook(*sources), [claim]).cells]


def test_a_slice_holds_what_the_claim_uses_and_nothing_else():
    kept = sliced(
        "a",
        "import numpy as np\nchapter = np.zeros(1)",
        "size = 3",
        "heavy = [size] * 10**9",
        "value = [n + size for n in range(3)]",
        "np.save('figure', heavy)",
        "chapter.say(str(heavy))",
        "chapter.test('b', heavy)",
        "chapter.test('a', value)",
        "chapter.conclude({'a': 'words'})",
        "chapter.close()",
    )
    assert kept == [
        "import numpy as np\nchapter = np.zeros(1)",
        "size = 3",
        "value = [n + size for n in range(3)]",
        "chapter.test('a', value)",
        "chapter.close()",
    ]


@pytest.mark.parametrize("change", ["found['x'] = 1", "found.append(1)", "found += [1]", "if True:\n    found = [1]"])
def test_what_changes_a_value_is_kept_with_what_made_it(change):
    assert sliced("a", "found = []", change, "chapter.test('a', found)")[:2] == ["found = []", change]


def test_a_name_that_is_set_anew_needs_nothing_of_before():
    assert sliced("a", "n = slow()", "n = 1\nm = n + 1", "chapter.test('a', m)") == [
        "n = 1\nm = n + 1",
        "chapter.test('a', m)",
    ]


def test_a_claim_that_no_cell_tests_is_refused():
    with pytest.raises(BertologyError, match="No cell of this chapter tests the claim 'absent'"):
        slice_for(notebook("chapter.test('a', 1)", "chapter.conclude({'absent': 'words'})"), ["absent"])


def test_a_measure_that_names_an_earlier_claim_belongs_to_its_own():
    first = ["right = chapter.measure(f)", "chapter.test('a', right)"]
    second = ["more = chapter.measure(g, 'a')", "chapter.test('b', more)"]
    assert sliced("a", *first, *second) == first and sliced("b", *first, *second) == second


def test_what_ipython_adds_to_python_is_no_fault():
    assert sliced("a", "%time n = 1", "m = 1", "chapter.test('a', m)") == ["m = 1", "chapter.test('a', m)"]


def test_a_cell_that_is_no_python_is_named_by_its_place():
    broken = notebook("a = 1", "b = (\nc = 2", "chapter.test('a', b)")
    broken.cells.insert(0, nbformat.v4.new_markdown_cell("# A title"))
    with pytest.raises(BertologyError, match=r"cell 3 is no Python: line \d"):
        slice_for(broken, ["a"])


@pytest.mark.parametrize("chapter", chapters(ROOT))
def test_every_claim_of_a_chapter_can_be_run_alone(chapter):
    whole = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)
    given, code = set(dir(builtins)) | {"display"}, "".join(c.source for c in whole.cells if c.cell_type == "code")
    for claim in load_claims():
        if claim.notebook == chapter and claim.kind in TESTED_KINDS and claim.id in code:
            known = set(given)
            for cell in slice_for(whole, [claim.id]).cells:
                effects = slices._Effects(slices.ast.parse(cell.source), set())
                assert effects.used <= known, f"{claim.id}: {effects.used - known}"
                known |= effects.set_anew | effects.touched


RESULT = {"model": "pocket-bert", "profile": "live", "data": "embedded", "verdict": "replicates"}


@pytest.fixture
def root(tmp_path):
    root = make_project(tmp_path)
    add_notebook(root, "syntax", "1 + 1")
    return root


def left(job, *results, when):
    job.folder.mkdir(parents=True, exist_ok=True)
    run = {"commit": f"of {when}", "when": when, "freshness": {}}
    content = {"results": [RESULT | result for result in results], "data_sets": {}, "run": run}
    job.record.write_text(json.dumps(content), encoding="utf-8")
    return job


def test_a_claim_run_alone_takes_its_place_in_the_record_with_its_own_origin(root):
    old = {"prediction": "a > b", "measured": 1, "clauses": []}
    now = next(claim for claim in load_claims() if claim.id == "depth-probe").full_prediction
    keep(
        [left(Job(root, "syntax"), {"id": "sva-in-cloze"} | old, {"id": "depth-probe"} | old, when="2026-01-01T00:00Z")]
    )
    alone = Job(root, "syntax", claims=("depth-probe",))
    new = {"id": "depth-probe", "prediction": now, "measured": 2}
    (path,) = keep([left(alone, new, {"id": "sva-in-cloze"} | old, when="2030-01-01T00:00Z")])
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert [(r["id"], r["measured"]) for r in kept["results"]] == [("sva-in-cloze", 1), ("depth-probe", 2)]
    assert kept["run"]["commit"] == "of 2026-01-01T00:00Z"
    (row,) = [row for row in collect_records([], [path]) if row["results"]]
    assert (row["id"], row["results"][0]["commit"]) == ("depth-probe", "of 2030-01-01T00:00Z")


def test_a_claim_needs_a_record_of_its_chapter_and_a_result(root):
    alone = Job(root, "syntax", claims=("depth-probe",))
    with pytest.raises(BertologyError, match="says nothing of the claim 'depth-probe'"):
        keep([left(alone, {"id": "sva-in-cloze"}, when="2026-01-01T00:00Z")])
    with pytest.raises(BertologyError, match="record it whole"):
        keep([left(alone, {"id": "depth-probe"}, when="2026-01-01T00:00Z")])


def test_the_command_refuses_claims_that_are_not_there(root):
    for arguments, words in (
        (["--claim", "depth-prob"], "depth-probe"),
        (["syntax", "-c", "coref-head"], "'attention'"),
    ):
        result = CliRunner().invoke(app, ["run", *arguments, "--root", str(root)])
        assert isinstance(result.exception, BertologyError) and words in str(result.exception)
