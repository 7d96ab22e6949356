"""The laboratory of the chapter: tiny models that read a small English, alone or beside a twin of it.

Depends on `tiny_pretraining` (the language, trainings), `two_languages` (measures), `crosslingual` (tags, counting
words) and `figures`. A pair is English and a `TwinLanguage`, the Fake-English of wang2019crosslingual; the
control of all models is an untrained one of the same size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bertology_utils import figures
from bertology_utils.activations import sentence_vectors
from bertology_utils.figures import Figure
from bertology_utils.language.grammar import Sentence
from bertology_utils.language.twins import shift_word
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import by_unit
from bertology_utils.studies.mbert import crosslingual
from bertology_utils.studies.mbert.crosslingual import selected
from bertology_utils.tuning import tiny_pretraining
from bertology_utils.tuning.mlm_training import mlm_losses
from bertology_utils.tuning.two_languages import (
    BilingualRecipe,
    TwinLanguage,
    centred_retrieval,
    tiny_specimen,
    twin_language,
    vocabulary_overlap,
)

PLAIN_LETTERS = -200_000  # back from the letters of a twin, which are outside every script in use
EMBEDDINGS_RATE = 8e-3  # the learning rate where piece embeddings alone are trained
UNTRAINED = "untrained"
Models = Sequence[Specimen]
Pair = TwinLanguage | Sequence[TwinLanguage]
"""The second language of a pair: one for all models, or one for each."""


@dataclass(frozen=True)
class Laboratory:
    """A small English, and one model a seed of each kind that reads it.

    Attributes:
        read_size, asked_size, more_size: sentences that are read, asked, and asked besides about agreement.
        steps: of the bilingual models; those of English alone have half, and so read as much English.
        seeds: models of a kind.
        seed: of the sentences, and the first of the words that twins share.
    """

    read_size: int
    asked_size: int
    more_size: int
    steps: int
    seeds: int
    seed: int = 0

    @property
    def recipe(self) -> BilingualRecipe:
        return BilingualRecipe(layers=2, heads=2, steps=self.steps, learning_rate=4e-3, budget=512)

    @cached_property
    def language(self) -> list[Sentence]:
        return tiny_pretraining.small_language(self.read_size + self.asked_size + self.more_size, seed=self.seed)

    @property
    def read(self) -> Sequence[Sentence]:
        """The sentences that are read in training."""
        return self.language[: self.read_size]

    @property
    def asked(self) -> Sequence[Sentence]:
        return self.language[self.read_size :][: self.asked_size]

    @cached_property
    def english(self) -> list[tuple[str, ...]]:
        """The words of each sentence that is read."""
        return [sentence.words for sentence in self.read]

    @cached_property
    def held_out(self) -> list[tuple[str, ...]]:
        """The words of each sentence that is asked."""
        return [sentence.words for sentence in self.asked]

    @cached_property
    def words(self) -> list[str]:
        """All English words that are read, sorted."""
        return sorted({word for words in self.english for word in words})

    # ------------------------------------------------------------ twins

    def twins(self, sharing: float) -> list[TwinLanguage]:
        """Twins with a share of English's word types, other types for each model: one draw is no sample of draws."""
        return [twin_language(self.english, sharing, seed=self.seed + model) for model in range(self.seeds)]

    def _each(self, pair: Pair) -> list[TwinLanguage]:
        """The second language of each model."""
        return [pair] * self.seeds if isinstance(pair, TwinLanguage) else list(pair)

    def translations(self, pairs: Mapping[str, Pair]) -> list[dict[str, Any]]:
        """The shortest sentence in each pair, a row of a table each; the twin's words in brackets, in plain letters."""
        example, types = min(self.english, key=len), set(self.words)
        firsts = {name: self._each(pair)[0] for name, pair in pairs.items()}

        def shown(word: str) -> str:
            return word if word in types else f"⟨{shift_word(word, PLAIN_LETTERS)}⟩"

        return [
            {
                "pair": name.replace("_", " "),
                "English": " ".join(example),
                "twin": " ".join(map(shown, pair.translate(example))),
                "overlap": round(vocabulary_overlap(types, {w for s in self.english for w in pair.translate(s)}), 2),
            }
            for name, pair in firsts.items()
        ]

    # ------------------------------------------------------------ models

    def train(self, pair: Pair) -> Models:
        """Models that read both languages, mixed and unmarked."""
        texts = [[*self.english, *map(language.translate, self.english)] for language in self._each(pair)]
        if isinstance(pair, TwinLanguage):
            return tiny_pretraining.pretrain_all(self._words_of_both, texts[0], self.recipe, self.seeds)
        return tiny_pretraining.pretrain_each(self._words_of_both, texts, self.recipe)

    @cached_property
    def _words_of_both(self) -> list[str]:
        """English words and those of the twin that shares none."""
        return sorted({*self.words, *map(shift_word, self.words)})

    @cached_property
    def untrained(self) -> Models:
        """The control of all."""
        return [tiny_specimen(self._words_of_both, self.recipe, seed) for seed in range(self.seeds)]

    def train_english(self) -> Models:
        """Models that read English alone, in half of the steps."""
        return tiny_pretraining.pretrain_all(self._words_of_both, self.english, self._half, self.seeds)

    @property
    def _half(self) -> BilingualRecipe:
        return replace(self.recipe, steps=self.steps // 2)

    def train_embeddings(self, models: Models, pair: TwinLanguage) -> Models:
        """Copies of models whose piece embeddings alone read the twin's sentences, in half of the steps.

        The body stays as it is: artetxe2019crosslingual.
        """
        second = [pair.translate(words) for words in self.english]
        return tiny_pretraining.train_embeddings(models, second, replace(self._half, learning_rate=EMBEDDINGS_RATE))

    # ------------------------------------------------------------ measures

    def losses(self, models: Models, pair: TwinLanguage) -> dict[str, np.ndarray]:
        """Loss in nats a masked word on what is asked, in English and in its twin: (seeds, sentences)."""
        sides = {"English": self.held_out, "twin": self._translated(pair)}
        return {name: np.stack([mlm_losses(model, side) for model in models]) for name, side in sides.items()}

    def retrieval(self, models: Models, pair: Pair) -> np.ndarray:
        """Is the nearest sentence of the twin the translation, centred? (seeds, odd sentences), at the best layer."""
        found = []
        for model, language in zip(models, self._each(pair), strict=True):
            sides = (sentence_vectors(model, side) for side in (self.held_out, self._translated(language)))
            found.append(selected(centred_retrieval(*sides)))
        return np.stack(found)

    def counting(self, pair: Pair) -> np.ndarray:
        """The same by counting common words, which needs no model: (sentences,), or (seeds, sentences)."""
        if isinstance(pair, TwinLanguage):
            return crosslingual.lexical_retrieval(self.held_out, self._translated(pair))
        return np.stack([self.counting(language) for language in pair])

    def agreement(self, models: Models, alone: bool = False) -> np.ndarray:
        """Is the right number preferred at the masked verb of unread English sentences, or `alone`? (seeds, verbs)."""
        return tiny_pretraining.agreement(models, self.language[self.read_size :], alone)

    def tagging(self, read: int, asked: int) -> "Tagging":
        """The transfer of a tagger that is trained on the first English sentences."""
        return Tagging(self.read[:read], self.asked[:asked])

    def _translated(self, pair: TwinLanguage) -> list[tuple[str, ...]]:
        return [pair.translate(words) for words in self.held_out]


@dataclass(frozen=True)
class Tagging:
    """A tagger of parts of speech learns from English vectors and is asked in a twin; see `zero_shot_tagging`."""

    read: Sequence[Sentence]
    asked: Sequence[Sentence]

    def scores(self, models: Models, pair: Pair, readers: Models | None = None) -> np.ndarray:
        """Correctness at every layer: (seeds, layers + 1, words); `readers` read the twin where other models do."""
        languages = [pair] * len(models) if isinstance(pair, TwinLanguage) else pair
        sides = zip(models, languages, readers or [None] * len(models), strict=True)
        return np.stack(
            [
                crosslingual.zero_shot_tagging(model, self.read, self.asked, language, reader)
                for model, language, reader in sides
            ]
        )

    def best(self, scores: np.ndarray) -> np.ndarray:
        """Odd words, at each model's best layer on the even ones: (seeds, sentences)."""
        return by_unit(np.stack([selected(of_model) for of_model in scores]), self._sentences[1::2])

    def guessed(self) -> np.ndarray:
        """The same of the most frequent tag: (sentences,)."""
        return by_unit(self.commonest[1::2], self._sentences[1::2])

    @cached_property
    def commonest(self) -> np.ndarray:
        """Is the most frequent tag right? (words,)."""
        return crosslingual.majority_tagging(self.read, self.asked)

    @cached_property
    def _sentences(self) -> np.ndarray:
        return np.array(crosslingual.sentence_of_words(self.asked))


def bars(runs: Runs, *names: str, **options: Any) -> Figure:
    """A group of bars a sample, trained and untrained; a twin is a language here, and no model."""
    shown = {name.replace("_", " "): {"trained": runs.model[name], UNTRAINED: runs.twin[name]} for name in names}
    return figures.bars(shown, controls=[UNTRAINED], **options)
