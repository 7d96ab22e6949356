"""Two recipes for one question: do special pieces, or the direction of an arrow, decide which heads look good?

Depends on `attention` (maps) and `relations` (gold edges and predictors). Every head is scored under both recipes, and
what they change is held against what other sentences change under one of them.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from bertology_utils.instruments.attention import attention_maps, map_units, word_level_map
from bertology_utils.instruments.relations import (
    Edge,
    evaluate_predictor,
    fixed_offsets,
    gold_edges,
    head_predictors,
)  # fmt: skip
from bertology_utils.instruments.trees import row_pearson
from bertology_utils.models import Specimen, head_name
from bertology_utils.samples import by_unit
from bertology_utils.studies.attention.evidence import top_heads
from bertology_utils.verdicts.published import published

LEAD = 0.05  # points by which a head must lead an offset to lead clearly
ROOM = 0.1  # a fixed offset that is right more often than all but this leaves a head nothing to lead by


def attachment_by_recipe(specimen: Specimen, sentences: Sequence) -> dict[str, np.ndarray]:
    """Share of dependents whose most attended unit is their head, by two recipes: name -> (sentences, layers, heads).

    Where they are `kept`, a special piece may be the most attended one and is then wrong; in the recipe of
    htut2019attention and clark2019what special pieces are `dropped` before the maximum is taken. NaN for a sentence
    without arcs.
    """
    edges: dict[int, list] = {}
    for edge in gold_edges(sentences):
        edges.setdefault(edge.sentence, []).append(edge)
    shape = (len(sentences), specimen.layers, specimen.heads)
    hits = {"kept": np.full(shape, np.nan), "dropped": np.full(shape, np.nan)}
    for index, encoding, maps in attention_maps(specimen, [list(s.words) for s in sentences]):
        units = {"kept": map_units(encoding.word_ids), "dropped": list(range(len(sentences[index].words)))}
        for name, names in units.items() if index in edges else ():
            words = word_level_map(maps, encoding, name == "kept")
            words.diagonal(dim1=-2, dim2=-1).fill_(-1)
            chosen = np.array(names)[words.argmax(-1).numpy()]  # (layers, heads, units)
            right = [chosen[..., names.index(edge.dependent)] == edge.head for edge in edges[index]]
            hits[name][index] = np.mean(right, axis=0)
    return hits


def best_head(hits: np.ndarray) -> str:
    """The printed name of the head that finds most dependencies, from (sentences, layers, heads)."""
    [(layer, head)] = top_heads(hits, 1)
    return head_name(layer + 1, head)


def recipe_agreement(
    with_special: np.ndarray, without: np.ndarray, splits: int = 20, seed: int = 0
) -> dict[str, np.ndarray]:
    """Do two recipes rank heads less alike than one recipe does on other sentences? `across`, `within` (sentences,).

    Arrays are hits (sentences, layers, heads). The sentences are halved at random `splits` times: `across` is the rank
    correlation of the heads' scores by one recipe on one half with those by the other recipe on the other half,
    `within` that of one recipe with itself, the geometric mean of both; their ratio is Spearman's correction for
    attenuation. What comes back are jackknife values: their mean is the correlation over all sentences, and each lies
    off it by n - 1 times what leaving its sentence out takes away, so that they spread as other sentences would.
    """
    both = [values.reshape(len(values), -1) for values in (with_special, without)]
    both = [values[~np.isnan(both[0]).any(1)] for values in both]  # a sentence without arcs says nothing
    n, generator = len(both[0]), np.random.default_rng(seed)
    halves = [generator.permutation(n) < n // 2 for _ in range(splits)]
    found = np.mean([_split_agreement(*both, half) for half in halves], axis=0)  # (2, n + 1)
    values = found[:, -1:] + (n - 1) * (found[:, :-1].mean(1, keepdims=True) - found[:, :-1])
    return {"across": values[0], "within": values[1]}


def _split_agreement(kept: np.ndarray, dropped: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Correlations across and within recipes, without each sentence in turn and, last, with all: (2, sentences + 1)."""
    kept, dropped = ([_ranks_without_each(values, side) for side in (half, ~half)] for values in (kept, dropped))
    across = (row_pearson(kept[0], dropped[1]) + row_pearson(dropped[0], kept[1])) / 2
    within = np.sqrt(np.prod([np.maximum(row_pearson(*one), 0) for one in (kept, dropped)], axis=0))
    return np.stack([across, within])


