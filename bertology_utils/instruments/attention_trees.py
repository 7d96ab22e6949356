"""The tree experiments of the chapter on syntax: probes by layer, ranks, and trees read from attention maps.

Orchestration only: metrics come from `structural` and `trees`, vectors from `activations`, maps from `attention`,
sentences from `material`. What is selected (layer, head) is selected on development sentences, and scored on others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertology_utils.activations import word_vectors
from bertology_utils.data.material import Treebank
from bertology_utils.instruments import structural, trees
from bertology_utils.instruments.attention import attention_maps, word_level_map
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.models import Specimen


@dataclass(frozen=True)
class LayerScores:
    """Scores of one probe at all layers: `development (layers,)` means, `test (layers, seeds, sentences)`.

    `read (seeds, items)` are the labels that a probe of words reads at its best layer.
    """

    development: np.ndarray
    test: np.ndarray
    read: np.ndarray | None = None

    @property
    def best(self) -> int:
        """The layer that is best on the development sentences."""
        return int(self.development.argmax())

    @property
    def best_test(self) -> np.ndarray:
        """Test scores of that layer: `(seeds, sentences)`."""
        return self.test[self.best]

    def over(self, baseline: np.ndarray, name: str) -> dict[str, np.ndarray]:
        """The samples that most predictions about layers name: `best_layer`, `layer_0` and a named baseline."""
        return {"best_layer": self.best_test, "layer_0": self.test[0], name: baseline}


def punctuation_mask(sentences: Sequence[Sentence]) -> list[list[bool]]:
    """Which words count for attachment scores: all but punctuation."""
    return [[tag != "PUNCT" for tag in sentence.upos] for sentence in sentences]


@dataclass(frozen=True)
class BankVectors:
    """Vectors of a treebank's words at all layers, `(layers + 1, words, width)` a sentence: what all sweeps read."""

    train: list[torch.Tensor]
    development: list[torch.Tensor]
    test: list[torch.Tensor]


def bank_vectors(specimen: Specimen, bank: Treebank) -> BankVectors:
    """Encodes every sentence of the treebank once."""
    vectors = iter(word_vectors(specimen, [s.words for s in bank.sentences]))
    return BankVectors(*([next(vectors) for _ in part] for part in (bank.train, bank.development, bank.test)))


def distance_sweep(vectors: BankVectors, bank: Treebank, **settings) -> dict[str, LayerScores]:
    """Distance probes at every layer; settings as in `structural.fit_distance_probe`.

    `uuas` and `spearman` of each sentence; `micro` and `dspr` are one number a set, in the place of the sentences, as
    hewitt2019structural reports them: the share of all edges, and the mean correlation over sentence lengths.
    """
    probe = structural.fit_distance_probe(vectors.train, [s.heads for s in bank.train], **settings)
    scores = _scored(structural.score_distances, probe.distances, vectors, bank)
    found = {name: _layer_scores(*(getattr(score, name) for score in scores)) for name in ("uuas", "spearman")}
    found["micro"] = _layer_scores(*(score.hits.sum(-1, keepdims=True) / score.edges.sum() for score in scores))
    return found | {"dspr": _layer_scores(*(score.dspr[..., None] for score in scores))}


def depth_sweep(vectors: BankVectors, bank: Treebank, **settings) -> dict[str, LayerScores]:
    """Depth probes at every layer: `root` (0/1) and `spearman`; settings as in `structural.fit_depth_probe`."""
    probe = structural.fit_depth_probe(vectors.train, [s.heads for s in bank.train], **settings)
    scores = _scored(structural.score_depths, probe.depths, vectors, bank)
    return {name: _layer_scores(*(getattr(score, name) for score in scores)) for name in ("root", "spearman")}


def _scored(score: Callable, read_by: Callable, vectors: BankVectors, bank: Treebank) -> list:
    """What a probe reads, scored on the development and on the test sentences."""
    parts = ((vectors.development, bank.development), (vectors.test, bank.test))
    return [score(read_by(read), [s.heads for s in part], punctuation_mask(part)) for read, part in parts]


def rank_sweep(vectors: BankVectors, bank: Treebank, layer: int, ranks: Sequence[int], **settings) -> np.ndarray:
    """UUAS on test sentences of distance probes of several ranks at one layer, averaged over seeds.

    Returns `(ranks, sentences)`; settings as in `structural.fit_distance_probe`.
    """
    train, test = ([v[layer : layer + 1] for v in part] for part in (vectors.train, vectors.test))
    found = []
    for rank in ranks:
        probe = structural.fit_distance_probe(train, [s.heads for s in bank.train], rank=rank, **settings)
        heads = [s.heads for s in bank.test]
        scores = structural.score_distances(probe.distances(test), heads, punctuation_mask(bank.test))
        found.append(scores.uuas[0].mean(0))
    return np.stack(found)


