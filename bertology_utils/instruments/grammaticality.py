"""Grammatical knowledge of a model, paradigm by paradigm: minimal pairs judged by pseudo-log-likelihood.

Depends on `cloze` (scores), `data` (the set Zorro: 23 paradigms of 2,000 pairs in a child's vocabulary; `suites` in
files of other formats, whose items compare passages within a context), `statistics` and `provenance`. The untrained
twin is scored on the same items; scores are recorded as one row a model and paradigm.

Beside them stand rules that know no grammar: take the shorter sentence, or the one of more frequent pieces. How
frequent a piece is says the model itself, by what it expects at a mask that stands alone.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track

from bertology_utils.data import registry as data
from bertology_utils.data.suites import Item, Passage, likelier, read_suite
from bertology_utils.errors import BertologyError
from bertology_utils.files import read_csv, updating, write_csv
from bertology_utils.instruments.cloze import (
    MASK,
    Query,
    decode,
    masked_distributions,
    require_mlm_head,
    word_scores,
)
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.models import Specimen, load, twin
from bertology_utils.statistics import Measurement, mean_interval, stratified_mean
from bertology_utils.text import encode_words

AVERAGE = "average"
SCORED = "original"
"""The variant of the pseudo-log-likelihood: one mask at a time, summed over pieces, as Zorro's authors score it."""

MEASURES = ("per_word", "per_piece", "within_word")
"""What judges beside the sum: the sum by the number of words or of pieces, which spares the longer of two sentences,
and the sum with the later pieces of a word masked (kauf2023better)."""

RULES = ("length", "frequency", "unigram", "blind")
"""The baselines of `baselines`."""

COUNTS = ("contrasts", "left_out")
KEYS = ("model", "paradigm", "accuracy")
"""Columns that a table of scores has."""

Scores = dict[str, Measurement]
"""Share of pairs judged rightly: the average over paradigms under `AVERAGE`, then each paradigm."""


@dataclass(frozen=True)
class Suite:
    """Pairs or items by paradigm, and what has to be known to draw them again; seed is None where all were taken."""

    paradigms: dict[str, list[MinimalPair | Item]]
    data: str
    sha256: str
    seed: int | None


def load_suite(name: str | Path = "zorro", pairs: int | None = None, seed: int = 0) -> Suite:
    """The paradigms of a data set of minimal pairs, or of a suite in a file or folder (a path), with at most `pairs` of
    each, drawn without replacement.

    Raises `BertologyError` where no source has the set, or what stands there is no suite.
    """
    grouped: dict[str, list[MinimalPair | Item]] = {}
    if isinstance(name, Path):
        loaded, name = read_suite(name), name.resolve().stem
        sha256 = hashlib.sha256("\n".join(repr((item.paradigm, item.passages)) for item in loaded).encode()).hexdigest()
    else:
        loaded = data.load(name)
        sha256 = loaded.sha256
    for pair in loaded:
        grouped.setdefault(pair.paradigm if isinstance(pair, Item) else pair.phenomenon, []).append(pair)
    if AVERAGE in grouped:
        raise BertologyError(f"A paradigm of '{name}' is called '{AVERAGE}', which is the name of the mean of all.")
    if pairs is None:
        return Suite(grouped, name, sha256, None)
    rng = np.random.default_rng(seed)
    drawn = {
        paradigm: [rows[i] for i in np.sort(rng.permutation(len(rows))[:pairs])] for paradigm, rows in grouped.items()
    }
    return Suite(drawn, name, sha256, seed)


def as_items(pairs: Iterable[MinimalPair | Item]) -> list[Item]:
    """Pairs as items of a suite: the two sentences are scored whole."""
    return [
        pair if isinstance(pair, Item)
        else Item(pair.phenomenon, tuple(Passage(side, 0, len(side)) for side in (pair.good, pair.bad)), likelier)
        for pair in pairs
    ]  # fmt: skip


def judgements(specimen: Specimen, pairs: Sequence[MinimalPair | Item], variant: str = SCORED) -> np.ndarray:
    """1 where the grammatical sentence scores higher, 0 where the other one does, a half for a tie; (pairs,).

    variant: of `cloze.pseudo_log_likelihood`.
    """
    items = as_items(pairs)
    return _judged(items, passage_scores(specimen, passages_of(items), variant))


