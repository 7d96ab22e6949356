"""Sentences with two auxiliaries in German and Finnish: one of the main clause, one of a relative clause.

Depends on `ten_languages`. Where order and hierarchy agree, the main auxiliary comes first; where they part, a relative
clause stands behind the subject and brings its own first. The three words just before do not tell which one it is: a
German verb comes second behind a fronted object and infinitive, like the last one of a relative clause; in Finnish both
auxiliaries follow a subject with its adjective and place.
"""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from bertology_utils.language.ten_languages import (
    ADJECTIVES,
    RULES,
    Meaning,
    Token,
    adverb_phrase,
    article,
    capital,
    concepts,
    gender,
    noun_and_adjective,
    noun_phrase,
    place_phrase,
    predicate_form,
    verb_form,
)

AUXILIARIES = {code: forms.split() for code, forms in RULES["auxiliaries"].items()}
THINGS = ("text", "object")
COMMA, WHOM, BE = Token(",", "PUNCT"), Token("jota", "PRON"), Token("olla", "AUX")
Built = tuple[list[Token], tuple[str, str]]
Builder = Callable[[Meaning, Meaning, Token, Token, bool], Built]


class TwoAuxiliaries(NamedTuple):
    """A sentence, the places of its main and of its embedded auxiliary, and the nouns that they are about."""

    words: tuple[str, ...]
    main: int
    embedded: int
    nouns: tuple[str, str]


def two_auxiliaries(code: str, n: int, parting: bool, split: str = "train", seed: int = 0) -> list[TwoAuxiliaries]:
    """`n` different sentences of a language in `AUXILIARIES`; in `parting` ones the embedded auxiliary comes first.

    Nouns, verbs, adjectives and places belong to one split, auxiliaries to both.
    """
    rng, found = Random(f"{code}-{parting}-{split}-{seed}"), {}
    while len(found) < n:
        kind = rng.choice(THINGS)
        own, other = _clause(rng, kind, split), _clause(rng, kind, split)
        main, embedded = (Token(form, "AUX") for form in rng.sample(AUXILIARIES[code], 2))
        tokens, nouns = BUILDERS[code](own, other, main, embedded, parting)
        words = (capital(code, tokens[0].form), *(token.form for token in tokens[1:]), ".")
        found[words] = TwoAuxiliaries(words, words.index(main.form), words.index(embedded.form), nouns)
    return list(found.values())


def _clause(rng: Random, kind: str, split: str) -> Meaning:
    """A person who is somehow does something to a thing of a kind, which is somehow, at some place and perhaps time."""
    return Meaning(
        rng.choice(concepts("nouns", ["person"], split)),
        rng.choice(concepts("adjectives", ADJECTIVES["person"], split)),
        rng.choice(concepts("verbs", [kind, "thing"], split)),
        *noun_and_adjective(rng, kind, split),
        rng.choice(concepts("places", ["place"], split)),
        rng.choice((*concepts("adverbs", ["time"]), "", "")),
        rng.choice(concepts("adjectives", ADJECTIVES[kind], split)),
    )


def _german(own: Meaning, other: Meaning, main: Token, embedded: Token, parting: bool) -> Built:
    """`Das Buch kaufen will die Frau, die den Hut waschen kann`, or `Die Frau, die ... kann, will das Buch kaufen`."""
    relative = Token(article("de", gender("de", own.subject)), "PRON")
    subject = noun_phrase("de", own.subject, own.subject_adjective, "subject")
    subject += [COMMA, relative, *_object_and_infinitive(other), embedded]
    predicate = _object_and_infinitive(own)
    tokens = [*subject, COMMA, main, *predicate] if parting else [*predicate, main, *subject]
    return tokens, (own.subject, other.object)


def _object_and_infinitive(meaning: Meaning) -> list[Token]:
    thing = noun_phrase("de", meaning.object, meaning.object_adjective, "object", "object")
    return [*thing, *adverb_phrase("de", meaning.adverb), _infinitive("de", meaning.verb)]


def _finnish(own: Meaning, other: Meaning, main: Token, embedded: Token, parting: bool) -> Built:
    """`Pieni nainen talossa taitaa ostaa kirjaa, jota vanha sisko puistossa voi lukea`, or `Kirja, jota ... voi lukea
    huoneessa, taitaa olla uusi`."""
    case = "nominative" if parting else "object"
    book = [*noun_phrase("fi", own.object, own.object_adjective, "object", case), COMMA, WHOM]
    book += [*_who_and_where(other), embedded, _infinitive("fi", other.verb)]
    when = adverb_phrase("fi", own.adverb)
    if parting:
        new = Token(predicate_form("fi", own.predicate), "ADJ")
        return [*when, *book, *place_phrase("fi", own.place), COMMA, main, BE, new], (own.object, other.subject)
    return [*when, *_who_and_where(own), main, _infinitive("fi", own.verb), *book], (own.subject, other.subject)


def _who_and_where(meaning: Meaning) -> list[Token]:
    return [
        *noun_phrase("fi", meaning.subject, meaning.subject_adjective, "subject"),
        *place_phrase("fi", meaning.place),
    ]


def _infinitive(code: str, verb: str) -> Token:
    """The German plural, or what the rules list."""
    return Token(verb_form("de", verb, plural=True) if code == "de" else RULES["infinitives"][verb], "VERB")


BUILDERS: dict[str, Builder] = {"de": _german, "fi": _finnish}