def chain_scores(sentences: Sequence[Sentence]) -> dict[str, np.ndarray]:
    """What the linear order alone gives: `uuas` and `spearman` of the distance |i - j|, both `(sentences,)`."""
    chains = [trees.linear_chain_distances(len(s.words))[None, None] for s in sentences]
    scores = structural.score_distances(chains, [s.heads for s in sentences], punctuation_mask(sentences))
    return {"uuas": scores.uuas[0, 0], "spearman": scores.spearman[0, 0]}


def position_scores(train: Sequence[Sentence], test: Sequence[Sentence]) -> dict[str, np.ndarray]:
    """Depth guessed from the position alone (the mean depth there in training): `root`, `spearman`, `(sentences,)`."""
    longest = max(len(s.words) for s in [*train, *test])
    total, count = np.zeros(longest), np.zeros(longest)
    for sentence in train:
        total[: len(sentence.words)] += trees.tree_depths(sentence.heads)
        count[: len(sentence.words)] += 1
    guess = np.divide(total, count, out=np.full(longest, total.sum() / count.sum()), where=count > 0)
    guesses = [guess[None, None, : len(s.words)] for s in test]
    scores = structural.score_depths(guesses, [s.heads for s in test], punctuation_mask(test))
    return {"root": scores.root[0, 0], "spearman": scores.spearman[0, 0]}


# Trees from attention -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AttentionTrees:
    """UUAS of trees read from every head, `(layers, heads, sentences)`, on development and test sentences.

    `development_maps` and `test_maps` keep the word-level maps, `(layers, heads, words, words)` a sentence.
    """

    development: np.ndarray
    test: np.ndarray
    development_maps: list[np.ndarray]
    test_maps: list[np.ndarray]

    @property
    def best(self) -> tuple[int, int]:
        """0-based layer and head with the best trees on the development sentences."""
        means = self.development.mean(-1)
        layer, head = np.unravel_index(means.argmax(), means.shape)
        return int(layer), int(head)

    @property
    def best_test(self) -> np.ndarray:
        return self.test[self.best]


def attention_trees(eager: Specimen, bank: Treebank) -> AttentionTrees:
    """Maximum spanning trees of the symmetrised map of each head (htut2019attention), scored without punctuation."""
    parts = (bank.development, bank.test)
    maps = [word_maps(eager, part) for part in parts]
    return AttentionTrees(*map(_undirected_scores, maps, parts), *maps)


def _undirected_scores(maps: Sequence[np.ndarray], sentences: Sequence[Sentence]) -> np.ndarray:
    """UUAS `(..., sentences)` of the spanning trees of symmetrised maps `(..., words, words)`."""
    items = zip(maps, sentences, punctuation_mask(sentences), strict=True)
    scores = [trees.uuas(-np.maximum(m, m.swapaxes(-1, -2)), s.heads, keep) for m, s, keep in items]
    return np.stack(scores, axis=-1)


def best_head_on(eager: Specimen, found: AttentionTrees, sentences: Sequence[Sentence]) -> np.ndarray:
    """UUAS `(sentences,)` of the trees that the best head of `attention_trees` gives for other sentences."""
    return _undirected_scores([maps[found.best] for maps in word_maps(eager, sentences)], sentences)


