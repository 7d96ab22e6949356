"""Probes on frozen vectors: softmax, MLP, ridge, word selection, scalar mix. Knows no model.

Every probe reads all layers at once: features are ``(layers, items, width)``, and layers and seeds are batch axes of
one set of matrices, so that a sweep over layers costs one training run. A probe of one layer alone is the same probe
up to rounding: initial weights and the order of the items depend on the seed only. Several seeds
differ in both; with ``groups`` they also read different items, so that their spread holds what the choice of the
training items does. Features are standardised per layer and dimension with the training items' mean and deviation,
and not whitened: a probe of whitened features learns the directions of little variance as readily as the others, which
tell of single words, and finds a tenth less of tags and chunks in new words.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from sklearn.linear_model import RidgeCV
from torch.nn import functional

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.scaling import Standardiser

Labels = Sequence[int] | np.ndarray | torch.Tensor
Stages = Sequence[tuple[torch.Tensor, torch.Tensor]]

PENALTIES = (0.1, 1, 10, 100, 1e3, 1e4)


@dataclass(frozen=True)
class Training:
    """How a probe is trained: Adam on minibatches with a rate that falls linearly to zero.

    seeds, seed: how many probes train beside each other, and the first of their seeds.
    epochs, steps: passes over the items, but at least so many steps; after a fixed length, with no early stopping.
    penalty: the precision of a Gaussian prior on the weights (in nats, divided by the number of items), so it fades as
        data grow; between 1 and 30 the scores of large samples hardly move.
    groups: the sentence of each item, where each seed is to read sentences of its own; see ``items_of_seeds``.
    """

    seeds: int = 3
    epochs: int = 12
    batch: int = 256
    steps: int = 200
    learning_rate: float = 0.01
    penalty: float = 10.0
    seed: int = 0
    groups: Sequence[int] | None = None

    def read(self, items: int) -> torch.Tensor:
        """Which of so many training items each seed reads: ``(seeds, items a seed)``."""
        return items_of_seeds(items, self.seeds, self.groups, self.seed)

    def minimise(
        self,
        loss: Callable[[torch.Tensor], torch.Tensor],
        weights: Sequence[torch.Tensor],
        others: Sequence[torch.Tensor],
        read: torch.Tensor,
    ) -> None:
        """Train on the items that are ``read``, each seed in its own order, by the ``loss`` of rows ``(seeds, batch)``
        and the prior of the ``weights``."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        seeds, items = read.shape
        batch = min(self.batch, items)
        a_pass = items // batch
        total = max(self.epochs * a_pass, self.steps)
        trained = [parameter for parameter in (*weights, *others) if parameter.requires_grad]
        optimiser = torch.optim.Adam(trained, lr=self.learning_rate, fused=True)
        for step in range(total):
            if step % a_pass == 0:
                order = read.gather(1, torch.stack([torch.randperm(items, generator=generator) for _ in range(seeds)]))
            place = (step % a_pass) * batch
            optimiser.param_groups[0]["lr"] = self.learning_rate * (1 - step / total)
            optimiser.zero_grad()
            prior = sum(weight.square().sum() for weight in weights) * self.penalty / (2 * items)
            (loss(order[:, place : place + batch]) + prior).backward()
            optimiser.step()


def of_seeds(seeds: Sequence[int]) -> dict[str, int]:
    """The settings of ``Training`` for a probe a seed: they are drawn together, with the first of the seeds."""
    return {"seed": seeds[0], "seeds": len(seeds)}


