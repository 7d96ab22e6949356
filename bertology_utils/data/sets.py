"""The table of data sets, `sets.yaml`: what each is called, what its rows are, its licence, and where it can come from.

Depends on the readers (local folders), hub, grammar and facts (embedded); `registry` loads from it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bertology_utils.data import coref_readers, lama_readers, propbank, readers, token_readers
from bertology_utils.data.hub import HUB, Hub
from bertology_utils.files import read_yaml
from bertology_utils.language.facts import facts
from bertology_utils.language.grammar import generate

TABLE = Path(__file__).with_name("sets.yaml")
SOURCES = ("embedded", "local", "hub")

Reader = Callable[[Path, str, str], Iterator]
Generator = Callable[[str], Sequence]
READERS: dict[str, Reader] = {
    name: reader
    for module in (readers, lama_readers, token_readers, coref_readers, propbank)
    for name, reader in vars(module).items()
    if name.startswith("read_")
}
GENERATORS: dict[str, Generator] = {
    "grammar": lambda split: generate(1000, split=split),
    "facts": lambda split: facts(),
}


@dataclass(frozen=True)
class DataSet:
    """What the registry knows of a set. folder: below the local folder; size: items in words; variants: what may
    follow ':'."""

    name: str
    row: str
    licence: str
    size: str
    splits: tuple[str, ...]
    embedded: Generator | None = None
    folder: str = ""
    reader: Reader | None = None
    hub: Hub | None = None
    variants: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """A row of the table, with its reader and its other sources."""
        own = {"embedded": GENERATORS.get(row["name"]), "hub": HUB.get(row["name"]), "splits": tuple(row["splits"])}
        return cls(**{**row, **own, "reader": READERS[row["reader"]] if "reader" in row else None})

    def sources(self) -> tuple[str, ...]:
        """The sources that this set can come from, whether or not they are here now."""
        present = {"embedded": self.embedded, "local": self.reader, "hub": self.hub}
        return tuple(name for name in SOURCES if present[name])


REGISTRY: dict[str, DataSet] = {row["name"]: DataSet.of(row) for row in read_yaml(TABLE)}
