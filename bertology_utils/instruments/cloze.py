"""What a masked language model expects at a masked position: scores, completions, minimal pairs, distributions.

Depends on `text` for pieces and batches and on nothing that knows a particular architecture: a forward hook hands the
model's own head only the masked rows, where a trial at loading showed that this is the same.

Every function reduces its needs to *queries* (one piece sequence, one position to decode). Queries are deduplicated,
sorted by length and run in batches of a bounded number of pieces; the vocabulary is decoded for masked rows alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from bertology_utils.anatomy import head_sees, logits_of
from bertology_utils.errors import BertologyError, NotAskable, unknown
from bertology_utils.instruments.trees import row_spearman
from bertology_utils.models import Specimen
from bertology_utils.rows import sparing
from bertology_utils.text import BUDGET, Encoding, batches, encode_words, model_inputs, require_place, require_words
from bertology_utils.tokenizing import pieces_of

VARIANTS = ("original", "within_word_l2r", "whole_word")
OVERHEAD = 32 * 2**20  # bytes: libraries' own buffers, and masked copies as numbers
LOGITS = 4_000_000  # of a batch: a large vocabulary takes fewer inputs at a time
MASK = "[MASK]"
COMPARISONS = ("kl", "jensen_shannon", "spearman", "top1_agreement")  # of distributions


class Query(NamedTuple):
    """A masked piece sequence and the position whose distribution is wanted; hashable, so equal ones run once."""

    input_ids: tuple[int, ...]
    segment_ids: tuple[int, ...]
    position: int


@dataclass(frozen=True)
class Completions:
    """Best fillers: `words[item][rank]`, `ids` and `probabilities` of shape (items, k), most probable first."""

    words: list[list[str]]
    ids: np.ndarray
    probabilities: np.ndarray


@dataclass(frozen=True)
class CandidateScores:
    """Log probabilities in nats, (items, candidates), NaN where a candidate is not one known piece.

    `covered` (items,) is true where every candidate could be scored; `coverage` is its share.
    """

    log_probabilities: np.ndarray
    covered: np.ndarray

    @property
    def coverage(self) -> float:
        return float(self.covered.mean()) if self.covered.size else 0.0


# --- decoding masked rows -------------------------------------------------------------------------------------------


def require_mlm_head(specimen: Specimen) -> None:
    """Raise `BertologyError` for a specimen that cannot predict masked words."""
    if not specimen.has_mlm_head:
        raise NotAskable(f"{specimen.name} has no masked-language-model head, so it cannot fill in masks.")


@torch.no_grad()
def decode(
    specimen: Specimen, queries: Sequence[Query], budget: int = BUDGET
) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Yield (query indices, log probabilities (rows, vocabulary) in nats), row r belonging to the r-th index.

    Equal queries are run once and yielded once for each of their indices; batches hold at most `budget` pieces and
    `LOGITS` logits.
    """
    require_mlm_head(specimen)
    owners: dict[Query, list[int]] = {}
    for index, query in enumerate(queries):
        owners.setdefault(query, []).append(index)
    unique = list(owners)
    most = max(1, LOGITS // specimen.vocabulary_size)
    for batch in batches(specimen, [len(query.input_ids) for query in unique], budget, most):
        chosen = [unique[i] for i in batch]
        log_probabilities = torch.log_softmax(_masked_logits(specimen, chosen), dim=-1)
        indices = [index for query in chosen for index in owners[query]]
        rows = [row for row, query in enumerate(chosen) for _ in owners[query]]
        yield indices, log_probabilities if len(rows) == len(chosen) else log_probabilities[rows]


@torch.no_grad()
def head_log_probabilities(specimen: Specimen, vectors: torch.Tensor) -> torch.Tensor:
    """Log probabilities (rows, vocabulary) that the head gives for last hidden states (rows, width), in nats."""
    require_mlm_head(specimen)
    placeholder = encode_words(specimen, [["."]])  # the encoder must run; what it gives is replaced
    if not specimen.anatomy.head_reads_rows:
        raise NotAskable(f"The head of {specimen.name} does not read one vector at a time.")
    logits = _logits(specimen, placeholder, lambda hidden: vectors.to(hidden).unsqueeze(0))
    return torch.log_softmax(logits[0].float().cpu(), dim=-1)


def _masked_logits(specimen: Specimen, queries: Sequence[Query]) -> torch.Tensor:
    """Logits (queries, vocabulary) at the position of each query, in one forward pass."""
    rows, positions = torch.arange(len(queries)), torch.tensor([query.position for query in queries])
    encodings = list(map(_encoding, queries))
    if not specimen.anatomy.head_reads_rows:
        return _logits(specimen, encodings)[rows, positions].float().cpu()
    return _logits(specimen, encodings, lambda hidden: hidden[rows, positions].unsqueeze(0), positions)[0].float().cpu()


def _logits(
    specimen: Specimen,
    encodings: Sequence[Encoding],
    choose: Callable[[torch.Tensor], torch.Tensor] | None = None,
    positions: torch.Tensor | None = None,
) -> torch.Tensor:
    """Logits (inputs, pieces, vocabulary), or of what `choose` makes of the last hidden states, (1, rows, width), of
    which it reads those at `positions` (inputs,) alone if any are given."""
    batch = model_inputs(specimen, encodings)
    inputs = {name: tensor.to(specimen.model.device) for name, tensor in batch.items()}
    with ExitStack() as stack:
        if positions is not None:
            pieces = inputs["input_ids"].shape[1]
            stack.enter_context(sparing(specimen.encoder, specimen.anatomy.read_at, pieces, positions))
        if choose:
            stack.enter_context(head_sees(specimen.encoder, choose))
        return logits_of(specimen.model(**inputs, return_dict=True))


def _encoding(query: Query) -> Encoding:
    return Encoding(list(query.input_ids), [None] * len(query.input_ids), list(query.segment_ids))


def memory_of_scoring(specimen: Specimen) -> int:
    """Bytes that scoring adds to the loaded model at most, whatever the sentence: one batch, never all masked copies.

    A batch holds the states of `BUDGET` pieces (or of one longest input), of the widest of its layers' products twice,
    attention maps of three kinds without a fused kernel, and the logits of its masked rows thrice.
    """
    longest = specimen.max_pieces
    pieces = max(BUDGET, longest)
    weights = specimen.encoder.named_parameters()
    widest = max(weight.shape[0] for name, weight in weights if weight.ndim == 2 and "embedding" not in name)
    fused = specimen.attention == "sdpa"
    maps = 0 if fused else 3 * specimen.heads * pieces * longest
    logits = 3 * max(LOGITS, specimen.vocabulary_size)
    return 4 * (pieces * (10 * specimen.width + 3 * widest) + maps + logits) + OVERHEAD


# --- pseudo-log-likelihood ------------------------------------------------------------------------------------------


def pseudo_log_likelihood(
    specimen: Specimen,
    sentences: Sequence[Sequence[str]],
    variant: str = "within_word_l2r",
    budget: int = BUDGET,
) -> np.ndarray:
    """Sum over pieces of log P(piece | rest of the sentence), in nats, shape (sentences,).

    Definition of salazar2020masked (`original`: one mask at a time); `within_word_l2r` (kauf2023better) also
    masks the later pieces of the same word, which repairs the inflated scores of split words; `whole_word` masks all
    of them. It is a sum, not a mean, and [CLS] and [SEP] are never masked.
    """
    return np.array([scores.sum() for scores in word_scores(specimen, sentences, variant, budget)])


def word_scores(
    specimen: Specimen,
    sentences: Sequence[Sequence[str]],
    variant: str = "within_word_l2r",
    budget: int = BUDGET,
    only: Sequence[int] | None = None,
) -> list[np.ndarray]:
    """The same score word by word: one array (words,) for each sentence, in nats.

    only: the one word of each sentence that is scored; the others are left at 0.
    """
    require_mlm_head(specimen)
    if variant not in VARIANTS:
        raise unknown("variant of the pseudo-log-likelihood", variant, VARIANTS)
    if only is not None:
        _require_places(sentences, only)
    queries, targets, places = [], [], []
    for index, encoding in enumerate(encode_words(specimen, sentences)):
        for position, word in enumerate(encoding.word_ids):
            if word is not None and (only is None or word == only[index]):
                queries.append(_mask_piece(specimen, encoding, position, variant))
                targets.append(encoding.input_ids[position])
                places.append((index, word))
    scores = [np.zeros(len(sentence)) for sentence in sentences]
    for indices, log_probabilities in decode(specimen, queries, budget):
        picked = log_probabilities[torch.arange(len(indices)), torch.tensor([targets[i] for i in indices])]
        for i, value in zip(indices, picked.tolist(), strict=True):
            sentence, word = places[i]
            scores[sentence][word] += value
    return scores


def _require_places(sentences: Sequence[Sequence[str]], places: Sequence[int]) -> None:
    require_words(sentences)
    if len(sentences) != len(places):
        raise BertologyError(f"There are {len(sentences)} sentences and {len(places)} places of words.")
    for sentence, place in zip(sentences, places, strict=True):
        require_place(sentence, place)


def _mask_piece(specimen: Specimen, encoding: Encoding, position: int, variant: str) -> Query:
    """The query for one piece; which pieces of the same word are masked with it depends on the variant."""
    ids = list(encoding.input_ids)
    for other, word in enumerate(encoding.word_ids):
        same_word = word == encoding.word_ids[position]
        later = variant == "within_word_l2r" and other > position
        if other == position or (same_word and (later or variant == "whole_word")):
            ids[other] = specimen.tokenizer.mask_token_id
    return Query(tuple(ids), tuple(encoding.segment_ids), position)


# --- minimal pairs --------------------------------------------------------------------------------------------------


def focus_preference(specimen: Specimen, pairs: Sequence) -> CandidateScores:
    """Score only the focus word of each pair, masked in its own context (pairs need `good`, `bad`, `focus`).

    A pair may have its focus elsewhere in the bad sentence, at `bad_focus`. Returns log probabilities (pairs, 2), good
    first. Where the pair differs in the focus word alone this is the test
    of goldberg2019assessing (one context, two forms); where it differs elsewhere, e.g. in a licensor, the two contexts
    are compared on the same word as in the cloze test of warstadt2019investigating. Use `preferred` for booleans.
    """
    sentences = [words for pair in pairs for words in (pair.good, pair.bad)]
    positions = [place for pair in pairs for place in (pair.focus, getattr(pair, "bad_focus", pair.focus))]
    targets = [[words[position]] for words, position in zip(sentences, positions, strict=True)]
    scores = word_log_probability(specimen, sentences, positions, targets)
    values = scores.log_probabilities.reshape(-1, 2)
    return CandidateScores(values, ~np.isnan(values).any(axis=1))


def preferred(scores: CandidateScores) -> np.ndarray:
    """Booleans over the *covered* items: is the first candidate likelier than every other one? Ties count as wrong.

    Uncovered items are left out, so report `scores.coverage` beside the result.
    """
    values = scores.log_probabilities[scores.covered]
    return values[:, 0] > values[:, 1:].max(axis=1)


# --- filling in -----------------------------------------------------------------------------------------------------


def single_piece(specimen: Specimen, word: str) -> int | None:
    """Vocabulary id of a word that is exactly one known piece, else None."""
    ids = pieces_of(specimen.tokenizer, [word])
    return ids[0] if len(ids) == 1 and ids[0] != specimen.tokenizer.unk_token_id else None


def require_known(specimen: Specimen, items: Sequence, what: str) -> None:
    """Raises `NotAskable` where none of the `items`, such as stories, was left whose words are single pieces."""
    if not len(items):
        raise NotAskable(f"{specimen.name} knows the words of no {what} as single pieces.")


def mask_word(sentence: Sequence[str], position: int) -> list[str]:
    """The sentence with the word at `position` replaced by one mask, however many pieces the word had.

    Raises BertologyError for a text in place of words, and where the sentence has no such word.
    """
    _require_places([sentence], [position])
    return [*sentence[:position], MASK, *sentence[position + 1 :]]


def mask_queries(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> list[Query]:
    """One query for each sentence, at its only "[MASK]"; raises `BertologyError` where there is none or several."""
    require_mlm_head(specimen)
    require_words(sentences)
    mask = specimen.tokenizer.mask_token
    own = [[mask if word == MASK else word for word in sentence] for sentence in sentences]
    queries = []
    for sentence, encoding in zip(sentences, encode_words(specimen, own), strict=True):
        ids = tuple(encoding.input_ids)
        if ids.count(specimen.tokenizer.mask_token_id) != 1:
            raise BertologyError(f"Exactly one {MASK} is needed in: {' '.join(sentence)}")
        position = ids.index(specimen.tokenizer.mask_token_id)
        queries.append(Query(ids, tuple(encoding.segment_ids), position))
    return queries


def fill_in(
    specimen: Specimen,
    sentences: Sequence[Sequence[str]],
    candidates: Sequence[str] | None = None,
    k: int = 5,
) -> Completions:
    """The k most probable fillers of the single "[MASK]" of each sentence.

    With `candidates`, probabilities are renormalised over those of them that are one known piece, as
    petroni2019language does with its common vocabulary; without, they range over the whole vocabulary.

    Raises BertologyError for a `k` below 1.
    """
    if k < 1:
        raise BertologyError(f"At least one filler is wanted, not k={k}.")
    queries = mask_queries(specimen, sentences)
    allowed = _allowed_ids(specimen, candidates)
    k = min(k, len(allowed) if allowed is not None else specimen.vocabulary_size)
    ids, probabilities = np.zeros((len(queries), k), dtype=int), np.zeros((len(queries), k))
    for indices, rows in decode(specimen, queries):
        if allowed is not None:
            rows = torch.log_softmax(rows[:, allowed], dim=-1)
        values, places = rows.topk(k, dim=-1)
        ids[indices] = (places if allowed is None else allowed[places]).numpy()
        probabilities[indices] = values.exp().numpy()
    pieces = [specimen.tokenizer.convert_ids_to_tokens(row.tolist()) for row in ids]
    words = [[piece.removeprefix("Ġ").removeprefix("▁") for piece in row] for row in pieces]
    return Completions(words, ids, probabilities)


def hits_at(specimen: Specimen, completions: Completions, answers: Sequence[Sequence[str]], k: int = 1) -> np.ndarray:
    """Booleans (items,): one of the item's answers is among its first k fillers (P@k of petroni2019language).

    An answer that is not one known piece can never be hit; leave such items out with `answerable` and say how many.
    """
    ids = [_single_pieces(specimen, words) for words in answers]
    return np.array([bool(good & set(row[:k].tolist())) for good, row in zip(ids, completions.ids, strict=True)])


def answerable(specimen: Specimen, answers: Sequence[Sequence[str]]) -> np.ndarray:
    """Booleans (items,): at least one of the item's answers is a single known piece."""
    return np.array([bool(_single_pieces(specimen, words)) for words in answers])


def _single_pieces(specimen: Specimen, words: Iterable[str]) -> set[int]:
    """Ids of those words that are one known piece. Raises `BertologyError` for a text in place of words."""
    if isinstance(words, str):
        raise BertologyError(f"Words are given as a list, not as {words!r:.60}.")
    return {single_piece(specimen, word) for word in words} - {None}


def _allowed_ids(specimen: Specimen, candidates: Sequence[str] | None) -> torch.Tensor | None:
    if candidates is None:
        return None
    ids = _single_pieces(specimen, candidates)
    if not ids:
        raise BertologyError("None of the candidates is a single piece of this model's vocabulary.")
    return torch.tensor(sorted(ids))


def word_log_probability(
    specimen: Specimen,
    sentences: Sequence[Sequence[str]],
    positions: Sequence[int],
    candidates: Sequence[Sequence[str]],
) -> CandidateScores:
    """log P(candidate | the sentence with the word at its position masked), for each sentence's own candidates.

    Candidates that are not one known piece score NaN and count against `coverage`; they are never counted as wrong
    silently (the trap of the stored (0, 1) scores of goldberg2019assessing). Lists may differ in length (NaN padded).
    """
    _require_places(sentences, positions)
    if len(candidates) != len(sentences):
        raise BertologyError(f"There are {len(sentences)} sentences and {len(candidates)} lists of candidates.")
    require_words(candidates)
    masked = [mask_word(sentence, position) for sentence, position in zip(sentences, positions, strict=True)]
    known = {word: single_piece(specimen, word) for word in {word for words in candidates for word in words}}
    lists = set(map(tuple, candidates))
    columns = {words: [i for i, word in enumerate(words) if known[word] is not None] for words in lists}
    ids = {words: [known[words[i]] for i in chosen] for words, chosen in columns.items()}
    values = np.full((len(masked), max(map(len, candidates), default=0)), np.nan)
    for indices, rows in decode(specimen, mask_queries(specimen, masked)):
        for row, index in zip(rows, indices, strict=True):
            words = tuple(candidates[index])
            values[index, columns[words]] = row[ids[words]].cpu().numpy()
    covered = np.array([all(known[word] is not None for word in words) for words in candidates], dtype=bool)
    return CandidateScores(values, covered)


# --- comparing distributions ----------------------------------------------------------------------------------------


def masked_distributions(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> torch.Tensor:
    """Log probabilities (sentences, vocabulary) at the single "[MASK]" of each sentence, float32, in nats."""
    queries = mask_queries(specimen, sentences)
    distributions = torch.empty(len(queries), 0)
    for indices, rows in decode(specimen, queries):
        if not distributions.numel():
            distributions = torch.empty(len(queries), rows.shape[-1])
        distributions[indices] = rows
    return distributions


def compare_distributions(
    first: torch.Tensor, second: torch.Tensor, measures: Sequence[str] = COMPARISONS
) -> dict[str, np.ndarray]:
    """Row by row comparison of two sets of log probabilities (items, vocabulary); every value has shape (items,).

    `kl` is KL(first || second) and `jensen_shannon` their symmetric divergence, both in nats; `spearman` correlates
    the ranks of the whole vocabulary and `top1_agreement` is boolean: the two measures of negated LAMA in
    kassner2020negated (there overlap@1). Only the `measures` asked for are computed: ranks take long.
    """
    ways = {"kl": _kl, "jensen_shannon": _jensen_shannon, "spearman": row_spearman, "top1_agreement": _same_first}
    for name in measures:
        if name not in ways:
            raise unknown("comparison of distributions", name, ways)
    p, q = first.double(), second.double()
    return {name: np.asarray(ways[name](p, q)) for name in measures}


def _kl(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    return (p.exp() * (p - q)).sum(-1)


def _jensen_shannon(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    middle = torch.logaddexp(p, q) - np.log(2)
    return ((_kl(p, middle) + _kl(q, middle)) / 2).clamp(min=0)


def _same_first(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    return p.argmax(-1) == q.argmax(-1)
