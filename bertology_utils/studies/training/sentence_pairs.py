"""Objectives about two sentences: models pre-trained with and without next sentence prediction, and heads on [CLS].

Depends on `tuning.tiny_pretraining` (stories and fine-tuning), `pretraining.objectives` (pairs) and
`instruments.probes`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertology_utils.figures import Figure, bars
from bertology_utils.instruments.probes import train_probe
from bertology_utils.language.grammar import generate
from bertology_utils.models import Specimen
from bertology_utils.pretraining import objectives
from bertology_utils.runs import Runs
from bertology_utils.samples import by_unit
from bertology_utils.studies.training.laboratory import UNTRAINED, Laboratory, Models, captioned, nouns_of
from bertology_utils.text import batches, encode_words, model_inputs
from bertology_utils.tuning.tiny_pretraining import pair_examples, stories, tuned_scores
from bertology_utils.tuning.training import Examples

Pair = tuple[Sequence[str], Sequence[str], int]
Texts = tuple[tuple[str, ...], tuple[str, ...]]
Pairs = Mapping[str, Mapping[str, Sequence[Pair]]]

HEADS = 5  # more than one, since heads that learn from other pairs differ by more than heads of other starts


@dataclass(frozen=True)
class Tuned:
    """Correctness after fine-tuning, task -> arm -> (seeds, items), one of the arms untrained; and each item's noun."""

    scores: Mapping[str, Mapping[str, np.ndarray]]
    nouns: Sequence[str]

    @property
    def samples(self) -> Runs:
        """Of each arm all tasks together, (seeds, nouns); the control has untrained models in all arms."""
        arms = next(iter(self.scores.values()))
        items = {arm: np.concatenate([of[arm] for of in self.scores.values()], axis=1) for arm in arms}
        joined = {arm: by_unit(values, self.nouns) for arm, values in items.items()}
        return Runs(joined, dict.fromkeys(arms, joined[UNTRAINED]))

    def figure(self, claim: str, caption: str) -> Figure:
        """Accuracy by task and arm."""
        shown = {task: {arm.replace("_", " "): v for arm, v in of.items()} for task, of in self.scores.items()}
        options = {"ylabel": "accuracy", "baselines": {"chance": 0.5}}
        return bars(shown, controls=(UNTRAINED,), caption=captioned(caption, claim), **options)


def order_task(lab: Laboratory, size: int, asked: int, rng: np.random.Generator) -> tuple[Examples, Examples]:
    """Which of two sentences comes first? `size` and `asked` stories of held-out sentences, none of them in both."""
    halves = ((lab.held_out[::2], size), (lab.held_out[1::2], asked))
    pairs = [objectives.sentence_order_pairs(stories(part, count, seed=1), rng) for part, count in halves]
    return tuple(map(pair_examples, pairs))


def tuned(arms: Mapping[str, Models], tasks: Mapping[str, tuple[Examples, Examples]]) -> Tuned:
    """Fine-tunes every model of every arm on every task of (training, test) examples."""
    scores = {
        arm: {task: tuned_scores(models, *parts) for task, parts in tasks.items()} for arm, models in arms.items()
    }
    nouns = [noun for _, test in tasks.values() for noun in nouns_of(test)]
    return Tuned({task: {arm: of[task] for arm, of in scores.items()} for task in tasks}, nouns)


def nsp_and_order(train: int, test: int, seed: int, rng: np.random.Generator) -> Pairs:
    """Labelled pairs of sentences by task, "nsp" and "sop", and part; no content word is in both parts.

    nsp: does the second sentence belong to the first? sop: do they stand in their order? lan2019albert.
    """
    chosen = {part: _stories(n, seed, part) for part, n in (("train", train), ("test", test))}
    makers = {"nsp": objectives.next_sentence_pairs, "sop": objectives.sentence_order_pairs}
    return {task: {part: make(found, rng) for part, found in chosen.items()} for task, make in makers.items()}


def _stories(n: int, seed: int, part: str) -> list:
    return stories(generate(3 * n, seed=seed, split=part, kind="simple"), n, seed=seed)


def cross_evaluate(specimen: Specimen, pairs: Pairs) -> dict[str, np.ndarray]:
    """Linear heads on frozen [CLS] vectors for each task, tested on both: `a_on_b` are heads a on task b.

    (heads, nouns) each, as pairs about one noun are alike. Every head learns from pairs of its own. A quarter of the
    pairs of one task are pairs of the other, and are read once.
    """
    parts = {(task, part): found for task, of in pairs.items() for part, found in of.items()}
    asked = {_texts(pair): None for found in parts.values() for pair in found}
    vectors, place = _cls(specimen, list(asked)), {texts: i for i, texts in enumerate(asked)}
    data = {
        of: (vectors[[place[_texts(pair)] for pair in found]][None], np.array([label for *_, label in found]))
        for of, found in parts.items()
    }
    heads = {
        task: train_probe(*data[task, "train"], seeds=HEADS, groups=range(len(of["train"])))
        for task, of in pairs.items()
    }
    nouns = {task: nouns_of(pair_examples(of["test"])) for task, of in pairs.items()}
    return {
        f"{own}_on_{other}": by_unit(heads[own].correct(*data[other, "test"])[0], nouns[other])
        for own in heads
        for other in heads
    }


def _texts(pair: Pair) -> Texts:
    """Both sentences of a pair, without its label."""
    return tuple(pair[0]), tuple(pair[1])


@torch.no_grad()
def _cls(specimen: Specimen, texts: Sequence[Texts]) -> torch.Tensor:
    """[CLS] vectors of the last layer, (pairs, width)."""
    encodings = encode_words(specimen, *zip(*texts, strict=True))
    vectors = torch.empty(len(encodings), specimen.width)
    for rows in batches(specimen, [len(encoding) for encoding in encodings]):
        batch = model_inputs(specimen, [encodings[row] for row in rows])
        vectors[rows] = specimen.encoder(**batch).last_hidden_state[:, 0]
    return vectors
