"""Minimal pairs of agreement in eight languages, the four kinds of bacon2019does, on the words of `ten_languages`.

Depends on `ten_languages` and `pairs`. Turkish and Chinese have none of the four to be wrong in, so no pairs. In each
kind every form is as often right as wrong, so a model that always likes one form best scores one half.
"""

from random import Random

from bertology_utils.errors import BertologyError, unknown
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.language.ten_languages import (
    ADJECTIVES,
    ARTICLES,
    BEINGS,
    THINGS,
    VERBS,
    Meaning,
    adjective_form,
    capital,
    concepts,
    gender,
    predicate_form,
    progressive,
    sentence,
    verb_form,
)

MOST_MISSES = 5000
KINDS = {
    "subject_verb": ("en", "de", "fr", "es", "ru", "fi", "ar", "hi"),
    "noun_determiner": ("de", "fr", "es"),
    "noun_adjective": ("fr", "es", "ru", "ar", "hi"),
    "subject_predicate": ("fr", "es", "ru", "ar", "hi"),
}
"""The languages in which each kind of agreement can be wrong; of number in `subject_verb`, save Arabic and Hindi."""


def agreement_pairs(kind: str, code: str, n: int, seed: int = 0) -> list[MinimalPair]:
    """`n` different pairs of one kind in one language; good and bad differ in the word at `focus`.

    Raises BertologyError for an unknown kind, a language without it, or more pairs than the words make.
    """
    if kind not in KINDS:
        raise unknown("kind of agreement", kind, KINDS)
    if code not in KINDS[kind]:
        raise BertologyError(f"The language '{code}' has no agreement of {kind.replace('_', ' and ')} to be wrong in.")
    rng = Random(f"{kind}-{code}-{seed}")
    turns = _turns(kind, code)
    found: dict[tuple[str, ...], MinimalPair] = {}
    misses = 0
    while len(found) < n:
        right, wrong = turns[len(found) % len(turns)]
        pair = _pair(kind, code, _meaning(rng, kind, code, right), right, wrong)
        if pair.good == pair.bad or pair.good in found:  # some adjectives have one form for both genders
            misses += 1
        else:
            found[pair.good] = pair
        if misses > MOST_MISSES:
            raise BertologyError(f"The words of '{code}' do not make {n} pairs of {kind.replace('_', ' and ')}.")
    return list(found.values())


def _turns(kind: str, code: str) -> list[tuple[str, str]]:
    """(right, wrong) values of the feature, in turn."""
    genders = ("m", "f", "n") if code == "de" else ("m", "f")
    values = ("singular", "plural") if _by_number(kind, code) else genders
    return [(right, wrong) for right in values for wrong in values if right != wrong]


def _by_number(kind: str, code: str) -> bool:
    return kind == "subject_verb" and code not in ("ar", "hi")


def _meaning(rng: Random, kind: str, code: str, right: str) -> Meaning:
    """A meaning whose subject has the gender wanted, with the words that the kind needs."""
    place = rng.choice(concepts("places", ["place"]))
    groups = ("person",) if kind == "subject_verb" else (*BEINGS, *THINGS)
    group = rng.choice(groups)
    nouns = concepts("nouns", [group])
    if not _by_number(kind, code):
        nouns = [noun for noun in nouns if gender(code, noun) == right]
        if not nouns:
            return _meaning(rng, kind, code, right)
    noun = rng.choice(nouns)
    first, second = rng.sample(concepts("adjectives", ADJECTIVES[group]), 2)
    if kind == "subject_verb":
        return Meaning(noun, verb=rng.choice(concepts("verbs", VERBS["person"])), place=place)
    return Meaning(noun, first if kind == "noun_adjective" else "", predicate=second)


def _pair(kind: str, code: str, meaning: Meaning, right: str, wrong: str) -> MinimalPair:
    """The sentence, and the same with the agreeing word in the form of the wrong gender or number."""
    plural = right == "plural"
    tokens = sentence(meaning, code, plural)
    words = tuple(token.form for token in tokens)
    focus, form = _wrong_form(kind, code, meaning, wrong, [token.role for token in tokens])
    if focus == 0:
        form = capital(code, form)
    bad = (*words[:focus], form, *words[focus + 1 :])
    return MinimalPair(words, bad, focus, kind, {"language": code, "right": right, "noun": meaning.subject})


def _wrong_form(kind: str, code: str, meaning: Meaning, wrong: str, roles: list[str]) -> tuple[int, str]:
    """The place of the agreeing word, and its wrong form."""
    match kind:
        case "noun_determiner":
            return roles.index("subject article"), ARTICLES[code][wrong]
        case "noun_adjective":
            form = adjective_form(code, meaning.subject_adjective, wrong)
            return roles.index("subject adjective"), ("ال" if code == "ar" else "") + form
        case "subject_predicate":
            return roles.index("predicate"), predicate_form(code, meaning.predicate, wrong)
    place = roles.index("verb")
    if code == "hi":  # the auxiliary after the stem agrees
        return place + 1, progressive(wrong)
    return place, verb_form(code, meaning.verb, wrong, wrong == "plural")
