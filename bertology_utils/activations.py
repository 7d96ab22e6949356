"""Hidden states of words and sentences at every layer. Depends on `models` and `text`.

Inputs run in batches of similar length; what comes back is pooled to words at once, so memory grows with words, not
with padded pieces.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from bertology_utils.errors import BertologyError
from bertology_utils.models import Specimen
from bertology_utils.text import (
    BUDGET,
    Encoding,
    Words,
    batches,
    encode_words,
    model_inputs,
    pool_pieces,
    require_place,
    require_words,
    word_matrix,
)

POOLS = ("mean", "cls")  # how a sentence becomes one vector


@torch.inference_mode()
def hidden_batches(specimen: Specimen, encodings: Sequence[Encoding]) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Yields the indices of a batch and its hidden states `(layers + 1, batch, pieces, width)`."""
    for indices in batches(specimen, [len(e) for e in encodings], BUDGET):
        batch = model_inputs(specimen, [encodings[i] for i in indices])
        output = specimen.encoder(**batch, output_hidden_states=True)
        yield indices, torch.stack(output.hidden_states)


def word_vectors(specimen: Specimen, sentences: Sequence[Words], how: str = "mean") -> list[torch.Tensor]:
    """Vectors of every word at every layer: for each sentence `(layers + 1, words, width)`, float32."""
    encodings = encode_words(specimen, sentences)
    vectors: list[torch.Tensor] = [torch.empty(0)] * len(encodings)
    for indices, hidden in hidden_batches(specimen, encodings):
        for row, i in enumerate(indices):
            vectors[i] = pool_pieces(hidden[:, row], encodings[i].word_ids, how).float().clone()
    return vectors


def vectors_at(
    specimen: Specimen, sentences: Sequence[Words], places: Sequence[int], how: str = "mean"
) -> torch.Tensor:
    """The vector of one word of each sentence, (layers+1, items, width); a sentence that comes again is run once."""
    return vectors_by(specimen, sentences, places, (how,))[how]


def vectors_by(
    specimen: Specimen, sentences: Sequence[Words], places: Sequence[int], ways: Sequence[str]
) -> dict[str, torch.Tensor]:
    """`vectors_at` in several ways of pooling a word's pieces, from one run: each (layers+1, items, width)."""
    require_words(sentences)
    if len(sentences) != len(places):
        raise BertologyError(f"There are {len(sentences)} sentences and {len(places)} places of words.")
    for words, place in zip(sentences, places, strict=True):
        require_place(words, place)
    asked: dict[tuple[str, ...], list[int]] = {}
    for item, words in enumerate(sentences):
        asked.setdefault(tuple(words), []).append(item)
    encodings, items = encode_words(specimen, list(asked)), list(asked.values())
    found = {how: torch.empty(specimen.layers + 1, len(sentences), specimen.width) for how in ways}
    for indices, hidden in hidden_batches(specimen, encodings):
        for row, i in enumerate(indices):
            for item in items[i]:
                for how, vectors in found.items():
                    vectors[:, item] = _pooled_word(hidden[:, row], encodings[i].word_ids, places[item], how)
    return found


def _pooled_word(hidden: torch.Tensor, word_ids: Sequence[int | None], word: int, how: str) -> torch.Tensor:
    """The vector of one word, (layers + 1, width)."""
    pieces = [piece for piece, owner in enumerate(word_ids) if owner == word]
    return pool_pieces(hidden[:, pieces], [0] * len(pieces), how)[:, 0]


def token_table_vectors(specimen: Specimen, sentences: Sequence[Words]) -> list[np.ndarray]:
    """The static control: each word as the mean of its rows in the token table, (1, words, width) a sentence."""
    table = specimen.encoder.get_input_embeddings().weight.detach().float()
    return [
        pool_pieces(table[torch.tensor(e.input_ids)][None], e.word_ids).numpy()
        for e in encode_words(specimen, sentences)
    ]


def pooled_vectors(
    specimen: Specimen, sentences: Sequence[Words], pairs: Sequence[Words] | None = None
) -> dict[str, torch.Tensor]:
    """Both vectors of a sentence, `mean` over its words and `cls`, each `(layers + 1, sentences, width)`."""
    encodings = encode_words(specimen, sentences, pairs)
    vectors = {pool: torch.empty(specimen.layers + 1, len(encodings), specimen.width) for pool in POOLS}
    for indices, hidden in hidden_batches(specimen, encodings):
        vectors["cls"][:, indices] = hidden[:, :, 0]
        vectors["mean"][:, indices] = mean_over_words(hidden, encodings, indices)
    return vectors


def sentence_vectors(
    specimen: Specimen, sentences: Sequence[Words], pool: str = "mean", pairs: Sequence[Words] | None = None
) -> torch.Tensor:
    """One vector a sentence and layer: `(layers + 1, sentences, width)`; the mean over words, or [CLS]."""
    return pooled_vectors(specimen, sentences, pairs)[pool]


def mean_over_words(hidden: torch.Tensor, encodings: Sequence[Encoding], indices: Sequence[int]) -> torch.Tensor:
    """One vector for each input of a batch, (layers, batch, pieces, width) to (layers, batch, width)."""
    chosen = [encodings[i] for i in indices]
    weights = word_matrix(chosen, hidden.shape[2])
    counts = (weights.sum(-1) > 0).sum(-1, keepdim=True)
    return torch.einsum("lbpd,bp->lbd", hidden, weights.sum(1) / counts)
