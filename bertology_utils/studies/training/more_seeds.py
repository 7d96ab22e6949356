"""Arms that need more seeds than a chapter's minutes: masks, more to read, shapes of the net.

As those of `laboratory`, but every seed has nouns, adjectives, names and sentences of its own, so that an interval over
seeds covers words, sentences, weights and order. The study `small-models` records them.
Depends on `tuning.tiny_pretraining`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from bertology_utils.language.facts import invented_people
from bertology_utils.language.grammar import Sentence
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import UnitSamples, per_seed
from bertology_utils.studies.training.budgets import FACTS_BUDGET
from bertology_utils.studies.training.chosen_masks import (
    Choose,
    evenly,
    masked_feed,
    name_masks,
    rare_losses,
    rare_rivals,
    rarer,
)
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.tuning.together import train_together
from bertology_utils.tuning.two_languages import BilingualRecipe

RECIPE = replace(tiny.TINY, steps=90)
SENTENCES, HELD_OUT, WORDS = 2600, 300, 224
FEW, COPIES = 100, 10  # sentences that are read again and again, and masks of each that are drawn once
VERBS = 100  # at least so many of the held-out sentences have a form of be, have or do
LONG = 900  # steps: after ninety nothing is learnt of rare words
PEOPLE, PIECES = 24, 80  # of whom a seed invents its facts, and pieces of their words
STACKED = 1000  # added to a seed, for the order of the second half
Texts = Sequence[Sequence[Sequence[str]]]


@cache
def sentences_of(seed: int) -> list[Sentence]:
    return tiny.small_language(SENTENCES, seed, drawn=True)


def words_of(seed: int) -> list[Sequence[str]]:
    return [sentence.words for sentence in sentences_of(seed)]


def texts_of(seeds: Sequence[int]) -> Texts:
    return [words_of(seed)[:-HELD_OUT] for seed in seeds]


def untrained(seeds: Sequence[int], **changes: float) -> list[Specimen]:
    return tiny.untrained_each([words_of(seed) for seed in seeds], WORDS, replace(RECIPE, **changes), seeds)


def pretrained(
    texts: Texts,
    seeds: Sequence[int],
    feed: tiny.Feed = tiny.endless_batches,
    **changes: float,
) -> list[Specimen]:
    recipe = replace(RECIPE, **changes)
    return tiny.train_each(untrained(seeds, **changes), texts, recipe, seeds, feed)


def losses_of(models: Sequence[Specimen], seeds: Sequence[int]) -> UnitSamples:
    """Nats a masked word of each model on its own held-out sentences: (seeds, 1)."""
    pairs = zip(models, seeds, strict=True)
    losses = [tiny.held_out_losses([model], words_of(seed)[-HELD_OUT:]).mean() for model, seed in pairs]
    return per_seed(np.array(losses), HELD_OUT)


def _beside_untrained(arms: Mapping[str, Sequence[Specimen]], seeds: Sequence[int], **changes: float) -> Runs:
    """Losses of the arms; the control has those of untrained models in all of them. Both know `untrained`."""
    blank = losses_of(untrained(seeds, **changes), seeds)
    found = {name: losses_of(models, seeds) for name, models in arms.items()} | {"untrained": blank}
    return Runs(found, dict.fromkeys(found, blank))


def masks(seeds: Sequence[int]) -> Runs:
    """Losses after a hundred sentences under ten masks each, `static`, or under new ones, `dynamic` (liu2019roberta).

    Those after a third of the steps are `early_static` and `early_dynamic`.
    """
    few, third = [text[:FEW] for text in texts_of(seeds)], RECIPE.steps // 3
    copies = [list(text) * COPIES for text in few]
    arms = {"dynamic": (few, tiny.endless_batches), "static": (copies, tiny.static_batches)}
    return _beside_untrained(
        {
            f"{when}{name}": pretrained(texts, seeds, feed, steps=steps)
            for when, steps in (("", RECIPE.steps), ("early_", third))
            for name, (texts, feed) in arms.items()
        },
        seeds,
    )


def reading(seeds: Sequence[int]) -> Runs:
    """Losses after a hundred sentences, `few_sentences`, or all of them for a third of the steps, `short`, or for all.

    Those are `many_sentences`; `agreement` and `agreement_short` are the shares of verbs whose right number is
    preferred after all steps or a third (liu2019roberta).
    """
    texts = texts_of(seeds)
    short, long = pretrained(texts, seeds, steps=RECIPE.steps // 3), pretrained(texts, seeds)
    few = pretrained([text[:FEW] for text in texts], seeds)
    found = _beside_untrained({"few_sentences": few, "short": short, "many_sentences": long}, seeds)
    blank = _agreement(untrained(seeds), seeds)
    agreeing = {"agreement": long, "agreement_short": short}
    return Runs.together(
        found, Runs({name: _agreement(own, seeds) for name, own in agreeing.items()}, dict.fromkeys(agreeing, blank))
    )


def _agreement(models: Sequence[Specimen], seeds: Sequence[int]) -> UnitSamples:
    """Verbs of held-out sentences whose right number is preferred: (seeds, 1)."""
    pairs = zip(models, seeds, strict=True)
    return per_seed([tiny.agreement([model], sentences_of(seed)[-HELD_OUT:]).mean() for model, seed in pairs], VERBS)


def shapes(seeds: Sequence[int]) -> Runs:
    """Losses with 1, 2, 4 layers of two heads, and 1, 2, 8 heads in two layers (wang2019crosslingual); `stacked`: two
    layers for half of the steps, copied on top of themselves for the other half (gong2019efficient)."""
    texts = texts_of(seeds)
    arms = {f"layers_{n}": pretrained(texts, seeds, layers=n) for n in (1, 2, 4)}
    arms |= {f"heads_{n}": pretrained(texts, seeds, heads=n) for n in (1, 8)} | {"heads_2": arms["layers_2"]}
    half = pretrained(texts, seeds, steps=RECIPE.steps // 2)
    arms["stacked"] = _stacked(half, texts, seeds)
    return _beside_untrained(arms, seeds)


def _stacked(shallow: Sequence[Specimen], texts: Texts, seeds: Sequence[int]) -> list[Specimen]:
    recipe: BilingualRecipe = replace(RECIPE, steps=RECIPE.steps // 2)
    deep = [tiny.stacked(model) for model in shallow]
    return tiny.train_each(deep, texts, recipe, [STACKED + seed for seed in seeds])


def rare_words(seeds: Sequence[int]) -> Runs:
    """`chosen_masks.rare_losses` after even masks, `rare_even`, ..., after masks of rare words, `rare_chosen`, ...
    (lample2019crosslingual), and untrained, `rare_untrained`, ...; as long as rare words take to be learnt at all."""
    texts, recipe = texts_of(seeds), replace(RECIPE, steps=LONG)
    arms = {"untrained": untrained(seeds)}
    for arm, choices in (("even", evenly), ("chosen", rarer)):
        arms[arm] = _masked_by(untrained(seeds), texts, [choices(text) for text in texts], seeds, recipe)
    found = {arm: _at_rare_words(models, seeds) for arm, models in arms.items()}
    sides = (
        {f"{part}_{arm}": values for arm in arms for part, values in found[of or arm].items()}
        for of in ("", "untrained")
    )
    return Runs(*sides)


def _masked_by(
    fresh: Sequence[Specimen], texts: Texts, choices: Sequence[Choose], seeds: Sequence[int], recipe: BilingualRecipe
) -> list[Specimen]:
    """Fresh models, trained in place to fill in what their choices hide of their texts."""
    each = zip(fresh, texts, choices, seeds, strict=True)
    feeds = [masked_feed(own, text, choose, seed, recipe.budget) for own, text, choose, seed in each]
    return train_together(fresh, feeds, recipe.steps, recipe.learning_rate)


def _at_rare_words(models: Sequence[Specimen], seeds: Sequence[int]) -> dict[str, UnitSamples]:
    each = [
        rare_losses(model, words_of(seed)[-HELD_OUT:], rare_rivals(sentences_of(seed)[:-HELD_OUT]))
        for model, seed in zip(models, seeds, strict=True)
    ]
    return {part: per_seed([own[part] for own in each], HELD_OUT) for part in each[0]}


def names(seeds: Sequence[int]) -> Runs:
    """Shares of facts known after `chosen_masks.name_masks`, `facts_words`, ..., and before any training, `guesses`."""
    people = [invented_people(PEOPLE, congruent=False, seed=seed) for seed in seeds]
    texts = [[person.statement() for person in own] for own in people]
    recipe, choices = replace(RECIPE, budget=FACTS_BUDGET), [name_masks(own) for own in people]
    words = [[*text, own[0].candidates] for text, own in zip(texts, people, strict=True)]

    def fresh() -> list[Specimen]:
        return tiny.untrained_each(words, PIECES, recipe, seeds)

    arms = {"guesses": fresh()}
    for arm in choices[0]:
        arms[f"facts_{arm}"] = _masked_by(fresh(), texts, [own[arm] for own in choices], seeds, recipe)
    known = {
        arm: per_seed([tiny.planted_facts([own], of).mean() for own, of in zip(models, people, strict=True)], PEOPLE)
        for arm, models in arms.items()
    }
    return Runs(known, dict.fromkeys(known, known["guesses"]))


EXPERIMENTS = {
    "masks-drawn-once": masks,
    "reading-more": reading,
    "layers-or-heads": shapes,
    "rare-words": rare_words,
    "names-masked": names,
}
