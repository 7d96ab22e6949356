"""Agreement in eight languages: the four kinds of bacon2019does, asked of a masked LM.

Depends on `cloze`, `ten_languages_agreement` (the pairs) and `figures`. A suite maps kind -> language -> pairs.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bertology_utils import figures
from bertology_utils.figures import Figure
from bertology_utils.instruments.cloze import word_scores
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.language.ten_languages import LANGUAGES
from bertology_utils.language.ten_languages_agreement import KINDS, agreement_pairs
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.studies.mbert.parallel_text import ByLanguage, pool

Suite = Mapping[str, Mapping[str, Sequence["MinimalPair"]]]


def agreement_suite(count: int, seed: int = 0) -> Suite:
    """`count` pairs of each kind in each language that can have it wrong."""
    return {kind: {code: agreement_pairs(kind, code, count, seed) for code in codes} for kind, codes in KINDS.items()}


def one_of_each(suite: Suite) -> list[dict[str, str]]:
    """The first pair of each kind, a row of a table."""
    first = {kind: next(iter(languages.values()))[0] for kind, languages in suite.items()}
    return [
        {"kind": _words(kind), "right": " ".join(pair.good), "wrong": " ".join(pair.bad)}
        for kind, pair in first.items()
    ]


def judged(specimen: Specimen, suite: Suite) -> dict[str, ByLanguage]:
    """`right_forms` of the whole suite: kind -> language -> 0/1 (pairs,)."""
    return {
        kind: {code: right_forms(specimen, pairs) for code, pairs in languages.items()}
        for kind, languages in suite.items()
    }


def by_noun(
    right: Mapping[str, ByLanguage], suite: Suite, keep: Callable[[ByLanguage], ByLanguage] = dict
) -> dict[str, np.ndarray]:
    """What `judged` gave, all languages of a kind together: kind -> (nouns,).

    Of a kind's languages those that `keep` keeps; all where that is none.
    """
    found = {}
    for kind, every in right.items():
        scores = keep(every) or every
        found[kind] = by_unit(pool(scores), agreement_nouns({code: suite[kind][code] for code in scores}))
    return found


def agreement_map(right: Mapping[str, ByLanguage], caption: str = "") -> Figure:
    """Accuracy by kind and language."""
    codes = [code for code in LANGUAGES if any(code in scores for scores in right.values())]
    accuracy = [[np.mean(scores.get(code, np.nan)) for code in codes] for scores in right.values()]
    names = [LANGUAGES[code].name for code in codes]
    return figures.heat(accuracy, list(map(_words, right)), names, label="accuracy", limits=(0, 1), caption=caption)


def _words(kind: str) -> str:
    return kind.replace("_", " and ")


def agreement_nouns(languages: Mapping[str, Sequence[MinimalPair]]) -> list[str]:
    """The noun of each pair, in the order of `pool`: pairs share it, in all languages."""
    return [str(pair.condition["noun"]) for pairs in languages.values() for pair in pairs]


def right_forms(specimen: Specimen, pairs: Sequence[MinimalPair]) -> np.ndarray:
    """Is the agreeing form likelier than the other one at its place? 0/1 (pairs,).

    The forms may have several pieces: log P of each, with itself and the later ones masked, summed over the word.
    """
    sentences = [words for pair in pairs for words in (pair.good, pair.bad)]
    places = [pair.focus for pair in pairs for _ in range(2)]
    scores = word_scores(specimen, sentences, only=places)
    good, bad = np.array([score[place] for score, place in zip(scores, places, strict=True)]).reshape(-1, 2).T
    return (good > bad).astype(float)
