"""Crossed clozes: two contexts, two words, and the question which word belongs to which context.

Depends on `cloze` (scores), `facts`, `pairs` and `items` (what is true). A model that prefers one word everywhere can
never be right by it, so single facts, comparisons, inferences and the untrained twin share one chance level, 0.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, compress
from random import Random

import numpy as np

from bertology_utils.absent import Absent
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.cloze import (
    MASK,
    fill_in,
    focus_preference,
    mask_word,
    preferred,
    require_known,
    single_piece,
    word_log_probability,
)
from bertology_utils.language.facts import SIZES, Fact, facts
from bertology_utils.language.items import ITEMS
from bertology_utils.language.lexicon import article
from bertology_utils.language.listed_pairs import role_reversal_pairs
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit

ABILITIES: dict[str, str] = ITEMS["abilities"]
INVENTED = ITEMS["invented"].split()


@dataclass(frozen=True)
class Crossed:
    """Two clozes with one mask each; `targets[0]` belongs to `first`, `targets[1]` to `second`.

    `labels` name the things that the item is made of and shares with others.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    targets: tuple[str, str]
    labels: tuple[str, ...] = ()


def crossed_accuracy(specimen: Specimen, items: Sequence[Crossed]) -> np.ndarray:
    """Booleans (items,): log P(t1|first) + log P(t2|second) > log P(t2|first) + log P(t1|second); ties are wrong.

    An item with a target that is not one known piece is wrong; see `answerable_items`.
    """
    words = [context for item in items for context in (item.first, item.second)]
    places = [context.index(MASK) for context in words]
    targets = [item.targets for item in items for _ in range(2)]
    scores = word_log_probability(specimen, words, places, targets).log_probabilities.reshape(-1, 2, 2)
    return scores[:, 0, 0] + scores[:, 1, 1] > scores[:, 0, 1] + scores[:, 1, 0]


def group_accuracy(specimen: Specimen, groups: Mapping[str, Sequence[Crossed]]) -> dict[str, np.ndarray]:
    """`crossed_accuracy` on the answerable items of every group: 0/1 (items,), or a value for each thing (things,).

    All groups are asked at once, so that a context that several share is read once.
    """
    kept = {name: answerable_items(specimen, items) for name, items in groups.items()}
    correct = crossed_accuracy(specimen, [item for items in kept.values() for item in items])
    parts = np.split(correct, np.cumsum([len(items) for items in kept.values()])[:-1])
    return {name: by_thing(right, items) for (name, items), right in zip(kept.items(), parts, strict=True)}


def examples(groups: Mapping[str, Sequence[Crossed]]) -> dict[str, str]:
    """The first sentence of every group."""
    return {name: " ".join(items[0].first) for name, items in groups.items()}


def by_thing(correct: np.ndarray, items: Sequence[Crossed]) -> np.ndarray:
    """Outcomes (items,) as samples over the items' things (`samples.by_unit`), or over items that name none."""
    labels = [item.labels for item in items]
    return by_unit(correct, labels) if all(labels) else correct.astype(float)


def answerable_items(specimen: Specimen, items: Sequence[Crossed]) -> list[Crossed]:
    """The items whose two targets are different single pieces of the model's vocabulary.

    Raises BertologyError where none is.
    """
    kept = [item for item in items if _known(specimen, item)]
    require_known(specimen, kept, "item")
    return kept


def _known(specimen: Specimen, item: Crossed) -> bool:
    first, second = (single_piece(specimen, word) for word in item.targets)
    return first is not None and second is not None and first != second


def cross(template: str, first: str, second: str, targets: tuple[str, str], labels: tuple[str, ...] = ()) -> Crossed:
    """One template over two things: {x} the thing, {ax} with its article; labelled with the things."""
    return Crossed(_words(template, first), _words(template, second), targets, labels or (first, second))


def _words(template: str, subject: str) -> tuple[str, ...]:
    return tuple(template.format(x=subject, ax=f"{article(subject)} {subject}").split())


def _draw(items: list[Crossed], n: int | None, seed: int) -> list[Crossed]:
    Random(seed).shuffle(items)
    return items[:n]


