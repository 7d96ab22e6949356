"""The sentence generator: a small English grammar that composes phrase trees over the lexicon.

It depends on `lexicon` (words) and `grammar_trees` (annotation) and knows nothing of models. Each method of `Grammar`
builds one kind of phrase and returns a node; nothing is written as a string template. Sentences vary in depth and word
order (fronting, relative and complement clauses, questions, passives, coordination), so that tree distance and
linear distance come apart.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_yaml
from bertology_utils.language.grammar_trees import Phrase, Sentence, Word, annotate
from bertology_utils.language.lexicon import MODALS, PERSON, UNIONS, VOWELS, Lexicon, Verb, load_lexicon

KINDS = ("simple", "deep", "mixed")
LENGTHS = range(4, 21)
LIVING = UNIONS["living"]
ADJECTIVE_GROUPS = {
    **dict.fromkeys(LIVING, "living"),
    **dict.fromkeys(("food", "drink"), "food"),
    **dict.fromkeys(UNIONS["scenery"], "scenery"),
}
RULES = read_yaml(Path(__file__).with_name("grammar.yaml"))
LOCATIVES = {kind: tuple(words.split()) for kind, words in RULES["locatives"].items()}
GOALS, VERBAL_FRAMES = (tuple(RULES[name].split()) for name in ("goals", "verbal_frames"))
FINITE_BE = {
    (tense, number, person): form
    for tense, numbers in RULES["be"].items()
    for number, persons in numbers.items()
    for person, form in persons.items()
}
PERSONAL = RULES["personal"]
STYLES = ("plain",) * 6 + ("progressive", "perfect", "modal", "negative")
STATIVE = ("experiencer", "think", "control")
PLACE_ROLE = "location"


class Grammar:
    """Builds random phrases; `sense=False` ignores selectional preferences ("colourless green ideas")."""

    def __init__(self, split: str = "train", seed: int = 0, sense: bool = True) -> None:
        self.lexicon: Lexicon = load_lexicon(split)
        self.rng = Random(f"{split}-{seed}")
        self.sense = sense

    # Choices ------------------------------------------------------------------------------------------------------

    def pick(self, options: Sequence):
        return options[int(self.rng.random() * len(options))]

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def kind(self, kinds: Sequence[str]) -> str:
        """A noun class among those selected, or any class where sense does not matter."""
        return self.pick(kinds if self.sense else tuple(self.lexicon.nouns))

    def verb(self, frame: str, subjects: Sequence[str] = ()) -> Verb:
        """A verb of a frame that can take one of the `subjects` (any, if none is given)."""
        verbs = self.lexicon.verbs[frame]
        if subjects and self.sense:
            verbs = [verb for verb in verbs if not set(subjects).isdisjoint(verb.subjects)]
            if not verbs:
                return self.verb("experiencer", subjects) if set(subjects) & set(LIVING) else self.verb("unaccusative")
        return self.pick(verbs)

    # Nominal phrases ----------------------------------------------------------------------------------------------

    def noun_phrase(
        self,
        kinds: Sequence[str],
        role: str | None,
        deprel: str,
        *,
        number: str | None = None,
        depth: int = 0,
        plain: bool = False,
    ) -> Phrase:
        """A noun phrase that denotes one of `kinds`; `depth` is what may still be embedded.

        `plain` forbids pronouns, names and coordination (the head is then always a common noun).
        """
        kind = self.kind(kinds)
        if not plain and number is None:
            if kind in PERSON and self.chance(0.3):
                return self.pronoun(role, deprel) if self.chance(0.4) else self.name(kind, role, deprel)
            if kind != "drink" and self.chance(0.07):
                return self.coordination(kind, role, deprel)
        phrase = self.common_noun(kind, role, deprel, number)
        if depth > 0 and self.chance(0.55):
            self.modify(phrase, depth)
        return phrase

    def common_noun(
        self,
        kind: str,
        role: str | None,
        deprel: str,
        number: str | None = None,
        adjectives: float = 0.3,
        determiner: str | None = None,
    ) -> Phrase:
        """Determiner, adjectives, noun: `the old dogs`."""
        nouns = self.lexicon.nouns[kind]
        if number is not None:
            # a caller who asks for a number wants to see it: no `milk`, no `sheep`
            nouns = [noun for noun in nouns if noun.plural not in (None, noun.singular)] or self.lexicon.nouns["thing"]
        noun = self.pick(nouns)
        number = number or ("plural" if noun.plural and self.chance(0.42) else "singular")
        modifiers = []
        while self.chance(adjectives) and len(modifiers) < 2:
            modifiers.append(Word(self.adjective(kind), "ADJ", "amod"))
        if len(modifiers) == 2 and modifiers[0].form == modifiers[1].form:
            modifiers.pop()
        head = Word(noun.form(number), "NOUN", number=number, role=role, lemma=noun.singular)
        first = (modifiers[0] if modifiers else head).form
        lead = self.determiner(number, noun.plural is None, first, determiner)
        return Phrase("NP", [lead, *modifiers, head], 1 + len(modifiers), deprel, number, 3, (kind,))

    def determiner(self, number: str, mass: bool, following: str, form: str | None = None) -> Word:
        """A determiner that fits; `form` forces one."""
        if form is None and self.chance(0.55):
            form = "the"
        if form is None:
            if self.chance(0.2):
                return Word(self.pick(("my", "his", "her", "our", "their")), "PRON", "nmod:poss")
            if number == "plural":
                form = self.pick(("these", "those", "some", "two", "three"))
            else:
                form = self.pick(("this", "that", "some") if mass else ("a", "a", "a", "this", "that", "every"))
        if form == "a" and following[0] in VOWELS:
            form = "an"
        return Word(form, "NUM", "nummod") if form in ("two", "three") else Word(form, "DET", "det")

    def adjective(self, kind: str) -> str:
        """An adjective that suits a class of nouns."""
        table = self.lexicon.adjectives
        if not self.sense:
            return self.pick(table[self.pick(tuple(table))])
        return self.pick(table["any"] + table[ADJECTIVE_GROUPS.get(kind, "object")])

    def pronoun(self, role: str | None, deprel: str) -> Phrase:
        nominative, accusative, number, person = self.pick(PERSONAL)
        form = nominative if deprel.startswith("nsubj") else accusative
        return Phrase(
            "NP", [Word(form, "PRON", number=number, role=role, lemma=nominative)], 0, deprel, number, person, PERSON
        )

    def name(self, kind: str, role: str | None, deprel: str) -> Phrase:
        """A person, city or country by name; `kind` chooses among the lists of names."""
        lists = {"neutral": ("male", "female")}.get(kind, (kind,))
        form = self.pick(self.lexicon.names[self.pick(lists)])
        entity = {"city": "CITY", "country": "COUNTRY"}.get(kind, "PERSON")
        head = Word(form, "PROPN", number="singular", role=role, entity=entity)
        return Phrase("NP", [head], 0, deprel, "singular", 3, (kind,))

    def coordination(self, kind: str, role: str | None, deprel: str) -> Phrase:
        first = self.common_noun(kind, role, deprel, adjectives=0.15)
        second = self.common_noun(kind, role, "conj", adjectives=0.15)
        joined = Phrase(None, [Word("and", "CCONJ", "cc"), second], 1, "conj")
        return Phrase("NP", [first, joined], 0, deprel, "plural", 3, (kind,))

    def modify(self, phrase: Phrase, depth: int) -> None:
        """Add a prepositional phrase or a relative clause behind the head of a noun phrase."""
        living = phrase.kinds[0] in LIVING
        if self.chance(0.5):
            phrase.parts.append(self.prepositional("nmod", None, depth=depth - 1))
        elif living and self.chance(0.55):
            phrase.parts.append(self.subject_relative(phrase, depth - 1))
        else:
            phrase.parts.append(self.object_relative(phrase, depth - 1))

    # Prepositional phrases ----------------------------------------------------------------------------------------

    def prepositional(
        self, deprel: str, role: str | None, *, depth: int = 0, number: str | None = None, goal: bool = False
    ) -> Phrase:
        """`in the garden`, `under a table`, `in paris`; with `goal` a direction: `into the house`."""
        if number is None and not goal and self.chance(0.2):
            return self.adposition("in", self.name(self.pick(("city", "country")), role, deprel), deprel)
        kind = self.pick(UNIONS["scenery"] if goal else tuple(LOCATIVES))
        preposition = self.pick(GOALS if goal else LOCATIVES[kind])
        noun = self.noun_phrase((kind,), role, deprel, number=number, depth=depth, plain=True)
        return self.adposition(preposition, noun, deprel)

    @staticmethod
    def adposition(preposition: str, noun: Phrase, deprel: str) -> Phrase:
        return Phrase("PP", [Word(preposition, "ADP", "case"), noun], 1, deprel, noun.number, 3, noun.kinds)

    # Verbs --------------------------------------------------------------------------------------------------------

    def conjugate(self, verb: Verb, subject: Phrase, tense: str, style: str = "plain") -> list[Word]:
        """The verb group for a subject: auxiliaries and negation, then the main verb (last)."""
        number, person, lemma = subject.number, subject.person, verb.base

        def word(form: str, upos: str = "AUX", deprel: str = "aux", finite: bool = True, base: str = "") -> Word:
            # a modal and a regular past look the same in both numbers, and carry none
            shown = number if finite and (tense == "present" or form in ("was", "were")) and style != "modal" else None
            return Word(form, upos, deprel, shown, tense if finite else None, None, None, base)

        plain_form = verb.third if number == "singular" and person == 3 else verb.base
        if style == "progressive":
            return [word(FINITE_BE[tense, number, person], base="be"), word(verb.gerund, "VERB", "dep", False, lemma)]
        if style == "perfect":
            form = "had" if tense == "past" else "has" if number == "singular" and person == 3 else "have"
            return [word(form, base="have"), word(verb.participle, "VERB", "dep", False, lemma)]
        if style == "modal":
            return [word(self.pick(MODALS)), word(verb.base, "VERB", "dep", False, lemma)]
        if style in ("negative", "do"):
            form = "did" if tense == "past" else "does" if number == "singular" and person == 3 else "do"
            negation = [Word("not", "PART", "advmod")] if style == "negative" else []
            return [word(form, base="do"), *negation, word(verb.base, "VERB", "dep", False, lemma)]
        return [word(verb.past if tense == "past" else plain_form, "VERB", "dep", True, lemma)]

    def verb_phrase(
        self, verb: Verb, subject: Phrase, tense: str, *, depth: int = 0, style: str | None = None, gap: bool = False
    ) -> Phrase:
        """A verb with its complements; `gap` leaves the direct object out (for relative clauses)."""
        style = style or self.pick(STYLES)
        style = "plain" if style == "progressive" and verb.frame in STATIVE else style
        group = self.conjugate(verb, subject, tense, style)
        adverbs = self.lexicon.adverbs
        if self.chance(0.1):
            group.insert(len(group) - 1, Word(self.pick(adverbs["frequency"]), "ADV", "advmod"))
        inner = Phrase("VP", [group[-1], *self.complements(verb, tense, depth, gap)], 0)
        if not gap and verb.frame in ("intransitive", "motion", "transitive") and self.chance(0.12):
            inner.parts.append(Word(self.pick(adverbs["manner"]), "ADV", "advmod"))
        return Phrase("VP", [*group[:-1], inner], len(group) - 1) if len(group) > 1 else inner

    def complements(self, verb: Verb, tense: str, depth: int, gap: bool = False) -> list[Phrase]:
        """What the frame of a verb asks for behind it."""
        frame = verb.frame
        if frame in ("transitive", "instrument", "experiencer"):
            role = "theme" if frame == "experiencer" else "patient"
            parts = [] if gap else [self.noun_phrase(verb.objects, role, "obj", depth=depth)]
            if frame == "instrument" and self.chance(0.6):
                tool = self.common_noun(self.kind(("tool",)), "instrument", "obl")
                parts.append(self.adposition("with", tool, "obl"))
            return parts
        if frame == "motion":
            return [self.prepositional("obl", PLACE_ROLE, goal=True, depth=depth)]
        if frame == "ditransitive":
            return self.transfer(verb, depth)
        if frame in ("say", "think"):
            return [self.that_clause(tense, depth)]
        if frame == "control":
            return [self.infinitive(depth)]
        return []

    def transfer(self, verb: Verb, depth: int) -> list[Phrase]:
        """The two orders of giving: `gave the boy a book`, `gave a book to the boy`."""
        if self.chance(0.5):
            recipient = self.noun_phrase(PERSON, "recipient", "iobj")
            return [recipient, self.noun_phrase(verb.objects, "theme", "obj", depth=depth, plain=True)]
        theme = self.noun_phrase(verb.objects, "theme", "obj", plain=True)
        return [theme, self.adposition("to", self.noun_phrase(PERSON, "recipient", "obl", depth=depth), "obl")]

    def infinitive(self, depth: int) -> Phrase:
        """`to find the key` as an open complement."""
        verb = self.verb(self.pick(("transitive", "motion", "intransitive", "experiencer")), PERSON)
        core = Phrase("VP", [Word(verb.base, "VERB"), *self.complements(verb, "present", depth)], 0)
        return Phrase("S", [Phrase("VP", [Word("to", "PART", "mark"), core], 1)], 0, "xcomp")

    # Clauses ------------------------------------------------------------------------------------------------------

    @staticmethod
    def subject_role(verb: Verb) -> str:
        return {
            "experiencer": "experiencer",
            "think": "experiencer",
            "control": "experiencer",
            "unaccusative": "theme",
        }.get(verb.frame, "agent")

    def clause(self, tense: str, depth: int) -> Phrase:
        """Subject and predicate, with an optional place at the end."""
        frame = self.pick(VERBAL_FRAMES + ("say", "think", "think") * (depth > 0))
        verb = self.verb(frame)
        subject = self.noun_phrase(verb.subjects, self.subject_role(verb), "nsubj", depth=depth)
        predicate = self.verb_phrase(verb, subject, tense, depth=depth)
        if frame in ("intransitive", "unaccusative", "transitive") and self.chance(0.35):
            predicate.parts.append(self.prepositional("obl", PLACE_ROLE, depth=depth - 1))
        elif frame in ("intransitive", "transitive") and self.chance(0.15):
            predicate = self.joined_predicates(predicate, subject, tense)
        return Phrase("S", [subject, predicate], 1, "root")

    def joined_predicates(self, first: Phrase, subject: Phrase, tense: str) -> Phrase:
        """`sang and danced`."""
        verb = self.verb(self.pick(("intransitive", "transitive")), subject.kinds)
        second = self.verb_phrase(verb, subject, tense, style="plain")
        return Phrase("VP", [first, Phrase(None, [Word("and", "CCONJ", "cc"), second], 1, "conj")], 0)

    def copular_clause(self, tense: str, depth: int) -> Phrase:
        """`the boys are very happy`, `the dog was in the garden`."""
        kind = self.kind((*LIVING, "food", "thing", "clothing", "place"))
        subject = self.noun_phrase((kind,), "theme", "nsubj", depth=depth)
        be = self.copula(subject, tense)
        if kind != "place" and self.chance(0.35):
            predicate = self.prepositional("root", PLACE_ROLE)
        else:
            degree = [Word(self.pick(self.lexicon.adverbs["degree"]), "ADV", "advmod")] if self.chance(0.4) else []
            predicate = Phrase("ADJP", [*degree, Word(self.adjective(kind), "ADJ")], len(degree))
        return Phrase("S", [subject, Phrase("VP", [be, predicate], 1)], 1, "root")

    @staticmethod
    def copula(subject: Phrase, tense: str, deprel: str = "cop") -> Word:
        return Word(FINITE_BE[tense, subject.number, subject.person], "AUX", deprel, subject.number, tense, lemma="be")

    def passive_clause(self, depth: int) -> Phrase:
        """`the cake was eaten by the boys`."""
        verb = self.verb(self.pick(("transitive", "instrument")))
        subject = self.noun_phrase(verb.objects, "patient", "nsubj:pass", depth=depth)
        tense = "past" if self.chance(0.75) else "present"
        be = self.copula(subject, tense, "aux:pass")
        inner = Phrase("VP", [Word(verb.participle, "VERB", lemma=verb.base)], 0)
        if self.chance(0.75):
            agent = self.noun_phrase(verb.subjects, "agent", "obl:agent", depth=depth)
            inner.parts.append(self.adposition("by", agent, "obl:agent"))
        return Phrase("S", [subject, Phrase("VP", [be, inner], 1)], 1, "root")

    def subject_relative(self, antecedent: Phrase, depth: int = 0) -> Phrase:
        """`that saw the boys`, behind its antecedent."""
        verb = self.verb(self.pick(("transitive", "experiencer", "intransitive", "motion")), antecedent.kinds)
        form = "who" if antecedent.kinds[0] in PERSON and self.chance(0.5) else "that"
        relative = Word(form, "PRON", "nsubj", antecedent.number, role=self.subject_role(verb))
        predicate = self.verb_phrase(verb, antecedent, self.pick(("present", "past")), depth=depth)
        return Phrase("SBAR", [relative, Phrase("S", [predicate], 0)], 1, "acl:relcl")

    def object_relative(self, antecedent: Phrase, depth: int = 0, tense: str | None = None) -> Phrase:
        """`that the boys saw`, behind its antecedent."""
        frame = self.pick(("transitive", "experiencer"))
        verbs = [
            verb for verb in self.lexicon.verbs[frame] if not self.sense or set(antecedent.kinds) & set(verb.objects)
        ]
        verb = self.pick(verbs or [verb for verb in self.lexicon.verbs["experiencer"] if "place" in verb.objects])
        subject = self.noun_phrase(verb.subjects, self.subject_role(verb), "nsubj", depth=depth)
        role = "theme" if verb.frame == "experiencer" else "patient"
        relative = Word("that", "PRON", "obj", antecedent.number, role=role)
        predicate = self.verb_phrase(verb, subject, tense or self.pick(("present", "past")), style="plain", gap=True)
        return Phrase("SBAR", [relative, Phrase("S", [subject, predicate], 1)], 1, "acl:relcl")

    def that_clause(self, tense: str, depth: int) -> Phrase:
        inner = self.copular_clause(tense, 0) if self.chance(0.25) else self.clause(tense, max(depth - 1, 0))
        return Phrase("SBAR", [Word("that", "SCONJ", "mark"), inner], 1, "ccomp")

    def adverbial_clause(self, tense: str) -> Phrase:
        marker = self.pick(("because", "when", "while", "after", "before", "although", "if"))
        inner = self.copular_clause(tense, 0) if self.chance(0.25) else self.clause(tense, 0)
        return Phrase("SBAR", [Word(marker, "SCONJ", "mark"), inner], 1, "advcl")

    # Sentences ----------------------------------------------------------------------------------------------------

    @staticmethod
    def fronted(adjunct: Phrase | Word, clause: Phrase) -> Phrase:
        """Put an adjunct and a comma before the subject."""
        clause.parts.insert(0, Phrase(None, [adjunct, Word(",", "PUNCT", "punct")], 0, adjunct.deprel))
        clause.head += 1
        return clause

    @staticmethod
    def finish(clause: Phrase, mark: str = ".") -> Sentence:
        """Close a main clause with its punctuation and annotate it."""
        clause.parts.append(Word(mark, "PUNCT", "punct"))
        return annotate(clause)

    def question(self, tense: str, depth: int) -> Sentence:
        """`did the boys see the dog ?`, `will the dog sleep ?`"""
        verb = self.verb(self.pick(VERBAL_FRAMES[:-1]))
        subject = self.noun_phrase(verb.subjects, self.subject_role(verb), "nsubj", depth=depth)
        style = self.pick(("do", "do", "modal", "perfect", "perfect" if verb.frame in STATIVE else "progressive"))
        auxiliary, main = self.conjugate(verb, subject, tense, style)
        predicate = Phrase("VP", [main, *self.complements(verb, tense, depth)], 0)
        return self.finish(Phrase("SQ", [auxiliary, subject, predicate], 2), "?")

    def main_clause(self, tense: str, depth: int) -> Phrase:
        draw = self.rng.random()
        if draw < 0.14:
            return self.copular_clause(tense, depth)
        return self.passive_clause(depth) if draw < 0.28 else self.clause(tense, depth)

    def sentence(self, kind: str = "mixed") -> Sentence:
        """One sentence of 4-20 words. `simple`: one clause; `deep`: at least two clauses or a tree of depth 4."""
        if kind == "mixed":
            kind = "simple" if self.chance(0.3) else "deep"
        while True:
            candidate = self.draft(0 if kind == "simple" else 2)
            clauses, depth = candidate.features["clauses"], candidate.features["depth"]
            embedded = clauses > 1 or depth >= 4
            if len(candidate.words) in LENGTHS and (clauses == 1 if kind == "simple" else embedded):
                return candidate

    def draft(self, depth: int) -> Sentence:
        """A sentence of any length that may embed `depth` times."""
        tense = "past" if self.chance(0.5) else "present"
        draw = self.rng.random()
        if draw < 0.09:
            return self.question(tense, depth)
        clause = self.main_clause(tense, depth if draw < 0.6 else depth - 1)
        if draw > 0.82:
            self.fronted(self.prepositional("obl", PLACE_ROLE, depth=depth - 1), clause)
        elif draw > 0.66 and depth > 0:
            self.fronted(self.adverbial_clause(tense), clause)
        elif draw > 0.6 and depth > 0:
            clause.parts.append(self.adverbial_clause(tense))
        return self.finish(clause)


def generate(n: int, seed: int = 0, split: str = "train", kind: str = "mixed") -> list[Sentence]:
    """`n` annotated sentences, the same for the same arguments; the splits share no content word.

    `kind` is `simple` (one clause), `deep` (embedding) or `mixed`. Raises BertologyError for an unknown kind or split.
    """
    if kind not in KINDS:
        raise BertologyError(f"There is no kind of sentence '{kind}'; choose one of {', '.join(KINDS)}.")
    return list(_generated(n, seed, split, kind))


@lru_cache(maxsize=32)  # model and twins ask for the same sentences
def _generated(n: int, seed: int, split: str, kind: str) -> tuple[Sentence, ...]:
    grammar = Grammar(split, seed)
    return tuple(grammar.sentence(kind) for _ in range(n))
