"""RoBERTa's recipe as a ladder, an ingredient more on each rung, and BERT's recipe for as many pieces as the last.

All arms are one small net that reads pairs of neighbouring sentences of `tales`, a world a seed. Depends on
`pretraining.objectives` (pairs) and `tuning.tiny_pretraining`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch

from bertology_utils.models import Specimen
from bertology_utils.pretraining.objectives import next_sentence_pairs
from bertology_utils.runs import Runs
from bertology_utils.samples import UnitSamples, per_seed
from bertology_utils.studies.training.tales import ACTS, Tale, Words, world
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.tuning.hidden_words import losses
from bertology_utils.tuning.mlm_training import mask_batch, shuffled_rows, special_ids
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

FEW, MANY, ASKED = 20, 400, 50  # tales that are read, and new ones that are asked
STEPS, BATCH, RATE = 250, 64, 2**-9  # of the base; the rate is the best of long baseline and last rung on other seeds
BY_BATCH = 2 / 3  # the power of the batch that its rate grows with, as the rates chosen in `more_seeds` do
SIZE = {"width": 32, "inner": 64}


@dataclass(frozen=True)
class Arm:
    """What an arm reads, and how; BERT's recipe where nothing is said (devlin2019bert).

    Attributes:
        tales: of how many the pairs of neighbours are read.
        copies: of each pair, half of them with a random second sentence, where NSP is asked.
        fixed_masks: one mask for each copy, not a new one at each sight.
        longer, larger: times the steps of the base, and the pieces of its batch.
    """

    tales: int = FEW
    copies: int = 10
    fixed_masks: bool = True
    next_sentence: bool = True
    longer: int = 1
    larger: int = 1

    @property
    def recipe(self) -> BilingualRecipe:
        """Its sizes, steps and rate."""
        sizes = {"steps": STEPS * self.longer, "budget": BATCH * self.larger}
        return replace(tiny.TINY, **SIZE, **sizes, learning_rate=RATE * self.larger**BY_BATCH)


def rungs() -> dict[str, Arm]:
    """The ladder from BERT's recipe to RoBERTa's, and the first recipe for as many pieces as the last (liu2019roberta).

    The copies of the first over all the text are so many that no mask returns more often than over a few tales.
    """
    made, own = {"baseline": Arm()}, Arm()
    for name, change in {
        "dynamic_masks": {"fixed_masks": False},
        "without_nsp": {"next_sentence": False},
        "more_text": {"tales": MANY},
        "longer": {"longer": 2},
        "larger_batches": {"larger": 2},
    }.items():
        made[name] = own = replace(own, **change)
    long = Arm(longer=own.longer * own.larger)
    return made | {"long_baseline": long, "long_baseline_more_text": replace(long, tales=MANY, copies=4)}


@dataclass(frozen=True)
class Text:
    """The words of a seed, its nouns (themes, nouns), its tales, of which an arm may read the first, and new ones."""

    words: Sequence[str]
    nouns: np.ndarray
    told: Sequence[Tale]
    new: Sequence[Tale]

    @property
    def theme_of(self) -> dict[str, frozenset[str]]:
        """Each noun with all nouns of its theme."""
        return {noun: frozenset(nouns) for nouns in self.nouns.tolist() for noun in nouns}

    @property
    def asked(self) -> list[Words]:
        """New sentences, each alone: only some arms have read that two that stand together belong together."""
        return [sentence for tale in self.new for sentence in tale]


@cache
def text(seed: int) -> Text:
    """The text of a seed; no sentence of its new tales is in the others."""
    rng = np.random.default_rng(seed)
    own = world(rng)
    return Text(own.words, own.nouns, own.tales(MANY, rng), own.tales(ASKED, rng, new=True))


def untrained(seeds: Sequence[int]) -> list[Specimen]:
    """The net of all arms before its first step, one a seed."""
    return [tiny_specimen(text(seed).words, Arm().recipe, seed) for seed in seeds]


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
    rng, sentences = np.random.default_rng(0), own.asked
    others = [sentences[row][-1] for row in rng.permutation(len(sentences))]
    pairs = [(words, (*words[:-1], other)) for words, other in zip(sentences, others, strict=True)]
    strange = [pair for pair in pairs if pair[1][-1] not in own.theme_of[pair[0][-1]]]
    right, wrong = (losses(model, told, np.full((len(told), 1), 2)) for told in zip(*strange, strict=True))
    return float((right < wrong).mean())


def by_frequency(own: Text) -> float:
    """Nats a word of new sentences for who knows how often each is read, one sight added, and nothing else."""
    count = Counter(word for tale in own.told for words in tale for word in words)
    total = count.total() + len(own.words)
    return float(np.mean([-np.log((count[word] + 1) / total) for words in own.asked for word in words]))


def ladder(seeds: Sequence[int]) -> Runs:
    """Nats a masked word of new sentences after each of `rungs`, and `themes_` of each, as `themes_known`.

    frequencies: as `by_frequency`. The control has the same untrained nets in all arms.
    """
    texts, blank = [text(seed) for seed in seeds], untrained(seeds)
    known = {"frequencies": per_seed([by_frequency(own) for own in texts], ASKED * ACTS)}

    def measured(models: Sequence[Specimen], name: str) -> dict[str, UnitSamples]:
        pairs = list(zip(models, texts, strict=True))
        lost = [tiny.held_out_losses([model], own.asked).mean() for model, own in pairs]
        return {
            name: per_seed(lost, ASKED * ACTS),
            f"themes_{name}": per_seed([themes_known(*pair) for pair in pairs], ASKED * ACTS),
        }

    trained, control = dict(known), dict(known)
    for name, arm in rungs().items():
        trained |= measured(train(arm, seeds), name)
        control |= measured(blank, name)
    return Runs(trained, control, networks=len(seeds))


EXPERIMENTS = {"rungs-of-a-recipe": ladder}
