"""Does a sentence's vector tell the typology of its language, where that language and its kin were not learnt from?

Depends on `parallel_text` (vectors) and `languages.yaml` (ten features of ten languages). A ridge classifier of each
feature reads the sentences of the languages of other families; it is balanced, so that a guess is right in half. The
control deals the features of the languages out anew, all of a language together: what ten languages tell by chance.
"""

from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from bertology_utils.language.ten_languages import LANGUAGES, RULES
from bertology_utils.studies.mbert.parallel_text import Corpus, Vectors

FEATURES = tuple(RULES["typology"])
TABLE = np.array([["-0+".index(value) - 1 for value in values.split()] for values in RULES["typology"].values()]).T
"""1 yes, -1 no, 0 both or unknown: (languages, features)."""
FAMILIES = np.array([about.family for about in LANGUAGES.values()])
SHRINKAGE = 1.0  # of features of variance 1
NGRAMS = 256
TABLES, LEVEL = 500, 0.95


def told_features(vectors: Vectors, corpus: Corpus, seed: int = 0) -> dict[str, Any]:
    """Samples of what the sentences say: `held_out`, the features told by the middle layer, and `characters`, by counts
    of letters; `dealt_anew`, what one in twenty tables dealt anew is told better than; `share_beaten` of such tables.
    """
    weights = _middle_weights(vectors)
    held_out = right_features(weights, TABLE).mean(0)
    rng = np.random.default_rng(seed)
    others = np.array([right_features(weights, rng.permutation(TABLE)).mean() for _ in range(TABLES)])
    return {
        "held_out": held_out,
        "characters": right_features(language_weights(counted_characters(corpus)), TABLE).mean(0),
        "dealt_anew": float(np.quantile(others, LEVEL)),
        "share_beaten": float((others < held_out.mean()).mean()),
    }


def by_feature(vectors: Vectors) -> dict[str, float]:
    """How often each feature is told, its two values counting alike."""
    return dict(zip(FEATURES, right_features(_middle_weights(vectors), TABLE).mean(1), strict=True))


def _middle_weights(vectors: Vectors) -> np.ndarray:
    return language_weights(np.stack([own[vectors.middle].numpy() for own in vectors.sentences.values()]))


def counted_characters(corpus: Corpus) -> np.ndarray:
    """The commonest sequences of one to three characters in each sentence: (languages, sentences, sequences)."""
    texts = [" ".join(row.words) for rows in corpus.values() for row in rows]
    counts = CountVectorizer(analyzer="char_wb", ngram_range=(1, 3), max_features=NGRAMS).fit_transform(texts)
    return counts.toarray().reshape(len(corpus), -1, counts.shape[1]).astype(float)


def language_weights(sentences: np.ndarray) -> np.ndarray:
    """How much each language says of a sentence of another: (languages, sentences, languages), zero for its kin.

    A ridge classifier of labels that all sentences of a language share is a sum over languages of their labels, with
    weights that do not depend on the labels: sentence times inverse covariance times the language's mean.

    Args:
        sentences: (languages, sentences, width).
    """
    found = np.zeros((*sentences.shape[:2], len(sentences)))
    for place, family in enumerate(FAMILIES):
        learnt = family != FAMILIES
        known = sentences[learnt].reshape(-1, sentences.shape[-1])
        scale = known.std(0)
        known, means, asked = (
            (part - known.mean(0)) / np.where(scale > 1e-8, scale, 1)
            for part in (known, sentences[learnt].mean(1), sentences[place])
        )
        covariance = known.T @ known / len(known) + SHRINKAGE * np.eye(known.shape[1])
        found[place][:, learnt] = asked @ np.linalg.solve(covariance, means.T)
    return found


def right_features(weights: np.ndarray, table: np.ndarray) -> np.ndarray:
    """How often the features are told right, both values of a feature counting alike: (features, sentences).

    Args:
        weights: of `language_weights`.
        table: (languages, features); a 0 is neither learnt nor asked.
    """
    learnt = (FAMILIES[:, None] != FAMILIES)[:, :, None] * table  # (asked, learnt, features)
    counts = np.stack([(learnt == value).sum(1) for value in (-1, 1)])
    balanced = learnt / np.where(learnt > 0, counts[1][:, None], np.maximum(counts[0], 1)[:, None])
    right = np.einsum("hsl,hlf->hfs", weights, balanced) * table[:, :, None] > 0
    asked = counts.all(0)[:, :, None] * np.stack([table == value for value in (-1, 1)])[..., None]
    number = asked.sum(1)
    return np.where(number, (right * asked).sum(1) / np.maximum(number, 1), 0.5).mean(0)