def judgements_by_measure(specimen: Specimen, pairs: Sequence[MinimalPair | Item]) -> dict[str, np.ndarray]:
    """`judgements` by the sum and by each of `MEASURES`, (pairs,) each."""
    items = as_items(pairs)
    passages = passages_of(items)
    sums, within = passage_scores(specimen, passages), passage_scores(specimen, passages, "within_word_l2r")
    words = np.array([max(passage.end - passage.start, 1) for passage in passages])  # a region may be empty
    pieces = np.array([max(len(ids), 1) for ids in pieces_of(specimen, passages)])
    scores = {"sum": sums, "per_word": sums / words, "per_piece": sums / pieces, "within_word": within}
    return {measure: _judged(items, values) for measure, values in scores.items()}


def passages_of(items: Sequence[Item]) -> list[Passage]:
    return [passage for item in items for passage in item.passages]


def passage_scores(specimen: Specimen, passages: Sequence[Passage], variant: str = SCORED) -> np.ndarray:
    """Pseudo-log-likelihood of each passage within its context, in nats, (passages,)."""
    scores = word_scores(specimen, [passage.words for passage in passages], variant)
    return np.array([words[p.start : p.end].sum() for words, p in zip(scores, passages, strict=True)])


def pieces_of(specimen: Specimen, passages: Sequence[Passage]) -> list[list[int]]:
    """Ids of the pieces of each passage."""
    encoded = encode_words(specimen, [passage.words for passage in passages])
    return [
        [i for i, word in zip(e.input_ids, e.word_ids, strict=True) if word is not None and p.start <= word < p.end]
        for e, p in zip(encoded, passages, strict=True)
    ]


def fitting(specimen: Specimen, pairs: Sequence[MinimalPair | Item]) -> list[Item]:
    """The items none of whose sentences is longer than the model takes: nothing is cut, for a sentence that is cut is
    another one."""
    items = as_items(pairs)
    sentences = [list(passage.words) for passage in passages_of(items)]
    encoded = specimen.tokenizer(sentences, is_split_into_words=True, verbose=False)["input_ids"] if sentences else []
    lengths = iter(map(len, encoded))
    return [item for item in items if max([next(lengths) for _ in item.passages]) <= specimen.max_pieces]


def piece_log_frequencies(specimen: Specimen) -> np.ndarray:
    """log P of every piece at a mask that stands alone, in nats, (vocabulary,): the model's own unigram distribution.

    That of an untrained twin is random, and shows which pieces the twin happens to like in any context.
    """
    return masked_distributions(specimen, [[MASK]])[0].double().numpy()


def baselines(specimen: Specimen, pairs: Sequence[MinimalPair | Item]) -> dict[str, np.ndarray]:
    """What rules without grammar judge, as `judgements` does, (pairs,) each; a tie is a half.

    `length`: the passage of fewer pieces; `frequency`: the one whose pieces are more frequent on average; `unigram`:
    the one with the larger sum of log frequencies, which both of these raise (`piece_log_frequencies`); `blind`: the
    one with the better `blind_scores`, which know how many pieces there are and which pieces suit which place.
    """
    items = as_items(pairs)
    passages = passages_of(items)
    known, pieces = piece_log_frequencies(specimen), pieces_of(specimen, passages)
    lengths = np.array([len(ids) for ids in pieces])
    sums = np.array([known[ids].sum() for ids in pieces])
    scores = {"length": -lengths, "frequency": sums / np.maximum(lengths, 1), "unigram": sums}
    scores["blind"] = blind_scores(specimen, passages)
    return {name: _judged(items, values) for name, values in scores.items()}


def _judged(items: Sequence[Item], scores: np.ndarray) -> np.ndarray:
    """Each item's judgement from the scores of its passages, which stand one after the other."""
    values = iter(scores.tolist())
    return np.array([item.judge([next(values) for _ in item.passages]) for item in items])


