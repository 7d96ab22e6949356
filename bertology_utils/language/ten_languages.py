"""A parallel corpus in ten languages, written for this book: one meaning, ten sentences, with tags and gold alignment.

Depends on `ten_languages.yaml` (the words) and `lexicon` (English endings). Three frames that are simple in every
language: somebody does something somewhere; somebody does something to a thing; something has a property. Present
tense, third person, definite nouns. What differs is what differs between the languages: order of verb, object and
adjective, articles, gender, case, copula. Content words belong to one split, so that tests hold only new ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_yaml
from bertology_utils.language.lexicon import SPLITS, require_split, with_s

RULES = read_yaml(Path(__file__).with_name("languages.yaml"))
BEINGS, THINGS = ("person", "animal"), ("text", "food", "drink", "object")
ADJECTIVES, VERBS = ({kind: groups.split() for kind, groups in RULES[name].items()} for name in ("adjectives", "verbs"))


@dataclass(frozen=True)
class Language:
    """What is known of a language: its family, script, and the order of subject, verb and object."""

    name: str
    family: str
    script: str
    order: str


LANGUAGES = {code: Language(*about) for code, about in RULES["languages"].items()}
PIVOT = "en"
OTHERS = tuple(code for code in LANGUAGES if code != PIVOT)
ADPOSITIONS, PLACE_ARTICLES = (RULES[name].split() for name in ("adpositions", "place_articles"))
ARTICLES: dict[str, dict[str, str]] = RULES["articles"]  # of those that have any: gender or plural -> form


class Meaning(NamedTuple):
    """What a sentence says, in concepts; empty where there is none."""

    subject: str
    subject_adjective: str = ""
    verb: str = ""
    object: str = ""
    object_adjective: str = ""
    place: str = ""
    adverb: str = ""
    predicate: str = ""


class Token(NamedTuple):
    """A word with its tag; words of two languages with one `role` translate each other."""

    form: str
    upos: str
    role: str = ""


@dataclass(frozen=True)
class ParallelSentence:
    """A sentence in one language; `identity` joins its translations; all tuples are (words,)."""

    identity: int
    language: str
    words: tuple[str, ...]
    upos: tuple[str, ...]
    roles: tuple[str, ...]

    @property
    def text(self) -> str:
        """As it is written: Chinese without spaces."""
        space = "" if self.language == "zh" else " "
        return space.join(self.words[:-1]) + self.words[-1]


# ---------------------------------------------------------------- words


@dataclass(frozen=True)
class Entry:
    """A concept in one language: gender where there is one, and its forms as the lexicon lists them."""

    forms: tuple[str, ...]
    gender: str = ""
    before: bool = False  # a French adjective that precedes its noun


@cache
def _lexicon() -> dict[str, dict[str, dict[str, dict[str, Entry]]]]:
    """category -> group -> concept -> language -> entry."""
    raw = read_yaml(Path(__file__).with_name("ten_languages.yaml"))
    return {
        category: {
            group: {
                concept: {code: _entry(words.get(code, concept)) for code in LANGUAGES}
                for concept, words in concepts.items()
            }
            for group, concepts in groups.items()
        }
        for category, groups in raw.items()
    }


def _entry(text: str) -> Entry:
    first, *rest = text.split()
    if first in ("m", "f", "n"):
        return Entry(tuple(rest), gender=first)
    return Entry(tuple(rest), before=True) if first == "<" else Entry((first, *rest))


@cache
def _entries(category: str) -> dict[str, dict[str, Entry]]:
    return {concept: words for group in _lexicon()[category].values() for concept, words in group.items()}


def concepts(category: str, groups: Sequence[str], split: str | None = None) -> list[str]:
    """The concepts of some groups (`nouns` of `person`); of one split every second one, of None all."""
    start, step = (0, 1) if split is None else (SPLITS.index(split), 2)
    return [concept for group in groups for concept in list(_lexicon()[category][group])[start::step]]


@cache
def names() -> frozenset[str]:
    """The concepts that are names, of persons and of cities; `draw_meaning` has none of them."""
    return frozenset((*concepts("nouns", ["name"]), *concepts("places", ["city"])))


def gender(code: str, noun: str) -> str:
    """m, f or n; empty in languages without gender."""
    return _entries("nouns")[noun][code].gender


def noun_form(code: str, noun: str, case: str = "nominative", plural: bool = False) -> str:
    """A noun without article; `case` is nominative or object."""
    forms, kind = _entries("nouns")[noun][code].forms, gender(code, noun)
    if plural:
        return forms[1] if len(forms) > 1 else with_s(forms[0]) if code == "en" else forms[0] + "s"
    if case == "object":
        if code in ("fi", "tr"):
            return forms[1]
        if code == "ru" and kind == "f":
            return forms[0][:-1] + "у"
    return forms[0]


def adjective_form(code: str, adjective: str, gender: str = "", case: str = "nominative") -> str:
    """An adjective beside a definite noun, or as a predicate in languages that do not tell the two apart."""
    forms = _entries("adjectives")[adjective][code].forms
    first, last = forms[0], forms[-1]
    match code:
        case "de":
            stem = "teur" if first == "teuer" else first
            return stem + ("en" if (gender, case) == ("m", "object") else "e")
        case "fi":
            return last if case == "object" else first
        case "ru":
            neuter = "ее" if first.endswith("ший") else "ое"
            feminine = "ую" if case == "object" else "ая"
            return first if gender == "m" else first[:-2] + (feminine if gender == "f" else neuter)
    if gender != "f" or code not in FEMININES:
        return first
    return last if len(forms) > 1 else FEMININES[code](first)


FEMININES = {
    "fr": lambda word: word + "e",
    "es": lambda word: word.removesuffix("o") + "a",
    "ar": lambda word: word + "ة",
    "hi": lambda word: word.removesuffix("ा") + "ी" if word.endswith("ा") else word,
}


def predicate_form(code: str, adjective: str, gender: str = "") -> str:
    """An adjective as predicate."""
    return _entries("adjectives")[adjective][code].forms[0] if code == "de" else adjective_form(code, adjective, gender)


def verb_form(code: str, verb: str, gender: str = "", plural: bool = False) -> str:
    """The third person of the present; of Hindi the stem, which `progressive` goes with."""
    forms = _entries("verbs")[verb][code].forms
    if code == "en":
        return verb if plural else with_s(verb)
    if code == "ar":
        return "ت" + forms[0][1:] if gender == "f" else forms[0]
    return forms[1] if plural else forms[0]


def progressive(gender: str) -> str:
    """The Hindi auxiliary that agrees with the subject."""
    return "रही" if gender == "f" else "रहा"


def article(code: str, gender: str, case: str = "nominative", plural: bool = False) -> str | None:
    """The definite article, None in languages that have none or write it with the noun."""
    if code == "de" and (gender, case, plural) == ("m", "object", False):
        return "den"
    table = ARTICLES.get(code)
    number = ("plural" if "plural" in table else f"plural {gender}") if table and plural else gender
    return table[number] if table else None


# ---------------------------------------------------------------- sentences


def noun_phrase(
    code: str, noun: str, adjective: str, role: str, case: str = "nominative", plural: bool = False
) -> list[Token]:
    """A definite noun, with an adjective where there is one (singular only); of a person's name the nominative."""
    if noun in names():
        return [Token(noun_form(code, noun), "PROPN", role)]
    kind = gender(code, noun)
    prefix = "ال" if code == "ar" else ""
    head = [Token(prefix + noun_form(code, noun, case, plural), "NOUN", role)]
    if adjective:
        form = prefix + adjective_form(code, adjective, kind, case)
        attribute = [Token(form, "ADJ", f"{role} adjective")]
        if code == "zh":
            attribute.append(Token("的", "PART"))
        after = code in ("es", "ar") or (code == "fr" and not _entries("adjectives")[adjective][code].before)
        head = head + attribute if after else attribute + head
    the = article(code, kind, case, plural)
    return ([Token(the, "DET", f"{role} article")] if the else []) + head