def prettiest(scores: np.ndarray, size: int = 20) -> dict[str, np.ndarray]:
    """The best sentence and the mean one of each stretch of about `size` sentences, three stretches at least:
    `(stretches,)`, from scores `(sentences,)`. The best of one set is one number; only of several it has a spread."""
    stretches = np.array_split(scores, max(3, len(scores) // size))
    choices = {"best_sentence": np.max, "mean_sentence": np.mean}
    return {name: np.array([choose(stretch) for stretch in stretches]) for name, choose in choices.items()}


def word_maps(eager: Specimen, sentences: Sequence[Sentence]) -> list[np.ndarray]:
    """Word-level attention maps of each sentence, `(layers, heads, words, words)`, special pieces left out."""
    found: list[np.ndarray] = [np.empty(0)] * len(sentences)
    for index, encoding, maps in attention_maps(eager, [s.words for s in sentences]):
        found[index] = word_level_map(maps, encoding).numpy()
    return found


def planted_trees(bank: Treebank, share: float = 0.5, seed: int = 0) -> dict[str, np.ndarray]:
    """The positive control: scores `(test sentences,)` of trees read from maps that hold them among noise.

    Each word gives `share` of its attention to its gold head and the rest to all words at random; `undirected` and
    `directed` are read like those of `attention_trees` and `directed_trees`.
    """
    rng, found = np.random.default_rng(seed), {"undirected": [], "directed": []}
    for sentence, keep in zip(bank.test, punctuation_mask(bank.test), strict=True):
        size = len(sentence.words)
        noise = rng.dirichlet(np.ones(size), size)
        words = (1 - share) * noise + share * np.eye(size)[np.maximum(sentence.heads, 0)]
        tree = _tree_without_punctuation(words, sentence, keep)
        found["undirected"].append(trees.uuas(-np.maximum(words, words.T), sentence.heads, keep))
        found["directed"].append(trees.undirected_score(tree, sentence.heads, keep))
    return {name: np.array(scores, dtype=float) for name, scores in found.items()}


def directed_trees(found: AttentionTrees, bank: Treebank, candidates: int = 8) -> np.ndarray:
    """Undirected scores `(test sentences,)` of Chu-Liu/Edmonds trees with the gold root given (htut2019attention).

    The `candidates` heads with the best undirected trees are tried in both directions; which head and direction is
    scored is chosen on the development sentences.
    """
    return _directed(found, bank, candidates)[1]


def _directed(found: AttentionTrees, bank: Treebank, candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """`directed_trees` of the development and of the test sentences."""
    order = np.argsort(found.development.mean(-1), axis=None)[::-1][:candidates]
    places = [np.unravel_index(i, found.development.shape[:2]) for i in order]
    options = [(place, flipped) for place in places for flipped in (False, True)]
    scores = [_arborescences(found.development_maps, bank.development, *option) for option in options]
    best = int(np.argmax([score.mean() for score in scores]))
    return scores[best], _arborescences(found.test_maps, bank.test, *options[best])


def method_rivalry(ours: Specimen, rival: Specimen, bank: Treebank, candidates: int = 8) -> dict[str, np.ndarray]:
    """Two models compared by two ways of reading trees from heads: our lead in UUAS, `(test sentences,)` each.

    `ahead` is the way that favours us more, as the development sentences choose it, and `behind` the other one; where
    the model that wins depends on the way (htut2019attention), the first is above zero and the second below. Ways:
    the spanning tree of the symmetrised map, and the directed tree from the gold root. Both models are eager.
    """
    parts = [_both_ways(attention_trees(model, bank), bank, candidates) for model in (ours, rival)]
    development, test = ({way: parts[0][way][place] - parts[1][way][place] for way in parts[0]} for place in (0, 1))
    ahead, behind = sorted(development, key=lambda way: -development[way].mean())
    return {"ahead": test[ahead], "behind": test[behind]}


def _both_ways(found: AttentionTrees, bank: Treebank, candidates: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Scores on development and test sentences, by the way in which trees are read."""
    return {
        "undirected": (found.development[found.best], found.best_test),
        "directed": _directed(found, bank, candidates),
    }


def _arborescences(maps, sentences, place: tuple[int, int], flipped: bool) -> np.ndarray:
    scores = []
    for words, sentence, keep in zip(maps, sentences, punctuation_mask(sentences), strict=True):
        scored = words[place].T if flipped else words[place]
        tree = _tree_without_punctuation(scored, sentence, keep)
        scores.append(trees.undirected_score(tree, sentence.heads, keep))
    return np.array(scores)


def _tree_without_punctuation(weights: np.ndarray, sentence: Sentence, keep: np.ndarray) -> list[int]:
    """The best tree over the scored words and the gold root, as heads `(words,)`; a mark's head is the root.

    The baselines span no punctuation either: a mark that may stand between two words costs a head an edge or two.
    """
    root = sentence.heads.index(-1)
    places = np.flatnonzero(np.asarray(keep) | (np.arange(len(sentence.heads)) == root))
    tree = trees.maximum_arborescence(weights[np.ix_(places, places)], int(np.searchsorted(places, root)))
    heads = np.full(len(sentence.heads), root)
    heads[places] = [places[head] if head >= 0 else -1 for head in tree]
    return heads.tolist()


def _layer_scores(development: np.ndarray, test: np.ndarray) -> LayerScores:
    return LayerScores(development.mean((1, 2)), test)
