"""Teaching material: no solution reaches a student, none is lost for the teacher, every heading is a slide, and the
instructor notes say what chapter and claims say."""

import importlib.util
import re
import subprocess
import sys

import nbformat
import pytest
from ledger_toys import claim
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_project import PARAMETERS, add_notebook, make_project

from bertology_utils import cli
from bertology_utils.errors import BertologyError
from bertology_utils.pages.chapter_text import goals, open_questions, plain, question
from bertology_utils.pages.instructor_notes import MISREADINGS, Misreading, control, in_words, instructor_notes
from bertology_utils.pages.teach import (
    exercises,
    grading_key,
    sections,
    slides,
    student_version,
    tags,
    teach,
    title,
)  # fmt: skip
from bertology_utils.verdicts.claims import TESTED_KINDS, load_claims

SECRET = "answer = 40 + 2"
TABLE = "| 1. Count to forty-two | ★★ | 10 |"


def chapter() -> nbformat.NotebookNode:
    counted = new_code_cell(
        f"{SECRET}\n# Check: counted\nassert answer == 42", metadata={"tags": ["solution", "hide-cell"]}
    )
    counted.outputs, counted.execution_count = [new_output("stream", text="42")], 3
    cells = [
        new_markdown_cell("# Do heads count?\n\nAn introduction.\n\n## The claim\n\n```\n# no heading\n```"),
        new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
        new_code_cell("1 + 1"),
        new_markdown_cell("## Exercises\n\n### Exercise 1: Count to forty-two (★★, 10 minutes)\n\nCount."),
        counted,
        new_markdown_cell("### Exercise 2: Say why\n\n★ · 5 min\n\nIn words."),
        new_markdown_cell("Because it is.", metadata={"tags": ["solution"]}),
        new_code_cell("assert 'because'", metadata={"tags": ["check"]}),
        new_markdown_cell("## What we saw\n\nNothing."),
        new_code_cell("chapter.close()"),
    ]
    return new_notebook(cells=cells)


def test_students_get_places_for_answers_checks_and_no_solution():
    student = student_version(chapter())
    text = nbformat.writes(student)
    assert SECRET not in text and "Because it is" not in text
    places = [cell.source for cell in student.cells if "answer" in tags(cell)]
    assert places[0].startswith("# Your answer\n") and places[0].endswith("# Check: counted\nassert answer == 42")
    assert places[1] == "*Your answer*" and "assert 'because'" in text
    assert all(not cell.outputs and cell.execution_count is None for cell in student.cells if cell.cell_type == "code")
    assert len(student.cells) == len(chapter().cells) and nbformat.validate(student) is None


def test_the_grading_key_has_what_was_removed():
    key = grading_key("attention", chapter())
    assert title(chapter()) == "Do heads count?" and key.startswith("# Grading key: Do heads count?")
    assert TABLE in key and "2 exercises, 15 minutes" in key and SECRET in key and "Because it is" in key
    first, second = exercises(chapter())
    assert (first.title, first.difficulty, first.minutes, len(first.solutions)) == ("Count to forty-two", "★★", 10, 1)
    assert (second.title, second.difficulty, second.minutes) == ("Say why", "★", 5)


def told() -> nbformat.NotebookNode:
    opening = (
        "# What do heads count?\n\n**The question.** Do heads count,\nand why {cite}`clark2019what,htut2019attention`?"
        "\n\n**The plan.** None.\n\n**What you will learn**\n\n- to count;\n- to ask\n  {cite:t}`clark2019what`.\n\nA."
    )
    ending = "## What we saw\n\n- Nothing.\n\n## Open questions\n\n1. Which head? See [layers](layers.ipynb).\n2. Why?"
    cells = [new_markdown_cell(opening), *chapter().cells[3:5], new_markdown_cell(ending)]
    return new_notebook(cells=cells)


