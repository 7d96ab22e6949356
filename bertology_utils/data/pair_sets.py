"""Minimal pairs and clozes of published suites in the form of the generated ones, so that either can stand for both.

Depends on `pairs` (the generated items) and `material` (the suites, and what fits a model). A function here has
the signature of its namesake in `pairs` and a `source` more. Suites are tests: only Marvin and Linzen's, written from
templates, is also cut into training and test pairs, which share no noun.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from bertology_utils.data.material import EMBEDDED, draw, fits, is_held_out, rows
from bertology_utils.data.readers import split_words
from bertology_utils.data.rows import Continuation
from bertology_utils.errors import BertologyError, unknown
from bertology_utils.language import listed_pairs, pairs
from bertology_utils.language.pairs import MASK, Cloze, MinimalPair

AGREEMENT_SOURCES = (EMBEDDED, "gulordava", "marvin_linzen")
NPI_SOURCES = (EMBEDDED, "warstadt_npi")
COPULAS = ("is", "are")
NPIS = ("ever", "any", "yet")
EVERY = 1_000_000  # more pairs than a suite has, or sentences than a treebank
LEAST_ALIKE = 20  # pairs of an environment that stand for it
# Constructions of marvin2018targeted with one noun between subject and verb, by what that noun stands in.
INTERRUPTED = {
    "pp": ("prep_anim", "prep_inanim"),
    "relative": ("subj_rel",),
    "object_relative": ("obj_rel_across_anim", "obj_rel_across_inanim"),
}


def agreement_pairs(
    n: int, attractors: int = 0, nonsense: bool = False, seed: int = 0, split: str = "train", agreeing: int = 0,
    source: str = EMBEDDED, structure: str = "mixed",
) -> list[MinimalPair]:  # fmt: skip
    """At most `n` pairs of subject and verb; arguments but `source` as in `pairs.agreement_pairs`.

    gulordava: natural sentences with 0 to 3 attractors (a quarter of them for training), or nonsense with any number of
    them; the sentences that the nonsense was made from are left out, and so are the copulas, as in
    goldberg2019assessing. marvin_linzen: `attractors` and `agreeing` are 0 or 1, and at most one of them is 1; a
    `structure` is one of `INTERRUPTED`, or "fronted", that of a sentential complement, whose subject follows that of
    its main clause. Raises BertologyError where a source has no such pairs.
    """
    if source == EMBEDDED:
        return pairs.agreement_pairs(
            n, attractors, structure=structure, nonsense=nonsense, seed=seed, split=split, agreeing=agreeing
        )
    if source not in AGREEMENT_SOURCES:
        raise unknown("source of agreement pairs", source, AGREEMENT_SOURCES)
    if source == "marvin_linzen":
        found = list(_templates(attractors, agreeing, split, structure))
    else:
        found = [pair for pair in _corpus(attractors, nonsense, agreeing, split) if fits(pair.good)]
    if not found:
        raise BertologyError(
            f"The set '{source}' has no pairs with {attractors} attractors and {agreeing} agreeing nouns, {split}."
        )
    return draw(found, n, seed)


def natural_originals(source: str) -> list[MinimalPair]:
    """The natural sentences that gulordava's nonsense was made from, one of each construction, without copulas."""
    natural = (pair for pair in rows(source) if not pair.condition["sentence"])
    return [pair for pair in natural if pair.good[pair.focus] not in COPULAS and fits(pair.good)]


def _corpus(attractors: int, nonsense: bool, agreeing: int, split: str) -> Iterator[MinimalPair]:
    if agreeing:
        return
    if nonsense:
        made = (pair for pair in rows("gulordava") if pair.condition["sentence"])
        yield from (pair for pair in made if pair.good[pair.focus] not in COPULAS)
        return
    for pair in rows("gulordava:linzen"):
        if pair.condition["attractors"] == attractors and is_held_out(" ".join(pair.good)) == (split == "train"):
            yield replace(pair, condition={**pair.condition, "number": pairs.NUMBERS[not is_singular(pair)]})


