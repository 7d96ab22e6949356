"""Fragments of logic taught to tiny readers of inference: coordination, comparatives, quantifiers, conditionals.

Each reader has learnt an ordinary task before: a clause of another kind stands beside the one that matters, so that all
words have been met, but no pair turns on `neither`, `less`, `every` or `if`. Labels are drawn when the hypothesis
stands, so that it tells nothing by itself. Depends on `language.lexicon`, `tuning.together` and the pooling of
`tuning.training`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.regimens import INIT_DEVIATION
from bertology_utils.tuning.shortcuts import joined, part
from bertology_utils.tuning.together import Batch, Packed, Stack, clip_each, pack
from bertology_utils.tuning.training import Examples, pooled
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

RECIPE = BilingualRecipe(layers=2, width=48, heads=2, inner=96, steps=700, learning_rate=3e-3)
APART = 10  # times BERT's spread of word vectors: readers match words much sooner if these differ from the start
TEACHING_STEPS, RATES, BATCH = 250, (1e-3, 3e-4), 20  # steps, rates that are tried, pairs
ORDINARY, LESSONS, ASKED, DRAWN = 2400, 400, 200, 16  # pairs: to read, of each fragment, to ask; words of each kind
FOLLOWS, OPEN, CONTRADICTS = range(3)
Pair = tuple[str, str]  # premise and hypothesis
NAMES, ADJECTIVES, PEOPLE = (
    [str(word) for split in ("train", "test") for word in of(load_lexicon(split))]
    for of in (
        lambda part: part.names["male"] + part.names["female"],
        lambda part: part.adjectives["living"],
        lambda part: [noun.singular for noun in part.nouns["neutral"]],
    )
)
FRAMES = "is not both neither either and nor or are more less than every some no if the , ."
# From which premises each hypothesis follows, of which it is open, and by which it is contradicted.
SQUARE = {
    "every": (("every",), ("some",), ("no", "not every")),
    "some": (("some", "every"), ("not every",), ("no",)),
    "no": (("no",), ("not every",), ("some", "every")),
    "not every": (("not every", "no"), ("some",), ("every",)),
}


# ---------------------------------------------------------------- the language


class Words(NamedTuple):
    """Names, adjectives and people, in an order of their own."""

    names: list[str]
    adjectives: list[str]
    people: list[str]

    def shuffled(self, rng: np.random.Generator) -> "Words":
        """In another order."""
        return Words(*(rng.permutation(own).tolist() for own in self))

    def part(self, chosen: slice) -> "Words":
        """Some of each."""
        return Words(*(own[chosen] for own in self))


def state(subject: str, adjective: str, true: bool) -> str:
    """`anna is tall`, `anna is not tall`."""
    return f"{subject} is {adjective}" if true else f"{subject} is not {adjective}"


def boolean(own: Words, label: int, rng: np.random.Generator) -> Pair:
    """`neither anna nor ben is tall`: anna is not tall. Open: after `either`, and of others."""
    (one, two, other), quality, (true, coin, order) = own.names[:3], own.adjectives[0], coins(3, rng)
    frame = "both {} and {} are" if true == _agrees(label, rng) else "neither {} nor {} is"
    if label == OPEN and coin:
        frame = "either {} or {} is"
    told = (other if label == OPEN and not coin else one, two)
    return f"{frame} {quality}".format(*(told if order else told[::-1])), state(one, quality, true)


def comparative(own: Words, label: int, rng: np.random.Generator) -> Pair:
    """`anna is more tall than ben`: ben is less tall than anna. Open: of a third one, or of another quality."""
    (one, two, other), (quality, second), (more, coin, same) = own.names[:3], own.adjectives[:2], coins(3, rng)
    hypothesis = f"{one} is {'more' if more else 'less'} {quality} than {two}"
    if label == OPEN:
        two, quality = (other, quality) if coin else (two, second)
    word = "more" if (more == same) == (label != CONTRADICTS) else "less"
    first, last = (one, two) if same else (two, one)
    return f"{first} is {word} {quality} than {last}", hypothesis


def quantifier(own: Words, label: int, rng: np.random.Generator) -> Pair:
    """`no king is tall`: not every king is tall. Open as well: of other people, or of another quality."""
    (one, other), (quality, second), (elsewhere, coin) = own.people[:2], own.adjectives[:2], coins(2, rng)
    asked = str(rng.choice(list(SQUARE)))
    hypothesis, said = f"{asked} {one} is {quality}", SQUARE[asked][label]
    if label == OPEN and elsewhere:
        said, one, quality = list(SQUARE), *((other, quality) if coin else (one, second))
    return f"{rng.choice(said)} {one} is {quality}", hypothesis


def conditional(own: Words, label: int, rng: np.random.Generator) -> Pair:
    """`if anna is tall , ben is not old , anna is tall`: ben is not old. Open where the condition does not hold."""
    (one, two), (first, second), (condition, asked) = own.names[:2], own.adjectives[:2], coins(2, rng)
    then, given = asked == _agrees(label, rng), condition == (label != OPEN)
    premise = f"if {state(one, first, condition)} , {state(two, second, then)} , {state(one, first, given)}"
    return premise, state(two, second, asked)


FRAGMENTS: Mapping[str, Callable[[Words, int, np.random.Generator], Pair]] = {
    own.__name__: own for own in (boolean, comparative, quantifier, conditional)
}


def ordinary(own: Words, label: int, rng: np.random.Generator) -> Pair:
    """`anna is tall`, alone or beside a premise of a fragment: anna is tall, or is not; open: of another or other."""
    (quality, second), (true, coin, named) = own.adjectives[:2], coins(3, rng)
    one, other = own.names[:2] if named else [f"the {noun}" for noun in own.people[:2]]
    told = (one, quality) if label != OPEN else (other, quality) if coin else (one, second)
    fact = state(*told, true == (label != CONTRADICTS))
    beside = FRAGMENTS[str(rng.choice(list(FRAGMENTS)))](own.part(slice(2, None)), int(rng.integers(3)), rng)[0]
    premise = str(rng.choice((fact, f"{fact} , {beside}", f"{beside} , {fact}")))
    return premise, state(one, quality, true)


def coins(count: int, rng: np.random.Generator) -> list[bool]:
    """So many tosses."""
    return rng.integers(2, size=count).astype(bool).tolist()


def _agrees(label: int, rng: np.random.Generator) -> bool:
    """Whether a premise says what the hypothesis says; where it is open, as often as not."""
    return coins(1, rng)[0] if label == OPEN else label == FOLLOWS


def pairs(kind: str, own: Words, count: int, rng: np.random.Generator) -> Examples:
    """So many premises and hypotheses of the ordinary task or of a fragment, as many of each label."""
    labels, make = [i % 3 for i in range(count)], (FRAGMENTS | {"ordinary": ordinary})[kind]
    made = [make(own.shuffled(rng), label, rng) for label in labels]
    first, second = ([(*text.split(), ".") for text in side] for side in zip(*made, strict=True))
    return Examples(first, labels, second)


def blinded(examples: Examples) -> Examples:
    """The same without their premises."""
    return replace(examples, sentences=[(".",)] * len(examples))


# ---------------------------------------------------------------- the readers


@dataclass(frozen=True)
class Readers:
    """Stacked encoders and heads (models, 4 * width, 3), and the specimen whose tokenizer they share."""

    specimen: Specimen
    stack: Stack
    head: Tensor

    @classmethod
    def untrained(cls, seeds: Sequence[int]) -> "Readers":
        """One a seed."""
        made = [tiny_specimen((*NAMES, *ADJECTIVES, *PEOPLE, *FRAMES.split()), RECIPE, seed) for seed in seeds]
        heads = [torch.randn(4 * RECIPE.width, 3, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
        stack = Stack([own.model for own in made])
        stack.weights["bert.embeddings.word_embeddings.weight"].data.mul_(APART)
        return cls(made[0], stack, (INIT_DEVIATION * torch.stack(heads)).requires_grad_(True))

    def logits(self, batch: Packed) -> Tensor:
        """(models, pairs, 3), from the means of both sentences, compared."""
        hidden = self.stack.hidden(batch).flatten(0, 1)[batch.rows]
        inputs = {"attention_mask": batch.real, "input_ids": batch.ids.flatten()[batch.rows]}
        both = pooled(hidden, inputs, "pair", self.specimen.tokenizer.sep_token_id)
        return both.view(len(self.head), -1, both.shape[-1]) @ self.head

    def read(self, examples: Iterable[Examples]) -> list[Batch]:
        """The pieces of each model's pairs, (pairs, longest), and their `answers`."""
        made = []
        for own in examples:
            batch = model_inputs(self.specimen, encode_words(self.specimen, own.sentences, own.pairs))
            batch["labels"] = torch.full_like(batch["input_ids"], IGNORED)
            made.append({**batch, "answers": torch.tensor(own.labels)})
        return made

    def learn(self, read: Sequence[Batch], steps: int, rate: float) -> None:
        """Trains all on pairs of their own."""
        generator = torch.Generator().manual_seed(0)

        def losses() -> Tensor:
            rows = torch.randint(len(read[0]["answers"]), (BATCH,), generator=generator)
            batch = [{key: values[rows] for key, values in own.items()} for own in read]
            answers = torch.stack([own["answers"] for own in batch])
            logits = self.logits(pack(batch)).transpose(1, 2)
            return nn.functional.cross_entropy(logits, answers, reduction="none").mean(1)

        descend([{"params": [*self.stack.weights.values(), self.head], "lr": rate}], losses, steps, clip_each)

    @torch.no_grad()
    def score(self, read: Sequence[Batch]) -> np.ndarray:
        """Accuracy of each on its pairs: (seeds,)."""
        right = self.logits(pack(read)).argmax(-1) == torch.stack([own["answers"] for own in read])
        return right.double().mean(1).numpy()


