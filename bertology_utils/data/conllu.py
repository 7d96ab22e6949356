"""Reader of CoNLL-U treebanks that checks what it reads. Depends on errors only.

Words are the syntactic words of the treebank: the surface token of a multiword range ("don't" over "do", "n't") is
kept aside in `multiword`, and the empty nodes of enhanced dependencies ("8.1") are left out. Heads are 0-based with
-1 for the root, as in the sentences of the project's grammar, so that either can stand for the other.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bertology_utils.errors import BertologyError

COLUMNS = 10


@dataclass(frozen=True)
class Tree:
    """One sentence with its dependency tree; all tuples are (words,).

    heads: 0-based, -1 for the root; deprels: with subtypes ("nsubj:pass"); morphology: the FEATS column of each word;
    multiword: (first word, last word, surface form) of each range, 0-based and inclusive.
    """

    words: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    morphology: tuple[dict[str, str], ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    multiword: tuple[tuple[int, int, str], ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    language: str = ""

    @property
    def identity(self) -> str:
        return self.metadata.get("sent_id", "")

    @property
    def text(self) -> str:
        return self.metadata.get("text", " ".join(self.words))

    @property
    def number(self) -> tuple[str | None, ...]:
        """ "Sing", "Plur" ... or None, per word."""
        return tuple(features.get("Number") for features in self.morphology)

    @property
    def tense(self) -> tuple[str | None, ...]:
        """ "Past", "Pres" ... or None, per word."""
        return tuple(features.get("Tense") for features in self.morphology)


def read_conllu(path: str | Path, language: str = "") -> Iterator[Tree]:
    """Yield the trees of a file, one at a time.

    Raises BertologyError "file:line: ..." for a missing column, an empty word, an id out of order, a range over other
    words than follow it, a head out of range, no root or several, or a cycle; and for a file that cannot be read as
    UTF-8, with or without a byte-order mark.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for first, block in _blocks(lines):
                yield parse_block(block, path.name, first, language)
    except FileNotFoundError:
        raise BertologyError(f"There is no treebank file {path}.") from None
    except OSError as error:
        raise BertologyError(f"The treebank file {path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise BertologyError(f"{path.name}: not UTF-8 at byte {error.start}.") from None


def _blocks(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """(1-based number of the first line, lines) of each block between empty lines that holds a token."""
    block: list[str] = []
    first = number = 1
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\n\r")
        if line.strip():
            block.append(line)
            continue
        if any(not text.startswith("#") for text in block):
            yield first, block
        block, first = [], number + 1
    if any(not text.startswith("#") for text in block):
        yield first, block


def parse_block(lines: list[str], name: str = "<text>", first: int = 1, language: str = "") -> Tree:
    """The tree of one block of lines; `name` and `first` (line number) are for the messages."""
    metadata: dict[str, str] = {}
    rows: list[tuple[int, list[str]]] = []  # (line number, columns) of the syntactic words
    ranges: list[tuple[int, int, str]] = []
    for number, line in enumerate(lines, first):
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            metadata[key.strip()] = value.strip()
            continue
        columns = line.split("\t")
        if len(columns) != COLUMNS:
            raise _fault(name, number, f"{len(columns)} columns instead of {COLUMNS}")
        if not columns[1].strip():
            raise _fault(name, number, "the word is empty")
        if "-" in columns[0]:
            if ranges and len(rows) <= ranges[-1][1]:
                raise _fault(name, number, f"multiword range {columns[0]!r} begins within another")
            ranges.append(_range(columns, len(rows), name, number))
        elif "." not in columns[0]:
            if columns[0] != str(len(rows) + 1):
                raise _fault(name, number, f"word id {columns[0]!r} where {len(rows) + 1} was expected")
            rows.append((number, columns))
    if ranges and len(rows) <= ranges[-1][1]:
        raise _fault(name, first, f"multiword range of {ranges[-1][2]!r} ends after the sentence's {len(rows)} words")
    if not rows:
        raise _fault(name, first, "no words, but empty nodes")
    heads = tuple(_head(columns[6], len(rows), name, number) for number, columns in rows)
    _check_tree(heads, [number for number, _ in rows], name)
    words, lemmas, upos, xpos, features, _, deprels = zip(*(columns[1:8] for _, columns in rows), strict=True)
    morphology = tuple(map(_features, features))
    return Tree(words, lemmas, upos, xpos, morphology, heads, deprels, tuple(ranges), metadata, language)


def _range(columns: list[str], words: int, name: str, number: int) -> tuple[int, int, str]:
    """First and last word of a range, which begins at the next word: `words` stand before it."""
    ends = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", columns[0])
    first, last = map(int, ends.groups()) if ends else (0, 0)
    if first >= last:
        raise _fault(name, number, f"multiword range {columns[0]!r:.40} is not first-last")
    if first != words + 1:
        raise _fault(name, number, f"multiword range {columns[0]!r} stands before word {words + 1}")
    return first - 1, last - 1, columns[1]


def _head(text: str, words: int, name: str, number: int) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise _fault(name, number, f"head {text!r:.40} is not a number")
    if int(text) > words:
        raise _fault(name, number, f"head {text} is out of range: the sentence has {words} words")
    return int(text) - 1


def _check_tree(heads: tuple[int, ...], numbers: list[int], name: str) -> None:
    """One root, and every word reaches it."""
    roots = [number for number, head in zip(numbers, heads, strict=True) if head < 0]
    if len(roots) != 1:
        where = roots[1] if roots else numbers[0]
        raise _fault(name, where, f"{len(roots)} roots instead of one" if roots else "no root: every word has a head")
    settled: set[int] = set()  # words known to reach the root
    for start in range(len(heads)):
        path: list[int] = []
        word = start
        while word >= 0 and word not in settled:
            if word in path:
                raise _fault(name, numbers[word], f"cycle through word {word + 1}: it never reaches the root")
            path.append(word)
            word = heads[word]
        settled.update(path)


def _features(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split("|") if "=" in part)


def _fault(name: str, number: int, text: str) -> BertologyError:
    return BertologyError(f"{name}:{number}: {text}.")
