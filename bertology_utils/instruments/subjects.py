"""Is the subject of a sentence read from its words where another noun comes first? Depends on `probes`."""

import numpy as np

from bertology_utils.activations import word_vectors
from bertology_utils.data.ambiguous_order import pointed_sentences
from bertology_utils.data.material import EMBEDDED
from bertology_utils.instruments.probes import train_selector
from bertology_utils.models import Specimen


def subject_scores(
    specimen: Specimen, train: int, test: int, seeds: int = 3, seed: int = 0, steps: int = 200, source: str = EMBEDDED
) -> np.ndarray:
    """Is the subject noun found where another noun comes first (lin2019open)? (layers + 1, seeds, sentences).

    Trained where the first noun is the subject, so that the linear rule and the hierarchical one both fit.
    """
    parts = [
        pointed_sentences(n, clear, seed, split, "subject", source)
        for n, clear, split in ((train, False, "train"), (test, True, "test"))
    ]
    vectors = [word_vectors(specimen, [list(s.words) for s in part]) for part in parts]
    places = [[s.target for s in part] for part in parts]
    own = range(len(places[0]))  # each seed trains on sentences of its own
    probe = train_selector(vectors[0], places[0], seeds=seeds, seed=seed, steps=steps, epochs=1, groups=own)
    return probe.correct(vectors[1], places[1])
