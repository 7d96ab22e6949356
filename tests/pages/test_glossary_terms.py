"""Terms of the glossary explain themselves at their first use in prose, and nowhere else."""

import re
from pathlib import Path

import pytest
from docutils import nodes
from ledger_toys import Balance
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from bertology_utils.pages.glossary_terms import Linker, Term, TermLink, plural

GLOSSARY = """# Glossary

```{glossary}
[CLS]
  A token.

control task
  A task with <b>no</b> meaning. Second sentence.

effect
  By how much.

probe
  A small *classifier*.

twin
  Random weights.
```
"""
PAGE = """# A probe in a heading

`probe` in code, [a probe](other.md) in a link, $probe$ in mathematics. The prober-like probe-based things.

| a probe |
| --- |
| probe |

Probes and another probe, then a *control
task* and [CLS]; an effect and its twin are words, but *effect* and an untrained twin are terms.

<a href="x">a control task</a> and the probes & <i>things</i>

```text
control task
```

:::{div} sd-card
A probe on a card.
:::
"""


def build(folder: Path, builder: str = "html") -> str:
    """A page of a small book, written."""
    (folder / "book").mkdir()
    (folder / "book/glossary.md").write_text(GLOSSARY, encoding="utf-8")
    (folder / "page.md").write_text(PAGE, encoding="utf-8")
    (folder / "other.md").write_text("# Other\n\nNothing to explain.\n", encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "sphinx_design", "bertology_utils.pages.glossary_terms"],
        "root_doc": "page", "myst_enable_extensions": ["colon_fence", "dollarmath"],
    }  # fmt: skip
    with docutils_namespace():
        out = folder / "out"
        Sphinx(folder, None, out, folder / "trees", builder, settings, status=None, warning=None).build()
    return (out / f"page.{'html' if builder == 'html' else 'txt'}").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return build(tmp_path_factory.mktemp("book"))


def test_first_uses_in_prose_link_to_the_glossary_each_once(page):
    link = r'<a class="reference internal" href="book/glossary.html#(\S+)" aria-describedby="(\S+)">([^<]+)'
    links = [(*place, " ".join(text.split())) for *place, text in re.findall(link, page)]
    expected = ["Probes", "control task", "[CLS]", "effect", "untrained twin"]
    assert [text for *_, text in links] == expected
    assert len({note for _, note, _ in links}) == 5 and links[0][:2] == ("term-probe", "term-note-probe")


def test_a_link_is_described_by_the_first_sentence_as_text(page):
    assert '<span class="term-note" role="tooltip" id="term-note-probe">A small classifier.</span>' in page
    assert 'id="term-note-control-task">A task with &lt;b&gt;no&lt;/b&gt; meaning.</span>' in page
    assert "Second sentence" not in page


def test_headings_code_links_tables_and_cards_are_as_they_were(page):
    for words in (
        "<h1>A probe in a heading",
        '<span class="pre">probe</span>',
        ">a probe</span></a> in a link",
        "The prober-like probe-based things.",
        "A probe on a card.",
        '<a href="x">a control task</a> and the probes',
    ):
        assert words in page
    for paragraph in re.findall(r"<p>.*?</p>", page, re.DOTALL):
        assert Balance(paragraph).open == []


def test_other_formats_keep_the_words(tmp_path):
    text = build(tmp_path, "text")
    assert "Probes and another probe" in text and "classifier" not in text


def test_the_glossary_itself_has_no_notes(tmp_path):
    build(tmp_path)
    assert "term-note" not in (tmp_path / "out/book/glossary.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "term, many", [("probe", "probes"), ("census", "censuses"), ("selectivity", "selectivities"), ("key", "keys")]
)
def test_plurals(term, many):
    assert plural(term) == many


def linked(text: str, *names: str, parent: type[nodes.Element] = nodes.paragraph) -> list[str]:
    node = nodes.Text(text)
    parent("", "", node)
    pieces = Linker([Term(name, name, "") for name in names], "g.html").pieces(node)
    assert "".join(piece.astext() for piece in pieces) == text
    return [piece.astext() for piece in pieces if isinstance(piece, TermLink)]


def test_longer_terms_go_first_and_words_are_whole():
    assert linked("a control task, a control", "control", "control task") == ["control task", "control"]
    assert linked("controlled by a pre-control", "control") == []
    assert linked("UUAS, not uuas", "UUAS") == ["UUAS"]


def test_words_of_every_day_count_where_emphasised_alone():
    assert linked("it leads by a lead", "lead") == []
    assert linked("lead", "lead", parent=nodes.emphasis) == ["lead"]
    assert linked("leads on", "lead", parent=nodes.emphasis) == []
