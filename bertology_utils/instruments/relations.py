"""What attention heads point at: gold relations against the best fixed offset, and the patterns of maps.

Depends on `attention` for word-level maps and on sentences with gold heads and relation names. Heads, fixed offsets
and any other baseline are predictors of one signature, scored by the one `evaluate_predictor`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.attention import attention_maps, target_masks, word_level_map, word_pieces
from bertology_utils.models import Specimen, head_name
from bertology_utils.text import Encoding, encode_words

DIRECTIONS = ("dependent", "head")  # who attends: the dependent to its head, or the head to its dependent
OFFSETS = tuple(offset for offset in range(-10, 11) if offset)  # any distance: clause heads stand far apart
PATTERNS = ("vertical", "diagonal", "vertical+diagonal", "block", "broad", "heterogeneous")

Predictor = Callable[[int], np.ndarray]
"""Sentence index -> (..., words): for each word the index of its predicted partner; leading axes are rival heads."""


class Edge(NamedTuple):
    """A gold relation between two words of a sentence, 0-based; for coreference `head` is the antecedent."""

    sentence: int
    dependent: int
    head: int
    relation: str


@dataclass(frozen=True)
class Hits:
    """Outcome of one predictor: `correct` (edges, ...) booleans, with each edge's relation and sentence (edges,)."""

    relations: np.ndarray
    sentences: np.ndarray
    correct: np.ndarray

    def of(self, relation: str) -> np.ndarray:
        """Booleans (edges,) that select a relation; "all" selects every edge."""
        return np.ones(len(self.relations), dtype=bool) if relation == "all" else self.relations == relation


@dataclass(frozen=True)
class RelationScore:
    """The best head of one relation beside the best fixed offset, both chosen on other sentences than scored here.

    `head_hits` and `offset_hits` are booleans over the same `n` scored edges, of the relations `names` and of the
    `sentences` with these indices: the paired samples of a test.
    """

    relation: str
    layer: int
    head: int
    direction: str
    offset: int
    head_hits: np.ndarray
    offset_hits: np.ndarray
    names: np.ndarray
    sentences: np.ndarray

    @property
    def name(self) -> str:
        """The head, 1-based as layer-head."""
        return head_name(self.layer, self.head)

    @property
    def n(self) -> int:
        return len(self.head_hits)


# --- relations ------------------------------------------------------------------------------------------------------


def gold_edges(sentences: Sequence) -> list[Edge]:
    """Every dependency of sentences with `heads` (0-based, -1 for the root) and `deprels`.

    Roots and punctuation are left out: attaching it says nothing about syntax.
    """
    return [
        Edge(index, dependent, head, relation)
        for index, sentence in enumerate(sentences)
        for dependent, (head, relation) in enumerate(zip(sentence.heads, sentence.deprels, strict=True))
        if head >= 0 and relation != "punct"
    ]


def evaluate_predictor(predict: Predictor, edges: Sequence[Edge]) -> Hits:
    """Whether the predicted partner of each dependent is its gold head: the one scorer for heads and baselines."""
    if not edges:
        raise BertologyError("There are no gold relations to score.")
    predictions = {index: predict(index) for index in {edge.sentence for edge in edges}}
    correct = [predictions[edge.sentence][..., edge.dependent] == edge.head for edge in edges]
    return Hits(
        np.array([edge.relation for edge in edges]), np.array([edge.sentence for edge in edges]), np.stack(correct)
    )


def fixed_offsets(lengths: Sequence[int], offsets: Sequence[int] = OFFSETS) -> Predictor:
    """Predictor (offsets, words): the word at a fixed distance; beyond the sentence it names no word and is wrong."""
    shifts = np.array(offsets)[:, None]
    return lambda index: np.arange(lengths[index])[None, :] + shifts


def head_predictors(
    specimen: Specimen, sentences: Sequence[Sequence[str]], weighting: str = "attention"
) -> dict[str, Predictor]:
    """One predictor (layers, heads, words) for each direction: the argmax of every head, in one pass over the maps.

    clark2019what: word-level maps, never the word itself, [CLS] or [SEP]. "dependent" takes the word that the
    dependent attends to most, "head" the word that attends most to the dependent (the transposed map).
    """
    chosen: dict[str, dict[int, np.ndarray]] = {direction: {} for direction in DIRECTIONS}
    for index, encoding, maps in attention_maps(specimen, sentences, weighting=weighting):
        words = word_level_map(maps, encoding)
        words.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        chosen["dependent"][index] = words.argmax(-1).numpy().astype(np.int16)
        chosen["head"][index] = words.argmax(-2).numpy().astype(np.int16)
    return {direction: predictions.__getitem__ for direction, predictions in chosen.items()}


