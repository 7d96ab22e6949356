"""Frozen attention as a guide: do the weights of a tuned model help a model that sees only a bag of words?

The diagnostic of wiegreffe2019attention. Depends on `activations` (pooling) and `training` (tuned classifiers); the
guide sees each word's input embedding and no context, so that all it can know of a sentence is where its weights lie.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.activations import POOLS, mean_over_words
from bertology_utils.instruments.controls import majority_baseline
from bertology_utils.models import Specimen
from bertology_utils.text import Encoding, batches, encode_words, model_inputs
from bertology_utils.tuning.training import Examples, FineTuned

WEIGHTINGS = ("frozen", "uniform", "permuted", "learned")


class GuidedBag(nn.Module):
    """One hidden layer over single words, a weighted sum, and a linear classifier (wiegreffe2019attention).

    Words come as (items, words, width) with weights (items, words); without weights it learns its own.
    """

    def __init__(self, width: int, classes: int, hidden: int = 32) -> None:
        super().__init__()
        self.word = nn.Sequential(nn.Linear(width, hidden), nn.Tanh())
        self.scorer = nn.Linear(hidden, 1, bias=False)
        self.head = nn.Linear(hidden, classes)

    def forward(self, words: Tensor, present: Tensor, weights: Tensor | None) -> Tensor:
        """Logits (items, classes); `present` (items, words) marks real words."""
        hidden = self.word(words)
        if weights is None:
            weights = self.scorer(hidden).squeeze(-1).masked_fill(~present, -torch.inf).softmax(-1)
        return self.head((weights.unsqueeze(-1) * hidden).sum(1))


@dataclass(frozen=True)
class ClassReading:
    """What one pass over sentences tells of their [CLS] in the last layer.

    pooled: both `POOLS`, (1, sentences, width) each, as of `pooled_vectors`. weights: attention from [CLS] to each
    word, mean over heads, special pieces left out, sum 1: [(words,)]; empty where a model has no maps.
    """

    pooled: dict[str, Tensor]
    weights: list[np.ndarray]


@torch.no_grad()
def read_class(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> ClassReading:
    """The last layer's vectors and weights of [CLS], for which a model with maps needs eager attention.

    A classifier that reads [CLS] has this one layer of weights between the words and its vector, as the studies'
    recurrent classifiers do.
    """
    encodings = encode_words(specimen, sentences)
    pooled = {pool: torch.empty(1, len(encodings), specimen.width) for pool in POOLS}
    rows: dict[int, np.ndarray] = {}
    outputs = {"output_hidden_states": True, "output_attentions": specimen.has_attention_maps, "return_dict": True}
    for indices in batches(specimen, [len(encoding) for encoding in encodings]):
        found = specimen.encoder(**model_inputs(specimen, [encodings[i] for i in indices]), **outputs)
        hidden = found.hidden_states[-1][None]
        pooled["cls"][:, indices] = hidden[:, :, 0]
        pooled["mean"][:, indices] = mean_over_words(hidden, encodings, indices)
        if specimen.has_attention_maps:
            masses = found.attentions[-1][:, :, 0].mean(1).numpy()  # (batch, pieces)
            rows |= {i: _word_shares(mass, encodings[i]) for i, mass in zip(indices, masses, strict=True)}
    return ClassReading(pooled, [rows[i] for i in sorted(rows)])


def _word_shares(mass: np.ndarray, encoding: Encoding) -> np.ndarray:
    """The weights (pieces,) of one row as shares of the words: (words,)."""
    words = [(word, place) for place, word in enumerate(encoding.word_ids) if word is not None]
    owners, places = map(list, zip(*words, strict=True))
    shares = np.bincount(owners, mass[places])
    return (shares / shares.sum()).astype(np.float32)


def read_tuned(runs: Sequence[FineTuned], train: Examples, test: Examples) -> list[tuple[ClassReading, ClassReading]]:
    """`read_class` of the training and of the test sentences, by each tuned model."""
    return [tuple(read_class(run.specimen, part.sentences) for part in (train, test)) for run in runs]


@torch.no_grad()
def word_embeddings(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
    """Mean input embedding of each word's pieces, without context, (items, words, width); real words (items, words)."""
    table = specimen.model.get_input_embeddings().weight
    table = table / table.std()
    longest = max(map(len, sentences))
    vectors = torch.zeros(len(sentences), longest, table.shape[1])
    for row, encoding in enumerate(encode_words(specimen, sentences)):
        ids = torch.tensor([(word, piece) for word, piece in zip(encoding.word_ids, encoding.input_ids, strict=True)
                            if word is not None])  # fmt: skip
        pieces = torch.bincount(ids[:, 0], minlength=longest).clamp_min(1)
        vectors[row].index_add_(0, ids[:, 0], table[ids[:, 1]])
        vectors[row] /= pieces[:, None]
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    return vectors, torch.arange(longest) < lengths[:, None]


def _padded(weights: Sequence[np.ndarray], longest: int) -> Tensor:
    return torch.stack([torch.tensor(np.pad(row, (0, longest - len(row))), dtype=torch.float32) for row in weights])


def guided_correct(train: tuple, test: tuple, seed: int, epochs: int = 30, rate: float = 3e-3) -> np.ndarray:
    """Trains one bag and scores it: (items,) booleans. Sides are (words, present, weights or None, labels)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GuidedBag(train[0].shape[-1], int(train[3].max()) + 1)
    order = np.random.default_rng(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    for _ in range(epochs):
        for rows in torch.as_tensor(order.permutation(len(train[3]))).split(32):
            words, present, weights, labels = (None if part is None else part[rows] for part in train)
            loss = nn.functional.cross_entropy(model(words, present, weights), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    with torch.no_grad():
        return (model(*test[:3]).argmax(-1) == test[3]).numpy()


def guide_samples(
    specimen: Specimen,
    runs: Sequence[FineTuned],
    readings: Sequence[tuple[ClassReading, ClassReading]],
    train: Examples,
    test: Examples,
    seeds: Sequence[int],
) -> dict[str, np.ndarray]:
    """A bag guided by each of WEIGHTINGS, beside the tuned model itself: name -> (seeds, items), `majority` (items,).

    One bag a run and its seed: `frozen` weights of the tuned model by `read_tuned`, `uniform` ones, the frozen ones
    `permuted` within each sentence, and weights `learned` with the bag from nothing. All bags see the same embeddings
    of the specimen before tuning.
    """
    sides = [(*word_embeddings(specimen, part.sentences), torch.as_tensor(part.labels)) for part in (train, test)]
    found: dict[str, list[np.ndarray]] = {name: [] for name in WEIGHTINGS}
    for both_read, seed in zip(readings, seeds, strict=True):
        frozen = [reading.weights for reading in both_read]
        for name in WEIGHTINGS:
            drawn = np.random.default_rng(seed)
            both = [
                (words, present, _weights(name, own, words.shape[1], drawn), labels)
                for (words, present, labels), own in zip(sides, frozen, strict=True)
            ]
            found[name].append(guided_correct(*both, seed))
    samples = {name: np.stack(values).astype(float) for name, values in found.items()}
    samples["tuned"] = np.stack([run.correct for run in runs]).astype(float)
    return samples | {"majority": majority_baseline(train.labels, test.labels)}


def _weights(name: str, frozen: Sequence[np.ndarray], longest: int, drawn: np.random.Generator) -> Tensor | None:
    if name == "learned":
        return None
    change = {
        "frozen": lambda row: row,
        "uniform": lambda row: np.full(len(row), 1 / len(row)),
        "permuted": drawn.permutation,
    }[name]
    return _padded([change(row) for row in frozen], longest)
