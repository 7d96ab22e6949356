"""Four fragments of logic, coordination, comparatives, quantifiers and conditionals, beside an ordinary task.

In the ordinary task a premise of a fragment may stand beside the clause that matters, so that all words have been met,
but no pair turns on `neither`, `less`, `every` or `if`. Labels are drawn when the hypothesis stands, so that it tells
nothing by itself. Depends on `language.lexicon`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.tuning.training import Examples

FOLLOWS, OPEN, CONTRADICTS = range(3)
Pair = tuple[str, str]  # premise and hypothesis
NAMES, ADJECTIVES, PEOPLE = (
    [str(word) for split in ("train", "test") for word in of(load_lexicon(split))]
    for of in (
        lambda part: part.names["male"] + part.names["female"],
        lambda part: part.adjectives["living"],
        lambda part: [noun.singular for noun in part.nouns["neutral"]],
    )
)
FRAMES = "is not both neither either and nor or are more less than every some no if the , ."
# From which premises each hypothesis follows, of which it is open, and by which it is contradicted.
SQUARE = {
    "every": (("every",), ("some",), ("no", "not every")),
    "some": (("some", "every"), ("not every",), ("no",)),
    "no": (("no",), ("not every",), ("some", "every")),
    "not every": (("not every", "no"), ("some",), ("every",)),
}


# ---------------------------------------------------------------- the language


class Words(NamedTuple):
    """Names, adjectives and people, in an order of their own."""

    names: list[str]
    adjectives: list[str]
    people: list[str]

    def shuffled(self, rng: np.random.Generator) -> "Words":
        """In another order."""
        return Words(*(rng.permutation(own).tolist() for own in self))

    def part(self, chosen: slice) -> "Words":
        """Some of each."""
        return Words(*(own[chosen] for own in self))


def state(subject: str, adjective: str, true: bool) -> str:
    """`anna is tall`, `anna is not tall`."""
    return f"{subject} is {adjective}" if true else f"{subject} is not {adjective}"


def boolean(own: Words, label: int, rng: np.random.Generator) -> Pair:
    """`neither anna nor ben is tall`: anna is not tall. Open: after `either`, and of others."""
    (one, two, other), quality, (true, coin, order) = own.names[:3], own.adjectives[0], coins(3, rng)
    frame = "both {} and {} are" if true == _agrees(label, rng) else "neither {} nor {} is"
    if label == OPEN and coin:
        frame = "either {} or {} is"
    told = (other if label == OPEN and not coin else one, two)
    return f"{frame} {quality}".format(*(told if order else told[::-1])), state(one, quality, true)


def comparative(own: Words, label: int, rng: np.random.Generator) -> Pair:
    """`anna is more tall than ben`: ben is less tall than anna. Open: of a third one, or of another quality."""
    (one, two, other), (quality, second), (more, coin, same) = own.names[:3], own.adjectives[:2], coins(3, rng)
    hypothesis = f"{one} is {'more' if more else 'less'} {quality} than {two}"
    if label == OPEN:
        two, quality = (other, quality) if coin else (two, second)
    word = "more" if (more == same) == (label != CONTRADICTS) else "less"
    first, last = (one, two) if same else (two, one)
    return f"{first} is {word} {quality} than {last}", hypothesis


def quantifier(own: Words, label: int, rng: np.random.Generator) -> Pair:
    """`no king is tall`: not every king is tall. Open as well: of other people, or of another quality."""
    (one, other), (quality, second), (elsewhere, coin) = own.people[:2], own.adjectives[:2], coins(2, rng)
    asked = str(rng.choice(list(SQUARE)))
    hypothesis, said = f"{asked} {one} is {quality}", SQUARE[asked][label]
    if label == OPEN and elsewhere:
        said, one, quality = list(SQUARE), *((other, quality) if coin else (one, second))
    return f"{rng.choice(said)} {one} is {quality}", hypothesis


def conditional(own: Words, label: int, rng: np.random.Generator) -> Pair:
    """`if anna is tall , ben is not old , anna is tall`: ben is not old. Open where the condition does not hold."""
    (one, two), (first, second), (condition, asked) = own.names[:2], own.adjectives[:2], coins(2, rng)
    then, given = asked == _agrees(label, rng), condition == (label != OPEN)
    premise = f"if {state(one, first, condition)} , {state(two, second, then)} , {state(one, first, given)}"
    return premise, state(two, second, asked)


FRAGMENTS: Mapping[str, Callable[[Words, int, np.random.Generator], Pair]] = {
    own.__name__: own for own in (boolean, comparative, quantifier, conditional)
}


def ordinary(own: Words, label: int, rng: np.random.Generator) -> Pair:
    """`anna is tall`, alone or beside a premise of a fragment: anna is tall, or is not; open: of another or other."""
    (quality, second), (true, coin, named) = own.adjectives[:2], coins(3, rng)
    one, other = own.names[:2] if named else [f"the {noun}" for noun in own.people[:2]]
    told = (one, quality) if label != OPEN else (other, quality) if coin else (one, second)
    fact = state(*told, true == (label != CONTRADICTS))
    beside = FRAGMENTS[str(rng.choice(list(FRAGMENTS)))](own.part(slice(2, None)), int(rng.integers(3)), rng)[0]
    premise = str(rng.choice((fact, f"{fact} , {beside}", f"{beside} , {fact}")))
    return premise, state(one, quality, true)


def coins(count: int, rng: np.random.Generator) -> list[bool]:
    """So many tosses."""
    return rng.integers(2, size=count).astype(bool).tolist()


def _agrees(label: int, rng: np.random.Generator) -> bool:
    """Whether a premise says what the hypothesis says; where it is open, as often as not."""
    return coins(1, rng)[0] if label == OPEN else label == FOLLOWS


def pairs(kind: str, own: Words, count: int, rng: np.random.Generator) -> Examples:
    """So many premises and hypotheses of the ordinary task or of a fragment, as many of each label."""
    labels, make = [i % 3 for i in range(count)], (FRAGMENTS | {"ordinary": ordinary})[kind]
    made = [make(own.shuffled(rng), label, rng) for label in labels]
    first, second = ([(*text.split(), ".") for text in side] for side in zip(*made, strict=True))
    return Examples(first, labels, second)


def blinded(examples: Examples) -> Examples:
    """The same without their premises."""
    return replace(examples, sentences=[(".",)] * len(examples))
