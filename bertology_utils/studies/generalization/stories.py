"""Stories of three deeds with multiple-choice questions of four types, in words each of which has a synonym.

Nothing but the text to read beforehand, where synonyms keep the same company, tells that two words are synonyms.
Depends on numpy, torch and the list of special pieces.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bertology_utils.pretraining.wordpieces import SPECIAL_TOKENS

KINDS = {  # in the order in which a deed is told; what has no second form is no part of a paraphrase
    "person": "doctors/physicians kings/monarchs boys/lads girls/lasses men/guys women/ladies lawyers/attorneys "
    "teachers/tutors painters/artists thieves/robbers sailors/seamen writers/authors actors/performers cooks/chefs "
    "priests/clerics students/pupils",
    "deed": "bought/purchased sold/traded fetched/brought hid/concealed broke/smashed mended/repaired stole/nicked "
    "found/discovered lost/mislaid wanted/desired made/produced picked/chose cleaned/washed held/gripped got/obtained "
    "threw/tossed",
    "quality": "red blue green old new big small round heavy light cheap clean wet dry soft warm",
    "thing": "cars/vehicles coats/jackets sofas/couches rugs/carpets cups/mugs stones/rocks ships/vessels gifts/presents "
    "pictures/images lamps/lanterns bags/sacks pots/pans tales/novels jewels/gems sticks/rods snacks/sweets",
}
FORMS = {kind: [pair.split("/") for pair in words.split()] for kind, words in KINDS.items()}
WORDS = [*(word for pairs in FORMS.values() for forms in pairs for word in forms), "were", "after", "."]
PLACE = {word: place for place, word in enumerate([*SPECIAL_TOKENS, *WORDS])}
IDS = {kind: np.vectorize(PLACE.get)(pairs) for kind, pairs in FORMS.items()}  # (words, forms)
OTHER = torch.arange(len(PLACE))  # of every piece its synonym, or itself
for forms in IDS.values():
    OTHER[forms] = torch.as_tensor(forms[:, ::-1].copy())

MASK = "[MASK]"
TYPES = {  # question, and the kind of word that answers it
    "factual": (("person", "deed", MASK, "."), "thing"),
    "who": ((MASK, "deed", "thing", "."), "person"),
    "property": (("thing", "were", MASK, "."), "quality"),
    "order": (("after", "person", MASK, "."), "thing"),
}
DEEDS, COMPANIONS = 3, 3  # in a story; words that follow a word in the text
Split = Mapping[str, np.ndarray]  # the words of each kind that are used, (words, forms)


class Questions(NamedTuple):
    """Pieces of stories, questions and options, (models, questions, words) each. The first option is the answer."""

    story: Tensor
    question: Tensor
    options: Tensor

    def paraphrased(self) -> "Questions":
        """The question alone in synonyms."""
        return self._replace(question=OTHER[self.question])

    def again(self) -> "Questions":
        """Story, question and options in synonyms, which fit each other as before."""
        return Questions(*(OTHER[own] for own in self))

    def blind(self) -> "Questions":
        """A full stop for a story."""
        return self._replace(story=torch.full_like(self.story[..., :1], PLACE["."]))


def split(known: int, rng: np.random.Generator) -> tuple[Split, Split]:
    """So many words of each kind with their synonyms, and the others."""
    mixed = {kind: rng.permutation(own) for kind, own in IDS.items()}
    return tuple({kind: own[part] for kind, own in mixed.items()} for part in (slice(known), slice(known, None)))


def text(count: int, rng: np.random.Generator) -> list[list[str]]:
    """Passages of as many deeds as a story has. Each word and its synonym have the same `COMPANIONS` to follow them."""
    shape, names = (count, DEEDS), np.array(list(PLACE))
    at, told = rng.integers(len(IDS["person"]), size=shape), []
    for own in IDS.values():
        told.append(own[at, rng.integers(own.shape[1], size=shape)])
        at = np.array([rng.permutation(len(own))[:COMPANIONS] for _ in own])[at, rng.integers(COMPANIONS, size=shape)]
    return names[_in_sentences(told)].tolist()


def _in_sentences(told: Sequence[np.ndarray]) -> np.ndarray:
    """Words of deeds, (stories, deeds) of each kind, with a full stop after each deed: (stories, words)."""
    return np.stack([*told, np.full_like(told[0], PLACE["."])], -1).reshape(len(told[0]), -1)


def questions(kind: str, count: int, words: Split, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Stories, questions of a type and options of one model; no word goes with another more often than with a third."""
    told = {}
    for name, own in words.items():
        drawn = rng.permuted(np.tile(np.arange(len(own)), (count, 1)), axis=1)[:, :DEEDS]
        told[name] = own[drawn, rng.integers(own.shape[1], size=drawn.shape)]
    frame, wanted = TYPES[kind]
    later = int(kind == "order")  # it asks for the deed after the one that it names
    row, asked = np.arange(count), rng.integers(DEEDS - later, size=count)
    question = [told[slot][row, asked] if slot in told else np.full(count, PLACE[slot]) for slot in frame]
    answer_first = (asked[:, None] + later + np.arange(DEEDS)) % DEEDS
    options = np.take_along_axis(told[wanted], answer_first, 1)
    return _in_sentences(list(told.values())), np.stack(question, 1), options


def asked(kind: str, count: int, words: Sequence[Split], rngs: Sequence[np.random.Generator]) -> Questions:
    """The same for every model, with words and draws of its own."""
    made = (questions(kind, count, own, rng) for own, rng in zip(words, rngs, strict=True))
    return Questions(*(torch.as_tensor(np.stack(part)) for part in zip(*made, strict=True)))