def told_items(items: Sequence[Crossed]) -> list[Crossed]:
    """The same clozes behind their own answer: "snow is white . snow is [MASK] .".

    A positive control: nothing need be known or inferred, only read, so a model that fails here cannot pass the test.
    """
    return [Crossed(_told(i.first, i.targets[0]), _told(i.second, i.targets[1]), i.targets, i.labels) for i in items]


def _told(context: tuple[str, ...], answer: str) -> tuple[str, ...]:
    """The sentence with the mask stands twice, at first with the answer; what stands before it stays."""
    last = context.index(MASK)
    start = max((place + 1 for place in range(last) if context[place] == "."), default=0)
    question = context[start:]
    return (*context[:start], *(answer if word == MASK else word for word in question), *question)


def invented_items(items: Sequence[Crossed]) -> list[Crossed]:
    """`told_items` of things that do not exist: "a dax is very big . a dax is very [MASK] .".

    What is told is all that can be known here, so reading a property is apart from having met the thing that has it.
    The first two labels of an item are its things.
    """
    return [_of_invented(item, place) for place, item in enumerate(told_items(items))]


def _of_invented(item: Crossed, place: int) -> Crossed:
    """The item with two invented nouns for its things, which are its first two labels."""
    nouns = {thing: INVENTED[(place + i) % len(INVENTED)] for i, thing in enumerate(item.labels[:2])}
    sides = (_renamed(context, nouns) for context in (item.first, item.second))
    return Crossed(*sides, item.targets, item.labels)


def _renamed(words: tuple[str, ...], nouns: Mapping[str, str]) -> tuple[str, ...]:
    """The sentence about other things, whose article is "a"; a thing may be several words."""
    text = f" {' '.join(words)} "
    for thing, noun in nouns.items():
        text = text.replace(f" an {thing} ", f" a {noun} ").replace(f" {thing} ", f" {noun} ")
    return tuple(text.split())


# --- single facts and comparisons -----------------------------------------------------------------------------------


def affordance_items(n: int | None = None, seed: int = 0) -> list[Crossed]:
    """What one can do with a thing: "you can [MASK] the apple ." against "you can [MASK] the car ."."""
    rows = combinations(ITEMS["affordances"].items(), 2)
    items = [cross("you can [MASK] the {x} .", a, b, (v, w)) for (a, v), (b, w) in rows]
    return _draw(items, n, seed)


def property_items(n: int | None = None, seed: int = 0) -> list[Crossed]:
    """How big each of two things is, asked one at a time: "an elephant is very [MASK] ." (big), a mouse (small)."""
    pairs = [(large, small) for small, large in _sized_pairs()]
    return _draw([cross("{ax} is very [MASK] .", *pair, ("big", "small")) for pair in pairs], n, seed)


def comparison_items(n: int | None = None, seed: int = 0) -> list[Crossed]:
    """The same two things in one sentence: "an elephant is [MASK] than a mouse ." (larger) and the reverse."""
    return _draw([compared(large, small) for small, large in _sized_pairs()], n, seed)


def described_items(items: Sequence[Crossed]) -> list[Crossed]:
    """Comparisons of things that do not exist behind the size of each: "a dax is very big . a wug is very small .".

    No pair can have been met, and no answer is said: the two told properties must be put together.
    """
    sizes = [cross("{ax} is very [MASK] .", *item.labels[:2], ("big", "small"), item.labels) for item in items]
    both = [tuple(" ".join((*s.first, *s.second)).replace(MASK, "{}").format(*s.targets).split()) for s in sizes]
    told = [
        Crossed((*before, *item.first), (*before, *item.second), item.targets, item.labels)
        for item, before in zip(items, both, strict=True)
    ]
    return [_of_invented(item, place) for place, item in enumerate(told)]


def compared(large: str, small: str) -> Crossed:
    """Both orders of two things around "is [MASK] than"."""
    contexts = (_words("{ax} is [MASK] than", a) + _words("{ax} .", b) for a, b in ((large, small), (small, large)))
    return Crossed(*contexts, ("larger", "smaller"), (large, small))


def _sized_pairs() -> list[tuple[str, str]]:
    return [(scale[i], scale[j]) for scale in SIZES for i in range(len(scale)) for j in range(i + 2, len(scale))]


