"""Reruns of chapters with other seeds: their verdicts, and how many of them flip. Depends on `project`, on `recorded`
(what a run left) and on `predictions` (the names of verdicts).

A seed draws the items (where there are more than a test asks) and the weights that probes start from; the split into
training and test words does not depend on it. The verdicts are kept in
`results/reruns.csv`, one line a claim and seed. What the same runs say of the intervals, one line a clause, is kept in
`results/interval_checks.csv`: how far measured values move from rerun to rerun, beside what their intervals imply.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

import numpy as np
from scipy import stats

from bertology_utils.files import read_rows, updating, write_rows
from bertology_utils.project import Job, plan
from bertology_utils.statistics import LEVEL, ROUNDING
from bertology_utils.verdicts.predictions import (
    CONTRADICTS,
    NOT_SPECIFIC,
    NOT_TESTABLE,
    REPLICATES,
    WEAKER,
    ClauseResult,
    outcome,
    overall,
)
from bertology_utils.verdicts.recorded import result_of

PATH = Path("results") / "reruns.csv"
CHECKS = Path("results") / "interval_checks.csv"
MEANING_SINCE = datetime(2026, 11, 26, 13, tzinfo=UTC)  # verdicts from before mean other things
DECIDED = {REPLICATES: True, NOT_SPECIFIC: True, WEAKER: None, CONTRADICTS: False}


@dataclass(frozen=True)
class Verdict:
    """What one run says of one claim."""

    chapter: str
    claim: str
    model: str
    profile: str
    seed: int
    verdict: str
    commit: str
    date: str


@dataclass(frozen=True)
class IntervalCheck:
    """One clause over several reruns.

    Attributes:
        spread: the standard deviation of its measured difference over the reruns.
        error: the standard error that its 95 % intervals imply, their root mean square.
    """

    chapter: str
    claim: str
    clause: str
    model: str
    profile: str
    seeds: int
    spread: float
    error: float

    @property
    def ratio(self) -> float:
        return self.spread / self.error


@dataclass(frozen=True)
class Flips:
    """How the verdicts of several runs disagree.

    Attributes:
        verdicts: claims x seeds, without those that cannot be tested.
        flipped: verdicts that are not the one that most runs give to the claim.
        opposed: of the runs that decide a claim, those against the majority of them.
    """

    claims: int
    seeds: int
    verdicts: int
    flipped: int
    opposed: int


def plan_reruns(root: Path, chapters: list[str] | None, model: str, profile: str, seeds: int) -> list[Job]:
    """The jobs of `seeds` reruns, with the seeds 1, 2, ...; the run that the pages show has seed 0."""
    return [job for seed in range(1, seeds + 1) for job in plan(root, chapters, [model], profile, seed)]


def verdicts_of(jobs: Iterable[Job]) -> list[Verdict]:
    """The verdicts in the jobs' records, without claims that cannot be tested.

    Raises BertologyError: a job that left no record.
    """
    found = []
    for job in jobs:
        record = result_of(job)
        origin = (str(record["run"]["commit"]), str(record["run"]["when"]))
        found += [
            Verdict(job.chapter, result["id"], result["model"], job.profile, job.seed, result["verdict"], *origin)
            for result in record["results"]
            if result["verdict"] != NOT_TESTABLE
        ]
    return found


def checks_of(jobs: Iterable[Job]) -> list[IntervalCheck]:
    """How the clauses of the predictions spread over the jobs' records.

    Clauses whose intervals have no width are left out, and those that measure the same with every seed: their items are
    fixed, so that reruns say nothing of the interval.

    Raises BertologyError: a job that left no record.
    """
    measured: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for job in jobs:
        for result in result_of(job)["results"]:
            for clause in result.get("clauses") or ():
                key = (job.chapter, result["id"], clause["text"], result["model"], job.profile)
                error = (clause["high"] - clause["low"]) / (2 * stats.norm.ppf((1 + LEVEL) / 2))
                measured.setdefault(key, []).append((clause["effect"], error))
    found = []
    for key, values in measured.items():
        differences, errors = zip(*values, strict=True)
        if len(values) > 1 and max(errors) > ROUNDING and np.ptp(differences) > ROUNDING:
            error = float(np.sqrt(np.mean(np.square(errors))))
            found.append(IntervalCheck(*key, len(values), float(np.std(differences, ddof=1)), error))
    return found


def typical_spread(checks: Sequence[IntervalCheck]) -> float:
    """How many times as far as their intervals say the clauses spread: 1 if intervals are right, below if too wide.

    The median over clauses, over what it is expected to be: few reruns tend to show too small a spread.
    """
    return float(np.median([c.ratio / np.sqrt(stats.chi2.median(c.seeds - 1) / (c.seeds - 1)) for c in checks]))


def write_checks(path: Path, checks: Sequence[IntervalCheck], alone: bool = False) -> None:
    """Adds checks to a csv file in place of earlier ones of the same chapter, model and profile; see `write`."""
    _write(path, IntervalCheck, checks, ("chapter", "model", "profile"), alone)


def write(path: Path, verdicts: Sequence[Verdict], alone: bool = False) -> None:
    """Adds verdicts to a csv file in place of earlier ones of the same chapter, model, profile and seed; with `alone`
    those of other claims of the chapter stay."""
    _write(path, Verdict, verdicts, ("chapter", "model", "profile", "seed"), alone)


def _write(path: Path, kind: type, new: Sequence, run: tuple[str, ...], alone: bool) -> None:
    """Writes old and new rows of a kind, sorted; new ones replace those of their run, and with `alone` claim."""
    replaced, order = attrgetter(*run, *["claim"] * alone), attrgetter(*run, "claim")
    gone = set(map(replaced, new))
    with updating(path):
        old = [row for row in read_rows(path, kind) if replaced(row) not in gone]
        write_rows(path, sorted([*old, *new], key=order), kind)


def current(verdicts: Iterable[Verdict], amended: Mapping[str, datetime | None]) -> list[Verdict]:
    """Those of claims that were not amended since, in today's words; a date without a time is the day's beginning."""
    return [v for v in verdicts if _moment(v.date) >= max(MEANING_SINCE, amended.get(v.claim) or MEANING_SINCE)]


def current_checks(checks: Iterable[IntervalCheck], verdicts: Iterable[Verdict]) -> list[IntervalCheck]:
    """The checks of the runs that these verdicts come from."""
    runs = {(v.claim, v.model, v.profile) for v in verdicts}
    return [check for check in checks if (check.claim, check.model, check.profile) in runs]


def moving(verdicts: Iterable[Verdict], checks: Iterable[IntervalCheck]) -> list[Verdict]:
    """The verdicts of claims that another seed measures otherwise; of arithmetic and recorded runs none can flip."""
    known = {(check.claim, check.model, check.profile) for check in checks}
    return [v for v in verdicts if (v.claim, v.model, v.profile) in known]


def _moment(date: str) -> datetime:
    found = datetime.fromisoformat(date)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def flips(verdicts: Iterable[Verdict]) -> Flips:
    """Counts the disagreement over seeds, claim by claim; where two verdicts tie, either counts as the majority."""
    runs: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in verdicts:
        runs.setdefault((verdict.model, verdict.profile, verdict.claim), []).append(verdict)
    groups = [[v.verdict for v in group] for group in runs.values()]
    decided = [[DECIDED[word] for word in group if DECIDED.get(word) is not None] for group in groups]
    return Flips(
        claims=len(groups),
        seeds=len({v.seed for group in runs.values() for v in group}),
        verdicts=sum(map(len, groups)),
        flipped=sum(map(_minority, groups)),
        opposed=sum(map(_minority, decided)),
    )


def expected_flips(results: Iterable[Sequence[ClauseResult]], seeds: int, draws: int = 100) -> float:
    """How many of `seeds` verdicts a claim the intervals alone let differ from its majority, summed over claims.

    Each clause's effect is drawn anew from a normal around the measured one, as wide as its error says. A claim whose
    effect lies at its bar flips however good the intervals are; nothing is drawn of what makes it specific.
    """
    rng = np.random.default_rng(0)

    def drawn(clause: ClauseResult) -> ClauseResult:
        off = clause.error * rng.standard_normal()
        low, high = clause.low + off, clause.high + off
        return replace(clause, effect=clause.effect + off, low=low, high=high,
                       verdict=outcome(low, high, clause.smallest))  # fmt: skip

    return (
        sum(
            _minority([overall([drawn(clause) for clause in clauses]) for _ in range(seeds)])
            for clauses in results
            for _ in range(draws)
        )
        / draws
    )


def _minority(values: Sequence) -> int:
    """How many values are not the most frequent one."""
    return len(values) - max(Counter(values).values(), default=0)


def by_chapter(verdicts: Iterable[Verdict]) -> dict[tuple[str, str, str], Flips]:
    """The flips of each (model, profile, chapter), in the order of the verdicts."""
    groups: dict[tuple[str, str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.model, verdict.profile, verdict.chapter), []).append(verdict)
    return {key: flips(group) for key, group in groups.items()}
