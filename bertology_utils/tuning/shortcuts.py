"""Entailment pairs with a planted shortcut, lexical overlap, the heuristics that use it, and model-free baselines.

Depends on `lexicon` (words), `training.Examples` and scikit-learn; knows no model. In the biased pairs a
hypothesis follows exactly when all its words occur in the premise; in the challenge pairs, modelled on the three kinds
of mccoy2019right, all words always occur and only the structure decides. Splits share no content word.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np
from scipy.sparse import hstack, spmatrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import normalize

from bertology_utils.errors import BertologyError, unknown
from bertology_utils.language.lexicon import PERSON, Lexicon, load_lexicon
from bertology_utils.tuning.training import Examples

Words = tuple[str, ...]
Triple = tuple[Words, Words, Words]
NOT_ENTAILED, ENTAILED = 0, 1


def word_classes(lexicon: Lexicon) -> dict[str, list[str]]:
    """The content words in use here: a person, several people, deeds among persons, and what one does alone."""
    among_persons = [v for v in lexicon.verbs["transitive"] if set(PERSON) <= set(v.subjects) & set(v.objects)]
    alone = [v for v in lexicon.verbs["intransitive"] if set(PERSON) <= set(v.subjects)]
    persons = [noun for kind in PERSON for noun in lexicon.nouns[kind]]
    return {
        "person": [noun.singular for noun in persons],
        "people": [noun.form("plural") for noun in persons],
        "deed": [verb.past for verb in among_persons],
        "act": [verb.past for verb in alone],
        "place": [noun.singular for noun in lexicon.nouns["place"]],
    }


class _Draw:
    """Draws of distinct words of a class."""

    def __init__(self, split: str, seed: int) -> None:
        self.words = word_classes(load_lexicon(split))
        self.rng = Random(f"{split}-{seed}")

    def __call__(self, kind: str, count: int = 1) -> list[str]:
        return self.rng.sample(self.words[kind], count)


def _swap(draw: _Draw) -> Triple:
    """Premise, a hypothesis that follows, and one with subject and object exchanged."""
    (a, b), (deed,), (place,) = draw("person", 2), draw("deed"), draw("place")
    premise = ("the", a, deed, "the", b, "near", "the", place, ".")
    return premise, ("the", a, deed, "the", b, "."), ("the", b, deed, "the", a, ".")


def _subsequence(draw: _Draw) -> Triple:
    """`the doctor near the lawyer slept`: the doctor slept, but nobody says that the lawyer did."""
    (a, b), (act,) = draw("person", 2), draw("act")
    return ("the", a, "near", "the", b, act, "."), ("the", a, act, "."), ("the", b, act, ".")


def _clause(draw: _Draw) -> Triple:
    """`because the doctor slept, the lawyer thanked the king`: the first clause follows; after `if` it does not."""
    (a, b, c), (act,), (deed,) = draw("person", 3), draw("act"), draw("deed")
    premise = ("because", "the", a, act, ",", "the", b, deed, "the", c, ".")
    return premise, ("the", a, act, "."), ("the", c, deed, "the", b, ".")


KINDS: dict[str, Callable[[_Draw], Triple]] = {"swap": _swap, "subsequence": _subsequence, "clause": _clause}


def _triples(split: str, seed: int) -> Iterator[tuple[str, Triple]]:
    draw = _Draw(split, seed)
    while True:
        for name, make in KINDS.items():
            yield name, make(draw)


def overlap_pairs(n: int, *, biased: bool, seed: int = 0, split: str = "train") -> Examples:
    """`n` (even) pairs, alternating: entailed (label 1), not entailed (label 0).

    biased: the pair that is not entailed has a hypothesis about other people doing other things. Otherwise (the
    challenge) its words all come from the premise: subject and object exchanged, the wrong noun of a noun phrase, or a
    clause that is only supposed (`if` for `because`). Both of a pair share their premise's words.
    Raises BertologyError for an odd `n` or an unknown split.
    """
    if n % 2:
        raise BertologyError(f"Pairs come in twos; ask for an even number, not {n}.")
    items: list[tuple[Words, Words]] = []
    stream, strangers = _triples(split, seed), _triples(split, seed + 10_000)
    while len(items) < n:
        name, (premise, true, false) = next(stream)
        if biased:
            items += [(premise, true), (premise, _unrelated(premise, name, strangers))]
        elif name == "clause":
            items += [(premise, true), (("if", *premise[1:]), true)]
        else:
            items += [(premise, true), (premise, false)]
    premises, hypotheses = zip(*items[:n], strict=True)
    return Examples(premises, [ENTAILED, NOT_ENTAILED] * (n // 2), hypotheses)


def _unrelated(premise: Words, kind: str, strangers: Iterator[tuple[str, Triple]]) -> Words:
    """A hypothesis of the same kind that shares no more than function words with the premise."""
    common = {"the", "."}
    return next(h for name, (_, h, _) in strangers if name == kind and not (set(h) - common) & set(premise))


def challenge_kinds(n: int) -> list[str]:
    """The construction of each of `n` pairs of `overlap_pairs`, in order."""
    names = list(KINDS)
    return [names[i // 2 % len(names)] for i in range(n)]


def joined(first: Examples, second: Examples) -> Examples:
    """Both sets after each other; both hold pairs, or neither does."""
    pairs = None if first.pairs is None else [*first.pairs, *second.pairs]
    return Examples([*first.sentences, *second.sentences], [*first.labels, *second.labels], pairs)


def part(examples: Examples, items: slice) -> Examples:
    """Some of the items."""
    pairs = None if examples.pairs is None else examples.pairs[items]
    return Examples(examples.sentences[items], examples.labels[items], pairs)


def by_pair(correct: np.ndarray) -> np.ndarray:
    """Mean correctness of each couple (entailed, not entailed): (..., items) -> (..., items / 2).

    A model that always gives the same answer scores exactly one half on every couple.
    """
    return correct.reshape(*correct.shape[:-1], -1, 2).mean(-1)


def split_by_label(correct: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(..., items) -> correctness on the entailed and on the not entailed pairs, each (..., items / 2)."""
    return correct[..., 0::2], correct[..., 1::2]


