"""LAMA's facts and the factbook's in the form of the book's own: relations, prompts, what a `not` or a prime adds.

Depends on `facts` (the form) and `material` (the rows). petroni2019language wrote one template a relation, and
jiang2019how mined others; a fact of LAMA has both, LAMA's first.
"""

import re
from dataclasses import dataclass

from bertology_utils.data.lama_readers import FACTBOOK
from bertology_utils.data.material import draw, rows
from bertology_utils.errors import unknown
from bertology_utils.language.facts import MASK, Fact, Prompt

FEWEST = 20  # facts that a relation must offer
LONGEST = 8  # words of a subject


@dataclass(frozen=True)
class LamaFact(Fact):
    """A fact whose templates hold [X] and [Y]; nothing in them depends on the words that fill the gaps."""

    templates: tuple[str, ...] = ()

    def prompts(self, negated: bool = False) -> list[Prompt]:
        """One prompt a template; the negated ones are a set of their own, see `negations`."""
        return [] if negated else [self._prompt(template) for template in self.templates]

    def _prompt(self, template: str) -> Prompt:
        words = tuple(template.replace("[X]", self.subject).replace("[Y]", MASK).split())
        return Prompt(words, words.index(MASK), self.object, self.candidates, template)


def relations() -> list[str]:
    """The relations of T-REx and the factbook that have enough facts with a short subject, sorted."""
    counts: dict[str, int] = {}
    for row in _rows():
        counts[row.relation] = counts.get(row.relation, 0) + _usable(row)
    return sorted(relation for relation, count in counts.items() if count >= FEWEST)


def facts(relation: str) -> list[LamaFact]:
    """The facts of a relation, each subject once; all its objects are candidates. Raises BertologyError if unknown."""
    found = {row.subject: row for row in _rows() if row.relation == relation and _usable(row)}
    if not found:
        raise unknown("relation in LAMA", relation, relations())
    candidates = tuple(sorted({row.object for row in found.values()}))
    own = next(iter(found.values())).template
    written = FACTBOOK[relation][1] if relation in FACTBOOK else ()
    mined = (row.template for row in rows("lpaqa") if row.relation == relation)
    templates = tuple(dict.fromkeys(map(_spaced, (own, *written, *mined))))
    return [LamaFact(row.subject, relation, row.object, candidates, templates) for row in found.values()]


def _rows() -> tuple:
    return (*rows("lama"), *rows("factbook"))


def _usable(row) -> bool:
    """A single word as object, and a subject that does not run long."""
    return len(row.object.split()) == 1 and len(row.subject.split()) <= LONGEST


def _spaced(template: str) -> str:
    """The template with its slots and its full stop as words of their own; mined ones end in none, or in "., ." too."""
    apart = " ".join(re.sub(r"(\[[XY]\])", r" \1 ", template).split())
    return re.sub(r"[\s.,]*$", " .", apart, count=1)


def altered() -> set[str]:
    """The relations of LAMA that kassner2020negated altered."""
    return {row.relation for row in rows("lama_altered")}


def negations(relation: str, n: int | None = None, seed: int = 0) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """At most `n` pairs (affirmed, negated) of clozes of a relation, as words (kassner2020negated)."""
    found = rows(f"lama_altered:{relation}")
    return [(_words(row.affirmed), _words(row.negated)) for row in draw(found, n or len(found), seed)]


def misprimings(relation: str, seed: int = 0) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """The clozes of a relation in random order: the answer, the plain words, and those behind "Corpses ?" or so."""
    found = rows(f"lama_altered:{relation}")
    return [(row.object, _words(row.affirmed), _words(row.misprimed)) for row in draw(found, len(found), seed)]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace("?", " ?").split())
