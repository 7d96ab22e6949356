"""RoBERTa's recipe as a ladder, an ingredient more on each rung, and BERT's recipe for as many pieces as the last.

All arms are one small net that reads pairs of neighbouring sentences of `tales`, a world a seed. Depends on
`pretraining.objectives` (pairs) and `tuning.tiny_pretraining`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch

from bertology_utils.models import Specimen
from bertology_utils.pretraining.objectives import next_sentence_pairs
from bertology_utils.runs import Runs
from bertology_utils.samples import UnitSamples, per_seed
from bertology_utils.studies.training.tales import ACTS, Tale, Words, World, world
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.tuning.hidden_words import losses
from bertology_utils.tuning.mlm_training import mask_batch, shuffled_rows, special_ids
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

FEW, MANY, ASKED = 20, 400, 300  # tales that are read, and new sentences that are asked
STEPS, BATCH, RATE = 250, 64, 2**-9  # of the base; the rate is the best of long baseline and last rung on other seeds
BY_BATCH = 2 / 3  # the power of the batch that its rate grows with, as the rates chosen in `more_seeds` do
SIZE = {"width": 32, "inner": 64}
CHANGES = {  # of the rung before
    "dynamic_masks": {"fixed_masks": False},
    "without_nsp": {"next_sentence": False},
    "more_text": {"tales": MANY},
    "longer": {"longer": 2},
    "larger_batches": {"larger": 2},
}


@dataclass(frozen=True)
class Arm:
    """What an arm reads, and how; BERT's recipe where nothing is said (devlin2019bert)."""

    tales: int = FEW  # whose pairs of neighbours are read
    copies: int = 10  # of each pair, half of them with a random second sentence, where NSP is asked
    fixed_masks: bool = True  # one for each copy, not a new one at each sight
    next_sentence: bool = True
    longer: int = 1  # times the steps of the base
    larger: int = 1  # times the pieces of its batch

    @property
    def recipe(self) -> BilingualRecipe:
        """Its sizes, steps and rate."""
        sizes = {"steps": STEPS * self.longer, "budget": BATCH * self.larger}
        return replace(tiny.TINY, **SIZE, **sizes, learning_rate=RATE * self.larger**BY_BATCH)


def rungs() -> dict[str, Arm]:
    """The ladder from BERT's recipe to RoBERTa's, and the first recipe for as many pieces as the last (liu2019roberta).

    Over all the text two copies of a pair will do, as each is read about twice.
    """
    arms = [*accumulate(CHANGES.values(), lambda arm, change: replace(arm, **change), initial=Arm())]
    long = Arm(longer=arms[-1].longer * arms[-1].larger)
    made = dict(zip(("baseline", *CHANGES), arms, strict=True))
    return made | {"long_baseline": long, "long_baseline_more_text": replace(long, tales=MANY, copies=2)}


class Text(NamedTuple):
    """The world of a seed, its tales, of which an arm may read the first, and new sentences, which none of them has."""

    world: World
    told: list[Tale]
    asked: list[Words]


@cache
def text(seed: int) -> Text:
    """The text of a seed; what is asked are sentences alone, since only some arms read none but true pairs."""
    rng = np.random.default_rng(seed)
    own = world(rng)
    told, new = own.tales(MANY, rng), own.tales(ASKED // ACTS, rng, new=True)
    return Text(own, told, [sentence for tale in new for sentence in tale])


def untrained(seeds: Sequence[int]) -> list[Specimen]:
    """The net of all arms before its first step, one a seed."""
    return [tiny_specimen(text(seed).world.words, Arm().recipe, seed) for seed in seeds]


def feed(model: Specimen, arm: Arm, seed: int) -> tiny.PairFeed:
    """Masked batches of an arm's pairs with their classes, for ever."""
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    tales, special = text(seed).told[: arm.tales], special_ids(model)
    copies, true_share = (arm.copies, 0.5) if arm.next_sentence else (1, 1.0)
    pairs = [pair for _ in range(copies) for pair in next_sentence_pairs(tales, rng, true_share)]
    firsts, seconds, classes = zip(*pairs, strict=True)
    encodings, classes = encode_words(model, firsts, seconds), torch.tensor(classes)
    whole = model_inputs(model, encodings)  # no padding, as all sentences are equally long
    whole = mask_batch(whole, special, generator) if arm.fixed_masks else whole
    while True:
        for rows in shuffled_rows(model, encodings, rng, arm.recipe.budget):
            batch = {key: values[rows] for key, values in whole.items()}
            yield batch if arm.fixed_masks else mask_batch(batch, special, generator), classes[rows]


def train(arm: Arm, seeds: Sequence[int]) -> list[Specimen]:
    """The models of an arm, one a seed."""
    fresh, recipe = untrained(seeds), arm.recipe
    feeds = [feed(model, arm, seed) for model, seed in zip(fresh, seeds, strict=True)]
    heads = tiny.next_heads(recipe.width, seeds) if arm.next_sentence else None
    return tiny.train_on_pairs(fresh, feeds, recipe, heads)


def themes_known(model: Specimen, own: Text) -> float:
    """Share of new sentences whose last noun, hidden, is likelier than one of another theme in its place."""
    theme = {noun: row for row, nouns in enumerate(own.world.nouns.tolist()) for noun in nouns}
    others = [own.asked[row][-1] for row in np.random.default_rng(0).permutation(len(own.asked))]
    pairs = [(words, (*words[:-1], other)) for words, other in zip(own.asked, others, strict=True)]
    strange = [(words, wrong) for words, wrong in pairs if theme[words[-1]] != theme[wrong[-1]]]
    right, wrong = (losses(model, told, np.full((len(told), 1), 2)) for told in zip(*strange, strict=True))
    return float((right < wrong).mean())


def by_frequency(own: Text) -> float:
    """Nats a word of new sentences for who knows how often each is read, one sight added, and nothing else."""
    count = Counter(word for tale in own.told for words in tale for word in words)
    total = count.total() + len(own.world.words)
    return float(np.mean([-np.log((count[word] + 1) / total) for words in own.asked for word in words]))


def ladder(seeds: Sequence[int]) -> Runs:
    """Nats a masked word of new sentences after each of `rungs`, and `themes_` of each, as `themes_known`.

    frequencies: as `by_frequency`. The control has the same untrained nets in all arms.
    """
    texts, blank = [text(seed) for seed in seeds], untrained(seeds)
    both = {"frequencies": per_seed([by_frequency(own) for own in texts], ASKED)}

    def measured(models: Sequence[Specimen], name: str) -> dict[str, UnitSamples]:
        pairs = list(zip(models, texts, strict=True))
        lost = [tiny.held_out_losses([model], own.asked).mean() for model, own in pairs]
        known = [themes_known(*pair) for pair in pairs]
        return {name: per_seed(lost, ASKED), f"themes_{name}": per_seed(known, ASKED)}

    trained, control = dict(both), dict(both)
    for name, arm in rungs().items():
        trained |= measured(train(arm, seeds), name)
        control |= measured(blank, name)
    return Runs(trained, control, networks=len(seeds))


EXPERIMENTS = {"rungs-of-a-recipe": ladder}
