"""Who helps whom: tags taught in each language and asked in each, and what goes with it; where sentences lie.

Depends on `parallel_text` (vectors, taggers), `typology` (the table of features), `two_languages` and `figures`.
Matrices are (teachers, asked) in the order of the corpus, at the middle layer, which nobody chose by its score. Pairs
of languages are not independent: what was drawn are languages. So a permutation renames them, rows and columns together
(Mantel 1967), and with a covariate it is the residuals that are renamed (Freedman and Lane 1983).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor

from bertology_utils import figures
from bertology_utils.figures import Figure
from bertology_utils.language.ten_languages import LANGUAGES
from bertology_utils.models import Specimen
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert.parallel_text import STOP, Corpus, Vectors, learn_tags
from bertology_utils.studies.mbert.typology import FAMILIES, FEATURES, TABLE
from bertology_utils.tuning.two_languages import centred, vocabulary_overlap

CONTENT = ("NOUN", "VERB", "ADJ")  # no word of these tags is in both splits
ORDER_CHAPTERS = ("(83)", "(85)", "(86)", "(87)")
PERMUTATIONS, LEVEL = 5000, 0.05
SHOWN = (-50, 50)  # points of a heat map
ORDER, OVERLAP = "word order", "word pieces"


class Related(NamedTuple):
    """A correlation over pairs of languages, and how often languages renamed at random have one as large."""

    rho: float
    p: float


# ---------------------------------------------------------------- who helps whom


def leads(taught: Vectors, asked: Vectors, train: Corpus, test: Corpus) -> np.ndarray:
    """How far a tagger of new content words is ahead of their commonest tag: shares of words (teachers, asked).

    A linear tagger learns from all words of a language in `train` and is asked for nouns, verbs and adjectives of every
    language in `test`, whose words are others; the commonest of the three is that of the language which is asked.
    """
    layer = asked.middle
    tags = {code: np.array([tag for row in rows for tag in row.upos if tag != STOP]) for code, rows in test.items()}
    found = []
    for code, rows in train.items():
        tagger = learn_tags(rows, _at(taught.words[code], layer))
        right = (tagger(test[other], _at(asked.words[other], layer))[0] for other in test)
        found.append([r[np.isin(own, CONTENT)].mean() for r, own in zip(right, tags.values(), strict=True)])
    return np.array(found) - [commonest_share(rows) for rows in test.values()]


def commonest_share(sentences: Sequence) -> float:
    """The share of the commonest tag among the content words of a language."""
    counts = Counter(tag for row in sentences for tag in row.upos if tag in CONTENT)
    return max(counts.values()) / counts.total()


def _at(rows: Sequence[Tensor], layer: int) -> list[Tensor]:
    return [row[layer : layer + 1] for row in rows]


def averaged(twins: Runs) -> np.ndarray:
    """The mean of the twins' matrices, which depends less on one draw of weights than that of the first twin."""
    return np.mean([twins.twin, *twins.others], axis=0)


def helping(matrix: np.ndarray, caption: str = "") -> Figure:
    """The matrix of `leads` in points, languages of one word order together, each one's own language framed."""
    orders = ("SVO", "VSO", "SOV")
    codes = sorted(LANGUAGES, key=lambda code: orders.index(LANGUAGES[code].order))
    chosen = [list(LANGUAGES).index(code) for code in codes]
    names = [LANGUAGES[code].name for code in codes]
    return figures.heat(
        100 * matrix[np.ix_(chosen, chosen)],
        names,
        names,
        label="points above the commonest tag",
        xlabel="asked",
        ylabel="teacher",
        caption=caption,
        diverging=True,
        limits=SHOWN,
        marks=[(place, place) for place in range(len(names))],
        narrow=True,
    )


def told_help(runs: Runs) -> str:
    """In how many pairs of two languages a teacher helps, and which teachers help most and least, in words."""
    off = ~np.eye(len(LANGUAGES), dtype=bool)
    means = {about.name: row[own].mean() for about, row, own in zip(LANGUAGES.values(), runs.model, off, strict=True)}
    best, least = max(means, key=means.get), min(means, key=means.get)
    helped, blank = ((matrix[off] > 0).sum() for matrix in (runs.model, averaged(runs)))
    return (
        f"In {helped} of {off.sum()} pairs of two languages the tags are told better than by the commonest one, in "
        f"untrained networks in {blank}. {best} teaches best ({100 * means[best]:+.0f} points on average), "
        f"{least} worst ({100 * means[least]:+.0f})."
    )


