"""The teaching pages name what exists: chapters, sections, exercises, claims, models; their minutes add up."""

import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

from bertology_utils.pages.chapter_text import HEADING, exercises, sections
from bertology_utils.pages.instructor_notes import read_misreadings
from bertology_utils.project import CHAPTERS, PROFILES, embedded_models, split_model
from bertology_utils.verdicts.claims import claim_by_id
from bertology_utils.verdicts.predictions import VERDICTS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "book" / "teaching.md", *ROOT.glob("book/teaching/*.md")])
CHAPTER = re.compile(r"\]\((?:\.\./)+notebooks/(\w+)\.ipynb\)")
SET = re.compile(r"\*([^*]+)\* \((★+), (\d+) minutes\)")
MOST_COLUMNS = 2  # what a phone shows without scrolling


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def notebook(chapter: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)


@cache
def headings(chapter: str) -> set[str]:
    texts = (part for cell in notebook(chapter).cells if cell.cell_type == "markdown" for part in sections(cell.source))
    return {found[2] for text in texts if (found := HEADING.match(text.partition("\n")[0]))}


def blocks(text: str) -> list[str]:
    """List items and paragraphs, each in one line, without code and tables."""
    text = re.sub(r"^ *(```.*?```|\|[^\n]*)$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(block.split()) for block in re.split(r"\n\s*\n|\n(?=\s*(?:-|\d+\.) )", text)]


def faulty_names(text: str) -> list[str]:
    """Sections in double quotes and exercises in italics that no chapter linked in the same block has."""
    faults = []
    for block in blocks(text):
        linked = CHAPTER.findall(block)
        known = set().union(*map(headings, linked)) if linked else set()
        faults += [name for name in re.findall(r'"([^"]+)"', block) if name not in known]
        set_there = {
            (e.title, e.difficulty, str(e.minutes)) for chapter in linked for e in exercises(notebook(chapter))
        }
        faults += [found[0] for found in SET.findall(block) if found not in set_there]
    return faults


def faulty_sums(text: str) -> list[str]:
    """Headings whose minutes are not those of the tables below them, or of the exercises that they set."""
    faults = []
    parts = list(sections(text))
    for i, part in enumerate(parts):
        heading = HEADING.match(part.partition("\n")[0])
        stated = heading and re.search(r"\((\d+) minutes( of exercises)?\)", heading[2])
        if not stated:
            continue
        deeper = []
        for below in parts[i + 1 :]:
            if len(below) - len(below.lstrip("#")) <= len(heading[1]):
                break
            deeper.append(below)
        scope = "\n\n".join([part, *deeper])
        minutes = [m for *_, m in SET.findall(" ".join(scope.split()))] if stated[2] else rows_of_minutes(scope)
        if sum(map(int, minutes)) != int(stated[1]):
            faults.append(heading[2])
    return faults


def rows_of_minutes(text: str) -> list[str]:
    tables = re.findall(r"^\| Minutes \|.*\n\| --- .*\n((?:\|.*\n?)+)", text, flags=re.MULTILINE)
    return re.findall(r"^\| (\d+) \|", "\n".join(tables), flags=re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_names_what_exists_and_its_minutes_add_up(path):
    assert faulty_names(text_of(path)) == []
    assert faulty_sums(text_of(path)) == []


def test_the_rules_find_faults():
    link = "[Syntax](../../notebooks/syntax.ipynb)"
    assert faulty_names(f'- {link}, "Trees in the vectors": *how good is the chain?*\n  (★, 5 minutes)') == []
    assert faulty_names(f'- {link}, "Trees": *how good is the chain?* (★★, 5 minutes)') == [
        "Trees",
        "how good is the chain?",
    ]
    assert faulty_names('- [Layers](../../notebooks/layers.ipynb)\n- "Trees in the vectors"') == [
        "Trees in the vectors"
    ]
    table = "| Minutes | What |\n| --- | --- |\n| 10 | a |\n| 20 | b |\n"
    assert faulty_sums(f"# Day (60 minutes)\n\n## One (30 minutes)\n\n{table}\n## Two (30 minutes)\n\n{table}") == []
    assert faulty_sums(f"# Day (50 minutes)\n\n## One (40 minutes)\n\n{table}") == [
        "Day (50 minutes)",
        "One (40 minutes)",
    ]
    assert faulty_sums("## Home (15 minutes of exercises)\n\n*a* (★, 5 minutes); *b* (★★,\n10 minutes)") == []


@pytest.mark.parametrize("name, parts", [("workshop", [90] * 4), ("two_weeks", [90] * 4), ("semester", [90] * 7)])
def test_courses_are_as_long_as_they_say(name, parts):
    text = text_of(ROOT / "book" / "teaching" / f"{name}.md")
    assert [int(m) for m in re.findall(r"^## .*\((\d+) minutes\)$", text, flags=re.MULTILINE)] == parts
    assert f"({sum(parts)} minutes)" in text.partition("\n")[0]


def test_the_semester_visits_every_chapter():
    linked = CHAPTER.findall(text_of(ROOT / "book" / "teaching" / "semester.md"))
    assert list(dict.fromkeys(linked)) == list(CHAPTERS)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_tables_fit_a_phone_and_no_verdict_is_told(path):
    text = text_of(path)
    rows = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    assert [row for row in rows if row.count("|") > MOST_COLUMNS + 1] == []
    assert not re.search(r"\d %|\b\d+ of \d+\b|\b(?:it|model|claim|BERT) (?:replicates|contradicts|fails here)\b", text)
    assert [word for word in VERDICTS if f"*{word}*" in text and word != "not testable here"] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_commands_name_claims_models_and_profiles_that_exist(path):
    text = text_of(path)
    assert all(claim_by_id(identity).prediction for identity in re.findall(r"--claim ([\w-]+)", text))
    assert {split_model(model)[1] for model in re.findall(r"--model ([\w:-]+)", text)} <= set(embedded_models(ROOT))
    assert set(re.findall(r"--profile (\w+)", text)) <= set(PROFILES)
    assert set(re.findall(r"bertology run (\w+)", text)) <= set(CHAPTERS)


def test_the_times_of_the_workshop_are_the_readmes():
    rows = re.findall(r"^ *(\| (?:installation|`make).*)$", text_of(ROOT / "book/teaching/workshop.md"), re.MULTILINE)
    assert len(rows) == 3 and [row for row in rows if row not in text_of(ROOT / "README.md")] == []


def test_projects_have_rubrics_of_four_levels_and_ways_in_that_exist():
    text = text_of(ROOT / "book" / "teaching" / "projects.md")
    sheets = [part for part in sections(text) if part.startswith("## ")]
    assert len(sheets) >= 5
    for sheet in sheets:
        assert re.findall(r"^\| (\d) \|", sheet, flags=re.MULTILINE) == ["4", "3", "2", "1"]
        assert [word for word in ("Goal", "Time", "Steps", "Deliverable") if f"**{word}" not in sheet] == []
    ways = re.findall(r"^### (.+)$", text_of(ROOT / "CONTRIBUTING.md"), flags=re.MULTILINE)
    named = re.findall(r"\*(An? [a-z ]+)\*", text)
    assert named and set(named) <= set(ways)
    suggested = re.search(r"no test asks yet.*?need no other model", text, flags=re.DOTALL)[0]
    assert [i for i in re.findall(r"`([\w-]+)`", suggested) if claim_by_id(i).prediction] == []


def test_every_chapter_has_three_misreadings_with_a_short_reply():
    found = read_misreadings(ROOT)
    assert list(found) == list(CHAPTERS) and {len(those) for those in found.values()} == {3}
    assert [m.says for those in found.values() for m in those if len(re.findall(r"[.?](?:\s|$)", m.reply)) > 3] == []
