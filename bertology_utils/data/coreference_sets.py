"""Pronouns with two candidate antecedents from a published set, in the form of the generated ones.

Depends on `coreference` (the form) and `material` (the rows).
"""

from collections.abc import Iterator
from itertools import pairwise

from bertology_utils.data.conllu import Tree
from bertology_utils.data.coref_readers import Mentioned, Span
from bertology_utils.data.material import EMBEDDED, draw, fits, rows
from bertology_utils.language import coreference
from bertology_utils.language.coreference import FEMALE, MALE, NEUTER, PLURAL, Coreference

THIRD_PERSON = MALE | FEMALE | NEUTER | PLURAL


def coreferences(n: int, seed: int = 0, split: str = "train", source: str = EMBEDDED) -> list[Coreference]:
    """At most `n` pronouns of the third person, each with two nouns or names before it; "gum_coref": mentions in GUM.

    The antecedent is the nearest mention of the pronoun's entity, the rival the nearest one of another entity, neither
    inside the other. The sentence before is read too where both together are short enough. GUM's development and test
    documents are the test here.
    """
    if source == EMBEDDED:
        return coreference.coreferences(n, seed, split)
    parts = ("train",) if split == "train" else ("validation", "test")
    return draw([item for part in parts for item in _items(rows(source, part))], n, seed)


def _items(found: tuple[Mentioned, ...]) -> Iterator[Coreference]:
    for before, row in pairwise((None, *found)):
        near = before and before.document == row.document and fits((*before.tree.words, *row.tree.words))
        trees = [before.tree, row.tree] if near else [row.tree]
        if fits(trees[-1].words):
            start = len(before.tree.words) if near else 0
            spans = [*(before.mentions if near else ()), *((a + start, b + start, e) for a, b, e in row.mentions)]
            yield from _pronouns(trees, spans, start)


def _pronouns(trees: list[Tree], spans: list[Span], start: int) -> Iterator[Coreference]:
    """The pronouns of the last tree; `spans` and `start`, its first word, count over all trees."""
    words, upos, number = (sum((getattr(tree, name) for tree in trees), ()) for name in ("words", "upos", "number"))
    heads = [head + offset for tree, offset in zip(trees, (0, start)[-len(trees) :], strict=True)
             for head in tree.heads]  # fmt: skip
    nominals = [(_head(span, heads), span) for span in spans]
    nominals = [(head, span) for head, span in nominals if upos[head] in ("NOUN", "PROPN")]
    for place, end, entity in spans:
        if end == place + 1 and place >= start and upos[place] == "PRON" and words[place].lower() in THIRD_PERSON:
            known = [(head, span) for head, span in nominals if span[1] <= place]
            own = max((pair for pair in known if pair[1][2] == entity), default=None)
            others = [
                (head, span)
                for head, span in known
                if own and span[2] != entity and (span[1] <= own[1][0] or own[1][1] <= span[0])
            ]
            if others:
                other = max(others)
                plural = tuple(number[head] == "Plur" for head in (own[0], other[0]))
                yield Coreference(words, place, own[0], other[0], plural)


def _head(span: Span, heads: list[int]) -> int:
    """The first word of a mention whose head is outside it."""
    return next(i for i in range(span[0], span[1]) if not span[0] <= heads[i] < span[1])
