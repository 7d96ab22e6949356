"""More sentences out of few: content words replaced by what the masked language model puts in their place.

Depends on `problems`, on the function words of `lexicon` and on `mlm_training`. The recipe is jiao2019tinybert's.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from random import Random

import torch
from torch import Tensor

from bertology_utils.compression.methods.problems import Questions
from bertology_utils.errors import BertologyError
from bertology_utils.language.lexicon import FUNCTION_WORDS
from bertology_utils.models import Specimen
from bertology_utils.text import Encoding, Words, batches, encode_words, model_inputs
from bertology_utils.tuning.mlm_training import masked_logits

KEPT = frozenset(FUNCTION_WORDS)
Places = list[tuple[int, int]]


def augmented(origin: Specimen, questions: Questions, share: float, candidates: int, seed: int = 0) -> Questions:
    """The questions, and each once more with a share of its words replaced; labels stay, the teacher gives its own.

    share: of a sentence's words, at most; those replaced are content words of one piece, drawn at random. candidates:
    the likeliest whole words at a place, of which one is drawn.
    """
    if not 0 <= share <= 1 or candidates < 1:
        raise BertologyError(f"A share of words lies between 0 and 1 and needs candidates: {share}, {candidates}.")
    draw = Random(seed)
    double = {
        name: [*given, *replaced(origin, given, share, candidates, draw)]
        for name, given in (("sentences", questions.sentences), ("pairs", questions.pairs))
        if given is not None
    }
    return dataclasses.replace(questions, **double, labels=[*questions.labels, *questions.labels])


def replaced(origin: Specimen, sentences: Sequence[Words], share: float, candidates: int, draw: Random) -> list[Words]:
    """Each sentence with a share of its words replaced, as many words as before."""
    encodings = encode_words(origin, sentences)
    places = [
        (row, word)
        for row, (sentence, encoding) in enumerate(zip(sentences, encodings, strict=True))
        for word in _drawn(sentence, encoding, share, draw)
    ]
    changed = [list(sentence) for sentence in sentences]
    for (row, word), options in zip(places, likely_words(origin, encodings, places, candidates), strict=True):
        changed[row][word] = draw.choice(options)
    return [tuple(sentence) for sentence in changed]


def _drawn(sentence: Words, encoding: Encoding, share: float, draw: Random) -> list[int]:
    """Places of at most this share of the words: content words of a single piece."""
    able = [
        place
        for place, word in enumerate(sentence)
        if word.isalpha() and word.lower() not in KEPT and encoding.word_ids.count(place) == 1
    ]
    return sorted(draw.sample(able, min(len(able), int(share * len(sentence)))))


@torch.no_grad()
def likely_words(origin: Specimen, encodings: Sequence[Encoding], places: Places, candidates: int) -> list[list[str]]:
    """The likeliest words where one word is masked, likeliest first: a list for each (sentence, word)."""
    words = whole_words(origin)
    allowed = torch.tensor(list(words))
    found: list[list[str]] = [[] for _ in places]
    for group, batch, masked in _masked(origin, encodings, places):
        logits, _ = masked_logits(origin.model, batch, masked)
        top = allowed[logits[:, allowed].topk(min(candidates, len(allowed))).indices]
        for index, pieces in zip(group, top.tolist(), strict=True):
            found[index] = [words[piece] for piece in pieces]
    return found


def _masked(
    origin: Specimen, encodings: Sequence[Encoding], places: Places
) -> Iterator[tuple[list[int], dict[str, Tensor], Tensor]]:
    """Batches of places: their indices, inputs with one word masked each, and where, (batch, pieces) booleans."""
    for group in batches(origin, [len(encodings[row]) for row, _ in places]):
        batch = model_inputs(origin, [encodings[places[index][0]] for index in group])
        masked = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
        for line, (row, word) in enumerate(places[index] for index in group):
            masked[line, encodings[row].word_ids.index(word)] = True
        batch["input_ids"] = batch["input_ids"].masked_fill(masked, origin.tokenizer.mask_token_id)
        yield group, batch, masked


def whole_words(origin: Specimen) -> dict[int, str]:
    """Pieces that are a word: those that come back when the word is cut into pieces."""
    decoded = ((piece, origin.tokenizer.decode([piece]).strip()) for piece in range(len(origin.tokenizer)))
    spelt = {piece: word for piece, word in decoded if word.isalpha() and word.lower() not in KEPT}
    encodings = encode_words(origin, [[word] for word in spelt.values()])
    pieces = [[p for p, w in zip(e.input_ids, e.word_ids, strict=True) if w is not None] for e in encodings]
    return {piece: word for (piece, word), own in zip(spelt.items(), pieces, strict=True) if own == [piece]}


def changed_shares(before: Sequence[Words], after: Sequence[Words]) -> list[float]:
    """Of each sentence the share of words that are others than before, word by word."""
    return [sum(old != new for old, new in zip(a, b, strict=True)) / len(a) for a, b in zip(before, after, strict=True)]
