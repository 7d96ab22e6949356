"""Verbs for tests of agreement: many, because what such a test draws is verbs. Depends on `lexicon` and `items`.

The lexicon keeps few verbs, and half of them for training; a cloze trains nothing, so any verb will do whose two
present forms a small vocabulary holds as single pieces. Only present forms of these are right.
"""

from functools import cache

from bertology_utils.language.items import ITEMS
from bertology_utils.language.lexicon import Verb, parse_verb


@cache
def agreement_verbs() -> tuple[Verb, ...]:
    """The verbs, each once, in the frame in which it is listed first."""
    found: dict[str, Verb] = {}
    for group in ITEMS["agreement_verbs"]:
        for base in group["verbs"].split():
            found.setdefault(base, parse_verb(f"{base}: {group['selects']}", group["frame"]))
    return tuple(found.values())
