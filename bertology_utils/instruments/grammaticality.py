"""Grammatical knowledge of a model, paradigm by paradigm: minimal pairs judged by pseudo-log-likelihood.

Depends on `cloze` (scores), `data` (the set Zorro: 23 paradigms of 2,000 pairs in a child's vocabulary), `statistics`
and `provenance`. The untrained twin is scored on the same pairs; scores are recorded as one row a model and paradigm.

Beside them stand rules that know no grammar: take the shorter sentence, or the one of more frequent pieces. How
frequent a piece is says the model itself, by what it expects at a mask that stands alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track

from bertology_utils.data import registry as data
from bertology_utils.files import read_csv, write_csv
from bertology_utils.instruments.cloze import (
    MASK,
    Query,
    decode,
    masked_distributions,
    pseudo_log_likelihood,
    require_mlm_head,
)
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.models import Specimen, load, twin
from bertology_utils.statistics import Measurement, mean_interval, stratified_mean
from bertology_utils.text import encode_words

AVERAGE = "average"
SCORED = "original"
"""The variant of the pseudo-log-likelihood: one mask at a time, summed over pieces, as Zorro's authors score it."""

RULES = ("length", "frequency", "unigram", "blind")
"""The baselines of `baselines`."""

Scores = dict[str, Measurement]
"""Share of pairs judged rightly: the average over paradigms under `AVERAGE`, then each paradigm."""


@dataclass(frozen=True)
class Suite:
    """Minimal pairs by paradigm, and what has to be known to draw them again; seed is None where all were taken."""

    paradigms: dict[str, list[MinimalPair]]
    data: str
    sha256: str
    seed: int | None


def load_suite(name: str = "zorro", pairs: int | None = None, seed: int = 0) -> Suite:
    """The paradigms of a set of minimal pairs, with at most `pairs` of each, drawn without replacement.

    Raises `BertologyError` where no source has the set.
    """
    loaded = data.load(name)
    grouped: dict[str, list[MinimalPair]] = {}
    for pair in loaded:
        grouped.setdefault(pair.phenomenon, []).append(pair)
    if pairs is None:
        return Suite(grouped, name, loaded.sha256, None)
    rng = np.random.default_rng(seed)
    drawn = {
        paradigm: [rows[i] for i in np.sort(rng.permutation(len(rows))[:pairs])] for paradigm, rows in grouped.items()
    }
    return Suite(drawn, name, loaded.sha256, seed)


def judgements(specimen: Specimen, pairs: Sequence[MinimalPair], variant: str = SCORED) -> np.ndarray:
    """1 where the grammatical sentence scores higher, 0 where the other one does, a half for a tie; (pairs,).

    variant: of `cloze.pseudo_log_likelihood`.
    """
    sentences = [sentence for pair in pairs for sentence in (pair.good, pair.bad)]
    good, bad = pseudo_log_likelihood(specimen, sentences, variant).reshape(-1, 2).T
    return (1 + np.sign(good - bad)) / 2


def piece_log_frequencies(specimen: Specimen) -> np.ndarray:
    """log P of every piece at a mask that stands alone, in nats, (vocabulary,): the model's own unigram distribution.

    That of an untrained twin is random, and shows which pieces the twin happens to like in any context.
    """
    return masked_distributions(specimen, [[MASK]])[0].double().numpy()


def baselines(specimen: Specimen, pairs: Sequence[MinimalPair]) -> dict[str, np.ndarray]:
    """What rules without grammar judge, as `judgements` does, (pairs,) each; a tie is a half.

    `length`: the sentence of fewer pieces; `frequency`: the one whose pieces are more frequent on average; `unigram`:
    the one with the larger sum of log frequencies, which both of these raise (`piece_log_frequencies`); `blind`: the
    one with the better `blind_scores`, which know how many pieces there are and which pieces suit which place.
    """
    sentences = [words for pair in pairs for words in (pair.good, pair.bad)]
    known = piece_log_frequencies(specimen)
    pieces = [[i for i, word in zip(e.input_ids, e.word_ids, strict=True) if word is not None]
              for e in encode_words(specimen, sentences)]  # fmt: skip
    lengths = np.array([len(ids) for ids in pieces])
    sums = np.array([known[ids].sum() for ids in pieces])
    scores = {"length": -lengths, "frequency": sums / lengths, "unigram": sums}
    scores["blind"] = blind_scores(specimen, sentences)
    return {name: _judged(*values.reshape(-1, 2).T) for name, values in scores.items()}