@dataclass(frozen=True)
class Probe:
    """A trained classifier: ``stages`` of (weight ``(layers, seeds, in, out)``, bias ``(layers, seeds, 1, out)``).

    One stage is the linear probe, two are the MLP.
    """

    standardise: Standardiser
    stages: Stages

    @torch.no_grad()
    def logits(self, features: torch.Tensor) -> torch.Tensor:
        """Scores ``(layers, seeds, items, classes)`` of features ``(layers, items, width)``."""
        return _read(self.standardise(features.float()), self.stages)

    def predict(self, features: torch.Tensor) -> np.ndarray:
        """The best class: integers ``(layers, seeds, items)``."""
        return self.logits(features).argmax(-1).numpy()

    def correct(self, features: torch.Tensor, labels: Labels) -> np.ndarray:
        """Whether each item is right: floats 0/1 ``(layers, seeds, items)``. A label of -1 (unseen) is never right."""
        return (self.predict(features) == np.asarray(labels)).astype(float)

    def log_loss(self, features: torch.Tensor, labels: Labels) -> np.ndarray:
        """Negative log-likelihood of each item in bits: ``(layers, seeds, items)``."""
        target = torch.as_tensor(np.asarray(labels))
        log_probability = self.logits(features).log_softmax(-1)
        picked = log_probability.gather(-1, target.expand(log_probability.shape[:-1])[..., None])[..., 0]
        return (-picked / math.log(2)).numpy()


def stack_words(vectors: Sequence[torch.Tensor], chosen: Sequence[tuple[int, int]] | None = None) -> torch.Tensor:
    """Word vectors of sentences, each ``(layers, words, width)``, as one tensor ``(layers, items, width)``.

    ``chosen`` names items as (sentence, word); without it every word is taken, sentence by sentence.
    """
    if chosen is None:
        return torch.cat(list(vectors), dim=1)
    return torch.stack([vectors[sentence][:, word] for sentence, word in chosen], dim=1)


def predecessor_windows(vectors: torch.Tensor, longest: int) -> torch.Tensor:
    """Each word beside its last 1 .. ``longest`` predecessors, from ``(words, width)``.

    ``(longest, words, (longest + 1) * width)``: the window's length stands in the place of the layer; what it does not
    hold, and what would lie before the sentence, is zero.
    """
    shifted = [torch.cat([torch.zeros_like(vectors[:back]), vectors])[: len(vectors)] for back in range(longest + 1)]
    blocks = torch.stack(shifted, dim=1)  # (words, longest + 1, width)
    held = torch.arange(longest + 1) <= torch.arange(1, longest + 1)[:, None]
    return (blocks * held[:, None, :, None]).flatten(2)


def encode_labels(train: Sequence[Hashable], test: Sequence[Hashable]) -> tuple[np.ndarray, np.ndarray, list[Hashable]]:
    """Labels as integers, and their names. A test label that training never showed is -1, which counts as wrong."""
    names = sorted(set(train), key=str)
    index = {name: place for place, name in enumerate(names)}
    return np.array([index[x] for x in train]), np.array([index.get(x, -1) for x in test]), names


def train_probe(
    features: torch.Tensor, labels: Labels, *, classes: int | None = None, hidden: int = 0, **settings
) -> Probe:
    """Train a softmax probe on every layer: linear, or an MLP with ``hidden`` units; settings as in ``Training``.

    ``features`` is ``(layers, items, width)``, ``labels`` ``(items,)``. Layer by layer as in liu2019linguistic. Raises
    BertologyError if items and labels disagree.
    """
    features, target = _checked(features, labels)
    training = Training(**settings)
    standardise = Standardiser.fit(features)
    stages = _initial(len(features), features.shape[-1], classes or int(target.max()) + 1, hidden, training)
    scaled = standardise(features)

    def loss(rows: torch.Tensor) -> torch.Tensor:
        return _cross_entropy(_forward(_items(scaled, rows), stages), target[rows])

    training.minimise(loss, *zip(*stages, strict=True), training.read(len(target)))
    return Probe(standardise, _detached(stages))


def probe_correctness(
    train: torch.Tensor, train_labels: Labels, test: torch.Tensor, test_labels: Labels, **settings
) -> np.ndarray:
    """Train on one set, score another: 0/1 ``(layers, seeds, items)``; settings as in ``train_probe``."""
    return train_probe(train, train_labels, **settings).correct(test, test_labels)


@dataclass(frozen=True)
class RidgeProbe:
    """Linear regression per layer: ``weights (layers, width, targets)`` of features without their mean, and ``mean``
    ``(targets,)``, all in double precision."""

    standardise: Standardiser
    weights: torch.Tensor
    mean: torch.Tensor

    def predict(self, features: torch.Tensor) -> torch.Tensor:
        """Predicted targets ``(layers, items, targets)`` of features ``(layers, items, width)``."""
        return self.standardise(features.double()) @ self.weights + self.mean