def verb_phrase(code: str, verb: str, subject: str, plural: bool = False) -> list[Token]:
    """The verb with its auxiliaries."""
    kind = gender(code, subject)
    tokens = [Token(verb_form(code, verb, kind, plural), "VERB", "verb")]
    return [*tokens, Token(progressive(kind), "AUX"), Token("है", "AUX")] if code == "hi" else tokens


def place_phrase(code: str, place: str) -> list[Token]:
    """Where it happens; of two adpositions (Chinese) the first one translates the others'."""
    tokens, head = list[Token](), "PROPN" if place in names() else "NOUN"
    for form in _entries("places")[place][code].forms:
        upos = "ADP" if form in ADPOSITIONS else "DET" if form in PLACE_ARTICLES else head
        role = {"ADP": "place adposition", "DET": "place article", head: "place"}[upos]
        tokens.append(Token(form, upos, "" if role in [t.role for t in tokens] else role))
    return tokens


def adverb_phrase(code: str, adverb: str) -> list[Token]:
    """When it happens; nothing where there is no adverb."""
    return [Token(_entries("adverbs")[adverb][code].forms[0], "ADV", "adverb")] if adverb else []


def sentence(meaning: Meaning, code: str, plural: bool = False) -> list[Token]:
    """The meaning in a language, with capital and full stop; `plural` is the number of its subject (no adjective)."""
    subject = noun_phrase(code, meaning.subject, meaning.subject_adjective, "subject", plural=plural)
    tokens = _copular(meaning, code, subject) if meaning.predicate else _verbal(meaning, code, subject, plural)
    first, stop = tokens[0]._replace(form=capital(code, tokens[0].form)), RULES["stops"].get(code, ".")
    return [first, *tokens[1:], Token(stop, "PUNCT")]


