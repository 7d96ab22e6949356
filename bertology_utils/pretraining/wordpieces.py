"""From texts to a WordPiece tokenizer, the same one at every training. Depends on `sources`, tokenizers and numpy."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from bertology_utils.errors import BertologyError

from .sources import CorpusSource, read_documents

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
UNKNOWN, CLS, SEP = SPECIAL_TOKENS[1:4]
CONTINUES = "##"
LONGEST_WORD = 100  # letters; BERT calls longer words unknown


def train_tokenizer(
    sources: Sequence[CorpusSource],
    vocabulary_size: int,
    alphabet: int = 400,
    smoothing: float | None = None,
    cased: bool = False,
) -> Tokenizer:
    """Trains a WordPiece tokenizer (devlin2019bert); Chinese characters are words by themselves.

    cased: keeps capitals and accents; without it BERT's normaliser takes the vowel signs of Hindi for accents too.
    alphabet: how many characters it may know, the most frequent ones.
    smoothing: None reads all text; else documents are sampled so that every corpus has characters in proportion to its
        size to this power, and the rarest one is read whole (the sampling of multilingual BERT).

    Raises BertologyError where there is no text.
    """
    shares = [1.0] * len(sources) if smoothing is None else sampled_shares(sources, smoothing)
    made = tokenizer_of(_sampled_sentences(sources, shares), vocabulary_size, alphabet, cased)
    if made is None:
        raise BertologyError(f"The corpora hold no text: {', '.join(map(str, sources))}.")
    return made


def tokenizer_of(
    sentences: Iterable[str], vocabulary_size: int, alphabet: int = 400, cased: bool = False
) -> Tokenizer | None:
    """`train_tokenizer` on sentences at hand; None where they hold no word.

    The library numbers the letters inside words as its hash tables have them, by chance, and merges pairs of equal
    frequency in the order of these numbers. Letters that come as special tokens keep their order, so they do here; then
    the vocabulary moves to a tokenizer in which they are ordinary pieces.
    """
    learner = _tokenizer(cased)
    words = _count_words(learner, sentences)
    words = Counter({word: count for word, count in words.items() if len(word) <= LONGEST_WORD})
    if not words:
        return None
    first, later = _letters(words, alphabet)
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[*SPECIAL_TOKENS, *first, *later],
        initial_alphabet=first,
        limit_alphabet=len(first),
        show_progress=False,
    )
    learner.train_from_iterator((f"{word} " * count for word, count in words.items()), trainer)
    pieces = learner.get_vocab()
    tokenizer = _tokenizer(cased, pieces)
    tokenizer.add_special_tokens(SPECIAL_TOKENS)
    tokenizer.post_processor = processors.BertProcessing((SEP, pieces[SEP]), (CLS, pieces[CLS]))
    return tokenizer


def special_names() -> dict[str, str]:
    """What transformers calls the special pieces: `pad_token` and so on."""
    return {f"{piece.strip('[]').lower()}_token": piece for piece in SPECIAL_TOKENS}


def as_pretrained(tokenizer: Tokenizer, **options: Any) -> PreTrainedTokenizerFast:
    """A tokenizer with the `SPECIAL_TOKENS` as transformers knows one."""
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special_names(), **options)


def _tokenizer(cased: bool, pieces: Mapping[str, int] | None = None) -> Tokenizer:
    """A tokenizer that divides text as BERT's does."""
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token=UNKNOWN, max_input_chars_per_word=LONGEST_WORD))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased, handle_chinese_chars=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _count_words(tokenizer: Tokenizer, sentences: Iterable[str]) -> Counter[str]:
    """How often every word and mark occurs; what stands between two blanks is divided once, however often it occurs."""
    chunks = Counter(chunk for sentence in sentences for chunk in sentence.split(" "))
    words: Counter[str] = Counter()
    for chunk, count in chunks.items():
        plain = tokenizer.normalizer.normalize_str(chunk)
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(plain):
            words[word] += count
    return words


def _letters(words: Counter[str], most: int) -> tuple[list[str], list[str]]:
    """The most frequent characters, and as pieces that continue a word those of them that do, in their own order."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for letter in word:
            counts[letter] += count
    known = sorted(sorted(counts, key=lambda letter: (-counts[letter], letter))[:most])
    inside = {letter for word in words for letter in word[1:]}
    return known, [CONTINUES + letter for letter in known if letter in inside]


def smoothed_weights(sizes: Sequence[float], smoothing: float) -> np.ndarray:
    """Sampling weights: sizes to the power of `smoothing`, which sum to 1 (lample2019crosslingual, multilingual BERT).

    1 keeps the proportions, 0 makes all corpora equal.
    """
    weights = np.asarray(sizes, dtype=float) ** smoothing
    return weights / weights.sum()


def sampled_shares(sources: Sequence[CorpusSource], smoothing: float) -> list[float]:
    """The share of every corpus that a smoothed sample reads; 1 for the one that is rarest against its weight."""
    sizes = np.array([sum(len(s) for d in read_documents(source) for s in d.sentences) for source in sources])
    for source, size in zip(sources, sizes, strict=True):
        if size == 0:
            raise BertologyError(f"The corpora hold no text: {source}.")
    shares = smoothed_weights(sizes, smoothing) / sizes
    return list(shares / shares.max())


def _sampled_sentences(sources: Sequence[CorpusSource], shares: Sequence[float]) -> Iterator[str]:
    """Some documents' sentences, always the same ones."""
    rng = np.random.default_rng(0)
    for source, share in zip(sources, shares, strict=True):
        for document in read_documents(source):
            if share >= 1 or rng.random() < share:
                yield from document.sentences
