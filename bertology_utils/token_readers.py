"""Readers of sets that label words or point at one: Universal NER and Open Sesame. Depends on rows (the formats).

As in `readers`, a reader yields the typed rows of a folder, split and variant.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bertology_utils.errors import BertologyError, unknown
from bertology_utils.rows import Pointed, Tagged

_SESAME = {"auxiliary": "data_aux/aux", "subject": "data_sbjn/sbjn"}


def read_uner(folder: Path, split: str, variant: str = "") -> Iterator[Tagged]:
    """Universal NER's English Web Treebank: blank-separated blocks of index, word and IOB2 label."""
    path = folder / "UNER_English-EWT" / f"en_ewt-ud-{'dev' if split == 'validation' else split}.iob2"
    identity, words, tags = "", [], []
    for line in [*_lines(path), ""]:
        columns = line.split("\t")
        if line.startswith("# sent_id"):
            identity = line.partition("=")[2].strip()
        elif line and not line.startswith("#"):
            words.append(columns[1])
            tags.append(columns[2])
        elif not line and words:
            yield Tagged(identity, tuple(words), tuple(tags))
            words, tags = [], []


def read_open_sesame(folder: Path, split: str, variant: str = "") -> Iterator[Pointed]:
    """lin2019open: in "train" the linear rule finds the target too, in "test" (their generalisation set) never.

    variant: "auxiliary" or "subject"; both without one.
    """
    if variant and variant not in _SESAME:
        raise unknown("task of Open Sesame", variant, _SESAME)
    for name in [variant] if variant else _SESAME:
        for line in _lines(folder / f"{_SESAME[name]}.{'train' if split == 'train' else 'gen'}"):
            text, _, index = line.partition("\t")
            yield Pointed(tuple(text.split()), int(index))


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as lines:
            yield from (line.rstrip("\n") for line in lines)
    except FileNotFoundError:
        raise BertologyError(f"The data set's folder has no {path.name}: looked for {path}.") from None
