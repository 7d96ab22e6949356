"""The registry of data sets: one name, one typed row format, up to three sources, tried in the order that the user set.

Depends on sets (the table). Sources:
`embedded` is written or generated for this book; `local` is the folder named by BERTOLOGY_DATA; `hub` is the Hugging
Face hub (parquet only). BERTOLOGY_SOURCES sets the order ("local,embedded,hub"); without it nothing is fetched from
the network.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bertology_utils.data.sets import REGISTRY, SOURCES, DataSet
from bertology_utils.errors import BertologyError, unknown
from bertology_utils.project import FOLDER_VARIABLE, ORDER_VARIABLE, data_folder

DEFAULT_SOURCES = ("embedded", "local")


@dataclass(frozen=True)
class Loaded:
    """Rows with their origin."""

    name: str
    split: str
    rows: list
    source: str
    licence: str

    @property
    def sha256(self) -> str:
        """Identity of the rows, for the record of a run."""
        return hashlib.sha256("\n".join(map(repr, self.rows)).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator:
        return iter(self.rows)


def load(name: str, split: str = "test") -> Loaded:
    """Rows of a data set from the first source that has it.

    name: as registered, with a variant after a colon where the set has parts ("ud_pud:de", "ettinger:role"). Raises
    BertologyError for an unknown name, split or source, and where no source has the set.
    """
    base, _, variant = name.partition(":")
    if base not in REGISTRY:
        raise unknown("data set", base, REGISTRY)
    spec = REGISTRY[base]
    if variant and not spec.variants:
        raise BertologyError(f"The data set '{base}' has no parts: ask for '{base}' alone.")
    split = {"dev": "validation", "valid": "validation"}.get(split, split)
    if split not in spec.splits:
        raise BertologyError(f"The data set '{base}' has no split '{split}'. It has: {', '.join(spec.splits)}.")
    missing = []
    for source in source_order():
        if source not in spec.sources():
            continue
        found = _rows(spec, source, split, variant)
        if isinstance(found, list):
            return Loaded(name, split, found, source, spec.licence)
        missing.append(found)
    advice = f"Its sources are: {', '.join(spec.sources())}; name one in {ORDER_VARIABLE}."
    raise BertologyError(f"The data set '{base}' is not here. {' '.join(missing) or advice}")


def source_order() -> tuple[str, ...]:
    """The sources to try: those of BERTOLOGY_SOURCES, else embedded and local."""
    named = os.environ.get(ORDER_VARIABLE, "").replace(" ", "").split(",")
    chosen = tuple(filter(None, named)) or DEFAULT_SOURCES
    for source in chosen:
        if source not in SOURCES:
            raise unknown("source", source, SOURCES)
    return chosen


def describe(name: str | None = None) -> list[dict[str, str]]:
    """One row a set (or that of `name`): name, rows, splits, size, licence, sources, and the source that has it now."""
    if name is not None and name not in REGISTRY:
        raise unknown("data set", name, REGISTRY)
    return [
        {
            "name": spec.name + (f":{spec.variants}" if spec.variants else ""),
            "rows": spec.row,
            "splits": " ".join(spec.splits),
            "size": spec.size,
            "licence": spec.licence,
            "sources": " ".join(spec.sources()),
            "here": " ".join(available(spec.name)),
        }
        for spec in REGISTRY.values()
        if name in (None, spec.name)
    ]


def available(name: str) -> tuple[str, ...]:
    """The sources that have the set on this machine now; the hub is never asked."""
    spec = REGISTRY[name]
    here = ("embedded",) if spec.embedded else ()
    return here + (("local",) if spec.reader and local_folder(spec) else ())


def identity(name: str) -> dict[str, str]:
    """Licence and sha256 (over names and contents of its files, in order) of a set in the local folder, for a record.

    Raises BertologyError for an unknown set, or one that is not there.
    """
    spec = REGISTRY.get(name.partition(":")[0])
    folder = spec and local_folder(spec)
    if folder is None:
        raise BertologyError(f"The data set '{name}' is in no local folder, so its files have no identity.")
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole.update(str(path.relative_to(folder)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return {"licence": spec.licence, "sha256": whole.hexdigest()}


def local_folder(spec: DataSet) -> Path | None:
    """The set's folder below BERTOLOGY_DATA, with or without the folder that groups sets, or None.

    Raises BertologyError if BERTOLOGY_DATA names no folder.
    """
    root = data_folder()
    if root is None:
        return None
    candidates = (root / spec.folder, root / Path(spec.folder).name, root / spec.name)
    return next((folder for folder in candidates if folder.is_dir()), None)


def _rows(spec: DataSet, source: str, split: str, variant: str) -> list | str:
    """The rows from one source, or why it has none."""
    if source == "embedded":
        return list(spec.embedded(split))
    if source == "hub":
        try:
            return spec.hub.read(split)
        except BertologyError as error:
            return str(error)
    folder = local_folder(spec)
    if folder is None:
        if named := os.environ.get(FOLDER_VARIABLE):
            return f"The folder of {FOLDER_VARIABLE}, {named}, does not hold {spec.folder}."
        return f"Set {FOLDER_VARIABLE} to a folder that holds {spec.folder}."
    try:
        return list(spec.reader(folder, split, variant))
    except FileNotFoundError as error:
        name = Path(error.filename).name
        raise BertologyError(f"The data set's folder has no {name}: looked for {error.filename}.") from None
    except (ValueError, KeyError, IndexError) as error:
        raise BertologyError(
            f"The data set '{spec.name}' in {folder} is not in its original format: {error}."
        ) from error
