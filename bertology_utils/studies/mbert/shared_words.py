"""Does it help transfer to share words? Pairs of a small English and its twin, in many seeds.

Every seed has words, sentences, weights and shared words of its own. Depends on `crosslingual` (tags) and
`tiny_pretraining`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bertology_utils.language.grammar import Sentence
from bertology_utils.language.twins import shift_word
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.studies.mbert import crosslingual
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.tuning.two_languages import BilingualRecipe, TwinLanguage, padded, tiny_specimen, twin_language

RECIPE = BilingualRecipe(layers=2, heads=2, steps=480, learning_rate=4e-3, budget=512)
READ, ASKED, TAGGED, WORDS = 2300, 150, 200, 230  # sentences, and words of a language, unused ones among them
SHARED = 0.4  # of the word types


@dataclass(frozen=True)
class Seed:
    """What one seed reads and is asked, and its twin language that shares words."""

    seed: int

    @cached_property
    def sentences(self) -> list[Sentence]:
        return tiny.small_language(READ + ASKED, self.seed, drawn=True)

    @property
    def english(self) -> list[Sequence[str]]:
        return [sentence.words for sentence in self.sentences[:READ]]

    @cached_property
    def sharing(self) -> TwinLanguage:
        return twin_language(self.english, SHARED, seed=self.seed)

    def untrained(self, recipe: BilingualRecipe) -> Specimen:
        """Over both languages, `padded` as those of all seeds."""
        words = sorted({word for sentence in self.sentences for word in sentence.words})
        return tiny_specimen(padded([*words, *map(shift_word, words)], 2 * WORDS), recipe, self.seed)

    def text(self, language: TwinLanguage) -> list[Sequence[str]]:
        return [*self.english, *map(language.translate, self.english)]

    def moved(self, right: np.ndarray) -> float:
        """The mean, over words that are in other letters in both twins, at the layer best on half of them."""
        chosen = crosslingual.in_other_letters(self.sentences[READ:], self.sharing)
        return float(crosslingual.selected(np.atleast_2d(right)[:, chosen]).mean())

    def tagged(self, model: Specimen, language: TwinLanguage) -> float:
        """Zero-shot tags right in a twin; see `crosslingual.zero_shot_tagging`."""
        return self.moved(
            crosslingual.zero_shot_tagging(model, self.sentences[:TAGGED], self.sentences[READ:], language)
        )

    @property
    def guessed(self) -> float:
        return self.moved(crosslingual.majority_tagging(self.sentences[:TAGGED], self.sentences[READ:]))


def shared_words(seeds: Sequence[int]) -> Runs:
    """Tags right in a twin that shares no word (`no_overlap`) or two types in five, on words it shares in neither.

    wang2019crosslingual against pires2019multilingual; `majority` answers the commonest tag.
    """
    own = [Seed(seed) for seed in seeds]
    languages = {"no_overlap": [TwinLanguage()] * len(own), "some_overlap": [one.sharing for one in own]}
    sides: tuple[dict, dict] = ({}, {})
    for name, twins in languages.items():
        pairs = list(zip(own, twins, strict=True))
        blank, fresh = ([one.untrained(RECIPE) for one in own] for _ in range(2))
        trained = tiny.train_each(fresh, [o.text(t) for o, t in pairs], RECIPE, seeds)
        for side, models in zip(sides, (trained, blank), strict=True):
            side[name] = per_seed([o.tagged(m, t) for m, (o, t) in zip(models, pairs, strict=True)])
    majority = per_seed([one.guessed for one in own])
    return Runs(*(side | {"majority": majority} for side in sides), networks=len(own))


EXPERIMENTS = {"shared-words": shared_words}
