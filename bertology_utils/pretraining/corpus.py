"""Documents to arrays of token ids. Depends on `sources`, tokenizers and numpy.

A corpus is tokenized once and stored as flat arrays beside each other, so that a training process maps them into
memory instead of holding the text.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from tokenizers import Encoding, Tokenizer

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_json, replacing, write_text

from .sources import CorpusSource, Document, file_identity, is_same_file, read_documents

HELD_OUT_SHARE = 0.02
MOST_PIECES = 65_535  # ids are stored in 16 bits
BEGINS_PHRASE, IN_CAPITALS = 1, 2  # flags of a piece


@dataclass(frozen=True)
class Corpus:
    """A tokenized corpus.

    Attributes:
        tokens: ids of all pieces one after another, `(pieces,)`, uint16.
        sentences: where each sentence starts in `tokens`, with the end as last entry, `(sentences + 1,)`.
        documents: where each document starts in `sentences`, with the end as last entry, `(documents + 1,)`.
        format: as in `CorpusSource`.
        labels: the class of each document, `(documents,)`, of a labelled corpus; `label_names` names them.
        flags: `(pieces,)` of BEGINS_PHRASE and IN_CAPITALS, where an objective asks for them.
    """

    tokens: np.ndarray
    sentences: np.ndarray
    documents: np.ndarray
    format: str = "documents"
    labels: np.ndarray | None = None
    label_names: tuple[str, ...] = ()
    flags: np.ndarray | None = None
    first_document: int = 0

    def sentence(self, index: int) -> np.ndarray:
        return self.tokens[self.sentences[index] : self.sentences[index + 1]]

    @property
    def text(self) -> np.ndarray:
        """The pieces of this part."""
        return self.tokens[self.sentences[self.documents[0]] : self.sentences[self.documents[-1]]]

    def split(self) -> tuple["Corpus", "Corpus"]:
        """The training part and the last two per cent of the documents, held out."""
        last = len(self.documents) - 1
        cut = max(1, int(last * (1 - HELD_OUT_SHARE)))
        return self.slice(0, cut), self.slice(cut, last)

    def slice(self, first: int, last: int) -> "Corpus":
        return replace(self, documents=self.documents[first : last + 1], first_document=self.first_document + first)

    def label_of(self, sentence: int) -> int:
        """The class of the document to which a sentence belongs."""
        document = int(np.searchsorted(self.documents, sentence, side="right")) - 1
        return int(self.labels[self.first_document + document])


def unknown_share(corpus: Corpus, unk: int) -> float:
    """Share of [UNK] among the pieces."""
    return float(np.mean(corpus.text == unk))


class Phrases:
    """Where phrases begin: at every word, except inside a longer one (zhang2019ernie).

    A phrase is an entry of a list, matched by its pieces, the longest first; without a list, a run of words written
    with a capital, which stands in for the named entities of plain text.
    """

    def __init__(self, tokenizer: Tokenizer, listed: Path | None = None):
        self.tokenizer = tokenizer
        self.entries: dict[int, list[list[int]]] = {}
        self.digest = "capitals"
        if listed is None:
            return
        try:
            text = listed.expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BertologyError(f"The list of phrases {listed} cannot be read ({error}).") from None
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        for phrase in filter(None, map(str.strip, text.splitlines())):
            ids = tokenizer.encode(phrase, add_special_tokens=False).ids
            self.entries.setdefault(ids[0] if ids else -1, []).append(ids)
        if not self.entries:
            raise BertologyError(f"The list of phrases {listed} is empty.")
        for found in self.entries.values():
            found.sort(key=len, reverse=True)

    def flags(self, sentence: str, encoding: Encoding) -> np.ndarray:
        """The flags of the pieces of one sentence, `(pieces,)`."""
        words, starts = encoding.word_ids, [first for first, _ in encoding.offsets]
        begins = [place == 0 or word != words[place - 1] for place, word in enumerate(words)]
        capital = [sentence[start].isupper() for start in starts]
        for place, begin in enumerate(begins):
            capital[place] = capital[place] if begin else capital[place - 1]
        inside = self._listed(encoding.ids, begins) if self.entries else self._capitalised(begins, capital)
        first = np.array(begins) & ~np.array(inside)
        return (BEGINS_PHRASE * first + IN_CAPITALS * np.array(capital)).astype(np.uint8)

    @staticmethod
    def _capitalised(begins: list[bool], capital: list[bool]) -> list[bool]:
        return [place > 0 and capital[place] and capital[place - 1] for place in range(len(begins))]

    def _listed(self, ids: list[int], begins: list[bool]) -> list[bool]:
        inside, place = [False] * len(ids), 0
        while place < len(ids):
            match = next((p for p in self.entries.get(ids[place], ()) if self._fits(ids, begins, place, p)), [0])
            inside[place + 1 : place + len(match)] = [True] * (len(match) - 1)
            place += len(match)
        return inside

    @staticmethod
    def _fits(ids: list[int], begins: list[bool], place: int, phrase: list[int]) -> bool:
        end = place + len(phrase)
        return begins[place] and ids[place:end] == phrase and (end == len(ids) or begins[end])


def tokenize(source: CorpusSource, tokenizer: Tokenizer, store: Path, phrases: Phrases | None = None) -> Corpus:
    """Tokenizes a corpus into `store`, once; later calls map the stored arrays, as long as they are of this text.

    Raises BertologyError: as `read_documents`, and for fewer than two documents.
    """
    parts = ["tokens", "sentences", "documents"]
    parts += ["labels"] if source.format == "labelled" else []
    parts += [f"flags-{phrases.digest}"] if phrases else []
    names = {part: store / f"{source.title}.{part}.npy" for part in parts}
    if not _stored(source, names):
        _store(source, tokenizer, names, phrases)
    arrays = {part.split("-")[0]: np.asarray(np.load(name, mmap_mode="r")) for part, name in names.items()}
    if len(arrays["documents"]) < 3:
        hint = (
            " (a blank line divides them; 'format: lines' makes every line one)" if source.format == "documents" else ""
        )
        raise BertologyError(f"The corpus {source} holds fewer than two documents{hint}.")
    if source.format == "labelled":
        arrays["label_names"] = tuple(json.loads((store / f"{source.title}.labels.json").read_text()))
    return Corpus(**arrays, format=source.format)


def _stored(source: CorpusSource, names: Mapping[str, Path]) -> bool:
    """Whether all arrays are there and of this very text; a data set is known by its name."""
    if not all(name.exists() for name in names.values()):
        return False
    if source.file is None:
        return True
    known = read_json(_record(source, names)) or {}
    identities = [known.get(part) for part in names]
    return all(one == identities[0] for one in identities) and is_same_file(source.file, identities[0])


def _record(source: CorpusSource, names: Mapping[str, Path]) -> Path:
    """The file that names, for every stored array of a corpus, the text that it was made of."""
    return names["tokens"].with_name(f"{source.title}.source.json")


def _store(source: CorpusSource, tokenizer: Tokenizer, names: Mapping[str, Path], phrases: Phrases | None) -> None:
    """Writes the arrays; their record last, so that a run which is killed on the way leaves none that are believed."""
    names["tokens"].parent.mkdir(parents=True, exist_ok=True)
    arrays, labels = _tokenize(read_documents(source), source.format, tokenizer, phrases)
    told = _record(source, names)
    known = read_json(told) or {}
    if source.file is not None:
        write_text(told, json.dumps(known | dict.fromkeys(names)))
    if labels:
        write_text(told.with_name(f"{source.title}.labels.json"), json.dumps(labels))
    for name, array in zip(names.values(), arrays, strict=True):
        with replacing(name) as part:
            np.save(part, array)
    if source.file is not None:
        write_text(told, json.dumps(known | dict.fromkeys(names, file_identity(source.file))))


def _tokenize(
    documents: Iterable[Document], form: str, tokenizer: Tokenizer, phrases: Phrases | None = None
) -> tuple[list[np.ndarray], list[str]]:
    """The arrays of documents of a format in the order of `tokenize`, and the sorted names of their labels."""
    pieces, flags, labels, sentence_lengths, document_lengths = [], [], [], [0], [0]
    for document in documents:
        encoded = tokenizer.encode_batch(document.sentences, add_special_tokens=False)
        told = [(s, e) for s, e in zip(document.sentences, encoded, strict=True) if e.ids]
        if not told or (form == "parallel" and len(told) < 2):
            continue  # nothing but spaces and control characters
        pieces += [np.array(e.ids, dtype=np.uint16) for _, e in told]
        sentence_lengths += [len(e.ids) for _, e in told]
        document_lengths.append(len(told))
        labels.append(document.label)
        if phrases:
            flags += [phrases.flags(s, e) for s, e in told]
    tokens = np.concatenate(pieces) if pieces else np.zeros(0, np.uint16)
    arrays = [tokens, np.cumsum(sentence_lengths), np.cumsum(document_lengths)]
    names = sorted({label for label in labels if label is not None})
    if names:
        arrays.append(np.array([names.index(label) for label in labels], dtype=np.int64))
    if phrases:
        arrays.append(np.concatenate(flags) if flags else np.zeros(0, np.uint8))
    return arrays, names
