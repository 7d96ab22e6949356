"""The recorded table: units of `reenacted` as samples for verdicts, as one line a row, and as a figure.

Depends on `reenacted` for the file, on `table1` for what was printed, and on `figures`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
import pandas as pd
from scipy import stats

from bertology_utils.by_seed import read_study
from bertology_utils.compression.accounting import table1
from bertology_utils.compression.methods.lesson import Encoded, Method
from bertology_utils.compression.methods.problems import LONG, PROBLEMS, TEN_LANGUAGES, problem, surface_rule
from bertology_utils.compression.methods.references import UNTRAINED, UNTRAINED_ON_TEXTS
from bertology_utils.compression.methods.registry import METHODS, method
from bertology_utils.compression.scorecard import printed_factor
from bertology_utils.errors import NotAskable
from bertology_utils.figures import Figure, table
from bertology_utils.models import Specimen, load
from bertology_utils.project import RANDOM_PREFIX, find_root
from bertology_utils.samples import per_seed
from bertology_utils.studies.compression.knowledge import KNOWLEDGE
from bertology_utils.studies.compression.pareto import pareto
from bertology_utils.studies.compression.reenacted import PATH, UNKNOWN, Sizes, Unit

TEACHER = "BERT-base"
LEAST = 3  # seeds that an interval needs
SCORES = ["score", "teacher", "faster_32"]
Samples = dict[str, np.ndarray]


def printed_retention(row: Mapping[str, str]) -> float | None:
    """Per cent of BERT's score as the journal prints it, the middle of a range: "94-100" is 97; None where empty."""
    numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", row["retention_v3"])]
    return float(np.mean(numbers)) if numbers else None


