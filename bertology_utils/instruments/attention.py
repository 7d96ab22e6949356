"""Attention maps and per-head statistics, streamed: no map outlives its batch.

Depends on `text` for pieces and batches. Needs a specimen loaded with `attention="eager"`: the other kernels return
no maps, and this module says so instead of returning nothing. `relations` builds on the word-level maps made here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from string import punctuation as ascii_punctuation

import numpy as np
import torch

from bertology_utils.anatomy import are_maps
from bertology_utils.errors import BertologyError, NotAskable, unknown
from bertology_utils.instruments.blocks import attention_projections, watched
from bertology_utils.models import Specimen
from bertology_utils.text import Encoding, batches, encode_words, model_inputs

STATISTICS = (
    "cls",
    "sep",
    "punctuation",
    "end",
    "previous",
    "next",
    "self",
    "own_segment",
    "other_segment",
    "entropy",
)
SMOOTHING = 0.001
PUNCTUATION = frozenset(ascii_punctuation) | frozenset("…“”‘’–—«»¿¡。、，")

NUMBERS = 2**26  # of the maps of a batch, where there is more than one input: a quarter of a GiB


@dataclass(frozen=True)
class HeadStatistics:
    """Per sentence and head: `values[name]` has shape (sentences, layers, heads); masses are shares, entropy nats."""

    values: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[name]

    def mean(self, name: str) -> np.ndarray:
        """Mean over sentences, (layers, heads); a sentence where the statistic does not exist is left out."""
        return np.nanmean(self.values[name], axis=0)


# --- maps -----------------------------------------------------------------------------------------------------------


@torch.no_grad()
def attention_maps(
    specimen: Specimen,
    sentences: Sequence[Sequence[str]],
    pairs: Sequence[Sequence[str]] | None = None,
    weighting: str = "attention",
    budget: int = 2048,
) -> Iterator[tuple[int, Encoding, torch.Tensor]]:
    """Yield (sentence index, encoding, map), the map (layers, heads, pieces, pieces) from source row to target column.

    Sentences come without padding, the longest first: the first batch needs the most memory, the others fit into it.
    `weighting="norm"` gives alpha_ij * ||f(x_j)||, the length of what each head really moves
    (kobayashi2020attention), not normalised to rows of one.
    """
    if weighting not in ("attention", "norm"):
        raise unknown("weighting", weighting, ("attention", "norm"))
    encodings = encode_words(specimen, sentences, pairs)
    lengths = [len(encoding) for encoding in encodings]
    each = specimen.layers * max(1, specimen.heads) * max(lengths, default=1) ** 2
    for batch in reversed(batches(specimen, lengths, budget, max(1, NUMBERS // each))):
        inputs = model_inputs(specimen, [encodings[i] for i in batch])
        inputs = {name: tensor.to(specimen.model.device) for name, tensor in inputs.items()}
        maps = _norm_weighted(specimen, inputs) if weighting == "norm" else _run(specimen, inputs)
        for row, index in enumerate(batch):
            size = len(encodings[index].input_ids)
            own = maps[:, row, :, :size, :size]
            if weighting == "attention" and not are_maps(tuple(own[:, None]), size):
                raise BertologyError(
                    f"The rows of {specimen.name}'s attention maps do not sum to one at {size} pieces."
                )
            yield index, encodings[index], own
        del maps  # before the next batch's are made


def _run(specimen: Specimen, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Maps (layers, batch, heads, pieces, pieces) on the CPU; fails loudly where the kernel returns none."""
    if not specimen.has_attention_maps:
        kind = specimen.model.config.model_type
        raise NotAskable(f"{specimen.name} ({kind}) has no attention maps of pieces by pieces.")
    maps = specimen.encoder(**inputs, output_attentions=True, return_dict=True).attentions
    if not maps or any(layer is None for layer in maps):
        raise BertologyError(
            f"{specimen.name} returned no attention maps.\nLoad it with attention='eager': other kernels keep none."
        )
    return torch.stack([layer.float().cpu() for layer in maps])


