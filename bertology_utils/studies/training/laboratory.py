"""The laboratory of the chapter: a small language on which arms of tiny models are trained, alike but for one thing.

Depends on `tuning.tiny_pretraining` (trainings and measures), `runs` and `figures`; section 6 of rogers2020primer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bertology_utils import figures
from bertology_utils.figures import Figure
from bertology_utils.language.grammar import Sentence
from bertology_utils.language.lexicon import first_words
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import UnitSamples, by_unit
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.tuning.training import Examples
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen
from bertology_utils.verdicts.claims import claim_by_id

LOSS = "held-out loss (nats)"
UNTRAINED = "untrained"
EVERY = slice(None)
Models = Sequence[Specimen]


@dataclass(frozen=True)
class Laboratory:
    """A small language, of which the last `held_out_size` sentences are never read, and the recipe of the base arm.

    Every arm has `seeds` models and, unless it is told otherwise, `steps` steps with dynamic masks.
    """

    language: Sequence[Sentence]
    held_out_size: int
    steps: int
    seeds: int

    @cached_property
    def read(self) -> Sequence[Sentence]:
        """The sentences that the arms are trained on."""
        return self.language[: -self.held_out_size]

    @cached_property
    def held_out(self) -> Sequence[Sentence]:
        return self.language[-self.held_out_size :]

    @cached_property
    def corpus(self) -> list[Sequence[str]]:
        """The words of each sentence that is read."""
        return [sentence.words for sentence in self.read]

    @cached_property
    def unseen(self) -> list[Sequence[str]]:
        """The words of each held-out sentence."""
        return [sentence.words for sentence in self.held_out]

    @cached_property
    def words(self) -> list[str]:
        """All word forms, and the article that stories may need."""
        return sorted({word for sentence in self.language for word in sentence.words} | {"an"})

    @property
    def recipe(self) -> BilingualRecipe:
        """Of the base arm."""
        return replace(tiny.TINY, steps=self.steps)

    @cached_property
    def base(self) -> Models:
        """The base arm: masked words, all sentences, all steps."""
        return tiny.pretrain_all(self.words, self.corpus, self.recipe, self.seeds)

    @cached_property
    def untrained(self) -> Models:
        """The control of all arms."""
        return tiny.over_seeds(lambda seed: tiny_specimen(self.words, self.recipe, seed), self.seeds)

    def train(self, sentences: Sequence[Sequence[str]] | None = None, **changes: Any) -> Models:
        """An arm that differs from the base in its sentences or in fields of the recipe; the base where in nothing."""
        recipe = replace(self.recipe, **changes)
        if sentences is None and recipe == self.recipe:
            return self.base
        return tiny.pretrain_all(self.words, sentences or self.corpus, recipe, self.seeds)

    def train_static(
        self, sentences: Sequence[Sequence[str]], copies: int = 1, seeds: int | None = None, **changes: Any
    ) -> Models:
        """An arm whose masks are drawn once, for each of `copies` copies of a sentence (liu2019roberta)."""
        recipe = replace(self.recipe, **changes)
        return tiny.pretrain_static(self.words, sentences, recipe, seeds or self.seeds, copies)

    def train_pairs(self, documents: Sequence, next_sentence: bool) -> Models:
        """An arm that reads stories of two sentences, with next sentence prediction or on the true pairs alone."""
        return tiny.pretrain_pairs(self.words, documents, self.recipe, self.seeds, next_sentence)

    def losses(self, models: Models, part: slice = EVERY) -> UnitSamples:
        """Held-out loss in nats a masked word, `of_words` of all held-out sentences or of a part."""
        return of_words(tiny.held_out_losses(models, self.unseen[part]), self.unseen[part])

    @cached_property
    def untrained_losses(self) -> np.ndarray:
        return self.losses(self.untrained)

    def compare(self, **arms: Models | Runs) -> Runs:
        """The held-out losses of each arm as "model", those of untrained models as "twin"; both know `untrained`.

        Each seed of the untrained is a network of its own. What has been measured already, a `Runs`, stays as it is.
        """
        measured = {
            name: arm if isinstance(arm, Runs) else self._beside_untrained(self.losses(arm), self.untrained_losses)
            for name, arm in arms.items()
        }
        return Runs.joined(**measured, untrained=self.untrained_losses)

    def agreement(self, models: Models, part: slice = EVERY) -> Runs:
        """Is the right number preferred at the masked verb of held-out sentences? (seeds, nouns) of both sides."""
        sentences = self.held_out[part]
        nouns = first_words([pair.good for pair in tiny.agreement_pairs_of(sentences)], "nouns")
        sides = (by_unit(tiny.agreement(own, sentences), nouns) for own in (models, self.untrained))
        return self._beside_untrained(*sides)

    def _beside_untrained(self, arm: np.ndarray, untrained: np.ndarray) -> Runs:
        """An arm beside untrained networks, of which each seed has its own."""
        return Runs(arm, untrained, networks=self.seeds)

    def usual_forms(self, models: Models) -> np.ndarray:
        """Would the form that is more usual without its sentence be right? (seeds, verbs)."""
        return tiny.agreement(models, self.held_out, alone=True)

    def stories(self, count: int, seed: int) -> list:
        """`count` stories of two sentences, and 2 % more of held-out sentences at the end, not trained on."""
        return tiny.stories(self.read, count, seed) + tiny.stories(self.held_out, count // 49, seed)

    def number_task(self, size: int) -> tuple[Examples, Examples]:
        """Is the subject plural? Examples for fine-tuning, of `size` sentences that were read, and of all held out."""
        return tiny.number_examples(self.read[:size]), tiny.number_examples(self.held_out)


def of_words(values: np.ndarray, sentences: Sequence[Sequence[str]]) -> UnitSamples:
    """Values of sentences as samples over their first nouns and verbs, which they share: (..., nouns and verbs)."""
    return by_unit(values, list(zip(*(first_words(sentences, table) for table in ("nouns", "verbs")), strict=True)))


def nouns_of(examples: Examples) -> list[str]:
    """The noun that each example is about: the first of a sentence, or of a pair the first that both have."""
    pairs = zip(examples.sentences, examples.pairs or examples.sentences, strict=True)
    return first_words([[*(word for word in first if word in second), *first] for first, second in pairs], "nouns")


def bars(runs: Runs, *names: str, claim: str = "", caption: str = "", **options: Any) -> Figure:
    """A bar an arm, and one of the untrained models, which are the same for all."""
    shown = {name.replace("_", " "): runs.model[name] for name in names} | {UNTRAINED: runs.twin[names[0]]}
    options = {"ylabel": LOSS} | options
    return figures.bars(shown, controls=(UNTRAINED,), caption=captioned(caption, claim), **options)


def curve(x: Sequence[float], runs: Runs, claim: str = "", caption: str = "", **arms: Sequence[str]) -> Figure:
    """Mean losses of the seeds over steps or widths; of each line the names of its samples, one a point."""
    lines = {name.replace("_", " "): _seed_means(runs, samples) for name, samples in arms.items()}
    below = {UNTRAINED: runs.model[UNTRAINED].mean()}
    return figures.curve(x, lines, ylabel=LOSS, baselines=below, caption=captioned(caption, claim))


def _seed_means(runs: Runs, names: Sequence[str]) -> np.ndarray:
    """(samples, seeds), of the seeds that all of the samples have."""
    means = [runs.model[name].mean(1) for name in names]
    return np.stack([own[: min(map(len, means))] for own in means])


def width_curve(runs: Runs, caption: str = "", **widths: int) -> Figure:
    """Mean losses of the seeds by width, on a logarithmic axis: the name of each sample and its width."""
    lines = {"loss": _seed_means(runs, list(widths))}
    return figures.curve(list(widths.values()), lines, xlabel="width", logx=True, ylabel=LOSS, caption=caption)


def spread(runs: Runs, *names: str) -> float:
    """How far the mean losses of some arms lie apart (nats)."""
    return float(np.ptp([runs.model[name].mean() for name in names]))


def captioned(caption: str, claim: str) -> str:
    """The caption, and what the study's own figure showed."""
    return " ".join(filter(None, (*caption.split(), claim and claim_by_id(claim).figure)))
