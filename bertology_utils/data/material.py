"""What a chapter reads: the book's own generated sentences, or a real data set in their place. Depends on `data`.

A *source* is "embedded" (the grammar) or the name of a set. Either way a sentence is a `grammar_trees.Sentence`, so
that experiments cannot tell the two apart. Real sentences are drawn with a seed from those that any model can read:
4 to 30 words of at most 20 letters.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import TypeVar
from zlib import crc32

import numpy as np

from bertology_utils.data import registry as data
from bertology_utils.data.conllu import Tree
from bertology_utils.data.propbank import Bracketed
from bertology_utils.data.rows import Tagged
from bertology_utils.errors import BertologyError, unknown
from bertology_utils.language.grammar import generate
from bertology_utils.language.grammar_trees import Sentence, Word, chunk_tags, clause_features

EMBEDDED = "embedded"
LENGTHS = range(4, 31)
LONGEST_WORD = 20
NUMBERS = {"Sing": "singular", "Plur": "plural"}
TENSES = {"Past": "past", "Pres": "present"}
OPEN_CLASS = frozenset(("ADJ", "ADV", "INTJ", "NOUN", "NUM", "PROPN", "VERB"))
HELD_OUT = 4  # one type of four is kept from training
ENTITIES = ("PER", "LOC", "ORG")
# Each source of trees, and what it is read from: the others lend UD's sentences their brackets, roles and names.
TREEBANKS = {
    "ud_english_ewt": ("ud_english_ewt",),
    "ud_english_gum": ("ud_english_gum",),
    "ewt_propbank": ("ud_english_ewt", "ewt_propbank"),
    "ewt_all": ("ud_english_ewt", "ewt_propbank", "uner_ewt"),
}
Item = TypeVar("Item")


@dataclass(frozen=True)
class Treebank:
    """Training sentences, and development and test sentences that share no content word with them.

    Real sentences share words. With `split_words`, a probe of single words must not learn a quarter of the content
    words, chosen by their letters, and is tested on those and on function words alone; see `scored`.
    """

    train: list[Sentence]
    development: list[Sentence]
    test: list[Sentence]
    split_words: bool = False

    @property
    def sentences(self) -> list[Sentence]:
        return self.train + self.development + self.test

    def scored(self, part: str) -> np.ndarray:
        """Booleans `(words,)` for all words of "train", "development" or "test": may a probe of words use it there?"""
        words = [pair for s in getattr(self, part) for pair in zip(s.lemmas, s.upos, strict=True)]
        allowed = (tag not in OPEN_CLASS or is_held_out(lemma) == (part != "train") for lemma, tag in words)
        return np.array([not self.split_words or usable for usable in allowed], dtype=bool)


def is_held_out(lemma: str, parts: int = HELD_OUT) -> bool:
    """Whether a content word is kept from training, one in `parts`; its letters decide, alike in every set and seed."""
    return crc32(lemma.lower().encode()) % parts == 0


def train_and_test(train: int, test: int, seed: int = 0, source: str = EMBEDDED) -> Treebank:
    """Training and test sentences alone, for studies that choose nothing."""
    parts = [sentences(n, seed, split, source) for n, split in ((train, "train"), (test, "test"))]
    return Treebank(parts[0], [], parts[1], split_words=source != EMBEDDED)


def treebank(train: int, test: int, seed: int = 0, kind: str = "mixed", source: str = EMBEDDED) -> Treebank:
    """`train` sentences, and `test` each for development and test; `kind` is the grammar's alone."""
    if source == EMBEDDED:
        unseen = generate(2 * test, seed=seed, split="test", kind=kind)
        return Treebank(generate(train, seed=seed, split="train", kind=kind), unseen[:test], unseen[test:])
    parts = [sentences(n, seed, split, source) for n, split in ((train, "train"), (test, "validation"), (test, "test"))]
    return Treebank(*parts, split_words=True)


def sentences(
    n: int, seed: int = 0, split: str = "train", source: str = EMBEDDED, kind: str = "mixed"
) -> list[Sentence]:
    """`n` sentences with their trees, or all that the source has; the same seed draws the same ones.

    split: train, validation or test; the grammar's validation sentences have the words of its test sentences, and
    `kind` is the grammar's alone. Raises BertologyError for an unknown source, and where the set is absent.
    """
    if source == EMBEDDED:
        return generate(n, seed=seed, split="test" if split == "validation" else split, kind=kind)
    if source not in TREEBANKS:
        raise unknown("treebank", source, (EMBEDDED, *TREEBANKS))
    return draw(_readable(source, split, os.environ.get(data.FOLDER_VARIABLE, "")), n, seed)


