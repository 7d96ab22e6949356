"""What a model's numbers may be trusted for: each part with what was found and how much it may be off.

`bertology check` prints it. What a model lacks (a head, maps) is no fault; a claim that requires it is left out.
Depends on `activations`, `attention` and `cloze`, and compares them with plain transformers on running text.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from bertology_utils.activations import word_vectors
from bertology_utils.anatomy import UNEVEN, logits_of
from bertology_utils.errors import BertologyError, first_line
from bertology_utils.instruments.attention import attention_maps
from bertology_utils.instruments.cloze import memory_of_scoring, pseudo_log_likelihood
from bertology_utils.models import Specimen, load, plain_model, plain_tokenizer, with_attention
from bertology_utils.text import encode_words
from bertology_utils.tokenizing import TEXTS, pieces_of, pieces_of_text

LONG = "When the old man who lived near the river had told us all of it , nobody knew what to say or do ."
SENTENCES = [text.split() for text in (*TEXTS, LONG)]
SCORES_OFF = 1e-3  # nats a sentence
VECTORS_OFF = 1e-4  # of the largest number in a vector
LONGEST_RUN = 1024  # pieces; what has no table of positions has no end that a longer input would find
MEBIBYTE = 2**20


@dataclass(frozen=True)
class Part:
    """One line of the table.

    Attributes:
        bar: what `found` may be at most, or must be.
        lacking: what of a claim's `requires` the model lacks where this does not hold; empty where it is a fault.
    """

    part: str
    found: str
    bar: str
    holds: bool
    lacking: str = ""


@torch.no_grad()
def error_budget(name: str) -> list[Part]:
    """Checks a model in seconds. Raises `BertologyError` where it cannot be loaded at all."""
    specimen = load(name)
    return [part for check in CHECKS for part in _told(check, specimen)]


def _fitting(specimen: Specimen) -> list[list[str]]:
    """The sentences that a model of short inputs takes."""
    special = len(encode_words(specimen, [["the"]])[0])
    return [w for w in SENTENCES if special + len(pieces_of(specimen.tokenizer, w)) <= specimen.max_pieces]


def _told(check: Callable[[Specimen], Iterator[Part]], specimen: Specimen) -> list[Part]:
    try:
        return list(check(specimen))
    except (BertologyError, RuntimeError, IndexError, ValueError) as error:
        return [Part((check.__doc__ or check.__name__).rstrip("."), first_line(error), "runs", False)]


def _head(specimen: Specimen) -> Iterator[Part]:
    """Head that fills in masked words."""
    promised = any("MaskedLM" in name or "LMHead" in name for name in specimen.model.config.architectures or [])
    without = "promised by the configuration, not in the weights" if promised else "none"
    if specimen.tokenizer.mask_token_id is None:
        without = "the tokenizer has no piece that masks"
    found = "in the weights" if specimen.has_mlm_head else without
    yield Part("masked-LM head", found, "in the weights", specimen.has_mlm_head, "masked-LM head")


def _code(specimen: Specimen) -> Iterator[Part]:
    """Code that the model brings."""
    if getattr(specimen.model.config, "auto_map", None):
        kind = specimen.model.config.model_type
        yield Part("code that the model brings", f"not run, read as transformers' own {kind}", "", True)


def _tokenizer(specimen: Specimen) -> Iterator[Part]:
    """Tokenizer and table."""
    rows = len(specimen.encoder.get_input_embeddings().weight)
    last = max(specimen.tokenizer.get_vocab().values())
    yield Part("pieces in the model's table", f"{last + 1:,}", f"{rows:,}", last < rows)
    plain = plain_tokenizer(specimen)
    texts = (" ".join(words) for words in SENTENCES)
    differ = sum(pieces_of(specimen.tokenizer, t.split()) not in pieces_of_text(plain, t) for t in texts)
    yield Part("texts cut otherwise than their words", f"{differ} of {len(SENTENCES)}", "0", differ == 0)


def _batches(specimen: Specimen) -> Iterator[Part]:
    """Alone and in a batch."""
    how = "equal lengths only, " if specimen.anatomy.mixes_padding else "padded, "
    sentences = _fitting(specimen)
    together = word_vectors(specimen, sentences)
    alone = [word_vectors(specimen, [words])[0] for words in sentences]
    off = _largest(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(together, alone, strict=True))
    yield Part(f"vectors alone and batched ({how}share)", f"{off:.1e}", f"{VECTORS_OFF:.0e}", off <= VECTORS_OFF)
    if specimen.has_mlm_head:
        scores = pseudo_log_likelihood(specimen, sentences, "original")
        single = [pseudo_log_likelihood(specimen, [words], "original")[0] for words in sentences]
        off = _largest(np.abs(scores - single))
        yield Part(f"scores alone and batched ({how}nats)", f"{off:.1e}", f"{SCORES_OFF:.0e}", off <= SCORES_OFF)


def _largest(values: Iterable[float]) -> float:
    """The largest of some numbers; one that is none passes no bar, where Python's own would skip it."""
    return float(np.max(list(values)))