def fit_ridge(features: torch.Tensor, targets: torch.Tensor, scaled: bool = True) -> RidgeProbe:
    """Ridge regression of ``targets (items,)`` or ``(items, targets)`` on each layer of ``(layers, items, width)``.

    The penalty with the smallest leave-one-out error is taken for each layer (scikit-learn's ``RidgeCV``).
    Features are brought to one scale unless they are on one: a feature that hardly varies in training would be blown
    up, and with it what the test holds there.
    """
    features, wanted = features.double(), torch.as_tensor(targets).double()
    wanted = wanted.reshape(len(wanted), -1)
    standardise = Standardiser.fit(features)
    if not scaled:
        standardise = Standardiser(standardise.mean, torch.ones_like(standardise.mean))
    fitted = [RidgeCV(PENALTIES).fit(layer.numpy(), wanted.numpy()) for layer in standardise(features)]
    weights = [torch.from_numpy(np.atleast_2d(ridge.coef_).T) for ridge in fitted]
    return RidgeProbe(standardise, torch.stack(weights), wanted.mean(0))


@dataclass(frozen=True)
class WordSelector:
    """Scores each word of a sentence: ``weights (layers, seeds, width)``."""

    standardise: Standardiser
    weights: torch.Tensor

    def select(self, vectors: Sequence[torch.Tensor]) -> np.ndarray:
        """The place of the best word: integers ``(layers, seeds, sentences)``; vectors as for ``train_selector``."""
        scores = [torch.einsum("lnd,lsd->lsn", self.standardise(v.float()), self.weights) for v in vectors]
        return torch.stack([score.argmax(-1) for score in scores], dim=-1).numpy()

    def correct(self, vectors: Sequence[torch.Tensor], places: Sequence[int]) -> np.ndarray:
        """Whether the wanted word is selected: 0/1 ``(layers, seeds, sentences)``."""
        return (self.select(vectors) == np.asarray(places)).astype(float)


def train_selector(vectors: Sequence[torch.Tensor], places: Sequence[int], **settings) -> WordSelector:
    """Learn to point at one word of each sentence, a softmax over its words (the diagnostic classifier of lin2019open).

    ``vectors`` holds ``(layers, words, width)`` a sentence, ``places`` the 0-based index of the wanted word; settings
    as in ``Training``, whose items are the sentences, in batches of 64.
    """
    training = Training(**{"batch": 64, **settings})
    standardise = Standardiser.fit_parts(vectors)
    padded = torch.nn.utils.rnn.pad_sequence([standardise(v.float()).transpose(0, 1) for v in vectors])
    padded = padded.permute(2, 1, 0, 3).contiguous()  # (layers, sentences, words, width)
    lengths = torch.tensor([v.shape[1] for v in vectors])
    outside = torch.arange(padded.shape[2]) >= lengths[:, None]
    target, generator = torch.as_tensor(places), torch.Generator().manual_seed(training.seed)
    start = 0.01 * torch.randn(1, training.seeds, padded.shape[-1], generator=generator)
    weights = start.repeat(len(padded), 1, 1).requires_grad_()

    def loss(rows: torch.Tensor) -> torch.Tensor:
        words = _items(padded, rows).flatten(2, 3)  # (layers, seeds, batch * words, width)
        scores = (weights[:, :, None] @ words.mT).unflatten(-1, (-1, padded.shape[2]))[:, :, 0]
        return _cross_entropy(scores.masked_fill(outside[rows], -1e9), target[rows])

    training.minimise(loss, [weights], [], training.read(len(places)))
    return WordSelector(standardise, weights.detach())


