"""Every claim: a test can be passed, is not passed by chance, agrees with its study, and names what would matter."""

import ast
import json
import re
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from bertology_utils import samples
from bertology_utils.estimation import Linear
from bertology_utils.samples import UnitSamples, by_unit, item_count, unpacked
from bertology_utils.verdicts.claims import claim_by_id, load_claims
from bertology_utils.verdicts.formulas import Clause
from bertology_utils.verdicts.predictions import REPLICATES, outcome, parse
from bertology_utils.verdicts.published import published_rows

ROOT = Path(__file__).parents[2]
TESTED = [claim for claim in load_claims() if claim.prediction]
FAILS = re.compile(r"\b(fails?|unable|cannot|can not|struggles?|insensitive|poor(ly)? at)\b", re.I)

# What these rules are not about, with the reason.
KNOWN: dict[str, set[str]] = {
    "perfect": {
        # what these bars hold are spreads, kappas and distances, no shares of right answers
        "pretrained-frozen-near-chance",
        "representations-mix-identifiability",
        "m-pruning-stable",
        "s-pruning-unstable",
    },
    "chance": set(),
    "study": set(),
    "gate": set(),
    "smallest": set(),
}


@cache
def live_samples() -> dict[str, dict[str, np.ndarray]]:
    """The model's samples of each claim: of the last live run here, else of a recorded one of that size."""
    kept = [*ROOT.glob("results/runs/live/*/*.json"), *ROOT.glob("_executed/live/pocket-bert/*.json")]
    found = {}
    for path in kept:
        for result in json.loads(path.read_text(encoding="utf-8"))["results"]:
            if result.get("samples"):
                found[result["id"]] = {name: unpacked(sample) for name, sample in result["samples"].items()}
    return found


def bars(claim) -> list[Clause]:
    """Clauses of a claim and its gate that hold one sample against a number."""
    clauses = [*claim.parsed_prediction.clauses, *(parse(claim.given).clauses if claim.given else ())]
    return [c for c in clauses if isinstance(c.left, ast.Name) and not _names(c.right)]


def _names(node: ast.expr) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def is_share(sample: np.ndarray) -> bool:
    """Whether values are shares of right ones; those of units (Hajek's) may lie a little beyond."""
    return sample.ndim > 0 and (getattr(sample, "binary", False) or (sample.min() >= 0 and sample.max() <= 1))