def relation_scores(
    specimen: Specimen,
    sentences: Sequence,
    relations: Sequence[str] | None = None,
    weighting: str = "attention",
    minimum: int = 30,
) -> dict[str, RelationScore]:
    """Best head against best fixed offset for each relation, and for "all".

    By default the relations are those with `minimum` items on either side. `sentences` carry words, heads and deprels.
    Head, direction and offset are chosen on the even sentences and scored on the odd ones: clark2019what chooses and
    scores on the same, which flatters the best of many heads.
    """
    edges = gold_edges(sentences)
    words = [list(sentence.words) for sentence in sentences]
    heads = {
        direction: evaluate_predictor(predict, edges)
        for direction, predict in head_predictors(specimen, words, weighting).items()
    }
    offsets = evaluate_predictor(fixed_offsets([len(sentence) for sentence in words]), edges)
    wanted = relations or frequent_relations(sentences, minimum)
    return {relation: _best(relation, heads, offsets) for relation in ("all", *wanted)}


def frequent_relations(sentences: Sequence, minimum: int) -> list[str]:
    """The relations with `minimum` edges among the even sentences and among the odd ones."""
    even, odd = (Counter(edge[-1] for edge in gold_edges(sentences[half::2])) for half in (0, 1))
    return [name for name in sorted(even) if min(even[name], odd[name]) >= minimum]


def _best(relation: str, heads: dict[str, Hits], offsets: Hits) -> RelationScore:
    """Choose on even sentences, score on odd ones."""
    of_relation, even = offsets.of(relation), offsets.sentences % 2 == 0
    chosen, scored = of_relation & even, of_relation & ~even
    if not chosen.any() or not scored.any():
        raise BertologyError(f"Relation '{relation}' is too rare to choose a head on one half and score it on another.")
    direction, (layer, head) = _best_head(heads, chosen)
    offset = int(offsets.correct[chosen].mean(0).argmax())
    # Heads count from 0 in arrays; layers of blocks count from 1 and heads are printed from 1 by head_name.
    return RelationScore(
        relation,
        layer + 1,
        head,
        direction,
        OFFSETS[offset],
        head_hits=heads[direction].correct[scored][:, layer, head],
        offset_hits=offsets.correct[scored][:, offset],
        names=offsets.relations[scored],
        sentences=offsets.sentences[scored],
    )


def _best_head(heads: dict[str, Hits], chosen: np.ndarray) -> tuple[str, tuple[int, int]]:
    accuracies = {direction: hits.correct[chosen].mean(0) for direction, hits in heads.items()}  # (layers, heads)
    direction = max(accuracies, key=lambda name: accuracies[name].max())
    layer, head = np.unravel_index(accuracies[direction].argmax(), accuracies[direction].shape)
    return direction, (int(layer), int(head))


def relation_marks(scores: dict[str, RelationScore], relations: Sequence[str]) -> dict[str, str]:
    """What to say of the best heads of some relations, by the head's printed name, in the order of the relations."""
    marks: dict[str, list[str]] = {}
    for relation in relations:
        score = scores[relation]
        arrow = "dependent to head" if score.direction == "dependent" else "head to dependent"
        head, offset = 100 * score.head_hits.mean(), 100 * score.offset_hits.mean()
        text = f"{relation} ({arrow}), {head:.0f} % of {score.n}, best offset {offset:.0f} %"
        marks.setdefault(score.name, []).append(text)
    return {head: "; ".join(texts) for head, texts in marks.items()}


def sentence_with(sentences: Sequence, relations: Sequence[str], longest: int = 14):
    """The first sentence of at most `longest` words with the most of the relations; else the shortest sentence."""
    short = [s for s in sentences if len(s.words) <= longest] or [min(sentences, key=lambda s: len(s.words))]
    return max(short, key=lambda s: len(set(relations) & set(s.deprels)))


# --- patterns -------------------------------------------------------------------------------------------------------


# When a map counts as a pattern; masses are excesses over the uniform map, from 0 (uniform) to 1 (all of it). These are
# round numbers that recover synthetic maps of each kind (see the tests); kovaleva2019revealing trained a convolutional
# network on about 400 hand-labelled maps instead, which cannot be inspected or re-run.
SINGLE = 0.5  # one pattern alone holds at least half of the possible excess
PART, MIXED = 0.2, 0.6  # in a mixed map, each of the two holds at least this, and both together that
CONTRAST = 0.5  # block: (own - other segment) / (own + other segment)
WORDS = 0.3  # block: least mass on words at all, or the contrast is noise
BROAD = 0.8  # share of the uniform map's entropy (clark2019what) from which a map without a pattern is even


