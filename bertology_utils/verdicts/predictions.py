"""What samples say of a prediction: the interval of each clause against nothing and against the smallest effect that
would matter, and the verdict that follows. Depends on `formulas`.

Every verdict means one thing. With the effect's 95 % interval [low, high] and the smallest effect m that would matter:
low > m *replicates*; high < m is *weaker* if low > 0 (there, but smaller than would matter), else *contradicts*; what
is left is *underpowered*. A failed positive control says that the model *cannot do the task*, and nothing more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil

import numpy as np
from scipy import stats

from bertology_utils.errors import BertologyError
from bertology_utils.estimation import Estimate, estimate
from bertology_utils.samples import Samples, as_samples
from bertology_utils.verdicts.formulas import Bounds, Clause, NoRatio, clauses_of, names_of

ROUNDING = 1e-9  # equal means, a margin added and taken off again
REACH = 1.96
MOST = 1000
ENDLESS = "over a thousand times as much"

REPLICATES = "replicates"
NOT_SPECIFIC = "replicates (not specific)"
WEAKER = "weaker"
CONTRADICTS = "contradicts"
UNDERPOWERED = "underpowered"
UNABLE = "cannot do the task"
NOT_TESTABLE = "not testable here"
VERDICTS = (REPLICATES, NOT_SPECIFIC, WEAKER, CONTRADICTS, UNDERPOWERED, UNABLE, NOT_TESTABLE)
OPEN = (UNDERPOWERED, UNABLE)
DECIDED = (REPLICATES, NOT_SPECIFIC, WEAKER, CONTRADICTS)


@dataclass(frozen=True)
class ClauseResult:
    """A clause after measurement.

    Attributes:
        left, right: its sides as written, without the smallest effect.
        effect, low, high: by how much the claimed larger side exceeds the other, with its 95 % interval.
        smallest: the smallest effect that would matter; 0 where the clause is a bar.
        p: one-sided p of the hypothesis that the effect is at most `smallest`.
        error: standard error of the effect; 0 where it is exact.
        needs, factor: how many seeds or units would settle an underpowered clause, in words and as a multiple.
        capped: whether it falls short only of a smallest effect that no score could have reached.
    """

    text: str
    left: float
    right: float
    effect: float
    low: float
    high: float
    smallest: float
    verdict: str
    p: float = 1.0
    error: float = 0.0
    needs: str = ""
    factor: float = 0.0
    capped: bool = False

    @property
    def standing(self) -> float:
        """How far the effect lies beyond the smallest one that would matter, in standard errors."""
        excess = self.effect - self.smallest
        return excess / self.error if self.error else float(np.sign(round(excess, 9))) * np.inf if excess else 0.0

    @property
    def shown(self) -> bool:
        """Whether the effect is there at all: above zero."""
        return self.low > ROUNDING

    @property
    def passed(self) -> bool:
        """Whether a positive control holds."""
        return self.shown and self.effect >= self.smallest - ROUNDING


@dataclass(frozen=True)
class Prediction:
    """A parsed prediction."""

    text: str
    clauses: tuple[Clause, ...]

    @property
    def names(self) -> set[str]:
        return names_of(self.clauses)

    def judge(self, samples: Mapping[str, object]) -> tuple[ClauseResult, ...]:
        """Measures every clause on samples.

        Raises:
            BertologyError: a sample that the prediction names is missing.
            NoRatio: a division by zero.
        """
        arrays = self.arrays(samples)
        return tuple(_judged(clause, arrays) for clause in self.clauses)

    def arrays(self, samples: Mapping[str, object]) -> dict[str, np.ndarray]:
        """The samples that the prediction names, in one order."""
        missing = self.names - set(samples)
        if missing:
            raise BertologyError(f"The prediction '{self.text}' needs the sample '{sorted(missing)[0]}'.")
        return as_samples({name: samples[name] for name in sorted(self.names)})


@cache
def parse(text: str) -> Prediction:
    """Reads a prediction; see `formulas`.

    Raises BertologyError: anything but comparisons of arithmetic over names and numbers joined by `and`.
    """
    return Prediction(text.strip(), clauses_of(text))


def readable(text: str) -> str:
    """The text itself where `parse` can read it; raises ValueError, as validators of pydantic do, where not."""
    try:
        parse(text)
    except BertologyError as error:
        raise ValueError(str(error)) from None
    return text


def means_of(arrays: Samples) -> dict[str, float]:
    return {name: float(array.mean()) for name, array in arrays.items()}


def _judged(clause: Clause, arrays: Samples) -> ClauseResult:
    means = means_of(arrays)
    piece = clause.effect(means)
    bounds = Bounds(piece, lambda linear: estimate(linear, arrays))
    low, high, active = bounds.low(), bounds.high(), bounds.active
    exact = active.error == 0 and low == high
    word = exact_outcome(low, clause.smallest) if exact else outcome(low, high, clause.smallest)
    capped = word in (WEAKER, CONTRADICTS) and high > -ROUNDING and clause.out_of_reach(arrays, means)
    wanting = ("", 0.0)
    if word == UNDERPOWERED:
        wanting = needs(active, clause.smallest, arrays, clause.names)
    return ClauseResult(
        clause.text,
        *clause.sides(means),
        piece.value,
        low,
        high,
        clause.smallest,
        UNDERPOWERED if capped else word,
        bounds.p_above(clause.smallest),
        active.error,
        *wanting,
        capped,
    )


def outcome(low: float, high: float, smallest: float) -> str:
    """The verdict on an effect whose 95 % interval is [low, high]."""
    if low > smallest + ROUNDING:
        return REPLICATES
    if high < smallest - ROUNDING:
        return WEAKER if low > ROUNDING else CONTRADICTS
    return UNDERPOWERED


def exact_outcome(effect: float, smallest: float) -> str:
    """The verdict on an effect that is known: at the smallest that would matter it is as large; at nothing, none."""
    if effect > ROUNDING and effect >= smallest - ROUNDING:
        return REPLICATES
    return WEAKER if effect > ROUNDING else CONTRADICTS


def needs(active: Estimate, smallest: float, arrays: Samples, names: set[str]) -> tuple[str, float]:
    """What would settle a clause whose effect is what was measured: so many seeds or units in words, and how many times
    as many; 0 times where no amount would do."""
    if any(arrays[name].ndim and arrays[name].size == 1 for name in names):
        return "at least two seeds or units in place of one", 2.0
    reach = max(active.reach(), active.value - active.low())
    allowed = ((active.value - smallest) * active.error / reach) ** 2 if reach else 0.0
    shapes = [arrays[name].shape for name in names if arrays[name].ndim]
    if not shapes or not allowed:
        return "it lies on the border", 0.0
    counts = {
        "units": (max(shape[-1] for shape in shapes), active.unit_part, active.seed_part),
        "seeds": (
            max((shape[0] for shape in shapes if len(shape) == 2), default=1),
            active.seed_part,
            active.unit_part,
        ),
    }
    factors = {
        name: (part + active.rest) / (allowed - other)
        for name, (count, part, other) in counts.items()
        if count > 1 and allowed > other
    }
    if not factors:
        factor = active.error**2 / allowed
        return (f"about {factor:.0f} times as many seeds and units", factor) if factor < MOST else (ENDLESS, 0.0)
    name, factor = min(factors.items(), key=lambda pair: pair[1])
    if factor > MOST:
        return ENDLESS, 0.0
    count = counts[name][0]
    wanted = max(count * factor, count + 1)
    return f"about {_rounded(wanted, count):,} {name} in place of {count:,}", wanted / count


def _rounded(count: float, beyond: int) -> int:
    """Two significant digits, since more would claim too much; all of them where two do not exceed `beyond`."""
    digits = max(0, len(str(int(count))) - 2)
    rounded = round(round(count, -digits))
    return rounded if rounded > beyond else ceil(count)


def overall(clauses: Sequence[ClauseResult]) -> str:
    """One clause is refuted: contradicts. Else one is weaker: weaker. Else one is open: underpowered. Else: replicates.

    An open clause may turn out to be refuted, unless its effect is there: only then is a weaker one the last word.
    """
    verdicts = {clause.verdict for clause in clauses}
    may_fail = any(clause.verdict == UNDERPOWERED and (clause.capped or not clause.shown) for clause in clauses)
    order = (CONTRADICTS, UNDERPOWERED, WEAKER) if may_fail else (CONTRADICTS, WEAKER, UNDERPOWERED)
    return next((word for word in order if word in verdicts), REPLICATES)


def deciding(clauses: Sequence[ClauseResult]) -> int:
    """Which clause stands for all: of those whose verdict is the overall one, the one that stands lowest."""
    word = overall(clauses)
    return min(range(len(clauses)), key=lambda i: (clauses[i].verdict != word, clauses[i].standing))


@dataclass(frozen=True)
class Judgement:
    """What samples of one model say of a claim.

    Attributes:
        reason: why its clauses do not count.
        conditions: the clauses of its positive control.
    """

    clauses: tuple[ClauseResult, ...] = ()
    reason: str = ""
    conditions: tuple[ClauseResult, ...] = ()
    stopped: str = ""  # the verdict where the clauses do not count

    @property
    def verdict(self) -> str:
        return self.stopped or overall(self.clauses)

    @property
    def p(self) -> float:
        """One-sided p against the claim: all clauses must hold, so the largest; 1 where they do not count."""
        return 1.0 if self.stopped else max((clause.p for clause in self.clauses), default=1.0)

    @property
    def deciding(self) -> int | None:
        """The clause whose effect and interval stand for the claim; None without clauses."""
        return deciding(self.clauses) if self.clauses else None


def judge(prediction: Prediction, given: Prediction | None, samples: Mapping[str, object]) -> Judgement:
    """Judges a prediction on samples, provided that its positive control holds on them and leaves room for it.

    Where a ratio is not defined, the judgement says so.
    """
    try:
        return concluded(prediction.judge(samples), given.judge(samples) if given else ())
    except NoRatio as error:
        return Judgement(reason=str(error), stopped=UNDERPOWERED)


def concluded(clauses: tuple[ClauseResult, ...], conditions: tuple[ClauseResult, ...]) -> Judgement:
    """The judgement that measured clauses give behind their positive control.

    A positive control shows that the task can be done: its effect is there, and measured as large as it must be. It
    need not be shown to be that large, since the claim does not rest on its size.
    """
    for clause in (clause for clause in conditions if not clause.passed):
        if clause.verdict in (WEAKER, CONTRADICTS):
            return Judgement(clauses, f"the positive control fails: {_measured(clause)}", conditions, UNABLE)
        reason = f"whether the model can do the task is not decided: {_measured(clause)}"
        return Judgement(clauses, reason, conditions, UNDERPOWERED)
    capped = next((clause for clause in clauses if clause.capped), None)
    if capped and overall(clauses) == UNDERPOWERED:
        return Judgement(clauses, f"even a perfect score would not pass {_measured(capped)}", conditions, UNDERPOWERED)
    return Judgement(clauses, "", conditions)


def _measured(clause: ClauseResult) -> str:
    interval = f"difference {clause.effect:+z.2f}, 95 % interval {clause.low:+z.2f} to {clause.high:+z.2f}"
    return f"{clause.text} (measured {clause.left:.2f} and {clause.right:.2f}; {interval})"


def as_published(clause: ClauseResult, published: float | None) -> str:
    """Whether an effect is as large as the published one on the same scale: "as large", "smaller", "larger", "open"."""
    if published is None:
        return ""
    if clause.high < published:
        return "smaller"
    if clause.low > published:
        return "larger"
    wide = clause.high - clause.low > abs(published)
    return "open" if wide else "as large"


def absence_factor(clause: ClauseResult) -> float | None:
    """Bayes factor of clauses that claim an absence, for nothing against an effect as large as would matter (normal,
    with the smallest effect as standard deviation); after Pawel et al. (2024). None for others and for exact values."""
    if not clause.error or not clause.text.startswith("abs(") or " < " not in clause.text:
        return None
    bound = clause.right
    scale = np.hypot(clause.error, bound)
    return float(stats.norm.pdf(clause.left, 0, clause.error) / stats.norm.pdf(clause.left, 0, scale))
