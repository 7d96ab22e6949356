"""Minimal pairs of the grammar: agreement, polarity items, reflexives, determiners; and the form of a cloze.

It depends on `grammar` (phrases) and knows nothing of models: a pair is two word sequences and the place to look at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

from bertology_utils.errors import BertologyError
from bertology_utils.language.grammar import FINITE_BE, LIVING, LOCATIVES, PLACE_ROLE, Grammar
from bertology_utils.language.grammar_trees import Phrase, Sentence, Word
from bertology_utils.language.lexicon import Verb

MASK = "[MASK]"
STRUCTURES = ("pp", "relative", "object_relative")
NUMBERS = ("singular", "plural")
NEAR = {**LOCATIVES, **dict.fromkeys(LIVING, ("near", "behind", "beside", "with"))}
NEUTRAL = {"ever": ("often", "always", "also"), "any": ("some", "the"), "yet": ("already",)}
NPI_CONDITIONS = ("licensor", "scope", "npi")


@dataclass(frozen=True)
class MinimalPair:
    """An acceptable and an unacceptable sentence; `focus` is the index of the word whose probability decides."""

    good: tuple[str, ...]
    bad: tuple[str, ...]
    focus: int
    phenomenon: str
    condition: dict[str, int | str] = field(default_factory=dict, hash=False)

    @property
    def forms(self) -> str:
        """The two words at the focus in one order, whichever of them is right: what pairs of one verb share."""
        return "/".join(sorted({self.good[self.focus], self.bad[self.focus]}))

    @property
    def alone(self) -> "MinimalPair":
        """The two words without their sentences: which of them is more usual where nothing tells."""
        sides = ((side[self.focus], ".") for side in (self.good, self.bad))
        return MinimalPair(*sides, 0, self.phenomenon, self.condition)

    def differing(self) -> tuple[int, ...]:
        """The positions at which the two sentences differ (they are equally long)."""
        return tuple(i for i, (good, bad) in enumerate(zip(self.good, self.bad, strict=True)) if good != bad)


def paradigm_title(paradigm: str) -> str:
    """`filler-gap-wh_question_object` reads "filler gap: wh question object"."""
    phenomenon, _, case = paradigm.replace("_", " ").rpartition("-")
    return ": ".join(filter(None, [phenomenon.replace("-", " "), case]))


@dataclass(frozen=True)
class Cloze:
    """A sentence with `[MASK]` at index `focus`, and a candidate that makes it true and one that makes it false."""

    words: tuple[str, ...]
    focus: int
    true: str
    false: str
    phenomenon: str
    condition: dict[str, int | str] = field(default_factory=dict, hash=False)


def _swap(words: tuple[str, ...], changes: dict[int, str]) -> tuple[str, ...]:
    return tuple(changes.get(i, word) for i, word in enumerate(words))


def _other(number: str) -> str:
    return NUMBERS[number == "singular"]


def _check(name: str, value: object, options: tuple) -> None:
    if value not in options:
        raise BertologyError(f"{name} is {value!r}; choose one of {', '.join(map(repr, options))}.")


# Agreement ------------------------------------------------------------------------------------------------------------


def agreement_pairs(
    n: int,
    attractors: int = 0,
    structure: str = "mixed",
    nonsense: bool = False,
    seed: int = 0,
    split: str = "train",
    agreeing: int = 0,
    verbs: Sequence[Verb] = (),
) -> list[MinimalPair]:
    """Subject and verb; good and bad differ in the number of one finite verb form (goldberg2019assessing).

    `attractors` nouns (0-3) of the other number and `agreeing` nouns of the same number stand between subject and
    verb, inside prepositional phrases (`pp`), a subject relative clause or an object relative clause. Determiners are
    `the` and relative verbs in the past, so that only the subject noun tells the number. `nonsense` breaks selectional
    preferences and keeps the structure (after Gulordava et al. 2018); it has no copulas, as in goldberg2019assessing.
    `condition` says also how many nouns of the other number there are, before the verb or behind it: `rivals`.
    In the structure "fronted" those nouns stand before the subject: `near the cats , the dog sleeps`.
    Of given `verbs` each is asked in turn, once with a singular and once with a plural subject; without copulas.
    """
    _check("structure", structure, (*STRUCTURES, "fronted", "mixed"))
    _check("attractors", attractors, (0, 1, 2, 3))
    return list(_agreement_pairs(n, attractors, structure, nonsense, seed, split, agreeing, tuple(verbs)))


@lru_cache(maxsize=64)  # model and twins ask for the same pairs
def _agreement_pairs(
    n: int,
    attractors: int,
    structure: str,
    nonsense: bool,
    seed: int,
    split: str,
    agreeing: int,
    verbs: tuple[Verb, ...],
) -> tuple[MinimalPair, ...]:
    grammar = Grammar(split, seed, sense=not nonsense)
    pairs = []
    for i in range(n):
        place, number = (i // 2, NUMBERS[i % 2]) if verbs else (i, NUMBERS[i // 3 % 2])
        chosen = STRUCTURES[place % 3] if structure == "mixed" else structure
        verb = verbs[place % len(verbs)] if verbs else None
        pairs.append(_agreement_pair(grammar, attractors, agreeing, chosen, number, nonsense, verb))
    return tuple(_mixed(grammar, pairs))


def _mixed(grammar: Grammar, pairs: list[MinimalPair]) -> list[MinimalPair]:
    """The same pairs in random order, so that every second one, on which a layer is chosen, is like the others."""
    return grammar.rng.sample(pairs, len(pairs))


def _drawn_verb(grammar: Grammar, nonsense: bool) -> Verb | None:
    """A verb of the lexicon, or none for the copula."""
    if not nonsense and grammar.chance(0.4):
        return None
    return grammar.verb(grammar.pick(("intransitive", "motion", "transitive", "experiencer")))


def _agreement_pair(
    grammar: Grammar, attractors: int, agreeing: int, structure: str, number: str, nonsense: bool, verb: Verb | None
) -> MinimalPair:
    numbers = [_other(number)] * attractors + [number] * agreeing
    grammar.rng.shuffle(numbers)
    verb = verb or _drawn_verb(grammar, nonsense)
    kind = grammar.kind(verb.subjects if verb else LIVING)
    subject = grammar.common_noun(kind, "agent", "nsubj", number, 0.15, "the")
    if numbers and structure != "fronted":
        subject.parts.append(_interruption(grammar, subject, numbers, structure))
    predicate, wrong = _agreeing_predicate(grammar, subject, verb)
    clause = Phrase("S", [subject, predicate], 1, "root")
    if numbers and structure == "fronted":
        grammar.fronted(_near(grammar, numbers), clause)
    sentence = grammar.finish(clause)
    focus = int(sentence.features["focus"])
    condition = {
        "attractors": attractors,
        "agreeing": agreeing,
        "structure": structure if numbers else "simple",
        "number": number,
        "nonsense": int(nonsense),
        "verb": "lexical" if verb else "copula",
        "subject": sentence.features["subject"],
        "distance": focus - int(sentence.features["subject"]),
        "rivals": _nouns_of_number(sentence, _other(number)),
    }
    return MinimalPair(sentence.words, _swap(sentence.words, {focus: wrong}), focus, "agreement", condition)


def _nouns_of_number(sentence: Sentence, number: str) -> int:
    """How many common nouns of a number stand in a sentence."""
    return sum(pair == ("NOUN", number) for pair in zip(sentence.upos, sentence.number, strict=True))


def _agreeing_predicate(grammar: Grammar, subject: Phrase, verb: Verb | None) -> tuple[Phrase, str]:
    """A predicate in the present (or `was`), with the form that would not agree."""
    if verb is None:
        tense = grammar.pick(("present", "present", "past"))
        adjective = Phrase("ADJP", [Word(grammar.adjective(subject.kinds[0]), "ADJ")], 0)
        wrong = FINITE_BE[tense, _other(subject.number), 3]
        return Phrase("VP", [grammar.copula(subject, tense), adjective], 1), wrong
    group = grammar.conjugate(verb, subject, "present")
    complements = grammar.complements(verb, "present", 0) or [grammar.prepositional("obl", PLACE_ROLE)]
    return Phrase("VP", [*group, *complements], 0), verb.base if subject.number == "singular" else verb.third


def _interruption(grammar: Grammar, subject: Phrase, numbers: list[str], structure: str) -> Phrase:
    """What stands between subject and verb, with one noun for each number, in order."""
    if structure == "pp":
        return _near(grammar, numbers)
    role = ("theme", "obj") if structure == "relative" else ("experiencer", "nsubj")
    verbs = [verb for verb in grammar.lexicon.verbs["experiencer"] if "neutral" in verb.subjects + verb.objects]
    verb = grammar.pick(verbs)
    selected = verb.objects if structure == "relative" else verb.subjects
    noun = grammar.common_noun(grammar.kind(selected), *role, numbers[0], 0.1, "the")
    if len(numbers) > 1:
        noun.parts.append(_near(grammar, numbers[1:]))
    past = Word(verb.past, "VERB", "dep", None, "past", lemma=verb.base)
    if structure == "relative":
        relative, clause = "nsubj", Phrase("S", [Phrase("VP", [past, noun], 0)], 0)
    else:
        relative, clause = "obj", Phrase("S", [noun, Phrase("VP", [past], 0)], 1)
    return Phrase("SBAR", [Word("that", "PRON", relative, subject.number), clause], 1, "acl:relcl")


def _near(grammar: Grammar, numbers: list[str]) -> Phrase:
    """A chain of prepositional phrases, each inside the one before."""
    place = grammar.pick(tuple(NEAR))
    noun = grammar.common_noun(grammar.kind((place,)), None, "nmod", numbers[0], 0.1, "the")
    if len(numbers) > 1:
        noun.parts.append(_near(grammar, numbers[1:]))
    return grammar.adposition(grammar.pick(NEAR[place]), noun, "nmod")


# Negative polarity items ----------------------------------------------------------------------------------------------


def npi_pairs(n: int, condition: str = "licensor", seed: int = 0, split: str = "train") -> list[MinimalPair]:
    """Negative polarity items (`ever`, `any`, `yet`) and what licenses them (warstadt2019investigating).

    `licensor`: present or replaced ("no dog has ever slept" / "the dog has ever slept"). `scope`: in both sentences,
    but only in the good one above the item: first in one half ("no dog that the boys saw has ever slept" / "the dog
    that no boys saw has ever slept"), second in the other ("the boys ran , and no dog has ever slept" / "no boys ran ,
    and the dog has ever slept"), so that neither the first word nor the licensor's place tells. `npi`: in the same two
    structures without a licensor, a neutral word or the item ("the boys ran , and the dog has often slept" / "... ever
    slept"). `condition` names the structure of these.
    `focus` is always the item's place; `differing()` says where the sentences differ.
    """
    _check("condition", condition, NPI_CONDITIONS)
    grammar = Grammar(split, seed)
    structures = ("relative", "conjoined")
    scopes, neutral = (
        [partial(build, structure=name) for name in structures] for build in (_scope_pair, _neutral_pair)
    )
    builds = {"licensor": (_licensor_pair,), "scope": scopes, "npi": neutral}[condition]
    # one item's sentences are shared out evenly, over eight pairs
    chosen = [builds[(i + i // 4) % len(builds)] for i in range(n)]
    return _mixed(grammar, [build(grammar, ("ever", "any", "ever", "yet")[i % 4]) for i, build in enumerate(chosen)])


def _npi_sentence(
    grammar: Grammar, npi: str, determiner: str, number: str, middle: str = "", structure: str = "simple"
) -> tuple[Sentence, int]:
    """`<determiner> dog has (<middle>) (ever) eaten (any) bread (yet) .` and the item's index.

    In the structure "relative" the subject has a clause ("that the boys saw") behind it, in "conjoined" before it
    ("the boys ran , and"), with one more noun of its number.
    """
    verb = grammar.verb("transitive" if npi == "any" else grammar.pick(("intransitive", "transitive")))
    subject = grammar.common_noun(grammar.kind(verb.subjects), "agent", "nsubj", number, 0, determiner)
    if structure == "relative":
        subject.parts.append(_interruption(grammar, subject, [number], "object_relative"))
    auxiliary, participle = grammar.conjugate(verb, subject, "present", "perfect")
    group = [auxiliary] + [Word(middle, "ADV", "advmod")] * bool(middle)
    group += [Word("ever", "ADV", "advmod")] * (npi == "ever")
    complements = grammar.complements(verb, "present", 0)
    if npi == "any":
        kind = grammar.kind(verb.objects)
        count = None if kind == "drink" else "plural"
        complements = [grammar.common_noun(kind, "patient", "obj", count, 0, "any")]
    inner = Phrase("VP", [participle, *complements], 0)
    inner.parts.extend([Word("yet", "ADV", "advmod")] * (npi == "yet"))
    predicate = Phrase("VP", [*group, inner], len(group))
    clause = Phrase("S", [subject, predicate], 1, "root")
    sentence = grammar.finish(_conjoined(grammar, number, clause) if structure == "conjoined" else clause)
    return sentence, sentence.words.index(npi)


def _conjoined(grammar: Grammar, number: str, clause: Phrase) -> Phrase:
    """`the boys ran , and`, before a clause."""
    verb = grammar.verb("intransitive")
    subject = grammar.common_noun(grammar.kind(verb.subjects), "agent", "nsubj", number, 0, "the")
    past = Phrase("VP", [Word(verb.past, "VERB", "dep", None, "past", lemma=verb.base)], 0)
    clause.deprel = "conj"
    joined = Phrase(None, [Word(",", "PUNCT", "punct"), Word("and", "CCONJ", "cc"), clause], 2, "conj")
    return Phrase("S", [subject, past, joined], 1, "root")


def _licensor_pair(grammar: Grammar, npi: str) -> MinimalPair:
    environment = grammar.pick(("no", "not") if npi == "yet" else ("no", "few", "not"))
    number = "plural" if environment == "few" else grammar.pick(NUMBERS)
    negated = environment == "not"
    sentence, place = _npi_sentence(grammar, npi, "the" if negated else environment, number, "not" if negated else "")
    where = sentence.words.index(environment)
    unlicensed = {"no": "the", "few": "many", "not": grammar.pick(("also", "now", "just"))}[environment]
    return MinimalPair(
        sentence.words,
        _swap(sentence.words, {where: unlicensed}),
        place,
        "npi",
        {"condition": "licensor", "npi": npi, "licensor": environment, "licensor_index": where},
    )


def _scope_pair(grammar: Grammar, npi: str, structure: str) -> MinimalPair:
    """The licensor is the first determiner in the good sentence, and in the bad one inside a relative clause; or in the
    bad one, of a clause beside that of the item ("conjoined")."""
    licensor = grammar.pick(("no", "few"))
    number = "plural" if licensor == "few" else grammar.pick(NUMBERS)
    sentence, place = _npi_sentence(grammar, npi, licensor, number, structure=structure)
    second = sentence.words.index({"relative": "that", "conjoined": "and"}[structure]) + 1
    above, elsewhere = (0, second) if structure == "relative" else (second, 0)
    bad = _swap(sentence.words, {above: "the", elsewhere: licensor})
    condition = {"condition": "scope", "npi": npi, "licensor": licensor, "licensor_index": above}
    return MinimalPair(sentence.words, bad, place, "npi", condition | {"structure": structure})


def _neutral_pair(grammar: Grammar, npi: str, structure: str) -> MinimalPair:
    sentence, place = _npi_sentence(grammar, npi, "the", grammar.pick(NUMBERS), structure=structure)
    neutral = grammar.pick(NEUTRAL[npi])
    return MinimalPair(
        _swap(sentence.words, {place: neutral}),
        sentence.words,
        place,
        "npi",
        {"condition": "npi", "npi": npi, "licensor": "none", "licensor_index": -1, "structure": structure},
    )


# Reflexives and determiners -------------------------------------------------------------------------------------------


def reflexive_pairs(
    n: int, attractors: int = 0, mismatch: str = "mixed", seed: int = 0, split: str = "train"
) -> list[MinimalPair]:
    """A reflexive that matches its antecedent in gender and number, or mismatches in one of them, or each by turns.

    After marvin2018targeted. With `attractors` = 1 an object relative clause brings in a noun that would match
    the bad form.
    """
    _check("attractors", attractors, (0, 1))
    _check("mismatch", mismatch, ("gender", "number", "mixed"))
    grammar, kinds = Grammar(split, seed), ("gender", "number") if mismatch == "mixed" else (mismatch,)
    return _mixed(grammar, [_reflexive_pair(grammar, attractors, kinds[i % len(kinds)]) for i in range(n)])


def _reflexive_pair(grammar: Grammar, attractors: int, mismatch: str) -> MinimalPair:
    gender = grammar.pick(("male", "female"))
    number = "singular" if mismatch == "gender" else grammar.pick(NUMBERS)
    opposite = {"male": "female", "female": "male"}[gender]
    rival = (opposite, "singular") if mismatch == "gender" else (gender, _other(number))
    subject = grammar.common_noun(gender, "agent", "nsubj", number, 0.1, "the")
    people = [
        verb
        for verb in grammar.lexicon.verbs["transitive"] + grammar.lexicon.verbs["experiencer"]
        if gender in verb.subjects and gender in verb.objects
    ]
    if attractors:
        verb = grammar.pick(people)
        noun = grammar.common_noun(rival[0], "agent", "nsubj", rival[1], 0, "the")
        past = Phrase("VP", [Word(verb.past, "VERB", "dep", None, "past", lemma=verb.base)], 0)
        that = Word("that", "PRON", "obj", number)
        subject.parts.append(Phrase("SBAR", [that, Phrase("S", [noun, past], 1)], 1, "acl:relcl"))
    reflexive = Phrase("NP", [Word(_reflexive(gender, number), "PRON", number=number)], 0, "obj", number)
    predicate = Phrase("VP", [*grammar.conjugate(grammar.pick(people), subject, "past"), reflexive], 0)
    sentence = grammar.finish(Phrase("S", [subject, predicate], 1, "root"))
    focus = int(sentence.features["object"])
    return MinimalPair(
        sentence.words,
        _swap(sentence.words, {focus: _reflexive(*rival)}),
        focus,
        "reflexive",
        {"attractors": attractors, "mismatch": mismatch, "number": number, "gender": gender},
    )


def _reflexive(gender: str, number: str) -> str:
    return "themselves" if number == "plural" else {"male": "himself", "female": "herself"}[gender]


def determiner_noun_pairs(n: int, adjectives: int = 0, seed: int = 0, split: str = "train") -> list[MinimalPair]:
    """`the girl saw these dogs` / `the girl saw these dog`, with 0-2 adjectives between (after BLiMP)."""
    _check("adjectives", adjectives, (0, 1, 2))
    grammar = Grammar(split, seed)
    return _mixed(grammar, [_determiner_pair(grammar, adjectives, NUMBERS[i % 2]) for i in range(n)])


def _determiner_pair(grammar: Grammar, adjectives: int, number: str) -> MinimalPair:
    verb = grammar.verb(grammar.pick(("transitive", "experiencer")))
    subject = grammar.common_noun(grammar.kind(verb.subjects), "agent", "nsubj", determiner="the")
    kind = grammar.kind([kind for kind in verb.objects if kind != "drink"] or LIVING)
    nouns = [noun for noun in grammar.lexicon.nouns[kind] if noun.plural not in (None, noun.singular)]
    noun = grammar.pick(nouns)
    determiner = grammar.pick(("this", "that") if number == "singular" else ("these", "those"))
    forms = grammar.rng.sample(grammar.lexicon.adjectives["any"], adjectives)
    modifiers = [Word(form, "ADJ", "amod") for form in forms]
    head = Word(noun.form(number), "NOUN", number=number, lemma=noun.singular)
    target = Phrase("NP", [Word(determiner, "DET", "det"), *modifiers, head], adjectives + 1, "obj", number)
    predicate = Phrase("VP", [*grammar.conjugate(verb, subject, "past"), target], 0)
    sentence = grammar.finish(Phrase("S", [subject, predicate], 1, "root"))
    focus = int(sentence.features["object"])
    return MinimalPair(
        sentence.words,
        _swap(sentence.words, {focus: noun.form(_other(number))}),
        focus,
        "determiner-noun",
        {"adjectives": adjectives, "number": number, "determiner": determiner},
    )
