"""What attention maps say about the claims on heads: per-sentence samples of masses, patterns, relations, antecedents.

Depends on `attention` (maps and statistics), `relations` (gold edges) and `coreference`; trains nothing but a logistic
regression. Heads are selected on one half of the items and scored on the other, for a model and its twin alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from bertology_utils.errors import BertologyError
from bertology_utils.estimation import ALPHA, Linear, estimate
from bertology_utils.instruments.attention import (
    PUNCTUATION,
    HeadStatistics,
    attention_maps,
    head_statistics,
    map_units,
    target_masks,
    word_level_map,
)
from bertology_utils.instruments.relations import PATTERNS, RelationScore, map_patterns
from bertology_utils.language.coreference import Coreference
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.statistics import mean_interval
from bertology_utils.text import Encoding, encode_words
from bertology_utils.tuning.training import FineTuned
from bertology_utils.verdicts.published import published_rows

Words = Sequence[Sequence[str]]
Maps = Iterable[tuple[int, Encoding, torch.Tensor]]
"""(sentence index, encoding, map (layers, heads, pieces, pieces)), as `attention_maps` yields them."""

# Universal Dependencies to Stanford Dependencies, where both draw the arc between the same two words.
STANFORD = {"obj": "dobj", "nmod:poss": "poss", "aux:pass": "auxpass"}


# --- patterns and masses --------------------------------------------------------------------------------------------


def pattern_samples(patterns: np.ndarray) -> dict[str, np.ndarray]:
    """Share of a sentence's maps in each pattern, from codes (sentences, layers, heads): name -> (sentences,).

    The mixed pattern is called `mixed`; `sharp` is all but broad, `patterned` all but broad and heterogeneous
    (kovaleva2019revealing).
    """
    names = [name.replace("vertical+diagonal", "mixed") for name in PATTERNS]
    shares = {name: (patterns == code).mean((1, 2)) for code, name in enumerate(names)}
    sharp = 1 - shares["broad"]
    return shares | {"sharp": sharp, "patterned": sharp - shares["heterogeneous"]}


def tuned_patterns(runs: Sequence[FineTuned], first: Words, second: Words) -> dict[str, np.ndarray]:
    """`pattern_samples` of the maps of pairs in each tuned model: name -> (runs, pairs)."""
    found = [pattern_samples(map_patterns(run.specimen, first, second)) for run in runs]
    return {name: np.stack([shares[name] for shares in found]) for name in found[0]}


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


def even_shares(encoding: Encoding) -> np.ndarray:
    """What attention that falls evenly on all pieces gives each unit of a word-level map: (units,), sums to one.

    A word collects the attention to all its pieces, so its even share is theirs and not one part in all units.
    """
    even = torch.full((len(encoding), len(encoding)), 1 / len(encoding))
    return word_level_map(even, encoding, keep_special=True)[0].numpy()


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


# --- relations ------------------------------------------------------------------------------------------------------


def strongest_relations(scores: dict[str, RelationScore], count: int = 3) -> list[str]:
    """The relations whose best head is most surely above the best fixed offset, to be scored on other sentences.

    Ranked by the lower end of the difference's 95 % interval, so that few items do not win by luck.
    """
    lows = {
        name: mean_interval(score.head_hits.astype(float) - score.offset_hits).low
        for name, score in scores.items()
        if name != "all"
    }
    return sorted(lows, key=lows.get, reverse=True)[:count]


def three_relations(scores: dict[str, RelationScore], selection: dict[str, RelationScore]) -> dict[str, np.ndarray]:
    """Hits of head and offset for the three relations that lead in `selection`, scores on other sentences.

    `first`, `first_offset` and so on, by sentence; empty where fewer than three relations are in both.
    """
    names = strongest_relations({name: score for name, score in selection.items() if name in scores})
    places = ("first", "second", "third")
    if len(names) < len(places):
        return {}
    found = {}
    for place, name in zip(places, names, strict=True):
        hits = hit_samples(scores[name])
        found |= {place: hits["head"], f"{place}_offset": hits["offset"]}
    return found


def hit_samples(score: RelationScore) -> dict[str, np.ndarray]:
    """Hits of the best `head` and the best `offset` of one relation, by sentence: (sentences with the relation,)."""
    hits = {"head": score.head_hits, "offset": score.offset_hits}
    return {name: by_unit(values, score.sentences) for name, values in hits.items()}


def score_samples(scores: dict[str, RelationScore]) -> dict[str, np.ndarray]:
    """`all_head`, `all_offset`, `oracle` (best head of each relation), by sentence, and `wins`, see `share_of_wins`.

    The first three are hits over the same edges, those of the relations that have a head of their own.
    """
    single, every = {name: score for name, score in scores.items() if name != "all"}, scores["all"]
    order = np.concatenate([np.flatnonzero(every.names == name) for name in single])
    hits = {
        "all_head": every.head_hits[order],
        "all_offset": every.offset_hits[order],
        "oracle": np.concatenate([score.head_hits for score in single.values()]),
    }
    by_sentence = {name: by_unit(values, every.sentences[order]) for name, values in hits.items()}
    return by_sentence | {"wins": share_of_wins(list(single.values()))}


def share_of_wins(scores: Sequence[RelationScore], seed: int = 0) -> np.ndarray:
    """Share of relations whose best head is right more often than the best offset, as values (sentences,).

    The relations are all that there are, and what was drawn are the sentences: the values' mean is the share, and they
    spread so that the error of their mean is that of the share over as many bootstrap samples of the sentences.
    """
    places = np.unique(np.concatenate([score.sentences for score in scores]))
    gains = np.zeros((len(scores), len(places)))
    for row, score in zip(gains, scores, strict=True):
        gain = score.head_hits.astype(float) - score.offset_hits
        np.add.at(row, np.searchsorted(places, score.sentences), gain)
    count = len(places)
    draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=count)
    shares = (draws @ gains.T > 0).mean(1)
    return (gains.sum(1) > 0).mean() + np.sqrt(count) * (shares - shares.mean())


def applicable_separator_mass(specimen: Specimen, sentences: Sequence, score: RelationScore) -> dict[str, np.ndarray]:
    """[SEP] mass of the head of a relation, from words to which the relation applies and from the others.

    `applicable`, `not_applicable`: words apply as the one that attends, the dependent or the head, by the direction of
    `score`. `head`, `offset`: whether it finds the relation, and the best fixed offset does. All by sentence.
    """
    found: dict[str, list[tuple[float, int]]] = {"applicable": [], "not_applicable": []}
    for index, encoding, maps in attention_maps(specimen, [list(s.words) for s in sentences]):
        pairs = [
            (i, h)
            for i, (h, r) in enumerate(zip(sentences[index].heads, sentences[index].deprels, strict=True))
            if r == score.relation
        ]
        sources = {pair[score.direction == "head"] for pair in pairs}
        separator = np.array(encoding.input_ids) == specimen.tokenizer.sep_token_id
        mass = maps[score.layer - 1, score.head][:, separator].sum(-1).numpy()
        for piece, word in enumerate(encoding.word_ids):
            if word is not None:
                found["applicable" if word in sources else "not_applicable"].append((float(mass[piece]), index))
    return {name: by_unit(*zip(*values, strict=True)) for name, values in found.items()} | hit_samples(score)


@dataclass(frozen=True)
class Candidates:
    """For every dependent of a relation, the attention to and from each word: (words, 2 * layers * heads); its place in
    the sentence, and that of its head, the gold."""

    features: list[np.ndarray]
    gold: list[int]
    places: list[int]


def relation_candidates(specimen: Specimen, sentences: Sequence, relation: str) -> Candidates:
    """All heads' weights in both directions between each dependent of `relation` and every other word."""
    features, gold, places = [], [], []
    for index, encoding, maps in attention_maps(specimen, [list(s.words) for s in sentences]):
        words = word_level_map(maps, encoding).flatten(0, 1).numpy()
        for dependent, (head, name) in enumerate(zip(sentences[index].heads, sentences[index].deprels, strict=True)):
            if name == relation and head >= 0:
                both = np.concatenate([words[:, dependent, :], words[:, :, dependent]]).T
                both[dependent] = -1  # never the word itself
                features.append(both)
                gold.append(head)
                places.append(dependent)
    return Candidates(features, gold, places)


