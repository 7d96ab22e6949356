"""Readers of sets that label words or point at them: Universal NER, Open Sesame, UDS. Depends on rows (the formats).

As in `readers`, a reader yields the typed rows of a folder, split and variant.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from bertology_utils.data.rows import Pointed, Rated, Tagged
from bertology_utils.errors import BertologyError, unknown

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


def read_uds(folder: Path, split: str, variant: str = "") -> Iterator[Rated]:
    """Proto-role ratings of Universal Decompositional Semantics, by sentence.

    A sentence is named by its number in the English Web Treebank of that time ("ewt-dev-96"), counted from 1.
    """
    part = "dev" if split == "validation" else split
    path = folder / "1.0/normalized/sentence/annotations/protoroles.zip"
    try:
        with ZipFile(path) as archive:
            found = json.loads(archive.read("protoroles.json"))["data"]
    except BadZipFile:
        raise BertologyError(f"{path} is no zip file.") from None
    for name, edges in found.items():
        _, own, number = name.split("-")
        if own == part:
            for edge, layers in edges.items():
                predicate, argument = (int(place) - 1 for place in re.findall(r"-semantics-(?:pred|arg)-(\d+)", edge))
                ratings = {key: rating["value"] for key, rating in layers["protoroles"].items()}
                yield Rated(int(number) - 1, predicate, argument, ratings)


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        yield from (line.rstrip("\n") for line in lines)