# ---------------------------------------------------------------- what goes with it


def likeness(specimen: Specimen, corpus: Corpus) -> dict[str, np.ndarray]:
    """How alike two languages are, (languages, languages) each: the share of the atlas' features that agree, of all ten
    and of the four about order; whether the script is one; the overlap of the word pieces in a corpus, without stops.
    """
    of_order = [feature.endswith(ORDER_CHAPTERS) for feature in FEATURES]
    scripts = np.array([LANGUAGES[code].script for code in corpus])
    pieces = [_pieces(specimen, rows) for rows in corpus.values()]
    return {
        "typology": agreement(TABLE),
        ORDER: agreement(TABLE[:, of_order]),
        "script": (scripts[:, None] == scripts).astype(float),
        OVERLAP: np.array([[vocabulary_overlap(a, b) for b in pieces] for a in pieces]),
    }


def agreement(table: np.ndarray) -> np.ndarray:
    """The share of features, of those known of both languages, in which they agree: (languages, languages)."""
    both = np.abs(table) @ np.abs(table).T
    return (table @ table.T + both) / 2 / both


def _pieces(specimen: Specimen, sentences: Sequence) -> set[str]:
    words = [w for s in sentences for w, tag in zip(s.words, s.upos, strict=True) if tag != STOP]
    ids = specimen.tokenizer(words, is_split_into_words=True, add_special_tokens=False, verbose=False)["input_ids"]
    return set(specimen.tokenizer.convert_ids_to_tokens(ids))


def related(
    matrix: np.ndarray,
    factor: np.ndarray,
    given: np.ndarray | None = None,
    ranked: bool = True,
    draws: int = PERMUTATIONS,
    seed: int = 0,
) -> Related:
    """The correlation of two matrices off the diagonal, and its p (two-sided) by renaming the languages of the first.

    Args:
        matrix, factor: (languages, languages), symmetric or not.
        given: a third one, whose linear part is taken out of both; the partial correlation.
        ranked: Spearman's correlation, else Pearson's.
    """
    size = len(matrix)
    off = ~np.eye(size, dtype=bool)
    first, second, *rest = (
        _centred(part, off, ranked) for part in (matrix, factor, *([] if given is None else [given]))
    )
    basis = rest[0] / np.linalg.norm(rest[0]) if rest else np.zeros_like(first)
    residual, other = (part - (part * basis).sum() * basis for part in (first, second))
    rng = np.random.default_rng(seed)
    names = np.array([np.arange(size), *(rng.permutation(size) for _ in range(draws))])
    renamed = residual[names[:, :, None], names[:, None, :]].reshape(draws + 1, -1)
    left = (renamed**2).sum(1) - (renamed @ basis.ravel()) ** 2  # of the variance, once the covariate is out again
    rho = renamed @ other.ravel() / np.sqrt(np.maximum(left, 1e-12) * (other**2).sum())
    return Related(float(rho[0]), float((np.abs(rho) >= np.abs(rho[0]) - 1e-9).mean()))


def _centred(matrix: np.ndarray, off: np.ndarray, ranked: bool) -> np.ndarray:
    """The values or ranks off the diagonal less their mean, and zeros on it."""
    values = rankdata(matrix[off]) if ranked else matrix[off]
    found = np.zeros(matrix.shape)
    found[off] = values - values.mean()
    return found


def holm(probabilities: Sequence[float]) -> list[float]:
    """The probabilities of several tests, corrected for their number (Holm 1979), in the same order."""
    order = np.argsort(probabilities)
    steps = np.asarray(probabilities)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return corrected.tolist()


def relations(runs: Runs, alike: Mapping[str, np.ndarray]) -> dict[str, dict[str, Related]]:
    """What goes with who helps whom in the model, in its twins (their mean), and in the difference of the two.

    Each side -> each likeness, and word order given the overlap of pieces; p is corrected over all of a side.
    """
    blank = averaged(runs)
    sides = {"model": runs.model, "untrained": blank, "model less untrained": runs.model - blank}
    return {side: _relations(matrix, alike) for side, matrix in sides.items()}