def combined_heads(train: Candidates, test: Candidates, seeds: int = 5, most: int = 6) -> dict[str, np.ndarray]:
    """Hits of one head, of several heads, of all heads and of a fixed offset: (seeds, dependents) each.

    `best` is the head, in the better direction, that finds most on the training items; `several` the sum of the maps of
    at most `most` heads, each the one that adds most to those before it: neither is trained, both only choose.
    `combined` is a logistic mix of all heads, the attention-only probe of clark2019what, and `offset` the best fixed
    distance. A seed is a bootstrap sample of the training items, on which all four are chosen or trained.
    """
    found: dict[str, list[np.ndarray]] = {"best": [], "several": [], "combined": [], "offset": []}
    padded, gold = _padded_features(train.features), np.array(train.gold)
    test_padded, test_gold = _padded_features(test.features), np.array(test.gold)
    steps = {name: np.subtract(part.gold, part.places) for name, part in (("train", train), ("test", test))}
    for seed in range(seeds):
        rows = np.random.default_rng(seed).integers(len(gold), size=len(gold))
        chosen = greedy_heads(padded[rows], gold[rows], most)
        for name, heads in (("best", chosen[:1]), ("several", chosen)):
            found[name].append(test_padded[..., heads].sum(-1).argmax(1) == test_gold)
        distance = Counter(steps["train"][rows].tolist()).most_common(1)[0][0]
        found["offset"].append(steps["test"] == distance)
        found["combined"].append(_mixed_hits(train, test, rows))
    return {name: np.array(values, dtype=float) for name, values in found.items()}


