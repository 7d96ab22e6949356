"""Reader of GUM's coreference layer: sentences with their trees, and the mentions of entities in them.

Depends on conllu and readers. The layer is a file a document, in the columns of the CoNLL-2012 task: index, word, and
brackets such as "(person-1", "person-1)" or "(event-2)(place-3"; its words are those of the document's treebank.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bertology_utils.data.conllu import Tree, read_conllu
from bertology_utils.data.readers import gum_documents
from bertology_utils.errors import BertologyError

Span = tuple[int, int, str]
"""First word, one past the last, entity."""


@dataclass(frozen=True)
class Mentioned:
    """A sentence of a document and the mentions in it, as (first word, one past the last, entity of the document)."""

    document: str
    tree: Tree
    mentions: tuple[Span, ...]


def read_gum_coreference(folder: Path, split: str, variant: str = "") -> Iterator[Mentioned]:
    """Every sentence of the split's documents, in order.

    Raises BertologyError where the layer of a document has other words than its treebank.
    """
    for path in gum_documents(folder, split):
        trees = list(read_conllu(path, "en"))
        words, spans = _document(folder / "coref" / "coref" / "gum" / "conll" / f"{path.stem}.conll")
        if words != [word for tree in trees for word in tree.words]:
            raise BertologyError(f"{path.stem}: the coreference layer and the treebank have different words.")
        start = 0
        for tree in trees:
            end = start + len(tree.words)
            inside = [(a - start, b - start, entity) for a, b, entity in spans if start <= a and b <= end]
            yield Mentioned(path.stem, tree, tuple(inside))
            start = end


def _document(path: Path) -> tuple[list[str], list[Span]]:
    """Words and mentions of a document, mentions by their last word."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line[:1].isdigit()]
    open_at: dict[str, list[int]] = {}
    spans = []
    for place, row in enumerate(rows):
        for opening, name, closing in re.findall(r"(\(?)([^()_][^()]*)(\)?)", row[2]):
            if opening:
                open_at.setdefault(name, []).append(place)
            if closing:
                spans.append((open_at[name].pop(), place + 1, name.split("-")[1]))
    return [row[1] for row in rows], spans
