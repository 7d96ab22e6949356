"""Verbs for tests of agreement: many, because what such a test draws is verbs. Depends on `lexicon`.

The lexicon keeps few verbs, and half of them for training; a cloze trains nothing, so any verb will do whose two
present forms a small vocabulary holds as single pieces. Only present forms of these are right.
"""

from __future__ import annotations

from functools import cache

from bertology_utils.language.lexicon import Verb, parse_verb

ALONE = """
act advance answer appear argue begin call change come continue die differ dream drink drive enter exist fall fly gather
grow help hope land laugh lead leave lie listen live look march meet move object occur operate pass play pray protest
reason recover refer remain reply report rest result return ring rise run serve shake sing sit sleep smile speak stand
start stay step stop study succeed suffer swim talk tend think travel try turn visit vote wait walk wander wonder work
worry write
"""
TO_PEOPLE = """
affect answer approach ask attack believe call charge describe face fear feel find follow force guard guide hear help
hold influence involve judge kill know lead leave like love match meet mention mind miss move name need note notice
observe own praise promise question raise rank reach receive represent respect save see serve shadow show signal strike
suggest support suspect teach tell test thank touch trace train trouble trust visit want warn welcome
"""
TO_THINGS = """
accept add apply bear board bring build carry cast cause claim collect contain control copy cover create cut demand
deliver design destroy discover drop end examine explain fill fire form get give include increase indicate issue keep
lay limit list lose make mark measure offer open order paint place plan point pound present produce
project prove provide
pull put read record reform relate remember remove repair replace require reserve review rule scale score seek sell send
set shape share ship sound spot stage state steal stick store study supply surface take tear throw tie title track trade
treat use value view voice win wear
"""
GROUPS = (
    (ALONE, "intransitive", "living"),
    (TO_PEOPLE, "transitive", "living > person"),
    (TO_THINGS, "transitive", "person > object"),
)  # fmt: skip


@cache
def agreement_verbs() -> tuple[Verb, ...]:
    """The verbs, each once, in the frame in which it is listed first."""
    found: dict[str, Verb] = {}
    for listing, frame, selection in GROUPS:
        for base in listing.split():
            found.setdefault(base, parse_verb(f"{base}: {selection}", frame))
    return tuple(found.values())
