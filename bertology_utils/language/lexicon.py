"""The lexicon of the sentence generator: inflected nouns, verbs with frames, adjectives, adverbs and names.

It reads `lexicon.yaml` and knows nothing of syntax or models. Every content word belongs to exactly one split
(`train` or `test`), whatever its part of speech, so that a probe trained on one split meets new words in the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from bertology_utils.errors import BertologyError
from bertology_utils.files import read_yaml

SPLITS = ("train", "test")
PERSON = ("male", "female", "neutral")
OBJECT = ("tool", "thing", "clothing")
UNIONS = {
    "person": PERSON,
    "living": (*PERSON, "animal"),
    "object": OBJECT,
    "scenery": ("place", "nature"),
}
VOWELS = "aeiou"


@lru_cache(maxsize=1)
def _tables() -> dict[str, dict[str, str | list[str]]]:
    """category -> group -> entries, as `lexicon.yaml` lists them."""
    return read_yaml(Path(__file__).with_name("lexicon.yaml"))


FUNCTION = {group: tuple(words.split()) for group, words in _tables()["function"].items()}
NUMERALS, MODALS = FUNCTION["numerals"], FUNCTION["modals"]
FUNCTION_WORDS = tuple(word for words in FUNCTION.values() for word in words)


@dataclass(frozen=True)
class Noun:
    """A common noun; `plural` is None for mass nouns, `kind` its semantic class (`animal`, `food`, ...)."""

    singular: str
    plural: str | None
    kind: str

    def form(self, number: str) -> str:
        """The form for `singular` or `plural`; a mass noun has only its singular."""
        return self.plural if number == "plural" and self.plural else self.singular


@dataclass(frozen=True)
class Verb:
    """A verb in one frame, with the kinds of noun that it selects as subject and as object."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str
    frame: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]

    @property
    def forms(self) -> tuple[str, ...]:
        return self.base, self.third, self.past, self.participle, self.gerund


@dataclass(frozen=True)
class Lexicon:
    """The content words of one split, grouped by semantic class or frame."""

    split: str
    nouns: dict[str, tuple[Noun, ...]]
    verbs: dict[str, tuple[Verb, ...]]
    adjectives: dict[str, tuple[str, ...]]
    adverbs: dict[str, tuple[str, ...]]
    names: dict[str, tuple[str, ...]]

    def lemmas(self) -> set[str]:
        """All citation forms of content words."""
        nouns = {noun.singular for group in self.nouns.values() for noun in group}
        verbs = {verb.base for group in self.verbs.values() for verb in group}
        rest = (self.adjectives, self.adverbs, self.names)
        return nouns | verbs | {word for table in rest for group in table.values() for word in group}

    def forms(self) -> set[str]:
        """All inflected forms of content words."""
        nouns = {form for group in self.nouns.values() for noun in group for form in noun_forms(noun)}
        verbs = {form for group in self.verbs.values() for verb in group for form in verb.forms}
        return self.lemmas() | nouns | verbs


def noun_forms(noun: Noun) -> tuple[str, ...]:
    return (noun.singular, noun.plural) if noun.plural else (noun.singular,)


@lru_cache(maxsize=2)
def _named(table: Literal["nouns", "verbs"]) -> dict[str, str]:
    """Each form of the listed nouns or verbs of both splits -> the form that names it."""
    entries = (entry for split in SPLITS for group in getattr(load_lexicon(split), table).values() for entry in group)
    listed = (noun_forms(entry) if table == "nouns" else entry.forms for entry in entries)
    return {form: forms[0] for forms in listed for form in forms}


def first_words(sentences: Iterable[Sequence[str]], table: Literal["nouns", "verbs"]) -> list[str]:
    """Of each sentence the first noun or verb that is listed, whatever its form, or else its first word.

    Generated sentences share them: they are what was drawn (`samples.by_unit`).
    """
    named = _named(table)
    return [next((named[word] for word in words if word in named), words[0]) for words in sentences]


def with_s(word: str) -> str:
    """Regular plural of a noun, or third person singular of a verb."""
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "z", "ch", "sh")) or word == "go":
        return word + "es"
    return word + "s"


