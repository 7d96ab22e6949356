"""Counts of verdicts: of claims about what training teaches, and of instruments and arithmetic by themselves.

Depends on `contents`. Headlines, the ledger's text, the README and the ladder count by these functions alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertology_utils.pages.contents import Row, control_verdict, is_tested, verdict_of
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_SPECIFIC, OPEN, REPLICATES, WEAKER

Chooser = Callable[[Row], Mapping[str, Any] | None]
TRAINING, UNAMENDED = "About training", "the same without tests amended when results were known"
CHECKS = "Instruments and arithmetic"
HOLDS = (REPLICATES, NOT_SPECIFIC)
ONE_SIDED = 0.025


@dataclass(frozen=True)
class Tally:
    """How the verdicts on some claims are spread; claims that cannot be tested are not counted."""

    label: str
    counts: Counter[str]

    @property
    def tested(self) -> int:
        return self.counts.total()

    @property
    def replicate(self) -> int:
        """Those that replicate, of claims about training specifically."""
        return self.counts[REPLICATES]

    @property
    def open(self) -> int:
        return sum(self.counts[verdict] for verdict in OPEN)


def live(row: Row) -> Mapping[str, Any] | None:
    """The result that the book's own pages show."""
    return row.live


def tally(label: str, rows: Iterable[Row], chosen: Chooser = live) -> Tally:
    """Counts what `chosen` gives of each claim."""
    return Tally(label, Counter(verdict_of(dict(found)) for row in rows if is_tested(found := chosen(row))))


def tallies(rows: Sequence[Row], chosen: Chooser = live) -> tuple[Tally, Tally, Tally]:
    """About training; the same without claims whose tests were amended; instruments and arithmetic."""
    taught = [row for row in rows if row.about_training]
    return (
        tally(TRAINING, taught, chosen),
        tally(UNAMENDED, [row for row in taught if not row.amended], chosen),
        tally(CHECKS, [row for row in rows if not row.about_training], chosen),
    )


def twin_tally(rows: Iterable[Row], chosen: Chooser = live) -> Tally:
    """What the untrained twins make of the claims about training that were judged on them."""
    found = (chosen(row) for row in rows if row.about_training)
    judged = [result for result in found if is_tested(result) and result.get("control_verdict")]
    return Tally("Untrained", Counter(map(control_verdict, judged)))


@dataclass(frozen=True)
class Errors:
    """Decisions of one run, and how many of them are expected to be false at most.

    Attributes:
        asked: tests with a p.
        positive, negative: verdicts that the prediction holds; that it does not, or that the effect is smaller.
        false_positive: after Benjamini and Hochberg over all tests, the expected share of false ones among the verdicts
            down to the weakest is that one's q.
        false_negative: the upper end of a 95 % interval lies too low in 2.5 % of all tests.
    """

    asked: int
    positive: int
    negative: int
    false_positive: float
    false_negative: float


def errors(rows: Iterable[Row], chosen: Chooser = live) -> Errors:
    """The expected number of false decisions among the verdicts of one run."""
    results = [result for row in rows if is_tested(result := chosen(row)) and result.get("p") is not None]
    words = [verdict_of(dict(result)) for result in results]
    held = [r for r, word in zip(results, words, strict=True) if word in HOLDS]
    worst = max((float(r.get("q") or 0.0) for r in held), default=0.0)
    negative = sum(word in (CONTRADICTS, WEAKER) for word in words)
    return Errors(
        len(results), len(held), negative, len(held) * min(worst, 1.0), min(negative, ONE_SIDED * len(results))
    )


def by_run(rows: Sequence[Row]) -> dict[tuple[str, str], Chooser]:
    """Choosers of the recorded runs of specimens, by model and profile; generated data first."""
    runs = {(str(r["model"]), str(r["profile"])) for row in rows for r in row.recorded}
    return {run: _of_run(*run) for run in sorted(runs, key=lambda run: (run[1] == "full", run))}


def _of_run(model: str, profile: str) -> Chooser:
    def chosen(row: Row) -> Mapping[str, Any] | None:
        return next((r for r in row.recorded if (r["model"], r["profile"]) == (model, profile)), None)

    return chosen


def opposed(first: str, second: str) -> bool:
    """Whether one verdict says that the prediction holds, the other that its opposite or nothing is there."""
    return (first in HOLDS and second == CONTRADICTS) or (first == CONTRADICTS and second in HOLDS)
