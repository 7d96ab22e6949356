"""Templates: found from everywhere, packaged, none unused; no text becomes HTML; numbers in words."""

import ast
import fnmatch
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bertology_utils import templates

PACKAGE = Path(__file__).parents[1] / "bertology_utils"
FILES = sorted(path for folder in templates.FOLDERS for path in folder.iterdir() if path.suffix in (".html", ".md"))
NAMES = [path.name for path in FILES]


def test_no_two_templates_share_a_name_and_each_is_used():
    assert len(set(NAMES)) == len(NAMES)
    sources = "".join(path.read_text(encoding="utf-8") for path in [*PACKAGE.rglob("*.py"), *FILES])
    assert [name for name in NAMES if f'"{name}"' not in sources] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_template_can_be_read(name):
    assert templates._environment().get_template(name)


def test_templates_are_found_from_any_folder(tmp_path):
    code = "from bertology_utils.templates import render; print(render('themes.html', themes={}))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
                         env={"PYTHONPATH": str(PACKAGE.parent)})  # fmt: skip
    assert "<table" in ran.stdout, ran.stderr


def test_templates_are_installed_with_the_package():
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["*"]
    for path in FILES:
        owner = next(folder for folder in path.parents if (folder / "__init__.py").is_file())
        assert any(fnmatch.fnmatch(path.relative_to(owner).as_posix(), pattern) for pattern in patterns), path


def test_text_is_escaped_in_html_and_stays_in_markdown():
    assert "&lt;b&gt;" in templates.render("answer.html", sentences=["<b>"], figure="<i>")
    assert "<i>" not in templates.render("answer.html", sentences=[], figure="<i>")
    key = templates.render("grading_key.md", title="a < b", chapter="syntax", exercises=[])
    assert key.startswith("# Grading key: a < b")


def test_python_writes_no_html():
    """Tags stand in templates alone; what finds a tag in a text is no writer."""
    looks = {"layout.py", "html.py"}
    found = []
    for path in (path for part in ("pages", "verdicts", "figures") for path in (PACKAGE / part).glob("*.py")):
        texts = [n.value for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Constant)]
        tags = [text for text in texts if isinstance(text, str) and re.search(r"</?(?:p|div|t[dhr]|span|li|a)\b", text)]
        found += [(path.name, tag) for tag in tags if path.name not in looks]
    assert found == []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (templates.number(None), "–"),
        (templates.number(1234), "1,234"),
        (templates.number(0.12345), "0.123"),
        (templates.counted(1, "seed"), "1 seed"),
        (templates.counted(1200, "seed"), "1,200 seeds"),
        (templates.with_interval(0.3, 0.1, 0.5), "+0.3 [+0.100, +0.500]"),
        (templates.share(1, 4), "1 (25.0%)"),
        (templates.share(0, 0), "0"),
        (templates.slug("replicates (not specific)"), "replicates-not-specific"),
        (templates.chapter_title("world_knowledge"), "World knowledge"),
        (templates.chapter_title("mbert"), "Multilingual BERT"),
    ],
)
def test_numbers_in_words(said, text):
    assert said == text
