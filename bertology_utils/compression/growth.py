"""What a model knows at every size, seed or step: loss and grammar of the members of a family on generated sentences.

Depends on `models`, `pairs` (constructions), `mlm_training` (loss), `cloze` (which form fits) and `compression`; names
come from `families`. All members read the same sentences under the same masks and share a tokenizer, so that everything
is paired.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from bertology_utils.absent import Absent
from bertology_utils.compression.outlier_effects import deviations
from bertology_utils.compression.outliers import deviating, outlier_dimensions
from bertology_utils.compression.scorecard import count, prune_everywhere, with_model
from bertology_utils.data.ambiguous_order import ambiguous_sentences
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.cloze import focus_preference, preferred
from bertology_utils.instruments.layer_curves import best_layer_samples
from bertology_utils.instruments.subjects import subject_scores
from bertology_utils.language.agreement_verbs import agreement_verbs
from bertology_utils.language.pairs import (
    NPI_CONDITIONS,
    MinimalPair,
    agreement_pairs,
    determiner_noun_pairs,
    npi_pairs,
    reflexive_pairs,
)
from bertology_utils.language.short_pairs import short_pairs
from bertology_utils.models import Specimen, load
from bertology_utils.samples import UnitSamples, by_unit
from bertology_utils.statistics import mean_interval
from bertology_utils.tuning.mlm_training import mlm_losses

NOUNS = ("NOUN", "PROPN")
BETWEEN = ("pp", "relative", "object_relative")
FEW = 200
EARLY = 0.2  # the share of training that counts as a short stretch
Constructions = Mapping[str, Sequence[MinimalPair]]


def constructions(n: int, seed: int = 0) -> dict[str, list[MinimalPair]]:
    """`n` minimal pairs of each of nine constructions, from the words of the grammar's test split."""
    options = {"seed": seed, "split": "test"}
    return {
        "agreement": agreement_pairs(n, **options),
        **{f"agreement, {k} attractor{'s' * (k > 1)}": agreement_pairs(n, k, **options) for k in (1, 2)},
        "agreement, nonsense": agreement_pairs(n, nonsense=True, **options),
        "determiner and noun": determiner_noun_pairs(n, **options),
        "determiner, adjective, noun": determiner_noun_pairs(n, 1, **options),
        "reflexive": reflexive_pairs(n, **options),
        "reflexive, 1 attractor": reflexive_pairs(n, 1, **options),
        "polarity item": npi_pairs(n, **options),
    }


def battery(n: int, seed: int = 0) -> dict[str, list[MinimalPair]]:
    """Constructions for comparisons that draw them: what stands between two words that agree, and in what they do.

    `n` minimal pairs of each from the test split, ten times as many of plain agreement, which has many verbs.
    """
    options = {"seed": seed, "split": "test"}
    rivals = [(k, place) for k in (1, 2) for place in BETWEEN] + [(1, "fronted")]
    ways = [(mismatch, k) for mismatch in ("gender", "number") for k in (0, 1)]
    return {
        "agreement": agreement_pairs(10 * n, verbs=agreement_verbs(), **options),
        **{
            f"agreement, {place}, {k} of the other number": agreement_pairs(n, k, place, **options)
            for k, place in rivals
        },
        **{
            f"agreement, {place}, 1 of the same number": agreement_pairs(n, 0, place, agreeing=1, **options)
            for place in BETWEEN
        },
        **{
            f"agreement, nonsense, {k} of the other number": agreement_pairs(n, k, nonsense=True, **options)
            for k in (0, 1)
        },
        **{f"determiner, {k} adjectives, noun": determiner_noun_pairs(n, k, **options) for k in (0, 1)},
        **{f"reflexive, {mismatch}, {k}": reflexive_pairs(n, k, mismatch, **options) for mismatch, k in ways},
        **{f"polarity item, {condition}": npi_pairs(n, condition, **options) for condition in NPI_CONDITIONS},
        **short_pairs(n, **options),
    }


