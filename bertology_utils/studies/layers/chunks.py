"""Phrases without a probe: spans clustered by their vectors, layer by layer, after jawahar2019what.

Depends on `clusters`, `scores` and `tasks`. A span is its first and its last word; it has as many clusters to fall into
as there are kinds of chunk, and normalised mutual information says how well the clusters keep the kinds apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.clusters import cluster, information_values
from bertology_utils.instruments.layer_curves import band_samples
from bertology_utils.instruments.probes import owners
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.samples import by_unit
from bertology_utils.studies.layers.scores import LayerFeatures
from bertology_utils.studies.layers.tasks import Task, over_words

OUTSIDE = "O"
PHRASES_TO_OTHERS = 6  # the study's 3,000 phrases and 500 stretches between phrases

PROBED = ("pos", "chunk", "dependency")


@dataclass(frozen=True)
class Span:
    """Words `first` to `last` (inclusive) of sentence number `sentence`, and the kind of chunk, `O` between chunks."""

    sentence: int
    first: int
    last: int
    label: str


def spans_of(tags: Sequence[str], sentence: int = 0) -> list[Span]:
    """The chunks of BIO tags, and the unbroken stretches of `O` between them, from left to right."""
    found: list[Span] = []
    for word, tag in enumerate(tags):
        label = tag.split("-")[-1]
        if found and (tag.startswith("I-") or tag == found[-1].label == OUTSIDE):
            found[-1] = Span(sentence, found[-1].first, word, label)
        else:
            found.append(Span(sentence, word, word, label))
    return found


def draw_spans(sentences: Sequence[Sentence], phrases: int, seed: int = 0) -> list[Span]:
    """At most `phrases` chunks and a sixth as many stretches between chunks, drawn at random."""
    found = [span for i, s in enumerate(sentences) for span in spans_of(s.chunks, i)]
    drawn = [found[i] for i in np.random.default_rng(seed).permutation(len(found))]
    inside, outside = ([s for s in drawn if (s.label == OUTSIDE) == wanted] for wanted in (False, True))
    return inside[:phrases] + outside[: phrases // PHRASES_TO_OTHERS]


def span_vectors(features: LayerFeatures, sentences: Sequence[Sentence], spans: Sequence[Span]) -> np.ndarray:
    """First and last word of each span, their product and their difference: (layers + 1, spans, 4 * width)."""
    words = features.words([sentence.words for sentence in sentences])
    first, last = (
        torch.stack([words[span.sentence][:, getattr(span, end)] for span in spans], dim=1) for end in ("first", "last")
    )
    return torch.cat([first, last, first * last, first - last], dim=-1).numpy()


def chunk_information(
    features: LayerFeatures,
    train: Sequence[Sentence],
    test: Sequence[Sentence],
    phrases: tuple[int, int],
    seeds: int = 18,
    seed: int = 0,
    only: Sequence[int] | None = None,
) -> np.ndarray:
    """Mutual information of span clusters and kinds of chunk: (layers + 1, seeds, test sentences with a span).

    Means over sentences are the measure itself; spans of one sentence stay together where it is resampled. As in the
    study's code, centres are found on some spans (of `train`, each seed on sentences of its own) and scored on others
    (of `test`); here, those are of other sentences. `phrases` bounds the chunks of both; `only` are some of the seeds,
    with their sentences.
    """
    only = range(seeds) if only is None else only
    train = list(compress(train, np.isin(owners(len(train), seeds, seed), only)))
    most = phrases[0] * len(only) // seeds, phrases[1]
    drawn = [draw_spans(sentences, n, seed) for sentences, n in zip((train, test), most, strict=True)]
    known, new = (span_vectors(features, *part) for part in zip((train, test), drawn, strict=True))
    kinds = {span.label for span in drawn[0]}
    if len(kinds) < 2:
        raise BertologyError("Clusters of chunks need more than one kind of chunk.")
    labels, units = [span.label for span in drawn[1]], [span.sentence for span in drawn[1]]
    found = cluster(known, new, len(kinds), [seed + one for one in only], [span.sentence for span in drawn[0]])
    return np.array([[by_unit(information_values(c, labels), units) for c in layer] for layer in found])


def in_bands(
    probes: Mapping[str, np.ndarray], clusters: np.ndarray, tasks: Mapping[str, Task]
) -> dict[str, np.ndarray]:
    """Bands of layers by the measure of either study: `nmi_low` and so on of span clusters (seeds, sentences), after
    jawahar2019what; `pos_low`, `chunk_low`, `dependency_low` and so on of probes (seeds, word forms), after
    liu2019linguistic."""
    found = band_samples(clusters, "nmi_")
    for name in PROBED:
        found |= over_words(band_samples(probes[name], f"{name}_"), tasks[name].test)
    return found


def above_low(
    probes: Mapping[str, np.ndarray], clusters: np.ndarray, bands: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Chunks at every layer, by either measure, above the mean of the low band: (layers + 1,)."""
    return {
        "each layer, probe": probes["chunk"].mean((1, 2)) - bands["chunk_low"].mean(),
        "each layer, clusters": clusters.mean((1, 2)) - bands["nmi_low"].mean(),
    }
