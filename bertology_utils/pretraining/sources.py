"""Where text comes from: files (plain, .xz, .gz) and data sets, read as a stream of documents. Depends on pydantic.

`datasets` is imported only by a run that names one.
"""

import gzip
import hashlib
import lzma
import os
import re
import unicodedata
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bertology_utils.errors import BertologyError
from bertology_utils.language.twins import shift_word

OPENERS = {".xz": lzma.open, ".gz": gzip.open}
# After a closing quotation mark; after a full stop unless a small letter follows; after the marks of scripts without
# capitals, where no space need follow.
SENTENCE_END = re.compile(
    r"(?<=[.!?؟][\"'’”»)])\s+|(?<=[.!?؟])\s+(?![a-zß-öø-ÿа-яё])|(?<=[。！？।])(?![”’」』）])\s*|(?<=[。！？][”’」』）])\s*"
)
WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


class Hub(BaseModel):
    """What `datasets.load_dataset` opens: a hub name or a local folder of parquet files; every row is a document."""

    model_config = ConfigDict(extra="forbid")
    name: str
    config: str | None = None
    split: str = "train"
    column: str = "text"


class CorpusSource(BaseModel):
    """Where a corpus lies and how it is read.

    format: `documents` (a blank line divides them), `lines` (every line is one), `parallel` (two translations a line,
    a tab between them) or `labelled` (label, tab, text).
    twin: read it as its twin in another alphabet, "Fake-English" (wang2019crosslingual): all words of it, save this
    share of the word types, which both languages have.
    """

    model_config = ConfigDict(extra="forbid")
    path: str | None = None
    hub: Hub | None = None
    format: Literal["documents", "lines", "parallel", "labelled"] = "documents"
    twin: float | None = Field(None, ge=0, le=1)

    @model_validator(mode="after")
    def _one_place(self) -> "CorpusSource":
        if (self.path is None) == (self.hub is None):
            raise ValueError("a corpus needs either a path or a hub data set")
        if self.hub and self.format in ("parallel", "labelled"):
            raise ValueError(f"a {self.format} corpus is a file of two tab-separated columns")
        return self

    @property
    def file(self) -> Path | None:
        return Path(self.path).expanduser() if self.path else None

    @property
    def title(self) -> str:
        """The name by which its tokens are stored."""
        hub = self.hub
        parts = (hub.name.strip("/").replace("/", "-"), hub.config, hub.split, hub.column) if hub else (self.file.name,)
        name = "-".join(part for part in parts if part)
        kind = "" if self.format == "documents" else f".{self.format}"
        return name + kind + ("" if self.twin is None else f".twin-{self.twin:g}")

    def __str__(self) -> str:
        return str(self.file or f"data set {self.hub.name}")


def file_identity(path: Path) -> dict[str, Any]:
    """What tells a text from another of its name: place, size, time of change (ns), sha256 of the content."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return _stamp(path) | {"sha256": digest}


def is_same_file(path: Path, identity: dict[str, Any] | None) -> bool:
    """Whether `path` holds the text of this identity; it is read only where place, size or time are others.

    What was derived from a text outlives it: a file that is gone counts as the one that was at its place.
    """
    if identity is None or not path.exists():
        return identity is not None and identity["path"] == str(path.resolve())
    stamp = _stamp(path)
    if stamp == {key: identity[key] for key in stamp}:
        return True
    return stamp["size"] == identity["size"] and file_identity(path)["sha256"] == identity["sha256"]


def _stamp(path: Path) -> dict[str, Any]:
    status = path.stat()
    return {"path": str(path.resolve()), "size": status.st_size, "modified": status.st_mtime_ns}


class Document(NamedTuple):
    """The sentences of one document; of a parallel corpus two translations; the label of a labelled text."""

    sentences: list[str]
    label: str | None = None


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph."""
    return [sentence for sentence in SENTENCE_END.split(text.strip()) if sentence]


