"""The book's Sphinx extension: swaps executed chapters in, generates the computed parts of pages.

Depends on Sphinx, on the other modules of `pages`, and on the folder `_executed/` that a run leaves beside
`_config.yml`. Pages say where a generated part goes with a directive, such as `{bertology-ledger}` or, with the part's
name, `{bertology-ledger} counts`; none has a number typed by hand. `bertology build` reads all pages anew.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from bertology_utils.bibliography import load_references
from bertology_utils.files import read_json, write_text
from bertology_utils.pages import (
    ask,
    ask_in_chapters,
    axes,
    claim_pages,
    colab,
    conflict_pages,
    contents,
    emergence,
    feed,
    glossary_terms,
    ledger_table,
    more_reading,
    museum,
    quizzes,
    run_record,
    specimens,
)
from bertology_utils.pages.build import AXES
from bertology_utils.pages.layout import as_page
from bertology_utils.project import CHAPTERS
from bertology_utils.templates import render
from bertology_utils.verdicts import calibration, processors, sealed
from bertology_utils.verdicts.conflicts import load_conflicts

logger = logging.getLogger(__name__)
CHAPTER_FOLDER = "notebooks/"
BINDER = "https://mybinder.org"
EXECUTED = Path("_executed")
LEDGER = EXECUTED / "ledger.json"
SHOWN = Path("live") / "pocket-bert"  # the run that the pages show: profile, model
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
Rows = list[contents.Row]
Part = Callable[[Path, Rows, ledger_table.Link], str]  # of the project's folder, all claims, and addresses


def swap_in_executed(app: Sphinx, docname: str, source: list[str]) -> None:
    """`source-read`: replaces a chapter's stripped notebook by its executed copy; without one, a warning."""
    if not docname.startswith(CHAPTER_FOLDER):
        return
    path = Path(app.srcdir) / EXECUTED / SHOWN / f"{docname.removeprefix(CHAPTER_FOLDER)}.ipynb"
    if not path.is_file():
        text = "chapter %s has not been executed: run `bertology run` first"
        logger.warning(text, docname, type="bertology", subtype="unexecuted")
        return
    rows = {row.claim.id: row for row in contents.load_rows(Path(app.srcdir) / LEDGER)}
    page = as_page(
        ask_in_chapters.with_panel(json.loads(path.read_text(encoding="utf-8")), path.stem, Path(app.srcdir)), rows
    )
    quiz = Path(app.srcdir) / quizzes.FOLDER / f"{path.stem}.yaml"
    source[0] = json.dumps(quizzes.with_quiz(page, quiz))


def _conflicts(part: str, root: Path, rows: Rows, link: ledger_table.Link) -> str:
    """All axes, the overview, or the conflicts of a theme."""
    by_id, conflicts = {row.claim.id: row for row in rows}, load_conflicts()
    entries = contents.read_valid_json(root / EXECUTED / AXES, [])
    if part == "axes":
        return axes.overview(conflicts, entries, link)
    if part == "summary":
        return conflict_pages.conflict_summary(conflicts, by_id, THEMES)
    mine = [conflict for conflict in conflicts if conflict.theme == part]
    return conflict_pages.conflict_map(mine, by_id, load_references(), link, entries)


PARTS: dict[str, dict[str, Part]] = {
    "bertology-ask": {name: partial(ask.ask_part, name) for name in ask.PANELS},
    "bertology-ask-in": {name: partial(ask_in_chapters.chapter_part, name) for name in CHAPTERS},
    "bertology-colab": {"": colab.colab_part},
    "bertology-headline": {"": lambda root, rows, link: ledger_table.headline(rows, link)},
    "bertology-ledger": {
        "claims": lambda root, rows, link: ledger_table.ledger_table(rows, load_references(), link),
        "counts": lambda root, rows, link: ledger_table.ledger_summary(rows),
    },
    "bertology-systems": {
        "": lambda root, rows, link: ledger_table.systems_table({row.claim.id: row for row in rows}, link)
    },
    "bertology-conflicts": {name: partial(_conflicts, name) for name in ("summary", "axes", *THEMES)},
    "bertology-runs": {
        "chapters": lambda root, rows, link: run_record.chapters_table(
            contents.load_records(root / EXECUTED), rows, link
        ),
        "data": lambda root, rows, link: run_record.data_table(rows),
        "twin": lambda root, rows, link: run_record.twin_table(rows),
        "seeds": lambda root, rows, link: run_record.rerun_table(*run_record.reruns_of(root), rows),
        "intervals": lambda root, rows, link: run_record.interval_table(run_record.reruns_of(root)[1]),
        "processors": lambda root, rows, link: run_record.processor_table(processors.read(root / processors.PATH)),
        "calibration": lambda root, rows, link: run_record.calibration_table(root / calibration.PATH),
        "speed": lambda root, rows, link: run_record.speed_table(read_json(root / run_record.SPEED) or []),
    },
    "bertology-more-reading": {"verdicts": more_reading.more_reading_part, "weights": more_reading.weights_part},
    "bertology-museum": {"": museum.museum_part},
    "bertology-specimens": {
        "grammar": specimens.grammar_part,
        "checks": specimens.checks_part,
        "recipes": specimens.recipes_part,
        "claims": emergence.emergence_part,
        "real-data": emergence.real_data_part,
    },
}
"""What each directive can show, by the name that its argument gives; the first part without one."""


