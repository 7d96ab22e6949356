"""Structural probes: tree distance and depth as squared norms in a linear projection of all layers at once.

After hewitt2019structural. Needs torch, ``scaling`` and ``trees``; knows no model: vectors are a list over
sentences of ``(layers, words, width)``, trees a list of heads. Layers and seeds are batch axes; squared
distances come from the Gram matrix, so no tensor of differences is ever built.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments import trees
from bertology_utils.instruments.scaling import Standardiser

Vectors = Sequence[torch.Tensor]


def squared_distances(projected: torch.Tensor) -> torch.Tensor:
    """Squared distances between rows, ``(..., words, rank)`` to ``(..., words, words)``, by way of the Gram matrix."""
    gram = projected @ projected.mT
    norms = gram.diagonal(dim1=-2, dim2=-1).clone()
    return gram.mul_(-2).add_(norms[..., :, None]).add_(norms[..., None, :])


class _PairMisses(torch.autograd.Function):
    """Weighted absolute differences of squared distances from a target, summed over pairs: ``(...)``.

    Weights and targets are the same for a pair and its reverse. The gradient is written out, from the signs of the
    differences alone: one product in place of the three passes over all pairs that autograd would make.
    """

    @staticmethod
    def forward(context, projected: torch.Tensor, target: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        misses = squared_distances(projected).sub_(target)
        signs = misses.sign().mul_(weight)
        context.save_for_backward(projected, signs)
        return misses.mul_(signs).sum((-1, -2))

    @staticmethod
    def backward(context, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        projected, signs = context.saved_tensors
        pulls = signs * (-4 * gradient[..., None, None])  # each pair is there twice, and its distance is a square
        pulls.diagonal(dim1=-2, dim2=-1).sub_(pulls.sum(-1))
        return pulls @ projected, None, None


@dataclass(frozen=True)
class StructuralProbe:
    """A projection per layer and seed, ``transform (layers, seeds, width, rank)``, and where it puts the origin.

    ``origin (layers, seeds, 1, rank)`` matters to depths only: distances do not see it.
    """

    standardise: Standardiser
    transform: torch.Tensor
    origin: torch.Tensor

    @torch.no_grad()
    def project(self, vectors: torch.Tensor) -> torch.Tensor:
        """``(layers, words, width)`` to ``(layers, seeds, words, rank)``."""
        return self.standardise(vectors.float())[:, None] @ self.transform + self.origin

    def distances(self, vectors: Vectors) -> list[np.ndarray]:
        """Predicted squared distances of each sentence: ``(layers, seeds, words, words)``."""
        return [squared_distances(self.project(sentence)).numpy() for sentence in vectors]

    def depths(self, vectors: Vectors) -> list[np.ndarray]:
        """Predicted squared norms of each sentence: ``(layers, seeds, words)``."""
        return [self.project(sentence).square().sum(-1).numpy() for sentence in vectors]


@dataclass(frozen=True)
class DistanceScores:
    """Per sentence ``uuas`` and ``spearman``, both ``(layers, seeds, sentences)``; DSpr. ``(layers, seeds)``.

    ``hits (layers, seeds, sentences)`` and ``edges (sentences,)`` give micro averages: ``hits.sum(-1) / edges.sum()``.
    A sentence without scored edges has UUAS NaN.
    """

    uuas: np.ndarray
    spearman: np.ndarray
    dspr: np.ndarray
    hits: np.ndarray
    edges: np.ndarray


@dataclass(frozen=True)
class DepthScores:
    """Per sentence ``root`` (0/1) and ``spearman``, both ``(layers, seeds, sentences)``."""

    root: np.ndarray
    spearman: np.ndarray


def fit_distance_probe(vectors: Vectors, heads: Sequence[trees.Heads], **settings) -> StructuralProbe:
    """Learn projections whose squared distances are tree distances; settings as in ``_fit``.

    The loss is the study's: the mean over sentences of the mean absolute difference over pairs of words.
    """
    targets = [torch.from_numpy(trees.tree_distances(tree)).float() for tree in heads]
    return _fit(vectors, targets, _distance_loss, **settings)


def fit_depth_probe(vectors: Vectors, heads: Sequence[trees.Heads], **settings) -> StructuralProbe:
    """Learn projections whose squared norms are depths in the tree; settings as in ``_fit``.

    The origin is learnt, because standardising has moved it (a deviation from the study).
    """
    targets = [torch.from_numpy(trees.tree_depths(tree)).float() for tree in heads]
    return _fit(vectors, targets, _depth_loss, **settings)


def score_distances(
    predicted: Sequence[np.ndarray], heads: Sequence[trees.Heads], keep: Sequence[Sequence[bool]] | None = None
) -> DistanceScores:
    """Score predicted distances ``(layers, seeds, words, words)`` a sentence, or any leading axes (a baseline's too).

    ``keep`` marks the words that the attachment score reads (no punctuation); correlations read all words. DSpr.
    takes the lengths 5 to 50, or all lengths if no sentence is that long.
    """
    masks = keep if keep is not None else [None] * len(heads)
    found = [trees.attachment_hits(*item) for item in zip(predicted, heads, masks, strict=True)]
    hits = np.stack([hit for hit, _ in found], axis=-1)
    edges = np.array([total for _, total in found])
    ranks = [
        trees.sentence_distance_spearman(guess, trees.tree_distances(tree))
        for guess, tree in zip(predicted, heads, strict=True)
    ]
    uuas = np.divide(hits, edges, out=np.full(hits.shape, np.nan), where=edges > 0)
    return DistanceScores(uuas, np.stack(ranks, axis=-1), _over_lengths(ranks, heads), hits, edges)


def score_depths(
    predicted: Sequence[np.ndarray], heads: Sequence[trees.Heads], keep: Sequence[Sequence[bool]] | None = None
) -> DepthScores:
    """Score predicted depths ``(layers, seeds, words)`` a sentence: the least deep kept word should be the root."""
    roots, ranks = [], []
    for place, (guess, tree) in enumerate(zip(predicted, heads, strict=True)):
        hidden = np.zeros(len(tree), bool) if keep is None else ~np.asarray(keep[place], bool)
        roots.append(np.where(hidden, np.inf, guess).argmin(-1) == list(tree).index(-1))
        ranks.append(trees.row_spearman(guess, np.broadcast_to(trees.tree_depths(tree), guess.shape)))
    return DepthScores(np.stack(roots, -1).astype(float), np.stack(ranks, -1))


@dataclass(frozen=True)
class _Batch:
    """Sentences of like length, padded, one after the other: ``words (layers, sentences * words, width)``.

    ``target (sentences, words[, words])`` is what their words or pairs of words should have, ``weight`` of the same
    shape how much each counts in its sentence's mean: nothing where there is only padding.
    """

    words: torch.Tensor
    target: torch.Tensor
    weight: torch.Tensor


def _fit(
    vectors: Vectors,
    targets: Sequence[torch.Tensor],
    loss,
    *,
    rank: int = 64,
    seeds: int = 3,
    epochs: int = 20,
    batch_words: int = 300,
    learning_rate: float = 0.003,
    held_out: float = 0.1,
    seed: int = 0,
) -> StructuralProbe:
    """Adam with a falling rate from small noise, as in the study; the epoch best on held-out sentences is kept.

    ``rank`` is at most the width; ``batch_words`` the padded words of a minibatch; ``held_out`` the share of
    sentences that choose the epoch, for each layer and seed. Seeds differ in their starting noise and in nothing else.
    The vectors are standardised, so the noise is a tenth of the study's: what it projects of irrelevant directions
    has to be unlearnt. They are not whitened: with few sentences a probe of whitened vectors finds fewer trees.
    Raises BertologyError if vectors and trees disagree.
    """
    _check(vectors, targets)
    generator = torch.Generator().manual_seed(seed)
    standardise = Standardiser.fit_parts(vectors)
    order = torch.randperm(len(vectors), generator=generator).tolist()
    aside = max(1, round(held_out * len(order))) if len(order) > 1 else 0
    train = _batches(vectors, targets, order[aside:], standardise, batch_words)
    development = _batches(vectors, targets, order[:aside] or order, standardise, batch_words)
    layers, _, width = vectors[0].shape
    noise = (torch.rand(seeds, width, min(rank, width), generator=generator) - 0.5) / 100
    transform = noise.transpose(0, 1).repeat(layers, 1, 1, 1).requires_grad_()  # seeds are columns of one product
    origin = torch.full((layers, seeds, 1, transform.shape[-1]), 0.05, requires_grad=True)
    optimiser = torch.optim.Adam([transform, origin], lr=learning_rate, fused=True)
    best = _Best(transform, origin)
    for step in range(epochs):
        best.update(transform, origin, development, loss)
        optimiser.param_groups[0]["lr"] = learning_rate * (1 - step / epochs)
        for place in torch.randperm(len(train), generator=generator).tolist():
            optimiser.zero_grad()
            loss(transform, origin, train[place]).mean(-1).sum().backward()
            optimiser.step()
    best.update(transform, origin, development, loss)
    return StructuralProbe(standardise, best.transform.transpose(1, 2), best.origin)


class _Best:
    """Keeps, for each layer and seed, the parameters with the smallest held-out loss so far."""

    def __init__(self, transform: torch.Tensor, origin: torch.Tensor):
        self.transform, self.origin = transform.detach().clone(), origin.detach().clone()
        self.loss = torch.full(origin.shape[:2], torch.inf)

    @torch.no_grad()
    def update(self, transform: torch.Tensor, origin: torch.Tensor, batches: list[_Batch], loss) -> None:
        now = torch.cat([loss(transform, origin, batch) for batch in batches], dim=-1).mean(-1)
        better = now < self.loss
        self.loss = torch.minimum(now, self.loss)
        self.transform = torch.where(better[:, None, :, None], transform, self.transform)
        self.origin = torch.where(better[:, :, None, None], origin, self.origin)


def _distance_loss(transform: torch.Tensor, origin: torch.Tensor, batch: _Batch) -> torch.Tensor:
    """Mean absolute difference over pairs of words: ``(layers, seeds, sentences)``."""
    return _PairMisses.apply(_projected(transform, batch), batch.target, batch.weight)


def _depth_loss(transform: torch.Tensor, origin: torch.Tensor, batch: _Batch) -> torch.Tensor:
    """Mean absolute difference over words: ``(layers, seeds, sentences)``."""
    norms = (_projected(transform, batch) + origin[:, :, None]).square().sum(-1)
    return ((norms - batch.target).abs() * batch.weight).sum(-1)


def _projected(transform: torch.Tensor, batch: _Batch) -> torch.Tensor:
    """``(layers, seeds, sentences, words, rank)`` by a transform ``(layers, width, seeds, rank)``.

    One matrix product a layer, over all the words of the batch and all seeds.
    """
    flat = batch.words @ transform.flatten(2)
    return flat.unflatten(2, transform.shape[2:]).unflatten(1, batch.target.shape[:2]).movedim(3, 1)


def _batches(
    vectors: Vectors,
    targets: Sequence[torch.Tensor],
    chosen: list[int],
    standardise: Standardiser,
    batch_words: int,
) -> list[_Batch]:
    """Sentences sorted by length and cut so that a padded batch has at most ``batch_words`` words (or one sentence)."""
    groups: list[list[int]] = []
    for place in sorted(chosen, key=lambda place: len(targets[place])):
        if groups and (len(groups[-1]) + 1) * len(targets[place]) <= batch_words:
            groups[-1].append(place)
        else:
            groups.append([place])
    padded = [_padded([vectors[place] for place in group], [targets[place] for place in group]) for group in groups]
    for batch in padded:  # the padding too, which weighs nothing
        standardise.in_place(batch.words)
    return padded


def _padded(vectors: list[torch.Tensor], targets: list[torch.Tensor]) -> _Batch:
    longest = max(len(target) for target in targets)
    words = torch.zeros(len(vectors[0]), len(vectors), longest, vectors[0].shape[-1])
    target, weight = torch.zeros(2, len(vectors), *[longest] * targets[0].ndim)
    for place, (vector, gold) in enumerate(zip(vectors, targets, strict=True)):
        own = tuple(slice(size) for size in gold.shape)
        words[:, place, : len(gold)] = vector
        target[place][own] = gold
        weight[place][own] = 1 / gold.numel()
    return _Batch(words.flatten(1, 2), target, weight)


def _over_lengths(scores: list[np.ndarray], heads: Sequence[trees.Heads]) -> np.ndarray:
    lengths = [len(tree) for tree in heads]
    return trees.mean_over_lengths(scores, lengths, *((5, 50) if max(lengths) >= 5 else (2, 4)))


def _check(vectors: Vectors, targets: Sequence[torch.Tensor]) -> None:
    if len(vectors) != len(targets) or not vectors:
        raise BertologyError(f"There are {len(vectors)} sentences of vectors and {len(targets)} trees.")
    for place, (vector, target) in enumerate(zip(vectors, targets, strict=True)):
        if vector.ndim != 3 or vector.shape[1] != len(target):
            raise BertologyError(
                f"Sentence {place}: vectors {tuple(vector.shape)} should be (layers, {len(target)}, width)."
            )