def like(sample: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Rights and wrongs in place of a sample's values, in its design: (..., items) to its shape."""
    items, units = item_count(sample), sample.shape[-1]
    if units == 1:
        return samples.like(sample, right.mean(-1, keepdims=True))
    if items == units:
        return right.view(UnitSamples)
    return by_unit(right, np.arange(items) * units // items)


def passes(clause: Clause, sample: np.ndarray, right: np.ndarray) -> bool:
    return parse(clause.text).judge({clause.left.id: like(sample, right)})[0].verdict == REPLICATES


def lead_of_number(clause: Clause) -> float:
    """The number that a sample is held against, with what would matter."""
    bar = -clause.effect({clause.left.id: 0.0}).value
    return (-bar if clause.flipped else bar) + (-clause.smallest if clause.flipped else clause.smallest)


def cases():
    kept = live_samples()
    for claim in TESTED:
        for clause in bars(claim):
            sample = kept.get(claim.id, {}).get(clause.left.id)
            if sample is not None and is_share(sample):
                yield claim, clause, sample


def unless_known(kind: str, found: dict[str, object]) -> None:
    news = {identity: said for identity, said in found.items() if identity not in KNOWN[kind]}
    assert not news, "\n".join(f"{identity}: {said}" for identity, said in news.items())


def test_known_ids_are_claims():
    ids = {claim.id for claim in TESTED}
    assert set().union(*KNOWN.values()) <= ids


def test_every_bar_is_passed_by_a_perfect_score_at_the_live_size():
    if not live_samples():
        pytest.skip("no run of today's machine is here: `bertology run` makes one")
    found = {}
    for claim, clause, sample in cases():
        shape = (*sample.shape[:-1], item_count(sample))
        right = np.zeros(shape) if clause.flipped else np.ones(shape)
        reachable = 0.01 <= lead_of_number(clause) <= 0.99  # nearer to an end it is a size of errors, not a share
        if reachable and not passes(clause, sample, right):
            found[claim.id] = f"{clause.text} with {shape} in {sample.shape[-1]} units"
    unless_known("perfect", found)


def test_no_bar_at_or_above_one_half_is_passed_by_tosses_of_a_coin():
    """Bars below one half belong to measures whose chance is lower, and are left to the untrained twins."""
    if not live_samples():
        pytest.skip("no run of today's machine is here: `bertology run` makes one")
    found, times = {}, 40
    allowed = binom.isf(1e-5, times, 0.03)  # with a hundred bars, one alarm for nothing in a thousand runs
    for claim, clause, sample in cases():
        if clause.flipped or lead_of_number(clause) < 0.5:
            continue
        rng = np.random.default_rng(0)
        tosses = rng.integers(0, 2, (times, *sample.shape[:-1], item_count(sample))).astype(float)
        passed = sum(passes(clause, sample, right) for right in tosses)
        if passed > allowed:
            found[claim.id] = f"{clause.text}: {passed} of {times}"
    unless_known("chance", found)


def test_no_study_fails_its_own_prediction():
    found = {}
    for claim in TESTED:
        clauses = {clause.text: clause for clause in claim.parsed_prediction.clauses}
        for text, effect in claim.study_effects.items():
            if outcome(effect, effect, clauses[text].smallest) != REPLICATES and effect != clauses[text].smallest:
                found[claim.id] = f"{text}: the study has {effect:g}"
    unless_known("study", found)


def three_of_the_studys_tasks():
    """Accuracies of every three tasks of GLUE in kovaleva2019revealing, under the names of the book's three tasks."""
    table = published_rows("kovaleva2019revealing").set_index("item")["value"]
    starts = {"tuned": "pretrained fine-tuned", "random": "random init fine-tuned", "untrained": "pretrained frozen"}
    for tasks in combinations(("MRPC", "SST-2", "QQP", "RTE", "QNLI", "MNLI-m"), 3):
        pairs = zip(("voice", "topic", "tense"), tasks, strict=True)
        yield {
            f"{own}_{name}": float(str(table[f"{task} {start}"]).split("/")[-1]) / 100
            for own, task in pairs
            for name, start in starts.items()
        }


@pytest.mark.parametrize(
    ("identity", "quantity"),
    [("pretraining-gain-all-tasks", all), ("random-init-competitive", any), ("works-without-pretraining", any)],
)
def test_the_studys_own_tasks_do_not_contradict_a_prediction_on_three_of_the_books(identity, quantity):
    """On all of its tasks where the claim says all, on some where it says some."""
    claim = claim_by_id(identity)
    smallest = {clause.text: clause.smallest for clause in claim.parsed_prediction.clauses}
    fed = [claim.model_copy(update={"study": values}).study_effects for values in three_of_the_studys_tasks()]
    assert all(effects.keys() == smallest.keys() for effects in fed)
    assert quantity(all(outcome(e, e, smallest[text]) == REPLICATES for text, e in x.items()) for x in fed)


def test_values_of_studies_are_of_samples_that_a_prediction_names():
    named = {c.id: c.parsed_prediction.names | (parse(c.given).names if c.given else set()) for c in TESTED}
    strange = {c.id: names for c in TESTED if c.study and (names := set(c.study) - named[c.id])}
    unless_known("study", strange)


def test_a_claim_of_failure_has_a_gate():
    found = {c.id: c.statement for c in TESTED if not c.given and (c.failure or FAILS.search(c.statement))}
    unless_known("gate", found)


def test_a_comparison_with_a_natural_null_names_what_would_matter():
    found = {}
    for claim in TESTED:
        for clause in claim.parsed_prediction.clauses:
            null = bool(_names(clause.right)) or _value(clause.right) == 0
            absence = ast.unparse(clause.left).startswith("abs(") and clause.flipped
            if null and not absence and not clause.smallest and not (claim.checks or claim.effect):
                found[claim.id] = clause.text
    unless_known("smallest", found)


def _value(node: ast.expr) -> float | None:
    piece = None if _names(node) else Clause("", node, node, False).effect({})
    return float(ast.literal_eval(node)) if isinstance(piece, Linear) and isinstance(node, ast.Constant) else None
