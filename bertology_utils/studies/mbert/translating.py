"""An experiment on what a masked language model's weights are worth to a translator that has few pairs.

Depends on `tuning.translating` (the translator and its language), `tiny_pretraining` (masked language models, all seeds
at once) and `side_by_side` (samples of arms). The translators of a seed differ in the weights that their encoder starts
with, and in nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert import side_by_side as lab
from bertology_utils.studies.mbert.carried_over import copies
from bertology_utils.studies.mbert.side_by_side import Models, Values, Words
from bertology_utils.tuning.mlm_training import mlm_losses
from bertology_utils.tuning.tiny_pretraining import train_each
from bertology_utils.tuning.translating import RECIPE, Pair, Translator, drawn, share_right, translators

READ, PAIRED, STEPS = 900, 100, 250  # sentences of English alone, pairs, steps on these
ARMS = ("random", "shuffled", "english")


@dataclass(frozen=True)
class Texts:
    """What one seed reads and is asked: sentences of English alone, pairs of others, held-out pairs; and a masked
    language model before it has read any."""

    start: Specimen
    english: Sequence[Words]
    paired: Sequence[Pair]
    asked: Sequence[Pair]


def draw(seed: int) -> Texts:
    """Words, noun classes and sentences of a seed; no sentence comes twice."""
    _, pairs, start = drawn(READ + PAIRED + lab.ASKED, seed)
    paired, asked, rest = pairs[:PAIRED], pairs[PAIRED:][: lab.ASKED], pairs[PAIRED + lab.ASKED :]
    return Texts(start, [english for english, _ in rest], paired, asked)


def shuffled(sentences: Sequence[Words], seed: int) -> list[Words]:
    """The same sentences, each in an order of its own."""
    rng = np.random.default_rng(seed)
    return [tuple(rng.permutation(words).tolist()) for words in sentences]


def first_weights(seeds: Sequence[int]) -> Runs:
    """Translators whose encoder starts as a masked language model of English, of shuffled English, or at random.

    right_*: share of the pieces of held-out translations that are the likeliest behind the right ones before them;
    wrong_*: the same where another sentence is read; known_*: of the pairs that were read; of the arms random, shuffled
    and english. loss_*: nats of a masked word of held-out English before pairs are read (clinchant2019use).
    """
    texts = [draw(seed) for seed in seeds]
    fresh, english = [own.start for own in texts], [own.english for own in texts]
    mixed = [shuffled(*of) for of in zip(english, seeds, strict=True)]
    read = train_each(copies(fresh * 2), [*mixed, *english], RECIPE, [*seeds, *seeds])
    starts = [*fresh, *read]
    made = translators(starts, [own.paired for own in texts] * len(ARMS), STEPS, [*seeds] * len(ARMS))
    groups = [slice(place * len(seeds), (place + 1) * len(seeds)) for place in range(len(ARMS))]
    arms = {arm: (starts[group], made[group]) for arm, group in zip(ARMS, groups, strict=True)}
    return lab.compared(arms, arms["random"], lambda of: measured(*of, texts), {"loss_untrained": losses(fresh, texts)})


def losses(models: Models, texts: Sequence[Texts]) -> list[float]:
    """Nats of a masked word of held-out English, a mean a seed."""
    asked = [[english for english, _ in own.asked] for own in texts]
    return [float(mlm_losses(*pair).mean()) for pair in zip(models, asked, strict=True)]


def measured(starts: Models, made: Sequence[Translator], texts: Sequence[Texts]) -> Values:
    """The samples of an arm, a value a seed each."""
    asked = list(zip(made, texts, strict=True))
    return {
        "known": [share_right(model, own.paired) for model, own in asked],
        "right": [share_right(model, own.asked) for model, own in asked],
        "wrong": [share_right(model, own.asked, shift=1) for model, own in asked],
        "loss": losses(starts, texts),
    }


EXPERIMENTS = {"first-weights-of-a-translator": first_weights}
