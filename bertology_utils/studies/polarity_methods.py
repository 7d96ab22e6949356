"""One phenomenon, five methods: what each says of the licensor and the scope of polarity items.

After warstadt2019investigating, whose point is that the methods disagree. Depends on `pair_sets` (items), `probes`
(readouts of frozen vectors, where the study fine-tunes the model) and `syntax_clozes` (the cloze).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from bertology_utils.activations import sentence_vectors
from bertology_utils.data.pair_sets import npi_pairs
from bertology_utils.instruments.probes import train_probe
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.models import Specimen
from bertology_utils.studies.syntax_clozes import preferences

CONDITIONS = ("licensor", "scope")


def five_methods(specimen: Specimen, train: int, test: int, seed: int = 0, **settings) -> dict[str, dict]:
    """Condition -> method -> 0/1 samples, chance one half but for the absolute pairs (a quarter).

    `acceptability`: a readout of sentence vectors (middle layer, mean over words), trained on both conditions, judges
    single sentences; `absolute pair`: it is right on both sentences of a pair; `gradient pair`: it puts the good one
    above the bad one; `feature probe`: a readout trained on this condition alone judges single sentences; `cloze`: the
    masked-LM head prefers the item in the good sentence. Settings as in `probes.train_probe`.
    """
    known, asked = (
        {name: npi_pairs(n, name, seed=seed, split=split) for name in CONDITIONS}
        for n, split in ((train, "train"), (test, "test"))
    )
    joint = _readout(specimen, [pair for pairs in known.values() for pair in pairs], **settings)
    return {name: _methods(specimen, joint, known[name], asked[name], **settings) for name in CONDITIONS}


def _methods(specimen: Specimen, joint, known: Sequence, asked: Sequence, **settings) -> dict[str, np.ndarray]:
    odds = joint(asked)  # (2, pairs)
    right = np.stack([odds[0] > 0, odds[1] < 0])
    alone = _readout(specimen, known, **settings)(asked)
    samples = {
        "acceptability": right.ravel(),
        "absolute pair": right.all(0),
        "gradient pair": odds[0] > odds[1],
        "feature probe": np.concatenate([alone[0] > 0, alone[1] < 0]),
    }
    cloze = {"cloze": preferences(specimen, asked)} if specimen.has_mlm_head else {}
    return {name: np.asarray(values, dtype=float) for name, values in (samples | cloze).items()}


def _readout(specimen: Specimen, pairs: Sequence[MinimalPair], **settings):
    """A classifier of good against bad sentences: pairs -> its log odds (2, pairs), good ones first."""
    probe = train_probe(_vectors(specimen, pairs), [1] * len(pairs) + [0] * len(pairs), seeds=1, **settings)

    def log_odds(asked: Sequence[MinimalPair]) -> np.ndarray:
        logits = probe.logits(_vectors(specimen, asked))[0, 0]
        return (logits[:, 1] - logits[:, 0]).reshape(2, -1).numpy()

    return log_odds


def _vectors(specimen: Specimen, pairs: Sequence[MinimalPair]) -> torch.Tensor:
    """Middle layer, mean of the pieces, good sentences before bad ones: (1, 2 * pairs, width)."""
    sentences = [list(pair.good) for pair in pairs] + [list(pair.bad) for pair in pairs]
    return sentence_vectors(specimen, sentences, "mean")[specimen.layers // 2][None]
