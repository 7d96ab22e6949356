"""Which heads find grammatical relations and frames: against fixed offsets, several together, and on other sentences.

Depends on `evidence` (what one word gives another) and `relations` (gold edges and scores); trains nothing but a
logistic regression.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from bertology_utils.absent import Absent
from bertology_utils.estimation import ALPHA, Linear, estimate
from bertology_utils.instruments.attention import attention_maps, word_level_map
from bertology_utils.instruments.relations import RelationScore
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.statistics import mean_interval
from bertology_utils.studies.attention.evidence import top_heads, word_attentions
from bertology_utils.verdicts.published import published_rows

# Universal Dependencies to Stanford Dependencies, where both draw the arc between the same two words.
STANFORD = {"obj": "dobj", "nmod:poss": "poss", "aux:pass": "auxpass"}


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


def leading_three(
    scores: dict[str, RelationScore], selection: dict[str, RelationScore]
) -> list[RelationScore] | Absent:
    """The scores of the three relations that lead in `selection`, scores on other sentences; absent where fewer than
    three are in both."""
    names = strongest_relations({name: score for name, score in selection.items() if name in scores})
    if len(names) < 3:
        return Absent("fewer than three relations are frequent in these sentences")
    return [scores[name] for name in names]


def three_relations(three: Sequence[RelationScore]) -> dict[str, np.ndarray]:
    """Hits of head and offset for each of three relations: `first`, `first_offset` and so on, by sentence."""
    found = {}
    for place, score in zip(("first", "second", "third"), three, strict=True):
        hits = hit_samples(score)
        found |= {place: hits["head"], f"{place}_offset": hits["offset"]}
    return found


def hit_samples(*scores: RelationScore) -> dict[str, np.ndarray]:
    """Hits of the best `head` and the best `offset` of one relation or of several, by sentence: (sentences with such a
    relation,)."""
    places = np.concatenate([score.sentences for score in scores])
    hits = {
        "head": np.concatenate([score.head_hits for score in scores]),
        "offset": np.concatenate([score.offset_hits for score in scores]),
    }
    return {name: by_unit(values, places) for name, values in hits.items()}


def rivals(
    scores: dict[str, RelationScore], control: dict[str, RelationScore], names: Sequence[str]
) -> dict[str, dict[str, np.ndarray]]:
    """Hits of the best head, the best offset and the twin's best head, for those of the relations that are there."""
    return {
        name: {
            "best head": scores[name].head_hits,
            "best offset": scores[name].offset_hits,
            "twin's best head": control[name].head_hits,
        }
        for name in scores
        if name in names
    }


def best_heads(scores: dict[str, RelationScore]) -> list[tuple[int, int]]:
    """The heads that find some relation best, each once, 0-based (layer, head)."""
    return sorted({(score.layer - 1, score.head) for score in scores.values()})


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


def applicable_separator_mass(
    specimen: Specimen, sentences: Sequence, scores: Sequence[RelationScore]
) -> dict[str, np.ndarray]:
    """[SEP] mass of the heads of relations, from words to which a head's relation applies and from the others.

    Heads count alike, however often their relations occur. `applicable`, `not_applicable`: words apply as the one that
    attends, the dependent or the head, by the direction of a score. `head`, `offset`: whether it finds the relation,
    and the best fixed offset does. All by sentence.
    """
    found: dict[str, list[list[tuple[float, int]]]] = {
        name: [[] for _ in scores] for name in ("applicable", "not_applicable")
    }
    for index, encoding, maps in attention_maps(specimen, [list(s.words) for s in sentences]):
        separator = np.array(encoding.input_ids) == specimen.tokenizer.sep_token_id
        for head, score in enumerate(scores):
            sources = _sources(sentences[index], score)
            mass = maps[score.layer - 1, score.head][:, separator].sum(-1).numpy()
            for piece, word in enumerate(encoding.word_ids):
                if word is not None:
                    kind = "applicable" if word in sources else "not_applicable"
                    found[kind][head].append((float(mass[piece]), index))
    return {name: _heads_alike(values) for name, values in found.items()} | hit_samples(*scores)


def _heads_alike(by_head: Sequence[Sequence[tuple[float, int]]]) -> np.ndarray:
    """The mean over heads of their mean over (value, sentence), by sentence."""
    parts = [np.array(found) for found in by_head]
    each = sum(map(len, parts)) / len(parts)
    off = [(part[:, 0] - part[:, 0].mean()) * each / len(part) for part in parts]
    mean = np.mean([part[:, 0].mean() for part in parts])
    return by_unit(mean + np.concatenate(off), np.concatenate([part[:, 1] for part in parts]).astype(int))


def _sources(sentence, score: RelationScore) -> set[int]:
    """The words from which the head of a relation should find another: its dependents, or their heads."""
    arcs = enumerate(zip(sentence.heads, sentence.deprels, strict=True))
    return {head if score.direction == "head" else i for i, (head, name) in arcs if name == score.relation}


def frame_edges(sentences: Sequence, seed: int = 0) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
    """(sentence, (predicate, role filler), (word, noun) at the same distance without an arc), one a sentence at most.

    The stand-in for FrameNet's core relations (kovaleva2019revealing): a verb and the filler of one of its roles, a
    noun as its match is, since a head may look at nouns whoever asks.
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
        nouns = {i for i, tag in enumerate(sentence.upos) if tag == "NOUN"}
        free = [pair for pair in places if pair[1] in nouns and pair not in arcs and pair[0] not in verbs]
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


def frame_heads(attention: dict[str, np.ndarray]) -> list[tuple[int, int]]:
    """The two heads that follow frame edges most beyond their matches, on the even ones of `frame_attention`; 0-based
    (layer, head)."""
    return top_heads(attention["frame"][::2] - attention["matched"][::2])


def frame_samples(attention: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Attention of the two `frame_heads` along the odd `frame` edges and `matched` pairs, their mean: (edges,)."""
    heads = frame_heads(attention)
    return {
        name: np.mean([values[1::2, layer, head] for layer, head in heads], axis=0)
        for name, values in attention.items()
    }


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


def combined_heads(
    train: Candidates, test: Candidates, seeds: Sequence[int] = range(5), most: int = 6
) -> dict[str, np.ndarray]:
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
    for seed in seeds:
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
