"""Pairs and clozes of written lists, whose words no grammar draws: who does what to whom, and what is a what.

Depends on `items` (the lists), `lexicon` (articles) and `pairs` (their form).
"""

from itertools import product
from random import Random

from bertology_utils.language.items import ITEMS
from bertology_utils.language.lexicon import article
from bertology_utils.language.pairs import MASK, Cloze, MinimalPair


def role_reversal_pairs(n: int | None = None, seed: int = 0, listed: str = "roles") -> list[MinimalPair]:
    """Likely and reversed roles: "he knew which mouse the cat had chased" / "... which cat the mouse had chased".

    After ettinger2019what; at most four frames for each of the listed events, shuffled; `focus` is the verb.
    `listed` names their list: "roles", or "living_roles", whose two nouns are living beings. The words are not split.
    `condition`: `frame`, `verb`, and `event`, which its frames share.
    """
    frames = {
        "active": "the A V the P .",
        "passive": "the P was V by the A .",
        "relative": "the P that the A V is here .",
        "question": "he knew which P the A had V .",
    }
    pairs = []
    for (agent, verb, patient), (name, frame) in product(_table(listed), frames.items()):
        good = tuple({"A": agent, "V": verb, "P": patient}.get(word, word) for word in frame.split())
        bad = tuple({agent: patient, patient: agent}.get(word, word) for word in good)
        conditions = {"frame": name, "verb": verb, "event": f"{agent} {verb} {patient}"}
        pairs.append(MinimalPair(good, bad, good.index(verb), "role-reversal", conditions))
    Random(seed).shuffle(pairs)
    return pairs[:n]


def negation_clozes(n: int | None = None, seed: int = 0) -> list[Cloze]:
    """`a robin is a [MASK] .` and `a robin is not a [MASK] .`, one after the other (ettinger2019what).

    `n` counts items (two clozes each). The true word of the negated cloze is the false one of the affirmative.
    `condition`: `negated` (0 or 1) and `item`, which the two share.
    """
    rows = classified_things()
    Random(seed).shuffle(rows)
    clozes = []
    for item, (thing, category, wrong) in enumerate(rows[:n]):
        for negated in (0, 1):
            words = (article(thing), thing, "is", *["not"] * negated, article(category), MASK, ".")
            true, false = (wrong, category) if negated else (category, wrong)
            clozes.append(Cloze(words, len(words) - 2, true, false, "negation", {"negated": negated, "item": item}))
    return clozes


def classified_things() -> list[tuple[str, str, str]]:
    """A thing, its class, and the class of the thing half of the list away, which takes the same article."""
    rows = [(thing, kind) for kind, things in ITEMS["classes"].items() for thing in things.split()]
    found = []
    for form in ("a", "an"):
        alike = [row for row in rows if article(row[1]) == form]
        far = alike[len(alike) // 2 :] + alike[: len(alike) // 2]
        found += [(*row, wrong) for row, (_, wrong) in zip(alike, far, strict=True)]
    return found


def _table(name: str) -> list[list[str]]:
    """The rows of a written list, as words."""
    return [row.split() for row in ITEMS[name]]
