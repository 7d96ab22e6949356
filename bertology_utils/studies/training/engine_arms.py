"""Arms that the engine of `pretraining` trains in a folder that is gone afterwards, every word a piece of its own.

An arm is a text and what it changes in the recipe; all read the same number of pieces. Depends on `pretraining`,
`live_comparison` (the tiny recipe) and `two_languages` (a tokenizer of whole words).
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import nn

from bertology_utils.models import Specimen
from bertology_utils.pretraining.config import PretrainingConfig
from bertology_utils.pretraining.engine import Pretraining
from bertology_utils.studies.training.live_comparison import TINY, quiet
from bertology_utils.text import Words
from bertology_utils.tuning.two_languages import word_tokenizer

UNASKED = 1e-9  # the weight of a loss that only decides how inputs are packed
WARMUP, COOLDOWN = 0.1, 0.5  # of the steps


@dataclass(frozen=True)
class Arm:
    """A text, documents of sentences of words, and the keys of the recipe that are not as in `TINY`.

    The phases of `changes` share the pieces evenly; without any there is one of 64 pieces an input.
    """

    documents: Sequence[Sequence[Words]]
    changes: Mapping[str, Any] = field(default_factory=dict)


def train(arm: Arm, words: Words, pieces: int, seed: int) -> list[Specimen]:
    """The arm before its first step and at the end of each of its phases, after about `pieces` pieces in all."""
    return train_with_filler(arm, words, pieces, seed)[0]


def train_with_filler(arm: Arm, words: Words, pieces: int, seed: int) -> tuple[list[Specimen], Specimen]:
    """`train`, and what fills in blanks at the end: the generator that a discriminator has, or the model itself."""
    with TemporaryDirectory() as folder, quiet(), torch.random.fork_rng(devices=[]):
        config = _config(arm, words, Path(folder), seed)
        run = Pretraining(_at_budget(config, pieces))
        ends = list(accumulate(phase.steps for phase in run.config.phases))
        kept = [_specimen(run, run.model, words)]
        while run.step < ends[-1]:
            run.train_step()
            if run.step in ends:
                kept.append(_specimen(run, run.model, words))
        return kept, _specimen(run, run.network.filler, words)


def _config(arm: Arm, words: Words, folder: Path, seed: int) -> PretrainingConfig:
    corpus, tokenizer = folder / "text.txt", folder / "words.json"
    corpus.write_text("\n\n".join("\n".join(map(" ".join, document)) for document in arm.documents), "utf-8")
    word_tokenizer(words).backend_tokenizer.save(str(tokenizer))
    own = {"name": "arm", "study": "rogers2020primer", "corpora": {"text": str(corpus)}, "tokenizer": str(tokenizer)}
    return PretrainingConfig(**{**TINY, **own, "work": str(folder / "work"), "seed": seed, **arm.changes})


def _at_budget(config: PretrainingConfig, pieces: int) -> PretrainingConfig:
    """The configuration with as many steps as read about `pieces`, a like share of the pieces in each phase."""
    batches, start, phases = Pretraining(config).batches, 0, []
    for phase in config.phases:
        read = np.mean([int(batches[start + step]["attention_mask"].sum()) for step in range(phase.steps)])
        start += phase.steps
        phases.append(phase.model_copy(update={"steps": max(1, round(pieces / len(config.phases) / read))}))
    steps = sum(phase.steps for phase in phases)
    shares = {"warmup": round(WARMUP * steps), "cooldown": round(COOLDOWN * steps)}
    return config.model_copy(update={"phases": phases, **shares})


def _specimen(run: Pretraining, model: nn.Module, words: Words) -> Specimen:
    """A copy of a model of the run as it is now."""
    model = copy.deepcopy(model).eval()
    return Specimen("arm", model, word_tokenizer(words), f"step {run.step}", "", "trained for one experiment")
