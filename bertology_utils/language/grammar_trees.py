"""Gold annotation: builds phrase trees and reads dependencies, constituents, chunks and features from them.

One head-marked tree carries both analyses, so they can never contradict each other: the lexical head of a phrase
governs the heads of its sister phrases (Universal Dependencies style: content words are heads). Depends on numpy only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

CLAUSAL = ("acl:relcl", "ccomp", "advcl", "parataxis")
NOMINAL = ("NOUN", "PROPN", "PRON")
ANCESTOR_LEVELS = 3
TOP = "TOP"


@dataclass(slots=True)
class Word:
    """A leaf: one word with all that is known about it except its place in the tree."""

    form: str
    upos: str
    deprel: str = "dep"
    number: str | None = None
    tense: str | None = None
    role: str | None = None
    entity: str | None = None
    lemma: str = ""


@dataclass(slots=True)
class Phrase:
    """An inner node. `parts[head]` holds the head; a label of None makes the node transparent for constituency.

    `number`, `person` and `kinds` say how a noun phrase agrees and what it denotes.
    """

    label: str | None
    parts: list[Phrase | Word]
    head: int
    deprel: str = "dep"
    number: str | None = None
    person: int = 3
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sentence:
    """A generated sentence with gold annotation; every tuple has one entry a word.

    `heads` are 0-based with -1 for the root; `ancestors[i]` are the phrase labels above word i (parent, grandparent,
    great-grandparent, after liu2019linguistic), `chunks` base phrases as BIO tags. `features` has, for the main clause:
    `root`, `subject`, `focus` (the finite, agreeing verb or auxiliary) and `object` as word indices (-1 = none),
    `subject_number`, `object_number`, `tense`, `attractors` (nouns between subject and focus with the other number),
    `intervening` (all nouns there), `clauses`, `depth` and `length`.
    """

    words: tuple[str, ...]
    upos: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    number: tuple[str | None, ...]
    tense: tuple[str | None, ...]
    roles: tuple[str | None, ...]
    entities: tuple[str | None, ...]
    chunks: tuple[str, ...]
    ancestors: tuple[tuple[str, ...], ...]
    lemmas: tuple[str, ...]
    features: dict[str, int | str | None] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return " ".join(self.words)

    def arcs(self) -> list[tuple[int, int, str]]:
        """All (head, dependent, label) triples but the root's, in the order of the dependents."""
        labelled = enumerate(zip(self.heads, self.deprels, strict=True))
        return [(head, i, label) for i, (head, label) in labelled if head >= 0]

    def dominance(self) -> np.ndarray:
        """(words, words) booleans: [i, j] says that j is i or an ancestor of i."""
        heads = np.asarray(self.heads)
        paths = np.eye(len(heads), dtype=bool)
        current = np.where(heads < 0, np.arange(len(heads)), heads)
        step = current.copy()
        for _ in range(int(self.features.get("depth") or len(heads))):
            paths[np.arange(len(heads)), current] = True
            current = step[current]
        return paths


def annotate(root: Phrase) -> Sentence:
    """Read every annotation off a phrase tree whose last part is the final punctuation."""
    words: list[Word] = []
    heads: list[int] = []
    deprels: list[str] = []
    ancestors: list[tuple[str, ...]] = []

    def visit(node: Phrase | Word, above: tuple[str, ...]) -> int:
        if isinstance(node, Word):
            words.append(node)
            heads.append(-1)
            deprels.append("root")
            ancestors.append((above + (TOP,) * ANCESTOR_LEVELS)[:ANCESTOR_LEVELS])
            return len(words) - 1
        if node.label is not None:
            above = (node.label, *above)
        indices = [visit(part, above) for part in node.parts]
        governor = indices[node.head]
        for index, part in zip(indices, node.parts, strict=True):
            if index != governor:
                heads[index] = governor
                deprels[index] = part.deprel
        return governor

    root_index = visit(root, ())
    upos = tuple(word.upos for word in words)
    return Sentence(
        words=tuple(word.form for word in words),
        upos=upos,
        heads=tuple(heads),
        deprels=tuple(deprels),
        number=tuple(word.number for word in words),
        tense=tuple(word.tense for word in words),
        roles=tuple(word.role for word in words),
        entities=tuple(word.entity for word in words),
        chunks=chunk_tags(upos, heads, deprels),
        ancestors=tuple(ancestors),
        lemmas=tuple(word.lemma or word.form for word in words),
        features=clause_features(words, heads, deprels, root_index),
    )


def chunk_tags(upos: tuple[str, ...], heads: list[int], deprels: list[str]) -> tuple[str, ...]:
    """Base phrases as in the CoNLL-2000 task: NP up to its head noun, the verb group, the bare preposition."""
    tags: list[str] = []
    last: tuple[str, int] | None = None
    for i, (tag, head, label) in enumerate(zip(upos, heads, deprels, strict=True)):
        group = _chunk_of(i, tag, head, label)
        if group is None:
            tags.append("O")
        else:
            tags.append(("I-" if group == last else "B-") + group[0])
        last = group
    return tuple(tags)


def _chunk_of(i: int, tag: str, head: int, label: str) -> tuple[str, int] | None:
    """The kind of chunk that word i belongs to, with the index of the word that anchors it."""
    if label in ("det", "amod", "nummod", "nmod:poss"):
        return "NP", head
    if tag in NOMINAL:
        return "NP", i
    if label in ("aux", "aux:pass", "cop") or (tag == "PART" and head > i):
        return "VP", head
    if tag == "VERB":
        return "VP", i
    return ("PP", i) if tag == "ADP" else None


def clause_features(words: list[Word], heads: list[int], deprels: list[str], root: int) -> dict[str, int | str | None]:
    """The `features` of a Sentence; see there."""
    children = [i for i, head in enumerate(heads) if head == root]
    subject = next((i for i in children if deprels[i].startswith("nsubj")), -1)
    direct = next((i for i in children if deprels[i] == "obj"), -1)
    focus = min([i for i in children if deprels[i] in ("aux", "aux:pass", "cop")], default=root)
    between = range(min(subject, focus) + 1, max(subject, focus))
    nouns = [words[i].number for i in between if words[i].upos in ("NOUN", "PROPN")]
    return {
        "root": root,
        "subject": subject,
        "focus": focus,
        "object": direct,
        "subject_number": subject_number(words, heads, deprels, subject),
        "object_number": words[direct].number if direct >= 0 else None,
        "tense": words[focus].tense,
        "attractors": sum(number != words[subject].number for number in nouns),
        "intervening": len(nouns),
        "clauses": 1 + sum(label in CLAUSAL for label in deprels),
        "depth": tree_depth(heads),
        "length": len(words),
    }


def subject_number(words: list[Word], heads: list[int], deprels: list[str], subject: int) -> str | None:
    """The number with which a subject agrees: coordinated subjects are plural."""
    if subject < 0:
        return None
    coordinated = any(head == subject and label == "conj" for head, label in zip(heads, deprels, strict=True))
    return "plural" if coordinated else words[subject].number


def tree_depth(heads: list[int]) -> int:
    """The longest path from a word to the root, in edges."""

    def depth(i: int) -> int:
        return 0 if heads[i] < 0 else 1 + depth(heads[i])

    return max(depth(i) for i in range(len(heads)))