def _templates(attractors: int, agreeing: int, split: str, structure: str = "mixed") -> Iterator[MinimalPair]:
    """Pairs with no noun between subject and verb, or one, of nouns that belong to the split."""
    between = attractors + agreeing
    shapes = {"simple": ("simple_agrmt",)} if between == 0 else INTERRUPTED if between == 1 else {}
    shapes = {"fronted": ("sent_comp",)} if structure == "fronted" else shapes
    shapes = {structure: shapes[structure]} if structure in shapes else shapes
    for structure, names in shapes.items():
        for pair in chain.from_iterable(rows(f"marvin_linzen:{name}") for name in names):
            described = _described(pair, structure)
            nouns = [pair.good[int(described.condition["subject"])]]
            nouns += [pair.good[_attractor(pair, structure)]] if between else []
            held_out = {is_held_out(noun.removesuffix("s"), parts=2) for noun in nouns}
            if held_out == {split == "test"} and described.condition["attractors"] == attractors:
                yield described


def _described(pair: MinimalPair, structure: str) -> MinimalPair:
    """The pair with the conditions that the generated ones carry; the templates' plural nouns all end in -s."""
    singular = is_singular(pair)
    noun = pair.good[_attractor(pair, structure)] if structure != "simple" else ""
    subject = pair.focus - 1 if structure == "fronted" else 1
    attractors = int(bool(noun) and noun.endswith("s") == singular)
    condition = {"attractors": attractors, "agreeing": int(bool(noun)) - attractors, "structure": structure,
                 "number": pairs.NUMBERS[not singular], "subject": subject,
                 "distance": pair.focus - subject}  # fmt: skip
    return replace(pair, condition=condition)


def is_singular(pair: MinimalPair) -> bool:
    """Whether the right form of the verb is the singular one: it ends in -s ("is", "has"), unless the wrong one only
    adds to it ("pass", "passes")."""
    right, wrong = pair.good[pair.focus], pair.bad[pair.focus]
    return right.endswith("s") and not wrong.startswith(right)


def _attractor(pair: MinimalPair, structure: str) -> int:
    """Index of the noun before the verb, or before that of an object relative clause; or of a main clause's subject."""
    if structure == "fronted":
        return 1
    return pair.focus - (2 if structure == "object_relative" else 1)


def reflexive_pairs(
    n: int, attractors: int = 0, seed: int = 0, split: str = "test", source: str = EMBEDDED
) -> list[MinimalPair]:
    """Reflexives and their antecedents; marvin_linzen has them behind an object relative clause, whose noun may be an
    attractor or not."""
    if source == EMBEDDED:
        return pairs.reflexive_pairs(n, attractors, seed=seed, split=split)
    return draw(rows(f"{source}:reflexives_across"), n, seed)


def npi_pairs(
    n: int, condition: str = "licensor", seed: int = 0, split: str = "test", source: str = EMBEDDED
) -> list[MinimalPair]:
    """At most `n` pairs that differ in the licensor, or in its scope over the item; as in `pairs.npi_pairs`.

    warstadt_npi: pairs in which the item is the same word before the same word, because its probability is compared.
    The study's own pairs differ more freely, and are judged as wholes.
    """
    if source == EMBEDDED:
        return pairs.npi_pairs(n, condition, seed=seed, split=split)
    if source not in NPI_SOURCES:
        raise unknown("source of polarity items", source, NPI_SOURCES)
    toggled = (pair for pair in rows(source) if "-" in pair.condition[condition])
    focused = (_on_the_item(pair) for pair in toggled if fits(pair.good) and fits(pair.bad))
    return draw([pair for pair in focused if pair], n, seed)


