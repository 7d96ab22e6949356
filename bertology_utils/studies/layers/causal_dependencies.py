"""At which depth does a language model that reads from left to right attend along dependencies (vig2019analyzing)?

Tiny models learn the next word of generated sentences, whose parses they never see. A word's attention to a word before
it is held against that between the same two places of sentences where no dependency joins them: neighbours are looked
at for being near. Depends on `tuning.left_to_right` and `tuning.tiny_pretraining`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertology_utils.language.grammar import Sentence
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.samples import per_seed
from bertology_utils.text import encode_words
from bertology_utils.tuning import tiny_pretraining as tiny
from bertology_utils.tuning.left_to_right import LeftToRight, train, with_next
from bertology_utils.tuning.together import pack
from bertology_utils.tuning.two_languages import BilingualRecipe

RECIPE = BilingualRecipe(layers=6, width=48, heads=4, inner=96, steps=240, learning_rate=4e-3, budget=384)
SENTENCES, ASKED, PIECES = 2600, 300, 224
THIRDS = ("low", "middle", "high")
PLACES = 32  # more than any sentence has words


@dataclass(frozen=True)
class Pairs:
    """Pairs of words: sentence, later and earlier word, and whether a dependency joins them; (pairs,) each."""

    sentence: np.ndarray
    later: np.ndarray
    earlier: np.ndarray
    joined: np.ndarray


def pairs_of(sentences: Sequence[Sentence]) -> Pairs:
    """Every word from the third on with every word before it, without punctuation; the second has no choice."""
    rows = [
        (number, later, earlier, one.heads[later] == earlier or one.heads[earlier] == later)
        for number, one in enumerate(sentences)
        for later in range(2, len(one.words))
        for earlier in range(later)
        if "PUNCT" not in (one.upos[later], one.upos[earlier])
    ]
    return Pairs(*np.array(rows).T)


def word_shares(maps: np.ndarray) -> np.ndarray:
    """Maps (..., pieces, pieces) as (..., words, words): what each word gives to all earlier words is one.

    The first piece, on which attention without an aim comes to rest, and the word itself are left out, as is the piece
    at the end, or behind it.
    """
    earlier = np.tril(maps[..., 1:, 1:], -1)
    return earlier / np.maximum(earlier.sum(-1, keepdims=True), 1e-9)


def excess(shares: np.ndarray, pairs: Pairs) -> np.ndarray:
    """By how much shares (layers, sentences, words, words) are larger where a dependency joins two words: (layers,).

    Each joined pair is held against the pairs at the same two places that are not; places that have but one of both
    kinds are left out.
    """
    given = shares[:, pairs.sentence, pairs.later, pairs.earlier]  # (layers, pairs)
    cells, joined = pairs.later * PLACES + pairs.earlier, pairs.joined.astype(bool)
    weights = [np.bincount(cells, kind, PLACES**2) for kind in (joined, ~joined)]
    both = (weights[0] > 0) & (weights[1] > 0)

    def means(layer: np.ndarray, kind: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.bincount(cells, layer * kind, PLACES**2)[both] / weight[both]

    gaps = [means(own, joined, weights[0]) - means(own, ~joined, weights[1]) for own in given]
    return np.average(gaps, axis=1, weights=weights[0][both])


def along(shares: np.ndarray, pairs: Pairs) -> np.ndarray:
    """The part of all shares that goes along dependencies, near or far: (layers,); that of vig2019analyzing."""
    given = shares[:, pairs.sentence, pairs.later, pairs.earlier]
    return given[:, pairs.joined.astype(bool)].sum(1) / given.sum(1)


def perfect(pairs: Pairs) -> float:
    """The excess of a layer that attends along dependencies alone, and evenly where a word has none before it."""
    shares = np.zeros((1, pairs.sentence.max() + 1, PLACES, PLACES))
    shares[0, pairs.sentence, pairs.later, pairs.earlier] = pairs.joined + 1e-6
    return float(excess(shares / np.maximum(shares.sum(-1, keepdims=True), 1e-9), pairs)[0])


def by_thirds(layers: np.ndarray, of: str = "") -> dict[str, float]:
    """Means of the lower, middle and upper third of values (layers,), named so."""
    return {of + name: float(part.mean()) for name, part in zip(THIRDS, np.split(layers, 3), strict=True)}


def frequency_loss(read: Sequence[Sentence], asked: Sequence[Sentence]) -> float:
    """What a word of new sentences costs, in nats, if nothing but its frequency is known; the end is a word as well."""
    count = Counter(word for one in read for word in (*one.words, ""))
    total = sum(count.values()) + len(count)
    costs = [[-np.log((count[word] + 1) / total) for word in (*one.words, "")] for one in asked]
    return float(np.mean([np.mean(own) for own in costs]))


def _measured(stack: LeftToRight, fresh: Sequence[Specimen], asked: Sequence[Sequence[Sentence]]) -> dict:
    """Values of every model on sentences of its own that it has not read."""
    batches = [with_next(m, encode_words(m, [one.words for one in own])) for m, own in zip(fresh, asked, strict=True)]
    losses, maps = stack.read(pack(batches))
    found = []
    for own, loss, seen in zip(asked, losses.tolist(), maps.unbind(1), strict=True):
        given = word_shares(seen.numpy()), pairs_of(own)
        found.append(by_thirds(excess(*given)) | by_thirds(along(*given), "share_") | {"surprise": loss})
    return {name: [own[name] for own in found] for name in found[0]}


def directions(seeds: Sequence[int]) -> Runs:
    """By how much more a word attends to an earlier one that a dependency joins to it: `low`, `middle`, `high` thirds.

    share_low, share_middle, share_high: the part of attention along dependencies, which place alone can make large;
    surprise: nats a word of new sentences; frequency: nats by its frequency alone; perfect: the largest excess.
    """
    languages = [tiny.small_language(SENTENCES, seed, drawn=True) for seed in seeds]
    read, asked = ([own[part] for own in languages] for part in (slice(ASKED, None), slice(ASKED)))
    texts = [[one.words for one in own] for own in read]
    fresh = tiny.untrained_each([[one.words for one in own] for own in languages], PIECES, RECIPE, seeds)
    untrained = _measured(LeftToRight([specimen.model for specimen in fresh]), fresh, asked)
    trained = _measured(train(fresh, texts, RECIPE, seeds), fresh, asked)
    alone = {
        "frequency": [frequency_loss(*both) for both in zip(read, asked, strict=True)],
        "perfect": [perfect(pairs_of(own)) for own in asked],
    }
    sides = (
        {name: per_seed(values, ASKED) for name, values in {**own, **alone}.items()} for own in (trained, untrained)
    )
    return Runs(*sides, networks=len(seeds))


EXPERIMENTS = {"left-to-right": directions}
