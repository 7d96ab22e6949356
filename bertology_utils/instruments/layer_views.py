"""What one sentence's words are at every layer: what the masked-word head reads, and which vectors are near.

Depends on `activations`, `cloze` and `geometry`; `figures.layer_explorer` shows the result.
"""

from collections.abc import Sequence

import numpy as np
import torch

from bertology_utils.activations import word_vectors
from bertology_utils.errors import BertologyError
from bertology_utils.figures.explorers import LayerView, Ranked
from bertology_utils.instruments.cloze import mask_queries, mask_word
from bertology_utils.instruments.geometry import unit
from bertology_utils.models import Specimen
from bertology_utils.text import Encoding, Words, model_inputs


def layer_view(specimen: Specimen, sentence: Words, others: Sequence[Words], k: int = 4) -> LayerView:
    """The sentence's words at every layer, beside the words of other sentences; k guesses and neighbours each.

    Raises BertologyError where the other sentences have fewer than k words.
    """
    forms = np.array([word for other in others for word in other])
    if len(forms) < k:
        raise BertologyError(f"layer_view needs {k} words in other sentences, got {len(forms)}.")
    vectors = unit(word_vectors(specimen, [sentence])[0].numpy())  # (layers + 1, words, width)
    pool = unit(np.concatenate([v.numpy() for v in word_vectors(specimen, others)], axis=1))
    cosines = vectors @ pool.transpose(0, 2, 1)  # (layers + 1, words, pool)
    alike = np.array(list(sentence))[:, None] == forms
    below = np.full(vectors.shape[:2], np.nan)
    below[1:] = (vectors[1:] * vectors[:-1]).sum(-1)
    guesses = masked_guesses(specimen, sentence, k) if specimen.has_mlm_head else None
    contexts = [_context(other, place) for other in others for place in range(len(other))]
    return LayerView(
        list(sentence), contexts, guesses, _best(cosines, k), below, _mean(cosines, alike), _mean(cosines, ~alike)
    )


@torch.inference_mode()
def masked_guesses(specimen: Specimen, sentence: Words, k: int = 5) -> Ranked:
    """The k pieces that the model's own head reads from every layer at each word's place, the word being masked.

    The head was trained on the last layer alone: what it reads further down is a lower bound of what is there.
    """
    queries = mask_queries(specimen, [mask_word(sentence, place) for place in range(len(sentence))])
    encodings = [Encoding(list(q.input_ids), [None] * len(q.input_ids), list(q.segment_ids)) for q in queries]
    inputs = model_inputs(specimen, encodings)
    masked = inputs["input_ids"] == specimen.tokenizer.mask_token_id
    best = logits_of_layers(specimen, inputs, masked).float().softmax(-1).topk(k, dim=-1)
    return [
        [list(zip(_pieces(specimen, ids), shares, strict=True)) for ids, shares in zip(*layer, strict=True)]
        for layer in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def _pieces(specimen: Specimen, ids: list[int]) -> list[str]:
    return [piece.lstrip("Ġ▁") for piece in specimen.tokenizer.convert_ids_to_tokens(ids)]


def _context(sentence: Words, place: int, reach: int = 2) -> tuple[str, str, str]:
    """A word with up to `reach` words on either side."""
    before, after = sentence[max(place - reach, 0) : place], sentence[place + 1 : place + 1 + reach]
    return " ".join(before), sentence[place], " ".join(after)


def _best(cosines: np.ndarray, k: int) -> Ranked:
    order = np.argsort(-cosines, axis=-1, kind="stable")[..., :k]
    values = np.take_along_axis(cosines, order, axis=-1)
    return [
        [list(zip(indices, shares, strict=True)) for indices, shares in zip(*layer, strict=True)]
        for layer in zip(order.tolist(), values.tolist(), strict=True)
    ]


def _mean(cosines: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Mean over the chosen pool words (words, pool), NaN for a word without any: (layers + 1, words)."""
    counts = chosen.sum(-1)
    return np.where(counts > 0, (cosines * chosen).sum(-1) / np.maximum(counts, 1), np.nan)


def logits_of_layers(specimen: Specimen, inputs: dict, chosen: torch.Tensor) -> torch.Tensor:
    """(layers + 1, chosen, vocabulary): the head sees every layer's vectors in the place of the last one's."""

    def every_layer(module, arguments, output):
        output.last_hidden_state = torch.stack([hidden[chosen] for hidden in output.hidden_states])
        return output

    with specimen.encoder.register_forward_hook(every_layer):
        output = specimen.model(**inputs, output_hidden_states=True, return_dict=True)
    return output.logits if "logits" in output else output.prediction_logits