def blind_scores(specimen: Specimen, passages: Sequence[Passage]) -> np.ndarray:
    """The pseudo-log-likelihood with all words masked at once, in nats, (passages,): what length and place give away.

    Equal queries run once, so that this costs a pass for each length and place.
    """
    mask, queries, pieces, owners = specimen.tokenizer.mask_token_id, [], [], []
    for index, encoding in enumerate(encode_words(specimen, [passage.words for passage in passages])):
        passage = passages[index]
        masked = [i if word is None else mask for i, word in zip(encoding.input_ids, encoding.word_ids, strict=True)]
        for position, word in enumerate(encoding.word_ids):
            if word is None or not passage.start <= word < passage.end:
                continue
            queries.append(Query(tuple(masked), tuple(encoding.segment_ids), position))
            pieces.append(encoding.input_ids[position])
            owners.append(index)
    scores = np.zeros(len(passages))
    for indices, rows in decode(specimen, queries):
        picked = rows[torch.arange(len(indices)), torch.tensor([pieces[i] for i in indices])]
        np.add.at(scores, [owners[i] for i in indices], picked.double().numpy())
    return scores


def best_rule(judged: Mapping[str, np.ndarray]) -> float:
    """The share of pairs that the best of the rules judges rightly, at least that of a coin."""
    return max(0.5, *(float(np.mean(judged[name])) for name in RULES))


def contrasts(pairs: Sequence[MinimalPair | Item]) -> int:
    """How many ways there are in which the words of an item's first two sentences differ, order aside.

    Whoever likes pieces regardless of context gives one answer to each, so that few of them make all or nothing.
    """
    items = (item for item in as_items(pairs) if len(item.passages) > 1)  # others compare a region with a number
    counts = [[Counter(passage.words) for passage in item.passages[:2]] for item in items]
    return len({(frozenset((good - bad).items()), frozenset((bad - good).items())) for good, bad in counts})


def rule_shares(
    specimen: Specimen, control: Specimen, paradigms: Mapping[str, Sequence[MinimalPair]]
) -> dict[str, dict[str, float]]:
    """Shares of pairs that each rule judges rightly, by paradigm and on average, as columns of `records`.

    `best_rule` is the best of the rules, paradigm by paradigm; `twin_unigram` and `twin_blind` judge by the pieces that
    the untrained network (`control`) likes without words around them, and `contrasts` is a count.
    """
    found = {}
    for name, pairs in paradigms.items():
        judged = baselines(specimen, pairs)
        shares = {rule: float(judged[rule].mean()) for rule in RULES}
        untrained = baselines(control, pairs)
        shares |= {"best_rule": best_rule(judged)}
        shares |= {f"twin_{rule}": float(untrained[rule].mean()) for rule in ("unigram", "blind")}
        found[name] = shares | {"contrasts": contrasts(pairs)}
    columns = next(iter(found.values()))
    return {AVERAGE: {key: float(np.mean([row[key] for row in found.values()])) for key in columns}} | found


def score(specimen: Specimen, paradigms: Iterable[tuple[str, Sequence[MinimalPair | Item]]]) -> Scores:
    """Accuracy of every (paradigm, pairs) and their unweighted average, with 95 % intervals over pairs.

    The average's interval is that of a stratified mean (normal approximation). Raises `BertologyError` for a model
    without a masked-LM head. Runs on the GPU where there is one.
    """
    _ready(specimen)
    return summarise({name: judgements(specimen, pairs) for name, pairs in paradigms})


def _ready(specimen: Specimen) -> None:
    require_mlm_head(specimen)
    if torch.cuda.is_available():
        specimen.model.cuda()


def share_of_folder(folder: Path, suite: Suite) -> dict[str, float]:
    """The average accuracy of the model in `folder` as the column `zorro`; nothing where it fills in no blanks."""
    specimen = load(str(folder))
    return {"zorro": score(specimen, suite.paradigms.items())[AVERAGE].value} if specimen.has_mlm_head else {}


def summarise(judged: Mapping[str, np.ndarray]) -> Scores:
    """Measurements from the judgements (pairs,) of each paradigm; the average first, as a stratified mean.

    With ties, the approximation of an interval would pass the ends at which shares end.
    """
    found = {AVERAGE: stratified_mean(list(judged.values()))}
    found |= {name: mean_interval(values) for name, values in judged.items()}
    return {name: replace(share, low=max(share.low, 0.0), high=min(share.high, 1.0)) for name, share in found.items()}


