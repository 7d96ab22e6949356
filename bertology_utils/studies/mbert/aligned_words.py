"""Words of parallel sentences: are they linked to their translations, and by what else than the words could they be?

Depends on `parallel_text` (vectors), `two_languages` (links and F1) and `ten_languages` (true links). In sentences as
short as these, who knows parts of speech alone links all words rightly; so each word is also asked for among words
that stand in its role in sentences built alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bertology_utils.instruments.probes import stack_words
from bertology_utils.language.ten_languages import PIVOT, ParallelSentence, gold_alignment
from bertology_utils.samples import by_unit
from bertology_utils.studies.mbert.crosslingual import selected
from bertology_utils.studies.mbert.parallel_text import Vectors, without_english
from bertology_utils.tuning.two_languages import alignment_f1, mutual_nearest

CLOSED = ("ADP", "AUX", "DET")
Parallel = Mapping[str, Sequence[ParallelSentence]]


@dataclass(frozen=True)
class Alignment:
    """The true links of a sentence and its translation, and what was predicted, layer by layer."""

    source: ParallelSentence
    target: ParallelSentence
    predicted: tuple[list[tuple[int, int]], ...]

    @cached_property
    def gold(self) -> list[tuple[int, int]]:
        return gold_alignment(self.source, self.target)

    @property
    def f1(self) -> list[float]:
        """(layers + 1,)"""
        return [alignment_f1(links, self.gold) for links in self.predicted]

    @property
    def unit(self) -> str:
        """What the sentence says, which its other translations share."""
        return str(self.source.identity)

    @property
    def diagonal(self) -> float:
        """F1 of aligning word i with word i."""
        words = min(len(self.source.words), len(self.target.words)) - 1
        return alignment_f1([(i, i) for i in range(words)], self.gold)

    @property
    def by_tags(self) -> float:
        """F1 of who knows tags and no word: the first noun is linked to the first noun, the second to the second."""
        source, target = (
            {(tag, s.upos[:place].count(tag)): place for place, tag in enumerate(s.upos[:-1])}
            for s in (self.source, self.target)
        )
        return alignment_f1([(source[name], target[name]) for name in source.keys() & target.keys()], self.gold)

    def found(self, layer: int, closed: bool) -> list[bool]:
        """Which true links of closed-class, or of open-class, English words were predicted at a layer."""
        links = [link for link in self.gold if (self.source.upos[link[0]] in CLOSED) == closed]
        return [link in self.predicted[layer] for link in links]


def _centred_words(vectors: Vectors) -> dict[str, list[Tensor]]:
    """The words of each sentence without the mean word of its language, final stops apart."""
    centres = {code: torch.cat(rows, dim=1).mean(1, keepdim=True) for code, rows in vectors.words.items()}
    return {code: [(row - centres[code])[:, :-1] for row in rows] for code, rows in vectors.words.items()}


def align(vectors: Vectors, corpus: Parallel, limit: int = 100) -> list[Alignment]:
    """English aligned with each other language by mutual nearest neighbours, each language centred; final stops apart.

    libovicky2019how; the first `limit` sentences of each language, the languages in turn.
    """
    words, found = _centred_words(vectors), []
    for row, source in enumerate(corpus[PIVOT][:limit]):
        for code, sentences in without_english(corpus).items():
            layers = zip(words[PIVOT][row], words[code][row], strict=True)
            found.append(Alignment(source, sentences[row], tuple(mutual_nearest(a, b) for a, b in layers)))
    return found


def alignment_scores(alignments: Sequence[Alignment]) -> np.ndarray:
    """F1 of every sentence pair: (layers + 1, pairs)."""
    return np.array([alignment.f1 for alignment in alignments]).T


def rivals(alignments: Sequence[Alignment]) -> dict[str, float]:
    """Mean F1 without vectors: `diagonal`, of words in the same place; `by_tags`, of who knows tags and no word."""
    return {name: float(np.mean([getattr(a, name) for a in alignments])) for name in ("diagonal", "by_tags")}


def alignment_samples(alignments: Sequence[Alignment]) -> dict[str, np.ndarray]:
    """Samples of what the sentences say, of the odd pairs: `alignment`, F1 at the layer that is best on the even ones,
    `diagonal`, F1 of the words' places, and the shares of `links_found`."""
    units = [alignment.unit for alignment in alignments[1::2]]
    return {
        "alignment": by_unit(selected(alignment_scores(alignments)), units),
        "diagonal": by_unit([alignment.diagonal for alignment in alignments[1::2]], units),
        **links_found(alignments),
    }


