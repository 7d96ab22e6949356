"""A contradicted claim as an exhibit of the museum: the clause that decides it, and sentences on what else is recorded.

Depends on `contents` for results and on `families` for who is a rung of the ladder.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from bertology_utils import families
from bertology_utils.data.material import EMBEDDED
from bertology_utils.pages.contents import Row, clauses_of, is_tested, is_trained, verdict_of
from bertology_utils.templates import counted, short
from bertology_utils.verdicts import predictions
from bertology_utils.verdicts.cards import AMENDED
from bertology_utils.verdicts.predictions import CONTRADICTS, REPLICATES, ROUNDING, ClauseResult

Result = Mapping[str, Any]
SAID = {
    REPLICATES: "it replicates",
    predictions.NOT_SPECIFIC: "it holds, but no lead over untrained twins is shown",
    predictions.WEAKER: "it is there, but smaller than would matter",
    CONTRADICTS: "it is contradicted too",
    predictions.UNDERPOWERED: "it stays open",
    predictions.UNABLE: "it stays open, since the task itself is too hard",
}


@dataclass(frozen=True)
class Exhibit:
    """A contradicted claim, the clause that decides it, and the effect of the control on that clause."""

    row: Row
    clause: ClauseResult
    twin: float | None

    @classmethod
    def of(cls, row: Row) -> "Exhibit":
        clauses, control = clauses_of(row.live), clauses_of(row.live, "control_clauses")
        place = predictions.deciding(clauses)
        return cls(row, clauses[place], control[place].effect if control else None)

    @property
    def missing(self) -> float:
        """By how much the interval ends below the smallest effect that would matter."""
        return self.clause.smallest - self.clause.high

    @property
    def widths(self) -> float:
        """The same in widths of the interval, since scales differ; endless where the value is exact."""
        width = self.clause.high - self.clause.low
        return self.missing / width if width > ROUNDING else inf

    @property
    def published(self) -> float | None:
        """The study's own effect on this clause, where it is known on the same scale."""
        return self.row.claim.study_effects.get(self.clause.text)


def is_real(result: Result) -> bool:
    """Whether a result was measured on real text; some claims have generated sentences under `full` too."""
    return result.get("profile") == "full" and result.get("data", EMBEDDED) != EMBEDDED


def text_of(result: Result) -> str:
    """What a result was measured on, in words."""
    generated = "more generated text" if result.get("profile") == "full" else "generated text"
    return "real text" if is_real(result) else generated


def at_full_size(row: Row) -> Result | None:
    """The recorded result of the same model under `full`."""
    mine = (r for r in row.results if (r.get("model"), r.get("profile")) == (row.live["model"], "full"))
    return next(filter(is_tested, mine), None)


def why(exhibit: Exhibit, rungs: Sequence[str]) -> Iterator[str]:
    """What is known of a contradiction, in sentences: its margin, other text, other models, its twins, its test."""
    row, full = exhibit.row, at_full_size(exhibit.row)
    yield margin(exhibit)
    if not (full and is_real(full)):
        yield "This model was not asked on real text."
    if full:
        yield f"On {text_of(full)} {SAID[verdict_of(full)]}."
    yield from elsewhere(row, rungs)
    if control := row.live.get("control_verdict"):
        twins = (row.live.get("lead") or {}).get("twins", 1)
        yield f"With {'the untrained twin' if twins == 1 else counted(twins, 'untrained twin')} {SAID[control]}."
    dates = ", ".join(dict.fromkeys(AMENDED.findall(row.claim.amendment)))
    if row.claim.amendment:
        yield f"Its test was amended when results were known{f' ({dates})' if dates else ''}."


def margin(exhibit: Exhibit) -> str:
    """How far the interval ends from what would matter, and whether the effect lies the other way."""
    clause, bar = exhibit.clause, "the smallest effect that would matter" if exhibit.clause.smallest else "the bar"
    if exhibit.widths == inf:
        return f"The value is exact, {short(exhibit.missing)} below {bar}."
    sign = ", and lies below zero altogether" if clause.high < 0 else ", and includes zero"
    far = f"{exhibit.widths:.1f} times its own width" if exhibit.widths >= 1 else "less than its own width"
    return f"The interval ends {short(exhibit.missing)} below {bar}, {far}{sign if clause.smallest else ''}."


def elsewhere(row: Row, rungs: Sequence[str]) -> Iterator[str]:
    """What other specimens and the ladder's rungs say, with the texts on which they say the same."""
    found = [r for r in row.results if is_trained(r) and is_tested(r) and r.get("model") != row.live["model"]]
    others, ladder = defaultdict(list), defaultdict(list)
    for text in sorted(set(map(text_of, found)), reverse=True):
        mine = [(str(r["model"]), verdict_of(r)) for r in found if text_of(r) == text]
        models = [pair for pair in mine if not families.is_member(pair[0])]
        for word in dict.fromkeys(verdict for _, verdict in models):
            others[word, " and ".join(sorted(model for model, said in models if said == word))].append(text)
        if rung := sorted(verdict for model, verdict in mine if model in rungs):
            ladder[tuple(rung)].append(text)
    for (word, models), texts in others.items():
        yield f"With {models} {SAID[word]}, on {' and on '.join(texts)}."
    for verdicts, texts in ladder.items():
        holding, told = verdicts.count(REPLICATES), ", ".join(f"{w} {n}" for w, n in Counter(verdicts).items())
        who = f"{holding} of {counted(len(verdicts), 'rung')}" if holding else "No rung"
        verb = "replicate" if holding > 1 else "replicates"
        yield f"{who} of the ladder {verb} it, on {' or on '.join(texts)} ({told})."
    if not others and not ladder:
        yield "No other model was asked."
