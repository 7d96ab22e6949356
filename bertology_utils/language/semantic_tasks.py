"""Items of meaning that the grammar lacks: word senses, relations, proto-roles, fillers, numbers, swapped entities.

Depends on `grammar` (sentences, lexicon) and knows no model. Wherever something is trained on these items, training
and test share no content word except the one under study; function words and frames are shared, so that they tell
nothing apart.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from random import Random

from bertology_utils.language.grammar import generate
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.language.items import ITEMS
from bertology_utils.language.lexicon import UNIONS, load_lexicon, require_split

Sentences = list[tuple[str, ...]]
TRAIN_CUES = 5


@dataclass(frozen=True)
class SenseItem:
    """An occurrence of an ambiguous word: `words[place]` is `lemma`, used in `sense` (such as `bank: water`)."""

    words: tuple[str, ...]
    place: int
    lemma: str
    sense: str


def sense_table() -> dict[str, dict[str, tuple[str, ...]]]:
    """Word -> sense name -> its cue words; a cue that both senses of a word could have is left out of both."""
    table = {}
    for word, listed in ITEMS["senses"].items():
        cues = [side.split() for side in listed]
        shared = set(cues[0]) & set(cues[1])
        kept = [tuple(dict.fromkeys(cue for cue in side if cue not in shared)) for side in cues]
        table[word] = {f"{word}: {side[0]}": side for side in kept}
    return table


def sense_items(contexts: int = 8, split: str = "train", words: int | None = None, seed: int = 0) -> list[SenseItem]:
    """`contexts` sentences for each of the two senses of each word, after wiedemann2019does.

    Frames are the same for every word, sense and split; only the two cue words differ, and no cue of a word is in both
    of its splits. Raises BertologyError for an unknown split.
    """
    require_split(split)
    rng, frames = Random(f"senses-{split}-{seed}"), ITEMS["sense_frames"]
    items = []
    for lemma, senses in list(sense_table().items())[:words]:
        for sense, cues in senses.items():
            chosen = cues[:TRAIN_CUES] if split == "train" else cues[TRAIN_CUES:]
            for i in range(contexts):
                first, second = rng.sample(chosen, 2)
                frame = frames[i % len(frames)].format(a=first, b=second).split()
                items.append(SenseItem(tuple(lemma if w == "W" else w for w in frame), frame.index("W"), lemma, sense))
    return items


# Relations between two spans ------------------------------------------------------------------------------------------

PLACES = {"H": "other", "O": "origin", "D": "destination"}


@dataclass(frozen=True)
class SpanPair:
    """Two words of a sentence (indices) and the relation of the second to the first."""

    words: tuple[str, ...]
    first: int
    second: int
    relation: str


def relation_items(n: int, split: str = "train", seed: int = 0) -> list[SpanPair]:
    """`n` pairs of a person and a place: origin, destination or other, three from each sentence."""
    require_split(split)
    names = load_lexicon(split).names
    people, places = names["male"] + names["female"], names["city"] + names["country"]
    rng = Random(f"relations-{split}-{seed}")
    items = []
    while len(items) < n:
        frame = rng.choice(ITEMS["journeys"][split]).split()
        filler = {"P": rng.choice(people), **dict(zip("HOD", rng.sample(places, 3), strict=True))}
        words = tuple(filler.get(word, word) for word in frame)
        items += [SpanPair(words, frame.index("P"), frame.index(slot), label) for slot, label in PLACES.items()]
    return items[:n]


# Entity types, roles and proto-roles from the grammar -----------------------------------------------------------------

PROPERTIES = ("volition", "sentience", "change_of_state", "change_of_place")
CHANGING, MOVING = (frozenset(ITEMS[name].split()) for name in ("changes", "motions"))


@dataclass(frozen=True)
class WordItem:
    """One word of a sentence (its index), the verb that governs it (-1: none) and its label."""

    words: tuple[str, ...]
    place: int
    verb: int
    label: str
    lemma: str = ""


def role_items(n: int, split: str = "train", seed: int = 0) -> list[WordItem]:
    """Nouns and names with a semantic role of the grammar; pronouns are left out because their case tells the role."""
    found = (WordItem(s.words, i, _governor(s, i), s.roles[i]) for s, i in _nouns(split, seed) if s.roles[i])
    return list(islice(found, n))


def entity_items(n: int, split: str = "train", seed: int = 0) -> list[WordItem]:
    """Names with their type: PERSON, CITY or COUNTRY."""
    found = (WordItem(s.words, i, -1, s.entities[i]) for s, i in _nouns(split, seed) if s.entities[i])
    return list(islice(found, n))


def proto_role_items(n: int, split: str = "train", seed: int = 0) -> list[WordItem]:
    """Arguments of verbs; the label lists their proto-role properties, joined by `+` (none: an empty string).

    The properties are set by rule: volition by the role, sentience by the noun's kind, the two changes by verb and
    role. A rule-made stand-in for the human ratings of the studies. No verb has more than a fortieth of the items, or
    two, so that frequent ones do not speak for all.
    """
    living = {form for kind in UNIONS["living"] for noun in load_lexicon(split).nouns[kind]
              for form in (noun.singular, noun.plural)}  # fmt: skip
    items, met = [], Counter()
    for s, i in _nouns(split, seed):
        verb = _governor(s, i)
        if s.roles[i] and verb >= 0 and met[s.lemmas[verb]] < max(2, n // 40):
            met[s.lemmas[verb]] += 1
            alive = s.entities[i] == "PERSON" or s.words[i] in living
            held = properties(s.roles[i], s.lemmas[verb], alive)
            items.append(WordItem(s.words, i, verb, "+".join(held), s.lemmas[verb]))
        if len(items) == n:
            return items


def properties(role: str, verb: str, alive: bool) -> tuple[str, ...]:
    """The proto-role properties of an argument, in the order of PROPERTIES."""
    undergoes = role in ("patient", "theme")
    moves = verb in MOVING and (undergoes or role == "agent")
    held = (role == "agent" and alive, alive, undergoes and verb in CHANGING, moves)
    return tuple(name for name, has in zip(PROPERTIES, held, strict=True) if has)


def property_matrix(labels: Sequence[str]) -> list[list[int]]:
    """Labels of `proto_role_items` as 0/1 rows (items, properties)."""
    return [[int(name in label.split("+")) for name in PROPERTIES] for label in labels]


def _nouns(split: str, seed: int) -> Iterator[tuple[Sentence, int]]:
    """Occurrences of nouns and names without end: pairs of sentence and index."""
    require_split(split)
    for batch in count(1000 * seed):
        for sentence in generate(100, seed=batch, split=split):
            yield from ((sentence, i) for i, tag in enumerate(sentence.upos) if tag in ("NOUN", "PROPN"))


def _governor(sentence: Sentence, place: int) -> int:
    head = sentence.heads[place]
    return head if head >= 0 and sentence.upos[head] == "VERB" else -1


# Fillers of a role ----------------------------------------------------------------------------------------------------

FRAMES_OF_PRIOR: list[str] = ITEMS["frames_of_prior"]


@dataclass(frozen=True)
class FillerItem:
    """A sentence whose word at `place` is to be filled; `fillers` are the right, the related and the unrelated word."""

    words: tuple[str, ...]
    place: int
    fillers: tuple[str, str, str]
    scene: str


def filler_items() -> list[FillerItem]:
    """Sentences of the scenes without their last word: it, that of another one of the scene, and one from elsewhere.

    After ettinger2019what; every sentence meets all others of its scene, each time with another word from elsewhere.
    """
    scenes = [(who, [deed.split() for deed in deeds]) for who, deeds in ITEMS["scenes"].items()]
    items = []
    for row, (who, deeds) in enumerate(scenes):
        own = [deed[-1] for deed in deeds]
        far = [deed[-1] for _, others in (*scenes[row:], *scenes[:row])[len(scenes) // 2 :] for deed in others]
        far = iter([word for word in far if word not in own])
        for deed in deeds:
            words = (*who.split(), *deed[:-1], "X", ".")
            fillers = [(deed[-1], related, next(far)) for related in own if related != deed[-1]]
            items += [FillerItem(words, len(words) - 2, three, who) for three in fillers]
    return items


# Numbers --------------------------------------------------------------------------------------------------------------


NUMBER_PLACE = 3


def number_sentence(text: str) -> tuple[str, ...]:
    """A plain carrier; the number is word NUMBER_PLACE."""
    return ("the", "number", "is", text, ".")


def integers(low: int, high: int, n: int, seed: int = 0) -> list[int]:
    """`n` different integers from low <= value < high (all of them, shuffled, where there are not more)."""
    return Random(f"integers-{seed}").sample(range(low, high), min(n, high - low))


def decimals(numbers: Sequence[int]) -> list[float]:
    """The digits of each integer behind a point: 1234 becomes 0.1234, so that they weigh as much in the value."""
    return [number / 10 ** len(str(number)) for number in numbers]


# Slots of a sentence pair ---------------------------------------------------------------------------------------------


def partner_triples(n: int, seed: int = 0) -> tuple[Sentences, Sentences, Sentences]:
    """`n` sentences, and for each two different partners of equal length, so that a slot is the same beside both."""
    by_length: dict[int, list[tuple[str, ...]]] = {}
    for sentence in generate(3 * n + 30, seed=seed, kind="simple"):
        by_length.setdefault(len(sentence.words), []).append(sentence.words)
    partners = [pair for words in by_length.values() for pair in zip(words[::2], words[1::2], strict=False)]
    Random(f"partners-{seed}").shuffle(partners)
    own = [sentence.words for sentence in generate(n, seed=seed, split="test", kind="simple")]
    return own, [pair[0] for pair in partners[:n]], [pair[1] for pair in partners[:n]]


# Swapped entities -----------------------------------------------------------------------------------------------------


def outcome_verbs(split: str) -> dict[int, list[str]]:
    """The verbs of a split: 1 good, 0 bad."""
    require_split(split)
    good, bad = ITEMS["outcome_verbs"][split]
    return {1: good.split(), 0: bad.split()}


@dataclass(frozen=True)
class OutcomeItem:
    """A sentence that tells a good (1) or bad (0) outcome, and the same with another name or another common noun.

    `names` and `nouns` are those of the sentence and of its versions, `verb` tells the outcome.
    """

    words: tuple[str, ...]
    label: int
    verb: str
    names: tuple[str, ...]
    nouns: tuple[str, ...]
    name_swaps: tuple[tuple[str, ...], ...]
    noun_swaps: tuple[tuple[str, ...], ...]


def outcome_words(split: str) -> tuple[list[str], list[str]]:
    """The names of a split and the things that people can have, of which there are more."""
    lexicon = load_lexicon(split)
    names = [*lexicon.names["male"], *lexicon.names["female"]]
    return names, [noun.singular for kind in UNIONS["object"] for noun in lexicon.nouns[kind]]


def outcome_items(
    n: int, split: str = "train", swaps: int = 4, seed: int = 0, partners: Mapping[str, str] | None = None
) -> list[OutcomeItem]:
    """Balanced items whose label depends on the verb alone, so that no swap may change it.

    `swaps` versions have another person name, as many another object; replacements come from the same split and
    gender. `partners` gives each name the noun that stands beside it and is swapped as it is. Half of the test items
    have verbs of the training, half have new ones.
    """
    lexicon, rng = load_lexicon(split), Random(f"outcomes-{split}-{seed}")
    verbs = [outcome_verbs(part) for part in ("train", split)]
    objects = outcome_words(split)[1]
    items = []
    for i in range(n):
        people = rng.sample(lexicon.names[rng.choice(("male", "female"))], swaps + 1)
        things = [partners[name] for name in people] if partners else rng.sample(objects, swaps + 1)
        label, known = i % 2, i // 2 % 2
        slots = {"C": rng.choice(lexicon.names["city"]), "V": rng.choice(verbs[known][label])}
        frame = rng.choice(ITEMS["outcome_frames"]).split()
        words = _fill(frame, {**slots, "P": people[0], "N": things[0]})
        names = [_fill(frame, {**slots, "P": name, "N": things[0]}) for name in people[1:]]
        nouns = [_fill(frame, {**slots, "P": people[0], "N": thing}) for thing in things[1:]]
        items.append(OutcomeItem(words, label, slots["V"], tuple(people), tuple(things), tuple(names), tuple(nouns)))
    return rng.sample(items, n)


def _fill(frame: Sequence[str], slots: dict[str, str]) -> tuple[str, ...]:
    return tuple(slots.get(word, word) for word in frame)