def test_what_a_chapter_says_of_itself_is_found():
    assert question(told()) == "Do heads count, and why (Clark et al. 2019; Htut et al. 2019)?"
    assert question(chapter()) == "Do heads count?"
    assert goals(told()) == ["to count;", "to ask Clark et al. 2019."] and goals(chapter()) == []
    assert open_questions(told()) == ["Which head? See layers.", "Why?"] and open_questions(chapter()) == []
    assert plain("a {cite}`nobody2020nothing`\nb") == "a (nobody2020nothing) b"


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("a_1 > b by 0.05 and c < 0.5", "*a 1* lies above *b*, by at least 0.05; and *c* lies below 0.5"),
        ("a > max(b, 0.5)", "*a* lies above the larger of *b* and 0.5"),
        ("min(a, b, c) - d < 2 * (e + 1)", "the smallest of *a*, *b* and *c* − *d* lies below 2 × (*e* + 1)"),
        ("abs(a - b) / c > -d", "|*a* − *b*| / *c* lies above −*d*"),
        ("a > b + 0.05", "*a* lies above *b*, by at least 0.05"),
        ("median(a, b, c) > 0", "the middle one of *a*, *b* and *c* lies above 0"),
    ],
)
def test_a_prediction_is_told_in_words(formula, words):
    assert in_words(formula) == words


def test_every_prediction_of_the_ledger_is_told_in_words():
    assert all(in_words(formula) for claim in load_claims() for formula in (claim.prediction, claim.given) if formula)


def test_a_control_is_told_by_what_it_rules_out():
    assert control(claim("one")) == "Twin."
    failing = claim("one").model_copy(update={"given": "a > b by 0.1", "failure": True})
    assert control(failing) == "Ability: *a* lies above *b*, by at least 0.1. Twin, unless it fails the condition too."
    assert control(claim("one").model_copy(update={"checks": "a count"})) == "No twin. Checked: a count."
    assert control(claim("one").model_copy(update={"specific": False})).startswith("No twin: it may hold")


def test_instructor_notes_hold_all_that_chapter_and_claims_say():
    notes = instructor_notes("attention", told(), [Misreading(says="It counts.", reply="Does the twin?")])
    assert notes.startswith("# Instructor notes: What do heads count?") and SECRET not in notes
    claims = {c.id: c for c in load_claims() if c.notebook == "attention"}
    tested = {c.id for c in claims.values() if c.prediction}
    assert set(re.findall(r"^### `(.+)`$", notes, flags=re.MULTILINE)) == tested
    untested = set(re.findall(r"^- `(.+?)`: ", notes, flags=re.MULTILINE))
    assert untested == {c.id for c in claims.values() if not c.prediction and c.kind in TESTED_KINDS}
    for identity in tested:
        assert f"**Prediction.** {in_words(claims[identity].prediction)}." in notes
        assert claims[identity].statement in notes and (claims[identity].effect or "") in notes
    assert TABLE in notes and "- *It counts.* Does the twin?" in notes and "- Why?" in notes and "- to count;" in notes
    assert not re.search(r"\n\n\n\n|\{cite|\.ipynb", notes)
    assert "## Claims" not in instructor_notes("sayings", told()) and "students get wrong" not in instructor_notes(
        "syntax", told()
    )


@pytest.mark.parametrize(
    "heading",
    [
        "Count (★★, 10 minutes)",
        "Count — ★★, 10 min",
        "Count ★★ (10 min)",
        "Count (10 minutes, ★★)",
        "Count · ★★ · 10 minutes",
    ],
)
def test_difficulty_and_minutes_are_found_however_the_heading_says_them(heading):
    notebook = new_notebook(cells=[new_markdown_cell(f"### Exercise 1: {heading}")])
    (found,) = exercises(notebook)
    assert (found.title, found.difficulty, found.minutes) == ("Count", "★★", 10)


def test_every_heading_is_one_slide_and_nothing_else_begins_one():
    deck = slides(chapter())
    kinds = [(cell.source.splitlines()[0], cell.metadata.slideshow.slide_type) for cell in deck.cells]
    assert [line for line, kind in kinds if kind == "slide"] == [
        "# Do heads count?", "## The claim", "## Exercises", "### Exercise 1: Count to forty-two (★★, 10 minutes)",
        "### Exercise 2: Say why", "## What we saw",
    ]  # fmt: skip
    skipped = [line for line, kind in kinds if kind == "skip"]
    assert skipped == ['MODEL = "pocket-bert"', SECRET, "Because it is.", "chapter.close()"]
    assert len({cell.id for cell in deck.cells}) == len(deck.cells) and nbformat.validate(deck) is None
    assert list(sections("```\n# a\n```\ntext")) == ["```\n# a\n```\ntext"]