@dataclass(frozen=True)
class PatternFeatures:
    """Features of maps, each (..., heads): excess mass on special pieces and on neighbours, block contrast, entropy.

    `contrast` is NaN where the input has a single segment; `entropy` is averaged over rows, as a share of log n.
    """

    vertical: np.ndarray
    diagonal: np.ndarray
    contrast: np.ndarray
    words: np.ndarray
    entropy: np.ndarray


def pattern_features(maps: torch.Tensor, masks: dict[str, np.ndarray], words: np.ndarray) -> PatternFeatures:
    """Features of maps (..., pieces, pieces), given `attention.target_masks` and `attention.word_pieces`."""
    size = maps.shape[-1]
    special = np.broadcast_to(~words, (size, size))
    own, other = (_mass(maps[..., words, :], masks[name][words]) for name in ("own_segment", "other_segment"))
    on_words = own + other
    two_segments = bool(masks["other_segment"][words].any())
    contrast = (own - other) / np.where(on_words == 0, 1, on_words) if two_segments else np.full_like(own, np.nan)
    return PatternFeatures(
        vertical=_excess(maps, special),
        diagonal=_excess(maps, masks["previous"] | masks["next"]),
        contrast=contrast,
        words=on_words,
        entropy=torch.special.entr(maps).sum(-1).mean(-1).numpy() / np.log(size),
    )


def _mass(maps: torch.Tensor, mask: np.ndarray) -> np.ndarray:
    """Mean over rows of the mass on the mask."""
    return (maps * torch.from_numpy(mask.copy())).sum(-1).mean(-1).numpy()


def _excess(maps: torch.Tensor, mask: np.ndarray) -> np.ndarray:
    """Mass on the mask above that of the uniform map, as a share of the possible: short inputs get no free points."""
    uniform = float(mask.mean())
    return (_mass(maps, mask) - uniform) / max(1.0 - uniform, 1e-9)


def classify_patterns(features: PatternFeatures) -> np.ndarray:
    """Index into PATTERNS for each map: the first rule that holds, mixed before pure, heterogeneous for the rest.

    kovaleva2019revealing has five classes, of maps that are sharp after fine-tuning. Broad is the sixth here: a map
    that is nearly even over its whole input has no pattern, and no single words that could stand in a relation either.
    """
    vertical, diagonal = features.vertical, features.diagonal
    rules = {
        "vertical+diagonal": (np.minimum(vertical, diagonal) >= PART) & (vertical + diagonal >= MIXED),
        "vertical": vertical >= SINGLE,
        "diagonal": diagonal >= SINGLE,
        "block": (np.nan_to_num(features.contrast, nan=-1.0) >= CONTRAST) & (features.words >= WORDS),
        "broad": features.entropy > BROAD,
    }
    codes = [PATTERNS.index(name) for name in rules]
    return np.select(list(rules.values()), codes, default=PATTERNS.index("heterogeneous"))


def map_patterns(
    specimen: Specimen, sentences: Sequence[Sequence[str]], pairs: Sequence[Sequence[str]] | None = None
) -> np.ndarray:
    """Pattern of every map, an index into PATTERNS of shape (sentences, layers, heads).

    kovaleva2019revealing classifies maps of sentence pairs; with single sentences nothing can be a block.
    """
    patterns = np.zeros((len(sentences), specimen.layers, specimen.heads), dtype=int)
    for index, encoding, maps in attention_maps(specimen, sentences, pairs):
        patterns[index] = classify_patterns(encoding_features(specimen, encoding, maps))
    return patterns


def planted_patterns(
    specimen: Specimen, sentences: Sequence[Sequence[str]], pairs: Sequence[Sequence[str]] | None = None, seed: int = 0
) -> dict[str, np.ndarray]:
    """The pattern of two planted maps of each input, each (sentences, 1, 1): the positive controls of `map_patterns`.

    Every row of `scattered` points at one random word: single words that no rule about places foretells are
    heterogeneous. The map of `even` is uniform: it must not be.
    """
    rng = np.random.default_rng(seed)
    found: dict[str, list[np.ndarray]] = {"scattered": [], "even": []}
    for encoding in encode_words(specimen, sentences, pairs):
        size = len(encoding)
        places = rng.choice(np.flatnonzero(word_pieces(encoding)), size)
        for name, rows in (("scattered", torch.eye(size)[places]), ("even", torch.full((size, size), 1 / size))):
            found[name].append(classify_patterns(encoding_features(specimen, encoding, rows[None, None])))
    return {name: np.stack(codes) for name, codes in found.items()}


def encoding_features(specimen: Specimen, encoding: Encoding, maps: torch.Tensor) -> PatternFeatures:
    """Pattern features (layers, heads) of one input's maps (layers, heads, pieces, pieces)."""
    return pattern_features(maps, target_masks(specimen, encoding), word_pieces(encoding))
