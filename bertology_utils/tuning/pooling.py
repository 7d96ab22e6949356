"""[CLS] or the mean of the pieces: probes of sentence vectors before and after fine-tuning through [CLS].

Depends on `activations`, `probes` and `training`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from bertology_utils.activations import POOLS, pooled_vectors
from bertology_utils.instruments.probes import of_seeds, probe_correctness
from bertology_utils.models import Specimen
from bertology_utils.tuning.training import Examples, finetune_seeds

Pooled = Mapping[str, Tensor]  # both `POOLS` of sentences, (layers, sentences, width) each


def sentence_scores(
    specimen: Specimen, examples: Examples, test: Examples, layers: slice = slice(None), **settings
) -> dict[str, np.ndarray]:
    """The same probe on both `POOLS` of sentences: (layers, seeds, items) each, of those of the layers + 1 asked."""
    known, asked = (_of_layers(specimen, part, layers) for part in (examples, test))
    return vector_scores(known, asked, examples.labels, test.labels, **settings)


def _of_layers(specimen: Specimen, part: Examples, layers: slice) -> Pooled:
    return {pool: vectors[layers] for pool, vectors in pooled_vectors(specimen, part.sentences).items()}


def vector_scores(
    known: Pooled, asked: Pooled, labels: Sequence[int], truths: Sequence[int], **settings
) -> dict[str, np.ndarray]:
    """`sentence_scores` from the vectors of the training and of the test sentences."""
    options = {"batch": 96, "steps": 120, "epochs": 1} | settings
    return {pool: probe_correctness(known[pool], labels, asked[pool], truths, **options) for pool in POOLS}


def pooling_samples(
    specimen: Specimen,
    train: Examples,
    test: Examples,
    seeds: Sequence[int] = (0, 1, 2),
    after: Sequence[tuple[Pooled, Pooled]] | None = None,
    **settings,
) -> dict:
    """Probes of the last layer's [CLS] and mean, before and after fine-tuning through [CLS]: (seeds, items).

    Fine-tuned once a seed, unless the last layer's vectors of training and test sentences `after` each tuning are
    given; each tuned model is probed with that seed's probe.
    """
    last = slice(-1, None)
    if after is None:
        runs, _ = finetune_seeds(specimen, train, test, seeds, pool="cls", **settings)
        after = [tuple(_of_layers(run.specimen, part, last) for part in (train, test)) for run in runs]
    before = sentence_scores(specimen, train, test, last, **of_seeds(seeds))
    tuned = [
        vector_scores(*sides, train.labels, test.labels, seeds=1, seed=seed)
        for seed, sides in zip(seeds, after, strict=True)
    ]
    return {f"{pool}_before": before[pool][0] for pool in POOLS} | {
        f"{pool}_after": np.concatenate([right[pool][0] for right in tuned]) for pool in POOLS
    }
