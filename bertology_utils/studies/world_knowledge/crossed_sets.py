"""Crossed clozes from real sets: the things of forbes2019neural, the stories and roles of ettinger2019what.

Depends on `crossed` (the form), `material` (the rows) and `pair_sets`. Here "forbes" asks for properties that people
gave to kinds of things, with the study's own wordings, and "ettinger" for CPRAG-102 and ROLE-88; a function has the
arguments of its namesake in `crossed` and a `source` more.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from random import Random

from bertology_utils.data.material import EMBEDDED, draw, rows
from bertology_utils.data.pair_sets import pragmatic_clozes, role_reversal_pairs
from bertology_utils.instruments import crossed_clozes
from bertology_utils.instruments.cloze import mask_word
from bertology_utils.instruments.crossed_clozes import Crossed, Roles, cross

# Properties of one word, by how they are worded.
FUNCTION, LOOK = "is used for ", "is "
SIZES = ("is big", "is light")


def affordance_items(n: int, seed: int = 0, source: str = EMBEDDED) -> list[Crossed]:
    """What one does with a thing: "he [MASK] the apple ." against "he [MASK] the car ." (peeled, drove)."""
    if source == EMBEDDED:
        return crossed_clozes.affordance_items(n, seed)
    return draw(list(_crossings(_holding("affordance"), "he [MASK] the {x} .", "", seed)), n, seed)


def property_items(n: int, seed: int = 0, source: str = EMBEDDED) -> list[Crossed]:
    """How big each of two things is, one at a time; "forbes": of those that people call big, and light and not big."""
    if source == EMBEDDED:
        return crossed_clozes.property_items(n, seed)
    return [cross("{ax} is very [MASK] .", *pair, ("big", "small")) for pair in _sized_pairs(n, seed)]


def comparison_items(n: int, seed: int = 0, source: str = EMBEDDED) -> list[Crossed]:
    """The pairs of things of `property_items` in one sentence, larger or smaller than one another."""
    if source == EMBEDDED:
        return crossed_clozes.comparison_items(n, seed)
    return [crossed_clozes.compared(*pair) for pair in _sized_pairs(n, seed)]


def thing_questions(n: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, list[Crossed]]:
    """Uses and sizes of things and their comparison, and what can be told of things that do not exist.

    property_told and comparison_told tell the answer, sizes_told the two sizes behind a comparison.
    """
    sizes, compared = property_items(n, seed, source), comparison_items(n, seed, source)
    return {
        "affordance": affordance_items(n, seed, source),
        "property": sizes,
        "comparison": compared,
        "property_told": crossed_clozes.invented_items(sizes),
        "comparison_told": crossed_clozes.invented_items(compared),
        "sizes_told": crossed_clozes.described_items(compared),
    }


def attribute_items(n: int, seed: int = 0, source: str = EMBEDDED) -> dict[str, list[Crossed]]:
    """`functional` and `perceptual` attributes: affordances and colours, or the kinds of properties of "forbes"."""
    if source == EMBEDDED:
        return {
            "functional": crossed_clozes.affordance_items(n, seed),
            "perceptual": crossed_clozes.fact_items("colour", n, seed),
        }
    wordings = {"functional": (FUNCTION, "{ax} is used for [MASK] ."), "perceptual": (LOOK, "{ax} is [MASK] .")}
    found = {kind: _crossings(_holding(kind), template, start, seed) for kind, (start, template) in wordings.items()}
    return {kind: draw(list(items), n, seed) for kind, items in found.items()}


def _holding(kind: str) -> dict[str, set[str]]:
    """Wording of a property or affordance -> the things that have it."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows(f"forbes:{kind}"):
        if row.holds:
            found[row.text].add(row.thing)
    return found


def _crossings(holding: dict[str, set[str]], template: str, start: str, seed: int) -> Iterator[Crossed]:
    """Every two properties that are `start` and one word, over things that have one of them; each thing once a pair."""
    words = {text.removeprefix(start): things for text, things in sorted(holding.items())
             if text.startswith(start) and " " not in text.removeprefix(start)}  # fmt: skip
    random = Random(seed)
    for first, second in combinations(words, 2):
        sides = [sorted(words[a] - words[b]) for a, b in ((first, second), (second, first))]
        for side in sides:
            random.shuffle(side)
        yield from (
            cross(template, *pair, (first, second), (*pair, start + first, start + second))
            for pair in zip(*sides, strict=False)
        )


def _sized_pairs(n: int, seed: int) -> list[tuple[str, str]]:
    """Large things with small ones."""
    holding = _holding("perceptual")
    large, small = (sorted(holding[a] - holding[b]) for a, b in (SIZES, SIZES[::-1]))
    return draw(list(product(large, small)), n, seed)


def event_items(mention: bool = False, source: str = EMBEDDED) -> list[Crossed]:
    """What does one expect next? "ettinger": a story of CPRAG-102 and the one that expects the other word of its class.

    With `mention` somebody spoke of the word before, which takes no story.
    """
    if source == EMBEDDED:
        return crossed_clozes.event_items(mention)
    stories = {(story.true, story.false): story for story in pragmatic_clozes(source)}
    before = "they spoke of {} ." if mention else ""
    return [
        Crossed(*((*before.format(side.true).split(), *side.words) for side in (story, stories[swapped])), targets)
        for targets, story in stories.items()
        if (swapped := targets[::-1]) in stories and targets < swapped
    ]


def role_items(n: int | None = None, seed: int = 0, source: str = EMBEDDED) -> list[Roles]:
    """Likely roles, reversed ones and other nouns; "ettinger": those of the next item, in the frame "... which X the Y
    had [MASK] ." of ROLE-88."""
    if source == EMBEDDED:
        return crossed_clozes.role_items(n)
    pairs = role_reversal_pairs(n, seed, source)
    asked = [(mask_word(p.good, p.focus), mask_word(p.bad, p.bad_focus)) for p in pairs]
    others = [likely for likely, _ in (*asked[1:], asked[0])]
    return [
        Roles(*map(tuple, sides), _other_nouns(sides[0], other), str(pair.condition["event"]))
        for sides, other, pair in zip(asked, others, pairs, strict=True)
    ]


def _other_nouns(words: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """The sentence up to its "which", and what stands from there in the other one: both are of one frame."""
    return (*words[: _which(words)], *other[_which(other) :])


def _which(words: Sequence[str]) -> int:
    """The place of the last "which"."""
    return len(words) - 1 - list(reversed(words)).index("which")
