"""Sets with a planted shortcut: pairs of sentences whose words overlap, and sentences whose nouns agree.

Depends on `tuning.shortcuts`, which makes them, and `figures`. No content word of a test set is in a training set.
"""

from dataclasses import dataclass

from bertology_utils.figures import Figure, table
from bertology_utils.tuning.shortcuts import challenge_kinds, joined, number_sentences, overlap_pairs
from bertology_utils.tuning.training import Examples


@dataclass(frozen=True)
class PairSets:
    """Pairs of premise and hypothesis, modelled on mccoy2019right.

    lessons: biased pairs to learn from; in_domain: biased pairs of new words; challenge: pairs that break the shortcut.
    """

    lessons: Examples
    in_domain: Examples
    challenge: Examples


def pair_sets(train: int, test: int, seed: int) -> PairSets:
    """`train` lessons, and `test` pairs of each of both sorts."""
    lessons = overlap_pairs(train, biased=True, seed=seed, split="train")
    return PairSets(lessons, *(overlap_pairs(test, biased=flag, seed=seed, split="test") for flag in (True, False)))


def mixed_lessons(count: int, seed: int, share: float = 0.1, other: int | None = None) -> Examples:
    """`count` lessons, of which a share are challenge pairs of training words: half of those break the rule.

    other: the seed of the challenge pairs; by default that of the rest, with which they then share premises.
    """
    few = 2 * round(count * share / 2)
    biased = overlap_pairs(count - few, biased=True, seed=seed, split="train")
    if few == 0:
        return biased
    return joined(biased, overlap_pairs(few, biased=False, seed=seed if other is None else other, split="train"))


def shown(count: int, caption: str) -> Figure:
    """`count` pairs of each sort as a table."""
    sets = {"biased": overlap_pairs(count, biased=True), "challenge": overlap_pairs(count, biased=False)}
    return table([row for name, pairs in sets.items() for row in _rows(name, pairs)], caption=caption)


def _rows(name: str, pairs: Examples) -> list[dict[str, str]]:
    both = zip(challenge_kinds(len(pairs)), pairs.sentences, pairs.pairs, pairs.labels, strict=True)
    return [
        {
            "set": name,
            "kind": kind,
            "premise": " ".join(premise),
            "hypothesis": " ".join(hypothesis),
            "follows": "yes" if label else "no",
        }
        for kind, premise, hypothesis, label in both
    ]


@dataclass(frozen=True)
class NumberSets:
    """Sentences with one doer or several, for tests.

    agree: another noun has the doer's number; differ: it has the other number.
    """

    agree: Examples
    differ: Examples


def number_sets(test: int, seed: int) -> NumberSets:
    """`test` sentences of each sort."""
    return NumberSets(*(number_sentences(test, biased=flag, seed=seed, split="test") for flag in (True, False)))
