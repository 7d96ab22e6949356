"""The book's Sphinx extension: swaps executed chapters in, generates the computed parts of pages, copies the ledger.

Depends on Sphinx, `contents` and `parts`, and on the folder `_executed/` that a run leaves beside `_config.yml`.
Pages say where a generated part goes with a directive, e.g. `{bertology-ledger}`; none has a number typed by hand.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from bertology_utils import families
from bertology_utils.bibliography import load_references
from bertology_utils.files import read_json
from bertology_utils.pages import (
    axes,
    conflict_pages,
    contents,
    emergence,
    layout,
    ledger_table,
    parts,
    specimen_growth,
    specimens,
    speed,
    validity,
)
from bertology_utils.pages.build import AXES
from bertology_utils.pages.calibration import calibration_table
from bertology_utils.verdicts import reruns
from bertology_utils.verdicts.calibration import PATH as CALIBRATION
from bertology_utils.verdicts.claims import load_claims
from bertology_utils.verdicts.conflicts import CONFLICTS, load_conflicts

logger = logging.getLogger(__name__)
CHAPTER_FOLDER = "notebooks/"
EXECUTED = Path("_executed")
SHOWN = Path("live") / "pocket-bert"  # the run that the pages show: profile, model
PACKAGE = Path(__file__).parents[1]
THEMES = {
    "layers": "Where in the stack things are",
    "weights": "What an attention weight means",
    "heads": "What single heads do",
    "competence": "Competence or surface cues",
    "knowledge": "Facts and reasoning",
    "training": "What pre-training and fine-tuning add",
    "size": "Size, pruning and damage",
    "languages": "Many languages in one model",
    "benchmarks": "What benchmarks show",
}


def executed_copy(source_folder: str | Path, docname: str) -> Path | None:
    """Where the executed copy of a chapter would lie; None for a page that is no chapter."""
    if not docname.startswith(CHAPTER_FOLDER):
        return None
    return Path(source_folder) / EXECUTED / SHOWN / f"{docname.removeprefix(CHAPTER_FOLDER)}.ipynb"


def digest(path: Path) -> str:
    """Fingerprint of a file's content, empty where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def swap_in_executed(app: Sphinx, docname: str, source: list[str]) -> None:
    """`source-read`: replaces a chapter's stripped notebook by its executed copy; without one, a warning."""
    path = executed_copy(app.srcdir, docname)
    if path is None:
        return
    app.env.metadata[docname]["executed"] = digest(path)
    if not path.is_file():
        text = "chapter %s has not been executed: run `bertology run` first"
        logger.warning(text, docname, type="bertology", subtype="unexecuted")
        return
    rows = {row.id: row for row in contents.load_rows(Path(app.srcdir) / EXECUTED / "ledger.json")}
    notebook = with_recorded(json.loads(path.read_text(encoding="utf-8")), rows)
    source[0] = json.dumps(stamped(layout.laid_out(notebook)))


def with_recorded(notebook: dict[str, Any], rows: dict[str, contents.Row]) -> dict[str, Any]:
    """The notebook with the recorded results of a claim on its verdict card, above the card's last line."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            card = "".join(output.get("data", {}).get("text/html", ""))
            found = re.search(r'<section class="verdict-card [^>]*id="claim-([^"]+)"', card)
            if found and (kept := rows[found[1]].recorded):
                foot = '<p class="verdict-foot">'
                output["data"]["text/html"] = card.replace(foot, f"{parts.recorded_line(kept)}{foot}")
    return notebook


def stamped(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with one line at its end that says when, on what and from which commit it was run."""
    run = notebook.get("metadata", {}).get("bertology")
    if run:
        text = (
            f"Run on {str(run.get('when', ''))[:10]} with `{run.get('model')}`, profile `{run.get('profile')}`, "
            f"commit `{str(run.get('commit'))[:7]}`, in {float(run.get('seconds') or 0):.0f} seconds."
        )
        cell = {
            "cell_type": "markdown",
            "id": "run-stamp",
            "metadata": {},
            "source": f":::{{div}} run-stamp\n{text}\n:::",
        }
        notebook["cells"].append(cell)
    return notebook


def outdated_chapters(app: Sphinx, env: BuildEnvironment, added: set, changed: set, removed: set) -> list[str]:
    """`env-get-outdated`: chapters whose executed copy is no longer the one that was read."""
    return [
        name
        for name in env.found_docs
        if (path := executed_copy(app.srcdir, name)) and env.metadata[name].get("executed") != digest(path)
    ]


