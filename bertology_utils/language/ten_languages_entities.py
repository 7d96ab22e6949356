"""Names in ten languages: who does something where, tagged as persons (PER), places (LOC) and all other words (O).

Depends on `ten_languages`. The subject is a person's name as often as an ordinary person, the place a city as often as
an ordinary place, so that where a word stands does not tell a name from a noun. What tells it without knowing names are
cues, which can be taken away: capitals, with the Turkish apostrophe behind a name; and articles, with what else stands
beside ordinary places alone. Names, nouns and verbs belong to one split.
"""

from collections.abc import Sequence
from random import Random

from bertology_utils.errors import BertologyError
from bertology_utils.language import ten_languages as ten
from bertology_utils.language.lexicon import require_split
from bertology_utils.language.ten_languages import Meaning, ParallelSentence, Token, concepts

PERSON, PLACE, OTHER, STOP = "PER", "LOC", "O", "PUNCT"
CAPITALS, ARTICLES = "capitals", "articles"
BESIDE_NOUNS = ("里", "上")  # behind Chinese places that are no names
ONE_PREPOSITION = {"im": "in", "à": "dans"}  # German with the article in it; French before cities
ENTITIES = {"subject": PERSON, "place": PLACE}


def draw_meaning(rng: Random, split: str, person: str, place: str) -> Meaning:
    """Somebody of the group `person` (name or person) at a `place` (city or place) does something, or to a thing."""
    who, where = (rng.choice(concepts(*group, split)) for group in (("nouns", [person]), ("places", [place])))
    adverb, goal = rng.choice((*concepts("adverbs", ["time"]), "", "")), rng.choice(("", rng.choice(ten.THINGS)))
    groups = [goal, "thing"] if goal else ten.VERBS["person"]
    verb = rng.choice(concepts("verbs", dict.fromkeys(groups), split))
    thing = rng.choice(concepts("nouns", [goal], split)) if goal else ""
    return Meaning(who, verb=verb, object=thing, place=where, adverb=adverb)


def entity_corpus(
    n: int, split: str = "train", seed: int = 0, without: Sequence[str] = ()
) -> dict[str, list[ParallelSentence]]:
    """`n` meanings in ten languages, with PER, LOC, O and PUNCT in place of `upos`; row i translates row i.

    Of four rows, two have a person's name and two a city, in all combinations. `without` names the cues that are taken
    away, of the same meanings. Raises BertologyError for an unknown split or more than 2,000 sentences.
    """
    require_split(split)
    if not 0 < n <= 2000:
        raise BertologyError(f"The grammar makes 1 to 2,000 sentences with names, not {n}.")
    rng, drawn = Random(f"entities-{split}-{seed}"), {}
    while len(drawn) < n:
        groups = ("name", "person")[len(drawn) % 2], ("city", "place")[len(drawn) // 2 % 2]
        drawn.setdefault(draw_meaning(rng, split, *groups))
    return {code: [_row(i, meaning, code, without) for i, meaning in enumerate(drawn)] for code in ten.LANGUAGES}


def _row(identity: int, meaning: Meaning, code: str, without: Sequence[str]) -> ParallelSentence:
    tokens = ten.sentence(meaning, code)
    if ARTICLES in without:
        tokens = [_without_article(code, t) for t in tokens if t.upos != "DET" and t.form not in BESIDE_NOUNS]
    words = [_without_capitals(code, t.form) if CAPITALS in without else t.form for t in tokens]
    return ParallelSentence(identity, code, tuple(words), tuple(map(_entity, tokens)), tuple(t.role for t in tokens))


def _entity(token: Token) -> str:
    if token.upos == STOP:
        return STOP
    return ENTITIES[token.role] if token.upos == "PROPN" else OTHER


def _without_article(code: str, token: Token) -> Token:
    """The word with no article in it; the Arabic one is a prefix."""
    form = token.form.removeprefix("ال") if code == "ar" and token.upos == "NOUN" else token.form
    return token._replace(form=ONE_PREPOSITION.get(form, form))


def _without_capitals(code: str, form: str) -> str:
    return form.replace("İ", "i").replace("'", "").lower() if code == "tr" else form.lower()
