"""Has a small network like BART outlier dimensions? One that restores sentences whose spans were blotted out.

An encoder reads a generated sentence in which each of some spans is one mask, a decoder writes the whole sentence. Both
are asked by the rule of kovaleva2021bertbusters, as the other specimens are. The study `small-models` records it.
Depends on `compression.outliers` and `tuning.descent`.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from transformers import BartConfig, BartForConditionalGeneration

from bertology_utils.compression.outlier_effects import scanned, strongest_dimensions
from bertology_utils.compression.outliers import disabled, random_dimensions
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.runs import Runs
from bertology_utils.tuning.descent import descend
from bertology_utils.tuning.tiny_pretraining import small_language

READ, NEW = 4000, 300  # sentences
LAYERS, WIDTH, HEADS, INNER = 4, 64, 2, 128  # of either half: in fewer layers the rule calls any that deviates
STEPS, BATCH, RATE = 1000, 32, 2e-3
HIDDEN, LENGTH = 0.3, 3.0  # share of words in spans, and the mean of Poisson's distribution of their lengths, BART's
PAD, END, MASK, WORDS = 0, 1, 2, 3  # ids, and the first of a word
HALVES = ("encoder", "decoder")
DRAWS = 5  # random dimensions that are turned off


def blotted(ids: Sequence[int], rng: np.random.Generator) -> list[int]:
    """A sentence with each of some spans as one mask; of length 0 it is a mask between two words."""
    own, hidden = list(ids), 0
    while hidden < HIDDEN * len(ids):
        size = min(int(rng.poisson(LENGTH)), len(own))
        at = int(rng.integers(len(own) - size + 1))
        hidden += max(size, 1)
        own[at : at + size] = [MASK]
    return own


def batch(sentences: Sequence[Sequence[int]], rng: np.random.Generator) -> dict[str, Tensor]:
    """What the encoder reads, `input_ids`, and what the decoder has to write, `labels`: (sentences, longest)."""
    sides = [[*blotted(ids, rng), END] for ids in sentences], [[*ids, END] for ids in sentences]
    read, whole = (pad_sequence([torch.tensor(own) for own in side], batch_first=True) for side in sides)
    return {"input_ids": read, "attention_mask": (read != PAD).long(), "labels": whole}


def loss(model: BartForConditionalGeneration, given: dict[str, Tensor]) -> Tensor:
    """Mean nats a word of the decoder, which reads the words before, ()."""
    labels = given["labels"]
    return F.cross_entropy(model(**given).logits.flatten(0, 1), labels.flatten(), ignore_index=PAD)


def untrained(vocabulary: int, seed: int) -> BartForConditionalGeneration:
    """The network at its first step."""
    halves = {
        f"{half}_{key}": value
        for half in HALVES
        for key, value in {"layers": LAYERS, "attention_heads": HEADS, "ffn_dim": INNER}.items()
    }
    ids = {"pad_token_id": PAD, "bos_token_id": END, "eos_token_id": END, "decoder_start_token_id": END}
    still = dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), 0.0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return BartForConditionalGeneration(
            BartConfig(vocab_size=vocabulary, d_model=WIDTH, max_position_embeddings=64, **halves, **ids, **still)
        ).eval()


@torch.no_grad()
def measured(model: BartForConditionalGeneration, asked: dict[str, Tensor], seed: int) -> Values:
    """loss: nats a word; other: of who is given another sentence to restore, as a decoder that does not look would do.

    Of each half dimensions_: by the rule, chance_: where layers are shuffled; off_, random_: the loss with its
    strongest dimension turned off, and with one of `DRAWS` random ones on average.
    """
    turned = {key: asked[key].roll(1, 0) for key in ("input_ids", "attention_mask")}
    found = {"loss": float(loss(model, asked)), "other": float(loss(model, asked | turned))}
    for name in HALVES:
        half = getattr(model.model, name)
        ruled, (strongest,) = scanned(name, half), strongest_dimensions(half, 1)
        found |= {f"dimensions_{name}": ruled["outlier dimensions"], f"chance_{name}": ruled["by chance"]}
        with disabled(half, [strongest]):
            found[f"off_{name}"] = float(loss(model, asked))
        drawn = []
        for others in random_dimensions(half, 1, DRAWS, seed, avoid=[strongest]):
            with disabled(half, others):
                drawn.append(float(loss(model, asked)))
        found[f"random_{name}"] = float(np.mean(drawn))
    return found


def of_seed(seed: int) -> tuple[Values, Values]:
    """`measured` on new sentences after training, and before."""
    rng = np.random.default_rng(seed)
    told = [sentence.words for sentence in small_language(READ + NEW, seed, drawn=True)]
    number = {word: i for i, word in enumerate(sorted({word for own in told for word in own}), WORDS)}
    texts = [[number[word] for word in own] for own in told]
    model, asked = untrained(WORDS + len(number), seed), batch(texts[READ:], rng)
    blank = measured(model, asked, seed)

    def of_step() -> Tensor:
        return loss(model, batch([texts[i] for i in rng.integers(READ, size=BATCH)], rng))

    descend([{"params": list(model.parameters()), "lr": RATE}], of_step, STEPS)
    return measured(model, asked, seed), blank


def below(scan: pd.DataFrame, runs: Runs) -> pd.DataFrame:
    """The table of `outlier_effects.scan` and below it a row for each half, the means over seeds."""
    asked = ("dimensions", "chance")
    made = [
        [f"like BART, {name} ({runs.networks} seeds)", LAYERS, WIDTH]
        + [round(float(runs.model[f"{what}_{name}"].mean()), 1) for what in asked]
        for name in HALVES
    ]
    return pd.concat([scan, pd.DataFrame(made, columns=scan.columns)], ignore_index=True)


EXPERIMENTS = {"like-bart": one_by_one(of_seed, NEW)}
