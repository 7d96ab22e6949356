"""Counts of verdicts: of claims about what training teaches, and of instruments and arithmetic by themselves.

Depends on `contents`. Headlines, the ledger's text, the README and the ladder count by these functions alone.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from bertology_utils.pages.contents import Row, control_verdict, is_tested, verdict_of
from bertology_utils.verdicts.predictions import CONTRADICTS, NOT_SPECIFIC, OPEN, REPLICATES, WEAKER

Chooser = Callable[[Row], Mapping[str, Any] | None]
TRAINING, UNAMENDED = "About training", "the same without tests amended when results were known"
CHECKS = "Instruments and arithmetic"
HOLDS = (REPLICATES, NOT_SPECIFIC)
ONE_SIDED = 0.025
live: Chooser = attrgetter("live")  # the result that the book's own pages show


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


def about_training(rows: Iterable[Row]) -> list[Row]:
    """The claims that training could make true."""
    return [row for row in rows if row.claim.about_training]


def twins_in_place(rows: Iterable[Row], chosen: Chooser = live) -> Tally:
    """Counts the verdicts on untrained twins in the model's place, of claims about training with several twins."""
    found = (result for row in about_training(rows) if (result := chosen(row)))
    return Tally("untrained twins", Counter(word for result in found for word in result.get("twins_in_place", [])))


def leads_by_twins(rows: Iterable[Row], chosen: Chooser = live) -> Counter[str]:
    """Over how many untrained twins the claims about training lead that replicate: "one", "few" (to four), "five"; and
    how many lead in their positive control alone ("ability"), as claims of failure may."""
    found = [result for row in about_training(rows) if (result := chosen(row)) and verdict_of(result) == REPLICATES]
    leads = [result.get("lead") or {} for result in found]
    counts = Counter("one" if n == 1 else "few" if n < 5 else "five" for n in (lead.get("twins", 1) for lead in leads))
    own = [{clause["text"] for clause in result["clauses"]} for result in found]
    counts["ability"] = sum(bool(lead) and lead["text"] not in texts for lead, texts in zip(leads, own, strict=True))
    return counts


def tally(label: str, rows: Iterable[Row], chosen: Chooser = live) -> Tally:
    """Counts what `chosen` gives of each claim."""
    return Tally(label, Counter(verdict_of(found) for row in rows if is_tested(found := chosen(row))))


def tallies(rows: Sequence[Row], chosen: Chooser = live) -> tuple[Tally, Tally, Tally]:
    """About training; the same without claims whose tests were amended; instruments and arithmetic."""
    taught = about_training(rows)
    return (
        tally(TRAINING, taught, chosen),
        tally(UNAMENDED, [row for row in taught if not row.claim.amendment], chosen),
        tally(CHECKS, [row for row in rows if not row.claim.about_training], chosen),
    )


def twin_tally(rows: Iterable[Row], chosen: Chooser = live) -> Tally:
    """What the untrained twins make of the claims about training that were judged on them."""
    found = map(chosen, about_training(rows))
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
    held = [float(result.get("q") or 0.0) for result in results if verdict_of(result) in HOLDS]
    negative = sum(verdict_of(result) in (CONTRADICTS, WEAKER) for result in results)
    false_negative = min(negative, ONE_SIDED * len(results))
    return Errors(len(results), len(held), negative, len(held) * min(max(held, default=0.0), 1.0), false_negative)


def by_run(rows: Sequence[Row]) -> dict[tuple[str, str], Chooser]:
    """Choosers of the recorded runs of specimens, by model and profile; generated data first."""
    runs = {(str(r["model"]), str(r["profile"])) for row in rows for r in row.recorded}
    ordered = sorted(runs, key=lambda run: (run[1] == "full", run))
    return {run: partial(_recorded, run=run) for run in ordered}


def _recorded(row: Row, run: tuple[str, str]) -> Mapping[str, Any] | None:
    return next((r for r in row.recorded if (r["model"], r["profile"]) == run), None)


def opposed(*verdicts: str) -> bool:
    """Whether one verdict says that the prediction holds, another that its opposite or nothing is there."""
    return CONTRADICTS in verdicts and not set(HOLDS).isdisjoint(verdicts)