def fact_items(relation: str, n: int | None = None, seed: int = 0) -> list[Crossed]:
    """Pairs of facts of one relation with different objects, under one of its templates."""
    items = [
        Crossed(a.prompts()[0].words, b.prompts()[0].words, (a.object, b.object), (a.subject, b.subject))
        for a, b in combinations(facts(relation), 2)
        if a.object != b.object
    ]
    return _draw(items, n, seed)


# --- inference ------------------------------------------------------------------------------------------------------


def premise_items(n: int | None = None, seed: int = 0) -> dict[str, list[Crossed]]:
    """Two premises and what follows, item by item: `member` (an apple is a kind of fruit), `general` (a fruit can be
    eaten), `conclusion` (an apple can be eaten), each against a thing of another class.
    """
    members = [fact for fact in facts("class") if fact.object in ABILITIES]
    pairs = [(a, b) for a, b in combinations(members, 2) if a.object != b.object]
    Random(seed).shuffle(pairs)
    kind = "{ax} is a kind of [MASK] ."
    return {
        "member": [cross(kind, a.subject, b.subject, (a.object, b.object)) for a, b in pairs[:n]],
        "general": [_able(a.object, b.object, a, b) for a, b in pairs[:n]],
        "conclusion": [_able(a.subject, b.subject, a, b) for a, b in pairs[:n]],
    }


def _able(first: str, second: str, a: Fact, b: Fact) -> Crossed:
    things = (a.subject, b.subject)
    return cross("{ax} can be [MASK] .", first, second, (ABILITIES[a.object], ABILITIES[b.object]), things)


def premise_samples(specimen: Specimen, items: Mapping[str, Sequence[Crossed]]) -> dict[str, np.ndarray]:
    """`known_premises` on `premise_items`, and `conclusion_told`, the conclusions behind their answer (`told_items`).

    An item with an unknown word in one of its three questions is left out.
    """
    fit = [all(_known(specimen, item) for item in three) for three in zip(*items.values(), strict=True)]
    require_known(specimen, [*filter(None, fit)], "inference")
    kept = [[item for item, good in zip(group, fit, strict=True) if good] for group in items.values()]
    told = by_thing(crossed_accuracy(specimen, told_items(kept[-1])), kept[-1])
    correct = (crossed_accuracy(specimen, group) for group in kept)
    return known_premises(*correct, items=kept[-1]) | {"conclusion_told": told}


def known_premises(
    member: np.ndarray, general: np.ndarray, conclusion: np.ndarray, items: Sequence[Crossed]
) -> dict[str, np.ndarray | Absent]:
    """Samples by thing for "facts are not combined": conclusions, and those with and without two known premises.

    All three are booleans (items,). `conclusion_known` has both premises, `conclusion_unknown` lacks at least one: the
    mean of all would nearly be that of the known ones where most are known. Either is absent where no item is left.
    """
    known = member & general
    return {
        "conclusion": by_thing(conclusion, items),
        "conclusion_known": _conclusions(conclusion, items, known),
        "conclusion_unknown": _conclusions(conclusion, items, ~known),
        "premises": by_thing(np.concatenate([member, general]), [*items, *items]),
    }


def _conclusions(conclusion: np.ndarray, items: Sequence[Crossed], chosen: np.ndarray) -> np.ndarray | Absent:
    if not chosen.any():
        return Absent("No conclusion is left to compare: the premises of all are known, or those of none.")
    return by_thing(conclusion[chosen], list(compress(items, chosen)))


def chain_items(n: int, hops: int, levels: int = 3, seed: int = 0) -> list[Crossed]:
    """Where is the coin? Two chains of places, and a question that needs `hops` of the premises.

    "the coin is in the box . the key is in the bag . the box is in the kitchen . the bag is in the garden . so the coin
    is somewhere in the [MASK] .": the context always holds `levels` premises a chain in random order and the two
    answers lie on one level, so neither length, order nor overlap gives the answer away. The second context asks for
    the other thing. With one seed the chains are the same for every number of hops; their things label the items.
    """
    known = [level.split() for level in ITEMS["levels"]]
    if not 1 <= hops <= levels <= len(known):
        raise BertologyError(f"A chain has 1 to {len(known)} levels and a question at most that many hops.")
    random = Random(seed)
    items = []
    for _ in range(n):
        places = (random.sample(level, 2) for level in known[:levels])
        chains = list(zip(random.sample(ITEMS["things"].split(), 2), *places, strict=True))
        premises = [f"the {chain[step]} is in the {chain[step + 1]} ." for step in range(levels) for chain in chains]
        context = " ".join(random.sample(premises, len(premises))).split()
        questions = [(*context, *f"so the {chain[0]} is in the {MASK} .".split()) for chain in chains]
        items.append(Crossed(*questions, (chains[0][hops], chains[1][hops]), (chains[0][0], chains[1][0])))
    return items


