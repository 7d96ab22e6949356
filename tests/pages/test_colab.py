"""A chapter in Colab: one cell brings what the notebook needs, and does nothing elsewhere."""

import ast
import tomllib
from pathlib import Path

import pytest
import yaml
from IPython.core.inputtransformer2 import TransformerManager
from ledger_toys import Balance

from bertology_utils.files import write_text
from bertology_utils.pages.colab import CONFIG, LACKED, colab_part, setup_cell

ROOT = Path(__file__).parents[2]
ADDRESS = "https://github.com/someone/book"


def book(root, **options):
    settings = {"sphinx": {"config": {"html_theme_options": options}}}
    write_text(root / CONFIG, yaml.safe_dump(settings))
    return root


def test_the_cell_fetches_the_book_and_does_nothing_elsewhere(tmp_path):
    code = setup_cell(book(tmp_path, repository_url=ADDRESS, repository_branch="a b"))
    assert f"--branch 'a b' {ADDRESS} /content/book\n" in code
    transformed = TransformerManager().transform_cell(code)
    assert [type(node) for node in ast.parse(transformed).body] == [ast.Import, ast.If]
    exec(transformed, {})  # with no get_ipython: a command outside of Colab would fail here


def test_it_installs_what_the_package_depends_on_and_nothing_of_colabs_own_kernel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(LACKED) < set(project["dependencies"])
    assert not any("ipykernel" in name for name in LACKED)


@pytest.mark.parametrize("settings", [None, {}, {"repository_url": ""}, {"repository_url": "https://gitlab.com/a/b"}])
def test_without_a_repository_on_github_there_is_no_cell(tmp_path, settings):
    root = tmp_path if settings is None else book(tmp_path, **settings)
    assert setup_cell(root) is None and "this copy names none" in colab_part(root)


def test_the_page_shows_the_cell(tmp_path):
    html = colab_part(book(tmp_path, repository_url=ADDRESS + "?a&b"), [], None)
    assert Balance(html).open == [] and "<pre" in html and "book?a&amp;b" in html