def _padded_features(features: Sequence[np.ndarray]) -> np.ndarray:
    """Features (items, words, heads); places beyond a sentence weigh less than any word in it."""
    longest = max(map(len, features))
    return np.stack([np.pad(f, ((0, longest - len(f)), (0, 0)), constant_values=-1) for f in features])


def greedy_heads(features: np.ndarray, gold: np.ndarray, most: int) -> list[int]:
    """The heads whose summed maps find most, chosen one after the other while that adds anything: from (items, words,
    heads) and gold (items,) to at most `most` of them, the best single one first."""
    chosen: list[int] = []
    summed, reached = np.zeros(features.shape[:2]), 0.0
    while len(chosen) < most:
        hits = ((summed[..., None] + features).argmax(1) == gold[:, None]).mean(0)
        if chosen and hits.max() <= reached:
            break
        chosen.append(int(hits.argmax()))
        summed, reached = summed + features[..., chosen[-1]], hits.max()
    return chosen


def _mixed_hits(train: Candidates, test: Candidates, rows: np.ndarray) -> np.ndarray:
    """Whether a logistic mix of all heads, trained on these rows, finds the head of each dependent: (dependents,)."""
    x = np.concatenate([train.features[i] for i in rows])
    y = np.concatenate([np.arange(len(train.features[i])) == train.gold[i] for i in rows])
    scale = x.std(0) + 1e-6
    fit = LogisticRegression(C=0.1, max_iter=200).fit(x / scale, y)
    guesses = [fit.decision_function(f / scale).argmax() for f in test.features]
    return np.array(guesses) == test.gold


# --- pairs of words -------------------------------------------------------------------------------------------------


def word_attentions(
    specimen: Specimen,
    sentences: Words,
    links: Sequence[Sequence[tuple[int, int]]],
    maps: Maps | None = None,
    in_shares: bool = False,
) -> list[np.ndarray]:
    """Attention from one word to all pieces of another, for each list of links: (sentences, layers, heads).

    A list holds one (source, target) for each sentence; all lists are read in one pass. `in_shares` divides by the
    target's even share. `maps` stand in for the specimen's own, for a planted head.
    """
    found: list[dict[int, np.ndarray]] = [{} for _ in links]
    for index, encoding, weights in attention_maps(specimen, sentences) if maps is None else maps:
        units = map_units(encoding.word_ids)
        words = word_level_map(weights, encoding, keep_special=True)
        even = even_shares(encoding) if in_shares else np.ones(len(units))
        for values, pairs in zip(found, links, strict=True):
            source, target = (units.index(word) for word in pairs[index])
            values[index] = words[:, :, source, target].numpy() / even[target]
    return [np.stack([values[index] for index in range(len(sentences))]) for values in found]


def _planted_maps(specimen: Specimen, sentences: Words, targets: Sequence[int], part: float) -> Maps:
    """Maps of one head that gives `part` of its attention to a sentence's target word and deals out the rest evenly."""
    for index, (encoding, target) in enumerate(zip(encode_words(specimen, sentences), targets, strict=True)):
        weights = torch.full((len(encoding), len(encoding)), (1 - part) / len(encoding))
        pieces = [place for place, word in enumerate(encoding.word_ids) if word == target]
        weights[:, pieces] += part / len(pieces)
        yield index, encoding, weights[None, None]


