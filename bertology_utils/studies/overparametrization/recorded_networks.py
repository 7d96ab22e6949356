"""The file of the study `subnetworks`: its runs as samples for verdicts, in sentences and as figures.

Depends on `networks_file` for the lines and on `subnetworks` for agreement. A claim reads the runs that began with its
specimen's own weights; the untrained twin, those that began with the twin's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd

from bertology_utils.by_seed import read_study
from bertology_utils.errors import NotAskable
from bertology_utils.instruments.heads import kappa_test
from bertology_utils.instruments.relations import PATTERNS, map_patterns
from bertology_utils.models import Specimen, twin
from bertology_utils.project import RANDOM_PREFIX, find_root
from bertology_utils.samples import UnitSamples, like, per_seed
from bertology_utils.studies.overparametrization import subnetworks as nets
from bertology_utils.studies.overparametrization.lottery import GRADED, TASKS, Plan
from bertology_utils.studies.overparametrization.networks_file import FULL, PATH, Unit, numbers
from bertology_utils.text import Words
from bertology_utils.verdicts.published import published

NETWORKS = ("s_good", "s_random", "s_bad", "m_good", "m_random", "m_bad")
READERS = {
    "majority": "answers alone",
    "bag": "bag of words",
    "recurrent": "recurrent",
    "contextual": "recurrent on its layers",
}
EVERY = (FULL, *NETWORKS, *READERS)
ORDINALS = ("first", "second", "third", "fourth", "fifth")
LEAST = 3  # seeds that an interval needs
OFTEN = 0.8  # of the tasks in which a super-survivor is left
SURVIVAL, SHARES = ("s_good", "heads"), ("m_good", "weights")  # networks and the columns of what is left in them
DEALS = range(20)  # of survivors to random places: what they give on average
Samples = dict[str, np.ndarray]


@dataclass(frozen=True)
class Recorded:
    """Lines of the file; `named` is the model whose runs figures and sentences are about."""

    units: Sequence[Unit]
    named: str

    @classmethod
    def read(cls, specimen: Specimen) -> Self:
        """The project's file, about a specimen, or where it has no runs of that about the file's own first model.

        Raises BertologyError where the file is missing.
        """
        units = read_study(find_root() / PATH, Unit, "subnetworks")
        known = dict.fromkeys(unit.model for unit in units if not unit.model.startswith(RANDOM_PREFIX))
        return cls(units, specimen.identity if specimen.identity in known else next(iter(known), units[0].model))

    @cached_property
    def frame(self) -> pd.DataFrame:
        return pd.DataFrame([vars(unit) for unit in self.units])

    @property
    def who(self) -> str:
        """Whose runs are shown: a name and how many seeds have all that is measured."""
        seeds = self._complete(self.named, EVERY)
        return f"{self.named.rpartition(' ')[0]}, {len(seeds)} seeds, {len(TASKS)} tasks"

    # ------------------------------------------------------------ samples

    def scores(self, specimen: Specimen, tasks: Sequence[str] = TASKS) -> Samples:
        """Of each network tuned again, and of each reader, the mean score over tasks: one value a seed.

        random_init is an untrained model's random network of whole parts; for an untrained one, of single weights.
        Raises NotAskable where the specimen's own weights have fewer than three seeds.
        """
        found = self._means(specimen.identity, tasks, EVERY)
        if specimen.is_random:
            return found | {"random_init": found["m_random"]}
        untrained = self._means(twin(specimen).identity, tasks, ["s_random"])
        return found | {"random_init": untrained["s_random"]}

    def graded(self, specimen: Specimen) -> Samples:
        """`scores` of the graded task alone, under names of their own."""
        return {f"graded_{name}": values for name, values in self.scores(specimen, [GRADED]).items()}

    def pruned(self, specimen: Specimen) -> Samples:
        """Scores as pruned, before any further tuning, of whole parts and of single weights; `full`, `majority`.

        heads_left, weights_left: the shares at which pruning stopped. One value a seed, a mean over tasks.
        """
        names = ("s_good", "s_random", "m_good", "m_random")
        scores = {f"{name}_pruned": own for name, own in self._means(specimen.identity, TASKS, names, "pruned").items()}
        whole = self._means(specimen.identity, TASKS, [FULL, "majority"])
        left = {"heads_left": (FULL, "heads"), "weights_left": ("m_good", "weights")}
        shares = {
            name: per_seed(np.mean([self._of_task(specimen.identity, task, *at, TASKS).mean(1) for task in TASKS], 0))
            for name, at in left.items()
        }
        return scores | whole | shares

    def stability(self, specimen: Specimen) -> Samples:
        """How runs agree: `nets_agree` of the good networks, and its samples as `dealt_kappa`, ... where each run's
        survivors and shares stand in random places, means over `DEALS`; the `reliability` of importance scores."""
        heads, weights = (self._of_tasks(specimen.identity, *column) for column in (SURVIVAL, SHARES))
        rng, found = np.random.default_rng(0), nets_agree(heads, weights)
        deals = [nets_agree(*([nets.dealt(own, rng) for own in every] for every in (heads, weights))) for _ in DEALS]
        chance = {f"dealt_{name}": like(own, np.mean([deal[name] for deal in deals], 0)) for name, own in found.items()}
        scores = self._of_tasks(specimen.identity, FULL, "importance")
        return found | chance | {"reliability": nets.reliability(*scores)}

    def overlap(self, specimen: Specimen, *tasks: str) -> dict[str, UnitSamples]:
        """`subnetworks.task_overlap` of the good networks' heads, and how well the first_task, ... was learnt."""
        heads = [self._of_task(specimen.identity, task, "s_good", "heads", tasks) for task in tasks]
        known = [self._means(specimen.identity, [task], [FULL])[FULL] for task in tasks]
        learnt = {f"{place}_task": score for place, score in zip(ORDINALS, known, strict=False)}
        return nets.task_overlap(*heads) | learnt

    def patterns(self, eager: Specimen, sentences: Sequence[Words]) -> Samples:
        """The share of maps without a simple pattern, of all `heads` (sentences,), of `survivors` (seeds, sentences).

        A seed's survivors are the heads that are left in at least four of the five tasks, or the two that are left most
        often. All heads there are were measured: what was drawn are runs and sentences.
        """
        shapeless = map_patterns(eager, sentences) == PATTERNS.index("heterogeneous")
        maps = shapeless.reshape(len(shapeless), -1).astype(float)
        often = np.mean(self._of_tasks(eager.identity, *SURVIVAL), axis=0)
        kept = [share >= min(OFTEN, np.sort(share)[-2]) for share in often]
        return {"survivors": np.stack([maps[:, heads].mean(1) for heads in kept]), "heads": maps.mean(1)}

    # ------------------------------------------------------------ what a page shows

    def survival(self) -> np.ndarray:
        """In which share of the runs, of all tasks and seeds, a head is in the good network: (layers, heads).

        Of the model that the page is about, which has a feed-forward part a layer.
        """
        heads, parts = (
            np.concatenate([self._of_task(self.named, task, "s_good", column) for task in TASKS]).mean(0)
            for column in ("heads", "feed_forward")
        )
        return heads.reshape(len(parts), -1)

    def kappas(self) -> pd.DataFrame:
        """By task, Fleiss' kappa of the good networks' heads, its permutation null and p: `heads.kappa_test`."""
        tests = [kappa_test(heads, draws=400) for heads in self._of_tasks(self.named, *SURVIVAL)]
        rows = [(one.kappa, np.mean(one.null), np.quantile(one.null, 0.975), one.p) for one in tests]
        names = ["kappa", "any heads", "97.5 % of deals under", "p"]
        return pd.DataFrame(rows, list(TASKS), names).round(3).rename_axis("task").reset_index()

    def bars(self) -> dict[str, dict[str, np.ndarray]]:
        """Mean scores over tasks by network, pruned and tuned again: samples over seeds."""
        how = {name: self._means(self.named, TASKS, NETWORKS, name) for name in ("pruned", "retrained")}
        return {label(name): {state: scores[name] for state, scores in how.items()} for name in NETWORKS}

    def references(self) -> dict[str, float]:
        """Mean scores over tasks and seeds of the whole model and of each reader."""
        found = self._means(self.named, TASKS, [FULL, *READERS])
        return {label(name): float(np.mean(scores)) for name, scores in found.items()}

    def by_task(self) -> pd.DataFrame:
        """Mean scores over seeds, tuned again: a line a network or reader, a column a task."""
        mine = self.frame[self.frame["model"] == self.named]
        table = mine.groupby(["network", "task"])["retrained"].mean().unstack("task").round(2)
        return table.loc[[name for name in EVERY if name in table.index], list(TASKS)].rename(index=label)

    def left(self) -> dict[str, float]:
        """Where pruning stops, means over runs: shares of `heads`, of feed-forward `parts`, and of `weights`."""
        columns = {"heads": (FULL, "heads"), "parts": (FULL, "feed_forward"), "weights": ("m_good", "weights")}
        every = {
            name: [self._of_task(self.named, task, *where).mean() for task in TASKS] for name, where in columns.items()
        }
        return {name: float(np.mean(shares)) for name, shares in every.items()}

    # ------------------------------------------------------------ the lines

    def _seeds(self, identity: str, network: str, tasks: Sequence[str]) -> set[int]:
        """Those with a line of the network for every task."""
        mine = self.frame[(self.frame["model"] == identity) & (self.frame["network"] == network)]
        counts = mine[mine["task"].isin(tasks)].groupby("seed")["task"].nunique()
        return set(counts[counts == len(tasks)].index)

    def _complete(self, identity: str, networks: Sequence[str], tasks: Sequence[str] = TASKS) -> list[int]:
        return sorted(set.intersection(*(self._seeds(identity, network, tasks) for network in networks)))

    def _common(self, identity: str, networks: Sequence[str], tasks: Sequence[str] = TASKS) -> list[int]:
        seeds = self._complete(identity, networks, tasks)
        if len(seeds) < LEAST:
            raise NotAskable(
                f"{len(seeds)} of {LEAST} seeds are recorded for {identity.rpartition(' ')[0] or identity}; "
                "the command study adds them."
            )
        return seeds

    def _means(
        self, identity: str, tasks: Sequence[str], networks: Sequence[str], state: str = "retrained"
    ) -> dict[str, UnitSamples]:
        seeds = self._common(identity, networks, tasks)
        mine = self.frame[(self.frame["model"] == identity) & self.frame["task"].isin(tasks)]
        means = mine.groupby(["network", "seed"])[state].mean()
        answers = Plan().test * len(tasks)
        return {network: per_seed(means[network].loc[seeds].to_numpy(), answers) for network in networks}

    def _of_tasks(self, identity: str, network: str, column: str) -> list[np.ndarray]:
        return [self._of_task(identity, task, network, column) for task in TASKS]

    def _of_task(self, identity: str, task: str, network: str, column: str, tasks: Sequence[str] = TASKS) -> np.ndarray:
        """What stands in a column, a row a seed that has all `tasks`: booleans of which parts are left, or numbers."""
        seeds = self._common(identity, [network], tasks)
        mine = self.frame[(self.frame["model"] == identity) & (self.frame["network"] == network)]
        lines = mine[mine["task"] == task].set_index("seed")[column].loc[seeds]
        read = numbers if column in ("importance", "weights") else lambda text: np.array(list(text)) == "1"
        return np.stack([read(line) for line in lines])


def nets_agree(heads: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> Samples:
    """How runs of one task agree, over tasks: one value a run.

    heads: which are left (runs, heads); weights: which share of each matrix (runs, matrices). kappa is Fleiss' of the
    heads; head_sd, share_sd the spread over runs of the cells of a map of either (prasanna2020bert).
    """
    spreads = {
        name: per_seed(np.mean([np.ravel(nets.spread_by_run(own.astype(float))) for own in every], axis=0))
        for name, every in (("share_sd", weights), ("head_sd", heads))
    }
    return spreads | {"kappa": nets.kappa_by_run(*heads)}


def published_networks() -> dict[str, float]:
    """Means over GLUE after retraining, by the name of the bars."""
    return {label(name): published("prasanna2020bert", f"{label(name)} retrained") for name in NETWORKS}


def label(name: str) -> str:
    """A network's name as a page has it."""
    return ({FULL: "whole model"} | READERS).get(name, name.replace("_", "-"))
