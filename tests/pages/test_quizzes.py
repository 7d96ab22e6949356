"""Every chapter has five questions, each option is explained, and the page shows them without a script."""

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from bertology_utils.errors import BertologyError
from bertology_utils.pages.extension import swap_in_executed
from bertology_utils.pages.quizzes import FOLDER, read_quiz, with_quiz
from bertology_utils.project import CHAPTERS
from bertology_utils.templates import render

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / FOLDER


def place(question):
    return next(i for i, option in enumerate(question.options) if option.right)


def toy(**changes):
    """Five questions as a file holds them; the changes are made to the first option of the first."""
    options = [{"text": "a", "why": "b", "right": True}, {"text": "c", "why": "d"}, {"text": "e", "why": "f"}]
    quiz = [{"question": f"q{n}", "options": [dict(option) for option in options]} for n in range(5)]
    quiz[0]["options"][0] |= changes
    return quiz


@pytest.fixture
def file(tmp_path):
    def write(quiz):
        path = tmp_path / "toy.yaml"
        path.write_text(yaml.safe_dump(quiz), encoding="utf-8")
        return path

    return write


class Tags(HTMLParser):
    """All start tags of a page, with their attributes, and whether all that are opened are closed."""

    def __init__(self, html):
        super().__init__()
        self.found, self.open = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.open += [tag] if tag != "input" else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_each_chapter_has_its_quiz_and_no_other_file_lies_there():
    assert {path.name for path in HERE.iterdir()} == {f"{chapter}.yaml" for chapter in CHAPTERS}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_five_questions_or_more_with_one_right_option_each_in_places_that_vary(chapter):
    quiz = read_quiz(HERE / f"{chapter}.yaml")
    assert len({question.question for question in quiz}) == len(quiz) >= 5
    assert all(sum(option.right for option in question.options) == 1 for question in quiz)
    assert len({place(question) for question in quiz}) >= 3
    texts = [text for q in quiz for text in (q.question, *(t for o in q.options for t in (o.text, o.why)))]
    assert [text for text in texts if text.count("*") % 2 or text.count("`") % 2] == [], "a mark is not closed"
    assert [text for text in texts if re.search(r"\b(all|none) of the above\b", text, re.IGNORECASE)] == []


def test_neither_the_place_nor_the_length_of_an_option_gives_it_away():
    quiz = [question for chapter in CHAPTERS for question in read_quiz(HERE / f"{chapter}.yaml")]
    places = Counter(map(place, quiz))
    assert max(places.values()) < 0.4 * len(quiz) and len(places) == 4
    for extreme in (max, min):
        found = [extreme(range(len(q.options)), key=lambda i, q=q: len(q.options[i].text)) for q in quiz]
        assert sum(i == place(q) for i, q in zip(found, quiz, strict=True)) < 0.4 * len(quiz)


@pytest.mark.parametrize(
    ("quiz", "said"),
    [
        (toy(right=False), "question 1: one option must be right, not 0"),
        (toy()[:4], "at least 5"),
        (toy(why="  "), "question 1 options 1 why: .*at least 1 char"),
        (toy(text=5), "question 1 options 1 text: .*string"),
        (toy(because="x"), "question 1 options 1 because"),
        (toy(right="yes"), "question 1 options 1 right"),
        ([*toy()[:4], {"question": "q", "options": [{"text": "a"}]}], "question 5 options 1 why: Field required"),
        ({"question": "q"}, "list"),
    ],
)
def test_a_malformed_file_ends_in_one_clear_line(file, quiz, said):
    with pytest.raises(BertologyError, match=said) as caught:
        read_quiz(file(quiz))
    assert str(caught.value).startswith("toy.yaml: ") and "\n" not in str(caught.value)


def test_a_sixth_question_is_welcome(file):
    assert len(read_quiz(file([*toy(), toy()[0]]))) == 6


def test_two_right_options_and_two_options_are_refused(file):
    both, few = toy(), toy()
    both[2]["options"][1]["right"] = True
    few[3]["options"] = few[3]["options"][:2]
    for quiz, said in (
        (both, "question 3: one option must be right, not 2"),
        (few, "question 4 options: .*at least 3"),
    ):
        with pytest.raises(BertologyError, match=said):
            read_quiz(file(quiz))


