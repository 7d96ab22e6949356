"""Who acts, a person or an animal? Fine-tuned on some words, tested on others. Depends on `stories` and `training`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertology_utils.instruments.controls import majority_baseline
from bertology_utils.models import Specimen
from bertology_utils.samples import UnitSamples, by_unit
from bertology_utils.studies.overview.stories import PEOPLE, beings, who_acts
from bertology_utils.tuning.training import Examples, finetune_seeds


@dataclass(frozen=True)
class WhoActs:
    """The task: training and test sentences without a shared noun or verb, and how often the first are read."""

    train: Examples
    test: Examples
    epochs: int

    @classmethod
    def of(cls, train: int, test: int, epochs: int, seed: int = 0) -> "WhoActs":
        return cls(who_acts(train, "train", seed), who_acts(test, "test", seed), epochs)

    @property
    def majority(self) -> float:
        """Accuracy of the label that is more frequent in training."""
        return float(majority_baseline(self.train.labels, self.test.labels).mean())

    @property
    def first_acts(self) -> float:
        """Accuracy in the test of who knows people from animals and lets whichever is named first act."""
        people = {word for words in PEOPLE.values() for word in words.split()}
        first = [named[0] in people for named in beings(self.test.sentences)]
        return float(np.mean(np.array(first) == np.array(self.test.labels)))

    def tuned(self, specimen: Specimen, seeds: Sequence[int], **options: object) -> UnitSamples:
        """Accuracy on new words after fine-tuning with each seed, over the nouns that sentences share."""
        options = {"epochs": self.epochs, "budget": 128} | options
        correct = finetune_seeds(specimen, self.train, self.test, seeds, **options)[1]
        return by_unit(correct, beings(self.test.sentences))
