"""What else the tiny models are compared in: facts that nets of several depths store, and the size of the batch.

Depends on `laboratory` and `tuning.tiny_pretraining`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bertology_utils.language.facts import InventedPerson
from bertology_utils.runs import Runs
from bertology_utils.samples import by_unit
from bertology_utils.studies.training.laboratory import UNTRAINED, Laboratory, Models
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

FACTS_BUDGET, FACTS_STEPS = 160, 4  # pieces a batch, as statements are short; times the steps of the base
RATES = (0.5, 1, 2)  # times the learning rate of the base


def facts_known(lab: Laboratory, people: Sequence[InventedPerson], train: Callable[..., Mapping[str, Models]]) -> Runs:
    """Facts known (P@1) by arms that read the same statements equally often: (seeds, countries) each.

    train(words, statements, recipe) gives the arms. The control are the guesses of untrained models, which are a sample
    of their own as well.
    """
    statements = [person.statement() for person in people]
    words = sorted({word for statement in statements for word in statement} | set(people[0].candidates))
    recipe = replace(lab.recipe, budget=FACTS_BUDGET, steps=FACTS_STEPS * lab.steps)
    blank = tiny.over_seeds(lambda seed: tiny_specimen(words, recipe, seed), lab.seeds)
    arms = {**train(words, statements, recipe), "guesses": blank}
    countries = [person.country for person in people]
    facts = {name: by_unit(tiny.planted_facts(models, people), countries) for name, models in arms.items()}
    return Runs(facts, dict.fromkeys(facts, facts["guesses"]))


def stored(lab: Laboratory, people: Sequence[InventedPerson], layers: Sequence[int]) -> Runs:
    """`facts_known` by nets of several depths."""

    def train(words: Sequence[str], statements: Sequence[Sequence[str]], recipe: BilingualRecipe) -> dict[str, Models]:
        deep = {depth: replace(recipe, layers=depth) for depth in layers}
        made = {depth: tiny.pretrain_all(words, statements, own, lab.seeds) for depth, own in deep.items()}
        return {f"facts_{depth}_layer{'s' * (depth > 1)}": models for depth, models in made.items()}

    return facts_known(lab, people, train)


@dataclass(frozen=True)
class BatchSizes:
    """Arms of equal pieces in batches of several sizes: their recipes, and losses and agreement on held-out sentences.

    The samples are (seeds, words) of the half of the sentences on which no learning rate was tried.
    """

    recipes: Mapping[str, BilingualRecipe]
    samples: Runs

    def sentence(self) -> str:
        """Steps, rate, loss and agreement of each arm."""
        scores = self.samples.model
        told = (
            f"{recipe.steps} steps of {recipe.budget} at a rate of {recipe.learning_rate:g}: "
            f"{scores[f'{size}_batch'].mean():.2f} nats, agreement {scores[f'agreement_{size}'].mean():.2f}"
            for size, recipe in self.recipes.items()
        )
        return f"At equal pieces: {'; '.join(told)}."


def batch_sizes(lab: Laboratory, **arms: Mapping[str, Any]) -> BatchSizes:
    """Trains an arm for each size, named with what it changes in the recipe, at the best of three learning rates.

    The rate is chosen on two seeds and every second held-out sentence; the other half decides. The first arm is also
    trained with twice its steps, as `longer_batch`.
    """
    recipes = {size: with_best_rate(lab, replace(lab.recipe, **changes)) for size, changes in arms.items()}
    left, first = slice(1, None, 2), next(iter(recipes.values()))
    longer = lab.train(**vars(first) | {"steps": 2 * first.steps})
    untrained = lab.losses(lab.untrained, left)
    found = {UNTRAINED: untrained, "longer_batch": Runs(lab.losses(longer, left), untrained)}
    for size, recipe in recipes.items():
        models = lab.train(**vars(recipe))
        found[f"{size}_batch"] = Runs(lab.losses(models, left), untrained)
        found[f"agreement_{size}"] = lab.agreement(models, left)
    return BatchSizes(recipes, Runs.joined(**found))


def with_best_rate(lab: Laboratory, recipe: BilingualRecipe) -> BilingualRecipe:
    """The recipe with the rate of lowest loss, over two seeds and every second held-out sentence."""
    trials = [replace(recipe, learning_rate=share * lab.recipe.learning_rate) for share in RATES]
    losses = [
        tiny.held_out_losses(tiny.pretrain_all(lab.words, lab.corpus, trial, 2), lab.unseen[::2]).mean()
        for trial in trials
    ]
    return trials[int(np.argmin(losses))]
