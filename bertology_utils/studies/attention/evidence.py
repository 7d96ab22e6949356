"""What attention maps hold: patterns and masses a head, and what one word gives another, sentence by sentence.

Depends on `attention` (maps and statistics) and `relations` (patterns); trains nothing. A head is selected on one half
of the items and scored on the other, for a model and its twin alike.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.attention import (
    PUNCTUATION,
    HeadStatistics,
    attention_maps,
    head_statistics,
    map_units,
    target_masks,
    word_level_map,
)
from bertology_utils.instruments.relations import PATTERNS, map_patterns, planted_patterns
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.text import Encoding, encode_words
from bertology_utils.tuning.training import FineTuned

Words = Sequence[Sequence[str]]
Maps = Iterable[tuple[int, Encoding, torch.Tensor]]
"""(sentence index, encoding, map (layers, heads, pieces, pieces)), as `attention_maps` yields them."""


def pattern_samples(patterns: np.ndarray) -> dict[str, np.ndarray]:
    """Share of a sentence's maps in each pattern, from codes (sentences, layers, heads): name -> (sentences,).

    The mixed pattern is called `mixed`; `sharp` is all but broad, `patterned` all but broad and heterogeneous
    (kovaleva2019revealing).
    """
    names = [name.replace("vertical+diagonal", "mixed") for name in PATTERNS]
    shares = {name: (patterns == code).mean((1, 2)) for code, name in enumerate(names)}
    sharp = 1 - shares["broad"]
    return shares | {"sharp": sharp, "patterned": sharp - shares["heterogeneous"]}


def fitting_share(samples: dict[str, np.ndarray]) -> float:
    """Of the maps that are not broad, the share that fits a simple rule, from `pattern_samples`; 0 where all are."""
    return float(samples["patterned"].mean() / max(samples["sharp"].mean(), 1e-9))


def halves(sentences: Sequence) -> tuple[list[list[str]], list[list[str]]]:
    """Words of the first and of the second half, as many of each: the two parts of paired inputs."""
    half = len(sentences) // 2
    first, second = ([list(s.words) for s in part] for part in (sentences[:half], sentences[half : 2 * half]))
    return first, second


def planted_controls(specimen: Specimen, first: Words, second: Words, seed: int = 0) -> dict[str, np.ndarray]:
    """Share of planted maps that count as heterogeneous, by pair: `scattered` ones must, `even` ones must not."""
    planted = planted_patterns(specimen, first, second, seed)
    return {name: pattern_samples(codes)["heterogeneous"] for name, codes in planted.items()}


def tuned_patterns(runs: Sequence[FineTuned], first: Words, second: Words) -> dict[str, np.ndarray]:
    """`pattern_samples` of the maps of pairs in each tuned model: name -> (runs, pairs)."""
    found = [pattern_samples(map_patterns(run.specimen, first, second)) for run in runs]
    return {name: np.stack([shares[name] for shares in found]) for name in found[0]}


def mass_by_layer(statistics: HeadStatistics) -> dict[str, np.ndarray]:
    """Attention to each kind of target, mean over sentences and heads: name -> (layers,)."""
    names = ("previous", "next", "self", "cls", "sep", "punctuation")
    return {name: statistics.mean(name).mean(1) for name in names}


def typical_heads(specimen: Specimen, statistics: HeadStatistics, sentences: Words) -> dict[str, np.ndarray]:
    """What the head that does most of it does, for each type of clark2019what and raganato2018analysis: (sentences,).

    `previous`, `next`, `itself`, `cls`, `sep`, `punctuation`, `end`: the share of its attention; `broad`: its entropy
    as a share of the uniform map's. A type's head is chosen on the even sentences that have such a target, and measured
    on the odd ones.
    """
    names = ("previous", "next", "self", "cls", "sep", "punctuation", "end")
    values = {name.replace("self", "itself"): statistics[name] for name in names}
    values["broad"] = statistics["entropy"] / _greatest_entropy(specimen, sentences)
    there = {name: found[~np.isnan(found).any((1, 2))] for name, found in values.items()}
    return {name: best_on_even(found)[1] for name, found in there.items()}


def broad_shares(specimen: Specimen, statistics: HeadStatistics, sentences: Words, least: float = 0.8) -> np.ndarray:
    """Share of broad heads, entropy above `least` * log n, in each layer: (sentences, layers) (clark2019what)."""
    return (statistics["entropy"] > least * _greatest_entropy(specimen, sentences)).mean(2)


def broad_by_depth(specimen: Specimen, statistics: HeadStatistics, sentences: Words) -> dict[str, np.ndarray]:
    """Shares of broad heads: `by_layer` (layers, sentences), and `lower` and `upper` as in `depth_shares`."""
    shares = broad_shares(specimen, statistics, sentences)
    return {"by_layer": shares.T, **depth_shares(shares)}


def _greatest_entropy(specimen: Specimen, sentences: Words) -> np.ndarray:
    """log n of each sentence's n pieces, that of the uniform map: (sentences, 1, 1)."""
    return np.log([len(encoding) for encoding in encode_words(specimen, sentences)])[:, None, None]


def special_ratio(specimen: Specimen, statistics: HeadStatistics, sentences: Words) -> np.ndarray:
    """Mass on [CLS], [SEP] and punctuation, if there is any, over their share of the pieces: (sentences, layers)."""
    kinds = ("cls", "sep", "punctuation")
    mass = sum(np.nan_to_num(statistics[name]) for name in kinds).mean(2)
    masks = [target_masks(specimen, encoding) for encoding in encode_words(specimen, sentences)]
    shares = [np.any([mask[name][0] for name in kinds], axis=0).mean() for mask in masks]  # the same targets as in mass
    return mass / np.array(shares)[:, None]


