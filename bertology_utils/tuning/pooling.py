"""[CLS] or the mean of the pieces: probes of sentence vectors before and after fine-tuning through [CLS].

Depends on `activations`, `probes` and `training`.
"""

from collections.abc import Sequence

import numpy as np

from bertology_utils.activations import POOLS, pooled_vectors
from bertology_utils.instruments.probes import probe_correctness
from bertology_utils.models import Specimen
from bertology_utils.tuning.training import Examples, FineTuned, finetune_seeds, run_seeds

TRAINING = {"batch": 64, "steps": 200, "epochs": 1}  # of single probes and mixes alike


def sentence_scores(
    specimen: Specimen, examples: Examples, test: Examples, layers: slice = slice(None), **settings
) -> dict[str, np.ndarray]:
    """The same probe on both `POOLS` of sentences: (layers, seeds, items) each, of those of the layers + 1 asked."""
    known, asked = (pooled_vectors(specimen, part.sentences) for part in (examples, test))
    options = {"batch": 96, "steps": 120, "epochs": 1} | settings
    return {
        pool: probe_correctness(known[pool][layers], examples.labels, asked[pool][layers], test.labels, **options)
        for pool in POOLS
    }


def pooling_samples(
    specimen: Specimen,
    train: Examples,
    test: Examples,
    seeds: int = 3,
    seed: int = 0,
    runs: Sequence[FineTuned] | None = None,
    **settings,
) -> dict:
    """Probes of the last layer's [CLS] and mean, before and after fine-tuning through [CLS]: (seeds, items).

    Fine-tuned once a seed, or already (`runs`); each tuned model is probed with that seed's probe.
    """
    places = run_seeds(seed, seeds)
    if runs is None:
        runs, _ = finetune_seeds(specimen, train, test, places, pool="cls", **settings)
    last = slice(-1, None)
    before = sentence_scores(specimen, train, test, last, seeds=seeds, seed=seed)
    after = [
        sentence_scores(run.specimen, train, test, last, seeds=1, seed=place)
        for place, run in zip(places, runs, strict=True)
    ]
    return {f"{pool}_before": before[pool][0] for pool in POOLS} | {
        f"{pool}_after": np.concatenate([right[pool][0] for right in after]) for pool in POOLS
    }
