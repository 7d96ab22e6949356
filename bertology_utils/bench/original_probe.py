"""The structural probe as it was first trained, for one layer in a process of its own: the plain way of a benchmark.

After hewitt2019structural: a projection starts from small noise; the differences of all pairs of words are one tensor
(sentences, words, words, rank); Adam runs over batches of 20 sentences and the rate falls tenfold after an epoch that
did not improve the development loss; the epoch with the least one is kept. Depends on torch alone.

    python -m bertology_utils.bench.original_probe FOLDER LAYER EPOCHS RANK
"""

import sys
from pathlib import Path

import numpy as np
import torch

BATCH = 20
RATE = 0.001


def predicted_distances(words: torch.Tensor, projection: torch.Tensor) -> torch.Tensor:
    """Squared distances (sentences, words, words) of projected words (sentences, words, width), pair by pair."""
    transformed = words @ projection
    differences = transformed.unsqueeze(2) - transformed.unsqueeze(1)
    return differences.pow(2).sum(-1)


def loss(predicted: torch.Tensor, gold: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Absolute difference, summed over pairs, divided by each sentence's squared length, averaged over sentences."""
    misses = torch.abs(predicted - gold) * (gold != -1)
    return (misses.sum((1, 2)) / lengths.float() ** 2).mean()


def train(train: list[tuple], development: list[tuple], epochs: int, rank: int) -> torch.Tensor:
    """The projection (width, rank) of the best epoch; a batch is (words, gold distances padded with -1, lengths)."""
    torch.manual_seed(0)
    projection = torch.nn.Parameter(torch.empty(train[0][0].shape[-1], rank).uniform_(-0.05, 0.05))
    optimiser = torch.optim.Adam([projection], lr=RATE)
    falling = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.1, patience=0)
    best, kept = torch.inf, projection.detach().clone()
    for _ in range(epochs):
        for words, gold, lengths in train:
            optimiser.zero_grad()
            loss(predicted_distances(words, projection), gold, lengths).backward()
            optimiser.step()
        with torch.no_grad():
            now = sum(loss(predicted_distances(w, projection), g, n).item() for w, g, n in development)
        falling.step(now)
        if now < best:
            best, kept = now, projection.detach().clone()
    return kept


def batches(vectors: list[torch.Tensor], distances: list[np.ndarray]) -> list[tuple]:
    """Padded batches of 20 sentences in their order."""
    made = []
    for start in range(0, len(vectors), BATCH):
        chosen = vectors[start : start + BATCH]
        words = torch.nn.utils.rnn.pad_sequence(chosen, batch_first=True)
        gold = torch.full((len(chosen), words.shape[1], words.shape[1]), -1.0)
        for row, matrix in enumerate(distances[start : start + BATCH]):
            gold[row, : len(matrix), : len(matrix)] = torch.from_numpy(matrix)
        made.append((words, gold, torch.tensor([len(vector) for vector in chosen])))
    return made


def main(folder: str, layer: str, epochs: str, rank: str) -> None:
    """Reads `vectors.pt` and `distances.pt`, trains, and leaves the test sentences' distances in `LAYER.pt`."""
    place = Path(folder)
    parts = torch.load(place / "vectors.pt", weights_only=True)
    gold = torch.load(place / "distances.pt", weights_only=True)
    own = {name: [sentence[int(layer)] for sentence in sentences] for name, sentences in parts.items()}
    made = {name: batches(own[name], [matrix.numpy() for matrix in gold[name]]) for name in ("train", "development")}
    projection = train(made["train"], made["development"], int(epochs), int(rank))
    found = [predicted_distances(sentence[None], projection)[0] for sentence in own["test"]]
    torch.save(found, place / f"{layer}.pt")


if __name__ == "__main__":
    main(*sys.argv[1:])
