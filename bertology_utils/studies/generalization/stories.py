"""Stories of three deeds with multiple-choice questions of four types, in words each of which has a synonym.

Only the text to read beforehand, where synonyms keep the same company, tells that they are. Depends on the special
pieces.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bertology_utils.pretraining.wordpieces import SPECIAL_TOKENS

KINDS = {  # in the order in which a deed is told; what has no second form is no part of a paraphrase
    "person": "doctors/physicians kings/monarchs boys/lads girls/lasses men/guys women/ladies lawyers/attorneys "
    "teachers/tutors thieves/robbers sailors/seamen writers/authors cooks/chefs",
    "deed": "bought/purchased sold/traded fetched/brought hid/concealed broke/smashed mended/repaired stole/nicked "
    "found/discovered lost/mislaid wanted/desired made/produced washed/cleaned",
    "quality": "red blue green old new big small heavy cheap clean wet dry",
    "thing": "cars/vehicles coats/jackets sofas/couches cups/mugs stones/rocks ships/vessels gifts/presents "
    "pictures/images lamps/lanterns bags/sacks jewels/gems snacks/sweets",
}
FORMS = {kind: [pair.split("/") for pair in words.split()] for kind, words in KINDS.items()}
WORDS = [*(word for pairs in FORMS.values() for forms in pairs for word in forms), "were", "after", "."]
PLACE = {word: place for place, word in enumerate([*SPECIAL_TOKENS, *WORDS])}
IDS = {kind: np.vectorize(PLACE.get)(pairs) for kind, pairs in FORMS.items()}  # (words, forms)
PAIRED = [torch.as_tensor(own).flatten() for own in IDS.values() if own.shape[1] > 1]  # a word, its synonym, a word
OTHER = torch.arange(len(PLACE))  # of every piece its synonym, or itself
for own in PAIRED:
    OTHER[own] = own.view(-1, 2).flip(1).flatten()

MASK = "[MASK]"
TYPES = {  # question, and the kind of word that answers it
    "factual": (("person", "deed", MASK, "."), "thing"),
    "who": ((MASK, "deed", "thing", "."), "person"),
    "property": (("thing", "were", MASK, "."), "quality"),
    "order": (("after", "person", MASK, "."), "thing"),
}
DEEDS, COMPANIONS = 3, 3  # of a story; words that follow a word in the text
Split = Mapping[str, np.ndarray]  # the words of each kind that are used, (words, forms)


class Questions(NamedTuple):
    """Pieces of stories and questions, and where in the story the options stand, the answer first.

    (models, questions, words) each.
    """

    story: Tensor
    question: Tensor
    places: Tensor

    @property
    def options(self) -> Tensor:
        """Their pieces."""
        return self.story.gather(-1, self.places)

    def views(self) -> dict[str, "Questions"]:
        """As they are, with the question in synonyms, with the story in synonyms too, and with nothing but options."""
        other = self._replace(question=OTHER[self.question])
        bare = torch.full_like(self.story, PLACE["."]).scatter(-1, self.places, self.options)
        changed = {"again": other._replace(story=OTHER[self.story]), "blind": self._replace(story=bare)}
        return {"original": self, "paraphrased": other, **changed}


def split(known: int, rng: np.random.Generator) -> list[Split]:
    """So many words of each kind with their synonyms, and the others."""
    mixed = {kind: rng.permutation(own) for kind, own in IDS.items()}
    return [{kind: own[part] for kind, own in mixed.items()} for part in (slice(known), slice(known, None))]


def text(count: int, rng: np.random.Generator) -> list[list[str]]:
    """Single deeds. The same few words follow a word and its synonym, each of them as often."""
    at, told, names = rng.integers(len(IDS["person"]), size=count), [], np.array(list(PLACE))
    for own in IDS.values():
        told.append(own[at, rng.integers(own.shape[1], size=count)])
        at = np.array([rng.permutation(len(own))[:COMPANIONS] for _ in own])[at, rng.integers(COMPANIONS, size=count)]
    return names[np.stack([*told, np.full(count, PLACE["."])], 1)].tolist()


def _drawn(kind: str, count: int, words: Split, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """The parts of `Questions` of one model; words meet by chance."""
    told = {}
    for name, own in words.items():
        drawn = rng.permuted(np.tile(np.arange(len(own)), (count, 1)), axis=1)[:, :DEEDS]
        told[name] = own[drawn, rng.integers(own.shape[1], size=drawn.shape)]
    frame, wanted = TYPES[kind]
    later = int(kind == "order")  # it asks for the deed after the one that it names
    row, deed = np.arange(count), rng.integers(DEEDS - later, size=count)
    question = [told[slot][row, deed] if slot in told else np.full(count, PLACE[slot]) for slot in frame]
    story = np.stack([*told.values(), np.full((count, DEEDS), PLACE["."])], -1)  # (questions, deeds, words)
    places = (deed[:, None] + later + np.arange(DEEDS)) % DEEDS * story.shape[-1] + list(KINDS).index(wanted)
    return story.reshape(count, -1), np.stack(question, 1), places


def asked(kind: str, count: int, words: Sequence[Split], rngs: Sequence[np.random.Generator]) -> Questions:
    """So many questions of a type for every model, with words and draws of its own."""
    made = (_drawn(kind, count, own, rng) for own, rng in zip(words, rngs, strict=True))
    return Questions(*(torch.as_tensor(np.stack(part)) for part in zip(*made, strict=True)))
