"""The slot of a sentence in its input: what segment, position and partner do to its words (mickus2019what).

Depends on `text` for inputs whose ids are exchanged one kind at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertology_utils.models import Specimen
from bertology_utils.text import Encoding, Words, batches, encode_words, model_inputs, pool_pieces


@dataclass(frozen=True)
class SlotCosines:
    """Mean cosine of a sentence's words to themselves in another input, each (layers+1, sentences).

    One factor changed: `segment` (only the segment embedding), `position` (only the position numbers), `context` (only
    the partner sentence). `same_slot` and `other_slot` compare across partners, with and without a change of slot.
    """

    segment: np.ndarray
    position: np.ndarray
    context: np.ndarray
    same_slot: np.ndarray
    other_slot: np.ndarray

    def drift(self) -> dict[str, np.ndarray]:
        """How far words move, 1 - cosine, and their cosines across partners at the last layer.

        `only_...` by layer (layers + 1, sentences) when one factor changes, and `last_...` (sentences,) of these;
        `same_slot` and `other_slot` (sentences,) at the last layer, and what another slot takes, `slot_cost`.
        """
        moved = {"position": 1 - self.position, "segment": 1 - self.segment, "partner": 1 - self.context}
        return {
            **{f"only_{name}": values for name, values in moved.items()},
            **{f"last_{name}": values[-1] for name, values in moved.items()},
            "same_slot": self.same_slot[-1],
            "other_slot": self.other_slot[-1],
            "slot_cost": self.same_slot[-1] - self.other_slot[-1],
        }


def slot_cosines(
    specimen: Specimen, sentences: Sequence[Words], partners: Sequence[Words], others: Sequence[Words]
) -> SlotCosines:
    """A segment x position x context factorial on the drift that mickus2019what observed, by overriding input ids.

    A model without segment embeddings gets `segment` = 1 everywhere: there is nothing to change.
    """

    def cosine(a: list[torch.Tensor], b: list[torch.Tensor]) -> np.ndarray:
        pairs = zip(a, b, strict=True)
        return np.stack([torch.cosine_similarity(x, y, dim=-1).mean(-1).numpy() for x, y in pairs], axis=1)

    first, second = slot_vectors(specimen, sentences, partners), slot_vectors(specimen, sentences, partners, True, True)
    first_other = slot_vectors(specimen, sentences, others)
    second_other = slot_vectors(specimen, sentences, others, True, True)
    return SlotCosines(
        segment=cosine(first, slot_vectors(specimen, sentences, partners, segment=True)),
        position=cosine(first, slot_vectors(specimen, sentences, partners, position=True)),
        context=cosine(first, first_other),
        same_slot=(cosine(first, first_other) + cosine(second, second_other)) / 2,
        other_slot=(cosine(first, second_other) + cosine(second, first_other)) / 2,
    )


@torch.inference_mode()
def slot_vectors(
    specimen: Specimen,
    sentences: Sequence[Words],
    partners: Sequence[Words],
    segment: bool = False,
    position: bool = False,
) -> list[torch.Tensor]:
    """Vectors (layers+1, words, width) of each sentence beside its partner.

    `segment` gives it the segment embedding of a second sentence, `position` the position numbers that it would have
    there. With both it stands in the second slot, up to the order of rows, which attention does not see.
    """
    encodings = encode_words(specimen, sentences, partners)
    encoder, vectors = specimen.encoder, [torch.empty(0)] * len(encodings)
    for rows in batches(specimen, [len(e) for e in encodings]):
        plans = [_slot(encodings[i], len(sentences[i]), segment, position) for i in rows]
        batch = model_inputs(specimen, [encoding for encoding, _ in plans])
        batch["position_ids"] = _padded([places for _, places in plans], specimen)
        hidden = torch.stack(encoder(**batch, output_hidden_states=True).hidden_states)
        for row, i in enumerate(rows):
            vectors[i] = pool_pieces(hidden[:, row], encodings[i].word_ids)[:, : len(sentences[i])].float().clone()
    return vectors


def _slot(encoding: Encoding, words: int, segment: bool, position: bool) -> tuple[Encoding, list[int]]:
    """The encoding of a pair, with its first sentence's segment and positions exchanged as asked, and the positions.

    The pieces are [CLS], the first sentence and its separator (`closed`), further separators up to `start` (RoBERTa has
    one), the second sentence and its separator (`second`).
    """
    start = next(i for i, word in enumerate(encoding.word_ids) if word is not None and word >= words)
    closed = 2 + max(i for i in range(start) if encoding.word_ids[i] is not None)
    size = len(encoding)
    second = size - start
    places = list(range(size))
    if position:
        between = range(1 + second, 1 + size - closed)
        places = [0, *range(1 + size - closed, size), *between, *range(1, 1 + second)]
    types = list(encoding.segment_ids)
    if segment:
        types = [0, *[1] * (start - 1), *[0] * (size - start)]
    return Encoding(encoding.input_ids, encoding.word_ids, types), places


def _padded(places: Sequence[list[int]], specimen: Specimen) -> torch.Tensor:
    shift = specimen.model.config.max_position_embeddings - specimen.max_pieces  # RoBERTa counts from there
    rows = [torch.tensor(row) + shift for row in places]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
