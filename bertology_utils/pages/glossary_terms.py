"""The first use of a glossary term on a page becomes a link that shows what the term means. Depends on Sphinx.

It happens when a page is written, on its tree: in paragraphs alone, never in headings, code, links, tables, captions,
cards or outputs of cells. A term is matched as the glossary spells it or in its plural, a longer one before its parts.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from bertology_utils.templates import render, slug

GLOSSARY = "book/glossary"
# Words that prose uses in another sense too: these count where they alone are emphasised, or spelt out like this.
ORDINARY = {"agreement": "subject-verb agreement", "twin": "untrained twin"} | dict.fromkeys(
    ("block", "effect", "lead", "prediction", "profile", "q", "weaker"), ""
)
SKIPPED = (
    nodes.raw, nodes.literal, nodes.reference, nodes.pending, nodes.math, nodes.title, nodes.rubric, nodes.table,
    nodes.figure, nodes.footnote, nodes.citation, nodes.FixedTextElement, addnodes.pending_xref,
    addnodes.download_reference, addnodes.glossary, addnodes.toctree,
)  # fmt: skip
SKIPPED_CLASSES = {"cell", "cell_output", "sd-card", "run-stamp"}
SENTENCE = re.compile(r".*?[.?!](?=\s|$)", re.DOTALL)


class Term(NamedTuple):
    """A term as the glossary has it: its place there, and the first sentence of its definition."""

    name: str
    anchor: str
    note: str


class TermLink(nodes.inline):
    """A term in prose, with `uri`, `name` and `note`; where no HTML is written it is its text alone."""


def read_terms(glossary: nodes.document) -> list[Term]:
    """The terms of the glossary's tree."""
    found = []
    for item in (i for block in glossary.findall(addnodes.glossary) for i in block.findall(nodes.definition_list_item)):
        text = " ".join(item.next_node(nodes.definition).astext().split())
        note = sentence[0] if (sentence := SENTENCE.match(text)) else text
        found += [Term(term.astext(), term["ids"][0], note) for term in item.findall(nodes.term) if term["ids"]]
    return found


def plural(term: str) -> str:
    """`probes`, `censuses`, `identifiabilities`."""
    if re.search(r"[^aeiou]y$", term):
        return term[:-1] + "ies"
    return term + ("es" if re.search(r"(s|x|ch|sh)$", term) else "s")


def pattern_of(forms: Mapping[str, Term]) -> re.Pattern[str]:
    """Any of the forms as whole words, the longest first; the first letter may be a capital, a blank a line's end."""
    spelt = []
    for form in sorted(forms, key=len, reverse=True):
        rest = r"\s+".join(map(re.escape, form[1:].split(" ")))
        spelt.append(f"[{form[0].upper()}{form[0]}]{rest}" if form[0].isalpha() else re.escape(form[0]) + rest)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(spelt)})(?![\w-])")


def prose(document: nodes.document) -> Iterator[nodes.Text]:
    """The texts of a page in which terms are looked for, in their order."""
    for paragraph in list(document.findall(nodes.paragraph)):
        if paragraph.next_node(nodes.raw) or any(map(_is_skipped, _ancestors(paragraph))):
            continue  # between tags that a page writes itself, as of a link, nothing is known of the text
        for element in list(paragraph.findall(nodes.Element)):
            _join_texts(element)
        for text in list(paragraph.findall(nodes.Text)):
            if not any(map(_is_skipped, _ancestors(text))):
                yield text


def _join_texts(element: nodes.Element) -> None:
    """Makes one of texts that follow each other, as those of two lines do."""
    runs = [(kind, list(run)) for kind, run in groupby(element.children, lambda child: isinstance(child, nodes.Text))]
    if any(kind and len(run) > 1 for kind, run in runs):
        element.children = [n for kind, run in runs for n in ([nodes.Text("".join(run))] if kind else run)]
        for child in element.children:
            child.parent = element


def _ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    while node := node.parent:
        yield node


def _is_skipped(node: nodes.Element) -> bool:
    return isinstance(node, SKIPPED) or bool(SKIPPED_CLASSES.intersection(node.get("classes", ())))


class Linker:
    """Links each term once. `uri` is the address of the glossary from the page."""

    def __init__(self, terms: list[Term], uri: str):
        self.uri, self.seen = uri, set()
        named = {term.name: term for term in terms}
        plain = {name: term for name, term in named.items() if name not in ORDINARY}
        plain |= {form: named[name] for name, form in ORDINARY.items() if form and name in named}
        self.forms = {form: term for name, term in plain.items() for form in (name, plural(name))}
        self.ordinary = {name: named[name] for name in ORDINARY if name in named}
        self.pattern = pattern_of(self.forms)

    def pieces(self, text: nodes.Text) -> list[nodes.Node]:
        """The text again, with links in place of first uses."""
        whole, found, end = str(text), [], 0
        if isinstance(text.parent, nodes.emphasis) and (term := self.ordinary.get(whole.lower())):
            return [self._link(term, whole)] if term not in self.seen else [text]
        for match in self.pattern.finditer(whole):
            term = self._term_of(match[0])
            if term not in self.seen:
                found += [nodes.Text(whole[end : match.start()]), self._link(term, match[0])]
                end = match.end()
        return [*found, nodes.Text(whole[end:])] if found else [text]

    def _term_of(self, used: str) -> Term:
        form = " ".join(used.split())
        return self.forms[form] if form in self.forms else self.forms[form[0].lower() + form[1:]]

    def _link(self, term: Term, used: str) -> TermLink:
        self.seen.add(term)
        return TermLink("", used, uri=f"{self.uri}#{term.anchor}", name=f"term-note-{slug(term.name)}", note=term.note)


class GlossaryTerms(SphinxPostTransform):
    """Links the terms of every page but the glossary, once its references are resolved."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        page = self.env.docname
        if page == GLOSSARY or GLOSSARY not in self.env.found_docs:
            return
        terms = read_terms(self.env.get_doctree(GLOSSARY))
        linker = Linker(terms, self.app.builder.get_relative_uri(page, GLOSSARY)) if terms else None
        for text in prose(self.document) if linker else ():
            pieces = linker.pieces(text)
            if pieces != [text]:
                text.parent.replace(text, pieces)


def write_term(writer: nodes.NodeVisitor, node: TermLink) -> None:
    """The link with its note as HTML."""
    writer.body.append(render("term.html", text=node.astext(), **{k: node[k] for k in ("uri", "name", "note")}))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx's entry point."""
    app.add_node(TermLink, html=(write_term, None))
    app.add_post_transform(GlossaryTerms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
