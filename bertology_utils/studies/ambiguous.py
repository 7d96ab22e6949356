"""Sentences that tell hierarchy from linear order: the main auxiliary and the subject noun (lin2019open).

It depends on `grammar` and `material`. In the ambiguous sentences the first auxiliary (or noun) is also the main one,
so that a probe may learn either rule; in the disambiguating ones another auxiliary (or noun) comes first.
"""

from __future__ import annotations

from dataclasses import replace

from bertology_utils.data.material import EMBEDDED, draw, rows
from bertology_utils.data.rows import Pointed
from bertology_utils.errors import BertologyError
from bertology_utils.language.grammar import LIVING, PLACE_ROLE, Grammar
from bertology_utils.language.grammar_trees import Phrase, Sentence, Word
from bertology_utils.language.lexicon import PERSON

TASKS = ("auxiliary", "subject")


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


def modal_clause(grammar: Grammar, subject: Phrase, modified: bool) -> Phrase:
    """`the dog will chase the cat (that can sleep)`: a main clause with a modal, its object modified or not."""
    if modified:
        verb = grammar.pick(
            [
                verb
                for verb in grammar.lexicon.verbs["experiencer"]
                if set(LIVING) <= set(verb.objects) and set(subject.kinds) <= set(verb.subjects)
            ]
        )
        target = grammar.common_noun(grammar.kind(LIVING), "theme", "obj")
        target.parts.append(modal_relative(grammar, target))
        complements = [target]
    else:
        verb = grammar.verb(grammar.pick(("transitive", "experiencer", "motion")), subject.kinds)
        complements = grammar.complements(verb, "present", 0)
    *group, main = grammar.conjugate(verb, subject, "present", "modal")
    inner = Phrase("VP", [main, *complements], 0)
    return Phrase("S", [subject, Phrase("VP", [*group, inner], len(group))], 1, "root")


def modal_relative(grammar: Grammar, antecedent: Phrase) -> Phrase:
    """`that can sleep` or `that can see the boys`."""
    frame = grammar.pick(("intransitive", "transitive", "experiencer"))
    return grammar.subject_relative(antecedent, frame=frame, style="modal", tense="present")


def main_auxiliary(grammar: Grammar, disambiguating: bool) -> Sentence:
    """Relative clauses with an auxiliary: behind the object (ambiguous) or behind the subject (disambiguating)."""
    subject = grammar.common_noun(grammar.kind(LIVING), "agent", "nsubj")
    if disambiguating:
        subject.parts.append(modal_relative(grammar, subject))
    return grammar.finish(modal_clause(grammar, subject, modified=not disambiguating and grammar.chance(0.6)))


def subject_noun(grammar: Grammar, disambiguating: bool) -> Sentence:
    """A clause that opens with its subject or with an adverb (ambiguous), or with another noun (disambiguating).

    The fronted adverb keeps the comma from giving the disambiguating sentences away.
    """
    verb = grammar.verb(grammar.pick(("transitive", "experiencer", "intransitive", "motion")), PERSON)
    tense = grammar.pick(("present", "past"))
    subject = grammar.common_noun(grammar.kind(verb.subjects), grammar.subject_role(verb), "nsubj")
    predicate = grammar.verb_phrase(verb, subject, tense)
    clause = Phrase("S", [subject, predicate], 1, "root")
    if not disambiguating:
        if grammar.chance(0.4):
            adverb = Word(grammar.pick(grammar.lexicon.adverbs["manner"]), "ADV", "advmod")
            grammar.fronted(Phrase("ADVP", [adverb], 0, "advmod"), clause)
        elif verb.frame != "motion" and grammar.chance(0.5):
            predicate.parts.append(grammar.prepositional("obl", PLACE_ROLE))
    elif grammar.chance(0.5):
        grammar.fronted(grammar.prepositional("obl", PLACE_ROLE), clause)
    else:
        inner_verb = grammar.verb(grammar.pick(("intransitive", "transitive")))
        other = grammar.common_noun(grammar.kind(inner_verb.subjects), "agent", "nsubj")
        inner = Phrase("S", [other, grammar.verb_phrase(inner_verb, other, tense)], 1, "advcl")
        marker = Word(grammar.pick(("because", "when", "while", "after", "although")), "SCONJ", "mark")
        grammar.fronted(Phrase("SBAR", [marker, inner], 1, "advcl"), clause)
    return grammar.finish(clause)