def _relations(matrix: np.ndarray, alike: Mapping[str, np.ndarray]) -> dict[str, Related]:
    found = {name: related(matrix, factor) for name, factor in alike.items()}
    found[f"{ORDER} given {OVERLAP}"] = related(matrix, alike[ORDER], alike[OVERLAP])
    corrected = holm([one.p for one in found.values()])
    return {name: Related(one.rho, p) for (name, one), p in zip(found.items(), corrected, strict=True)}


def relation_rows(found: Mapping[str, Mapping[str, Related]]) -> list[dict[str, str]]:
    """The relations, a row of a table each, a column a side."""
    names = next(iter(found.values()))
    return [
        {"likeness": name} | {side: f"{own[name].rho:.2f} (p {own[name].p:.2g})" for side, own in found.items()}
        for name in names
    ]


def told_relations(found: Mapping[str, Mapping[str, Related]]) -> str:
    """Which relations stay below the level on each side, in words."""
    clear = {side: [name for name, one in own.items() if one.p < LEVEL] for side, own in found.items()}
    told = "; ".join(f"{side}: {', '.join(names) or 'none'}" for side, names in clear.items())
    return f"Below p = {LEVEL}, corrected for the {len(found['model'])} tests of a side: {told}."


# ---------------------------------------------------------------- where languages lie


def families(vectors: Vectors) -> dict[str, float]:
    """Do kindred languages lie together? Centroids before centring, and translations after it, which leaves none.

    `apart` and `centred_apart` are the distance between families less that within, in mean distances; `p`, `centred_p`
    rename the languages; `script_p` and `centred_script_p` do so given whether the script is one.
    """
    layers = torch.stack([own[vectors.middle] for own in vectors.sentences.values()])  # (languages, sentences, width)
    centroids = layers.mean(1)
    unit = torch.nn.functional.normalize(centred(layers), dim=-1)
    far = 1 - torch.einsum("aid,bid->ab", unit, unit) / unit.shape[1]
    scripts = np.array([about.script for about in LANGUAGES.values()])
    found = {}
    for prefix, distances in (("", torch.cdist(centroids, centroids)), ("centred_", far)):
        own = distances.numpy().astype(float)
        found |= {prefix + name: value for name, value in _of_families(own, scripts).items()}
    return found


def _of_families(distances: np.ndarray, scripts: np.ndarray) -> dict[str, float]:
    kin, script = (1.0 * (kind[:, None] == kind) for kind in (FAMILIES, scripts))
    off = ~np.eye(len(kin), dtype=bool)
    between, within = (distances[off & (kin == value)].mean() for value in (0, 1))
    return {
        "apart": float((between - within) / distances[off].mean()),
        "p": related(distances, kin, ranked=False).p,
        "script_p": related(distances, kin, script, ranked=False).p,
    }


def sentence_map(vectors: Vectors, each: int = 20, caption: str = "") -> Figure:
    """The first sentences of every language on the two main axes of all of these, before and after centring."""
    rows = torch.stack([own[vectors.middle, :each] for own in vectors.sentences.values()])
    names = [about.name for about in LANGUAGES.values()]
    members = {kin: ", ".join(n for n, own in zip(names, FAMILIES, strict=True) if own == kin) for kin in FAMILIES}
    kin = [f"{family}: {members[family]}" for family in FAMILIES]
    panels = {"as they are": _two_axes(rows), "each language centred": _two_axes(centred(rows))}
    labels, groups = (np.repeat(own, rows.shape[1]).tolist() for own in (names, kin))
    return figures.scatters(panels, labels, groups=groups, caption=caption)


def _two_axes(rows: Tensor) -> np.ndarray:
    """Vectors (languages, sentences, width) on their two main axes: (languages * sentences, 2)."""
    flat = rows.flatten(0, 1)
    left, size, _ = torch.linalg.svd(flat - flat.mean(0), full_matrices=False)
    return (left * size)[:, :2].numpy()
