"""Which of two auxiliaries is the main one? A probe that may have learnt order or hierarchy, asked where they part.

Depends on `two_auxiliaries` (the sentences), `probes` and `activations`. After
lin2019open, which ronnqvist2019multilingual carry to German and Nordic languages; of these the corpus has Finnish.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from bertology_utils.activations import token_table_vectors, word_vectors
from bertology_utils.instruments.probes import predecessor_windows, train_selector
from bertology_utils.language.ten_languages import LANGUAGES
from bertology_utils.language.two_auxiliaries import AUXILIARIES, TwoAuxiliaries, two_auxiliaries
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit

LONGEST = 3
TRAINING = {"seeds": 5, "batch": 32, "steps": 100}
Reader = Callable[[Specimen, Sequence[Sequence[str]]], list[Tensor]]
"""Gives (layers, words, width) for each sentence; where windows of words are read, their length is the layer."""


def examples() -> list[dict[str, str]]:
    """A sentence of training and one of the test in each language, a row of a table each."""
    return [
        {
            "language": LANGUAGES[code].name,
            "training: the main one first": _text(two_auxiliaries(code, 1, parting=False)[0]),
            "test: the main one second": _text(two_auxiliaries(code, 1, parting=True, split="test")[0]),
        }
        for code in AUXILIARIES
    ]


def _text(sentence: TwoAuxiliaries) -> str:
    return " ".join(f"⟨{word}⟩" if place == sentence.main else word for place, word in enumerate(sentence.words))


def every_second_layer(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
    """Word vectors at layers 0, 2, 4 ..."""
    return [vectors[::2] for vectors in word_vectors(specimen, sentences)]


def words_before(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
    """The rival that knows no sentence: the token table's vectors of a word and its last 1 .. `LONGEST` ones."""
    return [
        predecessor_windows(torch.from_numpy(table[0]), LONGEST) for table in token_table_vectors(specimen, sentences)
    ]


def pointing(specimen: Specimen, train: int, test: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Of each language: does a probe that learnt from sentences where the main auxiliary is first point at it?

    Samples `(seeds, nouns)` of new words: `german`, where it is second; `german_first`, where it is first as in
    training; `german_layer_0`; and `german_window`, of `words_before`. Layers are chosen on half of the sentences and
    measured on the other.
    """
    found = {}
    for code in AUXILIARIES:
        known = two_auxiliaries(code, train, False, "train", seed)
        second, first = (two_auxiliaries(code, test, parting, "test", seed) for parting in (True, False))
        hits, hits_first = _hits(specimen, every_second_layer, known, (second, first), seed)
        (by_window,) = _hits(specimen, words_before, known, (second,), seed)
        language = LANGUAGES[code].name.lower()
        for name, scores in {"": hits, "_layer_0": hits[:1], "_window": by_window}.items():
            found[language + name] = _at_best_layer(scores, second)
        found[f"{language}_first"] = _at_best_layer(hits_first, first)
    return found


def _hits(
    specimen: Specimen,
    reader: Reader,
    known: Sequence[TwoAuxiliaries],
    asked: Sequence[Sequence[TwoAuxiliaries]],
    seed: int,
) -> list[np.ndarray]:
    """Whether the main auxiliary is pointed at, for each list that is asked: 0/1 (layers, seeds, sentences)."""
    probe = train_selector(reader(specimen, [s.words for s in known]), [s.main for s in known], seed=seed, **TRAINING)
    return [probe.correct(reader(specimen, [s.words for s in part]), [s.main for s in part]) for part in asked]


def _at_best_layer(hits: np.ndarray, sentences: Sequence[TwoAuxiliaries]) -> np.ndarray:
    """The odd sentences at the layer that is best on the even ones, by their nouns: (seeds, nouns)."""
    best = int(hits[:, :, ::2].mean((1, 2)).argmax())
    return by_unit(hits[best, :, 1::2], [s.nouns for s in sentences[1::2]])