def planted_shares(
    specimen: Specimen, sentences: Words, links: Sequence[tuple[int, int]], part: float = 0.2
) -> np.ndarray:
    """Even shares that the target of each link gets from a planted average of heads: (sentences,).

    The source gives `part` of its attention to the target and the rest evenly. The positive control of what
    `word_attentions` finds along the same links: were attention not weak, would these sentences show it?
    """
    maps = _planted_maps(specimen, sentences, [target for _, target in links], part)
    [shares] = word_attentions(specimen, sentences, [links], maps, in_shares=True)
    return shares.mean((1, 2))


def antecedent_attentions(
    specimen: Specimen, items: Sequence[Coreference], maps: Maps | None = None
) -> dict[str, np.ndarray]:
    """Attention from the pronoun to `antecedent` and `rival`, each (items, layers, heads).

    Summed over a word's pieces and not in shares: a head picks the word to which it gives more (clark2019what).
    """
    links = {name: [(item.pronoun, getattr(item, name)) for item in items] for name in ("antecedent", "rival")}
    found = word_attentions(specimen, [list(item.words) for item in items], list(links.values()), maps)
    return dict(zip(links, found, strict=True))


def antecedent_hits(attentions: dict[str, np.ndarray]) -> np.ndarray:
    """Whether a head's attention from the pronoun prefers the antecedent to its rival: (items, layers, heads)."""
    return (attentions["antecedent"] > attentions["rival"]).astype(float)


def averaged_hits(attentions: dict[str, np.ndarray]) -> np.ndarray:
    """Whether attention averaged over all heads and layers prefers the antecedent: (items,).

    lin2019open averages attention over the heads of each layer; here one average is asked, as one head is.
    """
    return (attentions["antecedent"].mean((1, 2)) > attentions["rival"].mean((1, 2))).astype(float)


def planted_antecedents(
    specimen: Specimen, items: Sequence[Coreference], seed: int = 0, right: float = 0.8
) -> np.ndarray:
    """Hits of one planted head that looks at the antecedent in the share `right` of the items, else at the rival:
    (items, 1, 1).

    The positive control of `antecedent_hits`, scored by it: were such a head there, would these items show it?
    """
    found = np.random.default_rng(seed).random(len(items)) < right
    targets = [item.antecedent if hit else item.rival for item, hit in zip(items, found, strict=True)]
    maps = _planted_maps(specimen, [list(item.words) for item in items], targets, part=0.9)
    return antecedent_hits(antecedent_attentions(specimen, items, maps))


def distractor_confusion(specimen: Specimen, pairs: Sequence) -> np.ndarray:
    """The distractor's part of what a verb pays to its subject and the distractor together, in even shares: (pairs,).

    After lin2019open, mean over heads; `pairs` are agreement pairs with one noun between subject and verb. In shares,
    because the other number of a noun may have more pieces, which draw more.
    """
    sentences = [list(pair.good) for pair in pairs]
    subjects = [(pair.focus, int(pair.condition["subject"])) for pair in pairs]
    rivals = [(pair.focus, pair.focus - 1 - (pair.condition["structure"] == "object_relative")) for pair in pairs]
    right, wrong = (a.mean((1, 2)) for a in word_attentions(specimen, sentences, [subjects, rivals], in_shares=True))
    return wrong / (right + wrong)


def best_on_even(hits: np.ndarray) -> tuple[tuple[int, int], np.ndarray]:
    """The head that is best on the even items, as 0-based (layer, head), and its scores on the odd ones."""
    mean = hits[::2].mean(0)
    layer, head = np.unravel_index(mean.argmax(), mean.shape)
    return (int(layer), int(head)), hits[1::2, layer, head]


def frame_edges(sentences: Sequence, seed: int = 0) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
    """(sentence, (predicate, role filler), (word, word) at the same distance without an arc), one a sentence at most.

    The stand-in for FrameNet's core relations (kovaleva2019revealing): a verb and the filler of one of its roles.
    """
    generator, found = np.random.default_rng(seed), []
    for index, sentence in enumerate(sentences):
        verbs = {i for i, tag in enumerate(sentence.upos) if tag == "VERB"}
        frames = [
            (h, i)
            for i, (h, role) in enumerate(zip(sentence.heads, sentence.roles, strict=True))
            if role and h in verbs and sentence.upos[i] == "NOUN"
        ]
        if not frames:
            continue
        verb, filler = frames[generator.integers(len(frames))]
        arcs = {(h, i) for i, h in enumerate(sentence.heads)} | {(i, h) for i, h in enumerate(sentence.heads)}
        places = [(i, i + filler - verb) for i in range(len(sentence.words))]
        free = [p for p in places if 0 <= p[1] < len(sentence.words) and p not in arcs and p[0] not in verbs]
        if free:
            found.append((index, (verb, filler), free[generator.integers(len(free))]))
    return found


