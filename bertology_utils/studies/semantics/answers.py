"""What a model answers: fillers of roles by cloze, and classes that flip when a name or a noun is exchanged.

Depends on `cloze` for scores and on `training` for tuned models; items come from `semantic_tasks`.
"""

from collections.abc import Sequence
from itertools import compress

import numpy as np
from scipy.optimize import linear_sum_assignment

from bertology_utils.errors import BertologyError
from bertology_utils.instruments.cloze import require_known, word_log_probability
from bertology_utils.language.semantic_tasks import FRAMES_OF_PRIOR, FillerItem
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.text import Words, encode_words
from bertology_utils.tuning.training import Examples, FineTuned, predict


def filler_preferences(specimen: Specimen, items: Sequence[FillerItem]) -> dict[str, np.ndarray]:
    """Whether the context favours the right filler over the related one, and that over the unrelated one: (scenes,).

    The score is the log-probability in the sentence minus the mean in neutral sentences, after the three-way contrast
    of ettinger2019what. Items of one scene share their fillers (`samples.by_unit`). Those with a filler of several
    pieces are left out; raises BertologyError if none remains.
    """
    candidates = [item.fillers for item in items]
    scores = word_log_probability(specimen, [i.words for i in items], [i.place for i in items], candidates)
    neutral = [frame.split() for frame in FRAMES_OF_PRIOR]
    words = sorted({word for row in candidates for word in row})
    prior = word_log_probability(specimen, neutral, [f.index("X") for f in neutral], [words] * len(neutral))
    usual = dict(zip(words, prior.log_probabilities.mean(0), strict=True))
    gain = scores.log_probabilities - np.array([[usual[word] for word in row] for row in candidates])
    gain = gain[scores.covered]
    require_known(specimen, gain, "filler")
    scenes = [item.scene for item in compress(items, scores.covered)]
    steps = {"right_over_related": gain[:, 0] > gain[:, 1], "related_over_unrelated": gain[:, 1] > gain[:, 2]}
    return {name: by_unit(right, scenes) for name, right in steps.items()}


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