def with_suffix(word: str, suffix: str, doubled: bool) -> str:
    """Attach `ed` or `ing` to a verb: love - loved - loving, stop - stopped, cry - cried - crying."""
    if doubled:
        return word + word[-1] + suffix
    if word.endswith("ee"):
        return word + suffix[suffix == "ed" :]
    if word.endswith("e"):
        return word[:-1] + suffix
    if suffix == "ed" and word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ied"
    return word + suffix


def article(word: str) -> str:
    """The indefinite article of a word as it is written."""
    return "an" if word[:1].lower() in tuple(VOWELS) else "a"


def parse_noun(entry: str, kind: str) -> Noun:
    """Read `child/children`, `milk*` or `dog`."""
    if entry.endswith("*"):
        return Noun(entry[:-1], None, kind)
    singular, _, plural = entry.partition("/")
    return Noun(singular, plural or with_s(singular), kind)


def parse_verb(entry: str, frame: str) -> Verb:
    """Read `steal stole stolen: person animal > food`."""
    forms, _, selection = entry.partition(":")
    subjects, _, objects = selection.partition(">")
    base, *irregular = forms.split()
    doubled, base = base.endswith("+"), base.rstrip("+")
    past = irregular[0] if irregular else with_suffix(base, "ed", doubled)
    participle = irregular[1] if len(irregular) > 1 else past
    gerund = irregular[2] if len(irregular) > 2 else with_suffix(base, "ing", doubled)
    return Verb(base, with_s(base), past, participle, gerund, frame, expand(subjects.split()), expand(objects.split()))


def expand(kinds: list[str]) -> tuple[str, ...]:
    """Replace unions such as `living` by the kinds that they stand for, each kind once."""
    return tuple(dict.fromkeys(kind for name in kinds for kind in UNIONS.get(name, (name,))))


def _dealt(entries: list[tuple[object, tuple[str, ...]]], home: dict[str, str]) -> dict[str, list]:
    """Entries with their forms, dealt out to the splits in turn; one that shares a form with an earlier one joins it.

    home: the split of each form so far, which grows.
    """
    hands: dict[str, list] = {split: [] for split in SPLITS}
    for entry, forms in entries:
        homes = {home[form] for form in forms if form in home}
        if len(homes) > 1:
            raise BertologyError(f"lexicon.yaml: the forms of '{forms[0]}' belong to both splits; move or drop it.")
        split = homes.pop() if homes else min(SPLITS, key=lambda name: len(hands[name]))
        hands[split].append(entry)
        home.update(dict.fromkeys(forms, split))
    return hands


@lru_cache(maxsize=1)
def _both_splits() -> dict[str, Lexicon]:
    raw, home = _tables(), {}
    tables: dict[str, dict[str, dict]] = {split: {} for split in SPLITS}
    for category in ("nouns", "verbs", "adjectives", "adverbs", "names"):
        groups = {name: _dealt(_parsed(category, name, group), home) for name, group in raw[category].items()}
        for split in SPLITS:
            tables[split][category] = {name: tuple(hands[split]) for name, hands in groups.items()}
    return {split: Lexicon(split, **tables[split]) for split in SPLITS}


def _parsed(category: str, name: str, group: str | list[str]) -> list[tuple[object, tuple[str, ...]]]:
    if category == "nouns":
        nouns = [parse_noun(entry, name) for entry in group.split()]
        return [(noun, noun_forms(noun)) for noun in nouns]
    if category == "verbs":
        verbs = [parse_verb(entry, name) for entry in group]
        return [(verb, verb.forms) for verb in verbs]
    return [(word, (word,)) for word in group.split()]


def require_split(split: str) -> None:
    """Raises BertologyError for a split that is neither `train` nor `test`."""
    if split not in SPLITS:
        raise BertologyError(f"There is no split '{split}'; choose one of {', '.join(SPLITS)}.")


def load_lexicon(split: str = "train") -> Lexicon:
    """The content words of `train` or `test`; raises BertologyError for any other split."""
    require_split(split)
    return _both_splits()[split]
