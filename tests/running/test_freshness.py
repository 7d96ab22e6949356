"""Freshness: everything that can change a chapter's output changes its hash, and nothing else does."""

import json

import pytest
from notebook_project import add_notebook, make_project

from bertology_utils.project import Job, find_root
from bertology_utils.running.freshness import complete, fingerprint, reachable_files, state


@pytest.fixture
def root(tmp_path):
    """A project whose chapter reaches `direct` and, through it, `sub.deep`, but not `aside`."""
    root = make_project(tmp_path)
    package = root / "bertology_utils"
    (package / "sub").mkdir(parents=True)
    for chapter in ("syntax", "layers"):
        (package / "studies" / chapter).mkdir(parents=True)
    for name in ("__init__.py", "sub/__init__.py", "aside.py"):
        (package / name).write_text("")
    (package / "direct.py").write_text("def later():\n    from .sub import deep\n")
    (package / "sub" / "deep.py").write_text("import json\n")
    for folder in ("templates", "pages/templates"):
        (package / folder).mkdir(parents=True)
    for name in (
        "references.bib",
        *(f"studies/{room}/{name}.yaml" for room in ("syntax", "layers") for name in ("claims", "themes")),
    ):
        (package / name).write_text("[]\n")
    add_notebook(root, "syntax", "%matplotlib inline\nfrom bertology_utils import direct", "1 + 1")
    return root


def test_imports_are_followed_transitively_inside_the_package_only(root):
    found = reachable_files(root, "import numpy\nimport bertology_utils.direct as d")
    names = {path.relative_to(root / "bertology_utils").as_posix() for path in found}
    assert names == {"__init__.py", "direct.py", "sub/__init__.py", "sub/deep.py"}


CHANGES = {
    "notebooks/syntax.ipynb": True,
    "bertology_utils/direct.py": True,
    "bertology_utils/sub/deep.py": True,
    "bertology_utils/references.bib": True,
    "bertology_utils/studies/syntax/claims.yaml": True,
    "bertology_utils/studies/syntax/themes.yaml": True,
    "models/pocket-bert/model.safetensors": True,
    "requirements.txt": True,
    "bertology_utils/templates/card.html": True,
    "bertology_utils/pages/templates/ledger.html": False,
    "bertology_utils/aside.py": False,
    "bertology_utils/studies/layers/claims.yaml": False,
    "bertology_utils/studies/layers/themes.yaml": False,
    "models/pocket-bert/README.md": False,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_matters_exactly_where_the_chapter_depends_on_it(root, name):
    before, path = fingerprint(Job(root, "syntax"))["hash"], root / name
    old = path.read_text() if path.exists() else ""
    path.write_text(old.replace("1 + 1", "1 + 2") if name.endswith(".ipynb") else old + "\n# changed\n")
    assert (fingerprint(Job(root, "syntax"))["hash"] != before) == CHANGES[name]


def test_parameters_and_the_users_data_matter_and_stored_outputs_do_not(root, tmp_path, monkeypatch):
    job = Job(root, "syntax")
    before = fingerprint(job)["hash"]
    notebook = json.loads(job.source.read_text())
    notebook["cells"][1]["execution_count"] = 7
    job.source.write_text(json.dumps(notebook))
    assert fingerprint(job)["hash"] == before
    others = [
        Job(root, "syntax", profile="full"),
        Job(root, "syntax", seed=1),
        Job(root, "syntax", "random:pocket-bert"),
    ]
    hashes = {before, *(fingerprint(other)["hash"] for other in others)}
    assert len(hashes) == 4
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("BERTOLOGY_DATA", str(folder))
    assert fingerprint(job)["hash"] == before  # the profile `live` reads the embedded sets
    monkeypatch.setenv("BERTOLOGY_SOURCES", "local,embedded")
    for asked in (job, others[0]):
        hashes.add(fingerprint(asked)["hash"])
        (folder / f"{asked.profile}.txt").write_text("words")
        hashes.add(fingerprint(asked)["hash"])
    monkeypatch.delenv("BERTOLOGY_SOURCES")
    assert len({*hashes, fingerprint(others[0])["hash"]}) == 9


def test_stale_says_why_and_two_halves_of_different_runs_are_stale(root):
    job = Job(root, "syntax")
    assert state(job).status == "missing"
    job.folder.mkdir(parents=True)
    job.record.write_text(json.dumps({"results": [], "run": {"when": "now", "freshness": fingerprint(job)}}))
    job.notebook.write_text(json.dumps({"metadata": {"bertology": {"when": "now"}}}))
    assert state(job).fresh
    (root / "bertology_utils" / "direct.py").write_text("")
    assert state(job).status == "stale" and "direct.py" in state(job).reason
    job.notebook.write_text(json.dumps({"metadata": {"bertology": {"when": "before"}}}))
    assert "two runs" in state(job).reason


def test_a_chapter_that_looks_through_the_families_depends_on_every_model(root):
    (root / "models" / "ladder-2m").mkdir()
    (root / "models" / "ladder-2m" / "config.json").write_text("{}")
    assert set(fingerprint(Job(root, "syntax"))["models"]) == {"pocket-bert"}
    (root / "bertology_utils" / "families.py").write_text("")
    (root / "bertology_utils" / "direct.py").write_text("from . import families\n")
    assert set(fingerprint(Job(root, "syntax"))["models"]) == {"pocket-bert", "ladder-2m"}


READERS = {"notebooks/syntax.ipynb": True, "bertology_utils/sub/deep.py": True, "bertology_utils/aside.py": False}


@pytest.mark.parametrize("reader", READERS)
def test_a_recorded_table_matters_to_the_chapters_that_read_it(root, reader):
    table, job = root / "results" / "scores.csv", Job(root, "syntax")
    table.parent.mkdir()
    table.write_text("a,b\n")
    path = root / reader
    path.write_text(path.read_text().replace("1 + 1", "1 # scores.csv") if path.suffix == ".ipynb" else "'scores.csv'")
    before = fingerprint(job)["hash"]
    table.write_text("a,b\n1,2\n")
    assert (fingerprint(job)["hash"] != before) == READERS[reader]


@pytest.mark.parametrize(
    ("chapter", "table"),
    [("mbert", "multilingual.csv"), ("mbert", "twins.csv"), ("training", "pretraining_objectives.csv")],
)
def test_the_chapters_that_draw_recorded_tables_depend_on_them(chapter, table):
    assert f"results/{table}" in fingerprint(Job(find_root(), chapter))["files"]


def test_a_model_that_a_run_fetches_counts_as_if_it_had_been_there(root):
    folder = root / "models" / "pocket-bert"
    folder.rename(root / "away")
    job = Job(root, "syntax")
    before = fingerprint(job)
    (root / "away").rename(folder)
    assert before != fingerprint(job) == complete(before, root) == complete(fingerprint(job), root)
