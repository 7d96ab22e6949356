"""Another name of the same kind (balasubramanian2020whats): does the class of a sentence change with it?

Depends on `answers` for flips, on `training` for tuned models; sentences come from `semantic_tasks`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Self

import numpy as np

from bertology_utils.language.semantic_tasks import OutcomeItem, outcome_items, outcome_verbs, outcome_words
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.studies.semantics.answers import flips, matched_nouns, seed_flips
from bertology_utils.tuning.training import Examples, finetune_seeds


@dataclass(frozen=True)
class Classes:
    """What tuned models say: right or wrong (seeds, sentences), and which swaps turn it (seeds, sentences, swaps)."""

    correct: np.ndarray
    names: np.ndarray
    nouns: np.ndarray


@dataclass(frozen=True)
class NameSwaps:
    """Sentences with a good or bad outcome, versions of the tested ones, and the noun that stands for each name."""

    train: Sequence[OutcomeItem]
    test: Sequence[OutcomeItem]
    stand_ins: Mapping[str, str]

    @classmethod
    def drawn(cls, specimen: Specimen, sizes: tuple[int, int], swaps: int, seed: int) -> Self:
        """So many sentences of training and test; each of these with so many other names, and as many other nouns.

        The nouns have as many pieces as the names, and are about as frequent, in the specimen's vocabulary.
        """
        stand_ins = matched_nouns(specimen, *outcome_words("test"))
        train = outcome_items(sizes[0], "train", swaps, seed)
        return cls(train, outcome_items(sizes[1], "test", swaps, seed, stand_ins), stand_ins)

    @property
    def example(self) -> str:
        """Three names with their nouns, in Markdown."""
        return ", ".join(f"*{noun}* for *{name}*" for name, noun in islice(self.stand_ins.items(), 3))

    @property
    def has_known_verb(self) -> np.ndarray:
        """Which test sentences have a verb of the training: booleans (sentences,)."""
        return np.isin([item.verb for item in self.test], [*chain(*outcome_verbs("train").values())])

    def classes(self, specimen: Specimen, seeds: Sequence[int], epochs: int) -> Classes:
        """Fine-tunes once a seed, and reads every test sentence and its versions."""
        train, test = (Examples([i.words for i in part], [i.label for i in part]) for part in (self.train, self.test))
        runs, correct = finetune_seeds(specimen, train, test, seeds, epochs=epochs, budget=128)
        versions = [(*item.name_swaps, *item.noun_swaps) for item in self.test]
        turned = np.stack([flips(run, test.sentences, versions) for run in runs])
        names = len(self.test[0].name_swaps)
        return Classes(correct, turned[..., :names], turned[..., names:])

    def samples(self, found: Classes) -> dict[str, np.ndarray]:
        """Accuracy over verbs, and shares of classes that something turns, over names or nouns: (seeds, units) each."""
        verbs, names, nouns = ([getattr(i, kind) for i in self.test] for kind in ("verb", "names", "nouns"))
        return {
            "accuracy": by_unit(found.correct, verbs),
            "some_name_flips": by_unit(found.names.any(-1), names),
            "name_flips": by_unit(found.names.mean(-1), names),
            "noun_flips": by_unit(found.nouns.mean(-1), nouns),
            "seed_flips": by_unit(seed_flips(found.correct), names),
        }
