"""Measures on vectors of words in context: senses, slots, neighbours, numbers, probes, flips of predictions.

Depends on `activations` and `text` for vectors, on `geometry` and `probes` for the mathematics and on `training` for
tuned models; the items come from `semantic_tasks`. Every score is an array over items, so that its mean can be tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata
from sklearn.metrics import silhouette_score

from bertology_utils.activations import word_vectors
from bertology_utils.errors import BertologyError
from bertology_utils.instruments.cloze import word_log_probability
from bertology_utils.instruments.controls import matched_projection, remove_directions
from bertology_utils.instruments.geometry import maximum_explainable_variance, nearest, remove_top_components, unit
from bertology_utils.instruments.probes import fit_ridge
from bertology_utils.language.semantic_tasks import (
    FRAMES_OF_PRIOR,
    NUMBER_PLACE,
    PROPERTIES,
    FillerItem,
    number_sentence,
)
from bertology_utils.models import Specimen
from bertology_utils.statistics import by_unit
from bertology_utils.text import Encoding, Words, encode_words, model_inputs, pool_pieces, token_budget_batches
from bertology_utils.tuning.training import Examples, FineTuned, predict

# Vectors of items -----------------------------------------------------------------------------------------------------


def vectors_at(
    specimen: Specimen, sentences: Sequence[Words], places: Sequence[int], how: str = "mean"
) -> torch.Tensor:
    """The vector of one word of each sentence, (layers+1, items, width); a sentence that comes again is run once."""
    index: dict[tuple[str, ...], int] = {}
    owners = [index.setdefault(tuple(words), len(index)) for words in sentences]
    vectors = word_vectors(specimen, list(index), how)
    return torch.stack([vectors[owner][:, place] for owner, place in zip(owners, places, strict=True)], dim=1)


def token_table_vectors(specimen: Specimen, sentences: Sequence[Words]) -> list[np.ndarray]:
    """The static control: each word as the mean of its rows in the token table, (1, words, width) a sentence."""
    table = specimen.encoder.get_input_embeddings().weight.detach().float()
    return [
        pool_pieces(table[torch.tensor(e.input_ids)][None], e.word_ids).numpy()
        for e in encode_words(specimen, sentences)
    ]


# Context in vectors ---------------------------------------------------------------------------------------------------


def within_word_variance(groups: Sequence[np.ndarray]) -> np.ndarray:
    """Mean squared distance of a word's occurrences to their mean, over their mean squared length: (layers, words).

    `groups` holds one array (layers, occurrences, width) a word. 0: one vector for all contexts; 1: nothing shared.
    """

    def share(group: np.ndarray) -> np.ndarray:
        group = np.asarray(group, dtype=np.float64)
        spread = ((group - group.mean(1, keepdims=True)) ** 2).sum(-1).mean(-1)
        return spread / (group**2).sum(-1).mean(-1)

    return np.stack([share(group) for group in groups], axis=1)


def word_anisotropy(groups: Sequence[np.ndarray]) -> np.ndarray:
    """Mean cosine of each word's occurrences to those of all other words, (layers, words); exact, nothing is sampled.

    The anisotropy of ethayarajh2019how kept apart by word, so that words are the sampling units.
    """
    sums = np.stack([unit(np.asarray(group, dtype=np.float64)).sum(-2) for group in groups], axis=1)
    counts = np.array([group.shape[-2] for group in groups])
    others = sums.sum(1, keepdims=True) - sums
    return (sums * others).sum(-1) / (counts * (counts.sum() - counts))


def centred(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Groups (layers, occurrences, width) without the mean vector of their layer over all occurrences."""
    mean = np.concatenate(list(groups), axis=1).mean(1, keepdims=True)
    return [group - mean for group in groups]


def layer_trend(values: np.ndarray) -> np.ndarray:
    """Spearman's correlation of a word's values with the layer, (layers, words) -> (words,); constant values give 0."""
    ranks = rankdata(values, axis=0)
    ranks = ranks - ranks.mean(0)
    layers = np.arange(len(values)) - (len(values) - 1) / 2
    scale = np.sqrt((ranks**2).sum(0) * (layers**2).sum())
    return layers @ ranks / np.where(scale == 0, 1, scale)


