"""Damaged inputs: shuffled, truncated, with an argument removed, or with random words around the place of interest.

Depends on numpy alone; a `Sentence` of the grammar lends heads and labels. Every function takes a sequence of words and
the 0-based `place` of the word that will be masked, and returns the new words with the new place of that word. After
the perturbed inputs of ettinger2019what; a final punctuation mark stays where it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertology_utils.errors import BertologyError
from bertology_utils.language.grammar_trees import Sentence

FINAL = (".", "?", "!")
ARGUMENTS = ("nsubj", "nsubj:pass", "obj", "iobj")
ADJUNCTS = ("obl", "advmod", "advcl")


@dataclass(frozen=True)
class Perturbed:
    """A word sequence and where the word of interest stands in it."""

    words: tuple[str, ...]
    place: int


def shuffle_words(words: Sequence[str], place: int, generator: np.random.Generator, size: int = 1) -> Perturbed:
    """Shuffle blocks of `size` words; the word at `place` and a final mark keep their positions.

    Blocks are cut from the words that may move, so that with `size` 2 most neighbours stay together.
    """
    free = [i for i in range(_body(words)) if i != place]
    blocks = [free[start : start + size] for start in range(0, len(free), size)]
    order = [i for block in generator.permutation(len(blocks)) for i in blocks[block]]
    changed = list(words)
    for target, source in zip(free, order, strict=True):
        changed[target] = words[source]
    return Perturbed(tuple(changed), place)


def truncate(words: Sequence[str], place: int, keep: int) -> Perturbed:
    """Only the last `keep` words before `place`, the word itself, and what follows it."""
    start = max(0, place - keep)
    return Perturbed(tuple(words[start:]), place - start)


def random_context(
    words: Sequence[str], place: int, vocabulary: Sequence[str], generator: np.random.Generator
) -> Perturbed:
    """Every word but the one at `place` and a final mark is drawn anew from `vocabulary`."""
    body = _body(words)
    drawn = [vocabulary[i] for i in generator.integers(len(vocabulary), size=body)]
    kept = [words[i] if i == place or i >= body else drawn[i] for i in range(len(words))]
    return Perturbed(tuple(kept), place)


def drop_words(words: Sequence[str], place: int, dropped: Sequence[int]) -> Perturbed:
    """Without the words at the indices `dropped`. Raises BertologyError if the word of interest is among them."""
    if place in dropped:
        raise BertologyError("The word of interest cannot be dropped.")
    gone = set(dropped)
    return Perturbed(tuple(w for i, w in enumerate(words) if i not in gone), place - sum(i < place for i in gone))


def dependent_spans(sentence: Sentence, deprels: Sequence[str]) -> list[tuple[int, ...]]:
    """The word indices of each subtree that hangs under the root with one of the labels, in order."""
    root = sentence.heads.index(-1)
    dominance = sentence.dominance()
    chosen = [
        i
        for i, (h, label) in enumerate(zip(sentence.heads, sentence.deprels, strict=True))
        if h == root and label in deprels
    ]
    return [tuple(np.flatnonzero(dominance[:, i]).tolist()) for i in chosen]


def matched_spans(sentence: Sentence, tolerance: int = 1) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """An argument span and an adjunct span of like length (at most `tolerance` words apart), the closest pair.

    None where the sentence has none. The comma of a fronted adjunct counts as part of it.
    """
    arguments = dependent_spans(sentence, ARGUMENTS)
    adjuncts = [_with_comma(sentence, span) for span in dependent_spans(sentence, ADJUNCTS)]
    couples = [(abs(len(a) - len(b)), a, b) for a in arguments for b in adjuncts]
    difference, argument, adjunct = min(couples, default=(tolerance + 1, (), ()))
    return (argument, adjunct) if difference <= tolerance else None


def _with_comma(sentence: Sentence, span: tuple[int, ...]) -> tuple[int, ...]:
    after = span[-1] + 1
    return (*span, after) if sentence.words[after : after + 1] == (",",) else span


def _body(words: Sequence[str]) -> int:
    """Number of words before a final punctuation mark."""
    return len(words) - (words[-1] in FINAL)
