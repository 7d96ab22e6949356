"""What words cost where they are hidden, one or several of an input together. Depends on `text` and `mlm_training`."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bertology_utils.models import Specimen
from bertology_utils.text import Encoding, Words, encode_words, model_inputs, of_segments
from bertology_utils.tuning.mlm_training import masked_logits


@torch.no_grad()
def hidden_words(
    specimen: Specimen,
    first: Sequence[Words],
    hidden: np.ndarray,
    second: Sequence[Words] | None = None,
    kinds: np.ndarray | None = None,
) -> tuple[Tensor, Tensor]:
    """What a model expects where words are hidden together: log-probabilities and the ids that stood there.

    hidden: (inputs, places) of words in rising order, those of `second` counted on; kinds: see `text.of_segments`.
    Returns (inputs, places, vocabulary) in nats and (inputs, places).
    """
    encodings = encode_words(specimen, first, second)
    if kinds is not None:
        encodings = of_segments(encodings, kinds)
    batch = model_inputs(specimen, encodings)
    places = torch.tensor([_pieces(encoding, own) for encoding, own in zip(encodings, hidden.tolist(), strict=True)])
    rows = torch.arange(len(places))[:, None]
    chosen = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
    chosen[rows, places] = True
    gold = batch["input_ids"][rows, places]
    masked = {**batch, "input_ids": batch["input_ids"].masked_fill(chosen, specimen.tokenizer.mask_token_id)}
    logits, _ = masked_logits(specimen.model, masked, chosen)
    return logits.log_softmax(-1).view(*places.shape, -1), gold


def _pieces(encoding: Encoding, words: Sequence[int]) -> list[int]:
    return [encoding.word_ids.index(word) for word in words]


def losses(
    specimen: Specimen, first: Sequence[Words], hidden: np.ndarray, second: Sequence[Words] | None = None
) -> np.ndarray:
    """-log of the probability of each of the words that `hidden_words` hides together: (inputs, places) nats."""
    scores, gold = hidden_words(specimen, first, hidden, second)
    return -scores.gather(-1, gold.unsqueeze(-1)).squeeze(-1).numpy()