class _Generated(SphinxDirective):
    """A part of a page computed from the claims and the run; read again whenever the ledger changed."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(self.executed / "ledger.json"))
        return [nodes.raw("", self.html(), format="html")]

    def html(self) -> str:
        raise NotImplementedError

    def section(self, sections: dict[str, Callable[[], str]]) -> str:
        """The part that the argument names, the first one without an argument."""
        name = self.arguments[0] if self.arguments else next(iter(sections))
        if name not in sections:
            raise self.error(f"unknown section {name!r}; known: {', '.join(sections)}")
        return sections[name]()

    @property
    def executed(self) -> Path:
        return Path(self.env.srcdir) / EXECUTED

    @property
    def rows(self) -> list[contents.Row]:
        return contents.load_rows(self.executed / "ledger.json")

    def link(self, docname: str) -> str:
        return self.env.app.builder.get_relative_uri(self.env.docname, docname)


class LedgerDirective(_Generated):
    """The table of all claims, or with `counts` how its verdicts are spread and how many are expected to be false."""

    optional_arguments = 1

    def html(self) -> str:
        rows = self.rows
        return self.section(
            {
                "claims": lambda: ledger_table.ledger_table(rows, load_references(), self.link),
                "counts": lambda: ledger_table.ledger_summary(rows),
            }
        )


class ConflictsDirective(_Generated):
    """The conflicts of the theme named as argument, all axes with `axes`, or the overview without an argument."""

    optional_arguments = 1
    final_argument_whitespace = True

    def html(self) -> str:
        rows, conflicts = {row.id: row for row in self.rows}, load_conflicts()
        path = self.executed / AXES
        for read in (CONFLICTS, path):
            self.env.note_dependency(str(read))
        entries = contents.read_valid_json(path, [])

        def of_theme(theme: str) -> str:
            mine = [conflict for conflict in conflicts if conflict.theme == theme]
            return conflict_pages.conflict_map(mine, rows, load_references(), self.link, entries)

        sections = {
            "summary": lambda: conflict_pages.conflict_summary(conflicts, rows, THEMES),
            "axes": lambda: axes.overview(conflicts, entries, lambda name: self.link(f"notebooks/{name}")),
        }
        return self.section(sections | {theme: partial(of_theme, theme) for theme in THEMES})


class RunsDirective(_Generated):
    """The record of executed chapters, or a named part: data, twin, reruns, intervals, planted effects, speed."""

    optional_arguments = 1

    def html(self) -> str:
        kept = (reruns.PATH, reruns.CHECKS, speed.RECORD, CALIBRATION)
        path, checks, bench, planted = (Path(self.env.srcdir) / name for name in kept)
        for read in (path, checks, bench, planted):
            self.env.note_dependency(str(read))
        again = reruns.current(reruns.read(path), {claim.id: claim.amended for claim in load_claims()})
        sections = {
            "chapters": lambda: parts.run_record(contents.load_records(self.executed), self.rows, self.link),
            "data": lambda: validity.data_table(self.rows),
            "twin": lambda: validity.twin_table(self.rows),
            "seeds": lambda: validity.rerun_table(again),
            "intervals": lambda: validity.interval_table(reruns.current_checks(reruns.read_checks(checks), again)),
            "calibration": lambda: calibration_table(planted),
            "speed": lambda: speed.speed_table(read_json(bench) or []),
        }
        return self.section(sections) or "<p>Nothing of the kind is recorded yet.</p>"


class HeadlineDirective(_Generated):
    """The index page's numbers and figure."""

    def html(self) -> str:
        return parts.headline(self.rows, self.link)


class SystemsDirective(_Generated):
    """The systems and methods that the survey names."""

    def html(self) -> str:
        return parts.systems_table(contents.load_systems(), {row.id: row for row in self.rows}, self.link)


class SpecimensDirective(_Generated):
    """The embedded models and their grammar by paradigm, or, with `claims` or `real-data`, which claims grow."""

    optional_arguments = 1

    def html(self) -> str:
        root = Path(self.env.srcdir)
        for path in (root / specimens.SCORES, *root.glob("models/*/*.json*")):
            self.env.note_dependency(str(path))
        return self.section(
            {
                "grammar": lambda: self.grammar(root),
                "claims": lambda: emergence.emergence_part(root, self.rows, self.link),
                "real-data": lambda: emergence.real_data_part(root, self.rows, self.link),
            }
        )

    def grammar(self, root: Path) -> str:
        """What each model is, and how much grammar it has."""
        scores = specimens.read_scores(root / specimens.SCORES)
        models = families.groups(root).get("Specimens", [])
        sections = (
            specimens.model_table(root, scores),
            specimens.paradigm_plot(scores, models),
            specimens.paradigm_table(scores, models),
            specimen_growth.growth_part(root, scores),
        )
        return "".join(sections)


DIRECTIVES: dict[str, type[_Generated]] = {
    "bertology-ledger": LedgerDirective,
    "bertology-conflicts": ConflictsDirective,
    "bertology-runs": RunsDirective,
    "bertology-headline": HeadlineDirective,
    "bertology-systems": SystemsDirective,
    "bertology-specimens": SpecimensDirective,
}


def add_ledger_script(app: Sphinx, pagename: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """The filter's script on the ledger page only."""
    if pagename == "book/ledger":
        app.add_js_file("ledger.js")


def copy_ledger(app: Sphinx, error: Exception | None) -> None:
    """`build-finished`: `ledger.json` and `ledger.csv` beside the ledger page."""
    target = Path(app.outdir) / "book"
    if error or app.builder.format != "html" or not target.is_dir():
        return
    for name in ("ledger.json", "ledger.csv"):
        if (source := Path(app.srcdir) / EXECUTED / name).is_file():
            shutil.copyfile(source, target / name)


def code_version(package: Path) -> int:
    """A number for the code of a package: pages that were read under another one are read again."""
    files = sorted(path for kind in ("*.py", "*.html") for path in package.rglob(kind))
    return int(hashlib.sha256("".join(map(digest, files)).encode()).hexdigest()[:8], 16)


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx's entry point."""
    app.connect("source-read", swap_in_executed)
    app.connect("env-get-outdated", outdated_chapters)
    app.connect("html-page-context", add_ledger_script)
    app.connect("build-finished", copy_ledger)
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    return {
        "version": "1",
        "env_version": code_version(PACKAGE),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
