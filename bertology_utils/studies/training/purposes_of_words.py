"""Objectives about the words of one sentence, each asked for what it is for: the order of words, the edges of spans.

Arms read generated sentences one at a time. Depends on `engine_arms`, `tiny_pretraining.small_language` and linear
probes; each experiment is a function of seeds, and each seed has sentences of its own.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bertology_utils.activations import word_vectors
from bertology_utils.instruments.probes import encode_labels, probe_correctness
from bertology_utils.models import Specimen
from bertology_utils.pretraining.objectives import MASK_SHARE, shuffle_ngram
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.studies.training.engine_arms import Arm, train
from bertology_utils.tuning.hidden_words import losses
from bertology_utils.tuning.tiny_pretraining import small_language

PIECES = 90_000
READ, NEW = 1500, 500  # sentences
LONGEST = 14  # words of a sentence that is asked, as many as an input has room for
SPAN = 3  # words
MORE_MASKS = 0.5  # of a sentence: as many words as where three are put in order beside 15 % that are filled
RECIPE = {
    "inner": 128, "batch": 8, "matrix_learning_rate": 0.02, "phases": [{"steps": 8, "length": LONGEST + 2}],
}  # fmt: skip
Words = tuple[str, ...]


def _text(seed: int) -> tuple[list[Words], list[Words], list[str]]:
    """Sentences to read, new ones to ask, and all words. The new ones have a word on either side of three others."""
    found = [sentence.words for sentence in small_language(READ + NEW, seed, words_a_group=1)]
    return found[:READ], _askable(found[READ:]), sorted({word for sentence in found for word in sentence})


def _askable(sentences: Sequence[Words]) -> list[Words]:
    return [words for words in sentences if SPAN + 1 < len(words) <= LONGEST]


def _arm(sentences: Sequence[Words], tasks: Sequence[str] = (), share: float = MASK_SHARE, unit: str = "piece") -> Arm:
    weights = dict.fromkeys(["masked-tokens", *tasks], 1.0)
    return Arm(
        [[words] for words in sentences], RECIPE | {"objectives": weights, "masking": {"share": share, "unit": unit}}
    )


# ---------------------------------------------------------------- the order of words


def word_order(seed: int) -> tuple[Values, Values]:
    """How often three words of a new sentence are likelier in their own order than in another; wang2019structbert.

    Likelier by the sum of the log-probabilities of the three, each hidden alone. order_plain: masked words alone;
    order_masks: half of all words; order_ngrams: three words shuffled in each sentence, to be put in order.
    """
    read, asked, words = _text(seed)
    rng = np.random.default_rng(seed)
    shuffled, places = zip(*(shuffle_ngram(sentence, rng, SPAN) for sentence in asked), strict=True)
    orders = asked, shuffled, np.array(places)
    arms = {
        "order_plain": _arm(read),
        "order_masks": _arm(read, share=MORE_MASKS),
        "order_ngrams": _arm(read, ["ngram-order"]),
    }
    ends = {name: train(arm, words, PIECES, seed) for name, arm in arms.items()}
    untrained = in_order(ends["order_plain"][0], *orders)
    return {name: in_order(kept[-1], *orders) for name, kept in ends.items()}, dict.fromkeys(ends, untrained)


def in_order(specimen: Specimen, good: Sequence[Words], bad: Sequence[Sequence[str]], places: np.ndarray) -> float:
    """Share of sentences whose own order of the three words from `places` on is the likelier; equal ones count half."""
    own, other = (
        sum(losses(specimen, version, places[:, None] + step)[:, 0] for step in range(SPAN)) for version in (good, bad)
    )
    return float(np.mean((own < other) + 0.5 * (own == other)))


# ---------------------------------------------------------------- the edges of spans


def span_edges(seed: int) -> tuple[Values, Values]:
    """What the two words around a span know of it, and what it costs to fill it; joshi2020spanbert.

    edges_spans, edges_boundary: how often a linear probe on the two vectors beside three words that stand there tells
    the middle one; fill_spans, fill_boundary: nats a word if the three are hidden, by the ordinary head. `spans` hides
    spans, `boundary` predicts their words from their edges too. majority: the most usual middle word everywhere;
    untrained: what filling costs an untrained model.
    """
    read, asked, words = _text(seed)
    rng = np.random.default_rng(seed)
    parts = [_spans(part, rng) for part in (_askable(read), asked)]
    arms = {"spans": _arm(read, unit="span"), "boundary": _arm(read, ["span-boundary"], unit="span")}
    ends = {name: train(arm, words, PIECES, seed) for name, arm in arms.items()}
    known, middles = ([own[at + SPAN // 2] for own, at in zip(*part, strict=True)] for part in parts)
    usual = max(sorted(set(known)), key=known.count)

    def side(place: int) -> Values:
        rest = {"majority": middles.count(usual) / len(middles), "untrained": _filled(ends["spans"][0], *parts[1])}
        edges = {f"edges_{name}": at_edges(kept[place], *parts, seed) for name, kept in ends.items()}
        fill = {f"fill_{name}": _filled(kept[place], *parts[1]) for name, kept in ends.items()}
        return edges | fill | rest

    return side(-1), side(0)


Spans = tuple[Sequence[Words], np.ndarray]  # sentences, and the first word of a span in each


def _spans(sentences: Sequence[Words], rng: np.random.Generator) -> Spans:
    """A span in each sentence that leaves a word on either side of it."""
    return sentences, np.array([int(rng.integers(1, len(words) - SPAN)) for words in sentences])


def at_edges(specimen: Specimen, known: Spans, asked: Spans, seed: int) -> float:
    """Accuracy of a linear probe on the last layer's vectors of the words before and behind each span."""
    vectors, middles = zip(*(_edges(specimen, *part) for part in (known, asked)), strict=True)
    labels, answers, _ = encode_labels(*middles)
    return float(probe_correctness(vectors[0], labels, vectors[1], answers, seed=seed).mean())


def _edges(specimen: Specimen, inputs: Sequence[Words], starts: np.ndarray) -> tuple[Tensor, list[str]]:
    """Vectors of both edges beside each other, (1, inputs, 2 x width), and the middle words of the spans."""
    found = zip(word_vectors(specimen, inputs), starts.tolist(), strict=True)
    vectors = torch.stack([torch.cat([own[-1, at - 1], own[-1, at + SPAN]]) for own, at in found])
    return vectors[None], [words[at + SPAN // 2] for words, at in zip(inputs, starts.tolist(), strict=True)]


def _filled(specimen: Specimen, inputs: Sequence[Words], starts: np.ndarray) -> float:
    """Mean loss of the words of each span, hidden together, in nats."""
    return float(losses(specimen, inputs, starts[:, None] + np.arange(SPAN)).mean())


EXPERIMENTS = {"word-order": one_by_one(word_order, NEW), "span-edges": one_by_one(span_edges, NEW)}