Sets = Mapping[str, Sequence[Batch]]  # of the ordinary task and of each fragment, one a seed


def taught(seeds: Sequence[int]) -> Runs:
    """Accuracy on four fragments of inference before and after some hundred pairs of each (richardson2019probing).

    Of boolean, comparative, quantifier and conditional, on words that no lesson had: _before, of readers of the
    ordinary task; _taught; _blind, of the same readers taught and asked without premises; lessons_boolean_taught and
    so on, on lessons themselves. ordinary_before and _taught, on new pairs of the ordinary task: (seeds, 1). As in the
    study, what is taught is the better of several trials, by the mean of both tasks on pairs that are not asked.
    """
    rngs = [np.random.default_rng(seed) for seed in seeds]
    words = [Words(NAMES, ADJECTIVES, PEOPLE).shuffled(rng).part(slice(DRAWN)) for rng in rngs]
    known, new = ([own.part(slice(place, None, 2)) for own in words] for place in (0, 1))

    def made(kind: str, count: int, of: Sequence[Words]) -> list[Examples]:
        return [pairs(kind, own, count, rng) for own, rng in zip(of, rngs, strict=True)]

    asked = [{kind: made(kind, ASKED, of) for kind in FRAGMENTS} for of in (new, known)]
    lessons = {kind: made(kind, LESSONS, known) for kind in FRAGMENTS}
    readers = Readers.untrained(seeds)
    blank = {kind: readers.read(map(blinded, own)) for kind, own in asked[0].items()}
    tests, trials = (
        {kind: readers.read(own) for kind, own in (each | {"ordinary": made("ordinary", ASKED, words)}).items()}
        for each in asked
    )
    first = slice(ASKED)
    tests |= {f"lessons_{kind}": readers.read(part(of, first) for of in own) for kind, own in lessons.items()}
    untrained = _scores(readers, [readers], readers, (tests, trials, blank))
    readers.learn(readers.read(made("ordinary", ORDINARY, words)), RECIPE.steps, RECIPE.learning_rate)
    together = [reduce(joined, own) for own in zip(*lessons.values(), strict=True)]
    full, blind, read = [deepcopy(readers) for _ in RATES], deepcopy(readers), readers.read(together)
    for own, rate in zip(full, RATES, strict=True):
        own.learn(read, TEACHING_STEPS, rate)
    blind.learn(readers.read(map(blinded, together)), TEACHING_STEPS, max(RATES))
    return Runs(_scores(readers, full, blind, (tests, trials, blank)), untrained, networks=len(seeds))


def _scores(before: Readers, full: Sequence[Readers], blind: Readers, asked: tuple[Sets, Sets, Sets]) -> dict:
    """The samples of `taught`; asked: what is told, what chooses the rate, and what has no premises."""
    tests, trials, blank = asked
    tried = {kind: np.array([own.score(read) for own in full]) for kind, read in trials.items()}  # (rates, seeds)
    best = (np.mean([tried[kind] for kind in FRAGMENTS], 0) + tried["ordinary"]).argmax(0)
    found = {f"{kind}_blind": blind.score(read) for kind, read in blank.items()}
    for kind, read in tests.items():
        after = np.choose(best, [own.score(read) for own in full])
        found |= {f"{kind}_before": before.score(read), f"{kind}_taught": after}
    return {name: per_seed(values, ASKED) for name, values in found.items()}


EXPERIMENTS = {"reasoning-fragments": taught}
