"""Tasks of GLUE: small subsets of the real sets, drawn anew by each seed, and how the benchmark scores them.

Depends on `material` for the sets and on `training` for what examples are. Nothing of a set is kept, only scores.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import matthews_corrcoef

from bertology_utils.data.material import LONGEST_WORD, draw, rows
from bertology_utils.data.readers import split_words
from bertology_utils.data.rows import Labelled
from bertology_utils.errors import BertologyError
from bertology_utils.tuning.training import Examples, task_score

# sets, and how the studies write them
REAL = {"sst2": "SST-2", "cola": "CoLA", "mrpc": "MRPC", "stsb": "STS-B", "qnli": "QNLI", "mnli": "MNLI", "rte": "RTE"}
ACCEPTABLE, GRADED = "cola", "stsb"
TESTED = {"mrpc": "test", "stsb": "test", "rte": "train"}  # else the validation set; RTE's has too few short pairs
WORDS = range(4, 41)  # of both sentences together: most models make 64 pieces of them at most


def real_examples(name: str, train: int, test: int, seed: int = 0) -> tuple[Examples, Examples]:
    """So many training and test examples of a set, drawn by the seed; no first sentence is in both.

    Labels are classes in the order of their names, of STS-B grades from 0 to 5. Raises BertologyError where the set is
    not at hand, or has fewer examples that are short enough.
    """
    pool = _short(name, "train")
    known = draw(pool, train, seed)
    met = {row.text for row in known}
    new = draw([row for row in _short(name, TESTED.get(name, "validation")) if row.text not in met], test, seed)
    if len(known) < train or len(new) < test:
        raise BertologyError(f"The data set '{name}' has {len(known)} + {len(new)} short examples of {train} + {test}.")
    classes = sorted({row.label for row in pool})
    return _examples(name, known, classes), _examples(name, new, classes)


def _short(name: str, split: str) -> list[Labelled]:
    texts = ((row, split_words(row.text) + split_words(row.text_b)) for row in rows(name, split))
    return [row for row, words in texts if len(words) in WORDS and max(map(len, words)) <= LONGEST_WORD]


def _examples(name: str, found: Sequence[Labelled], classes: Sequence[str]) -> Examples:
    graded = name == GRADED
    labels = [float(row.label) if graded else classes.index(row.label) for row in found]
    pairs = [split_words(row.text_b) for row in found] if found[0].text_b else None
    return Examples([split_words(row.text) for row in found], labels, pairs, graded)


def glue_score(name: str, predicted: np.ndarray, examples: Examples) -> float:
    """Of what `training.predict` gives: Matthews' correlation of CoLA, of other sets `training.task_score`."""
    if name == ACCEPTABLE:
        return float(matthews_corrcoef(examples.labels, predicted.argmax(1)))
    return task_score(predicted, examples)


def majority(train: Examples, test: Examples) -> np.ndarray:
    """The most frequent class of training for each test item, (items, classes); of grades their mean, (items, 1)."""
    usual = [[np.mean(train.labels)]] if train.graded else [np.bincount(train.labels, minlength=train.outputs)]
    return np.repeat(np.array(usual, dtype=float), len(test), axis=0)