def phenomenon(kind: str) -> str:
    """What a construction of the `battery` is one of several ways to ask about, by its name."""
    first = kind.split(", ")[0]
    if first in ("agreement", "reflexive"):
        how = [way for way in ("nonsense", "other number", "same number", "gender", "number") if way in kind]
        return ", ".join([first, *how[:1]])
    return kind if first == "polarity item" else first


@dataclass(frozen=True)
class Growth:
    """The members of a family and what they scored, all arrays in the order of `names`.

    losses: (models, sentences), nats a masked piece; judged: construction -> (models, pairs), is the word that the pair
    is about likelier in the grammatical sentence (goldberg2019assessing)? Pairs with unknown words are left out.
    words: construction -> the two forms that each pair is about; pairs share them.
    alone: the same judgements of these words without their sentences.
    """

    names: tuple[str, ...]
    losses: np.ndarray
    judged: dict[str, np.ndarray]
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    alone: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def pairs(self) -> np.ndarray:
        """All judgements (models, pairs of all constructions)."""
        return np.concatenate(list(self.judged.values()), axis=1)

    @property
    def guesses(self) -> float:
        """How often the last model's more usual word would be right, on average of all pairs."""
        return float(np.concatenate([judged[-1] for judged in self.alone.values()]).mean())

    def known(self, index: int = -1) -> list[str]:
        """Constructions that the model at `index` judges above chance: the lower end of its interval is over a half."""
        return [kind for kind, judged in self.judged.items() if mean_interval(judged[index]).low > 0.5]

    def larger_better(self) -> dict[str, float]:
        """Of the pairs of models that score differently, the share in which the later scores higher, by construction.

        Where all models score the same, as at the ceiling, nothing is compared and the construction is left out.
        """
        found = {}
        for kind, judged in self.judged.items():
            differences = [b - a for a, b in combinations(judged.mean(1), 2) if a != b]
            if differences:
                found[kind] = float(np.mean(np.array(differences) > 0))
        return found

    def larger_better_samples(self) -> UnitSamples | Absent:
        """`larger_better` by `phenomenon`: constructions of one phenomenon turn out alike."""
        found = self.larger_better()
        if not found:
            return Absent("No construction tells these models apart.")
        return by_unit(list(found.values()), list(map(phenomenon, found)))

    def two_largest(self) -> dict[str, UnitSamples]:
        """Judgements of agreement by the last two models, `smaller` and `larger`, and `alone` of the larger one's words
        without their sentences; samples over word forms."""
        rows = (*self.judged["agreement"][-2:], self.alone["agreement"][-1])
        return {
            name: by_unit(judged, self.words["agreement"])
            for name, judged in zip(("smaller", "larger", "alone"), rows, strict=True)
        }

    @property
    def knowledge(self) -> str:
        """How many constructions each model judges above chance, in words."""
        return "; ".join(f"{name} above chance in {len(self.known(i))}" for i, name in enumerate(self.names))

    def least_gain(self) -> np.ndarray:
        """What the least rewarding step from one model to the next saves on each sentence (nats); (sentences,)."""
        gains = self.losses[:-1] - self.losses[1:]
        return gains[gains.mean(1).argmin()]


def measure(names: Sequence[str], sentences: Sequence[Sequence[str]], by_construction: Constructions) -> Growth:
    """Loads one member after another and measures it; `random:` names give their untrained twins."""
    found = [_measured(load(name), sentences, by_construction) for name in names]
    judged, alone = (
        {kind: np.stack([preferred(sides[place][kind]) for sides in found]) for kind in by_construction}
        for place in (1, 2)
    )
    words = {
        kind: tuple(pair.forms for pair, known in zip(pairs, found[0][1][kind].covered, strict=True) if known)
        for kind, pairs in by_construction.items()
    }
    return Growth(tuple(names), np.stack([losses for losses, *_ in found]), judged, words, alone)