# ---------------------------------------------------------------- classes of words


def links_found(alignments: Sequence[Alignment]) -> dict[str, np.ndarray]:
    """Links found of closed and of open classes, at the layer best on even pairs, in the odd ones: samples of what the
    sentences say, of the languages that have links of both; each language counts alike."""
    best = int(alignment_scores(alignments)[:, ::2].mean(1).argmax())
    hits = {
        name: [(hit, a.target.language, a.unit) for a in alignments[1::2] for hit in a.found(best, closed)]
        for name, closed in (("closed_class", True), ("open_class", False))
    }
    both = set.intersection(*({language for _, language, _ in found} for found in hits.values()))
    columns = {name: zip(*(hit for hit in found if hit[1] in both), strict=True) for name, found in hits.items()}
    return {name: by_unit(counting_alike(right, of), units) for name, (right, of, units) in columns.items()}


def counting_alike(values: Sequence[float], groups: Sequence[str]) -> np.ndarray:
    """Values whose mean is the mean of the groups' means, and whose spread is that of such a mean: (items,).

    What lies off its group's mean counts the more, the fewer the group has.
    """
    values = np.asarray(values, dtype=float)
    names, places, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    means = np.bincount(places, values) / sizes
    return means.mean() + (values - means[places]) * len(values) / len(names) / sizes[places]


# ---------------------------------------------------------------- a word among others of its role


class Link(NamedTuple):
    """A word of an English sentence and its translation: their row, places, forms, and what others share with it."""

    row: int
    source: int
    target: int
    forms: tuple[str, str]
    built: tuple[object, ...]
    unit: str


def own_translations(vectors: Vectors, corpus: Parallel, limit: int = 100) -> np.ndarray:
    """Is an English word nearer to its translation than to other words that stand there in sentences built alike?

    Tag, role, places and lengths are the same, so that only who knows the words can tell; a coin is right in half. For
    each word the share of the others that are farther, each language centred, of odd words at the layer that is best on
    even ones: samples of what the first `limit` sentences say.
    """
    words, scores, units = _centred_words(vectors), [], []
    for code in without_english(corpus):
        found = _links(corpus[PIVOT][:limit], corpus[code])
        ends = (
            stack_words(words[PIVOT], [(link.row, link.source) for link in found]),
            stack_words(words[code], [(link.row, link.target) for link in found]),
        )
        nearer, asked = share_nearer(*ends, mates(found))
        scores.append(nearer)
        units += [link.unit for link, kept in zip(found, asked, strict=True) if kept]
    return by_unit(selected(np.concatenate(scores, axis=1)), units[1::2])


def _links(english: Sequence[ParallelSentence], others: Sequence[ParallelSentence]) -> list[Link]:
    return [
        Link(row, i, j, (a.words[i].lower(), b.words[j].lower()), (a.roles, b.roles, i), str(a.identity))
        for row, (a, b) in enumerate(zip(english, others, strict=False))
        for i, j in gold_alignment(a, b)
    ]


def mates(links: Sequence[Link]) -> np.ndarray:
    """Which links could be taken for each other: built alike, both words different. Booleans (links, links)."""
    names = {built: place for place, built in enumerate(dict.fromkeys(link.built for link in links))}
    built, forms = np.array([names[link.built] for link in links]), np.array([link.forms for link in links])
    return (built[:, None] == built) & (forms[:, None] != forms).all(-1)


def share_nearer(source: Tensor, target: Tensor, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each word the share of others' translations that are farther than its own: (layers, asked words), and which
    words have others: booleans (words,).

    Args:
        source, target: (layers, words, width), row i of one translating row i of the other.
        others: booleans (words, words).
    """
    unit = torch.nn.functional.normalize
    cosine = (unit(source, dim=-1) @ unit(target, dim=-1).transpose(-1, -2)).numpy()
    asked = others.any(1)
    farther = (np.diagonal(cosine, axis1=1, axis2=2)[..., None] > cosine) & others
    return farther.sum(-1)[:, asked] / others.sum(1)[asked], asked