@dataclass(frozen=True)
class ScalarMix:
    """Probes that each read a learnt mixture of layers.

    ``shares (mixes, seeds, layers)`` sum to 1; ``stages`` as in ``Probe`` with mixes in the place of layers.
    """

    standardise: Standardiser
    shares: torch.Tensor
    stages: Stages

    @torch.no_grad()
    def correct(self, features: torch.Tensor, labels: Labels) -> np.ndarray:
        """Whether each item is right: 0/1 ``(mixes, seeds, items)``, from ``(layers, items, width)``."""
        scaled = self.standardise(features.float())
        found = [
            _forward(torch.tensordot(share, scaled, 1), [(w[place], b[place]) for w, b in self.stages]).argmax(-1)
            for place, share in enumerate(self.shares)
        ]  # one mix at a time: (mixes, seeds, items, width) is large
        return (torch.stack(found).numpy() == np.asarray(labels)).astype(float)


def train_scalar_mix(
    features: torch.Tensor,
    labels: Labels,
    *,
    cumulative: bool = False,
    classes: int | None = None,
    hidden: int = 0,
    evenness: float = 0.0,
    **settings,
) -> ScalarMix:
    """Probe a softmax-weighted sum of layers (tenney2019bert): one mix of all, or with ``cumulative`` mix l of 0..l.

    All cumulative mixes train together, as a mask on the mixing logits. Deviations: each layer is standardised, so
    that shares compare like with like, and the study's common factor is left to the classifier's weights. ``evenness``
    is the strength of a prior for even shares: without one the weights go on gathering in one layer for as long as
    training lasts, and their spread tells its length. Other settings as in ``Training``.
    """
    features, target = _checked(features, labels)
    training = Training(**settings)
    layers, _, width = features.shape
    standardise = Standardiser.fit(features)
    scaled = standardise(features)
    readable = torch.ones(layers, layers).tril().bool() if cumulative else torch.ones(1, layers).bool()
    mixing = torch.zeros(len(readable), training.seeds, layers, requires_grad=True)
    stages = _initial(len(readable), width, classes or int(target.max()) + 1, hidden, training)

    def scores() -> torch.Tensor:  # the factor lets few steps move far: Adam's steps are small beside a softmax's scale
        return 10 * mixing

    def shares() -> torch.Tensor:
        return scores().masked_fill(~readable[:, None], -torch.inf).softmax(-1)

    def loss(rows: torch.Tensor) -> torch.Tensor:
        logits = _forward(_mixed(shares(), _items(scaled, rows)), stages)
        return _cross_entropy(logits, target[rows]) + scores().square().sum() * evenness / 2

    weights, biases = zip(*stages, strict=True)
    training.minimise(loss, weights, [mixing, *biases], training.read(len(target)))
    return ScalarMix(standardise, shares().detach(), _detached(stages))


def owners(sentences: int, seeds: int, seed: int = 0) -> torch.Tensor:
    """Which of the seeds reads each of so many sentences, dealt out at random: ``(sentences,)``."""
    return torch.randperm(sentences, generator=torch.Generator().manual_seed(seed)) % seeds


def items_of_seeds(items: int, seeds: int, groups: Sequence[int] | None, seed: int = 0) -> torch.Tensor:
    """Which training items each seed reads: ``(seeds, items a seed)``, all of them without ``groups``.

    ``groups`` numbers the sentence of each item, from 0. The sentences are dealt out at random, each to one seed, and
    all seeds read as many items as the smallest share has. Probes of the same sentences are too much alike: with other
    sentences their scores move up to twice as far as an interval over such seeds says.
    """
    if groups is None:
        return torch.arange(items).expand(seeds, -1)
    owner = owners(max(groups) + 1, seeds, seed)[torch.as_tensor(groups)]
    shares = [(owner == one).nonzero()[:, 0] for one in range(seeds)]
    size = min(map(len, shares))
    if not size:
        raise BertologyError(f"{items} training items do not give each of {seeds} seeds a sentence of its own.")
    return torch.stack([share[:size] for share in shares])


def centre_of_gravity(shares: np.ndarray | torch.Tensor) -> np.ndarray:
    """Where a mix puts its weight, the sum of layer times share: ``(..., layers)`` to ``(...)`` (tenney2019bert)."""
    shares = np.asarray(shares)
    return shares @ np.arange(shares.shape[-1])