def _norm_weighted(specimen: Specimen, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """alpha_ij * ||v_j W_O|| per head: alpha is not negative, so a norm per target piece is enough."""
    weights = {value: output.weight for value, output in projections(specimen.encoder)}

    def norms(value: torch.nn.Module, _: tuple, vectors: torch.Tensor) -> torch.Tensor:  # (batch, heads, pieces)
        split = vectors.unflatten(-1, (specimen.heads, -1))  # (batch, pieces, heads, size)
        per_head = weights[value].unflatten(1, (specimen.heads, -1))  # (width, heads, size)
        return torch.einsum("bnhs,whs->bhnw", split, per_head).norm(dim=-1).float().cpu()

    with watched(weights, norms) as lengths:
        maps = _run(specimen, inputs)  # (layers, batch, heads, pieces, pieces)
    return maps * torch.stack(lengths).unsqueeze(3)


def projections(encoder: torch.nn.Module) -> list[tuple[torch.nn.Module, torch.nn.Module]]:
    """Pairs (value projection, output projection) of each block; a shared block appears once and runs often."""
    values, outputs = (attention_projections(encoder, kind) for kind in ("value", "output"))
    pairs = list(zip(values, outputs, strict=False))
    fit = len(values) == len(outputs) and all(out.weight.shape[1] == value.weight.shape[0] for value, out in pairs)
    if not pairs or not fit:  # ConvBERT's output projection reads convolutions beside the heads
        raise NotAskable("Norm-weighted attention does not know where this architecture projects the heads' values.")
    return pairs


@contextmanager
def silenced_values(
    specimen: Specimen, silent: torch.Tensor, layers: Sequence[int], constant: torch.Tensor | None = None
) -> Iterator[None]:
    """Inside, pieces where `silent` (batch, pieces) holds have value vectors of zero in these layers (1..L), or the
    layer's row of `constant` (layers, width)."""
    values = [value for value, _ in projections(specimen.encoder)]
    with ExitStack() as stack:
        for layer in layers:
            put = torch.zeros(()) if constant is None else constant[layer - 1]
            hook = partial(_replace, silent[..., None], put)
            stack.enter_context(values[layer - 1].register_forward_hook(hook))
        yield


@torch.no_grad()
def mean_values(
    specimen: Specimen, batches: Iterable[Mapping[str, torch.Tensor]], pieces: Iterable[torch.Tensor]
) -> torch.Tensor:
    """Mean value vector in each layer over the pieces that these masks, (batch, pieces) each, name: (layers, width).

    For `silenced_values`: it takes away what a piece says of its own sentence and leaves what all sentences share.
    """
    modules, sums, count = [value for value, _ in projections(specimen.encoder)], [], 0
    for batch, mine in zip(batches, pieces, strict=True):
        with watched(modules, lambda module, given, output, mine=mine: output[mine].sum(0)) as found:
            specimen.encoder(**{name: tensor for name, tensor in batch.items() if name != "labels"})
        sums.append(torch.stack(found))
        count += int(mine.sum())
    return torch.stack(sums).sum(0) / count


def _replace(places: torch.Tensor, put: torch.Tensor, module: torch.nn.Module, _: tuple, output: torch.Tensor):
    return torch.where(places, put.to(output.dtype), output)


# --- statistics -----------------------------------------------------------------------------------------------------


def head_statistics(
    specimen: Specimen,
    sentences: Sequence[Sequence[str]],
    pairs: Sequence[Sequence[str]] | None = None,
    weighting: str = "attention",
    sources: str = "all",
    budget: int = 2048,
) -> HeadStatistics:
    """Surface patterns of every head after clark2019what: mean mass on a kind of target, and entropy.

    `sources` says from where: "all" pieces, "words", "cls" or "sep". Previous, next and self count only sources that
    have such a neighbour (no division by pieces that could not contribute). The end is [SEP] and the full stop before
    it. Own and other segment count non-special targets. Norm weighting is normalised to rows of one first, so that
    both weightings read as shares.
    """
    kept = {name: np.full((len(sentences), specimen.layers, specimen.heads), np.nan) for name in STATISTICS}
    for index, encoding, maps in attention_maps(specimen, sentences, pairs, weighting, budget):
        rows = torch.from_numpy(_source_rows(specimen, encoding, sources))
        shares = maps / maps.sum(-1, keepdim=True) if weighting == "norm" else maps
        for name, mask in target_masks(specimen, encoding).items():
            kept[name][index] = _mean_mass(shares, mask, rows)
        kept["entropy"][index] = _entropy(shares[..., rows, :]).mean(-1).numpy()
    return HeadStatistics(kept)


def target_masks(specimen: Specimen, encoding: Encoding) -> dict[str, np.ndarray]:
    """Boolean masks (pieces, pieces) that say, for each source row, which target columns belong to a statistic."""
    ids = np.array(encoding.input_ids)
    tokenizer, size = specimen.tokenizer, len(ids)
    # Segments are told by the first separator: RoBERTa and DistilBERT have no segment ids to go by.
    separators = ids == tokenizer.sep_token_id
    segments = np.cumsum(separators) - separators > 0
    words = word_pieces(encoding)
    pieces = tokenizer.convert_ids_to_tokens(ids.tolist())
    punctuation = np.array([piece.lstrip("Ġ▁") in PUNCTUATION for piece in pieces])
    same = segments[:, None] == segments[None, :]
    last = punctuation & words & np.append(separators[1:], False)  # the full stop that a separator follows
    everywhere = np.ones((size, size), dtype=bool)
    return {
        "cls": everywhere & (ids == tokenizer.cls_token_id),
        "sep": everywhere & separators,
        "punctuation": everywhere & (punctuation & words),
        "end": everywhere & (separators | last),
        "previous": np.eye(size, k=-1, dtype=bool),
        "next": np.eye(size, k=1, dtype=bool),
        "self": np.eye(size, dtype=bool),
        "own_segment": same & words,
        "other_segment": ~same & words,
    }


def word_pieces(encoding: Encoding) -> np.ndarray:
    """Booleans (pieces,), true where a piece belongs to a word and false for special pieces."""
    return np.array([word is not None for word in encoding.word_ids])


def _source_rows(specimen: Specimen, encoding: Encoding, sources: str) -> np.ndarray:
    ids = np.array(encoding.input_ids)
    choices = {
        "all": np.ones(len(ids), dtype=bool),
        "words": word_pieces(encoding),
        "cls": ids == specimen.tokenizer.cls_token_id,
        "sep": ids == specimen.tokenizer.sep_token_id,
    }
    if sources not in choices:
        raise unknown("kind of source", sources, choices)
    return choices[sources]


def _mean_mass(maps: torch.Tensor, mask: np.ndarray, rows: torch.Tensor) -> np.ndarray:
    """Mean over the source rows that have a target in the mask of the mass on it, (layers, heads); NaN if none has."""
    mask = torch.from_numpy(mask)
    possible = rows & mask.any(-1)
    return (maps * mask).sum(-1)[..., possible].mean(-1).numpy()


def _entropy(distributions: torch.Tensor) -> torch.Tensor:
    """Entropy over the last axis in nats; 0 log 0 is 0."""
    return torch.special.entr(distributions).sum(-1)


# --- words ----------------------------------------------------------------------------------------------------------


def word_level_map(maps: torch.Tensor, encoding: Encoding, keep_special: bool = False) -> torch.Tensor:
    """(..., pieces, pieces) -> (..., words, words): sum over target pieces, mean over source pieces.

    The rule of clark2019what. Special pieces are left out, so rows sum to at most one; with `keep_special` each
    special piece stays as a unit of its own, in place, and rows keep their sum.
    """
    units = _pieces_of_units(encoding.word_ids)
    kept = [pieces for word, pieces in units if word >= 0 or keep_special]
    members = torch.zeros(len(kept), len(encoding.input_ids), dtype=maps.dtype)
    for unit, pieces in enumerate(kept):
        members[unit, pieces] = 1.0
    averages = members / members.sum(-1, keepdim=True)
    return averages @ maps @ members.T


def map_units(word_ids: Sequence[int | None]) -> list[int]:
    """The units of a `word_level_map` that keeps special pieces: a word's index, -1 for a special piece."""
    return [word for word, _ in _pieces_of_units(word_ids)]


def _pieces_of_units(word_ids: Sequence[int | None]) -> list[tuple[int, list[int]]]:
    """Each unit as in `map_units`, with its pieces; a special piece is a unit of its own, in place."""
    found: dict[int, list[int]] = {}
    for piece, word in enumerate(word_ids):
        found.setdefault(-1 - piece if word is None else word, []).append(piece)
    return [(max(word, -1), pieces) for word, pieces in found.items()]


def sentence_map(
    specimen: Specimen, sentence: Sequence[str], among_words: bool = False
) -> tuple[list[str], np.ndarray]:
    """One sentence's units (words, and special pieces in place) and its maps (layers, heads, units, units).

    `among_words` takes special pieces and punctuation out as targets and rescales what is left of each row to one.
    """
    [(_, encoding, maps)] = attention_maps(specimen, [sentence])
    pieces = specimen.tokenizer.convert_ids_to_tokens(encoding.input_ids)
    units = _pieces_of_units(encoding.word_ids)
    forms = [sentence[word] if word >= 0 else pieces[own[0]] for word, own in units]
    whole = word_level_map(maps, encoding, keep_special=True)
    if among_words:
        kept = [word >= 0 and form not in PUNCTUATION for (word, _), form in zip(units, forms, strict=True)]
        whole = torch.nn.functional.normalize(whole * torch.tensor(kept), p=1, dim=-1)
    return forms, whole.numpy()


# --- distances between heads ----------------------------------------------------------------------------------------


def head_distances(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Mean Jensen-Shannon divergence between the rows of every two heads, (layers * heads, layers * heads), in nats.

    After clark2019what, with its additive smoothing (renormalised here) and averaged, not summed, over source pieces.
    Uses JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2, so the entropy of each head is computed once.
    """
    count = specimen.layers * specimen.heads
    total, rows = torch.zeros(count, count, dtype=torch.float64), 0
    for _, _, maps in attention_maps(specimen, sentences):
        smooth = maps.flatten(0, 1).double() + SMOOTHING
        total += summed_divergence(smooth / smooth.sum(-1, keepdim=True))
        rows += maps.shape[-1]
    return (total / max(rows, 1)).numpy()


def summed_divergence(heads: torch.Tensor) -> torch.Tensor:
    """Jensen-Shannon divergence summed over rows of every two heads: (heads, rows, columns) -> (heads, heads)."""
    entropies = _entropy(heads).sum(-1)  # (heads,)
    middles = torch.zeros(len(heads), len(heads), dtype=heads.dtype)
    for i in range(len(heads)):  # half of the matrix; one head against all later ones bounds the memory
        middles[i, i:] = _entropy((heads[i] + heads[i:]) / 2).sum(-1)
    middles = middles.triu() + middles.triu(1).T
    return (middles - (entropies[:, None] + entropies[None, :]) / 2).clamp(min=0)
