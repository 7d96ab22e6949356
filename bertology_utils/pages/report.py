"""One page on one model, in one file that can be sent: its verdicts beside the specimens', where it differs from the
book's own, where it stands strongest and weakest, and what was run. Depends on `contents` and `tallies`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bertology_utils.errors import BertologyError
from bertology_utils.pages import tallies
from bertology_utils.pages.contents import Row, clauses_of, is_tested, result_of, verdict_of
from bertology_utils.pages.ledger_table import share_figure
from bertology_utils.project import DEFAULT_MODEL
from bertology_utils.templates import render
from bertology_utils.verdicts import predictions
from bertology_utils.verdicts.predictions import ROUNDING, ClauseResult

STYLES = (Path("book/assets/house.css"), Path("book/assets/cards.css"))
SHOWN = 8  # of the strongest claims, and of the weakest
FARTHEST = 12.0  # standard errors that a bar shows
Result = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """A claim with the model's result and, by name, those of the specimens under the same profile."""

    row: Row
    result: Result
    others: Mapping[str, Result | None]

    @property
    def clause(self) -> ClauseResult | None:
        """The clause that decides."""
        clauses = clauses_of(self.result)
        return clauses[predictions.deciding(clauses)] if clauses else None

    @property
    def standing(self) -> float:
        """How far its effect lies beyond what would matter, in standard errors; beyond `FARTHEST` as good as there."""
        return max(-FARTHEST, min(FARTHEST, self.clause.standing))

    @property
    def verdict(self) -> str:
        return verdict_of(self.result)

    @property
    def differs(self) -> bool:
        """Whether the model and the book's own were both decided, and otherwise."""
        own = verdict_of(self.others.get(DEFAULT_MODEL))
        return tallies.opposed(self.verdict, own)


def report(root: Path, rows: Sequence[Row], model: str, profile: str) -> str:
    """The whole page as HTML, with its styles in it.

    Raises BertologyError: there is no result of this model under this profile.
    """
    lines = lines_of(rows, model, profile)
    if not lines:
        told = sorted({str(result["model"]) for row in rows for result in row.results if result["profile"] == profile})
        raise BertologyError(
            f"There is no result of {model} under the profile {profile}; there are of {', '.join(told) or 'none'}.\n"
            f"`bertology run --model {model} --profile {profile}` makes them, if there is such a model."
        )
    ranked = sorted((line for line in lines if _has_standing(line)), key=attrgetter("standing"))
    held = [line for line in ranked[::-1] if line.verdict in tallies.HOLDS]
    others = [name for name in lines[0].others if name != model]
    return render(
        "report.html",
        model=model,
        profile=profile,
        lines=lines,
        others=others,
        figure=_figure(rows, model, profile, others),
        strongest=sorted(held, key=lambda line: line.verdict != predictions.REPLICATES)[:SHOWN],
        weakest=[line for line in ranked if line.verdict == predictions.CONTRADICTS][:SHOWN],
        differing=[line for line in lines if line.differs],
        origin=lines[0].result,
        dates=sorted({str(line.result.get("date") or "")[:10] for line in lines} - {""}),
        commits=sorted({str(line.result.get("commit") or "")[:7] for line in lines} - {""}),
        farthest=FARTHEST,
        verdict_of=verdict_of,
        style=Markup("\n".join((root / path).read_text(encoding="utf-8") for path in STYLES)),
    )


def lines_of(rows: Iterable[Row], model: str, profile: str) -> list[Line]:
    """The claims that this model was asked, in the ledger's order; the specimens are those that have results too."""
    rows = list(rows)
    recorded = {str(r["model"]) for row in rows for r in row.recorded if r.get("profile") == profile}
    chosen = [DEFAULT_MODEL, *sorted(recorded - {DEFAULT_MODEL, model})]
    found = []
    for row in rows:
        if is_tested(result := result_of(row, model, profile)):
            found.append(Line(row, result, {name: result_of(row, name, profile) for name in chosen if name != model}))
    return found


def _has_standing(line: Line) -> bool:
    return line.row.claim.about_training and line.clause is not None and line.clause.error > ROUNDING


def _figure(rows: Sequence[Row], model: str, profile: str, others: Sequence[str]) -> str:
    """Bars of verdicts on claims about training: the model, its untrained twins, the specimens."""
    chosen = partial(result_of, model=model, profile=profile)
    mine, bars = tallies.tallies(rows, chosen)[0], {}
    if not mine.tested:
        return ""
    bars[model] = mine.counts
    if (twins := tallies.twin_tally(rows, chosen)).tested:
        bars["its untrained twins"] = twins.counts
    for name in others:
        if (own := tallies.tallies(rows, partial(result_of, model=name, profile=profile))[0]).tested:
            bars[name] = own.counts
    said = f"Of {mine.tested} claims about what training teaches, {mine.replicate} replicate specifically for {model}."
    return share_figure(bars, said)
