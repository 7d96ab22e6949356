"""What a small model still knows beside its task: three probes on its frozen body, tested on new words.

Depends on `compression.methods` (any body that reads a batch) and the structural probe. No paper of the table has it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from bertology_utils.compression.methods.lesson import Encoded, Network, asked
from bertology_utils.compression.methods.problems import Questions
from bertology_utils.instruments.structural import fit_distance_probe, score_distances
from bertology_utils.language.grammar import generate
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.models import Specimen
from bertology_utils.text import token_budget_batches
from bertology_utils.tuning.classification_tasks import task

TASKS = {"number": "number", "meaning": "topic"}  # what it is called here: the task of `classification_tasks`
KNOWLEDGE = (*TASKS, "trees")


@dataclass(frozen=True)
class Probed:
    """Sizes of the probes: examples and sentences of trees to learn from, and to be tested on."""

    examples: int = 300
    test: int = 200
    trees: int = 300
    test_trees: int = 80


def knowledge(body: nn.Module, specimen: Specimen, sizes: Probed, seed: int = 0) -> dict[str, float]:
    """Accuracies of the probes `number` (of the subject) and `meaning` (thing or food), and the share of tree edges.

    `trees` is the UUAS of a structural probe on the last states of words (hewitt2019structural); the specimen lends
    its tokenizer.
    """
    network = Network(body, 2).eval()
    found = {name: _sentence_probe(network, specimen, own, sizes, seed) for name, own in TASKS.items()}
    return found | {"trees": _tree_probe(network, specimen, sizes, seed)}


def _sentence_probe(network: Network, specimen: Specimen, name: str, sizes: Probed, seed: int) -> float:
    parts = [task(name, n, seed, split) for n, split in ((sizes.examples, "train"), (sizes.test, "test"))]
    train, test = (_sentence_features(network, specimen, Questions(p.sentences, p.labels)) for p in parts)
    scale = train.std(0) + 1e-6
    fitted = LogisticRegression(max_iter=3000).fit(train / scale, parts[0].labels)
    return float(fitted.score(test / scale, parts[1].labels))


def _sentence_features(network: Network, specimen: Specimen, questions: Questions) -> np.ndarray:
    """(sentences, width), the means over pieces."""
    return torch.cat(_features(network, Encoded.of(specimen, questions))).numpy()


@torch.no_grad()
def _features(network: Network, encoded: Encoded) -> list[torch.Tensor]:
    """What a head would see of each example, (answers, width) each, in their order."""
    found: list[torch.Tensor] = [torch.empty(0)] * len(encoded)
    for group in token_budget_batches(encoded.lengths.tolist()):
        batch = encoded.batch(group)
        answers = batch["places"].sum(1).tolist() if "places" in batch else [1] * len(group)
        for row, own in zip(group, network.features(**asked(batch)).split(answers), strict=True):
            found[row] = own
    return found


@lru_cache(maxsize=4)
def _sentences(n: int, seed: int, split: str) -> list[Sentence]:
    return generate(n, seed, split, kind="simple")


def _tree_probe(network: Network, specimen: Specimen, sizes: Probed, seed: int) -> float:
    train, test = (_sentences(n, seed, split) for n, split in ((sizes.trees, "train"), (sizes.test_trees, "test")))
    vectors, held_out = (_word_features(network, specimen, own) for own in (train, test))
    probe = fit_distance_probe(vectors, [s.heads for s in train], seeds=1)
    scores = score_distances(probe.distances(held_out), [s.heads for s in test])
    return float(scores.hits.sum() / scores.edges.sum())


def _word_features(network: Network, specimen: Specimen, sentences: list[Sentence]) -> list[torch.Tensor]:
    """The last state of the first piece of each word: (1 layer, words, width) a sentence."""
    every = Questions([s.words for s in sentences], [[0] * len(s.words) for s in sentences])
    return [own[None] for own in _features(network, Encoded.of(specimen, every))]


def lead(known: Mapping[str, float], untrained: Mapping[str, float], teacher: Mapping[str, float]) -> float:
    """The share that is kept of the teacher's lead over an untrained twin, mean over probes."""
    return float(np.mean([(known[k] - untrained[k]) / (teacher[k] - untrained[k]) for k in KNOWLEDGE]))
