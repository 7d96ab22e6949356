"""Is the subject of a sentence read from its words where another noun comes first? Depends on `probes`."""

from collections.abc import Sequence
from itertools import compress

import numpy as np

from bertology_utils.activations import word_vectors
from bertology_utils.data.ambiguous_order import pointed_sentences
from bertology_utils.data.material import EMBEDDED
from bertology_utils.instruments.probes import owners, train_selector
from bertology_utils.models import Specimen


def subject_scores(
    specimen: Specimen,
    train: int,
    test: int,
    seeds: int = 3,
    seed: int = 0,
    steps: int = 200,
    source: str = EMBEDDED,
    only: Sequence[int] | None = None,
) -> np.ndarray:
    """Is the subject noun found where another noun comes first (lin2019open)? (layers + 1, seeds, sentences).

    Trained where the first noun is the subject, so that the linear rule and the hierarchical one both fit. `only`:
    some of the seeds, with their share of the sentences, those of the test too.
    """
    parts = [
        pointed_sentences(n, clear, seed, split, "subject", source)
        for n, clear, split in ((train, False, "train"), (test, True, "test"))
    ]
    only = range(seeds) if only is None else only
    parts = [list(compress(part, np.isin(owners(len(part), seeds, seed), only))) for part in parts]
    vectors = [word_vectors(specimen, [list(s.words) for s in part]) for part in parts]
    places = [[s.target for s in part] for part in parts]
    own = range(len(places[0]))  # each seed trains on sentences of its own
    probe = train_selector(
        vectors[0], places[0], seeds=len(only), seed=seed + only[0], steps=steps, epochs=1, groups=own
    )
    return probe.correct(vectors[1], places[1])