def event_items(mention: bool = False) -> list[Crossed]:
    """What does one expect next? Every two situations of one sentence, which label their item.

    With `mention`, the word was said before: the control that needs no event.
    """
    items = []
    for last, situations in ITEMS["events"].items():
        for pair in combinations(situations.items(), 2):
            before = (f"{context} and spoke of {word}" if mention else context for context, word in pair)
            sides = (tuple(f"{text} . {last}".split()) for text in before)
            labels = tuple(f"{context} . {last}" for context, _ in pair)
            items.append(Crossed(*sides, (pair[0][1], pair[1][1]), labels))
    return items


# --- roles ----------------------------------------------------------------------------------------------------------


def role_sensitivity(specimen: Specimen, pairs: Sequence[MinimalPair]) -> np.ndarray:
    """Whether the masked verb is likelier with the likely roles, ettinger2019what; samples over events, (events,).

    `pairs` as `role_reversal_pairs` makes them. An event stands in several frames (`samples.by_unit`); events whose
    verb is not one piece are left out.
    """
    scores = focus_preference(specimen, pairs)
    events = [str(pair.condition["event"]) for pair in compress(pairs, scores.covered)]
    return by_unit(preferred(scores), events)


@dataclass(frozen=True)
class Roles:
    """Three clozes for one verb: the likely roles, the same nouns the other way round, and another event's nouns."""

    likely: tuple[str, ...]
    reversed: tuple[str, ...]
    replaced: tuple[str, ...]
    event: str


def role_items(n: int | None = None) -> list[Roles]:
    """Of `role_reversal_pairs` of living beings; the other nouns are those of the next pair in the same frame."""
    pairs = role_reversal_pairs(n, listed="living_roles")
    asked = [tuple(tuple(mask_word(side, pair.focus)) for side in (pair.good, pair.bad)) for pair in pairs]
    others = _next_of_same_frame([pair.condition["frame"] for pair in pairs])
    events = [str(pair.condition["event"]) for pair in pairs]
    return [Roles(*sides, asked[o][0], event) for sides, o, event in zip(asked, others, events, strict=True)]


def role_changes(specimen: Specimen, items: Sequence[Roles], k: int = 5) -> dict[str, np.ndarray]:
    """How many of the k best fillers for the verb change, share (events,), after ettinger2019what.

    `reversal`: doer and sufferer change places; `replacement`: another event's nouns stand in the same frame (the
    control: a model that reads the nouns at all must answer it); `article`: each "the" is "that", which says what any
    edit changes. An event may stand in several frames, so the samples are over events (`samples.by_unit`).
    """
    words = [side for item in items for side in (item.likely, item.reversed, item.replaced, _pointing(item.likely))]
    best = fill_in(specimen, words, k=k).ids.reshape(len(items), 4, k)
    names = ("reversal", "replacement", "article")
    changed = {name: _changed(best[:, 0], best[:, place]) for place, name in enumerate(names, 1)}
    return {name: by_unit(values, [item.event for item in items]) for name, values in changed.items()}


def _pointing(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("that" if word == "the" else word for word in words)


def _next_of_same_frame(frames: Sequence[str]) -> list[int]:
    """For each item the index of the next one with the same frame, going round."""
    count = len(frames)
    return [
        next(j % count for j in range(i + 1, i + count + 1) if frames[j % count] == frames[i]) for i in range(count)
    ]


def _changed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Share of each row's entries that the other row lacks: (items, k), (items, k) -> (items,)."""
    return 1 - (first[:, :, None] == second[:, None, :]).any(-1).mean(-1)