def matched_npi_pairs(
    n: int, conditions: Sequence[str] = ("licensor", "scope"), seed: int = 0, split: str = "test",
    source: str = EMBEDDED, least: int = LEAST_ALIKE,
) -> dict[str, list[MinimalPair]]:  # fmt: skip
    """`npi_pairs` of several conditions that may be compared: at most `n` of each, as many in one as in the other.

    Of a real set only environments are kept that have, with the same item, at least `least` pairs in every condition;
    each gives the same number of pairs to each condition. Raises BertologyError where there is none.
    """
    if source == EMBEDDED:
        return {name: npi_pairs(n, name, seed, split) for name in conditions}
    found = {name: _by_environment(npi_pairs(EVERY, name, seed, split, source)) for name in conditions}
    common = set.intersection(*({key for key, kept in sets.items() if len(kept) >= least} for sets in found.values()))
    if not common:
        raise BertologyError(f"No environment of '{source}' has {least} pairs in each of {', '.join(conditions)}.")
    share = min([n // len(common), *(len(sets[key]) for sets in found.values() for key in common)])
    return {name: [pair for key in sorted(common) for pair in sets[key][:share]] for name, sets in found.items()}


def _by_environment(found: Sequence[MinimalPair]) -> dict[tuple[str, str], list[MinimalPair]]:
    """The pairs of each environment and item, in their order."""
    sets: dict[tuple[str, str], list[MinimalPair]] = {}
    for pair in found:
        sets.setdefault((str(pair.condition["condition"]), str(pair.condition["npi"])), []).append(pair)
    return sets


@dataclass(frozen=True)
class ShiftedPair(MinimalPair):
    """A pair whose sentences have the decisive word at different places: `focus` in the good one, `bad_focus`."""

    bad_focus: int = 0


def _on_the_item(pair: MinimalPair) -> ShiftedPair | None:
    """The pair with the polarity item as its focus, or None where the item or the word after it is not the same."""
    places = [[i for i, word in enumerate(side) if word.lower() in NPIS] for side in (pair.good, pair.bad)]
    if [len(found) for found in places] != [1, 1]:
        return None
    good, bad = places[0][0], places[1][0]
    around = [tuple(word.lower() for word in side[i : i + 2]) for side, i in ((pair.good, good), (pair.bad, bad))]
    if around[0] != around[1]:
        return None
    item = around[0][0]
    return ShiftedPair(pair.good, pair.bad, good, "npi", {"condition": pair.phenomenon, "npi": item}, bad)


def role_reversal_pairs(n: int | None = None, seed: int = 0, source: str = EMBEDDED) -> list[MinimalPair]:
    """A verb behind likely and reversed roles; for "ettinger" the two contexts of each item of her ROLE-88.

    Its likely one is the member "-a": in nine items the verb that the roles decide is nobody's first choice in either,
    and in all of them it was given more often behind "-a".
    """
    if source == EMBEDDED:
        return listed_pairs.role_reversal_pairs(n, seed)
    items: dict[str, list[Continuation]] = {}
    for row in rows(f"{source}:role"):
        items.setdefault(row.item.split("-")[0], []).append(row)
    found = []
    for item, sides in items.items():
        (target,) = sides[0].alternatives
        likely_first = sorted(sides, key=lambda row: row.item)
        good, bad = ((*split_words(row.context), target, ".") for row in likely_first)
        conditions = {"verb": target, "event": item}
        found.append(ShiftedPair(good, bad, len(good) - 2, "role-reversal", conditions, len(bad) - 2))
    return draw(found, n or len(found), seed)


def role_clozes(source: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Each context of ROLE-88 with its verb masked, and the verbs that people filled in."""
    return [(_masked(row), row.expected) for row in rows(f"{source}:role")]


def negation_clozes(n: int | None = None, seed: int = 0, source: str = EMBEDDED) -> list[Cloze]:
    """Statements of class with and without `not`, one after the other; for "ettinger" those of her NEG-136-SIMP."""
    if source == EMBEDDED:
        return listed_pairs.negation_clozes(n, seed)
    statements = enumerate(rows(f"{source}:neg-simp"))
    return [_cloze(row, "negation", {"negated": i % 2, "item": i // 2}) for i, row in statements]


def pragmatic_clozes(source: str) -> list[Cloze]:
    """The stories of CPRAG-102: the expected word against another of its class."""
    return [_cloze(row, "pragmatic", {"between": row.alternatives[1]}) for row in rows(f"{source}:cprag")]


def _cloze(row: Continuation, phenomenon: str, condition: dict[str, int | str]) -> Cloze:
    words = _masked(row)
    return Cloze(words, len(words) - 2, row.expected[0], row.alternatives[0], phenomenon, condition)


def _masked(row: Continuation) -> tuple[str, ...]:
    return (*split_words(row.context), MASK, ".")
