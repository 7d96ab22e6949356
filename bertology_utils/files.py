"""Files that are either whole or not there. Depends on nothing of the project but `errors`."""

import csv
import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, fields
from errno import EISDIR
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import yaml
from safetensors import SafetensorError

from bertology_utils.errors import BertologyError

Row = TypeVar("Row")
fcntl: ModuleType | None = None
with suppress(ImportError):  # POSIX only
    import fcntl


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write a file or folder to, moved into place when the block ends well.

    Raises BertologyError: it cannot be written, for want of space above all, or a folder stands where a file should go;
    what was at `path` is untouched.
    """
    part = path.with_name(f"{path.name}.part{path.suffix if path.suffix == '.npy' else ''}")
    old = path.with_name(f"{path.name}.old.part")  # a folder cannot be replaced in one step
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _put_back(old, path)
        _remove(part)
        yield part
        if path.is_dir():
            if not part.is_dir():
                raise IsADirectoryError(EISDIR, "it is a folder")
            path.replace(old)
        part.replace(path)
    except (OSError, RuntimeError, SafetensorError) as error:  # torch and safetensors have errors of their own
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0][:100]
        raise BertologyError(f"{path} cannot be written ({reason}). What was there before is untouched.") from None
    finally:
        _put_back(old, path)
        _remove(part)


@contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """One process at a time goes through the block; the others wait or, where `busy` says why, are refused.

    The lock is on the open file `path`, so that it ends with the process, however that ends. Systems without such
    locks do without. Raises BertologyError with the text `busy`, or where the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise BertologyError(f"{path.parent} cannot be written ({error.strerror}).") from None
    with file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
            except BlockingIOError:
                raise BertologyError(busy) from None
        yield


def updating(path: Path) -> AbstractContextManager[None]:
    """One process at a time reads a table and writes it again, so that none loses the rows of another."""
    return locked(path.with_name(f".{path.name}.lock"))


class _UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as it is meant: a mapping that gives a key twice is an error, where the library takes the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"the key '{key}' stands twice, line {node.start_mark.line + 1} and after")
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises BertologyError: the file is missing, no YAML, or gives a key of one mapping twice.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except FileNotFoundError:
        raise BertologyError(f"There is no file {path}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BertologyError(f"{path} is not YAML: {' '.join(str(error).split())[:160]}.") from None


def read_text(path: Path) -> str:
    """The content of a file of text. Raises BertologyError where it cannot be read, or is none."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BertologyError(f"{path} cannot be read ({getattr(error, 'strerror', None) or 'no UTF-8'}).") from None


def write_text(path: Path, text: str) -> None:
    """Writes a file of text, whole or not at all."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def read_json(path: Path) -> dict | list | None:
    """The content of a json file, None where it is missing or broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path, value: object) -> None:
    """Writes readable json, one value a line."""
    write_text(path, json_text(value))


def json_text(value: object) -> str:
    """Readable json, one value a line."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def digest(value: object) -> str:
    """The sha256 of the canonical JSON of a value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def read_entries(path: Path, key: str) -> list[dict[str, Any]]:
    """The entries of a json list of objects that all have `key`, none where the file is missing.

    Raises BertologyError: the file holds something else, which nothing may replace.
    """
    if not path.is_file():
        return []
    entries = read_json(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and key in entry for entry in entries):
        raise BertologyError(f"{path} is no json list of entries with '{key}'. Name another file.")
    return entries


def read_csv(path: Path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """The rows of a csv file by its columns, none where it is missing.

    Raises BertologyError: the file is not text, or lacks one of `columns`.
    """
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [column for column in columns if column not in (reader.fieldnames or ())]
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise BertologyError(f"{path} is no csv file: {error}.") from None
    if missing:
        raise BertologyError(f"{path} is another table: it has no column '{missing[0]}'.")
    return rows


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> None:
    """Writes the given columns of rows; what a row lacks stays empty."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns), extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """The rows of a csv file as objects of a dataclass of texts and numbers; further columns are left out.

    Raises BertologyError: as `read_csv`, or a value is not of its column's type.
    """
    types = {field.name: field.type for field in fields(kind)}
    made = []
    for line, row in enumerate(read_csv(path, types), start=2):
        try:
            made.append(kind(**{name: of_type(row[name]) for name, of_type in types.items()}))
        except (TypeError, ValueError) as error:
            raise BertologyError(f"{path}, row {line}: {error}.") from None
    return made


def write_rows(path: Path, rows: Sequence[Any], kind: type) -> None:
    """Writes objects of a dataclass, one a line."""
    write_csv(path, map(asdict, rows), [field.name for field in fields(kind)])


def _put_back(old: Path, path: Path) -> None:
    """What was set aside returns where nothing took its place, and goes where something did."""
    if old.exists() and not path.exists():
        old.replace(path)
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
