"""What models say to the questions of the page *Ask BERT*, in the shapes in which its panels show it.

The page's scripts, in `book/assets/ask`, compute in the browser what `instruments` computes here. Depends on models and
instruments.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from bertology_utils.instruments import cloze, relations
from bertology_utils.instruments.layer_views import logits_of_layers
from bertology_utils.models import Specimen, load
from bertology_utils.pages.ask_neighbours import Neighbours, neighbours, references
from bertology_utils.text import Encoding, model_inputs

SHOWN = 10  # words of an answer


@cache
def specimen_of(name: str, attention: str = "sdpa") -> Specimen:
    """A model with the weights that its file holds: a twin's are rounded, all others are stored so."""
    specimen = load(name, attention=attention)
    specimen.model.half().float()
    return specimen


def words_of(specimen: Specimen, text: str) -> list[str]:
    """The words of running text as the tokenizer sees them, before it cuts them into pieces."""
    backend = specimen.tokenizer.backend_tokenizer
    parts = [backend.normalizer.normalize_str(part) for part in text.split(cloze.MASK)]
    cut = [[word for word, _ in backend.pre_tokenizer.pre_tokenize_str(part)] for part in parts]
    return [*cut[0], *(word for words in cut[1:] for word in (cloze.MASK, *words))]


def filled(name: str, text: str, own: Sequence[str] = ()) -> dict[str, Any]:
    """A model's likeliest words for the blank, and what it gives to words of the reader's."""
    specimen = specimen_of(name)
    values = cloze.masked_distributions(specimen, [words_of(specimen, text)])[0].exp()
    best = values.topk(SHOWN)
    words = specimen.tokenizer.convert_ids_to_tokens(best.indices.tolist())
    return {
        "best": list(zip(words, best.values.tolist(), strict=True)),
        "own": [_own(specimen, values, word) for word in own],
    }


def _own(specimen: Specimen, values: torch.Tensor, word: str) -> tuple[str, int, float] | tuple[str]:
    """A word or a piece such as `##s`, its rank from 1 and its probability; alone where it is not one piece."""
    exact = specimen.tokenizer.convert_tokens_to_ids(word)
    piece = cloze.single_piece(specimen, word) if exact == specimen.tokenizer.unk_token_id else exact
    return (word,) if piece is None else (word, int((values > values[piece]).sum()) + 1, float(values[piece]))


def scored(name: str, texts: Sequence[str]) -> list[tuple[list[str], list[float]]]:
    """The words of each text, and the pseudo-log-likelihood of each in nats."""
    sentences = [words_of(specimen_of(name), text) for text in texts]
    return [
        (words, scores.tolist())
        for words, scores in zip(sentences, cloze.word_scores(specimen_of(name), sentences), strict=True)
    ]


@torch.inference_mode()
def attended(name: str, text: str) -> tuple[list[str], np.ndarray]:
    """The pieces of a text, and the attention maps (layers, heads, pieces, pieces) over them."""
    specimen = specimen_of(name, "eager")
    inputs = specimen.tokenizer(text, return_tensors="pt")
    maps = torch.cat(specimen.model(**inputs, output_attentions=True).attentions).numpy()
    return specimen.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), maps


def patterns(name: str, text: str) -> list[list[str]]:
    """The pattern of every head's map of a text, [layer][head], by the rule of the chapter on attention."""
    specimen = specimen_of(name, "eager")
    (codes,) = relations.map_patterns(specimen, [words_of(specimen, text)])
    return [[relations.PATTERNS[code] for code in layer] for layer in codes]


@torch.inference_mode()
def by_layer(name: str, text: str) -> dict[str, Any]:
    """The final answer, the layer since which it comes first, and of each layer, 0 being the embeddings: the head's
    first word, and the answer's rank and probability."""
    specimen = specimen_of(name)
    (query,) = cloze.mask_queries(specimen, [words_of(specimen, text)])
    inputs = model_inputs(specimen, [Encoding(list(query.input_ids), [], list(query.segment_ids))])
    masked = inputs["input_ids"] == specimen.tokenizer.mask_token_id
    values = logits_of_layers(specimen, inputs, masked)[:, 0].softmax(-1)
    first = values.argmax(-1)
    answer = values[:, first[-1]]
    ranks = (values > answer[:, None]).sum(-1) + 1
    words = specimen.tokenizer.convert_ids_to_tokens(first.tolist())
    others = [layer + 1 for layer, word in enumerate(words) if word != words[-1]]
    lines = list(zip(words, ranks.tolist(), answer.tolist(), strict=True))
    return {"answer": words[-1], "since": max(others, default=0), "lines": lines}


def near(name: str, text: str) -> tuple[list[str], Neighbours]:
    """The words of a text, and of each by layer the words of other sentences that come nearest."""
    words = words_of(specimen_of(name), text)
    return words, neighbours(specimen_of(name), words, references())