def _judged(good: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """1 where the first is larger, 0 where it is smaller, and a half for a tie, up to rounding."""
    return (1 + np.sign(np.round(good - bad, 6))) / 2


def blind_scores(specimen: Specimen, sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """The pseudo-log-likelihood with all words masked at once, in nats, (sentences,): what length and place give away.

    Equal queries run once, so that this costs a pass for each length and place.
    """
    mask, queries, pieces, owners = specimen.tokenizer.mask_token_id, [], [], []
    for index, encoding in enumerate(encode_words(specimen, sentences)):
        masked = [i if word is None else mask for i, word in zip(encoding.input_ids, encoding.word_ids, strict=True)]
        for position in (place for place, word in enumerate(encoding.word_ids) if word is not None):
            queries.append(Query(tuple(masked), tuple(encoding.segment_ids), position))
            pieces.append(encoding.input_ids[position])
            owners.append(index)
    scores = np.zeros(len(sentences))
    for indices, rows in decode(specimen, queries):
        picked = rows[torch.arange(len(indices)), torch.tensor([pieces[i] for i in indices])]
        np.add.at(scores, [owners[i] for i in indices], picked.double().numpy())
    return scores


def best_rule(judged: Mapping[str, np.ndarray]) -> float:
    """The share of pairs that the best of the rules judges rightly, at least that of a coin."""
    return max(0.5, *(float(np.mean(judged[name])) for name in RULES))


def contrasts(pairs: Sequence[MinimalPair]) -> int:
    """How many ways there are in which the words of a good and a bad sentence differ, order aside.

    Whoever likes pieces regardless of context gives one answer to each, so that few of them make all or nothing.
    """
    counts = [(Counter(pair.good), Counter(pair.bad)) for pair in pairs]
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


def score(specimen: Specimen, paradigms: Iterable[tuple[str, Sequence[MinimalPair]]]) -> Scores:
    """Accuracy of every (paradigm, pairs) and their unweighted average, with 95 % intervals over pairs.

    The average's interval is that of a stratified mean (normal approximation). Raises `BertologyError` for a model
    without a masked-LM head. Runs on the GPU where there is one.
    """
    require_mlm_head(specimen)
    if torch.cuda.is_available():
        specimen.model.cuda()
    return summarise({name: judgements(specimen, pairs) for name, pairs in paradigms})


def share_of_folder(folder: Path, suite: Suite) -> dict[str, float]:
    """The average accuracy of the model in `folder` as the column `zorro`; nothing where it fills in no blanks."""
    specimen = load(str(folder))
    return {"zorro": score(specimen, suite.paradigms.items())[AVERAGE].value} if specimen.has_mlm_head else {}


def summarise(judged: Mapping[str, np.ndarray]) -> Scores:
    """Measurements from the judgements (pairs,) of each paradigm; the average first, as a stratified mean."""
    average = stratified_mean(list(judged.values()))
    return {AVERAGE: average} | {name: mean_interval(values) for name, values in judged.items()}


def compare(names: Iterable[str], suite: Suite, origin: Mapping[str, str]) -> Iterator[list[dict]]:
    """The rows of each model in turn, see `records`; models of one architecture and one tokenizer share a twin."""
    controls: dict[tuple[str, str], Scores] = {}
    for name in names:
        specimen = load(name)
        control = twin(specimen)
        scores = _score_aloud(specimen, suite)
        identity = control.sha256, control.tokenizer.backend_tokenizer.to_str()
        if identity not in controls:
            controls[identity] = _score_aloud(control, suite)
        rules = rule_shares(specimen, control, suite.paradigms)
        yield records(specimen, scores, controls[identity], suite, origin, rules)


def _score_aloud(specimen: Specimen, suite: Suite) -> Scores:
    """`score` with a progress bar on stderr."""
    paradigms = suite.paradigms.items()
    return score(specimen, track(paradigms, specimen.name, console=Console(stderr=True), transient=True))


def records(
    specimen: Specimen, scores: Scores, control: Scores, suite: Suite, origin: Mapping[str, str],
    rules: Mapping[str, Mapping[str, float]],
) -> list[dict]:  # fmt: skip
    """Rows for `record`: accuracies of the model and of its untrained twin, in per cent, with their provenance, and
    those of the rules without grammar (`rule_shares`)."""
    return [
        {
            "model": specimen.name,
            "paradigm": paradigm,
            "pairs": found.n,
            **found.in_per_cent("accuracy"),
            **control[paradigm].in_per_cent("twin"),
            **rule_columns(rules[paradigm]),
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
    """One paradigm's `rule_shares` as a row holds them: in per cent, but for the count of contrasts."""
    return {name: round(value if name == "contrasts" else 100 * value, 2) for name, value in shares.items()}


def record(path: Path, rows: Iterable[dict]) -> None:
    """Writes rows into a csv file, in place of earlier ones of the same models, which it keeps in order."""
    new = list(rows)
    replaced = {row["model"] for row in new}
    kept = [row for row in read_csv(path, ["model"]) if row["model"] not in replaced]
    write_csv(path, kept + new, new[0])
