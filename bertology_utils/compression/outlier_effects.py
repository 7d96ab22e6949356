"""What outlier dimensions do: how they persist over layers, and what switching them off breaks.

Follows kovaleva2021bertbusters. Depends on `compression.outliers` (finding and disabling), `mlm_training` (losses) and
`cloze` (fill-ins).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
import pandas as pd
from torch import nn

from bertology_utils.compression import outliers
from bertology_utils.compression.outliers import (
    deviating,
    disabled,
    output_norms,
    persistent,
    random_dimensions,
    rows_at_zero,
)
from bertology_utils.compression.scorecard import count
from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.instruments.cloze import MASK, fill_in, hits_at
from bertology_utils.models import Specimen, load
from bertology_utils.samples import census
from bertology_utils.tuning.mlm_training import mlm_losses

# How the name of a block's last dense layer ends: BERT-like, DistilBERT, ALBERT.
SHUFFLES = 500
LAST_DENSE = ("output.dense", "ffn.lin2", "ffn_output")


def strongest_dimensions(model: nn.Module, count: int = 2) -> np.ndarray:
    """The `count` dimensions whose output layer norm deviates most, over all layers: (count,) indices.

    Deviation in standard deviations of the layer, scale or bias, whichever is larger, averaged over layers. Unlike the
    study's 3-sigma rule this names dimensions in any model, whether or not they deserve the name outlier.
    """
    return np.argsort(-deviations(model).mean(0), kind="stable")[:count]


def deviations(model: nn.Module) -> np.ndarray:
    """`outliers.deviations`, the larger of scale and bias: (layers, width)."""
    return outliers.deviations(model).max(0)


def persistence(model: nn.Module) -> tuple[np.ndarray, float]:
    """In which layers the most persistent dimension deviates, booleans (layers,), and what chance gives.

    Chance: the mean, over shuffles within each layer, of the share of layers of the then most persistent dimension.
    """
    flags, generator = deviating(model), np.random.default_rng(0)
    null = [generator.permuted(flags, axis=1).mean(0).max() for _ in range(SHUFFLES)]
    return flags[:, flags.sum(0).argmax()], float(np.mean(null))


def position(model: nn.Module) -> dict[str, np.ndarray | float]:
    """`persistence` as samples: `flagged`, the share of the layers, which are all there are, and `chance`."""
    flagged, chance = persistence(model)
    return {"flagged": census(flagged), "chance": chance}


def scan(names: Iterable[str]) -> pd.DataFrame:
    """How many outlier dimensions models have by the study's rule, and by chance, where each layer's are shuffled.

    A row a model; by chance: the mean over shuffles. In a net of up to three layers one layer is more than a quarter,
    so that every dimension that deviates anywhere passes the rule.
    """
    return pd.DataFrame([scanned(name, load(name).model) for name in names])


def scanned(name: str, model: nn.Module) -> dict[str, str | int | float]:
    """The row of `scan` of a model, or of one half of it."""
    flags, generator = outliers.deviations(model) > outliers.SIGMAS, np.random.default_rng(0)
    null = [len(persistent(generator.permuted(flags, axis=-1))) for _ in range(SHUFFLES // 5)]
    sizes = {"layers": flags.shape[1], "width": flags.shape[2]}
    found = {"outlier dimensions": len(persistent(flags)), "by chance": round(float(np.mean(null)), 1)}
    return {"model": name} | sizes | found


def share_of_weights(model: nn.Module) -> float:
    """Which share of a model's parameters the scales and biases of two dimensions of its output norms are."""
    return 4 * len(output_norms(model)) / count(model)


def last_denses(model: nn.Module) -> list[nn.Linear]:
    """The last dense layer of each block, first block first: inner width -> width."""
    blocks = [dict(block.named_modules()) for block in encoder_layers(model.base_model)]
    return [[block[name] for name in block if name.endswith(LAST_DENSE)][-1] for block in blocks]


def dense_disabled(model: nn.Module, dimensions: Sequence[int]) -> AbstractContextManager[int]:
    """Run with these output rows (weight and bias) of each block's last dense layer at 0; the layer norms stay."""
    return rows_at_zero(last_denses(model), dimensions)


def loss_increases(
    specimen: Specimen, sentences: Sequence[Sequence[str]], count: int = 2, sets: int = 20
) -> dict[str, np.ndarray]:
    """Growth of the masked-word loss (nats) of each sentence with dimensions switched off: (sentences,) each.

    outlier: scale and bias of the strongest dimensions; norm is the same, dense their rows in the last dense layer;
    random_worst the most harmful of `sets` random draws (and random (sets, sentences) all of them).
    """
    model, strongest = specimen.model, strongest_dimensions(specimen.model, count)
    whole = mlm_losses(specimen, sentences)

    def increase(dimensions) -> np.ndarray:
        with disabled(model, dimensions):
            return mlm_losses(specimen, sentences) - whole

    outlier = increase(strongest)
    draws = np.stack([increase(d) for d in random_dimensions(model, count, sets, avoid=strongest)])
    with dense_disabled(model, strongest):
        dense = mlm_losses(specimen, sentences) - whole
    worst = draws[draws.mean(1).argmax()]
    return {"outlier": outlier, "norm": outlier, "dense": dense, "random": draws, "random_worst": worst}


def fill_in_damage(
    specimen: Specimen, sentences: Sequence[Sequence[str]], positions: Sequence[int], count: int = 2, seed: int = 0
) -> dict[str, np.ndarray]:
    """Is the masked word the model's first guess? Booleans (sentences,): top1, top1_outlier and top1_random.

    majority: is it the word that is masked most often?
    """
    masked = [[*s[:p], MASK, *s[p + 1 :]] for s, p in zip(sentences, positions, strict=True)]
    answers = [[s[p]] for s, p in zip(sentences, positions, strict=True)]
    strongest = strongest_dimensions(specimen.model, count)
    others = random_dimensions(specimen.model, count, 1, seed, avoid=strongest)[0]

    def hits() -> np.ndarray:
        return hits_at(specimen, fill_in(specimen, masked, k=1), answers)

    commonest = Counter(answer for (answer,) in answers).most_common(1)[0][0]
    found = {"top1": hits(), "majority": np.array([answer == commonest for (answer,) in answers])}
    for name, dimensions in (("top1_outlier", strongest), ("top1_random", others)):
        with disabled(specimen.model, dimensions):
            found[name] = hits()
    return found


def as_shares(increases: Mapping[str, np.ndarray], known: float) -> dict[str, np.ndarray]:
    """Growths of the loss as shares of what a model knows: its lead over its untrained twin, in nats a word.

    A model that knows next to nothing is taken to know a tenth of a nat.
    """
    return {name: values / max(known, 0.1) for name, values in increases.items()}