# Neighbours -----------------------------------------------------------------------------------------------------------


def neighbour_overlap(first: np.ndarray, second: np.ndarray, k: int = 10) -> np.ndarray:
    """Share of each item's k nearest other items that two spaces (items, width) have in common: (items,)."""
    if len(first) <= k + 1:
        raise BertologyError(f"{k} neighbours of an item need more than {k + 1} items; there are {len(first)}.")
    lists = [_neighbours(space, k) for space in (first, second)]
    return np.array([len(set(a) & set(b)) / k for a, b in zip(*lists, strict=True)])


def neighbour_agrees(vectors: np.ndarray, labels: Sequence) -> np.ndarray:
    """Whether an item's nearest other item has its label: booleans (items,), from vectors (items, width)."""
    labels = np.asarray(labels)
    return labels[_neighbours(vectors, 1)[:, 0]] == labels


def neighbour_ranking(vectors: np.ndarray, labels: Sequence) -> np.ndarray:
    """How often an item with its label is nearer to an item than one with another label: (items,), 0.5 is chance.

    All pairs of such items are counted (the area under a ROC curve, by cosine), ties as one half; from vectors
    (items, width). An item that is alone with its label is left out.
    """
    labels, similarity = np.asarray(labels), unit(vectors) @ unit(vectors).T
    alike = labels[:, None] == labels
    own = alike & ~np.eye(len(labels), dtype=bool)
    rows = [(row[same][:, None], row[~label]) for row, same, label in zip(similarity, own, alike, strict=True)]
    return np.array([((a > b) + (a == b) / 2).mean() for a, b in rows if a.size and b.size])


def _neighbours(vectors: np.ndarray, k: int) -> np.ndarray:
    """The k nearest other items by cosine, (items, k)."""
    found = nearest(vectors, vectors, k + 1)
    return np.array([[j for j in row if j != i][:k] for i, row in enumerate(found)])


def nearest_senses(
    train: np.ndarray,
    train_items: Sequence,
    test: np.ndarray | None = None,
    test_items: Sequence | None = None,
) -> np.ndarray:
    """Whether the nearest training occurrence of the same lemma has the same sense: booleans (layers, items).

    Vectors are (layers, items, width), items have `lemma` and `sense`; k = 1 by cosine as in wiedemann2019does. Without
    test items each training item is judged by the other ones (leave one out), which serves to choose a layer.
    """
    alone = test is None
    test, test_items = (train, train_items) if alone else (test, test_items)
    correct = np.zeros(test.shape[:2], dtype=bool)
    for lemma in {item.lemma for item in test_items}:
        rows = [i for i, item in enumerate(test_items) if item.lemma == lemma]
        known = [i for i, item in enumerate(train_items) if item.lemma == lemma]
        similarity = unit(test[:, rows]) @ np.swapaxes(unit(train[:, known]), 1, 2)  # (layers, rows, known)
        if alone:
            similarity[:, range(len(rows)), range(len(rows))] = -np.inf
        senses = np.array([train_items[i].sense for i in known])
        correct[:, rows] = senses[similarity.argmax(-1)] == np.array([test_items[i].sense for i in rows])
    return correct


def sense_silhouettes(vectors: np.ndarray, items: Sequence) -> np.ndarray:
    """The mean silhouette of each lemma's occurrences, senses as clusters, by cosine: -1 to 1, (lemmas,).

    Vectors are (items, width), items as in `nearest_senses`; a lemma with one sense only has none. Clusters are what
    wiedemann2019does shows in drawings.
    """
    found = []
    for lemma in sorted({item.lemma for item in items}):
        rows = [i for i, item in enumerate(items) if item.lemma == lemma]
        senses = [items[i].sense for i in rows]
        if 1 < len(set(senses)) < len(rows):
            found.append(silhouette_score(vectors[rows], senses, metric="cosine"))
    return np.array(found)