def compare(names: Iterable[str], suite: Suite, origin: Mapping[str, str]) -> Iterator[list[dict]]:
    """The rows of each model in turn, see `records`; models of one architecture and one tokenizer share a twin."""
    controls: dict[tuple[str, str], Scores] = {}
    for name in names:
        specimen = load(name)
        _ready(specimen)
        control, kept = twin(specimen), fitted(specimen, suite)
        judged = {paradigm: judgements_by_measure(specimen, items) for paradigm, items in _aloud(specimen, kept)}
        identity = control.sha256, control.tokenizer.backend_tokenizer.to_str()
        if identity not in controls:
            controls[identity] = score(control, _aloud(control, kept))
        rules, measures = rule_shares(specimen, control, kept.paradigms), measure_shares(judged, suite, kept)
        columns = {paradigm: rules[paradigm] | measures[paradigm] for paradigm in rules}
        scores = summarise({paradigm: found["sum"] for paradigm, found in judged.items()})
        yield records(specimen, scores, controls[identity], kept, origin, columns)


def fitted(specimen: Specimen, suite: Suite) -> Suite:
    """The suite without the items that are too long for the model, and without paradigms of fewer than two items.

    Raises `BertologyError` where nothing is left.
    """
    kept = {name: fitting(specimen, pairs) for name, pairs in suite.paradigms.items()}
    kept = {name: items for name, items in kept.items() if len(items) > 1}
    if not kept:
        raise BertologyError(f"No paradigm of '{suite.data}' has two items that {specimen.name} can read whole.")
    return replace(suite, paradigms=kept)


def measure_shares(
    judged: Mapping[str, Mapping[str, np.ndarray]], whole: Suite, kept: Suite
) -> dict[str, dict[str, float]]:
    """Columns of `records`: shares judged rightly by each of `MEASURES`, by paradigm and on average, and how many items
    were left out as too long."""
    found = {
        name: {measure: float(values[measure].mean()) for measure in MEASURES}
        | {"left_out": len(whole.paradigms[name]) - len(kept.paradigms[name])}
        for name, values in judged.items()
    }
    averages = {measure: float(np.mean([row[measure] for row in found.values()])) for measure in MEASURES}
    lost = sum(map(len, whole.paradigms.values())) - sum(map(len, kept.paradigms.values()))
    return {AVERAGE: averages | {"left_out": lost}} | found


def _aloud(specimen: Specimen, suite: Suite) -> Iterable[tuple[str, list]]:
    """The paradigms with a progress bar on stderr."""
    return track(suite.paradigms.items(), specimen.name, console=Console(stderr=True), transient=True)


def records(
    specimen: Specimen, scores: Scores, control: Scores, suite: Suite, origin: Mapping[str, str],
    columns: Mapping[str, Mapping[str, float]],
) -> list[dict]:  # fmt: skip
    """Rows for `record`: accuracies of the model and of its untrained twin, in per cent, with their provenance, and
    shares and counts by paradigm (`rule_shares`, `measure_shares`)."""
    return [
        {
            "model": specimen.name,
            "paradigm": paradigm,
            "pairs": found.n,
            **found.in_per_cent("accuracy"),
            **control[paradigm].in_per_cent("twin"),
            **rule_columns(columns[paradigm]),
            "scored": f"pseudo-log-likelihood, {SCORED}",
            "data": suite.data,
            "data_sha256": suite.sha256,
            "seed": "" if suite.seed is None else suite.seed,
            "model_sha256": specimen.sha256,
            **origin,
        }
        for paradigm, found in scores.items()
    ]


def rule_columns(shares: Mapping[str, float]) -> dict[str, float]:
    """One paradigm's columns as a row holds them: shares in per cent, counts as they are."""
    return {name: round(value if name in COUNTS else 100 * value, 2) for name, value in shares.items()}


def record(path: Path, rows: Iterable[dict]) -> None:
    """Writes rows into a csv file, in place of earlier ones of the same models, which it keeps in order, with any
    columns of their own."""
    new = list(rows)
    replaced = {row["model"] for row in new}
    shared = [key for key in KEYS if key in new[0]]
    with updating(path):
        kept = [row for row in read_csv(path, shared) if row["model"] not in replaced]
        write_csv(path, kept + new, dict.fromkeys(column for row in (new[0], *kept) for column in row if column))