def _plain(specimen: Specimen) -> Iterator[Part]:
    """Scores of plain transformers."""
    if specimen.has_mlm_head:
        chosen = _fitting(specimen)[:2]
        model, tokenizer = plain_model(specimen), plain_tokenizer(specimen)
        ours = pseudo_log_likelihood(specimen, chosen, "original")
        off = _largest(
            abs(float(o) - _plain_score(specimen, model, tokenizer, w)) for o, w in zip(ours, chosen, strict=True)
        )
        yield Part("scores and plain transformers' (nats)", f"{off:.1e}", f"{SCORES_OFF:.0e}", off <= SCORES_OFF)


def _plain_score(specimen: Specimen, model, tokenizer, words: list[str]) -> float:
    """Running text, one mask and one forward pass at a time, every logit: the plain definition of salazar2020masked."""
    ours = encode_words(specimen, [words])[0].input_ids
    encoded = (
        tokenizer(start + " ".join(words), return_special_tokens_mask=True, verbose=False) for start in ("", " ")
    )
    text = next((one for one in encoded if one["input_ids"] == ours), None)
    if text is None:
        raise BertologyError(f"running text has other pieces: '{' '.join(words)}'")
    ids, total = torch.tensor([ours]), 0.0
    for place, special in enumerate(text["special_tokens_mask"]):
        if not special:
            masked = ids.clone()
            masked[0, place] = specimen.tokenizer.mask_token_id
            total += torch.log_softmax(logits_of(model(input_ids=masked))[0, place], -1)[ids[0, place]].item()
    return total


def _maps(specimen: Specimen) -> Iterator[Part]:
    """Attention maps."""
    if not specimen.has_attention_maps:
        yield Part("attention maps of pieces by pieces", "none", "in every layer", False, "attention maps")
        return
    found = attention_maps(with_attention(specimen, "eager"), [*_fitting(specimen), _filled(specimen, 256)])
    off = _largest((maps.sum(-1) - 1).abs().max().item() for _, _, maps in found)
    what = f"rows of {specimen.layers} x {specimen.heads} attention maps, off one"
    yield Part(what, f"{off:.1e}", f"{UNEVEN:.0e}", off <= UNEVEN)


def _longest(specimen: Specimen) -> Iterator[Part]:
    """Longest input."""
    pieces = min(specimen.max_pieces, LONGEST_RUN)
    (encoding,) = encode_words(specimen, [_filled(specimen, pieces)])
    state = specimen.encoder(input_ids=torch.tensor([encoding.input_ids])).last_hidden_state
    runs = state.shape[1] == len(encoding) and bool(state.isfinite().all())
    yield Part("longest input in pieces, run", f"{len(encoding):,}", f"{specimen.max_pieces:,}", runs)


def _filled(specimen: Specimen, pieces: int) -> list[str]:
    """Words that make an input of at most so many pieces, and of as many as the model takes."""
    most, words = min(pieces, specimen.max_pieces), ["the"]
    special = len(encode_words(specimen, [words])[0]) - len(pieces_of(specimen.tokenizer, words))
    each = len(pieces_of(specimen.tokenizer, words))
    return words * ((most - special) // each)


def _memory(specimen: Specimen) -> Iterator[Part]:
    """Memory."""
    weights = sum(p.numel() * p.element_size() for p in specimen.model.parameters()) / MEBIBYTE
    budget = memory_of_scoring(specimen) / MEBIBYTE
    yield Part("MiB of weights, and of scoring at most", f"{weights:,.0f} + {budget:,.0f}", "", True)


CHECKS = (_head, _code, _tokenizer, _batches, _plain, _maps, _longest, _memory)
