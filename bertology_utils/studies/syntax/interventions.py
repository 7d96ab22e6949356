"""Does a model rely on what a probe can read? Remove it inside the network and measure masked-word loss.

Depends on `controls` (which subspace), `cloze` (loss) and `blocks` (where they are). After Elazar and
others (2021, "Amnesic probing"): to be encoded is one thing, to be used another.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from bertology_utils.activations import word_vectors
from bertology_utils.data.material import EMBEDDED, train_and_test
from bertology_utils.instruments import cloze
from bertology_utils.instruments.blocks import encoder_layers, inputs_of_runs, recorded_calls, starting_at
from bertology_utils.instruments.controls import (
    RemovedSubspace,
    class_mean_projection,
    majority_baseline,
    matched_projection,
    variance_share,
)
from bertology_utils.instruments.probes import encode_labels, probe_correctness, stack_words
from bertology_utils.language.perturbations import shuffle_words
from bertology_utils.models import Specimen
from bertology_utils.studies.syntax.probing import scored_labels


@contextmanager
def without_subspace(specimen: Specimen, layer: int, removed: RemovedSubspace, mean: torch.Tensor) -> Iterator[None]:
    """Inside, block `layer` (1-based) puts every vector at the mean `(width,)` along the removed directions."""
    projection, mean = removed.projection.float(), mean.float()

    def project(module, arguments, output):
        hidden = output[0] if isinstance(output, tuple) else output
        changed = mean + (hidden - mean) @ projection
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    with encoder_layers(specimen.encoder)[layer - 1].register_forward_hook(project):
        yield


def reliance(
    specimen: Specimen,
    layer: int,
    train: int,
    test: int,
    task: str = "upos",
    draws: int = 8,
    seed: int = 0,
    source: str = EMBEDDED,
) -> dict[str, np.ndarray]:
    """Masked-word loss after removing what a least-squares probe reads of `task` at `layer`, or as much at random.

    `source` as in `material.train_and_test`, whose rule says which words the probe meets in training and which in the
    test. In nats, `(test,)`: `intact` and `removed`; `(draws, test)`: `random`, each draw a subspace of the same rank
    outside of the removed one, with its variance as nearly as there is any; the same with shuffled words as
    `shuffled_...`, of one draw. `removed_cost` and `random_cost` are the losses' growth for each unit of
    variance removed, where 1 is all that the vectors have (`removed_share`, `random_share`). 0/1 over test
    words: `probe`,
    `probe_after` (a fresh probe after the removal) and `majority`; the first two `(seeds, items)`.
    """
    bank = train_and_test(train, test, seed, source)
    vectors = [
        stack_words(word_vectors(specimen, [s.words for s in getattr(bank, part)]))[layer, bank.scored(part)]
        for part in ("train", "test")
    ]
    labels, answers, names = encode_labels(*(scored_labels(bank, part, task) for part in ("train", "test")))
    removed, mean = class_mean_projection(vectors[0], labels), vectors[0].mean(0)
    others = [matched_projection(vectors[0], removed, seed + draw) for draw in range(draws)]
    after = [(mean + removed(v - mean)).float() for v in vectors]
    found = {
        "probe": _read(vectors, labels, answers, len(names)),
        "probe_after": _read(after, labels, answers, len(names)),
        "majority": majority_baseline(labels.tolist(), answers.tolist()),
        "rank": np.array(float(removed.rank)),
        "removed_share": np.array(variance_share(vectors[0], removed)),
        "random_share": np.array([variance_share(vectors[0], other) for other in others]),
    }
    rng = np.random.default_rng(seed)
    places = [int(rng.integers(len(s.words) - 1)) for s in bank.test]
    intact = [s.words for s in bank.test]
    shuffled = [shuffle_words(words, place, rng).words for words, place in zip(intact, places, strict=True)]
    for prefix, sentences in (("", intact), ("shuffled_", shuffled)):
        with recorded_calls(specimen.encoder) as calls:
            found[prefix + "intact"] = masked_loss(specimen, sentences, places)
        runs = inputs_of_runs(calls, specimen.layers)
        drawn = [removed, *others[: 1 if prefix else None]]
        without = [_loss_without(specimen, layer, one, mean, sentences, places, runs) for one in drawn]
        found |= {prefix + "removed": without[0], prefix + "random": np.stack(without[1:])}
    for name in ("removed", "random"):
        found[f"{name}_cost"] = (found[name] - found["intact"]) / found[f"{name}_share"][..., None]
    return found


def masked_loss(specimen: Specimen, sentences: Sequence[Sequence[str]], places: Sequence[int]) -> np.ndarray:
    """Negative log-probability in nats of the word at each place when it is masked; words of several pieces are left
    out, so the shape is `(covered,)`."""
    targets = [[words[place]] for words, place in zip(sentences, places, strict=True)]
    scores = cloze.word_log_probability(specimen, sentences, places, targets)
    return -scores.log_probabilities[scores.covered, 0]


def _loss_without(specimen, layer, removed, mean, sentences, places, runs) -> np.ndarray:
    """`masked_loss` with the subspace removed at `layer`; the blocks below give back what they gave in `runs`."""
    with without_subspace(specimen, layer, removed, mean), starting_at(specimen.encoder, layer - 1, runs):
        return masked_loss(specimen, sentences, places)


def _read(vectors: Sequence[torch.Tensor], labels, answers, classes: int) -> np.ndarray:
    return probe_correctness(vectors[0][None], labels, vectors[1][None], answers, classes=classes)[0]
