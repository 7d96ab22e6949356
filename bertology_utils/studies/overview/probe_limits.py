"""What a probe does not show: whose knowledge it finds, what a deeper one would find, and what is found but not used.

Depends on `probes` and `controls` (probes, control tasks and removal), `activations`, `grammar`, `anatomy` and
`stories` (the words); small demonstrations for the limits that the survey names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Self

import numpy as np
import torch

from bertology_utils.activations import hidden_batches, sentence_vectors, word_vectors
from bertology_utils.data.material import OPEN_CLASS
from bertology_utils.instruments.cloze import Query, head_log_probabilities
from bertology_utils.instruments.controls import ControlTask, class_mean_projection, selectivity
from bertology_utils.instruments.probes import encode_labels, probe_correctness, stack_words, train_probe
from bertology_utils.language.grammar import Sentence, generate
from bertology_utils.models import Specimen
from bertology_utils.samples import UnitSamples, by_unit
from bertology_utils.studies.overview.anatomy import masked_queries
from bertology_utils.studies.overview.stories import ANIMALS, PEOPLE
from bertology_utils.text import Encoding


@dataclass(frozen=True)
class TagTask:
    """Word classes of generated sentences, and the control task of hewitt2019designing: a random class for each word.

    Both hold two parts, of training and of test words; `words` are the latter.
    """

    sentences: tuple[list[Sentence], list[Sentence]]
    tags: tuple[list[str], list[str]]
    control: tuple[list[str], list[str]]
    words: list[str]

    @classmethod
    def of(cls, n: int, seed: int = 0) -> Self:
        """`n` sentences for training and as many for testing."""
        sentences = tuple(generate(n, seed=seed + part) for part in (0, 1))
        words, tags = (
            tuple([item for s in part for item in getattr(s, name)] for part in sentences) for name in ("words", "upos")
        )
        random_task = ControlTask.of(tags[0], seed)
        return cls(sentences, tags, tuple(random_task.labels(part) for part in words), words[1])

    def selectivities(self, specimen: Specimen) -> dict[str, UnitSamples]:
        """Accuracy on word classes less that on random ones, of probes on the last layer but one; over words.

        `linear_selectivity`, and `mlp_selectivity` of a probe with a hidden layer as wide as the vectors: in
        hewitt2019designing it has 1,000 units for vectors of 1,024, and narrow layers are the remedy.
        """
        features = [stack_words(word_vectors(specimen, [s.words for s in part]))[-2:-1] for part in self.sentences]
        return {f"{name}_selectivity": by_unit(self._selectivity(features, size), self.words)
                for name, size in (("linear", 0), ("mlp", specimen.width))}  # fmt: skip

    def _selectivity(self, features: Sequence[torch.Tensor], hidden: int) -> np.ndarray:
        scores = []
        for targets in (self.tags, self.control):
            train, test, _ = encode_labels(*targets)
            scores.append(probe_correctness(features[0], train, features[1], test, hidden=hidden, seeds=5)[0])
        return selectivity(*scores)


def same_kind(n: int, split: str = "train", seed: int = 0) -> tuple[list[list[str]], np.ndarray]:
    """`n` sentences naming two beings, and whether both are people or both animals (labels 0/1, (n,)), balanced.

    The label is an exclusive or of two kinds: no weighted sum of "how many people" gives it. Splits share no noun.
    """
    kinds = [words[split].split() for words in (PEOPLE, ANIMALS)]
    random = Random(f"{split}{seed}")
    sentences, labels = [], []
    for item in range(n):
        first, second = item % 2, item // 2 % 2
        words = [random.choice(kinds[first]), random.choice(kinds[second])]
        sentences.append(f"the {words[0]} and the {words[1]} were here .".split())
        labels.append(int(first == second))
    return sentences, np.array(labels)


def exclusive_or(specimen: Specimen, n: int, hidden: int = 64, seed: int = 0) -> dict[str, np.ndarray]:
    """Correctness (seeds, items) on `same_kind` of a `linear` probe and a deeper one, `mlp`, on the middle layer."""
    (train, labels), (test, wanted) = same_kind(n, "train", seed), same_kind(n, "test", seed)
    features = [sentence_vectors(specimen, part)[specimen.layers // 2][None] for part in (train, test)]
    scores = {name: probe_correctness(features[0], labels, features[1], wanted, hidden=size, seed=seed)
              for name, size in (("linear", 0), ("mlp", hidden))}  # fmt: skip
    return {name: values[0] for name, values in scores.items()}


def unused_property(
    specimen: Specimen, sentences: Sequence[Sentence], seed: int = 0, draws: int = 5
) -> dict[str, UnitSamples]:
    """A property that is there and not used: does the blank stand in the first half of its sentence?

    One piece of a content word is hidden in each sentence: a full stop, which is always last, and a few function words
    would be a third of the answers. What is learnt of one half of the sentences is asked of the other, both ways, in
    `draws` ways to halve them: (draws, hidden pieces) each, which is what answers have in common. `found`: a linear
    probe on the last layer reads the property. `effect`: by how many nats the hidden piece becomes less probable once
    its direction is gone; `removed` is what a fresh probe still reads.
    """
    content = [[i for i, tag in enumerate(s.upos) if tag in OPEN_CLASS] for s in sentences]
    queries, targets = masked_queries(specimen, [s.words for s in sentences], seed=seed, each=1, among=content)
    labels = np.array([int(2 * query.position < len(query.input_ids)) for query in queries])
    vectors = query_vectors(specimen, queries)
    before, rng = losses(specimen, vectors, targets), np.random.default_rng(seed)
    found = {name: np.empty((draws, len(labels))) for name in ("found", "removed", "effect")}
    for draw, order in enumerate(rng.permuted(np.tile(np.arange(len(labels)), (draws, 1)), axis=1)):
        halves = np.array_split(order, 2)
        for train, test in (halves, halves[::-1]):
            removal, mean = class_mean_projection(vectors[train], labels[train]), vectors[train].mean(0)
            after = losses(specimen, mean + removal(vectors[test] - mean), targets[test])
            found["found"][draw, test] = _read(vectors, labels, train, test, draw)
            found["removed"][draw, test] = _read(removal(vectors), labels, train, test, draw)
            found["effect"][draw, test] = after - before[test]
    return {name: by_unit(values, targets) for name, values in found.items()}


def _read(vectors: torch.Tensor, labels: np.ndarray, train: np.ndarray, test: np.ndarray, seed: int) -> np.ndarray:
    probe = train_probe(vectors[train][None].float(), labels[train], seeds=1, seed=seed)
    return probe.correct(vectors[test][None].float(), labels[test])[0, 0]


def query_vectors(specimen: Specimen, queries: Sequence[Query]) -> torch.Tensor:
    """Last hidden state at each query's blank, (queries, width)."""
    encodings = [Encoding(list(q.input_ids), [None] * len(q.input_ids), list(q.segment_ids)) for q in queries]
    vectors = torch.empty(len(queries), specimen.width)
    for indices, hidden in hidden_batches(specimen, encodings):
        for row, i in enumerate(indices):
            vectors[i] = hidden[-1, row, queries[i].position]
    return vectors


def losses(specimen: Specimen, vectors: torch.Tensor, targets: np.ndarray, rows: int = 256) -> np.ndarray:
    """What the head says of last hidden states (queries, width): -log P of each hidden piece in nats, (queries,)."""
    parts = zip(vectors.float().split(rows), torch.as_tensor(targets).split(rows), strict=True)
    found = [-head_log_probabilities(specimen, part).gather(1, wanted[:, None])[:, 0] for part, wanted in parts]
    return torch.cat(found).numpy()
