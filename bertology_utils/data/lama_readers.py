"""Readers of what the world is like: mined prompts of LAMA, its altered variant, the factbook, properties of things.

Depends on rows (the formats).

As in `readers`, a reader yields the typed rows of a folder, split and variant.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from bertology_utils.data.rows import AlteredFact, RelationTemplate, TemplateFact, ThingFact
from bertology_utils.errors import BertologyError

# What is asked of a country: where its page has the answer, and how one asks.
FACTBOOK = {
    "capital": (("Government", "Capital", "name"),
                ("The capital of [X] is [Y] .", "[Y] is the capital of [X] .", "[X] has its capital in [Y] .")),
    "language": (("People and Society", "Languages", "Languages"),
                 ("People in [X] speak [Y] .", "The language of [X] is [Y] .", "In [X] they speak [Y] .")),
    "continent": (("Geography", "Map references"),
                  ("[X] is a country in [Y] .", "[X] lies in [Y] .", "[X] is on the map of [Y] .")),
}  # fmt: skip
_NAME = ("Government", "Country name", "conventional short form")
_KINDS = ("masked_sentences", "masked_negations", "masked_misprimed")


def read_lpaqa(folder: Path, split: str, variant: str = "") -> Iterator[RelationTemplate]:
    """The best mined prompt of each relation (jiang2019how)."""
    for row in _objects(folder / "relation_metainfo" / "LPAQA_relations.jsonl"):
        yield RelationTemplate(row["relation"], row["template"])


def read_lama_altered(folder: Path, split: str, variant: str = "") -> Iterator[AlteredFact]:
    """kassner2020negated's T-REx with random primes; rows without one of the three sentences are left out."""
    for path in sorted((folder / "data" / "TREx" / "random").glob("P*.jsonl")):
        relation = path.stem.partition("_")[0]
        if variant in ("", relation):
            for row in _objects(path):
                if all(row.get(kind) for kind in _KINDS):
                    yield AlteredFact(relation, row["obj_label"], *(row[kind][0] for kind in _KINDS))


def read_factbook(folder: Path, split: str, variant: str = "") -> Iterator[TemplateFact]:
    """Capital, first language and continent of every country that has a short name; one file a country."""
    paths = sorted(folder.glob("*/*.json"))
    if not paths:
        raise BertologyError(f"The folder {folder} has no file */*.json.")
    for page in (json.loads(path.read_text(encoding="utf-8")) for path in paths):
        for relation, (place, templates) in FACTBOOK.items():
            country, answer = (_first_word(_text(page, keys)) for keys in (_NAME, place))
            if country and answer and variant in ("", relation):
                yield TemplateFact(relation, country, answer, templates[0])


def _text(page: dict, keys: tuple[str, ...]) -> str:
    """What a page has under these headings, "" where one is missing."""
    for key in keys:
        page = page.get(key, {})
    return page.get("text", "")


def _first_word(text: str) -> str:
    """The first entry of a list, without remarks; "" where it is "none" or marked up."""
    entry = re.split(r"\s*[(,;]|\s\d", text)[0].strip()
    return "" if entry in ("", "none") or not re.fullmatch(r"[\w' .-]+", entry) else entry


def read_forbes(folder: Path, split: str, variant: str = "") -> Iterator[ThingFact]:
    """forbes2019neural's things: properties of the abstract set, and affordances as verbs in the past.

    Properties that people disagreed on are left out. variant: a kind of property ("perceptual"), or "affordance".
    """
    tables = {name: folder / "data" / "pc" / f"{name}.tsv" for name in ("properties", "objects")}
    kinds, names = ({row["uid"]: row for row in _table(path, "\t")} for path in tables.values())
    for row in _table(folder / "data" / "pc" / "abstract.csv", ","):
        thing = names[row.pop("objectUID")]["ctx"]
        for uid, value in row.items():
            kind = kinds[uid]["categorization"]
            if value in "01" and variant in ("", kind):
                yield ThingFact(thing, kind, kinds[uid]["sentence"], value == "1")
    if variant in ("", "affordance"):
        yield from _affordances(folder)


def _affordances(folder: Path) -> Iterator[ThingFact]:
    index = _table(folder / "data" / "sentences" / "index.csv", ",")
    past = {row["uids"]: row["word2"] for row in index if row["task"] == "OA"}
    for row in _table(folder / "data" / "pc" / "situated-affordances-sampled.csv", ","):
        for column, holds in (("affordancesYes", True), ("affordancesNo", False)):
            for verb in filter(None, row[column].split(",")):
                yield ThingFact(row["objectHuman"], "affordance", past[f"{row['objectUID']}/{verb}"], holds)


def _table(path: Path, delimiter: str) -> list[dict[str, str]]:
    return pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False).to_dict("records")


def _objects(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