def expected_layer(scores: np.ndarray) -> np.ndarray:
    """Where the gain of cumulative scores ``(layers, ...)`` is made: ``(...)`` (tenney2019bert).

    The gain of each layer may be negative and is used as it is, like in the study's released evaluation; the ratio is
    unstable where the whole gain is small, and NaN where it is 0.
    """
    gains = np.diff(np.asarray(scores, dtype=float), axis=0)
    total = gains.sum(0)
    moment = np.tensordot(np.arange(1, len(gains) + 1), gains, axes=1)
    return np.divide(moment, total, out=np.full_like(moment, np.nan), where=np.abs(total) > 1e-12)


def shuffled_expected_layers(scores: np.ndarray, draws: int = 1000, seed: int = 0) -> np.ndarray:
    """The control of ``expected_layer``: the same gains ``(layers,)`` in random order, ``(draws,)``."""
    generator = np.random.default_rng(seed)
    gains = np.diff(np.asarray(scores, dtype=float))
    shuffled = generator.permuted(np.tile(gains, (draws, 1)), axis=1)
    return expected_layer(np.concatenate([np.zeros((1, draws)), shuffled.cumsum(1).T]))


def _items(scaled: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """`scaled[:, rows]` in a fraction of its time: (layers, items, ...), (seeds, batch) to (layers, *rows, ...)."""
    return scaled.index_select(1, rows.flatten()).unflatten(1, rows.shape)


def _mixed(shares: torch.Tensor, scaled: torch.Tensor) -> torch.Tensor:
    """``(mixes, seeds, layers)`` and ``(layers, seeds or 1, items, width)`` to ``(mixes, seeds, items, width)``."""
    return torch.einsum("msl,lsnd->msnd", shares, scaled.expand(-1, shares.shape[1], -1, -1))


def _checked(features: torch.Tensor, labels: Labels) -> tuple[torch.Tensor, torch.Tensor]:
    target = torch.as_tensor(np.asarray(labels)).long()
    if features.ndim != 3 or features.shape[1] != len(target):
        raise BertologyError(f"Features must be (layers, {len(target)}, width), not {tuple(features.shape)}.")
    if len(target) == 0 or target.min() < 0:
        raise BertologyError("Training labels must be integers from 0, at least one of them.")
    return features.float(), target


def _initial(layers: int, width: int, classes: int, hidden: int, training: Training) -> Stages:
    """Weights drawn per seed and repeated over layers, so that a layer's result depends on no other layer."""
    generator = torch.Generator().manual_seed(training.seed)
    stages = []
    for rows, columns in pairwise(filter(None, (width, hidden, classes))):
        scale = (2 / rows) ** 0.5 if hidden else 0.01
        weight = scale * torch.randn(1, training.seeds, rows, columns, generator=generator)
        bias = torch.zeros(layers, training.seeds, 1, columns, requires_grad=True)
        stages.append((weight.repeat(layers, 1, 1, 1).requires_grad_(), bias))
    return stages


def _detached(stages: Stages) -> Stages:
    return tuple((weight.detach(), bias.detach()) for weight, bias in stages)


def _forward(hidden: torch.Tensor, stages: Stages) -> torch.Tensor:
    for place, (weight, bias) in enumerate(stages):
        hidden = (hidden.relu() if place else hidden) @ weight + bias
    return hidden


def _read(scaled: torch.Tensor, stages: Stages) -> torch.Tensor:
    """`_forward` of the same items by all seeds, without a copy of them for each: (layers, items, width) to (layers,
    seeds, items, classes)."""
    (weight, bias), *rest = stages
    side_by_side = weight.transpose(1, 2).flatten(2)  # (layers, width, seeds * out)
    first = (scaled @ side_by_side).unflatten(-1, weight.shape[1::2]).transpose(1, 2) + bias
    return _forward(first.relu(), rest) if rest else first


def _cross_entropy(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Mean over the items, sum over layers and seeds: each of them then trains as if alone.

    ``logits (layers, seeds, batch, classes)``, ``target (seeds, batch)``.
    """
    flat = functional.cross_entropy(logits.flatten(0, -2), target.expand(logits.shape[:-1]).flatten(), reduction="sum")
    return flat / target.shape[-1]
