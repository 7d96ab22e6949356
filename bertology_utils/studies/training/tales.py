"""Tales: a text whose sentences hang together, of which it is known how. Depends on `language.lexicon` alone.

A tale has a theme, which tells its nouns, and goes through acts in an order that all tales share, each of which has its
verbs: *sailor washed boat*. So a sentence tells of its neighbours what they are about and what happens in them, and
nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertology_utils.language.lexicon import load_lexicon, noun_forms

ACTS, THEMES = 6, 5
NOUNS, VERBS = 6, 3  # of each theme and each act
HELD_OUT = 3  # one in so many pairs of nouns is for tales that nobody reads in training
SIZES = (THEMES, NOUNS), (ACTS, VERBS)
VERB = 1  # the place of the verb in a sentence
Words = tuple[str, ...]
Tale = list[Words]


@dataclass(frozen=True)
class World:
    """Which nouns belong to a theme, (themes, nouns), and which verbs to an act, (acts, verbs)."""

    nouns: np.ndarray
    verbs: np.ndarray

    @property
    def words(self) -> list[str]:
        """All words of the text."""
        return [*self.nouns.ravel().tolist(), *self.verbs.ravel().tolist()]

    def tales(self, count: int, rng: np.random.Generator, new: bool = False, round_about: bool = True) -> list[Tale]:
        """`count` tales, a sentence an act. No sentence of `new` ones is in others: they pair other nouns.

        round_about: begin with any act, the first coming after the last, so that no place in a tale tells its act.
        """
        pairs = [(a, b) for a in range(NOUNS) for b in range(NOUNS) if a != b and ((a + b) % HELD_OUT == 0) == new]
        return [self._tale(self.nouns[rng.integers(THEMES)], pairs, rng, round_about) for _ in range(count)]

    def _tale(
        self, nouns: np.ndarray, pairs: Sequence[tuple[int, int]], rng: np.random.Generator, round_about: bool
    ) -> Tale:
        chosen, verbs = rng.integers(len(pairs), size=ACTS), rng.integers(VERBS, size=ACTS)
        acts = np.roll(self.verbs, int(rng.integers(ACTS)) * round_about, axis=0)
        told = zip((pairs[i] for i in chosen), verbs, acts, strict=True)
        return [(str(nouns[a]), str(of_act[verb]), str(nouns[b])) for (a, b), verb, of_act in told]


def world(rng: np.random.Generator) -> World:
    """Nouns and past forms of verbs dealt out by chance."""
    lexicon = load_lexicon("train")
    nouns = sorted({noun_forms(noun)[0] for group in lexicon.nouns.values() for noun in group})
    verbs = sorted({verb.past for group in lexicon.verbs.values() for verb in group} - set(nouns))
    dealt = (rng.permutation(words) for words in (nouns, verbs))
    return World(*(own[: a * b].reshape(a, b) for own, (a, b) in zip(dealt, SIZES, strict=True)))