def static_share(
    groups: Sequence[np.ndarray], centred: bool = False, seed: int = 0, baseline: int = 1000
) -> np.ndarray:
    """Maximum explainable variance of each word less that of random occurrences, (layers+1, words).

    Groups are (layers+1, occurrences, width). The baseline takes at most `baseline` occurrences of all words, as
    ethayarajh2019how does; `centred` subtracts the mean from words and baseline alike.
    """
    pool = np.concatenate(groups, axis=1)
    chosen = np.random.default_rng(seed).permutation(pool.shape[1])[:baseline]
    words = np.stack([maximum_explainable_variance(group, centred) for group in groups], axis=1)
    return words - maximum_explainable_variance(pool[:, chosen], centred)[:, None]


def first_component(group: np.ndarray) -> np.ndarray:
    """One static vector for a word's occurrences, (layers, occurrences, width) -> (layers, width).

    Their first principal direction without centring, as ethayarajh2019how distils it, turned to the side of their mean.
    """
    group = np.asarray(group, dtype=np.float64)
    direction = np.linalg.svd(group, full_matrices=False)[2][:, 0]
    return direction * np.where((direction * group.mean(1)).sum(-1, keepdims=True) < 0, -1, 1)


def without_matched_directions(vectors: np.ndarray, components: int, seed: int = 0) -> np.ndarray:
    """The control of `remove_top_components`, (items, width): the mean and as many other directions are removed.

    No directions hold as much of the variance as the top ones; these are random ones of those that hold most of what
    the top ones leave (`controls.matched_projection`).
    """
    centred = torch.as_tensor(remove_top_components(vectors, 0))
    top = torch.linalg.svd(centred, full_matrices=False)[2][:components]
    return matched_projection(centred, remove_directions(top.T), seed)(centred).numpy()


def over_lemmas(values: np.ndarray, items: Sequence) -> np.ndarray:
    """Samples over the lemmas (`statistics.by_unit`): (..., items) to (..., lemmas).

    The occurrences of a lemma share its senses, its cue words and its neighbours: they are right or wrong together.
    """
    return over_units(values, [item.lemma for item in items])


def over_words(values: np.ndarray, words: Sequence[Sequence[str]]) -> np.ndarray:
    """Samples over the words (or other units) that items share, k an item: (..., items) to (..., words), `by_unit`."""
    return np.apply_along_axis(by_unit, -1, np.asarray(values, dtype=float), words)


def context_bag(specimen: Specimen, items: Sequence) -> np.ndarray:
    """The static control of sense tests: the mean token-table vector of the other words, (1, items, width)."""
    tables = token_table_vectors(specimen, [item.words for item in items])
    rest = [np.delete(table, item.place, axis=1).mean(1) for table, item in zip(tables, items, strict=True)]
    return np.stack(rest, axis=1)


# Slots: segment, position, partner ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SlotCosines:
    """Mean cosine of a sentence's words to themselves in another input, each (layers+1, sentences).

    One factor changed: `segment` (only the segment embedding), `position` (only the position numbers), `context` (only
    the partner sentence). `same_slot` and `other_slot` compare across partners, with and without a change of slot.
    """

    segment: np.ndarray
    position: np.ndarray
    context: np.ndarray
    same_slot: np.ndarray
    other_slot: np.ndarray


def slot_cosines(
    specimen: Specimen, sentences: Sequence[Words], partners: Sequence[Words], others: Sequence[Words]
) -> SlotCosines:
    """A segment x position x context factorial on the drift that mickus2019what observed, by overriding input ids.

    A model without segment embeddings gets `segment` = 1 everywhere: there is nothing to change.
    """

    def cosine(a: list[torch.Tensor], b: list[torch.Tensor]) -> np.ndarray:
        pairs = zip(a, b, strict=True)
        return np.stack([torch.cosine_similarity(x, y, dim=-1).mean(-1).numpy() for x, y in pairs], axis=1)

    first, second = slot_vectors(specimen, sentences, partners), slot_vectors(specimen, sentences, partners, True, True)
    first_other = slot_vectors(specimen, sentences, others)
    second_other = slot_vectors(specimen, sentences, others, True, True)
    return SlotCosines(
        segment=cosine(first, slot_vectors(specimen, sentences, partners, segment=True)),
        position=cosine(first, slot_vectors(specimen, sentences, partners, position=True)),
        context=cosine(first, first_other),
        same_slot=(cosine(first, first_other) + cosine(second, second_other)) / 2,
        other_slot=(cosine(first, second_other) + cosine(second, first_other)) / 2,
    )


