"""Static word vectors learnt from sentences: skip-gram with negative sampling, and GloVe. Depends on torch.

The baselines that contextual vectors are said to leave behind: one vector a word type, whatever the sentence.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F

Words = Sequence[str]


def cooccurrences(sentences: Sequence[Words], window: int = 3) -> tuple[list[str], dict[tuple[int, int], float]]:
    """The words in order of frequency, and how often each ordered pair stands within `window` words."""
    counts = Counter(word for sentence in sentences for word in sentence)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    place = {word: i for i, word in enumerate(words)}
    pairs: Counter[tuple[int, int]] = Counter()
    for sentence in sentences:
        ids = [place[word] for word in sentence]
        for i, word in enumerate(ids):
            pairs.update((word, other) for other in ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window])
    return words, dict(pairs)


def skip_gram(
    sentences: Sequence[Words], width: int = 32, window: int = 3, negatives: int = 5, steps: int = 400, seed: int = 0
) -> tuple[list[str], np.ndarray]:
    """Words and their vectors (words, width) by skip-gram with negative sampling (mikolov2013distributed).

    Word and context are told from `negatives` words drawn by frequency to the power 0.75. All pairs are trained at
    once, weighted by their counts; frequent words are not subsampled.
    """
    words, pairs = cooccurrences(sentences, window)
    index, counts = _tensors(pairs)
    centre, context = _tables(len(words), width, seed)
    marginal = torch.zeros(len(words)).index_add_(0, index[:, 1], counts)
    noise = marginal**0.75 / (marginal**0.75).sum()
    totals = torch.zeros(len(words)).index_add_(0, index[:, 0], counts)

    def loss() -> torch.Tensor:
        scores = centre @ context.T
        met = (counts * F.logsigmoid(scores[index[:, 0], index[:, 1]])).sum()
        unmet = (totals[:, None] * noise * F.logsigmoid(-scores)).sum()
        return -(met + negatives * unmet) / counts.sum()

    _minimise(loss, [centre, context], steps)
    return words, centre.detach().numpy()


def glove(
    sentences: Sequence[Words], width: int = 32, window: int = 3, ceiling: float = 100, steps: int = 400, seed: int = 0
) -> tuple[list[str], np.ndarray]:
    """Words and their vectors (words, width) by GloVe: weighted least squares on log counts (pennington2014glove).

    Weights are (count / ceiling) ** 0.75, at most 1; the two tables are added at the end, as in the study. Neighbours
    count alike at every distance within the window.
    """
    words, pairs = cooccurrences(sentences, window)
    index, counts = _tensors(pairs)
    centre, context = _tables(len(words), width, seed)
    biases = [torch.zeros(len(words), requires_grad=True) for _ in range(2)]
    weights, target = (counts / ceiling).clamp(max=1) ** 0.75, counts.log()

    def loss() -> torch.Tensor:
        i, j = index.T
        guess = (centre[i] * context[j]).sum(-1) + biases[0][i] + biases[1][j]
        return (weights * (guess - target) ** 2).sum() / weights.sum()

    _minimise(loss, [centre, context, *biases], steps)
    return words, (centre + context).detach().numpy()


def _tensors(pairs: dict[tuple[int, int], float]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(list(pairs)), torch.tensor(list(pairs.values()), dtype=torch.float32)


def _tables(words: int, width: int, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [(torch.rand(words, width, generator=generator) - 0.5).div(width).requires_grad_() for _ in range(2)]


def _minimise(loss, parameters: list[torch.Tensor], steps: int) -> None:
    optimiser = torch.optim.Adam(parameters, lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()
