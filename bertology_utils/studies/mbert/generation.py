"""Text written into a blank of several words by a masked LM, and how fluent another model finds it.

Depends on `cloze`, `grammar` and `text`. Words are drawn from left to right while the later ones are masked, then each
once more with the others in view: Gibbs sampling, as in ronnqvist2019multilingual, who go on from a beginning and draw
the places at random. A word is one piece, so that every model writes as many.
"""

from collections.abc import Sequence

import numpy as np
import torch

from bertology_utils.instruments.cloze import MASK, Query, decode, word_scores
from bertology_utils.language.grammar import generate
from bertology_utils.models import Specimen
from bertology_utils.text import encode_words

BLANK = 4  # words
SWEEPS = 2
BEST = 10  # words that are drawn from

Words = tuple[str, ...]


def texts(count: int, seed: int = 0) -> list[Words]:
    """English sentences that have two words on either side of the blank and a full stop."""
    drawn = (s.words for s in generate(4 * count, seed=seed))
    return [words for words in drawn if len(words) >= BLANK + 5][:count]


def blank_of(words: Sequence[str]) -> range:
    """The places in the middle of a sentence, its full stop left out."""
    first = (len(words) - 1 - BLANK) // 2
    return range(first, first + BLANK)


def written(specimen: Specimen, sentences: Sequence[Words], seed: int = 0) -> list[Words]:
    """The sentences with the words of their blanks drawn by the model."""
    generator = torch.Generator().manual_seed(seed)
    names = specimen.tokenizer.convert_ids_to_tokens(range(specimen.vocabulary_size))
    allowed = torch.tensor([place for place, name in enumerate(names) if name.lstrip("Ġ▁").isalpha()])
    texts = [[MASK if place in blank_of(words) else word for place, word in enumerate(words)] for words in sentences]
    for step in range(SWEEPS * BLANK):
        places = [blank_of(words)[step % BLANK] for words in sentences]
        for text, place in zip(texts, places, strict=True):
            text[place] = MASK
        best = _distributions(specimen, texts, places)[:, allowed].topk(BEST)
        drawn = torch.multinomial(best.values.softmax(-1), 1, generator=generator)
        pieces = allowed[best.indices.gather(1, drawn)[:, 0]]
        for text, place, piece in zip(texts, places, pieces.tolist(), strict=True):
            text[place] = names[piece].lstrip("Ġ▁")
    return [tuple(text) for text in texts]


def _distributions(specimen: Specimen, texts: Sequence[Sequence[str]], places: Sequence[int]) -> torch.Tensor:
    """Log probabilities (texts, vocabulary) at one of the masks of each text."""
    own = [[specimen.tokenizer.mask_token if word == MASK else word for word in text] for text in texts]
    queries = [
        Query(tuple(e.input_ids), tuple(e.segment_ids), e.word_ids.index(place))
        for e, place in zip(encode_words(specimen, own), places, strict=True)
    ]
    found = torch.empty(len(queries), specimen.vocabulary_size)
    for indices, rows in decode(specimen, queries):
        found[indices] = rows
    return found


def scrambled(sentences: Sequence[Words]) -> list[Words]:
    """The words of each blank backwards."""
    return [
        (*w[: blank_of(w)[0]], *(w[place] for place in blank_of(w)[::-1]), *w[blank_of(w)[-1] + 1 :]) for w in sentences
    ]


def fluency(judge: Specimen, sentences: Sequence[Words]) -> np.ndarray:
    """Log probability of a word of the blank, each masked in turn, in nats a word: (sentences,)."""
    places = np.array([list(blank_of(words)) for words in sentences]).T
    scores = [word_scores(judge, sentences, only=list(column)) for column in places.tolist()]
    return np.array([[score.sum() for score in column] for column in scores]).mean(0)


def recovered(texts: Sequence[Words], sentences: Sequence[Words]) -> np.ndarray:
    """The share of the blank's words that are the original ones, capitals apart: (sentences,)."""
    pairs = zip(texts, sentences, strict=True)
    return np.array([np.mean([a[i].lower() == b[i].lower() for i in blank_of(b)]) for a, b in pairs])
