"""Pronouns with two candidate antecedents, and the rule cascade that picks one.

Depends on `grammar` and `lexicon`; knows no model. Used for antecedent heads (clark2019what) and for probes of
coreference over layers (tenney2019bert).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bertology_utils.language.grammar import FINITE_BE, Grammar
from bertology_utils.language.grammar_trees import Phrase, Word
from bertology_utils.language.lexicon import load_lexicon

GENDERS = ("male", "female")
PRONOUNS = {("male", "singular"): "he", ("female", "singular"): "she"}
MALE = frozenset(("he", "him", "his", "himself"))
FEMALE = frozenset(("she", "her", "hers", "herself"))
NEUTER = frozenset(("it", "its", "itself"))
PLURAL = frozenset(("they", "them", "their", "theirs", "themselves"))
FORMS = {"male": MALE, "female": FEMALE, "neuter": NEUTER}


@dataclass(frozen=True)
class Coreference:
    """A sentence, the index of its pronoun, of the antecedent and of the rival noun.

    `plural`: whether antecedent and rival are, where that is annotated; elsewhere their endings tell.
    """

    words: tuple[str, ...]
    pronoun: int
    antecedent: int
    rival: int
    plural: tuple[bool, bool] | None = None


def coreferences(n: int, seed: int = 0, split: str = "train") -> list[Coreference]:
    """`the king saw the queens because they were tired .`: gender or number tells; each order is as frequent."""
    grammar = Grammar(split, seed)
    return [_coreference(grammar, first=i // 2 % 2 == 0) for i in range(n)]


def _coreference(grammar: Grammar, first: bool) -> Coreference:
    """The antecedent is the subject where `first` holds, else the object."""
    kinds = _two_kinds(grammar)
    nouns = [
        grammar.common_noun(gender, role, deprel, number, 0.1, "the")
        for (gender, number), (role, deprel) in zip(kinds, (("agent", "nsubj"), ("patient", "obj")), strict=True)
    ]
    wanted = kinds[0 if first else 1]
    verb = grammar.pick(
        [
            verb
            for verb in grammar.lexicon.verbs["transitive"] + grammar.lexicon.verbs["experiencer"]
            if set(GENDERS) <= set(verb.subjects) & set(verb.objects)
        ]
    )
    group = grammar.conjugate(verb, nouns[0], "past")
    clause = Phrase("S", [nouns[0], Phrase("VP", [*group, nouns[1]], len(group) - 1)], 1, "root")
    clause.parts.append(_reason(grammar, *wanted))
    sentence = grammar.finish(clause)
    places = int(sentence.features["subject"]), int(sentence.features["object"])
    antecedent, rival = places if first else places[::-1]
    return Coreference(sentence.words, len(sentence.words) - 4, antecedent, rival)


def _two_kinds(grammar: Grammar) -> list[tuple[str, str]]:
    """Two (gender, number) that no pronoun confuses: other genders in the singular, or other numbers."""
    gender, other = grammar.pick((GENDERS, GENDERS[::-1]))
    if grammar.chance(0.5):
        return [(gender, "singular"), (other, "singular")]
    kinds = [(gender, "singular"), (grammar.pick(GENDERS), "plural")]
    return kinds if grammar.chance(0.5) else kinds[::-1]


def _reason(grammar: Grammar, gender: str, number: str) -> Phrase:
    """`because she was tired`."""
    form = PRONOUNS.get((gender, number), "they")
    pronoun = Phrase("NP", [Word(form, "PRON", number=number, role="theme")], 0, "nsubj", number)
    be = Word(FINITE_BE["past", number, 3], "AUX", "cop", number, "past", lemma="be")
    adjective = Phrase("ADJP", [Word(grammar.adjective(gender), "ADJ")], 0)
    inner = Phrase("S", [pronoun, Phrase("VP", [be, adjective], 1)], 1)
    return Phrase("SBAR", [Word("because", "SCONJ", "mark"), inner], 1, "advcl")


def nearest_hits(items: list[Coreference]) -> list[float]:
    """Whether the nearest noun before the pronoun is its antecedent: 0/1 an item."""
    return [float(item.antecedent > item.rival) for item in items]


def farther_hits(items: list[Coreference]) -> list[float]:
    """Whether the farther of the two nouns is the antecedent: 0/1 an item."""
    return [1 - hit for hit in nearest_hits(items)]


def rule_hits(items: list[Coreference]) -> list[float]:
    """Whether the cascade of `rule_choices` is right: 0/1 an item."""
    choices = zip(items, rule_choices(items, "train"), strict=True)
    return [float(choice == item.antecedent) for item, choice in choices]


def rule_choices(items: Sequence[Coreference], known: str = "train") -> list[int]:
    """The word that a cascade picks: number by the ending, gender by a list of nouns (one split), else the nearest."""
    lexicon = load_lexicon(known)
    genders = {
        noun.form(number): gender
        for gender in GENDERS
        for noun in lexicon.nouns[gender]
        for number in ("singular", "plural")
    }
    return [_rule_choice(item, genders) for item in items]


def _rule_choice(item: Coreference, genders: dict[str, str]) -> int:
    pronoun = item.words[item.pronoun].lower()
    wanted = next((gender for gender, forms in FORMS.items() if pronoun in forms), None)
    places = (item.antecedent, item.rival)
    plural = item.plural or tuple(item.words[place].endswith(("s", "men")) for place in places)

    def fits(place: int, many: bool) -> bool:
        known = genders.get(item.words[place].lower())
        return many == (pronoun in PLURAL) and (wanted is None or known in (None, wanted))

    survivors = [place for place, many in zip(places, plural, strict=True) if fits(place, many)]
    return survivors[0] if len(survivors) == 1 else max(places)