def test_a_figure_fills_its_slide_and_is_drawn_again_nowhere_else():
    source, html = chapter(), '<figure><svg style="width:100%;max-width:355px;height:auto"></svg></figure>'
    cell = next(cell for cell in source.cells if cell.cell_type == "code")
    cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": html})]
    outputs = [output for cell in slides(source).cells for output in cell.get("outputs", []) if "data" in output]
    assert outputs[0].data["text/html"] == html.replace("max-width:355px", "max-height:560px")
    assert cell.outputs[0].data["text/html"] == html


def notes_of(root, chapter):
    return (root / "_build" / "teaching" / "instructor-notes" / f"{chapter}.md").read_text(encoding="utf-8")


@pytest.fixture
def root(tmp_path):
    root = make_project(tmp_path)
    nbformat.write(chapter(), root / "notebooks" / "attention.ipynb")
    add_notebook(root, "syntax", "1 + 1")
    return root


def test_the_command_writes_five_files_a_chapter_and_no_parts(root, capsys):
    out = root / "material"
    assert cli.main(["teach", "attention", "--out", str(out), "--root", str(root)]) == 0
    assert "attention: 2 exercises, 15 minutes" in capsys.readouterr().out
    written = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    assert written == [
        "grading-key/attention.md",
        "instructor-notes/attention.md",
        "nbgrader/nbgrader_config.py",
        "nbgrader/source/attention/attention.ipynb",
        "slides/attention.ipynb",
        "student/attention.ipynb",
    ]
    assert [name for name, _ in teach(root)] == ["syntax", "attention"]
    assert (root / "_build" / "teaching" / "student" / "syntax.ipynb").is_file()


def test_what_leaves_the_book_names_its_studies(root):
    cells = [
        new_markdown_cell(
            "# So {cite:t}`clark2019what` say\n\n## Exercises\n\n### Exercise 1: Ask\n\n{cite}`clark2019what`"
        )
    ]
    nbformat.write(new_notebook(cells=cells), root / "notebooks" / "attention.ipynb")
    list(teach(root, ["attention"]))
    written = [path.read_text("utf-8") for path in (root / "_build" / "teaching").rglob("attention.*")]
    assert len(written) == 5 and all("Clark et al. 2019" in text and "{cite" not in text for text in written)


def test_students_of_a_published_book_may_begin_in_colab(root):
    options = "{html_theme_options: {repository_url: 'https://github.com/someone/book'}}"
    (root / "_config.yml").write_text(f"sphinx: {{config: {options}}}")
    list(teach(root, ["attention"]))
    student = nbformat.read(root / "_build" / "teaching" / "student" / "attention.ipynb", as_version=4)
    assert "https://github.com/someone/book" in student.cells[0].source and nbformat.validate(student) is None
    assert len(student.cells) == len(chapter().cells) + 1


def test_mistakes_are_told_and_leave_nothing(root, capsys):
    assert cli.main(["teach", "atention", "--root", str(root)]) == 1
    assert "Did you mean attention?" in capsys.readouterr().err and not (root / "_build").exists()
    (root / MISREADINGS).parent.mkdir(parents=True)
    (root / MISREADINGS).write_text("syntax: [{says: It counts.}]")
    with pytest.raises(BertologyError, match=re.escape("syntax.0.reply")):
        list(teach(root))
    (root / MISREADINGS).write_text("sintax: [{says: It counts., reply: Does the twin?}]")
    assert cli.main(["teach", "--root", str(root)]) == 1 and "Did you mean syntax?" in capsys.readouterr().err
    (root / MISREADINGS).write_text("syntax: [{says: It counts., reply: Does the twin?}]")
    assert list(teach(root, ["syntax"])) and "Does the twin?" in notes_of(root, "syntax")
    (root / "notebooks" / "syntax.ipynb").write_text("{}")
    with pytest.raises(BertologyError, match="not a notebook"):
        list(teach(root, ["syntax"]))
    (root / "file").touch()
    assert cli.main(["teach", "attention", "--out", str(root / "file"), "--root", str(root)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.skipif(importlib.util.find_spec("nbconvert") is None, reason="nbconvert is not installed")
def test_nbconvert_makes_slides_of_it(root):
    list(teach(root, ["attention"]))
    deck = root / "_build" / "teaching" / "slides" / "attention.ipynb"
    converted = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "slides", "--stdout", str(deck)], capture_output=True, text=True
    )
    assert converted.returncode == 0, converted.stderr
    assert converted.stdout.count("<section") >= 6 and SECRET not in converted.stdout