def _ranks_without_each(values: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Ranks of the heads' means over one half, less each sentence if it is in it: (sentences + 1, heads)."""
    out = np.append(half, False)[:, None] * np.vstack([values, np.zeros(values.shape[1])])
    return rankdata((values[half].sum(0) - out).round(9), axis=1)  # rounded: sums in another order are ties


def recipe_disagreement(
    specimen: Specimen, sentences: Sequence, relations: Sequence[str] = ("nsubj", "advmod", "amod")
) -> dict[str, np.ndarray]:
    """One relation under two recipes, each with its best offset: `directed` (clark2019what, the dependent attends to
    its head) and `undirected` (htut2019attention, either of the two may point at the other): hits by sentence.

    Heads, offsets and the relation are chosen on even sentences, scored on odd ones: the relation where one recipe sees
    a head lead by most more than `LEAD` and the other by most less, of those whose offsets leave a head the room of
    `ROOM`, if there are any.
    """
    edges = [edge for edge in gold_edges(sentences) if edge.relation in relations]
    words = [list(sentence.words) for sentence in sentences]
    rivals = {"head": head_predictors(specimen, words)["dependent"], "offset": fixed_offsets([len(w) for w in words])}
    hits = {}
    for name, predict in rivals.items():
        forward = evaluate_predictor(predict, edges).correct
        back = evaluate_predictor(predict, [Edge(e.sentence, e.head, e.dependent, e.relation) for e in edges]).correct
        hits[name, "directed"], hits[name, "undirected"] = (
            x.reshape(len(edges), -1).astype(float) for x in (forward, forward | back)
        )
    places = np.array([edge.sentence for edge in edges])
    even = places % 2 == 0
    found: dict[tuple[bool, float], dict[str, np.ndarray]] = {}
    for relation in relations:
        mine = np.array([edge.relation == relation for edge in edges])
        if (mine & even).any() and (mine & ~even).any():
            best = {key: x[mine & even].mean(0) for key, x in hits.items()}
            margins = [best["head", r].max() - best["offset", r].max() for r in ("directed", "undirected")]
            scored = {"_".join((r, name)): hits[name, r][mine & ~even, best[name, r].argmax()] for name, r in hits}
            full = max(best["offset", r].max() for r in ("directed", "undirected")) > 1 - ROOM
            agreement = -min(max(margins) - LEAD, LEAD - min(margins))
            found[full, agreement] = {name: by_unit(x, places[mine & ~even]) for name, x in scored.items()}
    return found[min(found)]


def leads(samples: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """From `recipe_disagreement`: by how much the head leads the offset, numbers of both recipes."""
    return {
        recipe: np.array(samples[f"{recipe}_head"].mean() - samples[f"{recipe}_offset"].mean())
        for recipe in ("directed", "undirected")
    }


def published_leads() -> dict[str, float]:
    """The same leads of single heads over the word before, in Table 1 of clark2019what, as shares."""
    heads = {"nsubj": "8-2", "advmod": "7-6", "amod": "4-10"}
    return {
        f"{name}, BERT-base": (
            published("clark2019what", f"{name} head {head}") - published("clark2019what", f"{name} baseline offset 1")
        )
        / 100
        for name, head in heads.items()
    }


def other_specimen(name: str) -> str:
    """The one of the book's specimens that a model is compared with: pocket-minilm, or pocket-bert for itself."""
    return "pocket-bert" if name == "pocket-minilm" else "pocket-minilm"