def twin_sentence(sentence: str, overlap: float) -> str:
    """The sentence with its words and marks in letters of another alphabet, `overlap` of the word types left alone.

    Which types stay is decided by their checksum, so that every text agrees on them. Capitals and accents are dropped,
    as BERT's uncased vocabulary does.
    """
    plain = "".join(c for c in unicodedata.normalize("NFD", sentence.lower()) if unicodedata.category(c) != "Mn")
    words = WORD_OR_MARK.findall(plain)
    return " ".join(word if zlib.crc32(word.encode()) < overlap * 2**32 else shift_word(word) for word in words)


def read_documents(source: CorpusSource) -> Iterator[Document]:
    """Yields the documents of a corpus.

    Raises BertologyError: no such file or data set, no UTF-8 text, or a line without its columns.
    """
    for document in _read(source):
        if source.twin is None:
            yield document
        else:
            yield document._replace(sentences=[twin_sentence(s, source.twin) for s in document.sentences])


def _read(source: CorpusSource) -> Iterator[Document]:
    if source.hub is not None:
        for text in _rows(source.hub):
            lines = text.splitlines()
            yield from _documents(iter(lines)) if source.format == "lines" else [_document(lines)]
    elif source.format == "documents":
        yield from _documents(_lines(source.file))
    elif source.format == "lines":
        yield from (_document([line]) for line in _lines(source.file) if line.strip())
    else:
        yield from _columns(source)


def _documents(lines: Iterator[str]) -> Iterator[Document]:
    document: list[str] = []
    for line in lines:
        if line.strip():
            document.append(line)
        elif document:
            yield _document(document)
            document = []
    if document:
        yield _document(document)


def _document(lines: list[str]) -> Document:
    return Document([sentence for line in lines for sentence in sentences(line)])


def _columns(source: CorpusSource) -> Iterator[Document]:
    """Two columns a line: translations, or a label and its text."""
    for number, line in enumerate(_lines(source.file), 1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 2 or not all(columns):
            raise BertologyError(
                f"Line {number} of {source} has not the two tab-separated columns of a {source.format} corpus."
            )
        yield Document(columns) if source.format == "parallel" else Document([columns[1]], columns[0])


def _lines(path: Path) -> Iterator[str]:
    try:
        with OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                if "\0" in line:
                    raise BertologyError(f"The corpus file {path} is not UTF-8 text (it holds zero bytes).")
                yield line
    except FileNotFoundError:
        raise BertologyError(f"The corpus file {path} does not exist.") from None
    except (UnicodeDecodeError, lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise BertologyError(f"The corpus file {path} is not UTF-8 text ({error}).") from None
    except OSError as error:
        raise BertologyError(f"The corpus file {path} cannot be read ({error.strerror}).") from None


def _rows(hub: Hub) -> Iterator[str]:
    """The text column of a data set, streamed."""
    try:
        from datasets import load_dataset, load_from_disk
    except ImportError:
        raise BertologyError(f"The data set {hub.name} needs the package 'datasets': pip install datasets.") from None
    saved = (Path(hub.name) / "dataset_info.json").exists() or (Path(hub.name) / "dataset_dict.json").exists()
    try:
        if saved:
            found = load_from_disk(hub.name)
            rows = found[hub.split] if isinstance(found, dict) else found
        else:
            rows = load_dataset(hub.name, hub.config, split=hub.split, streaming=True)
        for row in rows:
            yield str(row[hub.column])
    except KeyError as error:
        raise BertologyError(f"The data set {hub.name} has no column or split {error}.") from None
    except (OSError, ValueError) as error:
        hint = "" if os.environ.get("HF_HUB_OFFLINE", "0") == "0" else "\nOne of the hub needs --online the first time."
        told = " ".join(str(error).split())[:160]
        raise BertologyError(f"The data set {hub.name} cannot be read: {told}.{hint}") from None