def test_markup_of_a_text_is_escaped_and_stars_and_backticks_are_not_seen(file):
    quiz = toy(text="<script>alert(1)</script> & *so*", why="see `a < b` </fieldset>")
    html = render("quiz.html", questions=read_quiz(file(quiz)))
    assert "<script" not in html and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; <em>so</em>" in html
    assert "see <code>a &lt; b</code> &lt;/fieldset&gt;" in html and html.count("</fieldset>") == 5
    assert "<script" not in render("quiz.md", questions=read_quiz(file(quiz)))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_labels_are_tied_to_inputs_and_ids_are_unique(chapter):
    quiz = read_quiz(HERE / f"{chapter}.yaml")
    page = Tags(render("quiz.html", questions=quiz))
    ids = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    inputs = [attributes for tag, attributes in page.found if tag == "input"]
    labels = [attributes["for"] for tag, attributes in page.found if tag == "label"]
    assert page.open == [] and len(set(ids)) == len(ids)
    assert [attributes["id"] for attributes in inputs] == labels
    groups = Counter(attributes["name"] for attributes in inputs if attributes["type"] == "radio")
    assert list(groups.values()) == [len(question.options) for question in quiz]
    assert not {tag for tag, _ in page.found} & {"script", "form", "button"}, "nothing can be sent or run"


def test_right_and_wrong_are_told_in_words_that_are_announced(file):
    html = render("quiz.html", questions=read_quiz(file(toy())))
    assert html.count("<strong>Right.</strong>") == 5 and html.count("<strong>Not so.</strong>") == 10
    assert html.count('<div class="quiz-said" aria-live="polite"><p') == 20


def test_the_quiz_stands_before_the_exercises_and_only_where_there_is_one(file, tmp_path):
    def cells():
        sources = [("markdown", "# Title"), ("code", "## Exercises"), ("markdown", ["## Exercises\n", "\n", "x"])]
        return {"cells": [{"cell_type": kind, "source": source, "metadata": {}} for kind, source in sources]}

    assert with_quiz(cells(), tmp_path / "no.yaml") == cells()
    sources = [cell["source"] for cell in with_quiz(cells(), file(toy()))["cells"]]
    assert len(sources) == 4 and sources[2].startswith("## Check yourself\n") and sources[3][0] == "## Exercises\n"
    assert sources[2].count("```") == 2 and "```{raw} html\n<div" in sources[2] and sources[2].endswith("</div>\n```")
    without = {"cells": cells()["cells"][:2]}
    assert with_quiz(without, file(toy()))["cells"][-1]["source"].startswith("## Check yourself")


def test_a_chapters_page_has_its_own_quiz_and_the_notebook_is_left_alone(tmp_path):
    copy = tmp_path / "_executed/live/pocket-bert/syntax.ipynb"
    for folder in (copy.parent, tmp_path / FOLDER):
        folder.mkdir(parents=True)
    (tmp_path / FOLDER / "syntax.yaml").write_text(yaml.safe_dump(toy()), encoding="utf-8")
    stored = json.dumps(
        {"cells": [{"cell_type": "markdown", "source": "## Exercises", "metadata": {}}], "metadata": {}}
    )
    copy.write_text(stored, encoding="utf-8")
    source = ["stripped"]
    swap_in_executed(SimpleNamespace(srcdir=str(tmp_path)), "notebooks/syntax", source)
    first, second = (cell["source"] for cell in json.loads(source[0])["cells"])
    assert first.startswith("## Check yourself") and second == "## Exercises" and copy.read_text("utf-8") == stored


def test_answers_are_hidden_on_screens_only():
    """Without styles and on paper all is shown; nothing hides an explanation outside of `@media screen`."""
    sheet = (ROOT / "book" / "assets" / "house.css").read_text(encoding="utf-8")
    before, screen = sheet.split("@media screen {\n  .quiz-said")
    assert "display: none" not in "".join(re.findall(r"\.quiz-(?:said|why|right|none)[^{]*{[^}]*}", before))
    assert "@supports not selector(:has(*))" in screen
