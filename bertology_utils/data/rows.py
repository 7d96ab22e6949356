"""The row formats of the data sets: one small typed record for each kind of item. Depends on nothing.

Sentences are tuples of words; indices of words are 0-based; every record is frozen, so that rows can be shared.
Dependency trees are `conllu.Tree` (treebanks) or the grammar's `Sentence`, which name the common fields alike;
minimal pairs are `pairs.MinimalPair` wherever they come from.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Continuation:
    """A context to be continued by one word: `expected` completions against `alternatives`, under a named condition."""

    item: str
    context: str
    expected: tuple[str, ...]
    alternatives: tuple[str, ...]
    condition: str


@dataclass(frozen=True)
class Labelled:
    """A text, or a pair of texts, with a label (a class name, or a score as text); group: source or phenomenon."""

    text: str
    label: str
    text_b: str = ""
    group: str = ""


@dataclass(frozen=True)
class Sense:
    """A word in a sentence with its sense: words[index] is an occurrence of `lemma`."""

    lemma: str
    words: tuple[str, ...]
    index: int
    sense: str


@dataclass(frozen=True)
class WordInContext:
    """Two occurrences of a word and whether they share a sense."""

    lemma: str
    upos: str
    words_a: tuple[str, ...]
    index_a: int
    words_b: tuple[str, ...]
    index_b: int
    same: bool


@dataclass(frozen=True)
class Translation:
    """A sentence and its translation; `line` joins the languages of a parallel set."""

    text: str
    english: str
    language: str
    line: int


@dataclass(frozen=True)
class TemplateFact:
    """A relation between two named things, with a template that holds [X] (subject) and [Y] (object)."""

    relation: str
    subject: str
    object: str
    template: str


@dataclass(frozen=True)
class ThingFact:
    """Whether something holds of a kind of thing: a property ("is loud") or what is done to it ("peeled")."""

    thing: str
    kind: str
    text: str
    holds: bool


@dataclass(frozen=True)
class Relation:
    """Two spans (first word, one past the last) and the relation between them, directed ("Cause-Effect(e1,e2)")."""

    words: tuple[str, ...]
    span_a: tuple[int, int]
    span_b: tuple[int, int]
    label: str


@dataclass(frozen=True)
class Tagged:
    """A sentence with one label a word; `identity` is its id in the treebank that it comes from."""

    identity: str
    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Pointed:
    """A sentence and the index of the one word that is asked for."""

    words: tuple[str, ...]
    target: int


@dataclass(frozen=True)
class Rated:
    """An argument of a predicate in the sentence with this 0-based number, and its ratings (above 0: holds)."""

    sentence: int
    predicate: int
    argument: int
    ratings: dict[str, float]


@dataclass(frozen=True)
class RelationTemplate:
    """One way to ask for a relation, with [X] for the subject and [Y] for the object."""

    relation: str
    template: str


@dataclass(frozen=True)
class AlteredFact:
    """A cloze of a fact, the same negated, and the same behind a misleading word; each text holds [MASK]."""

    relation: str
    object: str
    affirmed: str
    negated: str
    misprimed: str