def frame_attention(specimen: Specimen, sentences: Sequence, seed: int = 0) -> dict[str, np.ndarray]:
    """Attention in even shares along frame edges and along matched pairs: name -> (edges, layers, heads)."""
    edges = frame_edges(sentences, seed)
    words = [list(sentences[index].words) for index, _, _ in edges]
    links = [[frame for _, frame, _ in edges], [pair for _, _, pair in edges]]
    found = word_attentions(specimen, words, links, in_shares=True)
    return dict(zip(("frame", "matched"), found, strict=True))


def top_heads(scores: np.ndarray, count: int = 2) -> list[tuple[int, int]]:
    """The `count` heads with the highest mean over items, 0-based (layer, head), from (items, layers, heads).

    Items that are NaN are left out.
    """
    mean = np.nanmean(scores, axis=0)
    return [tuple(map(int, np.unravel_index(i, mean.shape))) for i in mean.ravel().argsort()[::-1][:count]]


def separator_ratio(specimen: Specimen, sentences: Words) -> np.ndarray:
    """Attention from words to [SEP] over the uniform share, mean over layers and heads: (sentences,)."""
    mass = head_statistics(specimen, sentences, sources="words")["sep"].mean((1, 2))
    return mass * np.array([len(encoding) for encoding in encode_words(specimen, sentences)])


def depth_shares(per_layer: np.ndarray) -> dict[str, np.ndarray]:
    """Means over the lower third of the layers and over the rest, from (items, layers): `lower`, `upper` (items,)."""
    third = max(1, round(per_layer.shape[1] / 3))
    return {"lower": per_layer[:, :third].mean(1), "upper": per_layer[:, third:].mean(1)}


def clear_relations(scores: dict[str, RelationScore], margin: float = 0.1) -> list[str]:
    """The relations whose best head beats the best fixed offset where neither was chosen, clearest first.

    The difference must reach the margin, and lie above zero by an interval at a level of 95 % for all relations
    together (Bonferroni): of many relations some have a lucky half.
    """
    single = {name: score for name, score in scores.items() if name != "all"}
    gains = {name: _gain(score, tries=len(single)) for name, score in single.items()}
    clear = [name for name, (gain, low) in gains.items() if gain >= margin and low > 0]
    return sorted(clear, key=gains.get, reverse=True)


def _gain(score: RelationScore, tries: int) -> tuple[float, float]:
    """Best head minus best offset over the scored edges, and the lower end of its interval, one of `tries`."""
    hits = hit_samples(score)
    gain = float(hits["head"].mean() - hits["offset"].mean())
    return gain, estimate(Linear(gain, {"head": 1.0, "offset": -1.0}), hits).low(ALPHA / tries)


def relation_rows(scores: dict[str, RelationScore], control: dict[str, RelationScore]) -> list[dict]:
    """The table of clark2019what: best head and best offset of each relation, the twin's best head, and what was
    published for the nearest relation of its other annotation scheme (Stanford Dependencies)."""
    rows = []
    for name, score in scores.items():
        stanford = STANFORD.get(name, name)
        items = published_rows("clark2019what")
        figures = {part: items[items["item"].str.startswith(f"{stanford} {part}")] for part in ("head", "baseline")}
        show = {
            part: f"{row['value'].iloc[0]} ({row['item'].iloc[0].split()[-1]})" if len(row) else "-"
            for part, row in figures.items()
        }
        rows.append(
            {
                "relation": name if name == stanford or not len(figures["head"]) else f"{name} (their {stanford})",
                "head": score.name,
                "accuracy %": round(100 * score.head_hits.mean(), 1),
                "offset": score.offset,
                "offset %": round(100 * score.offset_hits.mean(), 1),
                "twin's head %": round(100 * control[name].head_hits.mean(), 1),
                "n": score.n,
                "published head %": show["head"],
                "published offset %": show["baseline"],
            }
        )
    return rows
