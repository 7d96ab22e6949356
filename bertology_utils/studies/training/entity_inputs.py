"""Vectors of people in place of their names, in models that learnt from text alone and are not trained further.

Depends on `knowledge` (stacks, training) and `knowledge_base` (facts, sentences, vectors).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.training import knowledge_base as kb
from bertology_utils.studies.training.knowledge import BATCH, PIECES, known, stacked, train
from bertology_utils.studies.training.knowledge_base import Base, Statement, Words
from bertology_utils.tuning.together import Stack, pack

OFTEN = 3  # times that text tells of famous people by their short name, to once by both
FAMOUS, TOLD, ASKED = 40, 24, 48  # people with a name of one piece; others who are told of; those of the base alone
PLACES = tuple(f"[person-{n}]" for n in range(ASKED))  # pieces that become mapped vectors
AFTERWARDS_STEPS = 1200


def afterwards(seeds: Sequence[int]) -> Runs:
    """Vectors mapped into the space of input embeddings of models that have learnt from text alone (poerner2019bert).

    P@1, (seeds, 1). told: of what text told of people whose name is one piece, to whose embeddings the map is fitted.
    Of people of whom no text told: plain (their names), replaced (the mapped vector in place of the name), beside
    (before the name, as text puts one-piece names before full ones), shuffled (replaced by another's), in_vectors (what
    a linear reader of the vectors themselves, fitted to the same people, knows).
    """
    rngs = [np.random.default_rng(seed) for seed in seeds]
    bases = [kb.draw(FAMOUS + TOLD + ASKED, rng) for rng in rngs]
    names = [kb.full_names(FAMOUS + TOLD + ASKED, rng) for rng in rngs]
    specimen, stack = stacked(seeds, FAMOUS + TOLD + ASKED, more=PLACES)
    untrained = _inserted(specimen, stack, bases, names)
    corpora = [_corpus(base, own) for base, own in zip(bases, names, strict=True)]
    feeds = [kb.feed(specimen, corpus, seed, BATCH) for corpus, seed in zip(corpora, seeds, strict=True)]

    def losses() -> Tensor:
        batch = pack([next(own) for own in feeds])
        return stack.masked_losses(stack.hidden(batch), batch)

    train(stack, losses, AFTERWARDS_STEPS)
    return Runs(_inserted(specimen, stack, bases, names), untrained, networks=len(seeds))


def _corpus(base: Base, names: Sequence[Words]) -> list[Statement]:
    """Famous people are told of by their one-piece name, alone and before the full name; others by the full name."""
    famous = {person: (kb.SINGLE[person],) for person in range(FAMOUS)}
    both = {person: (*one, "/", *names[person]) for person, one in famous.items()}
    told = {person: names[person] for person in range(FAMOUS, FAMOUS + TOLD)}
    return [statement for part in (*[famous] * OFTEN, both, told) for statement in kb.statements(base, part)]


def _inserted(
    specimen: Specimen, stack: Stack, bases: Sequence[Base], names: Sequence[Sequence[Words]]
) -> dict[str, np.ndarray]:
    """The samples of `afterwards`."""
    unknown = range(FAMOUS + TOLD, FAMOUS + TOLD + ASKED)
    place = dict(zip(unknown, PLACES, strict=True))

    def score(people: Sequence[int], name: Callable[[Sequence[Words], int], Words]) -> np.ndarray:
        named = [{person: name(own, person) for person in people} for own in names]
        told = [kb.statements(base, own) for base, own in zip(bases, named, strict=True)]
        return per_seed(known(specimen, stack, stack.hidden, told), len(told[0]))

    found = {
        "told": score(range(FAMOUS), lambda own, person: (kb.SINGLE[person],)),
        "plain": score(unknown, lambda own, person: own[person]),
        "in_vectors": per_seed([_read_off(base) for base in bases], ASKED * len(kb.RELATIONS)),
    }
    with _mapped(specimen, stack, bases):
        found["replaced"] = score(unknown, lambda own, person: (place[person],))
        found["beside"] = score(unknown, lambda own, person: (place[person], "/", *own[person]))
    with _mapped(specimen, stack, bases, turn=1):
        found["shuffled"] = score(unknown, lambda own, person: (place[person],))
    return found


def linear_map(base: Base, targets: np.ndarray, turn: int = 0) -> np.ndarray:
    """What least squares, fitted to the famous and their targets (famous, size), makes of the unknown: (asked, size).

    turn: by how many places the vectors of the unknown are dealt on among them.
    """
    inputs = np.column_stack([base.vectors, np.ones(len(base.vectors))])
    weights = np.linalg.lstsq(inputs[:FAMOUS], targets, rcond=None)[0]
    return np.roll(inputs[-ASKED:], turn, axis=0) @ weights


@contextmanager
def _mapped(specimen: Specimen, stack: Stack, bases: Sequence[Base], turn: int = 0) -> Iterator[None]:
    """Puts the mapped vectors of the unknown at `PLACES`, for a while; not trained further."""
    famous, places = (specimen.tokenizer.convert_tokens_to_ids(list(own)) for own in (kb.SINGLE[:FAMOUS], PLACES))
    before = stack.weights[PIECES]
    table = before.detach().clone()
    for own, base in zip(table, bases, strict=True):
        own[places] = torch.tensor(linear_map(base, own[famous].double().numpy(), turn), dtype=own.dtype)
    stack.weights[PIECES] = table
    yield
    stack.weights[PIECES] = before


def _read_off(base: Base) -> float:
    """Share of the facts of the unknown that `linear_map` finds in their vectors themselves."""
    facts = np.eye(kb.CHOICES)[base.objects]  # (people, relations, objects)
    read = linear_map(base, facts[:FAMOUS].reshape(FAMOUS, -1)).reshape(facts[-ASKED:].shape)
    return float((read.argmax(-1) == base.objects[-ASKED:]).mean())


EXPERIMENTS = {"entities-at-the-input": afterwards}
