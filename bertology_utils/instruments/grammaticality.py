"""Grammatical knowledge of a model, paradigm by paradigm: minimal pairs judged by pseudo-log-likelihood.

Depends on `cloze` (scores), `data` (the set Zorro: 23 paradigms of 2,000 pairs in a child's vocabulary), `statistics`
and `provenance`. The untrained twin is scored on the same pairs; scores are recorded as one row a model and paradigm.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track

from bertology_utils.data import registry as data
from bertology_utils.files import read_csv, write_csv
from bertology_utils.instruments.cloze import pseudo_log_likelihood, require_mlm_head
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.models import Specimen, load, twin
from bertology_utils.statistics import Measurement, mean_interval, stratified_mean

AVERAGE = "average"
SCORED = "original"
"""The variant of the pseudo-log-likelihood: one mask at a time, summed over pieces, as Zorro's authors score it."""

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
        yield records(specimen, scores, controls[identity], suite, origin)


def _score_aloud(specimen: Specimen, suite: Suite) -> Scores:
    """`score` with a progress bar on stderr."""
    paradigms = suite.paradigms.items()
    return score(specimen, track(paradigms, specimen.name, console=Console(stderr=True), transient=True))


def records(specimen: Specimen, scores: Scores, control: Scores, suite: Suite, origin: Mapping[str, str]) -> list[dict]:
    """Rows for `record`: accuracies of the model and of its untrained twin, in per cent, with their provenance."""
    return [
        {
            "model": specimen.name,
            "paradigm": paradigm,
            "pairs": found.n,
            **found.in_per_cent("accuracy"),
            **control[paradigm].in_per_cent("twin"),
            "scored": f"pseudo-log-likelihood, {SCORED}",
            "data": suite.data,
            "data_sha256": suite.sha256,
            "seed": "" if suite.seed is None else suite.seed,
            "model_sha256": specimen.sha256,
            **origin,
        }
        for paradigm, found in scores.items()
    ]


def record(path: Path, rows: Iterable[dict]) -> None:
    """Writes rows into a csv file, in place of earlier ones of the same models, which it keeps in order."""
    new = list(rows)
    replaced = {row["model"] for row in new}
    kept = [row for row in read_csv(path, ["model"]) if row["model"] not in replaced]
    write_csv(path, kept + new, new[0])