@torch.inference_mode()
def slot_vectors(
    specimen: Specimen,
    sentences: Sequence[Words],
    partners: Sequence[Words],
    segment: bool = False,
    position: bool = False,
) -> list[torch.Tensor]:
    """Vectors (layers+1, words, width) of each sentence beside its partner.

    `segment` gives it the segment embedding of a second sentence, `position` the position numbers that it would have
    there. With both it stands in the second slot, up to the order of rows, which attention does not see.
    """
    encodings = encode_words(specimen, sentences, partners)
    encoder, vectors = specimen.encoder, [torch.empty(0)] * len(encodings)
    for rows in token_budget_batches([len(e) for e in encodings]):
        plans = [_slot(encodings[i], len(sentences[i]), segment, position) for i in rows]
        batch = model_inputs(specimen, [encoding for encoding, _ in plans])
        batch["position_ids"] = _padded([places for _, places in plans], specimen)
        hidden = torch.stack(encoder(**batch, output_hidden_states=True).hidden_states)
        for row, i in enumerate(rows):
            vectors[i] = pool_pieces(hidden[:, row], encodings[i].word_ids)[:, : len(sentences[i])].float().clone()
    return vectors


def _slot(encoding: Encoding, words: int, segment: bool, position: bool) -> tuple[Encoding, list[int]]:
    """The encoding of a pair, with its first sentence's segment and positions exchanged as asked, and the positions.

    The pieces are [CLS], the first sentence and its separator (`closed`), further separators up to `start` (RoBERTa has
    one), the second sentence and its separator (`second`).
    """
    start = next(i for i, word in enumerate(encoding.word_ids) if word is not None and word >= words)
    closed = 2 + max(i for i in range(start) if encoding.word_ids[i] is not None)
    size = len(encoding)
    second = size - start
    places = list(range(size))
    if position:
        between = range(1 + second, 1 + size - closed)
        places = [0, *range(1 + size - closed, size), *between, *range(1, 1 + second)]
    types = list(encoding.segment_ids)
    if segment:
        types = [0, *[1] * (start - 1), *[0] * (size - start)]
    return Encoding(encoding.input_ids, encoding.word_ids, types), places


def _padded(places: Sequence[list[int]], specimen: Specimen) -> torch.Tensor:
    shift = specimen.model.config.max_position_embeddings - specimen.max_pieces  # RoBERTa counts from there
    rows = [torch.tensor(row) + shift for row in places]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


# Probes ---------------------------------------------------------------------------------------------------------------


