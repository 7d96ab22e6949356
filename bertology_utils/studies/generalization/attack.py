"""The word-substitution attack of jin2020bert on tuned readers of one sentence, beside as many substitutions at random.

Depends on `tuning`, the lexicon and `tokenizing`. Words are tried in the order of how much the right answer
loses when they are left out; what may stand in a word's place are words of its class and form, so that the answer stays
right, nearest first in the model's own input embeddings. Deviation: the study searches counter-fitted vectors and keeps
sentences alike by a second encoder, where here the grammar says which words may change places.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bertology_utils.language.lexicon import Lexicon, load_lexicon, noun_forms
from bertology_utils.models import Specimen
from bertology_utils.tokenizing import pieces_of
from bertology_utils.tuning.training import Examples, FineTuned, finetune_seeds, predict

NEIGHBOURS = 10  # of a word that are tried
SETTINGS = {"epochs": 3, "budget": 128}
Neighbours = Mapping[str, Sequence[str]]  # word -> other words of its class, the nearest first
Words = tuple[str, ...]


@dataclass
class Victim:
    """A sentence under attack, its label, the places of its content words in the order in which they are tried, how
    sure the reader is of the right answer, and the places that were changed."""

    words: Words
    label: int
    order: list[int]
    sure: float
    changed: list[int] = field(default_factory=list)

    def options(self, place: int, near: Neighbours) -> Iterator[Words]:
        """The sentence with another word at a place, of which it has none twice."""
        for word in near[self.words[place]]:
            if word not in self.words:
                yield exchanged(self.words, place, word)


def attacked(specimen: Specimen, lessons: Examples, examples: Examples, seeds: Sequence[int]) -> dict[str, np.ndarray]:
    """Readers tuned on lessons, asked about examples of new words before and under attack: 0/1 (seeds, items) each.

    accuracy: before; attacked: after the search; random: after as many words of the same class at random; changed: the
    share of words that the search exchanged in what was right before, (seeds, 1).
    """
    runs, _ = finetune_seeds(specimen, lessons, examples, seeds, **SETTINGS)
    found = [attack(run, examples, np.random.default_rng(seed)) for run, seed in zip(runs, seeds, strict=True)]
    return {name: np.stack([own[name] for own in found]) for name in found[0]}


def attack(run: FineTuned, examples: Examples, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """What `attacked` gives, of one reader: (items,) each, changed (1,)."""
    near = neighbours(run.specimen)
    sure = sureness(run, examples.sentences, examples.labels)
    after = {"accuracy": sure > 0.5, "attacked": sure > 0.5, "random": sure > 0.5}
    right = np.flatnonzero(sure > 0.5)
    if not len(right):
        return after | {"changed": np.zeros(1)}
    victims = ranked(run, [Victim(examples.sentences[i], examples.labels[i], [], sure[i]) for i in right], near)
    before = [victim.words for victim in victims]
    search(run, victims, near)
    by_chance = [scattered(words, own, near, rng) for words, own in zip(before, victims, strict=True)]
    after["attacked"][right] = [victim.sure > 0.5 for victim in victims]
    after["random"][right] = sureness(run, by_chance, [victim.label for victim in victims]) > 0.5
    return after | {"changed": np.array([np.mean([len(own.changed) / len(own.words) for own in victims])])}


def neighbours(specimen: Specimen, split: str = "test") -> Neighbours:
    """All words of the same class and form, by cosine of the model's own input embeddings, means over pieces."""
    table, near = specimen.encoder.get_input_embeddings().weight.detach().numpy(), {}
    for words in exchangeable(load_lexicon(split)):
        vectors = np.stack([table[pieces_of(specimen.tokenizer, [word])].mean(0) for word in words])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        order = np.argsort(-vectors @ vectors.T, axis=1, kind="stable")
        own = {word: [words[i] for i in row if words[i] != word] for word, row in zip(words, order, strict=True)}
        near = own | near  # a form that is two, such as a past and a participle, counts as the first
    return near


def exchangeable(lexicon: Lexicon) -> list[list[str]]:
    """Words that may change places: nouns of a kind and number, verbs of a frame and form, others of a group."""
    nouns = [[noun_forms(noun) for noun in own] for own in lexicon.nouns.values()]
    numbers = [[own[-1] for own in kind if len(own) == count] for kind in nouns for count in (1, 2)]  # mass, plural
    numbers += [[own[0] for own in kind if len(own) == 2] for kind in nouns]
    verbs: dict[tuple, list[tuple[str, ...]]] = {}
    for verb in (verb for own in lexicon.verbs.values() for verb in own):
        verbs.setdefault((verb.frame, verb.subjects, verb.objects), []).append(verb.forms)
    forms = [list(own) for alike in verbs.values() for own in zip(*alike, strict=True)]
    groups = [list(own) for table in (lexicon.adjectives, lexicon.adverbs, lexicon.names) for own in table.values()]
    return [list(dict.fromkeys(words)) for words in (*numbers, *forms, *groups) if words]


def ranked(run: FineTuned, victims: Sequence[Victim], near: Neighbours) -> Sequence[Victim]:
    """The same with their places in order: first where leaving the word out costs the right answer most."""
    places = [[place for place, word in enumerate(own.words) if near.get(word)] for own in victims]
    without = [[own.words[:p] + own.words[p + 1 :] for p in mine] for own, mine in zip(victims, places, strict=True)]
    for own, mine, sure in zip(victims, places, asked(run, victims, without), strict=True):
        own.order = [mine[i] for i in np.argsort(sure, kind="stable")]
    return victims


def search(run: FineTuned, victims: Sequence[Victim], near: Neighbours) -> None:
    """Word after word, the nearest substitute that turns the answer, or else the one that makes it least sure."""
    few, rank = {word: own[:NEIGHBOURS] for word, own in near.items()}, 0
    while alive := [victim for victim in victims if victim.sure > 0.5 and rank < len(victim.order)]:
        tried = [list(victim.options(victim.order[rank], few)) for victim in alive]
        for victim, options, sure in zip(alive, tried, asked(run, alive, tried), strict=True):
            turned = np.flatnonzero(sure <= 0.5)
            best = int(turned[0] if len(turned) else sure.argmin()) if options else -1
            if options and sure[best] < victim.sure:
                victim.words, victim.sure = options[best], float(sure[best])
                victim.changed.append(victim.order[rank])
        rank += 1


def scattered(words: Words, victim: Victim, near: Neighbours, rng: np.random.Generator) -> Words:
    """A sentence with as many words of their class at random, at random places, as the search has changed."""
    for place in rng.permutation(victim.order)[: len(victim.changed)]:
        others = [own for own in near[words[place]] if own not in words]
        words = exchanged(words, place, str(rng.choice(others or [words[place]])))
    return words


def exchanged(words: Words, place: int, word: str) -> Words:
    return (*words[:place], word, *words[place + 1 :])


def asked(run: FineTuned, victims: Sequence[Victim], tried: Sequence[Sequence[Words]]) -> list[np.ndarray]:
    """How sure a reader is of the right answer to several sentences in each victim's place, read all at once."""
    labels = [own.label for own, options in zip(victims, tried, strict=True) for _ in options]
    sure = sureness(run, [words for options in tried for words in options], labels) if labels else np.zeros(0)
    return np.split(sure, np.cumsum([len(options) for options in tried])[:-1])


def sureness(run: FineTuned, sentences: Sequence[Words], labels: Sequence[int]) -> np.ndarray:
    """The probability of the right answer: (sentences,)."""
    return predict(run.classifier, run.specimen, Examples(sentences, labels))[
        np.arange(len(labels)), np.asarray(labels)
    ]