@dataclass(frozen=True)
class Recorded:
    """Units of one teacher, as the file has them; families and printed numbers by row."""

    units: Sequence[Unit]

    @classmethod
    def read(cls) -> Self:
        """The project's file. Raises BertologyError where it is missing."""
        return cls(read_study(find_root() / PATH, Unit, "table1"))

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One line a unit."""
        return pd.DataFrame([vars(unit) for unit in self.units])

    def of(self, specimen: Specimen, row: str, control: str = "") -> Samples:
        """What a claim about a row is judged by, one value a seed, means over tasks.

        `small`, `teacher`, `control` and `untrained` are shares of right answers, `faster` how many times faster than
        the teacher with 32 inputs; `pieces` is how many an input has on average; `least` is the lead of the small
        network over the untrained one in the task where it is smallest: a mean over tasks hides one that was not
        learnt; of tags in ten languages, `surface` is what a rule without a model tells. For an untrained specimen
        `small` is what its tuning reached: the same network without pre-training. Raises NotAskable where these rows
        were not measured with this model's weights.
        """
        rows = {"small": row, "untrained": self._untrained(method(row))} | ({"control": control} if control else {})
        found = {name: self._of(specimen, own).groupby("seed")[SCORES].mean() for name, own in rows.items()}
        seeds = sorted(set.intersection(*(set(own.index) for own in found.values())))
        _require(seeds, row, specimen)
        scores = {name: per_seed(own.loc[seeds, "score"]) for name, own in found.items()}
        small = found["small"].loc[seeds]
        scores |= {"teacher": per_seed(small["teacher"]), "faster": per_seed(small["faster_32"])}
        scores["pieces"] = np.asarray(_pieces(_base(specimen), method(row).problems or PROBLEMS))
        if method(row).problems == (TEN_LANGUAGES,):
            scores["surface"] = per_seed([_surface_rule(seed) for seed in seeds])
        if specimen.is_random:
            return scores | {"small": scores["untrained"], "least": 0 * scores["untrained"]}
        return scores | {"least": per_seed(self._least(specimen, *rows.values()).loc[seeds])}

    def _least(self, specimen: Specimen, small: str, untrained: str, *_: str) -> pd.Series:
        """By seed, the lead of one row over another in the task in which it is smallest on average."""
        keyed = (self._of(specimen, row).set_index(["seed", "problem"])["score"] for row in (small, untrained))
        leads = next(keyed).sub(next(keyed)).unstack().dropna()
        return leads[leads.mean().idxmin()]

    def known(self, specimen: Specimen, row: str) -> np.ndarray:
        """What a row still knows beside its first task, the mean of three probes: one value a seed."""
        mine = self._of(specimen, UNTRAINED if specimen.is_random else row)
        probed = mine[mine["trees"] != UNKNOWN].groupby("seed")[list(KNOWLEDGE)].mean()
        _require(probed.index, row, specimen)
        return per_seed(probed.mean(axis=1))

    @staticmethod
    def _untrained(of: Method) -> str:
        if of.model:
            return f"{UNTRAINED}, {of.model}"
        return UNTRAINED_ON_TEXTS if of.problems == LONG else UNTRAINED

    def _of(self, specimen: Specimen, row: str) -> pd.DataFrame:
        """The units of a row that began with the weights of its own model, or else of the specimen's."""
        began_with = _identity(method(row).model or _base(specimen))
        return self.frame[(self.frame["row"] == row) & (self.frame["model"] == began_with)]

    # ------------------------------------------------------------ one line a row

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A line a row, in the table's order: sizes and retention as printed and as re-enacted here, speed, cost.

        kept, low, high: the mean over tasks and seeds of the score by the teacher's, with the 95 % interval of the mean
        over seeds (Student's t); knows: the share of the teacher's lead over an untrained network in three probes;
        alike: asked of the same model and tasks as most rows.
        """
        printed = {row["name"]: row for row in table1()}
        return pd.DataFrame([self._line(one, printed.get(one.row)) for one in METHODS if self._has(one.row)])

    def _has(self, row: str) -> bool:
        return any(unit.row == row for unit in self.units)

    def _line(self, one: Method, printed: Mapping[str, str] | None) -> dict[str, object]:
        mine = self.frame[self.frame["row"] == one.row]
        base = self.frame[(self.frame["row"] == TEACHER)]
        full = base if one.model is None else self.frame[self.frame["row"] == self._untrained(one)]
        share = (mine["score"] / mine["teacher"]).groupby(mine["seed"]).mean()
        mean, low, high = _interval(share)
        sizes = {name: full[name].mean() / mine[name].mean() for name in ("parameters", "encoder", "bytes", "memory")}
        return {
            "row": one.row,
            "family": one.family,
            "printed factor": printed_factor(printed["compression_v3"]) if printed else None,
            "printed speed": printed_factor(printed["speedup_v3"]) if printed else None,
            "printed kept": printed_retention(printed) if printed else None,
            **sizes,
            "kept": 100 * mean,
            "low": 100 * low,
            "high": 100 * high,
            "faster_1": mine["faster_1"].median(),
            "faster_32": mine["faster_32"].median(),
            "seconds": mine["seconds"].mean(),
            "knows": np.nan if one.model else self._knows(one.row),
            "alike": not (one.model or one.problems),
            "seeds": len(share),
        }

    def _knows(self, row: str) -> float:
        """Per cent of the teacher's lead over an untrained network that is left, mean over probes and seeds."""
        probed = self.frame[self.frame["trees"] != UNKNOWN].groupby("row")[list(KNOWLEDGE)].mean()
        if not {row, TEACHER, UNTRAINED} <= set(probed.index):
            return np.nan
        small, teacher, untrained = (probed.loc[name] for name in (row, TEACHER, UNTRAINED))
        return float(100 * ((small - untrained) / (teacher - untrained)).mean())

    # ------------------------------------------------------------ all rows together

    def _settled(self) -> pd.DataFrame:
        """The lines of rows with enough seeds, without the teacher's."""
        return self.summary[(self.summary["row"] != TEACHER) & (self.summary["seeds"] >= LEAST)]

    def agreement(self, draws: int = 2000, seed: int = 0) -> dict[str, float]:
        """Spearman's `rank` correlation of printed and re-enacted retention, `low` and `high` of its interval, `rows`.

        The interval is a bootstrap over rows, as of the methods that there could be; nan below five rows.
        """
        rows = self._settled().dropna(subset=["printed kept"])
        if len(rows) < 5:
            return {"rank": np.nan, "low": np.nan, "high": np.nan, "rows": len(rows)}
        pairs = rows[["printed kept", "kept"]].to_numpy(float)
        rng = np.random.default_rng(seed)
        samples = (pairs[rng.integers(0, len(pairs), len(pairs))] for _ in range(draws))
        drawn = [stats.spearmanr(*own.T).statistic for own in samples if np.ptp(own, axis=0).all()]
        low, high = np.nanpercentile(drawn, (2.5, 97.5))
        return {"rank": float(stats.spearmanr(*pairs.T).statistic), "low": low, "high": high, "rows": len(pairs)}

    def table(self, caption: str = "") -> Figure:
        """The summary for readers: a column `family` lets the page sort and filter the rows."""
        return table(self.summary.apply(_told, axis=1), caption=caption)

    @property
    def who(self) -> str:
        """Whose table it is, on which processor, with how many seeds a row: one sentence."""
        seeds = self.summary["seeds"]
        span = f"{seeds.min()}" if seeds.min() == seeds.max() else f"{seeds.min()} to {seeds.max()}"
        teacher = next(unit for unit in self.units if unit.row == TEACHER)
        return f"Teacher: {_name(teacher.model)}; {span} seeds a row; times on {teacher.hardware}."

    def figure(self, caption: str = "") -> Figure:
        """What is kept against size and against speed, as re-enacted here, beside the points that Table 1 prints."""
        return pareto(self._settled(), caption)


def _told(line: pd.Series) -> pd.Series:
    """A line of the summary in a reader's words and digits."""
    number = lambda name, form: "–" if pd.isna(line[name]) else format(line[name], form)  # noqa: E731
    ends = "" if pd.isna(line["low"]) else f"\xa0({line['low']:.0f}–{line['high']:.0f})"  # on one line
    return pd.Series(
        {
            "row": line["row"],
            "family": line["family"],
            "printed: × smaller": number("printed factor", "g"),
            "kept, %": number("printed kept", "g"),
            "here: × smaller": number("parameters", ".2f"),
            "kept here, %": number("kept", ".0f") + ends,
            "× faster, 32": number("faster_32", ".2f"),
            "still known, %": number("knows", ".0f"),
            "× bytes": number("bytes", ".2f"),
            "× encoder": number("encoder", ".2f"),
            "× memory": number("memory", ".2f"),
            "× faster, one input": number("faster_1", ".2f"),
            "seconds to make": number("seconds", ".0f"),
            "seeds": number("seeds", "d"),
        }
    )


@lru_cache(maxsize=4)
def _identity(model: str) -> str:
    """How units name a model."""
    return load(model).identity


@lru_cache(maxsize=64)
def _surface_rule(seed: int) -> float:
    """What a rule without a model tells of the tags in ten languages that a seed's teacher was asked."""
    return surface_rule(problem(TEN_LANGUAGES, Sizes().budget.examples, Sizes().budget.test, seed))


@lru_cache(maxsize=4)
def _pieces(model: str, problems: Sequence[str]) -> float:
    """How many pieces an input of these tasks has on average."""
    specimen = load(model)
    return float(np.mean([Encoded.of(specimen, problem(name, 50, 50).test).lengths.mean() for name in problems]))


def _base(specimen: Specimen) -> str:
    return specimen.name.removeprefix(RANDOM_PREFIX)


def _require(seeds: Collection[int], row: str, specimen: Specimen) -> None:
    if len(seeds) < LEAST:
        raise NotAskable(
            f"Of {row}, {len(seeds)} of the {LEAST} seeds that a verdict needs are recorded with {_base(specimen)}."
        )


def _name(identity: str) -> str:
    """A unit's model without the checksum behind it."""
    return identity.rpartition(" ")[0]


def _interval(values: pd.Series) -> tuple[float, float, float]:
    """Mean with its 95 % interval (Student's t over seeds); a bare mean where there are fewer than two."""
    mean = float(values.mean())
    if len(values) < 2:
        return mean, np.nan, np.nan
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return mean, mean - float(half), mean + float(half)