def _measured(specimen: Specimen, sentences, by_construction: Constructions) -> tuple[np.ndarray, dict, dict]:
    whole = {kind: focus_preference(specimen, pairs) for kind, pairs in by_construction.items()}
    alone = {kind: focus_preference(specimen, [p.alone for p in pairs]) for kind, pairs in by_construction.items()}
    return mlm_losses(specimen, sentences), whole, alone


def subjects_found(names: Mapping[str, str], train: int, test: int, seed: int = 0, **fit) -> dict[str, UnitSamples]:
    """Is the subject found where another noun comes first (lin2019open)? Of models by role, (seeds, subject nouns).

    Each at its best layer, chosen on the other half of the sentences; `fit` as of `subject_scores`, whose probes learn
    from the same sentences for all models. `any_noun`: how often any noun of a sentence would be right, (nouns,).
    """
    asked = ambiguous_sentences(test, True, seed, "test", "subject")
    nouns = [sentence.words[sentence.features["target"]] for sentence in asked]
    found = {"any_noun": by_unit([1 / sum(tag in NOUNS for tag in sentence.upos) for sentence in asked], nouns)}
    for role, name in names.items():
        scores = subject_scores(load(name), train, test, seed=seed, **fit)
        found[role] = by_unit(best_layer_samples(scores, {"best": range(len(scores))})["best"], nouns)
    return found


def equal_count(small: str, large: str, sentences: Sequence[Sequence[str]], untrained: str) -> dict[str, np.ndarray]:
    """Losses (sentences,) of two models of as many weights: the small one, and the large one with its smallest at zero.

    Nothing is retrained. `untrained` names a model that says what the small one learnt at all: it and the whole large
    one read the first `FEW` sentences only.
    """
    dense, whole = load(small), load(large)
    pruned = with_model(whole, prune_everywhere(whole.model, count(whole.model) / count(dense.model)))
    few = sentences[:FEW]
    return {
        "dense_small": mlm_losses(dense, sentences),
        "pruned_large": mlm_losses(pruned, sentences),
        "whole_large": mlm_losses(whole, few),
        "untrained": mlm_losses(load(untrained), few),
    }


@dataclass(frozen=True)
class Emergence:
    """Outlier dimensions of a finished model, and where they deviated on the way.

    dimensions: of the finished model, see `outliers.outlier_dimensions`; places: (steps, places) booleans, does each
    place (layer, dimension) in which one of them deviates in the end already deviate at this step; strongest: (steps,)
    deviation of the dimension that deviates most, in standard deviations averaged over layers; counts: (steps,) outlier
    dimensions that the model of this step has of its own.
    """

    steps: tuple[int, ...]
    dimensions: tuple[int, ...]
    places: np.ndarray
    strongest: np.ndarray
    counts: np.ndarray

    @property
    def early(self) -> int:
        """Index of the last checkpoint in the first fifth of training."""
        within = [i for i, step in enumerate(self.steps) if step <= EARLY * self.steps[-1]]
        if not within:
            raise BertologyError("There is no checkpoint in the first fifth of training.")
        return within[-1]


def emergence(checkpoints: Mapping[int, str]) -> Emergence:
    """Follows outlier dimensions (kovaleva2021bertbusters) over checkpoints {step: name}, the finished model last."""
    models = [load(name).model for name in checkpoints.values()]
    dimensions = [outlier.dimension for outlier in outlier_dimensions(models[-1])]
    flags = list(map(deviating, models))
    final = flags[-1][:, dimensions]
    places = np.stack([flag[:, dimensions][final] for flag in flags])
    counts = np.array([len(outlier_dimensions(model)) for model in models])
    strongest = np.array([deviations(model).mean(0).max() for model in models])
    return Emergence(tuple(checkpoints), tuple(dimensions), places, strongest, counts)