def number_sentences(n: int, *, biased: bool, seed: int = 0, split: str = "train") -> Examples:
    """`n` (even) sentences, alternating: one doer (label 0), several doers (label 1).

    Another noun stands between doer and verb (`the doctor near the kings slept`); the past tense does not show number.
    biased: both nouns have the same number, so any noun tells the label. Otherwise they differ, and only the subject
    tells it (after the attractors of linzen2016assessing).
    """
    if n % 2:
        raise BertologyError(f"Labels alternate; ask for an even number of sentences, not {n}.")
    draw, number = _Draw(split, seed), ("person", "people")
    sentences = []
    for i in range(n):
        own, other = number[i % 2], number[i % 2 if biased else 1 - i % 2]
        (doer,), (near,), (act,) = draw(own), draw(other), draw("act")
        sentences.append(("the", doer, draw.rng.choice(("near", "behind", "beside")), "the", near, act, "."))
    return Examples(sentences, [0, 1] * (n // 2))


def lexical_overlap(examples: Examples) -> np.ndarray:
    """Share of the hypothesis's words that occur in the premise, (items,)."""
    both = zip(examples.sentences, examples.pairs, strict=True)
    return np.array([np.mean([word in premise for word in hypothesis]) for premise, hypothesis in both])


def overlap_heuristic(examples: Examples) -> np.ndarray:
    """Correctness (items,) of saying "entailed" exactly when every word of the hypothesis is in the premise."""
    return (lexical_overlap(examples) == 1.0) == np.asarray(examples.labels, dtype=bool)


def bag_of_words(train: Examples, test: Examples, part: str = "second") -> np.ndarray:
    """Correctness (test items,) of a logistic regression on word counts.

    part: "second" sees the hypothesis alone (the partial-input baseline); "first" the first or only sentence.
    """
    if part not in ("first", "second"):
        raise unknown("part", part, ("first", "second"))

    def sentences(examples: Examples) -> list:
        return list(examples.sentences if part == "first" or examples.pairs is None else examples.pairs)

    counts = CountVectorizer(analyzer=lambda words: words)
    model = LogisticRegression(max_iter=500).fit(counts.fit_transform(sentences(train)), train.labels)
    return model.predict(counts.transform(sentences(test))) == np.asarray(test.labels)


def bag_predictions(train: Examples, test: Examples) -> np.ndarray:
    """What a regression on words puts out, as `training.predict`: (items, classes), or grades (items, 1).

    Of pairs it knows which words both have and which one alone has, and what share of either the other has.
    """
    words = CountVectorizer(analyzer=_lower, binary=True).fit([*train.sentences, *(train.pairs or ())])
    seen, new = (_bag(words, part) for part in (train, test))
    if train.graded:
        return Ridge().fit(seen, train.labels).predict(new)[:, None]
    return LogisticRegression(max_iter=500).fit(seen, train.labels).predict_proba(new)


def _lower(words: Sequence[str]) -> list[str]:
    return [word.lower() for word in words]


def _bag(words: CountVectorizer, examples: Examples) -> spmatrix:
    """(items, words), each row of length 1; of pairs (items, twice the words and 4 times both shares)."""
    first = words.transform(examples.sentences)
    if examples.pairs is None:
        return normalize(first)
    second = words.transform(examples.pairs)
    sides = [[_lower(words) for words in side] for side in (examples.sentences, examples.pairs)]
    shares = [lexical_overlap(Examples(one, examples.labels, two)) for one, two in (sides, sides[::-1])]
    return hstack([normalize(hstack([first.minimum(second), abs(first - second)])), 4 * np.stack(shares, 1)]).tocsr()
