"""Readers of the planted sets: fine-tuned encoders, and linear readers of frozen, siamese or projected features.

Depends on `planted` (the sets), `debiasing` (features) and `tuning`. Every function gives named samples of correctness,
(items,) of one reader or (seeds, items) of several, on `in_domain` and on `challenge` pairs.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bertology_utils.models import Specimen
from bertology_utils.studies.generalization.debiasing import (
    linear_correct,
    siamese_features,
    superficial_features,
)
from bertology_utils.studies.generalization.planted import NumberSets, PairSets
from bertology_utils.tuning.classification_tasks import task
from bertology_utils.tuning.shortcuts import (
    bag_of_words,
    by_pair,
    challenge_kinds,
    joined,
    number_sentences,
    overlap_pairs,
    part,
    split_by_label,
)
from bertology_utils.tuning.training import Classifier, Examples, encoder_features, finetune_seeds

# The sentences of a pair are read in one input and their means compared, by a head that is trained first: what matches
# words by attention alone takes more steps than a notebook has.
SETTINGS = {"pool": "pair", "head_first": True, "budget": 192, "learning_rate": 1e-4, "head_learning_rate": 5e-4}
OF_TWO = ("paraphrase", "entailment")  # tasks of pairs
PROJECTED = ("hex", "unprojected", "hex_in_domain", "unprojected_in_domain")
Scores = dict[str, np.ndarray]


def tune(specimen: Specimen, sets: PairSets, seeds: Sequence[int], epochs: int, **changes: Any) -> dict[str, Any]:
    """Fine-tunes on the lessons, both sentences in one input, once a seed; `tuned` holds the runs.

    changes: options of `finetune` beside or in place of `SETTINGS`.
    """
    both = joined(sets.in_domain, sets.challenge)
    tuned, correct = finetune_seeds(specimen, sets.lessons, both, seeds, epochs=epochs, **SETTINGS | changes)
    here = len(sets.in_domain)
    return {"tuned": tuned, "in_domain": correct[:, :here], "challenge": correct[:, here:]}


def retuned(specimen: Specimen, sets: PairSets, extra: Examples, seed: int, epochs: int) -> np.ndarray:
    """Challenge pairs (1, items) after fine-tuning on the lessons and on `extra` ones."""
    lessons = joined(sets.lessons, extra)
    return finetune_seeds(specimen, lessons, sets.challenge, [seed], epochs=epochs, **SETTINGS)[1]


def couples(scores: Mapping[str, Any]) -> Scores:
    """The same by couples of pairs with one premise, on which always the same answer gives one half."""
    return {name: by_pair(scores[name]) for name in ("in_domain", "challenge")}


def by_label(scores: Scores) -> Scores:
    """Pairs that follow, those that share no words, and those that share all words and do not follow."""
    entailed, unrelated = split_by_label(scores["in_domain"])
    return {"entailed": entailed, "unrelated": unrelated, "not_entailed": split_by_label(scores["challenge"])[1]}


def by_kind(scores: Scores) -> dict[str, float]:
    """Accuracy on the challenge by construction."""
    kinds = np.array(challenge_kinds(scores["challenge"].shape[-1]))
    return {str(kind): float(scores["challenge"][..., kinds == kind].mean()) for kind in dict.fromkeys(kinds)}


def siamese(specimen: Specimen, sets: PairSets, lessons: int, seeds: Sequence[int]) -> Scores:
    """Linear readers of two frozen vectors, each taught by `lessons` pairs of its own (bhargava2021generalization)."""
    return _taught(partial(siamese_features, specimen), sets, lessons, seeds)


def frozen(specimen: Specimen, sets: PairSets, seeds: Sequence[int]) -> Scores:
    """Linear readers of the encoder as it is, both sentences in one input, each taught by lessons of its own; by
    couples."""
    reader = Classifier(specimen.encoder, 2, "pair", specimen.tokenizer.sep_token_id).eval()
    return couples(_taught(partial(_read, reader, specimen), sets, len(sets.lessons), seeds))


def _taught(features: Callable[[Examples], np.ndarray], sets: PairSets, lessons: int, seeds: Sequence[int]) -> Scores:
    """Linear readers of features of pairs, each taught by `lessons` pairs of its own seed."""
    tests = [(features(pairs), pairs.labels) for pairs in (sets.in_domain, sets.challenge)]
    taught = [overlap_pairs(lessons, biased=True, seed=seed, split="train") for seed in seeds]
    found = [linear_correct(features(own), own.labels, tests) for own in taught]
    return dict(zip(("in_domain", "challenge"), map(np.stack, zip(*found, strict=True)), strict=True))


def projected(run: Mapping[str, Any], sets: PairSets, mixed: Examples) -> Scores:
    """Linear readers of tuned features, taught by `mixed` lessons through HEX, `hex`, and without it, `unprojected`.

    Both on the challenge and, as `hex_in_domain`, on pairs like the lessons; by couples.
    """
    here, ways = len(sets.in_domain), {"hex": superficial_features(mixed), "unprojected": None}
    found: dict[str, list[np.ndarray]] = {}
    for own in run["tuned"]:
        features, asked = _read(own.classifier, own.specimen, mixed), own.features.numpy()  # of both sets, as scored
        tests = [(asked[:here], sets.in_domain.labels), (asked[here:], sets.challenge.labels)]
        for way, superficial in ways.items():
            scores = linear_correct(features, mixed.labels, tests, superficial)
            for name, correct in zip((f"{way}_in_domain", way), scores, strict=True):
                found.setdefault(name, []).append(by_pair(correct))
    return {name: np.stack(scores) for name, scores in found.items()}


def _read(reader: Classifier, specimen: Specimen, examples: Examples) -> np.ndarray:
    return encoder_features(reader, specimen, examples).numpy()


def numbers(specimen: Specimen, sets: NumberSets, lessons: int, seeds: Sequence[int]) -> Scores:
    """Linear readers of one frozen sentence: one doer or several? Each learns from sentences of its own.

    `in_domain` and `broken`: both sets, after lessons in which the nouns agree; `augmented`: `broken` after lessons of
    which half are sentences whose nouns differ. (seeds, items) each.
    """
    reader = Classifier(specimen.encoder, 2).eval()
    tests = [(_read(reader, specimen, own), own.labels) for own in (sets.agree, sets.differ)]
    scores: dict[str, list[np.ndarray]] = {"in_domain": [], "broken": [], "augmented": []}
    for seed in seeds:
        same, other = (number_sentences(lessons, biased=flag, seed=seed, split="train") for flag in (True, False))
        half = lessons // 2
        features = _read(reader, specimen, same), _read(reader, specimen, part(other, slice(half)))
        taught = linear_correct(features[0], same.labels, tests)
        mixed = linear_correct(np.concatenate([each[:half] for each in features]), same.labels[:half] * 2, tests)
        for name, correct in zip(scores, (*taught, mixed[1]), strict=True):
            scores[name].append(correct)
    return {name: np.stack(values) for name, values in scores.items()}


def bag(name: str, size: int, seed: int, part: str | None = None) -> np.ndarray:
    """Correctness (items,) of a bag of words on one of the book's tasks; of pairs it sees the second sentence."""
    train, test = (task(name, size, seed, split) for split in ("train", "test"))
    return bag_of_words(train, test, part or ("second" if name in OF_TWO else "first"))
