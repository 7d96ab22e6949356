"""Minimal pairs of short frames: forms of a verb, the case of a pronoun, a plural, an article, who or which.

A frame is a line of words. `N` is a person or an animal, `P` a person, `D` a thing, `W` any of these, as often with a
vowel in front as with none, `V` an intransitive verb, `T` a transitive one. What follows a dot is the form asked for,
and `good|bad` is the word that the pair is about. Where one word is right in one frame, the other one is in a second.
"""

from bertology_utils.language.grammar import Grammar
from bertology_utils.language.lexicon import OBJECT, PERSON, article
from bertology_utils.language.pairs import MinimalPair

FRAMES = {
    "verb after a modal": ["the N.singular M V.base|V.past ."],
    "verb after have": ["the N.singular had V.participle|V.base ."],
    "verb after be": ["the N.plural were V.gerund|V.base ."],
    "verb after to": ["the N.singular wanted to V.base|V.gerund ."],
    "verb in a question": ["did the N.singular V.base|V.past ?"],
    "case": ["the N.plural T.past O|S .", "S|O T.past the N.singular ."],
    "noun after a numeral": ["there were Q N.plural|N.singular near the house ."],
    "article": ["there was a|an W.singular near the house ."],
    "who and which": ["the P.singular who|which was here is old .", "the D.singular which|who was here is old ."],
}
CASES = {"S": ("he", "she", "we", "they"), "O": ("him", "her", "us", "them")}
KINDS = {"N": (*PERSON, "animal"), "P": PERSON, "D": OBJECT}
VERBS = {"V": ("intransitive",), "T": ("experiencer",)}
FUNCTION = {"M": ("will", "must", "can"), "Q": ("two", "three", "four")}


def short_pairs(n: int, seed: int = 0, split: str = "train") -> dict[str, list[MinimalPair]]:
    """`n` minimal pairs of each kind, its frames in turn; the two sentences differ in one word, the `focus`."""
    return {name: _pairs_of(name, n, Grammar(split, f"{name}-{seed}")) for name in FRAMES}


def _pairs_of(name: str, n: int, grammar: Grammar) -> list[MinimalPair]:
    pairs: list[MinimalPair] = []
    while len(pairs) < n:
        pair = _filled(name, FRAMES[name][len(pairs) % len(FRAMES[name])], grammar)
        if pair.good != pair.bad:  # `put` is a base form and a past
            pairs.append(pair)
    return pairs


def _filled(name: str, frame: str, grammar: Grammar) -> MinimalPair:
    words = frame.split()
    focus = next(place for place, word in enumerate(words) if "|" in word)
    drawn = _drawn(grammar)
    sides = []
    for side in (0, 1):
        texts = [word.split("|")[min(side, word.count("|"))] for word in words]
        sides.append([_form(text, drawn) for text in texts])
    if name == "article" and article(sides[0][focus + 1]) == "an":
        sides.reverse()
    return MinimalPair(tuple(sides[0]), tuple(sides[1]), focus, name)


def _drawn(grammar: Grammar) -> dict[str, object]:
    """One word for each letter of the frames."""
    lexicon, row = grammar.lexicon, grammar.pick(range(len(CASES["S"])))
    nouns = {slot: [noun for kind in kinds for noun in lexicon.nouns[kind]] for slot, kinds in KINDS.items()}
    nouns = {slot: [noun for noun in some if noun.plural not in (None, noun.singular)] for slot, some in nouns.items()}
    verbs = {slot: [verb for frame in frames for verb in lexicon.verbs[frame]] for slot, frames in VERBS.items()}
    form = grammar.pick(("a", "an"))
    nouns["W"] = [noun for noun in nouns["N"] + nouns["D"] if article(noun.singular) == form]
    words = {slot: grammar.pick(options) for slot, options in (nouns | verbs | FUNCTION).items()}
    return words | {slot: forms[row] for slot, forms in CASES.items()}


def _form(text: str, drawn: dict[str, object]) -> str:
    """`V.past` is the past of the verb drawn, `S` the pronoun; any other text is itself."""
    slot, _, form = text.partition(".")
    return text if slot not in drawn else getattr(drawn[slot], form) if form else str(drawn[slot])
