"""Inside a tuned model: what adapters of each size and layer are good for, and what tuning leaves of each layer.

The rows `adapter sizes` and `layers read` of the study. Depends on `training`, `regimens`, `geometry` and `probes`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from bertology_utils.activations import word_vectors
from bertology_utils.instruments.geometry import linear_cka
from bertology_utils.instruments.probes import encode_labels, fit_ridge, stack_words
from bertology_utils.language.grammar import Sentence
from bertology_utils.models import Specimen
from bertology_utils.studies.finetuning.conditions import ADAPTER_RATE
from bertology_utils.tuning.regimens import without_adapters
from bertology_utils.tuning.training import Classifier, Examples, finetune, predict, task_score

SIZES, REMOVED_OF = (1, 4, 16, 64), 16  # widths of a bottleneck; whose adapters are taken out
FULL, BELOW, BLINDLY = "full", "removed from below", "removed at random"
BEFORE, TUNED, AGAIN, MISLED, PERMUTED = "before", "tuned", "tuned again", "wrong labels", "permuted"
READ = ("tag", "noun", "tense")  # of each word, of each noun, and of the sentence from each word
Found = Iterator[tuple[str, Sequence[float], Sequence[float]]]  # an arm, its scores and values


def adapter_sizes(specimen: Specimen, train: Examples, test: Examples, seed: int, passes: int) -> Found:
    """Adapters of each size, and all weights, with the share that is trained; those of one size are taken out again.

    houlsby2019parameter: block after block, from the lowest on or in any order; values are as in `removal`.
    """
    how = {"epochs": passes, "budget": 128}
    for size in SIZES:
        run = finetune(specimen, train, test, seed, adapters=size, learning_rate=ADAPTER_RATE, **how)
        yield f"size {size}", [run.accuracy], [run.trained_share]
        if size == REMOVED_OF:
            below = np.arange(1, specimen.layers + 1)
            for name, order in ((BELOW, below), (BLINDLY, np.random.default_rng(seed).permutation(below))):
                scores = removal(run.classifier, specimen, test, order)
                yield name, scores, scores
    yield FULL, [finetune(specimen, train, test, seed, **how).accuracy], [1.0]


def removal(classifier: Classifier, specimen: Specimen, test: Examples, order: Sequence[int]) -> list[float]:
    """Scores without the adapters of the first 0, 1, ... blocks of an order (1..L): one more than blocks."""
    scores = []
    for count in range(len(order) + 1):
        with without_adapters(classifier.encoder, order[:count]):
            scores.append(task_score(predict(classifier, specimen, test), test))
    return scores


def layers_read(
    specimen: Specimen, train: Examples, texts: Sequence[Sequence[Sentence]], seed: int, passes: int
) -> Found:
    """What tuning changes in each layer's word vectors, values (layers + 1,) each.

    `CKA ...`: alignment before and after (tuned), of two tunings that differ in start and order (tuned again), before
    and after the same labels in any order (wrong labels), and of other words (permuted). `tag before` and so on: the
    share of words that a linear probe reads, trained on the first `texts`, asked of the second.
    """
    rng, how = np.random.default_rng(seed), {"epochs": passes, "budget": 128}
    misled = replace(train, labels=rng.permutation(train.labels).tolist())
    runs = {TUNED: (train, seed), AGAIN: (train, seed + 1000), MISLED: (misled, seed)}
    models = {name: finetune(specimen, own, own, start, **how).specimen for name, (own, start) in runs.items()}
    models[BEFORE] = specimen
    words = [[sentence.words for sentence in part] for part in texts]
    vectors = {name: [stack_words(word_vectors(own, part)) for part in words] for name, own in models.items()}
    asked = {name: own[1].numpy() for name, own in vectors.items()}
    asked[PERMUTED] = asked[BEFORE][:, rng.permutation(asked[BEFORE].shape[1])]
    for name in (TUNED, AGAIN, MISLED, PERMUTED):
        alike = linear_cka(asked[TUNED if name == AGAIN else BEFORE], asked[name])
        yield f"CKA {name}", alike, alike
    for kind in READ:
        labels = [[label for sentence in part for label in _labels(sentence, kind)] for part in texts]
        for name in (BEFORE, TUNED, MISLED):
            read = readable(vectors[name], labels)
            yield f"{kind} {name}", read, read


def readable(vectors: Sequence[torch.Tensor], labels: Sequence[Sequence[str | None]]) -> np.ndarray:
    """The share of words whose label a linear probe reads, (layers,): trained on the first part, asked of the second.

    vectors: (layers, words, width) each. Words without a label, or with one that training lacks, are left out.
    """
    (train, asked), (known, wanted) = vectors, labels
    seen = set(known) - {None}
    places = [[i for i, label in enumerate(own) if label in seen] for own in labels]
    learnt, right, names = encode_labels([known[i] for i in places[0]], [wanted[i] for i in places[1]])
    probe = fit_ridge(train[:, places[0]], np.eye(len(names))[learnt])
    return (probe.predict(asked[:, places[1]]).argmax(-1).numpy() == right).mean(-1)


def _labels(sentence: Sentence, kind: str) -> list[str | None]:
    """One label a word."""
    if kind == "tense":
        return [sentence.features["tense"]] * len(sentence.words)
    nouns = [word if tag == "NOUN" else None for word, tag in zip(sentence.words, sentence.upos, strict=True)]
    return nouns if kind == "noun" else list(sentence.upos)
