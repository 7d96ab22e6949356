"""Text files to arrays of token ids. Depends on tokenizers and numpy.

A corpus file holds one paragraph (or a few short sentences) a line and a blank line between documents. It is read as a
stream (plain, .xz or .gz), cut into sentences, tokenized once, and stored as three flat arrays beside each other, so
that a training process maps them into memory instead of holding the text.
"""

import gzip
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from ..errors import BertologyError

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SENTENCE_END = re.compile(r"(?<=[.!?][\"'’”)])\s+|(?<=[.!?])\s+(?=[\"'“‘(A-Z0-9])")
OPENERS = {".xz": lzma.open, ".gz": gzip.open}
HELD_OUT_SHARE = 0.02
MOST_PIECES = 65_535  # ids are stored in 16 bits


def documents(path: Path) -> Iterator[list[str]]:
    """Yields each document of a text file as its list of sentences."""
    opener = OPENERS.get(path.suffix, open)
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            document: list[str] = []
            for line in lines:
                if "\0" in line:
                    raise BertologyError(f"The corpus file {path} is not UTF-8 text (it holds zero bytes).")
                if line.strip():
                    document += [s for s in SENTENCE_END.split(line.strip()) if s]
                elif document:
                    yield document
                    document = []
            if document:
                yield document
    except FileNotFoundError:
        raise BertologyError(f"The corpus file {path} does not exist.") from None
    except (UnicodeDecodeError, lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise BertologyError(f"The corpus file {path} is not UTF-8 text ({error}).") from None
    except OSError as error:
        raise BertologyError(f"The corpus file {path} cannot be read ({error.strerror}).") from None


def train_tokenizer(paths: list[Path], vocabulary_size: int) -> Tokenizer:
    """Trains an uncased WordPiece tokenizer (Devlin et al. 2019) on the given files."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary_size, special_tokens=SPECIAL_TOKENS, limit_alphabet=400, show_progress=False
    )
    tokenizer.train_from_iterator((s for p in paths for d in documents(p) for s in d), trainer)
    if tokenizer.get_vocab_size() <= len(SPECIAL_TOKENS):
        raise BertologyError(f"The corpora hold no text: {', '.join(map(str, paths))}.")
    cls, sep = (tokenizer.token_to_id(t) for t in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    return tokenizer


@dataclass(frozen=True)
class Corpus:
    """A tokenized corpus.

    Attributes:
        tokens: ids of all pieces one after another, `(pieces,)`, uint16.
        sentences: where each sentence starts in `tokens`, with the end as last entry, `(sentences + 1,)`.
        documents: where each document starts in `sentences`, with the end as last entry, `(documents + 1,)`.
    """

    tokens: np.ndarray
    sentences: np.ndarray
    documents: np.ndarray

    def sentence(self, index: int) -> np.ndarray:
        return self.tokens[self.sentences[index] : self.sentences[index + 1]]

    def split(self) -> tuple["Corpus", "Corpus"]:
        """The training part and the last two per cent of the documents, held out."""
        last = len(self.documents) - 1
        cut = max(1, int(last * (1 - HELD_OUT_SHARE)))
        return self.slice(0, cut), self.slice(cut, last)

    def slice(self, first: int, last: int) -> "Corpus":
        return Corpus(self.tokens, self.sentences, self.documents[first : last + 1])


def tokenize(path: Path, tokenizer: Tokenizer, store: Path) -> Corpus:
    """Tokenizes a text file into `store`, once; later calls map the stored arrays, until the file is newer."""
    names = [store / f"{path.name}.{part}.npy" for part in ("tokens", "sentences", "documents")]
    if not all(name.exists() and not _newer(path, name) for name in names):
        store.mkdir(parents=True, exist_ok=True)
        for name, array in zip(names, _tokenize(path, tokenizer), strict=True):
            part = name.with_suffix(".part.npy")
            np.save(part, array)
            part.replace(name)
    corpus = Corpus(*(np.load(name, mmap_mode="r") for name in names))
    if len(corpus.documents) < 3:
        raise BertologyError(f"The corpus file {path} holds fewer than two documents (a blank line divides them).")
    return corpus


def _newer(path: Path, stored: Path) -> bool:
    return path.exists() and path.stat().st_mtime > stored.stat().st_mtime


def _tokenize(path: Path, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pieces, sentence_lengths, document_lengths = [], [0], [0]
    for document in documents(path):
        encoded = tokenizer.encode_batch(document, add_special_tokens=False)
        pieces += [np.array(e.ids, dtype=np.uint16) for e in encoded]
        sentence_lengths += [len(e.ids) for e in encoded]
        document_lengths.append(len(encoded))
    tokens = np.concatenate(pieces) if pieces else np.zeros(0, np.uint16)
    return tokens, np.cumsum(sentence_lengths), np.cumsum(document_lengths)