def _copular(meaning: Meaning, code: str, subject: list[Token]) -> list[Token]:
    form = predicate_form(code, meaning.predicate, gender(code, meaning.subject))
    predicate = [Token(form, "ADJ", "predicate")]
    copula = [Token(form, "AUX", "copula")] if (form := RULES["copula"].get(code)) else []
    if code == "hi":
        return subject + predicate + copula
    return subject + copula + ([Token("很", "ADV")] if code == "zh" else []) + predicate


def _verbal(meaning: Meaning, code: str, subject: list[Token], plural: bool) -> list[Token]:
    verb = verb_phrase(code, meaning.verb, meaning.subject, plural)
    thing = noun_phrase(code, meaning.object, meaning.object_adjective, "object", "object") if meaning.object else []
    place = place_phrase(code, meaning.place) if meaning.place else []
    adverb = adverb_phrase(code, meaning.adverb)
    if LANGUAGES[code].order == "VSO" or (code == "de" and adverb):  # German: the verb comes second
        return adverb + verb + subject + thing + place
    if LANGUAGES[code].order == "SOV":
        return adverb + subject + thing + place + verb
    if code == "zh":
        return adverb + subject + place + verb + thing
    return adverb + subject + verb + thing + place


def capital(code: str, word: str) -> str:
    """The word as a sentence begins; Turkish has a dotted capital."""
    first = "İ" if code == "tr" and word[0] == "i" else word[0].upper()
    return first + word[1:]


# ---------------------------------------------------------------- the corpus


def draw_meaning(rng: Random, split: str | None) -> Meaning:
    """One meaning at random: two in five with a place, two with an object, one with a predicate."""
    frame = rng.choice(("place", "place", "object", "object", "predicate"))
    if frame == "predicate":
        kind = rng.choice((*BEINGS, *THINGS))
        noun = rng.choice(concepts("nouns", [kind], split))
        attribute, predicate = rng.sample(concepts("adjectives", ADJECTIVES[kind], split), 2)
        return Meaning(noun, rng.choice((attribute, "")), predicate=predicate)
    kind = rng.choice(BEINGS) if frame == "place" else "person"
    adverb = rng.choice((*concepts("adverbs", ["time"]), "", ""))
    subject, attribute = noun_and_adjective(rng, kind, split)
    if frame == "place":
        verb = rng.choice(concepts("verbs", VERBS[kind], split))
        return Meaning(subject, attribute, verb, place=rng.choice(concepts("places", ["place"], split)), adverb=adverb)
    goal = rng.choice(THINGS)
    verb = rng.choice(concepts("verbs", dict.fromkeys((goal, "thing")), split))
    return Meaning(subject, attribute, verb, *noun_and_adjective(rng, goal, split), adverb=adverb)


def noun_and_adjective(rng: Random, kind: str, split: str | None) -> tuple[str, str]:
    """A noun of a kind, and in half of the draws an adjective that it takes."""
    noun = rng.choice(concepts("nouns", [kind], split))
    return noun, rng.choice((rng.choice(concepts("adjectives", ADJECTIVES[kind], split)), ""))


def parallel_corpus(n: int, split: str = "train", seed: int = 0) -> dict[str, list[ParallelSentence]]:
    """`n` different meanings in ten languages: row i of each language translates row i of the others.

    The nouns, verbs, adjectives and places of the two splits differ; articles, adverbs and the like are shared. Raises
    BertologyError for an unknown split or more than 5,000 sentences.
    """
    require_split(split)
    if not 0 < n <= 5000:
        raise BertologyError(f"The parallel grammar makes 1 to 5,000 sentences, not {n}.")
    rng, drawn = Random(f"{split}-{seed}"), {}
    while len(drawn) < n:
        drawn.setdefault(draw_meaning(rng, split))
    return {code: [_row(i, meaning, code) for i, meaning in enumerate(drawn)] for code in LANGUAGES}


def _row(identity: int, meaning: Meaning, code: str) -> ParallelSentence:
    return ParallelSentence(identity, code, *zip(*sentence(meaning, code), strict=True))


def gold_alignment(source: ParallelSentence, target: ParallelSentence) -> list[tuple[int, int]]:
    """The pairs of words that translate each other; full stops are left out."""
    places = {role: place for place, role in enumerate(target.roles) if role}
    return [(i, places[role]) for i, role in enumerate(source.roles) if role in places]
