"""Reader of PropBank's English Web Treebank merged with its words: brackets and predicates, one typed row a sentence.

Depends on errors only. The format is that of the CoNLL-2005 task: index, word, tag, a piece of the bracketing, the
lemma and frame of a predicate ("-" elsewhere), then one column of argument pieces for each predicate.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bertology_utils.errors import BertologyError

LEVELS = 3
TOP = "TOP"
_FIXED_COLUMNS = 6


@dataclass(frozen=True)
class Predicate:
    """A predicate with its arguments as (label, first word, one past the last), all 0-based."""

    index: int
    frame: str
    arguments: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Bracketed:
    """A sentence with the three phrase labels above each word, nearest first, and its predicates.

    `ancestors` are `(words, 3)`, padded with "TOP" above the root, after liu2019linguistic; `identity` is the id of the
    sentence in the treebank.
    """

    identity: str
    words: tuple[str, ...]
    ancestors: tuple[tuple[str, ...], ...]
    predicates: tuple[Predicate, ...]


def read_propbank(folder: Path, split: str, variant: str = "") -> Iterator[Bracketed]:
    """Sentences of `ewt_train.tsv`, `ewt_dev.tsv` or `ewt_test.tsv`.

    Raises BertologyError "file:line: ..." for a row that is too short, or brackets that do not close.
    """
    path = folder / f"ewt_{'dev' if split == 'validation' else split}.tsv"
    with path.open(encoding="utf-8") as lines:
        yield from _sentences(lines, path.name)


def _sentences(lines: Iterable[str], name: str) -> Iterator[Bracketed]:
    identity, rows = "", []
    for number, line in enumerate([*lines, ""], 1):
        line = line.rstrip("\n")
        if line.startswith("# sent_id"):
            identity = line.partition("=")[2].strip()
        elif line:
            rows.append(line.split("\t"))
            if len(rows[-1]) < _FIXED_COLUMNS:
                raise BertologyError(f"{name}:{number}: {len(rows[-1])} columns, at least {_FIXED_COLUMNS} expected.")
        elif rows:
            try:
                yield _sentence(identity, rows)
            except (ValueError, IndexError):
                raise BertologyError(f"{name}:{number}: brackets of the sentence before do not fit.") from None
            rows = []


def _sentence(identity: str, rows: list[list[str]]) -> Bracketed:
    ancestors: list[tuple[str, ...]] = []
    above: list[str] = []
    for row in rows:
        opening, closing = row[3].split("*")
        above += re.findall(r"\(([^(-]+)[^(]*", opening)
        ancestors.append((*reversed(above[-LEVELS:]), *[TOP] * LEVELS)[:LEVELS])
        for _ in closing:
            above.pop()
    if above:
        raise ValueError("open brackets")
    places = [i for i, row in enumerate(rows) if row[5] != "-"]
    columns = zip(*(row[_FIXED_COLUMNS : _FIXED_COLUMNS + len(places)] for row in rows), strict=True)
    predicates = tuple(
        Predicate(place, rows[place][5], tuple(_spans(column))) for place, column in zip(places, columns, strict=True)
    )
    return Bracketed(identity, tuple(row[1] for row in rows), tuple(ancestors), predicates)


def _spans(column: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Labelled spans of a column "(ARG0*", "*", "*)"; arguments of one predicate never nest."""
    label, first = "", 0
    for place, piece in enumerate(column):
        if piece.startswith("("):
            label, first = piece[1 : piece.index("*")], place
        if piece.endswith(")"):
            yield label, first, place + 1
