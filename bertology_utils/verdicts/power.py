"""Where more items or seeds would win verdicts, and what they would cost. Depends on `predictions` and `estimation`.

A run is the pilot of the next one: its variance components say how many seeds or units would settle each underpowered
claim if the effect is what was measured, and its clock what a verdict cost. With exactly as many, half of the next runs
would fall short by chance; with `SURE` times as many, `CHANCE` of them decide.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scipy import stats

from bertology_utils.verdicts.predictions import DECIDED, REACH, UNDERPOWERED, ClauseResult

CHANCE = 0.8
SURE = float((1 + stats.norm.ppf(CHANCE) / REACH) ** 2)
ALLOWED = 360.0  # seconds of one core that a live chapter may take


@dataclass(frozen=True)
class Price:
    """What an underpowered claim would cost.

    Attributes:
        seconds: from the verdict before to this one, which is what its measurements took.
        factor: times as much of what varies most, for a decision in `CHANCE` of runs; the cost grows with it at most.
    """

    chapter: str
    claim: str
    seconds: float
    factor: float
    needs: str

    @property
    def more(self) -> float:
        """Seconds that it would take beyond today's."""
        return self.seconds * (self.factor - 1)


def prices(records: Iterable[Mapping[str, Any]]) -> list[Price]:
    """The underpowered claims of chapters' records that more of the same would settle, the cheapest first."""
    found = []
    for record in records:
        for result in record["results"]:
            if result["verdict"] == UNDERPOWERED and (factor := _factor(result)):
                seconds = record.get("seconds", {}).get(result["id"], 0.0)
                found.append(Price(record["chapter"], result["id"], seconds, SURE * factor, result["needs"]))
    return sorted(found, key=lambda price: price.more)


def chosen(offers: Iterable[Price], taken: Mapping[str, float], allowed: float = ALLOWED) -> list[Price]:
    """What to enlarge: the cheapest offers first, as long as the seconds of their chapter allow.

    Args:
        taken: chapter -> seconds that it takes today.
    """
    left = {chapter: allowed - seconds for chapter, seconds in taken.items()}
    found = []
    for offer in sorted(offers, key=lambda price: price.more):
        if offer.more <= left.get(offer.chapter, 0.0):
            left[offer.chapter] -= offer.more
            found.append(offer)
    return found


def _factor(result: Mapping[str, Any]) -> float:
    """Times as much as the least settled clause needs, 0 where no amount would do."""
    names = ("clauses", "conditions")
    clauses = [ClauseResult(**clause) for name in names for clause in result.get(name, ())]
    waiting = [clause for clause in clauses if clause.verdict == UNDERPOWERED]
    if not waiting or any(not clause.factor for clause in waiting):
        return 0.0
    return max(clause.factor for clause in waiting)


def spent(records: Iterable[Mapping[str, Any]]) -> list[tuple[str, float, int, int]]:
    """Chapter, minutes, claims decided and claims asked, of each record."""
    return [
        (
            record["chapter"],
            sum(record.get("seconds", {}).values()) / 60,
            sum(result["verdict"] in DECIDED for result in record["results"]),
            sum(bool(result["clauses"]) for result in record["results"]),
        )
        for record in records
    ]