def even_shares(encoding: Encoding, among_words: bool = False) -> np.ndarray:
    """What attention that falls evenly on all pieces gives each unit of a word-level map: (units,), sums to one.

    A word collects the attention to all its pieces, so its even share is theirs and not one part in all units.
    `among_words` leaves special pieces out: (words,).
    """
    even = torch.full((len(encoding), len(encoding)), 1 / len(encoding))
    shares = word_level_map(even, encoding, keep_special=not among_words)[0].numpy()
    return shares / shares.sum()


def received_shares(specimen: Specimen, sentences: Words, maps: Maps | None = None) -> tuple[np.ndarray, ...]:
    """For every word, its form, the attention it receives over its even share, and its sentence: arrays (words,).

    Averaged over all rows, heads and layers; special pieces stay units of their own. `maps` stand in for the
    specimen's own.
    """
    forms, shares, places = [], [], []
    for index, encoding, weights in attention_maps(specimen, sentences) if maps is None else maps:
        units = map_units(encoding.word_ids)
        received = word_level_map(weights, encoding, keep_special=True).mean((0, 1, 2)).numpy()
        for unit, share in zip(units, received / even_shares(encoding), strict=True):
            if unit >= 0:
                forms.append(sentences[index][unit])
                shares.append(share)
                places.append(index)
    return np.array(forms), np.array(shares), np.array(places)


def punctuation_and_peers(
    forms: np.ndarray, shares: np.ndarray, places: np.ndarray, peers: int = 3
) -> dict[str, np.ndarray]:
    """Attention to the full stop and to the words nearest to it in frequency, in uniform shares: (sentences,) each,
    those that hold such a word."""
    counts = Counter(forms.tolist())
    if "." not in counts:
        raise BertologyError("There is no full stop to compare with.")
    words = sorted((w for w in counts if w not in PUNCTUATION), key=lambda w: abs(np.log(counts[w] / counts["."])))
    kinds = {"punctuation": forms == ".", "peers": np.isin(forms, words[:peers])}
    return {name: by_unit(shares[mine], places[mine]) for name, mine in kinds.items()}


def separator_ratio(specimen: Specimen, sentences: Words) -> np.ndarray:
    """Attention from words to [SEP] over the uniform share, mean over layers and heads: (sentences,)."""
    mass = head_statistics(specimen, sentences, sources="words")["sep"].mean((1, 2))
    return mass * np.array([len(encoding) for encoding in encode_words(specimen, sentences)])


def separator_weightings(specimen: Specimen, sentences: Words, statistics: HeadStatistics) -> dict[str, np.ndarray]:
    """What [SEP] gets by `weights` and by `weights_times_value_length`, the measure of kobayashi2020attention: means
    over heads, (layers, sentences) each, and `kept`, the height of the second relative to the first.

    `statistics` are those of sentences that begin with the given ones.
    """
    plain = statistics["sep"][: len(sentences)]
    normed = head_statistics(specimen, sentences, weighting="norm")["sep"]
    kept = np.array(normed.mean() / plain.mean())
    return {"weights": plain.mean(2).T, "weights_times_value_length": normed.mean(2).T, "kept": kept}


def word_attentions(
    specimen: Specimen,
    sentences: Words,
    links: Sequence[Sequence[tuple[int, int]]],
    maps: Maps | None = None,
    in_shares: bool = False,
    among_words: bool = False,
) -> list[np.ndarray]:
    """Attention from one word to all pieces of another, for each list of links: (sentences, layers, heads).

    A list holds one (source, target) for each sentence; all lists are read in one pass. `in_shares` divides by the
    target's even share; `among_words` takes special pieces out first and rescales what is left of each row to one.
    `maps` stand in for the specimen's own, for a planted head.
    """
    found: list[dict[int, np.ndarray]] = [{} for _ in links]
    for index, encoding, weights in attention_maps(specimen, sentences) if maps is None else maps:
        units = [unit for unit in map_units(encoding.word_ids) if unit >= 0 or not among_words]
        words = word_level_map(weights, encoding, keep_special=not among_words)
        words = torch.nn.functional.normalize(words, p=1, dim=-1) if among_words else words
        even = even_shares(encoding, among_words) if in_shares else np.ones(len(units))
        for values, pairs in zip(found, links, strict=True):
            source, target = (units.index(word) for word in pairs[index])
            values[index] = words[:, :, source, target].numpy() / even[target]
    return [np.stack([values[index] for index in range(len(sentences))]) for values in found]


def best_on_even(hits: np.ndarray) -> tuple[tuple[int, int], np.ndarray]:
    """The head that is best on the even items, as 0-based (layer, head), and its scores on the odd ones."""
    mean = hits[::2].mean(0)
    layer, head = np.unravel_index(mean.argmax(), mean.shape)
    return (int(layer), int(head)), hits[1::2, layer, head]


def top_heads(scores: np.ndarray, count: int = 2) -> list[tuple[int, int]]:
    """The `count` heads with the highest mean over items, 0-based (layer, head), from (items, layers, heads).

    Items that are NaN are left out.
    """
    mean = np.nanmean(scores, axis=0)
    return [tuple(map(int, np.unravel_index(i, mean.shape))) for i in mean.ravel().argsort()[::-1][:count]]


def depth_shares(per_layer: np.ndarray) -> dict[str, np.ndarray]:
    """Means over the lower third of the layers and over the rest, from (items, layers): `lower`, `upper` (items,)."""
    third = max(1, round(per_layer.shape[1] / 3))
    return {"lower": per_layer[:, :third].mean(1), "upper": per_layer[:, third:].mean(1)}