def pair_features(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Vectors of two spans side by side, (layers, items, 2 * width): the input of an edge probe (tenney2019what)."""
    return torch.cat([first, second], dim=-1)


def chosen_layer(scores: np.ndarray, units: Sequence[str]) -> tuple[list[int], np.ndarray]:
    """The best layers on either half of the units, and samples of the other half there: (2,) and (seeds, units).

    From (layers, seeds, items), the items in the order of `units`. Every second unit belongs to a half, in order of
    appearance; items of one unit, such as a sentence or a verb, are right or wrong together (`over_units`).
    """
    order = {name: place for place, name in enumerate(dict.fromkeys(units))}
    if len(order) < 2:
        raise BertologyError("One half chooses, the other is reported: that takes items of at least two units.")
    odd = np.array([order[name] % 2 == 1 for name in units])
    layers = [int(scores[:, :, half].mean((1, 2)).argmax()) for half in (odd, ~odd)]
    return layers, over_units(np.where(odd, scores[layers[1]], scores[layers[0]]), units)


def over_units(values: np.ndarray, units: Sequence[str]) -> np.ndarray:
    """Samples over the units of items, one an item: (..., items) to (..., units), see `statistics.by_unit`."""
    return over_words(values, [[unit] for unit in units])


def sentence_units(items: Sequence) -> list[str]:
    """The sentence of each item (with `words`), as its unit."""
    return [" ".join(item.words) for item in items]


def plant(
    features: torch.Tensor, labels: Sequence[int], layer: int, strength: float = 8.0, seed: int = 0
) -> torch.Tensor:
    """Features (layers, items, width) with a random direction for each label added at one layer: the probe's own test.

    `strength` is the added length in deviations of that layer.
    """
    labels = torch.as_tensor(np.asarray(labels))
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(int(labels.max()) + 1, features.shape[-1], generator=generator)
    directions = directions / directions.norm(dim=1, keepdim=True) * strength * features[layer].std()
    planted = features.clone()
    planted[layer] += directions[labels]
    return planted


def read_properties(logits: torch.Tensor, classes: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Properties read by a probe of their combinations, each by itself: 0/1 (..., items, properties).

    `logits` (..., items, classes), `classes` 0/1 (classes, properties). A property is read where the probability of its
    combinations exceeds its share in training, `usual` (properties,): a rare one would else never be read.
    """
    probability = logits.softmax(-1).numpy() @ np.asarray(classes, dtype=np.float32)
    return (probability > usual).astype(int)


def balanced_property_scores(
    predicted: np.ndarray, gold: np.ndarray, names: Sequence[str] = PROPERTIES
) -> dict[str, np.ndarray]:
    """For each property, scores (..., items) whose mean is its balanced accuracy.

    `predicted` (..., items, properties) and `gold` (items, properties) are 0/1. An item counts by the inverse frequency
    of its value, so that always saying "no" earns 0.5; a property that never varies is left out.
    """
    gold, predicted = np.asarray(gold), np.asarray(predicted)
    found = {}
    for place, (name, values) in enumerate(zip(names, gold.T, strict=True)):
        if 0 < values.mean() < 1:
            share = np.where(values == 1, values.mean(), 1 - values.mean())
            found[name] = (predicted[..., place] == values) / (2 * share)
    if not found:
        raise BertologyError("No property varies between the items.")
    return found


def verb_majorities(verbs: Sequence[str], gold: np.ndarray, asked: Sequence[str]) -> np.ndarray:
    """The usual properties of each asked verb's arguments, 0/1 (asked, properties); overall usual for a new verb."""
    gold = np.asarray(gold, dtype=float)
    table = {verb: gold[[v == verb for v in verbs]].mean(0) for verb in set(verbs)}
    return np.array([table.get(verb, gold.mean(0)) > 0.5 for verb in asked]).astype(int)


# Numbers --------------------------------------------------------------------------------------------------------------


def number_vectors(specimen: Specimen, values: Sequence[float]) -> torch.Tensor:
    """Vectors of numbers in a plain carrier, read in two ways: (2 * (layers+1), items, width).

    First the means of a number's pieces by layer, then its last piece, which is where wallace2019nlp reads it; a point
    and the digits behind it are pieces like the others. `read_values` chooses among layers and ways alike.
    """
    sentences, places = [number_sentence(str(value)) for value in values], [NUMBER_PLACE] * len(values)
    return torch.cat([vectors_at(specimen, sentences, places, how) for how in ("mean", "last")])


def digit_one_hots(texts: Sequence[str]) -> torch.Tensor:
    """The symbolic control (1, items, 10 * places): each digit as a one-hot, aligned at the point."""
    parts = [text.partition(".") for text in texts]
    whole, rest = (max(len(part[side]) for part in parts) for side in (0, 2))
    aligned = [part[0].rjust(whole, "0") + part[2].ljust(rest, "0") for part in parts]
    digits = torch.tensor([[int(character) for character in row] for row in aligned])
    return torch.nn.functional.one_hot(digits, 10).flatten(1).float()[None]


def read_values(
    features: torch.Tensor, values: Sequence[float], asked: torch.Tensor, share: float = 0.75
) -> tuple[int, np.ndarray]:
    """Ridge regression of values on features: the chosen layer and the predictions (asked items,).

    `features` (layers, items, width) and `values` train: a `share` of them fits, the rest chooses the layer; `asked` is
    (layers, items, width). A linear, closed-form stand-in for the three-layer network of wallace2019nlp.
    """
    target, cut = torch.as_tensor(np.asarray(values)).double(), int(share * len(values))
    probe = fit_ridge(features[:, :cut], target[:cut])
    errors = (probe.predict(features[:, cut:])[..., 0] - target[cut:]).square().mean(-1)
    layer = int(errors.argmin())
    return layer, probe.predict(asked)[layer, :, 0].numpy()


def plant_values(features: torch.Tensor, values: Sequence[float], scale: float, seed: int = 0) -> torch.Tensor:
    """Features (layers, items, width) with each value, in units of `scale`, added along one random direction.

    The positive control of a regression: these vectors hold the value on a line, also outside the trained range.
    """
    line = torch.randn(features.shape[-1], generator=torch.Generator().manual_seed(seed))
    steps = torch.as_tensor(np.asarray(values) / scale, dtype=features.dtype)
    return features + steps[:, None] * features.std() * line


def explained(predicted: np.ndarray, values: Sequence[float]) -> np.ndarray:
    """One minus the squared error over the mean squared deviation, (items,): the mean over items is R squared."""
    values = np.asarray(values, dtype=float)
    return 1 - (predicted - values) ** 2 / ((values - values.mean()) ** 2).mean()


def shared_digits(first: Sequence[str], second: Sequence[str]) -> float:
    """Share of digits that stand in the same piece at the same place of two numbers, which are sequences of pieces.

    Counted in digits, also where a piece holds several, so that vocabularies can be compared.
    """
    first, second = ([d for p in pieces if (d := "".join(filter(str.isdigit, p)))] for pieces in (first, second))
    starts = [dict(zip(np.cumsum([0, *map(len, pieces[:-1])]), pieces, strict=True)) for pieces in (first, second)]
    alike = sum(len(piece) for start, piece in starts[0].items() if starts[1].get(start) == piece)
    return alike / max(len("".join(first)), len("".join(second)))


def number_neighbours(specimen: Specimen, n: int, seed: int = 0, layer: int | None = None) -> dict[str, np.ndarray]:
    """How alike m and m + 1 are: pieces, digits, and vectors at a layer (default: the middle one) in a plain carrier.

    `wordpiece_overlap` and `digit_overlap` (n,) are over any pairs below 10,000, see `shared_digits`; `same_split` and
    `changed_split` (at most n / 2,) are the cosines of the means of the pieces in pairs that are alike but for their
    split, see `alike_but_for_split` (wallace2019nlp names the problem).
    """
    layer = specimen.layers // 2 if layer is None else layer
    split = {m: specimen.tokenizer.tokenize(str(m)) for m in range(10, 10_000)}
    drawn = np.random.default_rng(seed).permutation(list(split)[:-1])[:n].tolist()
    kinds = alike_but_for_split(split, n // 2, seed)
    numbers = [m for kind in kinds for first in kind for m in (first, first + 1)]
    vectors = vectors_at(specimen, [number_sentence(str(m)) for m in numbers], [NUMBER_PLACE] * len(numbers))[layer]
    cosines = torch.cosine_similarity(vectors[::2], vectors[1::2], dim=-1).numpy()
    return {
        "wordpiece_overlap": np.array([shared_digits(split[m], split[m + 1]) for m in drawn]),
        "digit_overlap": np.array([shared_digits(str(m), str(m + 1)) for m in drawn]),
        "same_split": cosines[: len(kinds[0])],
        "changed_split": cosines[len(kinds[0]) :],
    }


def alike_but_for_split(split: Mapping[int, Sequence[str]], n: int, seed: int = 0) -> tuple[list[int], list[int]]:
    """Numbers m whose pieces have other lengths than those of m + 1, and as many with the same: (same, changed).

    Only the last digit changes from m to m + 1, and every length of number is as frequent in both lists, which hold at
    most `n` each. `split` gives the pieces. Raises BertologyError where there is no such pair.
    """
    random, found = np.random.default_rng(seed), {}
    for m in (m for m in split if m % 10 != 9 and m + 1 in split):
        changed = list(map(len, split[m])) != list(map(len, split[m + 1]))
        found.setdefault(len(str(m)), ([], []))[changed].append(m)
    same, changed = [], []
    for alike, unlike in found.values():
        count = min(len(alike), len(unlike))
        same += random.permutation(alike)[:count].tolist()
        changed += random.permutation(unlike)[:count].tolist()
    if not changed:
        raise BertologyError("All neighbouring numbers are split alike, or none is.")
    kept = random.permutation(len(changed))[:n]
    return [same[i] for i in kept], [changed[i] for i in kept]


# Fillers of roles -----------------------------------------------------------------------------------------------------


def filler_preferences(specimen: Specimen, items: Sequence[FillerItem]) -> dict[str, np.ndarray]:
    """Whether the context favours the right filler over the related one, and that over the unrelated one: (items,).

    The score is the log-probability in the sentence minus the mean in neutral sentences, after the three-way contrast
    of ettinger2019what. Items with a filler of several pieces are left out; raises BertologyError if none remains.
    """
    candidates = [item.fillers for item in items]
    scores = word_log_probability(specimen, [i.words for i in items], [i.place for i in items], candidates)
    neutral = [frame.split() for frame in FRAMES_OF_PRIOR]
    words = sorted({word for row in candidates for word in row})
    prior = word_log_probability(specimen, neutral, [f.index("X") for f in neutral], [words] * len(neutral))
    usual = dict(zip(words, prior.log_probabilities.mean(0), strict=True))
    gain = scores.log_probabilities - np.array([[usual[word] for word in row] for row in candidates])
    gain = gain[scores.covered]
    if not len(gain):
        raise BertologyError(f"No filler is a single piece of the vocabulary of {specimen.name}.")
    return {"right_over_related": gain[:, 0] > gain[:, 1], "related_over_unrelated": gain[:, 1] > gain[:, 2]}


# Swaps ----------------------------------------------------------------------------------------------------------------


def flips(tuned: FineTuned, sentences: Sequence[Words], versions: Sequence[Sequence[Words]]) -> np.ndarray:
    """Whether the predicted class changes from a sentence to each of its versions: booleans (sentences, versions).

    Any change in a row is the measure of balasubramanian2020whats; every sentence has as many versions as the others.
    """
    flat = [words for group in zip(sentences, *zip(*versions, strict=True), strict=True) for words in group]
    probabilities = predict(tuned.classifier, tuned.specimen, Examples(flat, [0] * len(flat)))
    classes = probabilities.argmax(1).reshape(len(sentences), -1)  # (sentences, 1 + versions)
    return classes[:, 1:] != classes[:, :1]


def seed_flips(correct: np.ndarray) -> np.ndarray:
    """How often another seed changes the class, from (seeds, sentences) right or wrong, two classes: the same shape.

    The null of `flips`: readings that are as good as each other differ by so much.
    """
    seeds = len(correct)
    if seeds < 2:
        raise BertologyError("Another seed takes at least two.")
    return (correct[:, None] != correct).sum(1) / (seeds - 1)


def matched_nouns(specimen: Specimen, names: Sequence[str], nouns: Sequence[str]) -> dict[str, str]:
    """A noun for each name, of as many pieces and of like frequency as far as there is one; none twice.

    Frequency by rank: vocabularies of pieces number the frequent ones first. The whole assignment is the one with the
    smallest sum of differences, in pieces first, then in the logarithm of the first piece's number.
    """

    def sizes(words: Sequence[str]) -> np.ndarray:  # (2, words)
        encodings = encode_words(specimen, [[word] for word in words])
        pieces = [
            [piece for piece, word in zip(e.input_ids, e.word_ids, strict=True) if word is not None] for e in encodings
        ]
        return np.array([(len(ids), np.log1p(ids[0])) for ids in pieces]).T

    (lengths, ranks), (noun_lengths, noun_ranks) = sizes(names), sizes(nouns)
    cost = 100 * abs(lengths[:, None] - noun_lengths) + abs(ranks[:, None] - noun_ranks)
    rows, columns = linear_sum_assignment(cost)
    return {names[row]: nouns[column] for row, column in zip(rows, columns, strict=True)}
