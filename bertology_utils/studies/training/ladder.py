"""The ladder of small BERTs that read real text: what its rungs, its seeds and the steps of its lowest rung know.

Depends on `families` (which models there are), `compression.growth` (what they score), `runs` and `figures`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertology_utils import families
from bertology_utils.absent import Absent
from bertology_utils.compression import growth
from bertology_utils.figures import Figure, curve
from bertology_utils.language.grammar import generate
from bertology_utils.runs import Runs
from bertology_utils.samples import census
from bertology_utils.studies.training.laboratory import captioned, of_words

LOSS, GRAMMAR = "loss on generated sentences (nats)", "grammatical form preferred"
CHANCE = 0.5


@dataclass(frozen=True)
class Questions:
    """What every member of the ladder is asked: generated sentences, and minimal pairs of nine constructions."""

    sentences: Sequence[Sequence[str]]
    constructions: growth.Constructions

    def ask(self, names: Sequence[str]) -> growth.Growth:
        """Loads the members one after another; the names are models, checkpoints or `random:` twins.

        Losses are `of_words`.
        """
        found = growth.measure(names, self.sentences, self.constructions)
        return replace(found, losses=of_words(found.losses, self.sentences))


def questions(sentences: int, pairs: int, seed: int) -> Questions:
    """`sentences` of them, and `pairs` of each construction, of words of the grammar's test split."""
    drawn = generate(sentences, seed=seed, split="test")
    return Questions([sentence.words for sentence in drawn], growth.constructions(pairs, seed=seed))


@dataclass(frozen=True)
class Course:
    """The lowest rung at the steps of its training that were kept, the untrained step 0 first.

    checkpoints: step -> name; grown: what each of them scores, in that order.
    """

    name: str
    checkpoints: Mapping[int, str]
    grown: growth.Growth

    @property
    def steps(self) -> list[int]:
        return list(self.checkpoints)

    @property
    def third(self) -> int:
        """The kept step that is nearest to a third of the training."""
        return min(self.steps, key=lambda step: abs(step - max(self.steps) / 3))

    @property
    def samples(self) -> Runs:
        """Losses (words,) at a third of the steps and at the end; the control is step 0."""
        losses, start = self.grown.losses, self.grown.losses[0]
        at = {"third_of_steps": losses[self.steps.index(self.third)], "all_steps": losses[-1]}
        return Runs(at, dict.fromkeys(at, start))

    def loss_figure(self, caption: str) -> Figure:
        """Loss over steps, with that of step 0 as a line."""
        losses = self.grown.losses
        start = {"untrained, step 0": losses[0].mean()}
        lines = {self.name: losses[1:]}
        return curve(self.steps[1:], lines, logx=True, ylabel=LOSS, baselines=start, caption=caption)

    def grammar_figure(self, caption: str) -> Figure:
        """Minimal pairs over steps: of all constructions, and agreement alone."""
        pairs = self.grown.pairs
        lines = {"all constructions": pairs[1:], "agreement": self.grown.judged["agreement"][1:]}
        start = {"the more usual word": self.grown.guesses, "untrained, step 0": pairs[0].mean()}
        return curve(self.steps[1:], lines, logx=True, ylabel=GRAMMAR, baselines=start, caption=caption)

    def sentence(self) -> str:
        """Which constructions the finished rung judges above chance."""
        known, of = self.grown.known(), len(self.grown.judged)
        return (
            f"`{self.name}` ends above chance in {len(known)} of {of} constructions{': ' if known else ''}"
            f"{', '.join(known)}; untrained in {len(self.grown.known(0))}."
        )


def course(asked: Questions) -> Course:
    """The lowest rung of the ladder and its checkpoints."""
    lowest = families.rungs()[0]
    steps = families.checkpoints(lowest)
    return Course(lowest, steps, asked.ask(list(steps.values())))


@dataclass(frozen=True)
class Emergence:
    """Outlier dimensions over the steps of one training (kovaleva2021bertbusters)."""

    name: str
    rise: growth.Emergence

    @property
    def samples(self) -> Runs | Absent:
        """Share of the final places that deviate early on; the control is step 0. Absent where there are none."""
        if not self.rise.dimensions:
            reason = f"the finished {self.name} has no outlier dimension, so there is nothing to emerge"
            return Absent(reason)
        early, start = ({"early": census(self.rise.places[step])} for step in (self.rise.early, 0))
        return Runs(early, start)

    def figure(self, claim: str, caption: str = "") -> Figure:
        """The deviation of the dimension that deviates most, over steps."""
        lines = {"most deviating dimension": self.rise.strongest[1:]}
        return curve(
            list(self.rise.steps)[1:], lines, logx=True, ylabel="standard deviations, mean of layers",
            baselines={"the study's threshold": 3}, caption=captioned(caption, claim),
        )  # fmt: skip

    def sentence(self) -> str:
        """The dimensions of the finished model, and how many those of the steps have."""
        counts = zip(self.rise.steps, self.rise.counts, strict=True)
        return (
            f"Outlier dimensions of `{self.name}`: {', '.join(map(str, self.rise.dimensions)) or 'none'}. So many "
            f"at each step: {', '.join(f'{count} at {step:,}' for step, count in counts)}."
        )


def emergence(way: Course) -> Emergence:
    """Follows the outlier dimensions of the finished rung back over its checkpoints."""
    return Emergence(way.name, growth.emergence(way.checkpoints))


@dataclass(frozen=True)
class Sizes:
    """The rungs of the ladder in order of size, their untrained twins, and the lowest rung with further seeds."""

    trained: growth.Growth
    untrained: growth.Growth
    seeds: growth.Growth

    @property
    def samples(self) -> Runs:
        """What the least rewarding step up saves (words,), and the range of the seeds' mean losses, in nats."""
        spread = float(np.ptp(self.seeds.losses.mean(1)))
        least = Runs(self.trained.least_gain(), self.untrained.least_gain())
        return Runs.joined(least_gain=least, seed_spread=spread)

    def loss_figure(self, caption: str) -> Figure:
        """Loss by size."""
        return self._figure("losses", LOSS, caption)

    def grammar_figure(self, caption: str) -> Figure:
        """Minimal pairs by size."""
        return self._figure("pairs", GRAMMAR, caption, baselines={"chance": CHANCE})

    def _figure(self, measure: str, ylabel: str, caption: str, baselines: Mapping[str, float] | None = None) -> Figure:
        lines = {"trained": getattr(self.trained, measure), "untrained twins": getattr(self.untrained, measure)}
        of_seeds = getattr(self.seeds, measure).mean(1)
        band = f"{self.seeds.names[0]}, range over {len(self.seeds.names)} seeds"
        return curve(
            [families.parameters(name) / 1e6 for name in self.trained.names], lines,
            bands={band: (of_seeds.min(), of_seeds.max())}, baselines=baselines,
            xlabel="million parameters", logx=True, ylabel=ylabel, caption=caption,
        )  # fmt: skip

    def sentence(self) -> str:
        """In how many constructions each rung is above chance."""
        known = [f"`{name}` in {len(self.trained.known(i))}" for i, name in enumerate(self.trained.names)]
        return f"Above chance in grammar: {', '.join(known)} of {len(self.trained.judged)} constructions."


def sizes(asked: Questions) -> Sizes:
    """All rungs, a twin of each, and the seeds of the lowest."""
    rungs = families.rungs()
    twins = [f"random:{name}" for name in rungs]
    return Sizes(asked.ask(rungs), asked.ask(twins), asked.ask(families.seeds(rungs[0])))
