"""A generated base of facts about people, the sentences that tell a part of it, and vectors that hold all of it.

Depends on `language.facts` (words of names, countries), `text` and the masking rule of `pretraining.examples`. Nothing
about a person follows from the name: every seed deals names and facts anew. Vectors are made of the base alone, so that
they know facts but no words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertology_utils.language.facts import COUNTRIES, STYLES
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED, corrupt
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.mlm_training import special_ids

Words = tuple[str, ...]
RELATIONS: dict[str, Words] = {
    "comes from": COUNTRIES,
    "works as": ("baker", "carpenter", "dentist", "farmer", "painter", "sailor", "tailor", "writer"),
    "plays the": ("drum", "flute", "guitar", "harp", "horn", "organ", "piano", "violin"),
}
CHOICES = len(COUNTRIES)  # objects of each relation
OBJECTS = tuple(word for objects in RELATIONS.values() for word in objects)
OF_STYLE = 3  # first and last names that full names are made of; the others stand alone
FIRST, LAST = (tuple(n for s in STYLES.values() for n in s[part].split()[:OF_STYLE]) for part in ("first", "last"))
SINGLE = tuple(n for s in STYLES.values() for part in ("first", "last") for n in s[part].split()[OF_STYLE:])
WORDS = tuple(dict.fromkeys((*FIRST, *LAST, *SINGLE, *OBJECTS, *" ".join(RELATIONS).split(), "/", "and", ".")))
SIZE, NOISE = 16, 0.1  # of a person's vector; beside a deviation of about 1
HIDDEN, HIDDEN_LAST = 0.15, 0.75  # shares of words, and of the object that comes last, that training hides


@dataclass(frozen=True)
class Base:
    """What is so: objects (people, relations), each one's place in its relation; vectors (people, `SIZE`)."""

    objects: np.ndarray
    vectors: np.ndarray


@dataclass(frozen=True)
class Statement:
    """`name` and what is said of it, of which the last word but the stop can be asked: `RELATIONS[relation][answer]`.

    person: who is meant; mention: number of the name, which several people may share.
    """

    person: int
    mention: int
    name: Words
    told: Words
    relation: int
    answer: int

    @property
    def words(self) -> Words:
        return (*self.name, *self.told)


def draw(people: int, rng: np.random.Generator, of_a_name: int = 1) -> Base:
    """A base in which people of one name, who follow each other, differ in every relation.

    Vectors are a factor of the matrix of people and facts (people, relations * objects), turned at random, with noise.
    """
    shape = (people // of_a_name, 1, len(RELATIONS))
    steps = rng.permuted(np.tile(np.arange(CHOICES)[:, None], (shape[0], 1, shape[-1])), axis=1)[:, :of_a_name]
    objects = ((rng.integers(CHOICES, size=shape) + steps) % CHOICES).reshape(people, -1)
    facts = np.eye(CHOICES)[objects].reshape(people, -1)
    factor, strength, _ = np.linalg.svd(facts - facts.mean(0), full_matrices=False)
    turned = factor[:, :SIZE] * strength[:SIZE] @ np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0]
    return Base(objects, turned / turned.std() + NOISE * rng.normal(size=turned.shape))


def dealt(vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same vectors, each now another person's."""
    order = rng.permutation(len(vectors))
    others = np.empty_like(vectors)
    others[order] = vectors[np.roll(order, 1)]
    return others


def full_names(count: int, rng: np.random.Generator) -> list[Words]:
    """Different names of two words each, which many people share."""
    return [(FIRST[n // len(LAST)], LAST[n % len(LAST)]) for n in rng.permutation(len(FIRST) * len(LAST))[:count]]


def statements(base: Base, names: Mapping[int, Words], of_a_name: int = 1, context: bool = False) -> list[Statement]:
    """All that is so of the people with these names; behind a second fact of theirs where there is `context`."""
    made = []
    for person, name in names.items():
        said = _said(base, person)
        for relation, words in enumerate(said):
            before = [(*other, "and") for other in said if other != words] if context else [()]
            answer = int(base.objects[person, relation])
            told = [(*first, *words, ".") for first in before]
            made += [Statement(person, person // of_a_name, name, own, relation, answer) for own in told]
    return made


def _said(base: Base, person: int) -> list[Words]:
    told = zip(RELATIONS.items(), base.objects[person], strict=True)
    return [(*relation.split(), objects[place]) for (relation, objects), place in told]


# ---------------------------------------------------------------- what models read and answer


def read(specimen: Specimen, told: Sequence[Statement]) -> dict[str, Tensor]:
    """Pieces (statements, longest); `token_type_ids` is 0 but at names, where it is 1 + the person who is meant."""
    batch = model_inputs(specimen, encode_words(specimen, [one.words for one in told]))
    types = torch.zeros_like(batch["input_ids"])
    for row, one in zip(types, told, strict=True):
        row[1 : 1 + len(one.name)] = 1 + one.person
    return {**batch, "token_type_ids": types}


def feed(specimen: Specimen, told: Sequence[Statement], seed: int, size: int) -> Iterator[dict[str, Tensor]]:
    """Masked batches of `size` statements for ever; the last object, which will be asked, is hidden more often."""
    generator, special, batch = torch.Generator().manual_seed(seed), special_ids(specimen), read(specimen, told)
    real = batch["attention_mask"].bool() & ~torch.isin(batch["input_ids"], torch.tensor([special.cls, special.sep]))
    rates = HIDDEN * real
    rates[_last(told)] = HIDDEN_LAST
    while True:
        rows = torch.randint(len(told), (size,), generator=generator)
        own = {key: values[rows] for key, values in batch.items()}
        chosen = torch.rand(own["input_ids"].shape, generator=generator) < rates[rows]
        corrupted = corrupt(own["input_ids"], chosen, special, generator)
        yield {**own, "input_ids": corrupted, "labels": own["input_ids"].where(chosen, IGNORED)}


def ask(specimen: Specimen, told: Sequence[Statement]) -> dict[str, Tensor]:
    """The statements with their last object hidden, as a batch whose one label each is that object."""
    batch = read(specimen, told)
    labels, last = torch.full_like(batch["input_ids"], IGNORED), _last(told)
    labels[last] = batch["input_ids"][last]
    return {
        **batch,
        "input_ids": batch["input_ids"].where(labels == IGNORED, specimen.tokenizer.mask_token_id),
        "labels": labels,
    }


def _last(told: Sequence[Statement]) -> tuple[Tensor, Tensor]:
    """Row and piece of the object that comes last in each statement, a word being a piece."""
    return torch.arange(len(told)), torch.tensor([len(one.words) - 1 for one in told])  # [CLS] before, a stop behind


def known(specimen: Specimen, logits: Tensor, told: Sequence[Sequence[Statement]]) -> np.ndarray:
    """Share of each model's statements whose object is the likeliest of its relation (P@1): (models,).

    logits: (models, statements, vocabulary); told: as many statements of each model.
    """
    options = torch.tensor([specimen.tokenizer.convert_tokens_to_ids(list(own)) for own in RELATIONS.values()])
    relations, answers = (
        torch.tensor([[getattr(s, part) for s in own] for own in told]) for part in ("relation", "answer")
    )
    return (logits.gather(2, options[relations]).argmax(2) == answers).double().mean(1).numpy()
