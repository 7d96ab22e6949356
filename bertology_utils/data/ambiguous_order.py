"""Sentences that tell hierarchy from linear order: the main auxiliary and the subject noun (lin2019open).

It depends on `grammar` and `material`. In the ambiguous sentences the first auxiliary (or noun) is also the main one,
so that a probe may learn either rule; in the disambiguating ones another auxiliary (or noun) comes first. The words
just before the right one are no guide: see `window_rule` in `syntax_probes`, which tries.
"""

from dataclasses import replace

from bertology_utils.data.material import EMBEDDED, draw, rows
from bertology_utils.data.rows import Pointed
from bertology_utils.errors import BertologyError
from bertology_utils.language.grammar import LIVING, PLACE_ROLE, Grammar
from bertology_utils.language.grammar_trees import Phrase, Sentence, Word
from bertology_utils.language.lexicon import PERSON

TASKS = ("auxiliary", "subject")
NUMBERS = ("singular", "plural")


def pointed_sentences(
    n: int, disambiguating: bool, seed: int = 0, split: str = "train", task: str = "auxiliary", source: str = EMBEDDED
) -> list[Pointed]:
    """At most `n` sentences with the index of their main auxiliary or subject noun.

    For "open_sesame" the study's own, whose two kinds share their words; there the linear rule fails at compounds
    ("queen bee") in the task of the subject.
    """
    if source != EMBEDDED:
        return draw(rows(f"{source}:{task}", "test" if disambiguating else "train"), n, seed)
    generated = ambiguous_sentences(n, disambiguating, seed, split, task)
    return [Pointed(s.words, int(s.features["target"])) for s in generated]


def ambiguous_sentences(
    n: int, disambiguating: bool, seed: int = 0, split: str = "train", task: str = "auxiliary"
) -> list[Sentence]:
    """`n` sentences whose `features` hold `target` (index of the main auxiliary or subject noun) and `competitor`.

    The competitor is what the linear rule picks: the first auxiliary or noun of the sentence. It is the target itself
    where `disambiguating` is false, and another word where it is true. Raises BertologyError for an unknown `task`.
    """
    if task not in TASKS:
        raise BertologyError(f"There is no task '{task}'; choose one of {', '.join(TASKS)}.")
    grammar = Grammar(split, seed)
    build = main_auxiliary if task == "auxiliary" else subject_noun
    return [with_target(build(grammar, disambiguating), task) for _ in range(n)]


def with_target(sentence: Sentence, task: str) -> Sentence:
    """Add `target` and `competitor` to the features."""
    tags = ("AUX",) if task == "auxiliary" else ("NOUN", "PROPN")
    first = next(i for i, tag in enumerate(sentence.upos) if tag in tags)
    target = sentence.features["focus" if task == "auxiliary" else "subject"]
    return replace(sentence, features={**sentence.features, "target": target, "competitor": first})


def main_auxiliary(grammar: Grammar, disambiguating: bool) -> Sentence:
    """`the dog will chase the cat (that the boys can see)`, or the relative clause behind the subject.

    Every auxiliary stands behind a noun phrase, so that the words before it do not say which one is the main one.
    """
    verb = grammar.pick([verb for verb in grammar.lexicon.verbs["experiencer"] if set(LIVING) <= set(verb.objects)])
    subject = grammar.common_noun(grammar.kind(verb.subjects), "experiencer", "nsubj")
    target = grammar.common_noun(grammar.kind(LIVING), "theme", "obj")
    *group, main = grammar.conjugate(verb, subject, "present", "modal")
    if disambiguating or grammar.chance(0.6):
        modified = subject if disambiguating else target
        modified.parts.append(modal_relative(grammar, modified))
    inner = Phrase("VP", [main, target], 0)
    return grammar.finish(Phrase("S", [subject, Phrase("VP", [*group, inner], len(group))], 1, "root"))


def modal_relative(grammar: Grammar, antecedent: Phrase) -> Phrase:
    """`that the boys (near the house) can see at the gate`: an object relative clause that ends in a noun phrase."""
    verb = grammar.verb("experiencer")
    subject = grammar.common_noun(grammar.kind(verb.subjects), "experiencer", "nsubj")
    if grammar.chance(0.5):
        subject.parts.append(grammar.prepositional("nmod", None))
    *group, main = grammar.conjugate(verb, subject, "present", "modal")
    inner = Phrase("VP", [main, grammar.prepositional("obl", PLACE_ROLE)], 0)
    clause = Phrase("S", [subject, Phrase("VP", [*group, inner], len(group))], 1)
    relative = Word("that", "PRON", "obj", antecedent.number, role="theme")
    return Phrase("SBAR", [relative, clause], 1, "acl:relcl")


def subject_noun(grammar: Grammar, disambiguating: bool) -> Sentence:
    """A clause that opens with its subject (ambiguous), or with a phrase or a clause that holds another noun.

    There are no commas, and what stands before a noun is no guide: behind their verb, too, nouns follow other noun
    phrases (`gave the boy the book`) and are subjects of relative clauses.
    """
    verb = grammar.verb(grammar.pick(("ditransitive", "ditransitive", "transitive", "experiencer")), PERSON)
    tense = grammar.pick(("present", "past"))
    subject = grammar.common_noun(grammar.kind(verb.subjects), grammar.subject_role(verb), "nsubj")
    *group, main = grammar.conjugate(verb, subject, tense)
    complements = grammar.complements(verb, tense, 0)
    last = complements[-1]
    named = getattr(last.parts[last.head], "upos", "NOUN") != "NOUN"  # or a pronoun; a coordination is a phrase
    if last.deprel == "obj" and not named and grammar.chance(0.6):
        last.parts.append(grammar.object_relative(last, tense=tense))
    clause = Phrase("S", [subject, Phrase("VP", [*group, main, *complements], len(group))], 1, "root")
    if disambiguating:
        opening = grammar.prepositional("obl", PLACE_ROLE, number=grammar.pick(NUMBERS))
        clause.parts.insert(0, opening if grammar.chance(0.5) else opening_clause(grammar, tense))
        clause.head += 1
    return grammar.finish(clause)


def opening_clause(grammar: Grammar, tense: str) -> Phrase:
    """`because the boys slept`."""
    verb = grammar.verb(grammar.pick(("intransitive", "transitive")))
    subject = grammar.common_noun(grammar.kind(verb.subjects), "agent", "nsubj")
    clause = Phrase("S", [subject, grammar.verb_phrase(verb, subject, tense)], 1, "advcl")
    marker = Word(grammar.pick(("because", "when", "while", "after", "although")), "SCONJ", "mark")
    return Phrase("SBAR", [marker, clause], 1, "advcl")
