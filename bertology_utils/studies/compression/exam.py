"""What every recipe of the chapter is scored by: the same sentences, masks and pairs, whatever it did to the model.

Depends on `scorecard` for the scores; items come from `grammar` and `pairs`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from torch import Tensor, nn

from bertology_utils.compression.prune import pruned
from bertology_utils.compression.quantize import Quantised
from bertology_utils.compression.scorecard import count, kept, with_model
from bertology_utils.language.agreement_verbs import agreement_verbs
from bertology_utils.language.grammar import generate
from bertology_utils.language.pairs import MinimalPair, agreement_pairs
from bertology_utils.models import Specimen
from bertology_utils.samples import like
from bertology_utils.tuning.mlm_training import mlm_losses


@dataclass(frozen=True)
class Exam:
    """Sentences whose words are masked, and pairs of verb forms of which one agrees with its subject.

    An untrained model, which guesses, is asked a fifth of the pairs.
    """

    sentences: Sequence[Sequence[str]]
    pairs: Sequence[MinimalPair]

    @classmethod
    def drawn(cls, sentences: int, pairs: int, seed: int) -> Self:
        """So many of each from the grammar's test split; no noun of the other number stands before a verb."""
        words = [sentence.words for sentence in generate(sentences, seed=seed, split="test")]
        return cls(words, agreement_pairs(pairs, seed=seed, split="test", verbs=agreement_verbs()))

    def scores(
        self, specimen: Specimen, smaller: nn.Module | Quantised, agreement: bool = True
    ) -> dict[str, np.ndarray]:
        """The `loss` in nats a masked piece (sentences,) and right choices of `agreement` (verbs,) of a smaller model.

        The second is left out where it is not asked for. `factor` says how many times smaller it is than the specimen:
        by its own count where it is quantised, else by its parameters, zeros among them.
        """
        packed = isinstance(smaller, Quantised)
        model = smaller.model if packed else smaller
        found = {"factor": smaller.factor if packed else count(specimen.model) / count(model)}
        changed = with_model(specimen, model)
        if not agreement:
            return found | {"loss": mlm_losses(changed, self.sentences)}
        asked = self.pairs[: -(-len(self.pairs) // 5)] if specimen.is_random else self.pairs
        scores = kept(changed, self.sentences, asked)
        return found | {"loss": scores.losses, "agreement": scores.by_verb}

    def masked(self, specimen: Specimen, masks: Mapping[str, Tensor], agreement: bool = True) -> dict[str, np.ndarray]:
        """The scores of the specimen's own model while the masks hold; its weights come back afterwards."""
        with pruned(specimen.model, masks):
            return self.scores(specimen, specimen.model, agreement)


def over_seeds(scores: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Scores of models that differ in their seed as samples: (seeds, units) each; their `factor` is one."""
    first = scores[0]
    stacked = {name: like(first[name], np.stack([own[name] for own in scores])) for name in first if name != "factor"}
    return stacked | {"factor": first["factor"]}
