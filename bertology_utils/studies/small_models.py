"""The study `small-models`: experiments of several chapters on tiny models, which run all seeds of one at once.

A chapter's module names its experiments in `EXPERIMENTS`; here is the list of these modules. Depends on
`recorded_arms`, which keeps what they give.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bertology_utils import recorded_arms
from bertology_utils.by_seed import orphaned, run_groups
from bertology_utils.errors import unknown
from bertology_utils.files import read_rows
from bertology_utils.recorded_arms import Experiment, Line, keep, lines
from bertology_utils.studies.attention import translation_heads
from bertology_utils.studies.generalization import counter_examples, lessons, two_readers
from bertology_utils.studies.layers import answering, causal_dependencies
from bertology_utils.studies.mbert import (
    as_many,
    carried_over,
    entities,
    following,
    frozen_bottom,
    next_sentences,
    pair_varied,
    parallel_training,
    shared_words,
    translating,
    tuned_all_pairs,
    with_adapters,
)
from bertology_utils.studies.overparametrization import head_gates, light_convolutions, text_infilling, translator_heads
from bertology_utils.studies.overview import recurrent
from bertology_utils.studies.training import (
    batch_ladder,
    discriminators,
    document_tasks,
    entity_inputs,
    equal_cost,
    in_turn,
    knowledge,
    label_inputs,
    landscape,
    more_seeds,
    purposes,
    purposes_of_words,
    roles,
    rungs,
    text_and_scores,
)

PATH = recorded_arms.PATH
MODULES = (
    recurrent,
    causal_dependencies,
    answering,
    more_seeds,
    equal_cost,
    text_and_scores,
    landscape,
    batch_ladder,
    purposes,
    purposes_of_words,
    discriminators,
    in_turn,
    label_inputs,
    document_tasks,
    entity_inputs,
    knowledge,
    roles,
    rungs,
    parallel_training,
    carried_over,
    shared_words,
    pair_varied,
    following,
    as_many,
    entities,
    frozen_bottom,
    tuned_all_pairs,
    next_sentences,
    with_adapters,
    translating,
    translation_heads,
    lessons,
    two_readers,
    counter_examples,
    head_gates,
    light_convolutions,
    text_infilling,
    translator_heads,
)
EXPERIMENTS: dict[str, Experiment] = {name: one for module in MODULES for name, one in module.EXPERIMENTS.items()}


@dataclass(frozen=True)
class Plan:
    """Nothing to choose: an experiment has its sizes itself."""


def known_row(name: str) -> str:
    """The name itself. Raises BertologyError for what is no experiment."""
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS)
    return name


def missing(path: Path, rows: Sequence[str], seeds: Sequence[int], model: str) -> list[tuple[str, int]]:
    """(experiment, seed) without lines; `model` is not asked, since all models are made here."""
    done = {(line.experiment, line.seed) for line in read_rows(path, Line)}
    return [(row, seed) for row in rows for seed in seeds if (row, seed) not in done]


def _of_experiment(path: Path, experiment: str, seeds: Sequence[int]) -> None:
    if orphaned():
        return
    new = lines(experiment, seeds, EXPERIMENTS[experiment])
    keep(path, new)
    print(f"{experiment}, {len(seeds)} seeds: {new[0].seconds:.0f} s", flush=True)


def study(path: Path, todo: Sequence[tuple[str, int]], model: str, plan: Plan, jobs: int = 2) -> None:
    """Measures what is to do, `jobs` experiments at a time, the seeds of one together, and keeps each when done."""
    run_groups(partial(_of_experiment, path), todo, jobs)