class Generated(SphinxDirective):
    """A part of a page computed from the claims and the runs."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        parts, root = PARTS[self.name], Path(self.env.srcdir)
        name = self.arguments[0] if self.arguments else next(iter(parts))
        if name not in parts:
            raise self.error(f"unknown part {name!r}; known: {', '.join(parts)}")
        link = partial(self.env.app.builder.get_relative_uri, self.env.docname)
        html = parts[name](root, contents.load_rows(root / LEDGER), link) or render("nothing.html")
        return [nodes.raw("", html, format="html")]


SCRIPTS = {"book/ledger": "ledger.js", "notebooks/compression": "tables.js"}


def add_page_scripts(app: Sphinx, pagename: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """A page's own script, which no other page loads; and what makes slides of a chapter."""
    if pagename in SCRIPTS:
        app.add_js_file(SCRIPTS[pagename])
    if pagename.startswith(CHAPTER_FOLDER):
        app.add_js_file("present.js")


def add_ask_assets(app: Sphinx, pagename: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Script and style of pages that run a model, on those alone; the script fetches the rest on a click."""
    if pagename == ask.PAGE or pagename.removeprefix(CHAPTER_FOLDER) in ask_in_chapters.chapter_panels(
        Path(app.srcdir)
    ):
        app.add_js_file("ask/ask.js", defer="defer")
        app.add_css_file("ask/ask.css")


def changes_of(app: Sphinx) -> list[feed.Change]:
    """What the changelog tells, newest first; nothing without one."""
    path = Path(app.srcdir) / feed.CHANGELOG
    return feed.read_changes(path) if path.is_file() else []


def add_feed_link(app: Sphinx, pagename: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Each page names the feed of changes, so that a reader's program finds it."""
    if changes_of(app):
        found = render("feed_link.html", address=context["pathto"](feed.FILE, resource=True))
        context["metatags"] = context.get("metatags", "") + str(found)


def add_launch_buttons(app: Sphinx, config: Config) -> None:
    """`config-inited`: chapters open in Binder and, from GitHub, in Colab where the settings name a repository; else no
    page has a dead button."""
    address = config.html_theme_options.get("repository_url") or ""
    if address:
        buttons = {"binderhub_url": BINDER, "notebook_interface": "jupyterlab"}
        if address.startswith(colab.GITHUB):  # of others the theme warns
            buttons["colab_url"] = colab.COLAB
        config.html_theme_options["launch_buttons"] = buttons


def claim_pages_of(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """`html-collect-pages`: a page for each claim, which no source stands behind."""
    root, versions = Path(app.srcdir), defaultdict(list)
    for entry in sealed.read(root / sealed.PATH):
        versions[entry["claim"]].append(entry["date"][:10])
    link = partial(app.builder.get_relative_uri, claim_pages.address("any"))
    rows = contents.load_rows(root / LEDGER)
    for name, title, body in claim_pages.claim_pages(rows, load_references(), versions, link):
        yield name, {"title": title, "body": body}, "page.html"


def write_ask_models(app: Sphinx, exception: Exception | None) -> None:
    """`build-finished`: the models that this page may ask, beside a book that has it."""
    if exception is None and app.builder.format == "html" and ask.PAGE in app.env.found_docs:
        ask.write_models(Path(app.srcdir), Path(app.outdir))


def write_feed(app: Sphinx, exception: Exception | None) -> None:
    """`build-finished`: the feed of changes, of a book that tells any."""
    if exception is None and app.builder.format == "html" and (changes := changes_of(app)):
        config = app.config
        home = config.html_baseurl or config.html_theme_options.get("repository_url", "")
        text = feed.feed(changes, f"{config.html_title}: changes", config.author, home)
        write_text(Path(app.outdir) / feed.FILE, text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx's entry point."""
    app.connect("source-read", swap_in_executed)
    app.connect("html-page-context", add_page_scripts)
    app.connect("html-page-context", add_ask_assets)
    app.connect("html-page-context", add_feed_link)
    app.connect("config-inited", add_launch_buttons)
    app.connect("html-collect-pages", claim_pages_of)
    app.connect("build-finished", write_ask_models)
    app.connect("build-finished", write_feed)
    app.setup_extension(glossary_terms.__name__)
    for name in PARTS:
        app.add_directive(name, Generated)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