def same_words(first: int, second: int, seed: int = 0, source: str = EMBEDDED) -> tuple[list[Sentence], list[Sentence]]:
    """Two samples of different sentences over the same words, both from the training part."""
    if source == EMBEDDED:
        return generate(first, seed=seed), generate(second, seed=seed + 1000)
    drawn = sentences(first + second, seed, "train", source)
    cut = len(drawn) * first // (first + second)
    return drawn[:cut], drawn[cut:]


def draw(items: Sequence[Item], n: int, seed: int = 0) -> list[Item]:
    """At most `n` items in random order."""
    return Random(seed).sample(list(items), min(n, len(items)))


def fits(words: Sequence[str]) -> bool:
    """Whether every model can read a sentence: not too long, and no web address or the like in it."""
    return len(words) in LENGTHS and max(map(len, words)) <= LONGEST_WORD


def sources(source: str) -> tuple[str, ...]:
    """The registered sets behind a source, or behind several joined by " + ", each once."""
    named = (name for part in source.split(" + ") for name in TREEBANKS.get(part, (part,)))
    return tuple(dict.fromkeys(named))


def rows(name: str, split: str = "test") -> tuple:
    """All rows of a set, read once."""
    return _rows(name, split, os.environ.get(data.FOLDER_VARIABLE, ""))


@lru_cache(maxsize=16)
def _rows(name: str, split: str, folder: str) -> tuple:
    return tuple(data.load(name, split))


@lru_cache(maxsize=8)
def _readable(source: str, split: str, folder: str) -> tuple[Sentence, ...]:
    """All sentences of a treebank that `fits` admits, with all layers of annotation. `folder` is where the data lie,
    and part of the cache's key."""
    trees = [tree for tree in data.load(sources(source)[0], split) if fits(tree.words) and _has_edge(tree)]
    layers = [{row.identity: row for row in data.load(name, split)} for name in sources(source)[1:]]
    rows = [[layer.get(tree.identity) for layer in layers] for tree in trees]
    whole = [
        all(row and len(row.words) == len(tree.words) for row in found) for tree, found in zip(trees, rows, strict=True)
    ]
    found = tuple(from_tree(tree, *row) for tree, row, kept in zip(trees, rows, whole, strict=True) if kept)
    if not found:
        lengths = f"{LENGTHS[0]} to {LENGTHS[-1]} words"
        raise BertologyError(f"The data set '{source}' has no sentence of {lengths} in its part '{split}'.")
    return found


def _has_edge(tree: Tree) -> bool:
    """Whether an attachment score has anything to score: two words joined, neither of them punctuation."""
    scored = [tag != "PUNCT" for tag in tree.upos]
    arcs = enumerate(zip(tree.heads, tree.deprels, strict=True))
    return any(head >= 0 and label != "punct" and scored[i] and scored[head] for i, (head, label) in arcs)


def from_tree(tree: Tree, brackets: Bracketed | None = None, names: Tagged | None = None) -> Sentence:
    """A treebank's sentence in the grammar's form.

    Chunks follow from the tree by the grammar's own rule. A dependency treebank knows no `ancestors`, `roles` and
    `entities`: they come from the other annotations, or are empty. A word's role is the numbered argument that it
    heads, right below its predicate.
    """
    number = tuple(NUMBERS.get(value) for value in tree.number)
    tense = tuple(TENSES.get(value) for value in tree.tense)
    columns = zip(tree.words, tree.upos, tree.deprels, number, tense, tree.lemmas, strict=True)
    words = [Word(form, tag, label, n, t, lemma=lemma) for form, tag, label, n, t, lemma in columns]
    nothing = (None,) * len(words)
    roles = _roles(tree, brackets) if brackets else nothing
    entities = tuple(tag[2:] if tag[2:] in ENTITIES else None for tag in names.tags) if names else nothing
    return Sentence(
        words=tree.words, upos=tree.upos, heads=tree.heads, deprels=tree.deprels, number=number, tense=tense,
        roles=roles, entities=entities, chunks=chunk_tags(tree.upos, tree.heads, tree.deprels),
        ancestors=brackets.ancestors if brackets else (), lemmas=tree.lemmas,
        features=clause_features(words, tree.heads, tree.deprels, tree.heads.index(-1)),
    )  # fmt: skip


def _roles(tree: Tree, row: Bracketed) -> tuple[str | None, ...]:
    found: dict[int, str] = {}
    for predicate in row.predicates:
        for label, first, end in predicate.arguments:
            if label.startswith("ARG") and label[3:].isdigit():
                found |= {i: label for i in range(first, end) if tree.heads[i] == predicate.index}
    return tuple(map(found.get, range(len(tree.words))))
