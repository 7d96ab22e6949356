"""The book's shell without a build (contents, pages, links, settings), and its generated parts on invented runs."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from ledger_toys import Balance, claim, result
from sphinx.config import Config
from sphinx_book_theme.header_buttons import launch

from bertology_utils.bibliography import load_references
from bertology_utils.errors import BertologyError
from bertology_utils.files import read_yaml
from bertology_utils.pages import (
    conflict_pages,
    contents,
    layout,
    ledger_table,
    numbers,
    picture,
    run_record,
    tallies,
)
from bertology_utils.pages import extension as page
from bertology_utils.project import CHAPTERS
from bertology_utils.templates import render, slug
from bertology_utils.verdicts.claims import load_claims
from bertology_utils.verdicts.conflicts import Conflict, load_conflicts

ROOT = Path(__file__).parents[2]
PAGES = sorted(ROOT.glob("book/**/*.md"))
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
CHAPTER_ENTRIES = [chapter for part in TOC["parts"] for chapter in part["chapters"]]
FILES = [TOC["root"], *(e["file"] for chapter in CHAPTER_ENTRIES for e in (chapter, *chapter.get("sections", ())))]
IN_CHAPTERS = [render("ask_in_chapter.md", lead="", chapter=name) + "\n" for name in CHAPTERS]
SHOWN = "".join([*(path.read_text(encoding="utf-8") for path in PAGES), *IN_CHAPTERS])
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))


def link(document):
    return f"../{document}.html"


@pytest.fixture
def rows(tmp_path):
    """Three claims: one that only training explains, one contradicted, one without a run."""
    found = {"one": [result("replicates"), result("contradicts", model="minilm")], "two": [result("contradicts")]}
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps([{"id": key, "results": value} for key, value in found.items()]), encoding="utf-8")
    return contents.load_rows(path, [claim("one"), claim("two"), claim("three")])


def test_contents_name_every_chapter_in_order_and_every_page():
    assert [name.removeprefix("notebooks/") for name in FILES if name.startswith("notebooks/")] == list(CHAPTERS)
    assert {path.relative_to(ROOT).with_suffix("").as_posix() for path in PAGES} == {
        name for name in FILES if name.startswith("book/")
    }


def test_the_chapters_of_the_contents_exist():
    if not list(ROOT.glob("notebooks/*.ipynb")):
        pytest.skip("no notebooks in this tree")
    assert [name for name in FILES if name.startswith("notebooks/") and not (ROOT / f"{name}.ipynb").is_file()] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_has_one_title_known_links_and_alternative_texts(path):
    text = re.sub(r"```shell.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(re.findall(r"^# ", text, flags=re.MULTILINE)) == 1
    assert not re.search(r"!\[\]\(", text)
    for target in re.findall(r"(?<!!)\[[^\]]+\]\(([^)]+)\)", text):
        assert "://" not in target
        named = Path(os.path.normpath(path.parent / target.partition("#")[0])).relative_to(ROOT)
        assert target.startswith("#") or (ROOT / named).is_file() or named.with_suffix("").as_posix() in FILES


def test_no_page_types_a_number_of_a_run():
    for name in ("index", "ledger", "synthesis", "run_record"):
        assert not re.search(r"\b\d+ (?:of|claims|chapters|seconds)\b", (ROOT / f"book/{name}.md").read_text("utf-8"))


def test_the_glossary_is_sorted_and_large_enough():
    block = (ROOT / "book/glossary.md").read_text(encoding="utf-8").split("```{glossary}")[1].split("```")[0]
    terms = [line for line in block.splitlines() if line and not line.startswith(" ")]
    assert len(terms) >= 40
    assert [t.lower().strip("[]") for t in terms] == sorted(t.lower().strip("[]") for t in terms)


def test_settings_fetch_nothing_and_keep_the_needed_extension():
    settings = CONFIG["sphinx"]["config"]
    assert "sphinx_thebe" not in settings["extensions"]
    assert "bertology_utils.pages.extension" in settings["extensions"]
    assert (ROOT / "book/assets" / settings["mathjax_path"]).is_file()
    assert (ROOT / "book/assets/mathjax/LICENSE").is_file()
    assert settings["nb_ipywidgets_js"] == {}


@pytest.mark.parametrize(
    ("repository", "opened"),
    [
        ("", []),
        (
            "https://github.com/someone/book",
            [
                "https://mybinder.org/v2/gh/someone/book/main?urlpath=lab/tree/notebooks/syntax.ipynb",
                "https://colab.research.google.com/github/someone/book/blob/main/notebooks/syntax.ipynb",
            ],
        ),
        (
            "https://gitlab.com/someone/book",
            ["https://mybinder.org/v2/gl/someone%2Fbook/main?urlpath=lab/tree/notebooks/syntax.ipynb"],
        ),
    ],
)
def test_one_setting_makes_the_buttons_that_open_a_chapter(repository, opened):
    options = dict(CONFIG["sphinx"]["config"]["html_theme_options"]) | {"repository_url": repository}
    config, header = Config(overrides={}), []
    config.html_theme_options = options
    page.add_launch_buttons(None, config)
    parts, provider = repository.split("/"), "gitlab" if "gitlab" in repository else "github"  # as the theme cuts it
    names = (f"{provider}_{name}" for name in ("url", "user", "repo"))
    known = dict(zip(names, ("/".join(parts[:3]), *parts[-2:]), strict=True)) if repository else {}
    env = SimpleNamespace(doc2path=lambda name: f"{name}.ipynb", metadata={"notebooks/syntax": {"kernelspec": {}}})
    app = SimpleNamespace(config={"html_theme_options": options}, env=env, outdir=".")
    context = known | {
        "pagename": "notebooks/syntax", "sourcename": "notebooks/syntax.ipynb", "header_buttons": header,
    }  # fmt: skip
    launch.add_launch_buttons(app, "notebooks/syntax", "page.html", context, None)
    assert [button["url"] for menu in header for button in menu["buttons"]] == opened


def test_binder_builds_from_the_books_own_pins():
    folder = ROOT / ".binder"
    assert (folder / "requirements.txt").read_text().split() == ["-r", "../requirements.txt"]
    assert (folder / "runtime.txt").read_text().strip() == "python-3.11"
    assert os.access(folder / "postBuild", os.X_OK)


@pytest.mark.parametrize("path", sorted(ROOT.glob("book/assets/*.*")), ids=lambda path: path.name)
def test_assets_name_no_outside_address(path):
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/", "")
    assert not re.search(r"https?://|@import|//cdn", text)


def test_conflicts_are_those_of_the_claims():
    claimed = {tuple(sorted((one.id, other))) for one in load_claims() for other in one.contested_with}
    mapped = {tuple(sorted(conflict.pair)) for conflict in load_conflicts() if len(conflict.pair) > 1}
    assert mapped == claimed


def test_every_theme_has_its_heading_and_its_directive():
    text = (ROOT / "book/synthesis.md").read_text(encoding="utf-8")
    assert {conflict.theme for conflict in load_conflicts()} == set(page.THEMES)
    for theme, title in page.THEMES.items():
        assert f"## {title}\n\n```{{bertology-conflicts}} {theme}\n" in text


def test_every_system_has_its_place():
    known = {one.id for one in load_claims()}
    assert [system["name"] for system in read_yaml(contents.SYSTEMS) if system["claim"] not in known] == []


def test_the_live_result_is_the_embedded_models_and_the_twin_never_stands_for_it(tmp_path):
    found = [
        result("contradicts", model="random:pocket-bert"),
        result("underpowered", model="minilm"),
        result("replicates"),
    ]
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps([{"id": "one", "results": found}]), encoding="utf-8")
    (row,) = contents.load_rows(path, [claim("one")])
    assert row.verdict == "replicates"


def test_a_broken_ledger_is_told_to_the_user(tmp_path):
    (tmp_path / "ledger.json").write_text("[", encoding="utf-8")
    with pytest.raises(BertologyError, match="not valid JSON"):
        contents.load_rows(tmp_path / "ledger.json", [])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("replicates", "contradicts", "first"), ("contradicts", "replicates", "second"),
     ("replicates (not specific)", "contradicts", "open"), ("replicates", "weaker", "open"),
     ("replicates", "underpowered", "open"), ("not run", "replicates", "open"),
     ("replicates", "replicates", "both"), ("contradicts", "contradicts", "neither"),
     ("cannot do the task", "not run", "open")],
)  # fmt: skip
def test_a_side_is_supported_only_if_it_is_specific_and_the_other_is_contradicted(first, second, expected):
    assert contents.outcome(first, second) == expected


def test_the_ledger_table_links_tested_claims_only_and_escapes(rows):
    html = ledger_table.ledger_table(rows, load_references(), link)
    assert Balance(html).open == []
    assert html.count("<tr role") == 4
    assert 'href="../notebooks/syntax.html#claim-one">&lt;one&gt;</a>' in html
    assert "#claim-three" not in html and "<one>" not in html
    assert 'data-verdict="not run"' in html


def test_a_row_has_all_that_decides(rows):
    html = ledger_table.ledger_table(rows[:1], load_references(), link)
    for words in ("0.812", "a &gt; b by 0.1", "effect +0.3 [+0.200, +0.400]", "0.1 would matter", "0.004",
                  "400 items of 40 units, 3 seeds", "lead +0.3 [+0.100, +0.500] over 5 twins"):  # fmt: skip
        assert words in html


def test_an_open_row_says_what_would_settle_it_and_a_check_what_it_checks():
    entries = [{"id": "one", "results": [result("underpowered", needs="about 80 <units>", lead=None)]}]
    html = ledger_table.ledger_table(contents.rows_of(entries, [claim("one", checks="the size")]), {}, link)
    assert "would settle it: about 80 &lt;units&gt;" in html and "checked: the size" in html


def test_results_from_recorded_intervals_are_marked():
    entries = [{"id": "one", "results": [result("weaker", recorded=True, intervals_only=True, model="minilm")]}]
    rows = contents.rows_of(entries, [claim("one")])
    assert "minilm, live, older intervals" in ledger_table.ledger_table(rows, {}, link)
    assert "from older, wider intervals" in layout.recorded_line(rows[0].recorded)
    ran = [*rows, *tallied()]
    assert "1 of the 1 recorded results are from before" in ledger_table.ledger_summary(ran)
    assert "from before" not in ledger_table.ledger_summary(tallied())


def test_the_filter_offers_what_the_rows_have(rows):
    html = ledger_table.ledger_table(rows, load_references(), link).split("<table")[0]
    assert "contradicts (1)" in html
    assert "underpowered" not in html
    assert 'aria-live="polite"' in html


def tallied():
    """Claims of each kind: about training (one of them amended), a check, and one that holds for any weights."""
    entries = [
        {"id": "a", "results": [result("replicates")]},
        {"id": "b", "results": [result("replicates (not specific)", control="replicates", q=0.02)]},
        {"id": "c", "results": [result("cannot do the task", control="underpowered")]},
        {"id": "d", "results": [result("replicates")]},
        {"id": "e", "results": [result("contradicts", p=0.9, q=0.9)]},
        {"id": "f", "results": [{"model": "pocket-bert", "profile": "live", "verdict": "not testable here"}]},
    ]
    claims = [claim("a", note="Amended 2026: margin"), claim("b"), claim("c"), claim("d", checks="a size"),
              claim("e", specific=False), claim("f")]  # fmt: skip
    return contents.rows_of(entries, claims)


def test_headlines_count_claims_about_training_and_the_rest_by_itself():
    training, unamended, checks = tallies.tallies(tallied())
    assert (training.replicate, training.tested, training.open) == (1, 3, 1)
    assert (unamended.replicate, unamended.tested) == (0, 2)
    assert (checks.replicate, checks.tested, checks.counts["contradicts"]) == (1, 2, 1)
    html = ledger_table.headline(tallied(), link)
    assert Balance(html).open == [] and "1 of 3</span> tested claims about training" in html
    assert "1 of the 3 tests were amended" in html and "0 of 2 replicate" in html and "1 of 2 hold" in html


def test_untrained_networks_never_replicate_but_may_meet_a_prediction():
    twins = tallies.twin_tally(tallied())
    assert twins.counts == {"contradicts": 1, "replicates (not specific)": 1, "underpowered": 1}


def test_the_expected_number_of_false_decisions_follows_from_q():
    found = tallies.errors(tallied())
    assert (found.asked, found.positive, found.negative) == (5, 3, 1)
    assert found.false_positive == pytest.approx(3 * 0.02) and found.false_negative == pytest.approx(5 * 0.025)
    text = " ".join(ledger_table.ledger_summary(tallied()).split())
    assert Balance(text).open == [] and "Of the 3 verdicts that a prediction holds" in text
    assert "at most 0.1 are expected" in text and ledger_table.ledger_summary([]) == ""


def test_what_the_expected_number_leaves_out_is_said():
    own, control = "a > b by 0.1", "told > 0.5"
    leads = [{"twins": 1, "text": own}, {"twins": 1, "text": control}, {"twins": 4, "text": own}, None,
             {"twins": 5, "text": own}]  # fmt: skip
    results = [*(result("replicates", lead=lead) for lead in leads), result("weaker")]
    entries = [{"id": str(i), "results": [found]} for i, found in enumerate(results)]
    claims = [claim(entry["id"], note="Amended 2026: why" * (entry["id"] == "0")) for entry in entries]
    rows = contents.rows_of(entries, claims)
    assert tallies.leads_by_twins(rows) == {"one": 3, "few": 1, "five": 1, "ability": 1}
    text = " ".join(ledger_table.ledger_summary(rows).split())
    assert "Of the 6 tests about training 1 were amended" in text and "of the 5 claims about training that" in text
    assert "3 lead a single untrained control" in text and "1 lead two to four twins, and 1 five or more" in text
    assert "In 1 of the claims, which say that a model fails" in text


def test_a_conflict_card_says_what_the_verdicts_say(rows):
    conflict = Conflict(pair=("one", "two"), kind="tension", theme="layers", about="A or <B>?")
    html = conflict_pages.conflict_card(conflict, {row.claim.id: row for row in rows}, load_references(), link)
    assert Balance(html).open == []
    assert "supports the first side" in html and "A or &lt;B&gt;?" in html
    assert html.count("no figures in the survey") == 2


def test_a_side_shows_its_studys_own_numbers():
    claims = [claim("one", published="82.5 <UUAS>", study={"best_layer": 0.8251, "chain": 0.4}), claim("two")]
    rows = {row.claim.id: row for row in contents.rows_of([], claims)}
    conflict = Conflict(pair=("one", "two"), kind="tension", theme="layers", about="?")
    assert "82.5 &lt;UUAS&gt;; best layer 0.825, chain 0.4" in conflict_pages.conflict_card(conflict, rows, {}, link)


def test_the_readme_gets_its_numbers_between_marks(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{numbers.MARKS[0]}\nstale words\n{numbers.MARKS[1]}\nafter\n", encoding="utf-8")
    numbers.write_numbers(readme, tmp_path, tallied())
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n") and "stale words" not in text
    assert "| **1** of 3 | **0** of 0 |" in text and "| 0 of 2 |" in text and "| 1 of 2 |" in text
    numbers.write_numbers(readme, tmp_path, tallied())
    assert readme.read_text(encoding="utf-8") == text
    with pytest.raises(BertologyError, match="no place for the numbers"):
        numbers.write_numbers(Path(__file__).parents[2] / "LICENSE", tmp_path, [])


def test_two_specimens_are_compared_on_what_looks_at_them():
    """Networks that a claim trains for itself are the same ones whichever specimen the chapter was run on."""
    second = {"model": "pocket-minilm", "recorded": True}
    entries = [
        {
            "id": "own",
            "results": [
                result("replicates"),
                result("contradicts", difference=0.0, ci_low=-0.1, ci_high=0.1, **second),
            ],
        },
        {"id": "trained here", "results": [result("replicates"), result("replicates", difference=0.300001, **second)]},
        {"id": "untested", "results": [result("replicates"), result("not testable here", difference=None, **second)]},
    ]
    rows = contents.rows_of(entries, [claim(entry["id"]) for entry in entries])
    found = numbers.comparison(rows, ("pocket-bert", "live"), ("pocket-minilm", "live"))
    assert (found["total"], found["opposed"], found["replicate"]) == (1, 1, 0)
    assert [len(row.recorded) for row in rows] == [1, 1, 1] and [len(row.elsewhere) for row in rows] == [1, 0, 1]


def test_the_readme_has_its_place_for_numbers():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(text.count(mark) == 1 for mark in numbers.MARKS)


@pytest.mark.parametrize("verdict", contents.VERDICTS[:-1])
def test_every_verdict_is_explained_and_has_its_look(verdict):
    guide = (ROOT / "book/how_to_read.md").read_text(encoding="utf-8")
    styles = (ROOT / "book/assets/house.css").read_text(encoding="utf-8")
    assert f"| {verdict} |" in guide
    if verdict in contents.SHARES:
        assert f".share-{slug(verdict)} " in styles and f".outcome-{slug(verdict)} " in styles


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_of_verdicts_stand_out_from_paper(theme):
    styles = (ROOT / "book/assets/house.css").read_text(encoding="utf-8")
    block = re.search(rf'html\[data-theme="{theme}"\] {{(.*?)}}', styles, flags=re.DOTALL)[1]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    used = [name for name in colours if name.startswith("verdict-")]
    assert len(used) == 6
    for name in used:
        for paper in ("house-paper", "house-raised"):
            darker, lighter = sorted(luminance(colours[which]) for which in (name, paper))
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (name, paper)


def test_without_a_run_pages_say_so(tmp_path):
    rows = contents.load_rows(tmp_path / "ledger.json", [claim("one")])
    assert [row.verdict for row in rows] == ["not run"]
    assert "make book" in ledger_table.headline(rows, link)
    assert "make book" in run_record.chapters_table([], rows, link)


def test_the_picture_counts_each_specimen_beside_its_control(rows, tmp_path):
    told = picture.draw(rows, tmp_path / "picture.svg")
    assert told.endswith("1 of 2 replicate for pocket-bert; none can for an untrained network")
    first = (tmp_path / "picture.svg").read_bytes()
    picture.draw(rows, tmp_path / "picture.svg")
    assert first == (tmp_path / "picture.svg").read_bytes() and first.startswith(b"<?xml")
    with pytest.raises(BertologyError, match="no fresh verdicts"):
        picture.draw([], tmp_path / "none.svg")


def test_the_picture_leaves_out_models_that_were_asked_some_chapters_only():
    found = {
        "one": [result("replicates")] + [result("replicates", model=m, recorded=True) for m in ("minilm", "large")],
        "two": [result("replicates"), result("contradicts", model="large", recorded=True)],
    }
    entries = [{"id": key, "results": value} for key, value in found.items()]
    rows = contents.rows_of(entries, [claim("one"), claim("two", notebook="semantics")])
    assert list(picture.sides(rows)) == ["pocket-bert", "pocket-bert, untrained", "large", "large, untrained"]


def test_the_run_record_reads_what_the_runner_writes(tmp_path, rows):
    run = {"chapter": "syntax", "model": "pocket-bert", "profile": "live", "seconds": 12.3, "commit": "abcdef123",
           "when": "2026-01-02T03:04:05+00:00", "versions": {"torch": "2.13.0"}}  # fmt: skip
    path = tmp_path / "live" / "pocket-bert" / "syntax.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"run": run, "results": []}), encoding="utf-8")
    smoke = tmp_path / "smoke" / "pocket-bert" / "syntax.json"
    smoke.parent.mkdir(parents=True)
    smoke.write_text(path.read_text())
    html = run_record.chapters_table(contents.load_records(tmp_path), rows, link)
    assert html.count(">Syntax<") == 1
    assert Balance(html).open == []
    assert all(word in html for word in ("12.3", "abcdef1", "2026-01-02 03:04", "torch"))


def test_an_executed_copy_replaces_the_stripped_notebook(tmp_path):
    copy = tmp_path / "_executed/live/pocket-bert/syntax.ipynb"
    copy.parent.mkdir(parents=True)
    run = {"when": "2026-01-02T03:04", "model": "pocket-bert", "profile": "live", "commit": "abcdef123", "seconds": 3.2}
    copy.write_text(json.dumps({"cells": [], "metadata": {"bertology": run}}), encoding="utf-8")
    app, source = SimpleNamespace(srcdir=str(tmp_path)), ["stripped"]
    page.swap_in_executed(app, "book/index", source)
    assert source == ["stripped"]
    page.swap_in_executed(app, "notebooks/syntax", source)
    assert "Run on 2026-01-02 with `pocket-bert`, profile `live`, commit `abcdef1`, in 3 seconds." in source[0]


@pytest.mark.parametrize(("directive", "part"), [(name, part) for name in page.PARTS for part in page.PARTS[name]])
def test_every_generated_part_is_whole_html_also_of_a_project_without_runs(tmp_path, directive, part):
    (tmp_path / "models").mkdir()
    html = page.PARTS[directive][part](tmp_path, contents.rows_of([]), link)
    assert Balance(html).open == []
    assert f"{{{directive}}} {part}\n".replace(" \n", "\n") in SHOWN or f"{{{directive}}}\n" in SHOWN
